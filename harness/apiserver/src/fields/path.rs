//! Paths to fields and sets of paths, as in `managedFields` (`FieldsV1`).
//!
//! Upstream: `structured-merge-diff/fieldpath`.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::types::decode::append_json;

/// An element of a path. The order is upstream's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PathElement {
    /// A field of an object, or a key of a map.
    Field(Arc<str>),
    /// A list item, by its key fields sorted by name.
    Key(Vec<(String, Scalar)>),
    /// An item of a set.
    Item(Scalar),
    /// A list item by index; servers never write this.
    Index(i64),
}

/// A value that identifies an item.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scalar(pub(crate) Value);

/// A set of paths. Clones share unchanged parts: a write changes little of what the managers own.
#[derive(Debug, Clone, Default)]
pub(crate) struct FieldSet {
    nodes: Option<Arc<SetNodes>>,
}

/// Sorted. Most nodes have few children, and a `BTreeMap` reserves room for eleven.
#[derive(Debug, Clone, Default, PartialEq)]
struct SetNodes(Vec<(PathElement, SetNode)>);

static EMPTY_NODES: SetNodes = SetNodes(Vec::new());

#[derive(Debug, Clone, Default, PartialEq)]
struct SetNode {
    /// Whether the path that ends here is in the set.
    member: bool,
    below: FieldSet,
}

impl SetNodes {
    fn place(&self, element: &PathElement) -> Result<usize, usize> {
        self.0.binary_search_by(|(one, _)| one.cmp(element))
    }

    fn get(&self, element: &PathElement) -> Option<&SetNode> {
        self.place(element).ok().map(|at| &self.0[at].1)
    }

    fn get_mut(&mut self, element: &PathElement) -> Option<&mut SetNode> {
        self.place(element).ok().map(|at| &mut self.0[at].1)
    }

    /// The node of an element, created if absent.
    fn node(&mut self, element: &PathElement) -> &mut SetNode {
        let at = self.place(element).unwrap_or_else(|at| {
            self.0.insert(at, (element.clone(), SetNode::default()));
            at
        });
        &mut self.0[at].1
    }

    fn remove(&mut self, element: &PathElement) {
        if let Ok(at) = self.place(element) {
            self.0.remove(at);
        }
    }

    fn iter(&self) -> impl Iterator<Item = (&PathElement, &SetNode)> {
        self.0.iter().map(|(element, node)| (element, node))
    }
}

impl PartialEq for FieldSet {
    fn eq(&self, rhs: &Self) -> bool {
        std::ptr::eq(self.nodes(), rhs.nodes()) || self.nodes() == rhs.nodes()
    }
}

impl Eq for Scalar {}

impl PartialOrd for Scalar {
    fn partial_cmp(&self, rhs: &Self) -> Option<Ordering> {
        Some(self.cmp(rhs))
    }
}

impl Ord for Scalar {
    fn cmp(&self, rhs: &Self) -> Ordering {
        let rank = |value: &Value| match value {
            Value::Number(_) => 0,
            Value::String(_) => 1,
            Value::Bool(_) => 2,
            _ => 3,
        };
        match (&self.0, &rhs.0) {
            (Value::Number(one), Value::Number(two)) => {
                let (one, two) = (one.as_f64().unwrap_or_default(), two.as_f64().unwrap_or_default());
                one.total_cmp(&two)
            }
            (Value::String(one), Value::String(two)) => one.cmp(two),
            (Value::Bool(one), Value::Bool(two)) => one.cmp(two),
            (one, two) => rank(one).cmp(&rank(two)).then_with(|| one.to_string().cmp(&two.to_string())),
        }
    }
}

impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(fields) => {
                let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={}", value.0)).collect();
                write!(f, "[{}]", fields.join(","))
            }
            Self::Item(value) => write!(f, "[={}]", value.0),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

impl PathElement {
    /// The element as a key of `FieldsV1`.
    fn key(&self) -> String {
        match self {
            Self::Field(name) => ["f:", name].concat(),
            Self::Key(fields) => {
                let fields: BTreeMap<&str, &Value> =
                    fields.iter().map(|(name, value)| (name.as_str(), &value.0)).collect();
                format!("k:{}", serde_json::to_string(&fields).unwrap_or_default())
            }
            Self::Item(value) => format!("v:{}", value.0),
            Self::Index(index) => format!("i:{index}"),
        }
    }

    /// Appends the text of [`PathElement::key`] as JSON.
    fn write_key(&self, text: &mut Vec<u8>) {
        match self {
            // Hardly any name needs an escape.
            Self::Field(name) if name.bytes().all(|sign| sign >= b' ' && !matches!(sign, b'"' | b'\\')) => {
                for part in ["\"f:", name, "\""] {
                    text.extend_from_slice(part.as_bytes());
                }
            }
            _ => append_json(text, &self.key().into()),
        }
    }

    fn read(key: &str) -> Option<Self> {
        let (form, rest) = key.split_once(':')?;
        match form {
            "f" => Some(Self::Field(rest.into())),
            "v" => serde_json::from_str(rest).ok().map(|value| Self::Item(Scalar(value))),
            "i" => rest.parse().ok().map(Self::Index),
            "k" => {
                let fields: BTreeMap<String, Value> = serde_json::from_str(rest).ok()?;
                Some(Self::Key(fields.into_iter().map(|(name, value)| (name, Scalar(value))).collect()))
            }
            _ => None,
        }
    }
}

impl FieldSet {
    fn nodes(&self) -> &SetNodes {
        self.nodes.as_deref().unwrap_or(&EMPTY_NODES)
    }

    fn nodes_mut(&mut self) -> &mut SetNodes {
        Arc::make_mut(self.nodes.get_or_insert_default())
    }

    /// The set of these paths of field names, such as `["metadata", "name"]`.
    pub(crate) fn of_fields(paths: &[&[&str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            let path: Vec<PathElement> = path.iter().map(|name| PathElement::Field((*name).into())).collect();
            set.insert(&path);
        }
        set
    }

    /// Adds a path. The empty path is never in a set.
    pub(crate) fn insert(&mut self, path: &[PathElement]) {
        if let Some(node) = self.node(path) {
            node.member = true;
        }
    }

    /// The node of a path, created if absent; `None` for the empty path.
    fn node(&mut self, path: &[PathElement]) -> Option<&mut SetNode> {
        let (last, above) = path.split_last()?;
        let mut set = self;
        for element in above {
            set = &mut set.nodes_mut().node(element).below;
        }
        Some(set.nodes_mut().node(last))
    }

    /// Adds a path with what is below it, in place of what was.
    pub(crate) fn insert_with(&mut self, path: &[PathElement], below: Self) {
        if let Some(node) = self.node(path) {
            *node = SetNode { member: true, below };
        }
    }

    /// The set of these different elements, each with what is below it.
    pub(crate) fn of_elements(elements: impl Iterator<Item = (PathElement, Self)>) -> Self {
        let mut nodes: Vec<_> = elements.map(|(element, below)| (element, SetNode { member: true, below })).collect();
        nodes.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        Self { nodes: (!nodes.is_empty()).then(|| Arc::new(SetNodes(nodes))) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.nodes().iter().all(|(_, node)| !node.member && node.below.is_empty())
    }

    /// Whether the path of this single element is in the set.
    pub(crate) fn has(&self, element: &PathElement) -> bool {
        self.nodes().get(element).is_some_and(|node| node.member)
    }

    /// The paths below an element, if there are any.
    pub(crate) fn below(&self, element: &PathElement) -> Option<&Self> {
        self.nodes().get(element).map(|node| &node.below).filter(|below| !below.is_empty())
    }

    pub(crate) fn union(&self, rhs: &Self) -> Self {
        let mut all = self.clone();
        all.add(rhs);
        all
    }

    /// Adds the paths of another set.
    pub(crate) fn add(&mut self, rhs: &Self) {
        if self.nodes().0.is_empty() {
            *self = rhs.clone();
            return;
        }
        if self.covers(rhs) {
            return;
        }
        for (element, node) in rhs.nodes().iter() {
            let into = self.nodes_mut().node(element);
            into.member |= node.member;
            into.below.add(&node.below);
        }
    }

    /// Whether it contains all paths of another set.
    fn covers(&self, rhs: &Self) -> bool {
        let (own, rhs_nodes) = (self.nodes(), rhs.nodes());
        std::ptr::eq(own, rhs_nodes)
            || rhs_nodes.iter().all(|(element, node)| {
                let own = own.get(element);
                own.is_some_and(|own| own.member >= node.member && own.below.covers(&node.below))
            })
    }

    /// Whether it shares a path with another set.
    fn intersects(&self, rhs: &Self) -> bool {
        rhs.nodes().iter().any(|(element, node)| {
            let own = self.nodes().get(element);
            own.is_some_and(|own| own.member && node.member || own.below.intersects(&node.below))
        })
    }

    /// Removes the paths of another set. The cost depends on the other set, which is what a write
    /// changed and much smaller.
    pub(crate) fn subtract(&mut self, rhs: &Self) {
        if !self.intersects(rhs) {
            return;
        }
        for (element, without) in rhs.nodes().iter() {
            let nodes = self.nodes_mut();
            let Some(node) = nodes.get_mut(element) else { continue };
            node.member &= !without.member;
            node.below.subtract(&without.below);
            if !node.member && node.below.is_empty() {
                nodes.remove(element);
            }
        }
    }

    pub(crate) fn intersection(&self, rhs: &Self) -> Self {
        self.filter_map_nodes(|element, node| {
            let with = rhs.nodes().get(element)?;
            Some(SetNode { member: node.member && with.member, below: node.below.intersection(&with.below) })
        })
    }

    /// The set without the paths of another set.
    pub(crate) fn difference(&self, rhs: &Self) -> Self {
        self.filter_map_nodes(|element, node| match rhs.nodes().get(element) {
            None => Some(node.clone()),
            Some(without) => {
                Some(SetNode { member: node.member && !without.member, below: node.below.difference(&without.below) })
            }
        })
    }

    /// The set without the paths of another set and everything below them.
    pub(crate) fn recursive_difference(&self, rhs: &Self) -> Self {
        self.filter_map_nodes(|element, node| match rhs.nodes().get(element) {
            None => Some(node.clone()),
            Some(without) if without.member => None,
            Some(without) => {
                Some(SetNode { member: node.member, below: node.below.recursive_difference(&without.below) })
            }
        })
    }

    /// Maps each node, and drops empty ones.
    fn filter_map_nodes(&self, change: impl Fn(&PathElement, &SetNode) -> Option<SetNode>) -> Self {
        let nodes = self.nodes().iter().filter_map(|(element, node)| Some((element.clone(), change(element, node)?)));
        let nodes = SetNodes(nodes.filter(|(_, node)| node.member || !node.below.is_empty()).collect());
        Self { nodes: (!nodes.0.is_empty()).then(|| Arc::new(nodes)) }
    }

    /// Maps the paths below each element, and adds each element with children for which `add` is
    /// true.
    pub(crate) fn with_members(
        &self,
        add: impl Fn(&PathElement) -> bool,
        below: impl Fn(&PathElement, &Self) -> Self,
    ) -> Self {
        self.filter_map_nodes(|element, node| {
            let member = node.member || (!node.below.is_empty() && add(element));
            Some(SetNode { member, below: below(element, &node.below) })
        })
    }

    /// All paths; at each level, paths that end there come first.
    pub(crate) fn paths(&self) -> Vec<Vec<PathElement>> {
        let ends = self.nodes().iter().filter(|(_, node)| node.member).map(|(element, _)| vec![element.clone()]);
        let mut paths: Vec<Vec<PathElement>> = ends.collect();
        for (element, node) in self.nodes().iter() {
            paths.extend(node.below.paths().into_iter().map(|rest| [vec![element.clone()], rest].concat()));
        }
        paths
    }

    /// Encodes `fieldsV1`.
    pub(crate) fn to_json(&self) -> Value {
        let mut object = Map::new();
        for (element, node) in self.nodes().iter() {
            let mut below = node.below.to_json();
            if let (true, false, Value::Object(fields)) = (node.member, node.below.is_empty(), &mut below) {
                fields.insert(".".to_owned(), Value::Object(Map::new()));
            }
            object.insert(element.key(), below);
        }
        Value::Object(object)
    }

    /// Appends the text of [`FieldSet::to_json`], whose keys are sorted.
    pub(crate) fn write(&self, text: &mut Vec<u8>) {
        self.write_below(text, false);
    }

    fn write_below(&self, text: &mut Vec<u8>, member: bool) {
        text.push(b'{');
        let mut nodes: Vec<&(PathElement, SetNode)> = self.nodes().0.iter().collect();
        // Fields have the order of their names already.
        if nodes.iter().any(|(element, _)| !matches!(element, PathElement::Field(_))) {
            nodes.sort_by_cached_key(|(element, _)| element.key());
        }
        if member && !nodes.is_empty() {
            text.extend_from_slice(b"\".\":{},");
        }
        for (at, (element, node)) in nodes.into_iter().enumerate() {
            if at > 0 {
                text.push(b',');
            }
            element.write_key(text);
            text.push(b':');
            node.below.write_below(text, node.member && !node.below.is_empty());
        }
        text.push(b'}');
    }

    /// Parses `fieldsV1`; `None` if it is invalid.
    pub(crate) fn from_json(fields: &Value) -> Option<Self> {
        let mut set = Self::default();
        for (key, below) in fields.as_object()? {
            if key == "." {
                continue;
            }
            let object = below.as_object()?;
            let member = object.is_empty() || object.contains_key(".");
            *set.nodes_mut().node(&PathElement::read(key)?) = SetNode { member, below: Self::from_json(below)? };
        }
        Some(set)
    }
}

/// Formats a path as in messages: `.spec.containers[name="app"].image`.
pub(crate) fn path_text(path: &[PathElement]) -> String {
    path.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn set(fields: &Value) -> FieldSet {
        FieldSet::from_json(fields).unwrap()
    }

    #[rstest]
    #[case::nothing(json!({}))]
    #[case::a_field_and_what_is_below(json!({"f:metadata": {"f:labels": {".": {}, "f:app": {}}}}))]
    #[case::keys(json!({"f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}}}))]
    #[case::keys_sorted_as_text(json!({"f:ports": {"k:{\"port\":443}": {".": {}, "f:port": {}}, "k:{\"port\":80}": {}}}))]
    #[case::values(json!({"f:finalizers": {"v:\"a\"": {}}}))]
    #[case::a_name_with_signs_that_are_escaped(json!({"f:\"quoted\\\n": {}, "f:plain": {}}))]
    fn field_set_round_trips_through_json(#[case] fields: Value) {
        assert_eq!(set(&fields).to_json(), fields);
        let mut text = Vec::new();
        set(&fields).write(&mut text);
        assert_eq!(String::from_utf8(text).unwrap(), fields.to_string());
    }

    #[test]
    fn set_operations_combine_and_subtract_paths() {
        let one = set(&json!({"f:a": {".": {}, "f:b": {}}, "f:c": {}}));
        let two = set(&json!({"f:a": {}, "f:d": {}}));
        assert_eq!(one.union(&two).to_json(), json!({"f:a": {".": {}, "f:b": {}}, "f:c": {}, "f:d": {}}));
        assert_eq!(one.intersection(&two).to_json(), json!({"f:a": {}}));
        assert_eq!(one.difference(&two).to_json(), json!({"f:a": {"f:b": {}}, "f:c": {}}));
        assert_eq!(one.recursive_difference(&two).to_json(), json!({"f:c": {}}));
        assert!(one.difference(&one).is_empty());
        for (one, two) in [(&one, &two), (&two, &one), (&one, &one)] {
            let (mut added, mut subtracted) = (one.clone(), one.clone());
            added.add(two);
            subtracted.subtract(two);
            assert_eq!((added, subtracted), (one.union(two), one.difference(two)));
        }
    }

    #[test]
    fn formats_path_as_in_a_conflict_message() {
        let fields = json!({"f:spec": {"f:containers": {"k:{\"name\":\"app\"}": {"f:image": {}}}}});
        let paths: Vec<String> = set(&fields).paths().iter().map(|path| path_text(path)).collect();
        assert_eq!(paths, [".spec.containers[name=\"app\"].image"]);
    }
}
