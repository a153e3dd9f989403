//! Events of `events.k8s.io`, which are stored as those of core.
//!
//! Some fields have different names in the two groups. An Event is stored in its core form; a
//! request to `events.k8s.io` uses the other form, also in `managedFields`. A watch of either group
//! delivers the Events of both.
//!
//! Upstream: `pkg/apis/events/v1/conversion.go`, `pkg/apis/core/validation/events.go`.

use jiff::Timestamp;
use serde_json::Value;

use crate::registry::core::event::{self as core, EventStrategy, common_rules};
use crate::registry::strategy::{FieldPaths, QuotaEvaluator, StoredConversion, Strategy};
use crate::registry::validate::meta;
use crate::schema::printers::columns::Column;
use crate::types::field_error::FieldError;
use crate::types::kinds::{ResourceKind, SelectableFields, kind};
use crate::types::names;

/// The name of a field in `events.k8s.io`, and in core.
const NAMES: [(&str, &str); 7] = [
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("reportingController", "reportingComponent"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
];

pub(crate) static KIND: ResourceKind = ResourceKind {
    short_names: &["ev"],
    selectable_fields: SelectableFields::Renamed(&[
        ("reason", "reason"),
        ("regarding.kind", "involvedObject.kind"),
        ("regarding.namespace", "involvedObject.namespace"),
        ("regarding.name", "involvedObject.name"),
        ("regarding.uid", "involvedObject.uid"),
        ("regarding.apiVersion", "involvedObject.apiVersion"),
        ("regarding.resourceVersion", "involvedObject.resourceVersion"),
        ("regarding.fieldPath", "involvedObject.fieldPath"),
        ("reportingController", "reportingComponent"),
        ("type", "type"),
    ]),
    table_name: Some("events.Event"),
    is_in_watch_cache: false,
    stored_as: Some(&core::KIND),
    ..kind("events.k8s.io", "v1", "events", "Event")
};

pub(crate) struct EventsV1Strategy;

impl Strategy for EventsV1Strategy {
    fn name_rule(&self) -> fn(&str) -> Vec<String> {
        names::path_segment
    }

    fn qualifies_finalizers(&self) -> bool {
        false
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }

    fn reset_fields(&self, _: &str) -> FieldPaths {
        &[]
    }

    fn stored_conversion(&self) -> Option<StoredConversion> {
        Some(StoredConversion { to_stored: to_core, from_stored: from_core })
    }

    fn is_garbage_collected(&self) -> bool {
        false
    }

    fn quota_evaluator(&self) -> QuotaEvaluator {
        QuotaEvaluator::Ignored
    }

    // Upstream validates metadata last, by the rules of all kinds.
    fn validate(&self, new: &Value) -> Vec<FieldError> {
        let errors = validate_new(new);
        if errors.is_empty() { self.validate_metadata(new) } else { errors }
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        validate_changes(new, old)
    }

    fn columns(&self) -> &'static [Column] {
        EventStrategy.columns()
    }

    fn cells(&self, event: &Value, now: Timestamp) -> Vec<Value> {
        EventStrategy.cells(&to_core(event.clone()), now)
    }
}

/// Converts an Event from `events.k8s.io` to core.
pub(crate) fn to_core(mut event: Value) -> Value {
    let names = NAMES.map(|(new, core)| (new, core));
    rename(&mut event, &names);
    // Core encodes these strings even if empty.
    if let Some(fields) = event.as_object_mut() {
        for name in ["reportingComponent", "reportingInstance"] {
            fields.entry(name).or_insert_with(|| "".into());
        }
    }
    // Core omits an empty count of a series; `events.k8s.io` does not.
    if let Some(series) = event.get_mut("series").and_then(Value::as_object_mut) {
        series.retain(|name, value| !(name == "count" && *value == 0));
    }
    event
}

/// Converts an Event from core to `events.k8s.io`.
pub(crate) fn from_core(mut event: Value) -> Value {
    let names = NAMES.map(|(new, core)| (core, new));
    rename(&mut event, &names);
    if let Some(fields) = event.as_object_mut() {
        for name in ["reportingController", "reportingInstance"] {
            if fields.get(name).is_some_and(|value| *value == "") {
                fields.remove(name);
            }
        }
    }
    if let Some(series) = event.get_mut("series").and_then(Value::as_object_mut) {
        series.entry("count").or_insert_with(|| 0.into());
    }
    event
}

fn rename(event: &mut Value, names: &[(&str, &str)]) {
    let Some(fields) = event.as_object_mut() else { return };
    for (from, to) in names {
        if let Some(value) = fields.remove(*from) {
            fields.insert((*to).to_owned(), value);
        }
    }
}

/// Validates a new Event.
fn validate_new(object: &Value) -> Vec<FieldError> {
    let event = to_core(object.clone());
    let mut errors = common_rules(&event, "reportingController");
    errors.extend(meta::events_v1(&event["metadata"], None));
    errors.extend(series(&event["series"]));
    if event["eventTime"].is_null() {
        errors.push(FieldError::required("eventTime", ""));
    }
    match text(&event, "type") {
        "Normal" | "Warning" => {}
        other => errors.push(FieldError::invalid("type", "", format!("has invalid value: {other}"))),
    }
    let set = |name: &str| !event[name].is_null();
    let source = ["component", "host"].iter().any(|name| !text(&event["source"], name).is_empty());
    let count = event["count"].as_i64().unwrap_or(0) != 0;
    let given = [
        ("firstTimestamp", set("firstTimestamp")),
        ("lastTimestamp", set("lastTimestamp")),
        ("count", count),
        ("source", source),
    ];
    let given = given.into_iter().filter(|(_, given)| *given);
    errors.extend(given.map(|(name, _)| FieldError::invalid(name, "", "needs to be unset")));
    errors
}

/// Validates an update: through `events.k8s.io` only the series can change.
fn validate_changes(new: &Value, old: &Value) -> Vec<FieldError> {
    let (new, old) = (to_core(new.clone()), to_core(old.clone()));
    let mut errors = common_rules(&new, "reportingController");
    errors.extend(meta::events_v1(&new["metadata"], Some(&old["metadata"])));
    if new["series"] != old["series"] {
        errors.extend(series(&new["series"]));
    }
    let immutable = |name: &str, path: &str, printed: Option<String>| {
        let why = "field is immutable";
        (new[name] != old[name]).then(|| match printed {
            Some(printed) => FieldError::invalid_printed(path, printed, why),
            None if name == "count" => FieldError::invalid(path, new[name].as_i64().unwrap_or(0), why),
            None => FieldError::invalid(path, text(&new, name), why),
        })
    };
    errors.extend(immutable("involvedObject", "involvedObject", Some(reference(&new["involvedObject"]))));
    errors.extend(immutable("reason", "reason", None));
    errors.extend(immutable("message", "message", None));
    let source = fields(&new["source"], &[("Component", "component"), ("Host", "host")]);
    errors.extend(immutable("source", "source", Some(source)));
    let time = |name: &str| immutable(name, name, Some(new[name].to_string()));
    errors.extend(time("firstTimestamp"));
    errors.extend(time("lastTimestamp"));
    errors.extend(immutable("count", "count", None));
    // Upstream checks the reason twice.
    errors.extend(immutable("reason", "reason", None));
    errors.extend(immutable("type", "type", None));
    errors.extend(time("eventTime"));
    errors.extend(immutable("action", "action", None));
    let related = if new["related"].is_null() { "null".to_owned() } else { reference(&new["related"]) };
    errors.extend(immutable("related", "related", Some(related)));
    errors.extend(immutable("reportingComponent", "reportingController", None));
    errors.extend(immutable("reportingInstance", "reportingInstance", None));
    errors
}

fn series(series: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if series.is_object() {
        if series["count"].as_i64().unwrap_or(0) < 2 {
            errors.push(FieldError::invalid("series.count", "", "should be at least 2"));
        }
        if series["lastObservedTime"].is_null() {
            errors.push(FieldError::required("series.lastObservedTime", ""));
        }
    }
    errors
}

/// Prints an object reference as upstream's internal type.
fn reference(value: &Value) -> String {
    let names = [
        ("Kind", "kind"),
        ("Namespace", "namespace"),
        ("Name", "name"),
        ("UID", "uid"),
        ("APIVersion", "apiVersion"),
        ("ResourceVersion", "resourceVersion"),
        ("FieldPath", "fieldPath"),
    ];
    fields(value, &names)
}

fn fields(value: &Value, names: &[(&str, &str)]) -> String {
    let fields: Vec<String> =
        names.iter().map(|(shown, name)| format!("\"{shown}\":{}", Value::from(text(value, name)))).collect();
    format!("{{{}}}", fields.join(","))
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn event_converts_between_groups_without_loss() {
        let new = json!({"metadata": {"name": "a"}, "eventTime": "2026-11-21T10:00:00.000000Z", "note": "Scaled",
            "regarding": {"kind": "Deployment", "name": "web"}, "reportingController": "c", "reportingInstance": "c-1",
            "deprecatedSource": {}, "deprecatedFirstTimestamp": null, "deprecatedLastTimestamp": null});
        let core = to_core(new.clone());
        assert_eq!(core["message"], "Scaled");
        assert_eq!(core["involvedObject"]["name"], "web");
        assert_eq!(core["reportingComponent"], "c");
        assert!(core.get("note").is_none() && core.get("regarding").is_none());
        assert_eq!(from_core(core), new);
    }
}
