//! Removes owner references that an object has twice, with a warning.
//!
//! Upstream: `dedupOwnerReferencesAndAddWarning`. A new object and a replacement lose them before
//! their managers are computed, a patched object only then.

use serde_json::Value;

use crate::registry::state::Server;

impl Server {
    /// Removes duplicates from the owners of an object and warns about them.
    pub(crate) fn deduplicate_owners(&mut self, object: &mut Value, when: &str) {
        let owners = object.pointer_mut("/metadata/ownerReferences").and_then(Value::as_array_mut);
        let Some(owners) = owners.filter(|owners| owners.len() > 1) else { return };
        let mut seen: Vec<Value> = Vec::new();
        let mut duplicates = Vec::new();
        owners.retain(|owner| {
            let is_first = !seen.contains(owner);
            if is_first {
                seen.push(owner.clone());
            } else {
                duplicates.push(owner["uid"].as_str().unwrap_or_default().to_owned());
            }
            is_first
        });
        if !duplicates.is_empty() {
            self.warnings.push(format!(
                ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, \
                 and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
                duplicates.join(", ")
            ));
        }
    }
}

/// What the warning about a patched object adds.
pub(crate) const AFTER_ADMISSION: &str = " after mutating admission happens";
