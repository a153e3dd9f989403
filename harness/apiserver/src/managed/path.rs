//! A path to a field, and sets of paths, as `managedFields` writes them (`FieldsV1`).
//!
//! Upstream: `structured-merge-diff/fieldpath`.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

/// One step of a path. The order is upstream's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Element {
    /// A field of an object, or a key of a map.
    Field(Arc<str>),
    /// An item of a list, by its key fields, sorted by name.
    Key(Vec<(String, Scalar)>),
    /// An item of a set.
    Item(Scalar),
    /// An item of a list by its place; never written by a server.
    Index(i64),
}

/// A value that can identify an item.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scalar(pub(super) Value);

/// A set of paths. A copy shares what neither changes: a write changes little of what an object's
/// managers have.
#[derive(Debug, Clone, Default)]
pub(super) struct Set {
    nodes: Option<Arc<Nodes>>,
}

/// Sorted. Most have few, and a map would keep room for eleven.
#[derive(Debug, Clone, Default, PartialEq)]
struct Nodes(Vec<(Element, Node)>);

static NOTHING: Nodes = Nodes(Vec::new());

#[derive(Debug, Clone, Default, PartialEq)]
struct Node {
    /// Whether the path that ends here is in the set.
    member: bool,
    below: Set,
}

impl Nodes {
    fn place(&self, element: &Element) -> Result<usize, usize> {
        self.0.binary_search_by(|(one, _)| one.cmp(element))
    }

    fn get(&self, element: &Element) -> Option<&Node> {
        self.place(element).ok().map(|at| &self.0[at].1)
    }

    fn get_mut(&mut self, element: &Element) -> Option<&mut Node> {
        self.place(element).ok().map(|at| &mut self.0[at].1)
    }

    /// The node of an element, which is made where there is none.
    fn node(&mut self, element: &Element) -> &mut Node {
        let at = self.place(element).unwrap_or_else(|at| {
            self.0.insert(at, (element.clone(), Node::default()));
            at
        });
        &mut self.0[at].1
    }

    fn remove(&mut self, element: &Element) {
        if let Ok(at) = self.place(element) {
            self.0.remove(at);
        }
    }

    fn iter(&self) -> impl Iterator<Item = (&Element, &Node)> {
        self.0.iter().map(|(element, node)| (element, node))
    }
}

impl PartialEq for Set {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.nodes(), other.nodes()) || self.nodes() == other.nodes()
    }
}

impl Eq for Scalar {}

impl PartialOrd for Scalar {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Scalar {
    fn cmp(&self, other: &Self) -> Ordering {
        let rank = |value: &Value| match value {
            Value::Number(_) => 0,
            Value::String(_) => 1,
            Value::Bool(_) => 2,
            _ => 3,
        };
        match (&self.0, &other.0) {
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

impl fmt::Display for Element {
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

impl Element {
    /// As a key of `FieldsV1`.
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

impl Set {
    fn nodes(&self) -> &Nodes {
        self.nodes.as_deref().unwrap_or(&NOTHING)
    }

    fn nodes_mut(&mut self) -> &mut Nodes {
        Arc::make_mut(self.nodes.get_or_insert_default())
    }

    /// Of paths of fields, such as `["metadata", "name"]`.
    pub(super) fn of_fields(paths: &[&[&str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            let path: Vec<Element> = path.iter().map(|name| Element::Field((*name).into())).collect();
            set.insert(&path);
        }
        set
    }

    /// Adds a path. The empty path is in no set.
    pub(super) fn insert(&mut self, path: &[Element]) {
        let Some((last, above)) = path.split_last() else { return };
        let mut set = self;
        for element in above {
            set = &mut set.nodes_mut().node(element).below;
        }
        set.nodes_mut().node(last).member = true;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.nodes().iter().all(|(_, node)| !node.member && node.below.is_empty())
    }

    /// Whether it has the path of this one element.
    pub(super) fn has(&self, element: &Element) -> bool {
        self.nodes().get(element).is_some_and(|node| node.member)
    }

    /// The paths below an element, if there are any.
    pub(super) fn below(&self, element: &Element) -> Option<&Self> {
        self.nodes().get(element).map(|node| &node.below).filter(|below| !below.is_empty())
    }

    pub(super) fn union(&self, other: &Self) -> Self {
        let mut all = self.clone();
        all.add(other);
        all
    }

    /// Adds the paths of the other.
    pub(super) fn add(&mut self, other: &Self) {
        if self.nodes().0.is_empty() {
            *self = other.clone();
            return;
        }
        if self.covers(other) {
            return;
        }
        for (element, node) in other.nodes().iter() {
            let into = self.nodes_mut().node(element);
            into.member |= node.member;
            into.below.add(&node.below);
        }
    }

    /// Whether it has all paths of the other.
    fn covers(&self, other: &Self) -> bool {
        let (own, others) = (self.nodes(), other.nodes());
        std::ptr::eq(own, others)
            || others.iter().all(|(element, node)| {
                let own = own.get(element);
                own.is_some_and(|own| own.member >= node.member && own.below.covers(&node.below))
            })
    }

    /// Whether it has a path of the other.
    fn meets(&self, other: &Self) -> bool {
        other.nodes().iter().any(|(element, node)| {
            let own = self.nodes().get(element);
            own.is_some_and(|own| own.member && node.member || own.below.meets(&node.below))
        })
    }

    /// Takes the paths of the other away. What it costs follows the other, which is what a write
    /// changed; a set is as large as its object.
    pub(super) fn take(&mut self, other: &Self) {
        if !self.meets(other) {
            return;
        }
        for (element, without) in other.nodes().iter() {
            let nodes = self.nodes_mut();
            let Some(node) = nodes.get_mut(element) else { continue };
            node.member &= !without.member;
            node.below.take(&without.below);
            if !node.member && node.below.is_empty() {
                nodes.remove(element);
            }
        }
    }

    pub(super) fn intersection(&self, other: &Self) -> Self {
        self.kept(|element, node| {
            let with = other.nodes().get(element)?;
            Some(Node { member: node.member && with.member, below: node.below.intersection(&with.below) })
        })
    }

    /// Without the paths of the other.
    pub(super) fn difference(&self, other: &Self) -> Self {
        self.kept(|element, node| match other.nodes().get(element) {
            None => Some(node.clone()),
            Some(without) => {
                Some(Node { member: node.member && !without.member, below: node.below.difference(&without.below) })
            }
        })
    }

    /// Without the paths of the other and all that is below them.
    pub(super) fn recursive_difference(&self, other: &Self) -> Self {
        self.kept(|element, node| match other.nodes().get(element) {
            None => Some(node.clone()),
            Some(without) if without.member => None,
            Some(without) => Some(Node { member: node.member, below: node.below.recursive_difference(&without.below) }),
        })
    }

    /// Each node as it is to be, without those that hold nothing.
    fn kept(&self, change: impl Fn(&Element, &Node) -> Option<Node>) -> Self {
        let nodes = self.nodes().iter().filter_map(|(element, node)| Some((element.clone(), change(element, node)?)));
        let nodes = Nodes(nodes.filter(|(_, node)| node.member || !node.below.is_empty()).collect());
        Self { nodes: (!nodes.0.is_empty()).then(|| Arc::new(nodes)) }
    }

    /// Each element with its children: what `add` says of it is added as a member.
    pub(super) fn with_members(&self, add: impl Fn(&Element) -> bool, below: impl Fn(&Element, &Self) -> Self) -> Self {
        self.kept(|element, node| {
            let member = node.member || (!node.below.is_empty() && add(element));
            Some(Node { member, below: below(element, &node.below) })
        })
    }

    /// All paths: those that end at a level before those that go deeper.
    pub(super) fn paths(&self) -> Vec<Vec<Element>> {
        let ends = self.nodes().iter().filter(|(_, node)| node.member).map(|(element, _)| vec![element.clone()]);
        let mut paths: Vec<Vec<Element>> = ends.collect();
        for (element, node) in self.nodes().iter() {
            paths.extend(node.below.paths().into_iter().map(|rest| [vec![element.clone()], rest].concat()));
        }
        paths
    }

    /// As `fieldsV1`.
    pub(super) fn to_json(&self) -> Value {
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

    /// From `fieldsV1`; `None` if it is none.
    pub(super) fn from_json(fields: &Value) -> Option<Self> {
        let mut set = Self::default();
        for (key, below) in fields.as_object()? {
            if key == "." {
                continue;
            }
            let object = below.as_object()?;
            let member = object.is_empty() || object.contains_key(".");
            *set.nodes_mut().node(&Element::read(key)?) = Node { member, below: Self::from_json(below)? };
        }
        Some(set)
    }
}

/// A path as a message shows it: `.spec.containers[name="app"].image`.
pub(super) fn shown(path: &[Element]) -> String {
    path.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn set(fields: &Value) -> Set {
        Set::from_json(fields).unwrap()
    }

    #[rstest]
    #[case::nothing(json!({}))]
    #[case::a_field_and_what_is_below(json!({"f:metadata": {"f:labels": {".": {}, "f:app": {}}}}))]
    #[case::keys(json!({"f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}}}))]
    #[case::values(json!({"f:finalizers": {"v:\"a\"": {}}}))]
    fn fields_are_written_as_they_were_read(#[case] fields: Value) {
        assert_eq!(set(&fields).to_json(), fields);
    }

    #[test]
    fn sets_are_joined_and_taken_from_each_other() {
        let one = set(&json!({"f:a": {".": {}, "f:b": {}}, "f:c": {}}));
        let two = set(&json!({"f:a": {}, "f:d": {}}));
        assert_eq!(one.union(&two).to_json(), json!({"f:a": {".": {}, "f:b": {}}, "f:c": {}, "f:d": {}}));
        assert_eq!(one.intersection(&two).to_json(), json!({"f:a": {}}));
        assert_eq!(one.difference(&two).to_json(), json!({"f:a": {"f:b": {}}, "f:c": {}}));
        assert_eq!(one.recursive_difference(&two).to_json(), json!({"f:c": {}}));
        assert!(one.difference(&one).is_empty());
        for (one, two) in [(&one, &two), (&two, &one), (&one, &one)] {
            let (mut added, mut taken) = (one.clone(), one.clone());
            added.add(two);
            taken.take(two);
            assert_eq!((added, taken), (one.union(two), one.difference(two)));
        }
    }

    #[test]
    fn a_path_is_shown_as_in_a_conflict() {
        let fields = json!({"f:spec": {"f:containers": {"k:{\"name\":\"app\"}": {"f:image": {}}}}});
        let paths: Vec<String> = set(&fields).paths().iter().map(|path| shown(path)).collect();
        assert_eq!(paths, [".spec.containers[name=\"app\"].image"]);
    }
}
