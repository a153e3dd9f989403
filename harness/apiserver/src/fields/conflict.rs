//! Conflicts of server-side apply: fields that an apply changes and another manager owns.

use serde_json::{Value, json};

use crate::fields::entries::ManagerId;
use crate::fields::path::{FieldSet, PathElement, path_text};

/// A field of one manager.
#[derive(Debug, Clone)]
pub(crate) struct Conflict {
    manager: ManagerId,
    path: Vec<PathElement>,
}

impl Conflict {
    /// One conflict for each field of the set.
    pub(crate) fn all(manager: &ManagerId, set: &FieldSet) -> Vec<Self> {
        set.paths().into_iter().map(|path| Self { manager: manager.clone(), path }).collect()
    }

    /// Whether the set contains the field.
    pub(crate) fn is_in(&self, set: &FieldSet) -> bool {
        let mut one = FieldSet::default();
        one.insert(&self.path);
        one.difference(set).is_empty()
    }

    /// The conflict as a cause of a Status.
    fn cause(&self) -> Value {
        json!({"reason": "FieldManagerConflict", "message": format!("conflict with {}", self.manager.display_name()),
            "field": path_text(&self.path)})
    }
}

/// The message and the causes. Upstream: `NewConflictError`.
pub(crate) fn conflict_message(conflicts: &[Conflict]) -> (String, Vec<Value>) {
    let causes = conflicts.iter().map(Conflict::cause).collect();
    if let [one] = conflicts {
        let message = format!(
            "Apply failed with 1 conflict: conflict with {}: {}",
            one.manager.display_name(),
            path_text(&one.path)
        );
        return (message, causes);
    }
    let mut lines: Vec<String> = Vec::new();
    let mut last = None;
    for conflict in conflicts {
        if last != Some(&conflict.manager) {
            lines.push(format!("conflicts with {}:", conflict.manager.display_name()));
            last = Some(&conflict.manager);
        }
        lines.push(format!("- {}", path_text(&conflict.path)));
    }
    (format!("Apply failed with {} conflicts: {}", conflicts.len(), lines.join("\n")), causes)
}

impl ManagerId {
    fn display_name(&self) -> String {
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
