//! Validates Events by the rules of both groups. Upstream: `pkg/apis/core/validation/events.go`.

use serde_json::Value;

use crate::registry::events::conversion::to_core;
use crate::registry::validate::meta;
use crate::types::field_error::FieldError;
use crate::types::kinds::ResourceKind;
use crate::types::names;

/// The maximum length of reporting instance, action and reason.
const LONGEST: usize = 128;
/// The maximum length of a note.
const LONGEST_NOTE: usize = 1024;

/// Validates a new Event. In core, Events without a time have fewer rules.
pub(crate) fn create(kind: &ResourceKind, object: &Value) -> Vec<FieldError> {
    if !kind.is_events_v1() {
        return common_rules(object, "reportingComponent");
    }
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
pub(crate) fn update(kind: &ResourceKind, new: &Value, old: &Value) -> Vec<FieldError> {
    if !kind.is_events_v1() {
        return common_rules(new, "reportingComponent");
    }
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

/// Validates the rules of both groups on an Event in core form; `controller` is the name of the
/// reporting controller in its group.
fn common_rules(event: &Value, controller: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (about, own) = (text(&event["involvedObject"], "namespace"), text(&event["metadata"], "namespace"));
    let elsewhere = || FieldError::invalid("involvedObject.namespace", about, "does not match event.namespace");
    if event["eventTime"].is_null() {
        if !(about == own || (about.is_empty() && own == "default")) {
            errors.push(elsewhere());
        }
        return errors;
    }
    if about.is_empty() && !matches!(own, "default" | "kube-system") {
        errors.push(elsewhere());
    }
    let reporter = text(event, "reportingComponent");
    if reporter.is_empty() {
        errors.push(FieldError::required(controller, ""));
    }
    errors.extend(names::key(reporter).into_iter().map(|wrong| FieldError::invalid(controller, reporter, wrong)));
    for name in ["reportingInstance", "action", "reason"] {
        let value = text(event, name);
        if value.is_empty() {
            errors.push(FieldError::required(name, ""));
        }
        if value.len() > LONGEST {
            errors.push(FieldError::invalid(name, "", format!("can have at most {LONGEST} characters")));
        }
    }
    if text(event, "message").len() > LONGEST_NOTE {
        errors.push(FieldError::invalid("message", "", format!("can have at most {LONGEST_NOTE} characters")));
    }
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
