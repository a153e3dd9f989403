//! CronJobs. Upstream: `pkg/registry/batch/cronjob`, `ValidateCronJob…`, `printCronJob`.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::registry::defaults::{pod_spec, spec};
use crate::registry::strategy::Strategy;
use crate::registry::validate::batch::job_spec;
use crate::registry::validate::pod_warnings::name_warning;
use crate::registry::validate::scalars::{choice, nonnegative};
use crate::registry::validate::unsupported_fields::{UNSUPPORTED_OF_JOBS, unsupported_field};
use crate::schema::printers::age::since;
use crate::schema::printers::cells::{age, items, name, or, selector, with_containers};
use crate::schema::printers::columns::{AGE, CONTAINERS, Column, NAME, boolean, integer, text, wide};
use crate::types::field_error::FieldError;
use crate::types::kinds::{ALL, ResourceKind, kind};

pub(crate) static KIND: ResourceKind = ResourceKind {
    subresources: &["status"],
    short_names: &["cj"],
    categories: ALL,
    ..kind("batch", "v1", "cronjobs", "CronJob")
};

pub(crate) struct CronJobStrategy;

impl Strategy for CronJobStrategy {
    fn has_generation(&self) -> bool {
        true
    }

    fn set_defaults(&self, cron_job: &mut Value) {
        let defaults = json!({"concurrencyPolicy": "Allow", "suspend": false, "successfulJobsHistoryLimit": 3,
            "failedJobsHistoryLimit": 1});
        spec(cron_job, &defaults);
        pod_spec(&mut cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"]);
    }

    fn prepare_for_create(&self, cron_job: &mut Value) {
        cron_job["status"] = json!({});
    }

    fn validate(&self, new: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata(new);
        errors.extend(validate_cron_job(new, true));
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata_update(new, old);
        errors.extend(validate_cron_job(new, false));
        errors
    }

    fn validate_status_update(&self, _: &Value, _: &Value) -> Vec<FieldError> {
        Vec::new()
    }

    fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        if old.is_some() { Vec::new() } else { name_warning(new, "Pod names and hostnames").into_iter().collect() }
    }

    fn unsupported_feature(&self, new: &Value, _: Option<&Value>) -> Option<String> {
        let spec = &new["spec"];
        let found = unsupported_field("CronJob", spec, &["timeZone"]);
        found.or_else(|| unsupported_field("CronJob", &spec["jobTemplate"]["spec"], &UNSUPPORTED_OF_JOBS)).or_else(
            || {
                let schedule = spec["schedule"].as_str().unwrap_or_default();
                (!is_plain_schedule(schedule)).then(|| format!("the schedule {schedule:?}"))
            },
        )
    }

    fn columns(&self) -> &'static [Column] {
        const {
            &[
                NAME,
                text("Schedule"),
                text("Timezone"),
                boolean("Suspend"),
                integer("Active"),
                text("Last Schedule"),
                AGE,
                CONTAINERS[0],
                CONTAINERS[1],
                wide("Selector"),
            ]
        }
    }

    fn cells(&self, cron_job: &Value, now: Timestamp) -> Vec<Value> {
        let (spec, status) = (&cron_job["spec"], &cron_job["status"]);
        let suspended = match spec["suspend"].as_bool() {
            Some(true) => "True",
            Some(false) => "False",
            None => "<unset>",
        };
        let last = match &status["lastScheduleTime"] {
            Value::Null => "<none>".to_owned(),
            time => since(time, now),
        };
        let job = &spec["jobTemplate"]["spec"];
        let cells = vec![
            name(cron_job),
            or(&spec["schedule"], "").into(),
            or(&spec["timeZone"], "<none>").into(),
            suspended.into(),
            items(&status["active"]).len().into(),
            last.into(),
            age(cron_job, now),
        ];
        let mut cells = with_containers(cells, &job["template"]);
        cells.push(selector(&job["selector"]));
        cells
    }
}

/// Validates a CronJob. `is_new`: the name must leave room for the names of its Jobs.
fn validate_cron_job(object: &Value, is_new: bool) -> Vec<FieldError> {
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
    choice(&mut errors, spec, "spec", "concurrencyPolicy", &["Allow", "Forbid", "Replace"]);
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
fn is_plain_schedule(schedule: &str) -> bool {
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
