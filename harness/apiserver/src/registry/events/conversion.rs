//! Converts Events between core and `events.k8s.io`, which share one storage.
//!
//! Some fields have different names in the two groups. An Event is stored in its core form; a
//! request to `events.k8s.io` uses the other form, also in `managedFields`. A watch of either group
//! delivers the Events of both.
//!
//! Upstream: `pkg/apis/events/v1/conversion.go`.

use serde_json::Value;

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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::http::selector::field_of_core;

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

    #[test]
    fn field_selectors_use_core_field_names() {
        assert_eq!(field_of_core("regarding.name"), "involvedObject.name");
        assert_eq!(field_of_core("type"), "type");
    }
}
