//! A field that an apply changes and another manager has.

use serde_json::{Value, json};

use super::entries::Id;
use super::path::{Element, Set, shown};

/// One field of one manager.
#[derive(Debug, Clone)]
pub(crate) struct Conflict {
    manager: Id,
    path: Vec<Element>,
}

impl Conflict {
    /// One for each field of the set.
    pub(super) fn all(manager: &Id, set: &Set) -> Vec<Self> {
        set.paths().into_iter().map(|path| Self { manager: manager.clone(), path }).collect()
    }

    /// Whether the set has the field.
    pub(super) fn is_in(&self, set: &Set) -> bool {
        let mut one = Set::default();
        one.insert(&self.path);
        one.difference(set).is_empty()
    }

    /// As a cause in a Status.
    fn cause(&self) -> Value {
        json!({"reason": "FieldManagerConflict", "message": format!("conflict with {}", self.manager.named()),
            "field": shown(&self.path)})
    }
}

/// The message and the causes. Upstream: `NewConflictError`.
pub(crate) fn told(conflicts: &[Conflict]) -> (String, Vec<Value>) {
    let causes = conflicts.iter().map(Conflict::cause).collect();
    if let [one] = conflicts {
        let message =
            format!("Apply failed with 1 conflict: conflict with {}: {}", one.manager.named(), shown(&one.path));
        return (message, causes);
    }
    let mut lines: Vec<String> = Vec::new();
    let mut last = None;
    for conflict in conflicts {
        if last != Some(&conflict.manager) {
            lines.push(format!("conflicts with {}:", conflict.manager.named()));
            last = Some(&conflict.manager);
        }
        lines.push(format!("- {}", shown(&conflict.path)));
    }
    (format!("Apply failed with {} conflicts: {}", conflicts.len(), lines.join("\n")), causes)
}

impl Id {
    fn named(&self) -> String {
        let mut name = format!("{:?}", self.manager);
        if !self.subresource.is_empty() {
            name += &format!(" with subresource {:?}", self.subresource);
        }
        if self.operation == "Update" {
            name += &format!(" using {}", self.api_version);
        }
        name
    }
}
