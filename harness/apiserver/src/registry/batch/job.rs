//! Jobs. Upstream: `pkg/registry/batch/job`, `ValidateJob`, `ValidateJobUpdate`, `printJob`.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::http::selector::Selector;
use crate::registry::defaults::{entry, pod_spec, spec};
use crate::registry::state::Server;
use crate::registry::strategy::Strategy;
use crate::registry::validate::apps;
use crate::registry::validate::batch::job_spec;
use crate::registry::validate::pod_warnings::name_warning;
use crate::registry::validate::scalars::counts;
use crate::registry::validate::selectors::selector_of;
use crate::registry::validate::unsupported_fields::{UNSUPPORTED_OF_JOBS, pod_level_resources, unsupported_field};
use crate::schema::printers::age::{human, parsed};
use crate::schema::printers::cells::{age, items, name, number, selector, with_containers};
use crate::schema::printers::columns::{AGE, CONTAINERS, Column, NAME, text, wide};
use crate::types::field_error::FieldError;
use crate::types::kinds::{ALL, ResourceKind, SelectableFields, kind};
use crate::types::names;

/// The labels of a Job's pods, and the metadata fields that they contain; the older two have no
/// prefix.
const LABELS: [(&str, &str); 4] = [
    ("controller-uid", "uid"),
    ("job-name", "name"),
    ("batch.kubernetes.io/controller-uid", "uid"),
    ("batch.kubernetes.io/job-name", "name"),
];

pub(crate) static KIND: ResourceKind = ResourceKind {
    subresources: &["status"],
    categories: ALL,
    selectable_fields: SelectableFields::FieldsOfKind(&["status.successful"]),
    ..kind("batch", "v1", "jobs", "Job")
};

pub(crate) struct JobStrategy;

impl Strategy for JobStrategy {
    fn has_generation(&self) -> bool {
        true
    }

    fn set_defaults(&self, job: &mut Value) {
        if job["spec"]["completions"].is_null() && job["spec"]["parallelism"].is_null() {
            spec(job, &json!({"completions": 1}));
        }
        let defaults = json!({"parallelism": 1, "backoffLimit": 6, "completionMode": "NonIndexed", "suspend": false,
            "podReplacementPolicy": "TerminatingOrFailed", "manualSelector": false});
        spec(job, &defaults);
        pod_spec(&mut job["spec"]["template"]["spec"]);
        labels_of_job(job);
    }

    fn prepare_for_create(&self, job: &mut Value) {
        generate_selector(job);
        job["status"] = json!({});
    }

    fn validate(&self, new: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata(new);
        errors.extend(validate_job(new));
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate(new);
        errors.extend(self.validate_metadata_update(new, old));
        errors.extend(validate_changes(new, old));
        errors
    }

    fn validate_status_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata_update(new, old);
        errors.extend(counts(&new["status"], &["active", "succeeded", "failed", "ready", "terminating"]));
        errors
    }

    fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        if old.is_some() { Vec::new() } else { name_warning(new, "Pod names and hostnames").into_iter().collect() }
    }

    fn unsupported_feature(&self, new: &Value, _: Option<&Value>) -> Option<String> {
        let spec = &new["spec"];
        let found = unsupported_field("Job", spec, &UNSUPPORTED_OF_JOBS);
        found.or_else(|| pod_level_resources(&spec["template"]))
    }

    fn shares_template_labels(&self) -> bool {
        true
    }

    // Upstream sets defaults again when it reads from etcd.
    fn begin_create(&self, server: &mut Server, job: &mut Value) {
        if !server.dry_run {
            labels_of_job(job);
        }
    }

    // Upstream: `DefaultGarbageCollectionPolicy` of batch/v1.
    fn orphans_dependents(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        const {
            &[
                NAME,
                text("Status"),
                text("Completions"),
                text("Duration"),
                AGE,
                CONTAINERS[0],
                CONTAINERS[1],
                wide("Selector"),
            ]
        }
    }

    fn cells(&self, job: &Value, now: Timestamp) -> Vec<Value> {
        let (spec, status) = (&job["spec"], &job["status"]);
        let is = |kind: &str| {
            items(&status["conditions"]).find(|one| one["type"] == kind).is_some_and(|one| one["status"] == "True")
        };
        let state = if is("Complete") {
            "Complete"
        } else if is("Failed") {
            "Failed"
        } else if !job["metadata"]["deletionTimestamp"].is_null() {
            "Terminating"
        } else {
            ["Suspended", "FailureTarget", "SuccessCriteriaMet"].into_iter().find(|kind| is(kind)).unwrap_or("Running")
        };
        let succeeded = number(&status["succeeded"]);
        let completions = match (spec["completions"].as_i64(), number(&spec["parallelism"])) {
            (Some(target), _) => format!("{succeeded}/{target}"),
            (None, parallel) if parallel > 1 => format!("{succeeded}/1 of {parallel}"),
            (None, _) => format!("{succeeded}/1"),
        };
        let took = parsed(&status["startTime"]).map_or(String::new(), |start| {
            let end = parsed(&status["completionTime"]).unwrap_or(now);
            human(end.duration_since(start))
        });
        let cells = vec![name(job), state.into(), completions.into(), took.into(), age(job, now)];
        let mut cells = with_containers(cells, &spec["template"]);
        cells.push(selector(&spec["selector"]));
        cells
    }
}

/// A Job without labels gets those of its template.
fn labels_of_job(body: &mut Value) {
    let labels = &body["spec"]["template"]["metadata"]["labels"];
    let own = body["metadata"]["labels"].as_object().is_none_or(Map::is_empty);
    if own && labels.is_object() {
        body["metadata"]["labels"] = labels.clone();
    }
}

/// Generates the selector of a Job by its UID, unless the Job has its own.
fn generate_selector(body: &mut Value) {
    if body["spec"]["manualSelector"] == true {
        return;
    }
    let meta = body["metadata"].clone();
    let labels = entry(entry(&mut body["spec"]["template"], "metadata"), "labels");
    for (label, of) in LABELS {
        if labels[label].is_null() {
            labels[label] = meta[of].clone();
        }
    }
    let selected = entry(entry(&mut body["spec"], "selector"), "matchLabels");
    let (label, of) = LABELS[2];
    if selected[label].is_null() {
        selected[label] = meta[of].clone();
    }
}

fn validate_job(job: &Value) -> Vec<FieldError> {
    let mut errors = generated(job);
    errors.extend(selecting_spec(&job["spec"]));
    errors.extend(indexed_name(job));
    errors
}

/// Validates a spec with its selector.
fn selecting_spec(spec: &Value) -> Vec<FieldError> {
    let mut errors = job_spec(spec, "spec");
    if spec["selector"].is_null() {
        errors.push(FieldError::required("spec.selector", ""));
    }
    errors.extend(selector_of(&spec["selector"], "spec.selector"));
    errors.extend(apps::job_selector_mismatch(spec));
    errors
}

/// The pods of an indexed Job have its name and their index as hostnames.
fn indexed_name(job: &Value) -> Option<FieldError> {
    let (spec, name) = (&job["spec"], job["metadata"]["name"].as_str().unwrap_or_default());
    let completions = spec["completions"].as_i64().filter(|count| *count > 0 && spec["completionMode"] == "Indexed")?;
    let longest = format!("{name}-{}", completions - 1);
    let why = format!("will not able to create pod with invalid DNS label: {longest}");
    (!names::dns_label(&longest).is_empty()).then(|| FieldError::invalid("metadata.name", name, why))
}

/// Validates an update, besides the rules for new Jobs: upstream validates the spec twice.
fn validate_changes(new: &Value, old: &Value) -> Vec<FieldError> {
    let is_mutable = has_mutable_template(old);
    let (new, old) = (&new["spec"], &old["spec"]);
    let mut errors = selecting_spec(new);
    if new["completionMode"] == "Indexed"
        && new["completions"] != old["completions"]
        && let Some(count) = new["completions"].as_i64().filter(|_| new["completions"] != new["parallelism"])
    {
        let why = "can only be modified in tandem with spec.parallelism";
        errors.push(FieldError::invalid("spec.completions", count, why));
    }
    let immutable = |path: &str, value: &Value| FieldError::invalid(path, value.clone(), "field is immutable");
    let fixed = |name: &str| (new[name] != old[name]).then(|| immutable(&format!("spec.{name}"), &new[name]));
    if new["completionMode"] != "Indexed" {
        errors.extend(fixed("completions"));
    }
    errors.extend(fixed("selector"));
    let pods = &new["template"]["spec"];
    if !is_mutable {
        errors.extend(fixed("template"));
    } else if *pods != with_free_fields(&old["template"]["spec"], pods) {
        errors.push(immutable("spec.template.spec", pods));
    }
    errors.extend(fixed("completionMode"));
    errors
}

/// Whether a suspended Job has no pods, so that where its pods run and what they need may change.
/// Upstream: `shouldAllowMutablePodTemplate`.
fn has_mutable_template(job: &Value) -> bool {
    let status = &job["status"];
    let is = |one: &Value| one["type"] == "Suspended" && one["status"] == "True";
    let is_stopped =
        status["startTime"].is_null() || status["conditions"].as_array().is_some_and(|all| all.iter().any(is));
    job["spec"]["suspend"] == true && is_stopped && status["active"].as_i64().unwrap_or(0) == 0
}

/// The spec of the pods of a Job with the fields of a new one that may change. Upstream:
/// `validatePodTemplateUpdate`, `validatePodResourceUpdatesOnly`.
fn with_free_fields(old: &Value, new: &Value) -> Value {
    let mut old = old.clone();
    let Some(fields) = old.as_object_mut() else { return old };
    for name in ["nodeSelector", "tolerations", "schedulingGates"] {
        fields.remove(name);
        fields.extend(new.get(name).map(|value| (name.to_owned(), value.clone())));
    }
    let affinity = &new["affinity"]["nodeAffinity"];
    if let Some(affinities) = fields.get_mut("affinity").and_then(Value::as_object_mut) {
        affinities.remove("nodeAffinity");
        if !affinity.is_null() {
            affinities.insert("nodeAffinity".to_owned(), affinity.clone());
        }
        // Affinities may be taken away as a whole if there were no others.
        if affinities.is_empty() && new["affinity"].is_null() {
            fields.remove("affinity");
        }
    } else if !affinity.is_null() {
        fields.insert("affinity".to_owned(), json!({"nodeAffinity": affinity}));
    }
    for list in ["containers", "initContainers"] {
        let containers = fields.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
        for (container, new) in containers.zip(new[list].as_array().into_iter().flatten()) {
            if container["name"] == new["name"] {
                container["resources"] = new["resources"].clone();
            }
        }
    }
    old
}

/// Validates the generated labels and selector.
fn generated(job: &Value) -> Vec<FieldError> {
    let (spec, meta) = (&job["spec"], &job["metadata"]);
    if spec["manualSelector"] == true || spec["selector"].is_null() {
        return Vec::new();
    }
    let mut errors = Vec::new();
    let labels = &spec["template"]["metadata"]["labels"];
    let mut expected = Map::new();
    for (label, of) in LABELS {
        let generated_value = &meta[of];
        if labels[label] != *generated_value {
            let why = format!("must be '{}'", generated_value.as_str().unwrap_or_default());
            let path = "spec.template.metadata.labels";
            errors.push(match labels.get(label) {
                None => FieldError::required(&format!("{path}[{label}]"), &why),
                Some(_) => FieldError::invalid(&format!("{path}[{label}]"), labels.clone(), why),
            });
        }
        expected.insert(label.to_owned(), generated_value.clone());
    }
    if !Selector::of_object(&spec["selector"]).matches_labels(&Value::Object(expected)) {
        let shown = apps::selector_text(&spec["selector"]);
        errors.push(FieldError::invalid_printed("spec.selector", shown, "`selector` not auto-generated"));
    }
    errors
}
