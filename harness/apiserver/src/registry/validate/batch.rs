//! What the validation of Jobs and CronJobs shares. Upstream: `validateJobSpec`.

use serde_json::Value;

use crate::registry::validate::apps;
use crate::registry::validate::scalars::nonnegative;
use crate::types::field_error::FieldError;

/// Validates the spec of a Job or of the Jobs of a CronJob.
pub(crate) fn job_spec(spec: &Value, path: &str) -> Vec<FieldError> {
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
