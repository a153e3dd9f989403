//! Where a case's text holds values of Secrets.

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::{Kind, Node};

/// What `kubectl apply` keeps of an object, in a text of its own.
pub(super) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The fields of a Secret that hold values.
pub(super) const FIELDS: [&str; 2] = ["data", "stringData"];

/// The nodes that hold values of Secrets, in the order of the text, each with its value.
pub(super) struct Found<'n>(pub(super) Vec<(&'n Node, String)>);

impl<'n> Found<'n> {
    pub(super) fn of(root: &'n Node) -> Self {
        let mut found = Self(Vec::new());
        found.look(root, false);
        found.0.sort_by_key(|(node, _)| node.span.start);
        found
    }

    /// What stands for each value: by the order in which they come, so that nothing of a value is
    /// in it.
    pub(super) fn stand_ins(&self) -> BTreeMap<String, String> {
        let mut seen = BTreeSet::new();
        let new = self.0.iter().filter(|(_, value)| seen.insert(value.clone()));
        new.zip(1..).map(|((_, value), number)| (value.clone(), format!("redacted{number:04}"))).collect()
    }

    /// `in_secret`: in the metadata of one, which may repeat its values.
    fn look(&mut self, node: &'n Node, in_secret: bool) {
        match &node.kind {
            Kind::List(list) => list.iter().for_each(|node| self.look(node, in_secret)),
            Kind::Map(map) => {
                let text = |key: &str| node.get(key).and_then(Node::as_text).unwrap_or_default();
                let of_secret = text("target").starts_with("secret/");
                let is_secret = text("kind") == "Secret";
                let inside = in_secret || is_secret;
                for (key, value) in map {
                    match key.as_key().as_str() {
                        LAST_APPLIED if inside => self.leaves(value),
                        field if is_secret && FIELDS.contains(&field) => self.leaves(value),
                        "patch" if of_secret => self.patch(value),
                        _ => self.look(value, inside),
                    }
                }
            }
            _ => {}
        }
    }

    /// A merge patch has the fields of the object, a JSON patch has a list of operations with
    /// values.
    fn patch(&mut self, node: &'n Node) {
        match &node.kind {
            Kind::List(list) => {
                list.iter().filter_map(|operation| operation.get("value")).for_each(|it| self.leaves(it));
            }
            Kind::Map(map) => {
                for (key, value) in map {
                    if FIELDS.contains(&key.as_key().as_str()) { self.leaves(value) } else { self.look(value, true) }
                }
            }
            _ => {}
        }
    }

    fn leaves(&mut self, node: &'n Node) {
        match &node.kind {
            Kind::Null => {}
            Kind::List(list) => list.iter().for_each(|node| self.leaves(node)),
            Kind::Map(map) => map.iter().for_each(|(_, value)| self.leaves(value)),
            Kind::Text(text) => self.0.push((node, text.clone())),
            Kind::Bool(_) | Kind::Int(_) | Kind::Float(_) => self.0.push((node, node.to_json().to_string())),
        }
    }
}

/// Whether a text stands for a value.
pub(super) fn is_stand_in(value: &str) -> bool {
    // A block of lines ends with a line break.
    value
        .trim_end()
        .strip_prefix("redacted")
        .is_some_and(|number| number.len() >= 4 && number.bytes().all(|byte| byte.is_ascii_digit()))
}
