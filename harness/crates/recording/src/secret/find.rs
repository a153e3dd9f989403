//! Finds the values of Secrets in a case's text.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_support::yaml::{YamlKind, YamlNode};

/// The annotation in which `kubectl apply` stores an object's text.
pub(super) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The fields of a Secret with values.
pub(super) const FIELDS: [&str; 2] = ["data", "stringData"];

/// The nodes with values of Secrets, in the order of the text, each with its value.
pub(super) struct SecretValues<'n>(pub(super) Vec<(&'n YamlNode, String)>);

impl<'n> SecretValues<'n> {
    pub(super) fn of(root: &'n YamlNode) -> Self {
        let mut found = Self(Vec::new());
        found.search(root, false);
        found.0.sort_by_key(|(node, _)| node.span.start);
        found
    }

    /// The stand-in of each value, numbered by order, so that it reveals nothing about the value.
    pub(super) fn stand_ins(&self) -> BTreeMap<String, String> {
        let mut seen = BTreeSet::new();
        let new = self.0.iter().filter(|(_, value)| seen.insert(value.clone()));
        new.zip(1..).map(|((_, value), number)| (value.clone(), format!("redacted{number:04}"))).collect()
    }

    /// `in_secret`: inside a Secret, whose metadata may repeat its values.
    fn search(&mut self, node: &'n YamlNode, in_secret: bool) {
        match &node.kind {
            YamlKind::List(list) => list.iter().for_each(|node| self.search(node, in_secret)),
            YamlKind::Map(map) => {
                let text = |key: &str| node.get(key).and_then(YamlNode::as_text).unwrap_or_default();
                let of_secret = text("target").starts_with("secret/");
                let is_secret = text("kind") == "Secret";
                let inside = in_secret || is_secret;
                for (key, value) in map {
                    match key.as_key().as_str() {
                        LAST_APPLIED if inside => self.collect_leaves(value),
                        field if is_secret && FIELDS.contains(&field) => self.collect_leaves(value),
                        "patch" if of_secret => self.search_patch(value),
                        _ => self.search(value, inside),
                    }
                }
            }
            _ => {}
        }
    }

    /// A merge patch has the fields of the object; a JSON patch is a list of operations with
    /// values.
    fn search_patch(&mut self, node: &'n YamlNode) {
        match &node.kind {
            YamlKind::List(list) => {
                list.iter().filter_map(|operation| operation.get("value")).for_each(|it| self.collect_leaves(it));
            }
            YamlKind::Map(map) => {
                for (key, value) in map {
                    if FIELDS.contains(&key.as_key().as_str()) {
                        self.collect_leaves(value);
                    } else {
                        self.search(value, true);
                    }
                }
            }
            _ => {}
        }
    }

    fn collect_leaves(&mut self, node: &'n YamlNode) {
        match &node.kind {
            YamlKind::Null => {}
            YamlKind::List(list) => list.iter().for_each(|node| self.collect_leaves(node)),
            YamlKind::Map(map) => map.iter().for_each(|(_, value)| self.collect_leaves(value)),
            YamlKind::Text(text) => self.0.push((node, text.clone())),
            YamlKind::Bool(_) | YamlKind::Int(_) | YamlKind::Float(_) => {
                self.0.push((node, node.to_json().to_string()));
            }
        }
    }
}

/// Whether a text is a stand-in.
pub(super) fn is_stand_in(value: &str) -> bool {
    // A YAML block scalar ends with a line break.
    value
        .trim_end()
        .strip_prefix("redacted")
        .is_some_and(|number| number.len() >= 4 && number.bytes().all(|byte| byte.is_ascii_digit()))
}
