//! DaemonSets. Upstream: `pkg/registry/apps/daemonset`, `ValidateDaemonSet…`, `printDaemonSet`.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::registry::defaults::{entry, pod_spec, set, spec};
use crate::registry::strategy::Strategy;
use crate::registry::validate::apps;
use crate::registry::validate::apps::{pod_template, restart_policy, selector_change, selector_mismatch};
use crate::registry::validate::pod_warnings::spec_warnings;
use crate::registry::validate::scalars::nonnegative;
use crate::registry::validate::strategies::{above_100_percent, amount, number_or_percent, strategy_text};
use crate::registry::validate::unsupported_fields::pod_level_resources;
use crate::schema::printers::cells::{age, labels, name, number, selector, with_containers};
use crate::schema::printers::columns::{AGE, CONTAINERS, Column, NAME, integer, text, wide};
use crate::types::field_error::FieldError;
use crate::types::kinds::{ALL, ResourceKind, kind};

/// The annotation of a DaemonSet with the generation of its template.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

pub(crate) static KIND: ResourceKind = ResourceKind {
    subresources: &["status"],
    short_names: &["ds"],
    categories: ALL,
    ..kind("apps", "v1", "daemonsets", "DaemonSet")
};

pub(crate) struct DaemonSetStrategy;

impl Strategy for DaemonSetStrategy {
    fn has_generation(&self) -> bool {
        true
    }

    fn set_defaults(&self, body: &mut Value) {
        spec(body, &json!({"revisionHistoryLimit": 10}));
        let strategy = entry(&mut body["spec"], "updateStrategy");
        set(strategy, "type", json!("RollingUpdate"));
        if strategy["type"] == "RollingUpdate" {
            let rolling = entry(strategy, "rollingUpdate");
            set(rolling, "maxUnavailable", json!(1));
            set(rolling, "maxSurge", json!(0));
        } else if let Some(rolling) = strategy.get_mut("rollingUpdate") {
            // Upstream's internal type has no pointers here, so absent values become 0.
            set(rolling, "maxUnavailable", json!(0));
            set(rolling, "maxSurge", json!(0));
        }
        pod_spec(&mut body["spec"]["template"]["spec"]);
    }

    fn prepare_for_create(&self, body: &mut Value) {
        count_templates(body, None);
        body["status"] = json!({"currentNumberScheduled": 0, "numberMisscheduled": 0, "desiredNumberScheduled": 0, "numberReady": 0});
    }

    fn prepare_for_update(&self, new: &mut Value, old: &Value) {
        count_templates(new, Some(old));
    }

    fn prepare_for_status_update(&self, new: &mut Value, old: &Value) {
        count_templates(new, Some(old));
    }

    fn validate(&self, new: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata(new);
        errors.extend(validate_spec(&new["spec"]));
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata_update(new, old);
        errors.extend(selector_change(new, old));
        errors.extend(validate_spec(&new["spec"]));
        errors
    }

    fn validate_status_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata_update(new, old);
        errors.extend(validate_status(&new["status"]));
        errors
    }

    fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        let changed = old.is_none_or(|old| old["spec"]["template"] != new["spec"]["template"]);
        spec_warnings(new, "spec.template.spec", changed)
    }

    fn unsupported_feature(&self, new: &Value, _: Option<&Value>) -> Option<String> {
        pod_level_resources(&new["spec"]["template"])
    }

    // The version of DaemonSets has a field that is stored as this annotation.
    fn fill_typed(&self, object: &mut Cow<'_, Value>) {
        if object["metadata"]["annotations"][TEMPLATE_GENERATION].is_null() {
            entry(&mut object.to_mut()["metadata"], "annotations")[TEMPLATE_GENERATION] = "0".into();
        }
    }

    fn fill_bookmark(&self, object: &mut Value) {
        object["metadata"]["annotations"][TEMPLATE_GENERATION] = "0".into();
    }

    fn columns(&self) -> &'static [Column] {
        const {
            &[
                NAME,
                integer("Desired"),
                integer("Current"),
                integer("Ready"),
                integer("Up-to-date"),
                integer("Available"),
                text("Node Selector"),
                AGE,
                CONTAINERS[0],
                CONTAINERS[1],
                wide("Selector"),
            ]
        }
    }

    fn cells(&self, daemon_set: &Value, now: Timestamp) -> Vec<Value> {
        let (spec, status) = (&daemon_set["spec"], &daemon_set["status"]);
        let counts = [
            "desiredNumberScheduled",
            "currentNumberScheduled",
            "numberReady",
            "updatedNumberScheduled",
            "numberAvailable",
        ];
        let mut cells = vec![name(daemon_set)];
        cells.extend(counts.into_iter().map(|name| Value::from(number(&status[name]))));
        cells.push(labels(&spec["template"]["spec"]["nodeSelector"]).into());
        cells.push(age(daemon_set, now));
        let mut cells = with_containers(cells, &spec["template"]);
        cells.push(selector(&spec["selector"]));
        cells
    }
}

/// Counts changes of the template of a DaemonSet; clients cannot set the annotation.
fn count_templates(body: &mut Value, old: Option<&Value>) {
    let count = match old {
        None => 1,
        Some(old) => {
            let before = old["metadata"]["annotations"][TEMPLATE_GENERATION]
                .as_str()
                .and_then(|text| text.parse::<i64>().ok())
                .unwrap_or(1);
            before + i64::from(body["spec"]["template"] != old["spec"]["template"])
        }
    };
    entry(&mut body["metadata"], "annotations")[TEMPLATE_GENERATION] = count.to_string().into();
}

/// Upstream: `ValidateDaemonSetSpec`.
fn validate_spec(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if !spec["selector"].is_null() {
        let mut wrong = apps::selector(spec, "daemonset");
        // Upstream reports an empty selector after the labels.
        let empty = wrong.iter().position(FieldError::is_of_selector).map(|at| wrong.remove(at));
        errors.extend(wrong);
        errors.extend(selector_mismatch(spec));
        errors.extend(empty);
    } else {
        errors.extend(selector_mismatch(spec));
    }
    errors.extend(pod_template(&spec["template"]));
    errors.extend(restart_policy(spec, "DaemonSet"));
    nonnegative(&mut errors, spec, "spec", "minReadySeconds");
    errors.extend(validate_strategy(&spec["updateStrategy"]));
    nonnegative(&mut errors, spec, "spec", "revisionHistoryLimit");
    errors
}

/// Upstream: `ValidateDaemonSetUpdateStrategy`.
fn validate_strategy(strategy: &Value) -> Vec<FieldError> {
    const PATH: &str = "spec.updateStrategy";
    let rolling = &strategy["rollingUpdate"];
    match strategy["type"].as_str().unwrap_or_default() {
        "OnDelete" => Vec::new(),
        "RollingUpdate" => {
            let of = |name: &str| format!("{PATH}.rollingUpdate.{name}");
            let names = ["maxUnavailable", "maxSurge"];
            let mut errors: Vec<FieldError> =
                names.iter().flat_map(|name| number_or_percent(&rolling[name], &of(name))).collect();
            errors.extend(names.iter().filter_map(|name| above_100_percent(&rolling[name], &of(name))));
            match (amount(&rolling["maxUnavailable"]) != 0, amount(&rolling["maxSurge"]) != 0) {
                (true, true) => {
                    let why = "may not be set when maxUnavailable is non-zero";
                    errors.push(FieldError::invalid(&of("maxSurge"), rolling["maxSurge"].clone(), why));
                }
                (false, false) => {
                    errors.push(FieldError::required(&of("maxUnavailable"), "cannot be 0 when maxSurge is 0"));
                }
                _ => {}
            }
            errors
        }
        other => {
            let strategy_text = strategy_text(other, rolling, &["maxUnavailable", "maxSurge"]);
            vec![FieldError::unsupported_printed(PATH, strategy_text, &["RollingUpdate", "OnDelete"])]
        }
    }
}

fn validate_status(status: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for name in [
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    ] {
        nonnegative(&mut errors, status, "status", name);
    }
    errors
}
