//! Events in the form of `events.k8s.io`, which are those of core: one store, two forms.
//!
//! The fields have other names in one than in the other, and the same values. An Event is stored as
//! core has it. A request to `events.k8s.io` reads and writes it in the other form, in which also
//! its managers' fields are noted; a watch of either group sees the Events of both.
//!
//! Upstream: `pkg/apis/events/v1/conversion.go`.

use serde_json::Value;

/// What a field is called in `events.k8s.io`, and in core.
const NAMES: [(&str, &str); 7] = [
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("reportingController", "reportingComponent"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
];

/// An Event of `events.k8s.io` as core has it.
pub(super) fn to_core(mut event: Value) -> Value {
    let names = NAMES.map(|(new, core)| (new, core));
    rename(&mut event, &names);
    // Core writes these strings even when they are empty.
    if let Some(fields) = event.as_object_mut() {
        for name in ["reportingComponent", "reportingInstance"] {
            fields.entry(name).or_insert_with(|| "".into());
        }
    }
    // A series has two numbers in either, which core omits when they are empty.
    if let Some(series) = event.get_mut("series").and_then(Value::as_object_mut) {
        series.retain(|name, value| !(name == "count" && *value == 0));
    }
    event
}

/// An Event of core as `events.k8s.io` has it.
pub(super) fn from_core(mut event: Value) -> Value {
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

/// What a field by which Events of `events.k8s.io` are selected is called in core.
pub(super) fn field_of_core(name: &str) -> String {
    match name.strip_prefix("regarding.") {
        Some(rest) => format!("involvedObject.{rest}"),
        None if name == "reportingController" => "reportingComponent".to_owned(),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_has_two_forms() {
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

    #[test]
    fn fields_are_selected_by_their_name_in_core() {
        assert_eq!(field_of_core("regarding.name"), "involvedObject.name");
        assert_eq!(field_of_core("type"), "type");
    }
}
