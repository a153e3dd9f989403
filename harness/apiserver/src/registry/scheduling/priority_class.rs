//! PriorityClasses. They have no effect on scheduling; admission sets the priority of pods by them.
//! Upstream: `pkg/registry/scheduling/priorityclass`, `SetDefaults_PriorityClass`,
//! `ValidatePriorityClass`, `printPriorityClass`, and the admission plugin Priority.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::http::status_error::{ApiResult, StatusError};
use crate::registry::defaults::set;
use crate::registry::state::Server;
use crate::registry::strategy::{FieldPaths, Strategy};
use crate::schema::printers::cells::{age, name, number, or};
use crate::schema::printers::columns::{AGE, Column, NAME, boolean, integer, text};
use crate::storage::object::StoredObject;
use crate::types::field_error::FieldError;
use crate::types::kinds::{ResourceKind, kind};

/// The prefix of the names of classes that every cluster has.
const SYSTEM: &str = "system-";
/// The classes that every cluster has: name, value and description.
pub(crate) const SYSTEM_CLASSES: [(&str, i64, &str); 2] = [
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    (
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
];
/// The highest value of other classes.
const HIGHEST: i64 = 1_000_000_000;
const PREEMPTION_POLICIES: [&str; 2] = ["PreemptLowerPriority", "Never"];

pub(crate) static KIND: ResourceKind = ResourceKind {
    namespaced: false,
    short_names: &["pc"],
    ..kind("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass")
};

pub(crate) struct PriorityClassStrategy;

impl Strategy for PriorityClassStrategy {
    fn has_generation(&self) -> bool {
        true
    }

    fn reset_fields(&self, _: &str) -> FieldPaths {
        &[]
    }

    fn set_defaults(&self, class: &mut Value) {
        set(class, "preemptionPolicy", json!(PREEMPTION_POLICIES[0]));
    }

    fn changes_generation(&self, _: &Value, _: &Value) -> bool {
        false
    }

    fn validate(&self, new: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata(new);
        let (name, value) = (or(&new["metadata"]["name"], ""), number(&new["value"]));
        if name.starts_with(SYSTEM) {
            errors.extend(system_class_error(name, value, new["globalDefault"] == true));
        } else if value > HIGHEST {
            let why = format!("maximum allowed value of a user defined priority is {HIGHEST}");
            errors.push(FieldError::forbidden("value", &why));
        }
        match new["preemptionPolicy"].as_str() {
            Some("") => errors.push(FieldError::required("preemptionPolicy", "")),
            Some(policy) if !PREEMPTION_POLICIES.contains(&policy) => {
                errors.push(FieldError::unsupported("preemptionPolicy", policy, &PREEMPTION_POLICIES));
            }
            _ => {}
        }
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata_update(new, old);
        if new["value"] != old["value"] {
            errors.push(FieldError::forbidden("value", "may not be changed in an update."));
        }
        if new["preemptionPolicy"] != old["preemptionPolicy"] {
            let policy = new["preemptionPolicy"].clone();
            errors.push(FieldError::invalid("preemptionPolicy", policy, "field is immutable"));
        }
        errors
    }

    // Only one class can be the default.
    fn validate_admission(
        &self,
        server: &Server,
        (_, name): (&str, &str),
        new: &Value,
        old: Option<&Value>,
    ) -> ApiResult<()> {
        let existing = default_class(server).map(|existing| existing.meta("name").to_owned());
        match existing.filter(|existing| new["globalDefault"] == true && (old.is_none() || *existing != name)) {
            None => Ok(()),
            Some(existing) => {
                let why = format!("PriorityClass {existing} is already marked as default. Only one default can exist");
                Err(StatusError::forbidden(&KIND, name, &why))
            }
        }
    }

    fn columns(&self) -> &'static [Column] {
        const { &[NAME, integer("Value"), boolean("Global-Default"), AGE, text("PreemptionPolicy")] }
    }

    fn cells(&self, class: &Value, now: Timestamp) -> Vec<Value> {
        vec![
            name(class),
            number(&class["value"]).into(),
            (class["globalDefault"] == true).into(),
            age(class, now),
            or(&class["preemptionPolicy"], "").into(),
        ]
    }
}

/// The class of pods that name none: of several, the one with the lowest value.
pub(crate) fn default_class(server: &Server) -> Option<Arc<StoredObject>> {
    let all = server.store.list(&KIND, "").filter(|class| class.body["globalDefault"] == true);
    all.min_by_key(|class| number(&class.body["value"]))
}

/// Upstream: `IsKnownSystemPriorityClass`.
fn system_class_error(name: &str, value: i64, is_default: bool) -> Option<FieldError> {
    let why = match SYSTEM_CLASSES.iter().find(|(known, ..)| *known == name) {
        None => format!("{name} is not a known system priority class"),
        Some((_, expected, _)) if *expected != value => format!("value of {name} PriorityClass must be {expected}"),
        Some(_) if is_default => format!("globalDefault of {name} PriorityClass must be false"),
        Some(_) => return None,
    };
    let why = format!("priority class names with '{SYSTEM}' prefix are reserved for system use only. error: {why}");
    Some(FieldError::forbidden("metadata.name", &why))
}
