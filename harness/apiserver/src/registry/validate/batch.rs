//! Validates Jobs and CronJobs. Upstream: `ValidateJob`, `ValidateJobUpdate`, `ValidateCronJob…`.

use serde_json::Value;

use crate::http::selector::Selector;
use crate::registry::validate::apps;
use crate::registry::validate::scalars::nonnegative;
use crate::types::field_error::FieldError;
use crate::types::names;

/// The labels of a Job's pods, and the metadata fields that they contain; the older two have no
/// prefix.
pub(crate) const LABELS: [(&str, &str); 4] = [
    ("controller-uid", "uid"),
    ("job-name", "name"),
    ("batch.kubernetes.io/controller-uid", "uid"),
    ("batch.kubernetes.io/job-name", "name"),
];

pub(crate) fn job(job: &Value) -> Vec<FieldError> {
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
    errors.extend(apps::selector_of(&spec["selector"], "spec.selector"));
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
pub(crate) fn job_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let (new, old) = (&new["spec"], &old["spec"]);
    let mut errors = selecting_spec(new);
    if new["completionMode"] == "Indexed"
        && new["completions"] != old["completions"]
        && let Some(count) = new["completions"].as_i64().filter(|_| new["completions"] != new["parallelism"])
    {
        let why = "can only be modified in tandem with spec.parallelism";
        errors.push(FieldError::invalid("spec.completions", count, why));
    }
    let mut fixed = |name: &str| {
        if new[name] != old[name] {
            let path = format!("spec.{name}");
            errors.push(FieldError::invalid(&path, new[name].clone(), "field is immutable"));
        }
    };
    if new["completionMode"] != "Indexed" {
        fixed("completions");
    }
    fixed("selector");
    fixed("template");
    fixed("completionMode");
    errors
}

/// Validates the generated labels and selector.
fn generated(job: &Value) -> Vec<FieldError> {
    let (spec, meta) = (&job["spec"], &job["metadata"]);
    if spec["manualSelector"] == true || spec["selector"].is_null() {
        return Vec::new();
    }
    let mut errors = Vec::new();
    let labels = &spec["template"]["metadata"]["labels"];
    let mut expected = serde_json::Map::new();
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

fn job_spec(spec: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for name in ["parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"] {
        nonnegative(&mut errors, spec, path, name);
    }
    let at = |name: &str| format!("{path}.{name}");
    if let Some(mode) = spec["completionMode"].as_str() {
        if !matches!(mode, "NonIndexed" | "Indexed") {
            errors.push(FieldError::unsupported(&at("completionMode"), mode, &["NonIndexed", "Indexed"]));
        }
        if mode == "Indexed" && spec["completions"].is_null() {
            errors.push(FieldError::required(&at("completions"), "when completion mode is Indexed"));
        }
    }
    if let Some(policy) =
        spec["podReplacementPolicy"].as_str().filter(|one| !matches!(*one, "Failed" | "TerminatingOrFailed"))
    {
        let among = ["Failed", "TerminatingOrFailed"];
        errors.push(FieldError::unsupported(&at("podReplacementPolicy"), policy, &among));
    }
    errors.extend(apps::pod_template_at(&spec["template"], &at("template")));
    let restart = spec["template"]["spec"]["restartPolicy"].as_str().unwrap_or_default();
    let restarts = at("template.spec.restartPolicy");
    match restart {
        "OnFailure" | "Never" => {}
        "" | "Always" => errors.push(FieldError::required(&restarts, "valid values: \"OnFailure\", \"Never\"")),
        other => errors.push(FieldError::unsupported(&restarts, other, &["OnFailure", "Never"])),
    }
    errors
}

/// Validates a CronJob. `is_new`: the name must leave room for the names of its Jobs.
pub(crate) fn cron_job(object: &Value, is_new: bool) -> Vec<FieldError> {
    const LONGEST: usize = 52;
    let spec = &object["spec"];
    let mut errors = Vec::new();
    match spec["schedule"].as_str().unwrap_or_default() {
        "" => errors.push(FieldError::required("spec.schedule", "")),
        schedule => {
            let fields: Vec<&str> = schedule.split_whitespace().collect();
            if !schedule.starts_with('@') && fields.len() != 5 {
                let why = format!("expected exactly 5 fields, found {}: [{}]", fields.len(), fields.join(" "));
                errors.push(FieldError::invalid("spec.schedule", schedule, why));
            }
        }
    }
    nonnegative(&mut errors, spec, "spec", "startingDeadlineSeconds");
    crate::registry::validate::scalars::choice(
        &mut errors,
        spec,
        "spec",
        "concurrencyPolicy",
        &["Allow", "Forbid", "Replace"],
    );
    errors.extend(job_spec(&spec["jobTemplate"]["spec"], "spec.jobTemplate.spec"));
    nonnegative(&mut errors, spec, "spec", "successfulJobsHistoryLimit");
    nonnegative(&mut errors, spec, "spec", "failedJobsHistoryLimit");
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    if is_new && name.len() > LONGEST {
        errors.push(FieldError::invalid("metadata.name", name, "must be no more than 52 characters"));
    }
    errors
}

/// Whether this server can validate each field of a schedule: numbers within their bounds, with
/// `*`, `/`, `-` and commas.
pub(crate) fn is_plain_schedule(schedule: &str) -> bool {
    const BOUNDS: [(u32, u32); 5] = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 6)];
    if schedule.starts_with('@') {
        return ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"].contains(&schedule);
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    let number = |text: &str, (least, most)| text.parse::<u32>().is_ok_and(|number| (least..=most).contains(&number));
    let range = |text: &str, bounds| {
        text == "*"
            || match text.split_once('-') {
                Some((one, other)) => number(one, bounds) && number(other, bounds) && one.len() <= other.len(),
                None => number(text, bounds),
            }
    };
    let part = |text: &str, bounds| match text.split_once('/') {
        Some((values, step)) => range(values, bounds) && step.parse::<u32>().is_ok_and(|step| step > 0),
        None => range(text, bounds),
    };
    fields.len() != 5
        || fields.iter().zip(BOUNDS).all(|(field, bounds)| field.split(',').all(|text| part(text, bounds)))
}

/// Validates the status of a Job: counts must not be negative.
pub(crate) fn job_status(status: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for name in ["active", "succeeded", "failed", "ready", "terminating"] {
        nonnegative(&mut errors, status, "status", name);
    }
    errors
}

/// The warning for a name that hostnames of pods cannot contain.
pub(crate) fn name_warning(name: &str) -> Option<String> {
    let wrong = names::dns_label(name);
    (!wrong.is_empty()).then(|| {
        format!(
            "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [{}]",
            wrong.join(" ")
        )
    })
}
