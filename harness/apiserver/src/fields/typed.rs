//! Operations on typed objects: the fields of an object, the differences of two objects, and an
//! object without some fields. Merging is in `merge`.
//!
//! The type table says how a field merges. A list without this information is atomic, as in
//! OpenAPI.
//!
//! Upstream: `structured-merge-diff/typed` (`toFieldSet`, `Compare`, `RemoveItems`).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::fields::path::{FieldSet, PathElement, Scalar};
use crate::types::list_quantities::PathSegment;
use crate::types::table::{FieldDeclaration, Merging, TYPES, TypeDeclaration, ValueType};

/// How a value is divided into fields. Upstream: `schema.Atom`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Atom<'a> {
    /// An atomic value.
    Leaf,
    /// A value without a schema: an object by its fields, anything else as an atomic value.
    Free,
    /// An object by its fields.
    Fields(&'a BTreeMap<String, FieldDeclaration>),
    /// An object by its fields, which may have undeclared fields.
    Open(&'a BTreeMap<String, FieldDeclaration>),
    /// A map whose values have this type.
    Map(&'a ValueType),
    /// A list of scalars, merged as a set.
    Items(&'a ValueType),
    /// A list of objects with these key fields.
    Keyed(&'a ValueType, &'a [String]),
}

/// The differences of two objects.
#[derive(Debug, Default)]
pub(crate) struct FieldComparison {
    pub(crate) removed: FieldSet,
    pub(crate) modified: FieldSet,
    pub(crate) added: FieldSet,
}

impl<'a> Atom<'a> {
    /// The atom of a type, by its index in the table.
    pub(crate) fn of_type(type_index: usize) -> Atom<'static> {
        Atom::of_fields(TYPES.get(type_index))
    }

    pub(crate) fn of_fields(of: &TypeDeclaration) -> Atom<'_> {
        match (of.atomic, of.open) {
            (true, _) => Atom::Leaf,
            (false, true) => Atom::Open(&of.fields),
            (false, false) => Atom::Fields(&of.fields),
        }
    }

    /// Resolves a value without a schema by what these values are.
    pub(crate) fn resolve_untyped(self, values: &[Option<&Value>]) -> Self {
        static FREE: ValueType = ValueType::Untyped;
        match self {
            Self::Free if values.iter().flatten().any(|value| value.is_object()) => Self::Map(&FREE),
            Self::Free => Self::Leaf,
            other => other,
        }
    }

    /// Whether values without a schema are of two forms: an object, and something else. Upstream
    /// deduces a type of its own for each (`deduceAtom`).
    pub(crate) fn has_two_forms(self, old: Option<&Value>, new: Option<&Value>) -> bool {
        let (Self::Free, Some(old), Some(new)) = (self, old, new) else { return false };
        !old.is_null() && !new.is_null() && old.is_object() != new.is_object()
    }

    /// Whether it declares a field.
    fn declares(self, name: &str) -> bool {
        matches!(self, Self::Fields(fields) | Self::Open(fields) if fields.contains_key(name))
    }

    pub(crate) fn of(shape: &'a ValueType, merging: &'a Merging) -> Self {
        match (shape, merging) {
            (ValueType::CustomValue(field), _) => Self::of(&field.shape, &field.merging),
            (_, Merging::Atomic) => Self::Leaf,
            (ValueType::Struct(type_index), _) => Self::of_type(*type_index),
            (ValueType::CustomStruct(of), _) => Self::of_fields(of),
            (ValueType::Untyped, _) => Self::Free,
            (ValueType::Map(value), _) => Self::Map(value),
            (ValueType::List(item), Merging::Set) => Self::Items(item),
            (ValueType::List(item), Merging::Keyed(keys)) => Self::Keyed(item, keys),
            _ => Self::Leaf,
        }
    }

    fn plain(shape: &'a ValueType) -> Self {
        Self::of(shape, &Merging::Granular)
    }

    pub(crate) fn child(self, element: &PathElement) -> Self {
        match (self, element) {
            (Self::Fields(fields), PathElement::Field(name)) => {
                fields.get(&**name).map_or(Self::Leaf, |field| Self::of(&field.shape, &field.merging))
            }
            (Self::Open(fields), PathElement::Field(name)) => {
                fields.get(&**name).map_or(Self::Free, |field| Self::of(&field.shape, &field.merging))
            }
            (Self::Map(value), PathElement::Field(_)) => Self::plain(value),
            (Self::Items(item) | Self::Keyed(item, _), _) => Self::plain(item),
            _ => Self::Leaf,
        }
    }

    /// Whether it is a merged list.
    pub(crate) fn is_list(self) -> bool {
        matches!(self, Self::Items(_) | Self::Keyed(..))
    }

    /// The path element of a list item; an error if the item lacks its keys.
    pub(crate) fn element(self, item: &Value) -> Result<PathElement, String> {
        let Self::Keyed(shape, keys) = self else {
            return match item {
                Value::Object(_) => Err("associative list without keys has an element that's a map type".to_owned()),
                Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
                Value::Null => Err("associative list without keys has an element that's an explicit null".to_owned()),
                scalar => Ok(PathElement::Item(Scalar(scalar.clone()))),
            };
        };
        let Value::Object(fields) = item else {
            let what = if item.is_null() { "a null element" } else { "non-map elements" };
            return Err(format!("associative list with keys may not have {what}"));
        };
        let default = |key: &str| match shape {
            ValueType::Struct(type_index) => {
                TYPES.get(*type_index).fields.get(key).and_then(|field| field.default.clone())
            }
            ValueType::CustomStruct(of) => of.fields.get(key).and_then(|field| field.default.clone()),
            _ => None,
        };
        let found = keys
            .iter()
            .filter_map(|key| Some((key.clone(), Scalar(fields.get(key).cloned().or_else(|| default(key))?))));
        let mut found: Vec<(String, Scalar)> = found.collect();
        if found.is_empty() {
            let keys: Vec<String> = keys.iter().map(|key| format!("{key:?}")).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for \
                 any key fields)",
                keys.join(" ")
            ));
        }
        found.sort();
        Ok(PathElement::Key(found))
    }

    /// The path of the atomic value that contains what these steps lead to.
    pub(crate) fn leaf_path(self, value: &Value, steps: &[PathSegment]) -> Vec<PathElement> {
        let (mut atom, mut value, mut path) = (self, Some(value), Vec::new());
        for step in steps {
            let Some(found) = value.filter(|_| !matches!(atom, Self::Leaf)) else { break };
            value = step.member(found);
            let element = match (step, value) {
                (PathSegment::Name(name), _) => Ok(PathElement::Field(name.as_str().into())),
                (PathSegment::Index(_), Some(item)) => atom.element(item),
                (PathSegment::Index(_), None) => break,
            };
            let Ok(element) = element else { break };
            atom = atom.child(&element);
            path.push(element);
        }
        path
    }

    pub(crate) fn fields_of(self, value: &Value) -> FieldSet {
        let mut set = FieldSet::default();
        self.collect(value, &mut Vec::new(), &mut set);
        set
    }

    fn collect(self, value: &Value, path: &mut Vec<PathElement>, set: &mut FieldSet) {
        let this = self.resolve_untyped(&[Some(value)]);
        match (this, value) {
            (Self::Fields(_) | Self::Open(_) | Self::Map(_), Value::Object(object)) => {
                for (name, value) in object {
                    let element = PathElement::Field(name.as_str().into());
                    let free = !this.declares(name);
                    let child = this.child(&element);
                    path.push(element);
                    child.collect(value, path, set);
                    if free || value.is_null() || value.as_object().is_some_and(Map::is_empty) {
                        set.insert(path);
                    }
                    path.pop();
                }
            }
            (_, Value::Array(items)) if self.is_list() => {
                let elements = self.elements(items);
                for (element, items) in elements {
                    let child = self.child(&element);
                    path.push(element);
                    if let [item] = items.as_slice() {
                        child.collect(item, path, set);
                    }
                    set.insert(path);
                    path.pop();
                }
            }
            (Self::Leaf, _) => set.insert(path),
            _ => {}
        }
    }

    /// The items of a list by path element, in the order of their first occurrence.
    fn elements(self, items: &[Value]) -> Vec<(PathElement, Vec<&Value>)> {
        let mut all: Vec<(PathElement, Vec<&Value>)> = Vec::new();
        let mut places: BTreeMap<PathElement, usize> = BTreeMap::new();
        for item in items {
            let Ok(element) = self.element(item) else { continue };
            match places.get(&element) {
                Some(at) => all[*at].1.push(item),
                None => {
                    places.insert(element.clone(), all.len());
                    all.push((element, vec![item]));
                }
            }
        }
        all
    }

    /// Whether a merged list contains duplicates.
    pub(crate) fn has_duplicates(self, value: &Value) -> bool {
        let this = self.resolve_untyped(&[Some(value)]);
        match (this, value) {
            (Self::Fields(_) | Self::Open(_) | Self::Map(_), Value::Object(object)) => object
                .iter()
                .any(|(name, value)| this.child(&PathElement::Field(name.as_str().into())).has_duplicates(value)),
            (_, Value::Array(items)) if this.is_list() => {
                let all = this.elements(items);
                all.iter().any(|(element, items)| items.len() > 1 || this.child(element).has_duplicates(items[0]))
            }
            _ => false,
        }
    }

    /// Compares an old and a new object. Top-level fields in `reset` are skipped.
    pub(crate) fn compare(self, old: &Value, new: &Value, reset: &[&[&str]]) -> FieldComparison {
        let mut comparison = FieldComparison::default();
        self.walk_fields(Some(old), Some(new), &mut Vec::new(), &mut comparison, reset);
        comparison
    }

    fn walk(self, old: Option<&Value>, new: Option<&Value>, path: &mut Vec<PathElement>, out: &mut FieldComparison) {
        // Most of an object is unchanged: skip equal values.
        if old.is_none() || old != new {
            self.walk_changed(old, new, path, out);
        }
    }

    /// The same for values that differ.
    fn walk_changed(
        self,
        old: Option<&Value>,
        new: Option<&Value>,
        path: &mut Vec<PathElement>,
        out: &mut FieldComparison,
    ) {
        match (old, new) {
            (None, Some(new)) => return out.added.insert_with(path, self.all_below(new)),
            (Some(old), None) => return out.removed.insert_with(path, self.all_below(old)),
            _ => {}
        }
        let this = self.resolve_untyped(&[old, new]);
        let leaf = match this {
            Self::Leaf | Self::Free => true,
            Self::Fields(_) | Self::Open(_) | Self::Map(_) => {
                [old, new].into_iter().flatten().all(|value| value.as_object().is_none_or(Map::is_empty))
            }
            Self::Items(_) | Self::Keyed(..) => {
                [old, new].into_iter().flatten().all(|value| value.as_array().is_none_or(Vec::is_empty))
            }
        };
        if !leaf {
            if this.is_list() {
                this.walk_items(old, new, path, out);
            } else {
                this.walk_fields(old, new, path, out, &[]);
            }
        }
        if let (true, Some(old), Some(new)) = (leaf || self.has_two_forms(old, new), old, new)
            && !is_equal(old, new)
        {
            out.modified.insert(path);
        }
    }

    /// All paths below a value that the other object lacks.
    fn all_below(self, value: &Value) -> FieldSet {
        let this = self.resolve_untyped(&[Some(value)]);
        match (this, value) {
            (Self::Fields(_) | Self::Open(_) | Self::Map(_), Value::Object(fields)) => {
                FieldSet::of_elements(fields.iter().map(|(name, value)| {
                    let element = PathElement::Field(name.as_str().into());
                    let below = this.child(&element).all_below(value);
                    (element, below)
                }))
            }
            (_, Value::Array(items)) if this.is_list() => {
                FieldSet::of_elements(this.elements(items).into_iter().map(|(element, items)| {
                    // Nothing is said about the fields of duplicates.
                    let below =
                        if let [item] = items[..] { this.child(&element).all_below(item) } else { FieldSet::default() };
                    (element, below)
                }))
            }
            _ => FieldSet::default(),
        }
    }

    fn walk_fields(
        self,
        old: Option<&Value>,
        new: Option<&Value>,
        path: &mut Vec<PathElement>,
        out: &mut FieldComparison,
        reset: &[&[&str]],
    ) {
        let (old, new) = (old.and_then(Value::as_object), new.and_then(Value::as_object));
        let added = new.into_iter().flat_map(Map::keys).filter(|name| old.is_none_or(|old| !old.contains_key(*name)));
        for name in old.into_iter().flat_map(Map::keys).chain(added) {
            let (old, new) = (old.and_then(|old| old.get(name)), new.and_then(|new| new.get(name)));
            if is_reset(name, reset) || old.is_some() && old == new {
                continue;
            }
            let element = PathElement::Field(name.as_str().into());
            let child = self.child(&element);
            path.push(element);
            child.walk_changed(old, new, path, out);
            path.pop();
        }
    }

    fn walk_items(
        self,
        old: Option<&Value>,
        new: Option<&Value>,
        path: &mut Vec<PathElement>,
        out: &mut FieldComparison,
    ) {
        let [old, new] = [old, new].map(|value| value.and_then(Value::as_array).map_or(&[][..], Vec::as_slice));
        let (old, new) = (self.elements(old), self.elements(new));
        let [of_old, of_new] = [&old, &new]
            .map(|all| all.iter().map(|(element, items)| (element, items.as_slice())).collect::<BTreeMap<_, _>>());
        let added = new.iter().filter(|(element, _)| !of_old.contains_key(element));
        for element in old.iter().chain(added).map(|(element, _)| element) {
            let [left, right] = [&of_old, &of_new].map(|all| all.get(element).copied().unwrap_or_default());
            let child = self.child(element);
            path.push(element.clone());
            match (left, right) {
                ([_, _, ..], [_, _, ..]) => {
                    if left != right {
                        out.modified.insert(path);
                    }
                }
                ([_, _, ..], right) => {
                    if let Some(one) = right.first() {
                        child.walk(None, Some(one), path, out);
                    }
                    out.removed.insert(path);
                }
                (left, [_, _, ..]) => {
                    if let Some(one) = left.first() {
                        child.walk(Some(one), None, path, out);
                    }
                    out.added.insert(path);
                }
                (left, right) => child.walk(left.first().copied(), right.first().copied(), path, out),
            }
            path.pop();
        }
    }

    pub(crate) fn without(self, value: &Value, removed: &FieldSet) -> Value {
        let this = self.resolve_untyped(&[Some(value)]);
        match (this, value) {
            (Self::Fields(_) | Self::Open(_) | Self::Map(_), Value::Object(object)) => {
                let mut kept = Map::new();
                for (name, value) in object {
                    let element = PathElement::Field(name.as_str().into());
                    if removed.has(&element) {
                        continue;
                    }
                    let value = match removed.below(&element) {
                        Some(below) => this.child(&element).without(value, below),
                        None => value.clone(),
                    };
                    kept.insert(name.clone(), value);
                }
                if kept.is_empty() { Value::Null } else { Value::Object(kept) }
            }
            (_, Value::Array(items)) if self.is_list() => {
                let mut kept = Vec::new();
                for item in items {
                    let Ok(element) = self.element(item) else { continue };
                    match (removed.has(&element), removed.below(&element)) {
                        (true, _) => {}
                        (false, Some(below)) => kept.push(self.child(&element).without(item, below)),
                        (false, None) => kept.push(item.clone()),
                    }
                }
                if kept.is_empty() { Value::Null } else { Value::Array(kept) }
            }
            (Self::Leaf, scalar) if !scalar.is_object() && !scalar.is_array() => scalar.clone(),
            _ => Value::Null,
        }
    }

    /// Adds each declared field of which the set contains a part. Upstream:
    /// `EnsureNamedFieldsAreMembers`.
    pub(crate) fn with_named_fields(self, set: &FieldSet) -> FieldSet {
        let declared = |element: &PathElement| match (self, element) {
            (_, PathElement::Field(name)) => self.declares(name),
            _ => false,
        };
        set.with_members(declared, |element, below| match element {
            PathElement::Field(_) | PathElement::Key(_) => self.child(element).with_named_fields(below),
            _ => below.clone(),
        })
    }
}

/// Whether two values are equal; numbers are compared by value.
fn is_equal(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Number(old), Value::Number(new)) => old.as_f64() == new.as_f64(),
        _ => old == new,
    }
}

/// Whether a top-level field is reset as a whole.
pub(crate) fn is_reset(name: &str, reset: &[&[&str]]) -> bool {
    reset.iter().any(|path| *path == [name])
}
