//! The fields that the server sets itself before a write: what all kinds have in common, and what
//! custom resources have. Upstream: `BeforeCreate` and `BeforeUpdate` of `registry/rest`.

use serde_json::Value;

use crate::registry::kinds::strategy_of;
use crate::registry::strategy::{FieldPaths, keep, without_metadata};
use crate::types::kinds::ResourceKind;

/// The fields that the server resets after a write of the object or a subresource, so that no
/// manager owns them. Upstream: `GetResetFields`.
pub(crate) fn reset_fields(kind: &ResourceKind, subresource: &str) -> FieldPaths {
    match (kind.custom, subresource) {
        (None, _) => strategy_of(kind).reset_fields(subresource),
        (Some(_), "status") => &[&["metadata"], &["spec"]],
        (Some(custom), _) if custom.status => &[&["status"]],
        (Some(_), _) => &[],
    }
}

/// Sets the defaults of an object.
pub(crate) fn set_defaults(kind: &ResourceKind, body: &mut Value) {
    match kind.custom {
        Some(custom) => custom.fill(body),
        None => strategy_of(kind).set_defaults(body),
    }
}

/// Prepares a new object: only the server sets its status and generation.
pub(crate) fn prepare_for_create(kind: &ResourceKind, body: &mut Value) {
    let strategy = strategy_of(kind);
    if strategy.has_generation() || kind.custom.is_some() {
        body["metadata"]["generation"] = 1.into();
    }
    if kind.custom.is_some_and(|custom| custom.status) {
        body.as_object_mut().and_then(|body| body.remove("status"));
    }
    strategy.prepare_for_create(body);
}

fn next_generation(new: &mut Value, old: &Value) {
    let generation = old["metadata"]["generation"].as_i64().unwrap_or(0);
    new["metadata"]["generation"] = (generation + 1).into();
}

/// Prepares an update: the status is kept, and the generation counts changes of the spec.
pub(crate) fn prepare_for_update(kind: &ResourceKind, new: &mut Value, old: &Value) {
    if let Some(custom) = kind.custom {
        if custom.status {
            keep(new, old, "status");
        }
        if without_metadata(new) != without_metadata(old) {
            next_generation(new, old);
        }
        return;
    }
    if old.get("status").is_some() || new.get("status").is_some() {
        keep(new, old, "status");
    }
    let strategy = strategy_of(kind);
    strategy.prepare_for_update(new, old);
    if strategy.has_generation() && strategy.changes_generation(new, old) {
        next_generation(new, old);
    }
}

/// Removes an empty list of rules, which is not stored; returns whether there was one.
pub(crate) fn take_empty_rules(kind: &ResourceKind, body: &mut Value) -> bool {
    let empty = strategy_of(kind).has_empty_rules(body);
    if empty {
        body["spec"].as_object_mut().and_then(|spec| spec.remove("rules"));
    }
    empty
}

/// Prepares a status update: all other fields are kept, with few exceptions.
pub(crate) fn prepare_for_status_update(kind: &ResourceKind, new: &mut Value, old: &Value) {
    if kind.custom.is_some() {
        let status = new.get("status").cloned();
        let version = new["metadata"]["resourceVersion"].clone();
        *new = old.clone();
        new["metadata"]["resourceVersion"] = version;
        match (new.as_object_mut(), status) {
            (Some(fields), Some(status)) => drop(fields.insert("status".to_owned(), status)),
            (Some(fields), None) => drop(fields.remove("status")),
            (None, _) => {}
        }
        return;
    }
    keep(new, old, "spec");
    strategy_of(kind).prepare_for_status_update(new, old);
}

/// Whether an update must have a resourceVersion. Upstream: `AllowUnconditionalUpdate`.
pub(crate) fn requires_version(kind: &ResourceKind) -> bool {
    kind.custom.is_some() || !strategy_of(kind).allow_unconditional_update()
}

/// Drops the empty lists that etcd does not preserve.
pub(crate) fn drop_empty_lists(kind: &ResourceKind, body: &mut Value) {
    for name in strategy_of(kind).unstored_lists() {
        if body[*name].as_array().is_some_and(Vec::is_empty) {
            body[*name] = Value::Null;
        }
    }
}
