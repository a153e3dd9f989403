//! Events of core. Those of `events.k8s.io` are stored as these. Upstream:
//! `pkg/registry/core/event`, `pkg/apis/core/validation/events.go`, `printEvent`.

use jiff::Timestamp;
use serde_json::Value;

use crate::registry::strategy::{FieldPaths, QuotaEvaluator, Strategy};
use crate::schema::printers::age;
use crate::schema::printers::cells::{number, or};
use crate::schema::printers::columns::{Column, text as column, wide};
use crate::types::field_error::FieldError;
use crate::types::kinds::{ResourceKind, SelectableFields, kind};
use crate::types::names;

/// The maximum length of reporting instance, action and reason.
const LONGEST: usize = 128;
/// The maximum length of a note.
const LONGEST_NOTE: usize = 1024;

pub(crate) static KIND: ResourceKind = ResourceKind {
    short_names: &["ev"],
    selectable_fields: SelectableFields::Fields(&[
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "type",
        "source",
    ]),
    is_in_watch_cache: false,
    ..kind("", "v1", "events", "Event")
};

pub(crate) struct EventStrategy;

impl Strategy for EventStrategy {
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

    fn is_garbage_collected(&self) -> bool {
        false
    }

    fn quota_evaluator(&self) -> QuotaEvaluator {
        QuotaEvaluator::Ignored
    }

    // Upstream validates metadata last, by the rules of all kinds.
    fn validate(&self, new: &Value) -> Vec<FieldError> {
        let errors = common_rules(new, "reportingComponent");
        if errors.is_empty() { self.validate_metadata(new) } else { errors }
    }

    fn validate_update(&self, new: &Value, _: &Value) -> Vec<FieldError> {
        common_rules(new, "reportingComponent")
    }

    // The name is the last column.
    fn columns(&self) -> &'static [Column] {
        const {
            &[
                column("Last Seen"),
                column("Type"),
                column("Reason"),
                column("Object"),
                wide("Subobject"),
                wide("Source"),
                column("Message"),
                wide("First Seen"),
                wide("Count"),
                wide("Name"),
            ]
        }
    }

    fn cells(&self, event: &Value, now: Timestamp) -> Vec<Value> {
        let first = match &event["firstTimestamp"] {
            Value::Null => age::since(&event["eventTime"], now),
            time => age::since(time, now),
        };
        let (mut last, mut times) = match &event["lastTimestamp"] {
            Value::Null => (first.clone(), number(&event["count"])),
            time => (age::since(time, now), number(&event["count"])),
        };
        if event["series"].is_object() {
            last = age::since(&event["series"]["lastObservedTime"], now);
            times = number(&event["series"]["count"]);
        } else if times == 0 {
            times = 1;
        }
        let involved = &event["involvedObject"];
        let kind = or(&involved["kind"], "").to_lowercase();
        let target = match or(&involved["name"], "") {
            "" => kind,
            name => format!("{kind}/{name}"),
        };
        let component = or(&event["source"]["component"], or(&event["reportingComponent"], ""));
        let instance = or(&event["source"]["host"], or(&event["reportingInstance"], ""));
        let source = if instance.is_empty() { component.to_owned() } else { format!("{component}, {instance}") };
        vec![
            last.into(),
            or(&event["type"], "").into(),
            or(&event["reason"], "").into(),
            target.into(),
            or(&involved["fieldPath"], "").into(),
            source.into(),
            or(&event["message"], "").trim().into(),
            first.into(),
            times.into(),
            or(&event["metadata"]["name"], "").into(),
        ]
    }
}

/// Validates the rules of both groups on an Event in core form; `controller` is the name of the
/// reporting controller in its group.
pub(crate) fn common_rules(event: &Value, controller: &str) -> Vec<FieldError> {
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

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}
