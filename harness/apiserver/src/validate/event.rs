//! Events, by the rules of both groups. Upstream: `pkg/apis/core/validation/events.go`.

use serde_json::Value;

use super::{meta, words};
use crate::events::to_core;
use crate::field::FieldError;
use crate::kinds::Kind;

/// The longest reporting instance, action and reason.
const LONGEST: usize = 128;
/// The longest note.
const LONGEST_NOTE: usize = 1024;

/// A new Event. Core's group has rules for Events without a time, which are all that is asked of
/// them.
pub(super) fn create(kind: &Kind, object: &Value) -> Vec<FieldError> {
    if !kind.is_new_event() {
        return legacy(object, "reportingComponent");
    }
    let event = to_core(object.clone());
    let mut errors = legacy(&event, "reportingController");
    errors.extend(meta::of_new_event(&event["metadata"], None));
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

/// A change of an Event: through `events.k8s.io` only the series can change.
pub(super) fn update(kind: &Kind, new: &Value, old: &Value) -> Vec<FieldError> {
    if !kind.is_new_event() {
        return legacy(new, "reportingComponent");
    }
    let (new, old) = (to_core(new.clone()), to_core(old.clone()));
    let mut errors = legacy(&new, "reportingController");
    errors.extend(meta::of_new_event(&new["metadata"], Some(&old["metadata"])));
    if new["series"] != old["series"] {
        errors.extend(series(&new["series"]));
    }
    let same = |name: &str, said: &str, shown: Option<String>| {
        let why = "field is immutable";
        (new[name] != old[name]).then(|| match shown {
            Some(shown) => FieldError::invalid_shown(said, shown, why),
            None if name == "count" => FieldError::invalid(said, new[name].as_i64().unwrap_or(0), why),
            None => FieldError::invalid(said, text(&new, name), why),
        })
    };
    errors.extend(same("involvedObject", "involvedObject", Some(reference(&new["involvedObject"]))));
    errors.extend(same("reason", "reason", None));
    errors.extend(same("message", "message", None));
    let source = fields(&new["source"], &[("Component", "component"), ("Host", "host")]);
    errors.extend(same("source", "source", Some(source)));
    let time = |name: &str| same(name, name, Some(new[name].to_string()));
    errors.extend(time("firstTimestamp"));
    errors.extend(time("lastTimestamp"));
    errors.extend(same("count", "count", None));
    // Upstream asks for the reason twice.
    errors.extend(same("reason", "reason", None));
    errors.extend(same("type", "type", None));
    errors.extend(time("eventTime"));
    errors.extend(same("action", "action", None));
    let related = if new["related"].is_null() { "null".to_owned() } else { reference(&new["related"]) };
    errors.extend(same("related", "related", Some(related)));
    errors.extend(same("reportingComponent", "reportingController", None));
    errors.extend(same("reportingInstance", "reportingInstance", None));
    errors
}

/// What is asked of every Event, in the form of core; `controller` is what its group calls who
/// reports.
fn legacy(event: &Value, controller: &str) -> Vec<FieldError> {
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
    errors.extend(words::key(reporter).into_iter().map(|wrong| FieldError::invalid(controller, reporter, wrong)));
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

/// An object's reference as upstream prints its internal type.
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
