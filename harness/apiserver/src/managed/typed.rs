//! An object by its type: which fields it has, in which two objects differ, and an object
//! without some of its fields. Merging two objects is in `merge`.
//!
//! How a field merges is in the table of types. A list whose merging the table does not say is one
//! value, as OpenAPI has it by default.
//!
//! Upstream: `structured-merge-diff/typed` (`toFieldSet`, `Compare`, `RemoveItems`).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::is_reset;
use super::path::{Element, Scalar, Set};
use crate::api::{Field, Merging, Shape, TYPES, Type};

/// How a value is taken apart.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum Atom<'a> {
    /// One value.
    Leaf,
    /// What no schema describes: an object by its fields, all else as one value.
    Free,
    /// An object by its fields.
    Fields(&'a BTreeMap<String, Field>),
    /// The same, where other fields are free.
    Open(&'a BTreeMap<String, Field>),
    /// A map: each value has the shape.
    Map(&'a Shape),
    /// A list whose items are scalars.
    Items(&'a Shape),
    /// A list whose items have key fields.
    Keyed(&'a Shape, &'a [String]),
}

/// In what two objects differ.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    pub(super) removed: Set,
    pub(super) modified: Set,
    pub(super) added: Set,
}

impl<'a> Atom<'a> {
    /// Of a type, by its index in the table.
    pub(in super::super) fn of_type(place: usize) -> Atom<'static> {
        Atom::of_fields(TYPES.get(place))
    }

    /// Of a type with its fields.
    pub(in super::super) fn of_fields(of: &Type) -> Atom<'_> {
        match (of.atomic, of.open) {
            (true, _) => Atom::Leaf,
            (false, true) => Atom::Open(&of.fields),
            (false, false) => Atom::Fields(&of.fields),
        }
    }

    /// What stands for a free value among these: it depends on what they are.
    pub(super) fn settled(self, values: &[Option<&Value>]) -> Self {
        static FREE: Shape = Shape::Free;
        match self {
            Self::Free if values.iter().flatten().any(|value| value.is_object()) => Self::Map(&FREE),
            Self::Free => Self::Leaf,
            other => other,
        }
    }

    /// Whether it declares a field.
    fn declares(self, name: &str) -> bool {
        matches!(self, Self::Fields(fields) | Self::Open(fields) if fields.contains_key(name))
    }

    fn of(shape: &'a Shape, merging: &'a Merging) -> Self {
        match (shape, merging) {
            (_, Merging::Atomic) => Self::Leaf,
            (Shape::Struct(place), _) => Self::of_type(*place),
            (Shape::Own(of), _) => Self::of_fields(of),
            (Shape::Free, _) => Self::Free,
            (Shape::Map(value), _) => Self::Map(value),
            (Shape::List(item), Merging::Set) => Self::Items(item),
            (Shape::List(item), Merging::Keyed(keys)) => Self::Keyed(item, keys),
            _ => Self::Leaf,
        }
    }

    fn plain(shape: &'a Shape) -> Self {
        Self::of(shape, &Merging::Granular)
    }

    /// Of the value behind an element.
    pub(super) fn behind(self, element: &Element) -> Self {
        match (self, element) {
            (Self::Fields(fields), Element::Field(name)) => {
                fields.get(&**name).map_or(Self::Leaf, |field| Self::of(&field.shape, &field.merging))
            }
            (Self::Open(fields), Element::Field(name)) => {
                fields.get(&**name).map_or(Self::Free, |field| Self::of(&field.shape, &field.merging))
            }
            (Self::Map(value), Element::Field(_)) => Self::plain(value),
            (Self::Items(item) | Self::Keyed(item, _), _) => Self::plain(item),
            _ => Self::Leaf,
        }
    }

    /// Whether it is a list that is merged.
    pub(super) fn is_list(self) -> bool {
        matches!(self, Self::Items(_) | Self::Keyed(..))
    }

    /// What identifies an item of the list; an error for an item without its keys.
    pub(super) fn element(self, item: &Value) -> Result<Element, String> {
        let Self::Keyed(shape, keys) = self else {
            return match item {
                Value::Object(_) => Err("associative list without keys has an element that's a map type".to_owned()),
                Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
                Value::Null => Err("associative list without keys has an element that's an explicit null".to_owned()),
                scalar => Ok(Element::Item(Scalar(scalar.clone()))),
            };
        };
        let Value::Object(fields) = item else {
            let what = if item.is_null() { "a null element" } else { "non-map elements" };
            return Err(format!("associative list with keys may not have {what}"));
        };
        let default = |key: &str| match shape {
            Shape::Struct(place) => TYPES.get(*place).fields.get(key).and_then(|field| field.default.clone()),
            Shape::Own(of) => of.fields.get(key).and_then(|field| field.default.clone()),
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
        Ok(Element::Key(found))
    }

    /// The fields of a value.
    pub(super) fn fields_of(self, value: &Value) -> Set {
        let mut set = Set::default();
        self.collect(value, &mut Vec::new(), &mut set);
        set
    }

    fn collect(self, value: &Value, path: &mut Vec<Element>, set: &mut Set) {
        let this = self.settled(&[Some(value)]);
        match (this, value) {
            (Self::Fields(_) | Self::Open(_) | Self::Map(_), Value::Object(object)) => {
                for (name, value) in object {
                    let element = Element::Field(name.as_str().into());
                    let free = !this.declares(name);
                    let behind = this.behind(&element);
                    path.push(element);
                    behind.collect(value, path, set);
                    if free || value.is_null() || value.as_object().is_some_and(Map::is_empty) {
                        set.insert(path);
                    }
                    path.pop();
                }
            }
            (_, Value::Array(items)) if self.is_list() => {
                let elements = self.elements(items);
                for (element, items) in elements {
                    let behind = self.behind(&element);
                    path.push(element);
                    if let [item] = items.as_slice() {
                        behind.collect(item, path, set);
                    }
                    set.insert(path);
                    path.pop();
                }
            }
            (Self::Leaf, _) => set.insert(path),
            _ => {}
        }
    }

    /// The items of a list by what identifies them, in the order of their first.
    fn elements(self, items: &[Value]) -> Vec<(Element, Vec<&Value>)> {
        let mut all: Vec<(Element, Vec<&Value>)> = Vec::new();
        let mut places: BTreeMap<Element, usize> = BTreeMap::new();
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

    /// Whether a list that is merged has an item twice.
    pub(super) fn has_duplicates(self, value: &Value) -> bool {
        let this = self.settled(&[Some(value)]);
        match (this, value) {
            (Self::Fields(_) | Self::Open(_) | Self::Map(_), Value::Object(object)) => object
                .iter()
                .any(|(name, value)| this.behind(&Element::Field(name.as_str().into())).has_duplicates(value)),
            (_, Value::Array(items)) if this.is_list() => {
                let all = this.elements(items);
                all.iter().any(|(element, items)| items.len() > 1 || this.behind(element).has_duplicates(items[0]))
            }
            _ => false,
        }
    }

    /// What differs between an old object and a new one. Of the fields of the object itself those
    /// are not looked at that are `reset` as a whole.
    pub(super) fn compare(self, old: &Value, new: &Value, reset: &[&[&str]]) -> Comparison {
        let mut comparison = Comparison::default();
        self.walk_fields(Some(old), Some(new), &mut Vec::new(), &mut comparison, reset);
        comparison
    }

    fn walk(self, old: Option<&Value>, new: Option<&Value>, path: &mut Vec<Element>, out: &mut Comparison) {
        // Most of an object is not written: what is equal as a whole differs in no part.
        if old.is_some() && old == new {
            return;
        }
        let this = self.settled(&[old, new]);
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
        match (old, new) {
            (None, _) => out.added.insert(path),
            (_, None) => out.removed.insert(path),
            (Some(old), Some(new)) if leaf && !same(old, new) => out.modified.insert(path),
            _ => {}
        }
    }

    fn walk_fields(
        self,
        old: Option<&Value>,
        new: Option<&Value>,
        path: &mut Vec<Element>,
        out: &mut Comparison,
        reset: &[&[&str]],
    ) {
        let (old, new) = (old.and_then(Value::as_object), new.and_then(Value::as_object));
        let added = new.into_iter().flat_map(Map::keys).filter(|name| old.is_none_or(|old| !old.contains_key(*name)));
        for name in old.into_iter().flat_map(Map::keys).chain(added) {
            let (old, new) = (old.and_then(|old| old.get(name)), new.and_then(|new| new.get(name)));
            if old.is_some() && old == new || is_reset(name, reset) {
                continue;
            }
            let element = Element::Field(name.as_str().into());
            let behind = self.behind(&element);
            path.push(element);
            behind.walk(old, new, path, out);
            path.pop();
        }
    }

    fn walk_items(self, old: Option<&Value>, new: Option<&Value>, path: &mut Vec<Element>, out: &mut Comparison) {
        let [old, new] = [old, new].map(|value| value.and_then(Value::as_array).map_or(&[][..], Vec::as_slice));
        let (old, new) = (self.elements(old), self.elements(new));
        let [of_old, of_new] = [&old, &new]
            .map(|all| all.iter().map(|(element, items)| (element, items.as_slice())).collect::<BTreeMap<_, _>>());
        let added = new.iter().filter(|(element, _)| !of_old.contains_key(element));
        for element in old.iter().chain(added).map(|(element, _)| element) {
            let [left, right] = [&of_old, &of_new].map(|all| all.get(element).copied().unwrap_or_default());
            let behind = self.behind(element);
            path.push(element.clone());
            match (left, right) {
                ([_, _, ..], [_, _, ..]) => {
                    if left != right {
                        out.modified.insert(path);
                    }
                }
                ([_, _, ..], right) => {
                    if let Some(one) = right.first() {
                        behind.walk(None, Some(one), path, out);
                    }
                    out.removed.insert(path);
                }
                (left, [_, _, ..]) => {
                    if let Some(one) = left.first() {
                        behind.walk(Some(one), None, path, out);
                    }
                    out.added.insert(path);
                }
                (left, right) => behind.walk(left.first().copied(), right.first().copied(), path, out),
            }
            path.pop();
        }
    }

    /// A value without the fields of a set.
    pub(super) fn without(self, value: &Value, gone: &Set) -> Value {
        let this = self.settled(&[Some(value)]);
        match (this, value) {
            (Self::Fields(_) | Self::Open(_) | Self::Map(_), Value::Object(object)) => {
                let mut kept = Map::new();
                for (name, value) in object {
                    let element = Element::Field(name.as_str().into());
                    if gone.has(&element) {
                        continue;
                    }
                    let value = match gone.below(&element) {
                        Some(below) => this.behind(&element).without(value, below),
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
                    match (gone.has(&element), gone.below(&element)) {
                        (true, _) => {}
                        (false, Some(below)) => kept.push(self.behind(&element).without(item, below)),
                        (false, None) => kept.push(item.clone()),
                    }
                }
                if kept.is_empty() { Value::Null } else { Value::Array(kept) }
            }
            (Self::Leaf, scalar) if !scalar.is_object() && !scalar.is_array() => scalar.clone(),
            _ => Value::Null,
        }
    }

    /// The set, and in it each declared field of which it has something.
    pub(super) fn with_named_fields(self, set: &Set) -> Set {
        let declared = |element: &Element| match (self, element) {
            (_, Element::Field(name)) => self.declares(name),
            _ => false,
        };
        set.with_members(declared, |element, below| match element {
            Element::Field(_) | Element::Key(_) => self.behind(element).with_named_fields(below),
            _ => below.clone(),
        })
    }
}

/// Whether two values are one; numbers by their value.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        _ => one == other,
    }
}
