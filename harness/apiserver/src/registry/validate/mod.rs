//! Validates objects field by field, with upstream's messages.
//!
//! Covers what the parity tests reach. If a rule of upstream is missing, an object is accepted that
//! the real server rejects.

pub(crate) mod apps;
mod autoscaler;
pub(crate) mod batch;
pub(crate) mod container;
pub(crate) mod data;
mod event;
pub(crate) mod meta;
pub(crate) mod network;
pub(crate) mod pod;
pub(crate) mod pod_warnings;
pub(crate) mod quantity;
pub(crate) mod quota;
pub(crate) mod scalars;
pub(crate) mod statuses;
pub(crate) mod strategies;
pub(crate) mod unsupported;
pub(crate) mod unsupported_fields;

use serde_json::Value;

use crate::registry::custom::checks::{
    definition_warnings, validate_definition, validate_definition_status, validate_definition_update,
};
use crate::registry::strategies::strategy_of;
use crate::types::field_error::FieldError;
use crate::types::kinds::ResourceKind;
use crate::types::names;

/// The rule for the names of a kind, and whether its finalizers must be qualified.
fn metadata_rules(kind: &ResourceKind) -> (fn(&str) -> Vec<String>, bool) {
    match kind.built_in() {
        "Service" => (names::dns_label, true),
        // Only this rule applies to Events.
        "Event" => (names::path_segment, false),
        "CustomResourceDefinition" => (names::dns_subdomain, false),
        _ => (names::dns_subdomain, true),
    }
}

fn metadata(kind: &ResourceKind, new: &Value) -> Vec<FieldError> {
    let (name, qualifies) = metadata_rules(kind);
    meta::create(&new["metadata"], name, qualifies)
}

/// Validates a new object.
pub(crate) fn create(kind: &ResourceKind, new: &Value) -> Vec<FieldError> {
    if let Some(strategy) = strategy_of(kind) {
        return strategy.validate(new);
    }
    if kind.built_in() == "Event" {
        let own = event::create(kind, new);
        return if own.is_empty() { metadata(kind, new) } else { own };
    }
    if kind.built_in() == "CustomResourceDefinition" {
        return validate_definition(new);
    }
    let mut errors = metadata(kind, new);
    match kind.built_in() {
        "Pod" => errors.extend(validate_pod(new)),
        "Service" => errors.extend(network::service(new)),
        "HorizontalPodAutoscaler" => errors.extend(autoscaler::spec(&new["spec"], None)),
        _ => {}
    }
    errors
}

fn validate_pod(pod: &Value) -> Vec<FieldError> {
    let mut errors: Vec<FieldError> = pod::annotations(&pod["metadata"], "metadata.annotations").into_iter().collect();
    errors.extend(pod::spec(&pod["spec"], "spec"));
    errors.extend(pod::pod_only_rules(&pod["spec"]));
    errors
}

/// Validates an update.
pub(crate) fn update(kind: &ResourceKind, new: &Value, old: &Value) -> Vec<FieldError> {
    // Upstream validates metadata twice: for all kinds, and by the rules of each kind.
    let mut errors = meta::update_of_any_kind(&new["metadata"], &old["metadata"]);
    if let Some(strategy) = strategy_of(kind) {
        errors.extend(strategy.validate_update(new, old));
        return errors;
    }
    let own = meta::update(&new["metadata"], &old["metadata"], metadata_rules(kind).1);
    if kind.built_in() == "Event" {
        errors.extend(event::update(kind, new, old));
        return errors;
    }
    errors.extend(own);
    match kind.built_in() {
        "Pod" => {
            errors.extend(metadata(kind, new));
            errors.extend(validate_pod(new));
            if new["metadata"]["annotations"] != old["metadata"]["annotations"] {
                errors.extend(pod::annotations(&new["metadata"], "metadata.annotations"));
            }
            errors.extend(pod::update(&new["spec"], &old["spec"]));
        }
        "CustomResourceDefinition" => errors.extend(validate_definition_update(new, old)),
        "Service" => {
            errors.extend(network::service_update(&new["spec"], &old["spec"]));
            errors.extend(network::service(new));
        }
        "HorizontalPodAutoscaler" => errors.extend(autoscaler::spec(&new["spec"], Some(&old["spec"]))),
        _ => {}
    }
    errors
}

/// Validates a status update.
pub(crate) fn status(kind: &ResourceKind, new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = meta::update_of_any_kind(&new["metadata"], &old["metadata"]);
    if let Some(strategy) = strategy_of(kind) {
        errors.extend(strategy.validate_status_update(new, old));
        return errors;
    }
    let own = meta::update(&new["metadata"], &old["metadata"], metadata_rules(kind).1);
    errors.extend(own);
    match kind.built_in() {
        "Pod" => {
            if new["metadata"]["annotations"] != old["metadata"]["annotations"] {
                errors.extend(pod::annotations(&new["metadata"], "metadata.annotations"));
            }
            errors.extend(pod::status(&new["status"], &old["status"]));
        }
        "CustomResourceDefinition" => errors.extend(validate_definition_status(new)),
        "HorizontalPodAutoscaler" => {
            errors.extend(scalars::counts(&new["status"], &["currentReplicas", "desiredReplicas"]));
        }
        "Service" => errors.extend(network::service_status(new)),
        _ => {}
    }
    errors
}

/// The warnings for a valid object.
pub(crate) fn warnings(kind: &ResourceKind, new: &Value, old: Option<&Value>) -> Vec<String> {
    if let Some(strategy) = strategy_of(kind) {
        return strategy.warnings(new, old);
    }
    let mut all = Vec::new();
    if kind.built_in() == "Service" {
        all.extend(network::warnings(&new["spec"]));
    }
    if kind.built_in() == "CustomResourceDefinition" {
        all.extend(definition_warnings(new, old));
    }
    if kind.built_in() == "Pod" && old.is_none() {
        all.extend(pod_warnings::name_warning(new, "the Pod's hostname"));
        all.extend(pod_warnings::grace_period_warning(new, "spec", true));
    }
    all
}
