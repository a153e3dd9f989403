//! Deployments. Upstream: `pkg/registry/apps/deployment`, `ValidateDeployment…`,
//! `printDeployment`.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::http::selector::text as selector_text;
use crate::registry::defaults::{entry, pod_spec, set, spec};
use crate::registry::strategy::{FieldPaths, Strategy, keep};
use crate::registry::validate::apps::{selector, selector_change, template};
use crate::registry::validate::pod_warnings::workload_warnings;
use crate::registry::validate::scalars::nonnegative;
use crate::registry::validate::statuses::no_more_than_replicas;
use crate::registry::validate::strategies::{above_100_percent, amount, number_or_percent, strategy_text};
use crate::registry::validate::unsupported_fields::pod_level_resources;
use crate::schema::printers::cells::{age, name, number, of, with_containers};
use crate::schema::printers::columns::{AGE, CONTAINERS, Column, NAME, text, wide};
use crate::types::field_error::FieldError;
use crate::types::kinds::{ALL, ResourceKind, kind};

/// The annotation of a deprecated field, which the server treats as the field.
const ROLLBACK: &str = "deprecated.deployment.rollback.to";

pub(crate) static KIND: ResourceKind = ResourceKind {
    subresources: &["status", "scale"],
    short_names: &["deploy"],
    categories: ALL,
    ..kind("apps", "v1", "deployments", "Deployment")
};

pub(crate) struct DeploymentRestStrategy;

impl Strategy for DeploymentRestStrategy {
    fn has_generation(&self) -> bool {
        true
    }

    fn reset_fields(&self, subresource: &str) -> FieldPaths {
        if subresource == "status" { &[&["spec"], &["metadata", "labels"]] } else { &[&["status"]] }
    }

    fn set_defaults(&self, body: &mut Value) {
        spec(body, &json!({"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600}));
        let strategy = entry(&mut body["spec"], "strategy");
        set(strategy, "type", json!("RollingUpdate"));
        if strategy["type"] == "RollingUpdate" {
            let rolling = entry(strategy, "rollingUpdate");
            set(rolling, "maxUnavailable", json!("25%"));
            set(rolling, "maxSurge", json!("25%"));
        }
        pod_spec(&mut body["spec"]["template"]["spec"]);
    }

    fn prepare_for_create(&self, body: &mut Value) {
        body["status"] = json!({});
    }

    fn changes_generation(&self, new: &Value, old: &Value) -> bool {
        new["spec"] != old["spec"] || new["metadata"]["annotations"] != old["metadata"]["annotations"]
    }

    fn with_deprecated_fields<'a>(&self, deployment: &'a Value) -> Result<Cow<'a, Value>, String> {
        let text = deployment["metadata"]["annotations"][ROLLBACK].as_str().unwrap_or_default();
        if text.is_empty() {
            return Ok(Cow::Borrowed(deployment));
        }
        let revision: i64 = text.parse().map_err(|_| {
            format!(
                "failed to parse annotation[{ROLLBACK}]={text} as int64: strconv.ParseInt: parsing \"{text}\": \
                 invalid syntax"
            )
        })?;
        let mut deployment = deployment.clone();
        deployment["spec"]["rollbackTo"] = json!({"revision": revision});
        Ok(Cow::Owned(deployment))
    }

    fn validate(&self, new: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata(new);
        errors.extend(validate_spec(&new["spec"]));
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata_update(new, old);
        errors.extend(validate_spec(&new["spec"]));
        errors.extend(selector_change(new, old));
        errors
    }

    // Annotations are written too: the Deployment controller sets the revision that way.
    fn prepare_for_status_update(&self, new: &mut Value, old: &Value) {
        keep(&mut new["metadata"], &old["metadata"], "labels");
    }

    fn validate_status_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata_update(new, old);
        errors.extend(validate_status(&new["status"], &old["status"]));
        errors
    }

    fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        workload_warnings(new, old)
    }

    fn unsupported_feature(&self, new: &Value, _: Option<&Value>) -> Option<String> {
        pod_level_resources(&new["spec"]["template"])
    }

    fn fill_bookmark(&self, object: &mut Value) {
        object["spec"]["replicas"] = 0.into();
    }

    fn is_stored_as_read(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        const {
            &[
                NAME,
                text("Ready"),
                text("Up-to-date"),
                text("Available"),
                AGE,
                CONTAINERS[0],
                CONTAINERS[1],
                wide("Selector"),
            ]
        }
    }

    fn cells(&self, deployment: &Value, now: Timestamp) -> Vec<Value> {
        let (spec, status) = (&deployment["spec"], &deployment["status"]);
        let ready = of(&status["readyReplicas"], &spec["replicas"]);
        let (updated, available) = (number(&status["updatedReplicas"]), number(&status["availableReplicas"]));
        let mut cells = with_containers(
            vec![name(deployment), ready, updated.into(), available.into(), age(deployment, now)],
            &spec["template"],
        );
        cells.push(selector_text(&spec["selector"]).into());
        cells
    }
}

fn validate_spec(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    nonnegative(&mut errors, spec, "spec", "replicas");
    errors.extend(selector(spec, "deployment"));
    errors.extend(template(spec, "ReplicaSet"));
    errors.extend(validate_strategy(&spec["strategy"]));
    nonnegative(&mut errors, spec, "spec", "minReadySeconds");
    nonnegative(&mut errors, spec, "spec", "revisionHistoryLimit");
    // A deprecated field, which is set by an annotation.
    if let Some(version) = spec["rollbackTo"]["revision"].as_i64().filter(|version| *version < 0) {
        errors.push(FieldError::invalid("spec.rollback.version", version, "must be greater than or equal to 0"));
    }
    nonnegative(&mut errors, spec, "spec", "progressDeadlineSeconds");
    if let Some(deadline) = spec["progressDeadlineSeconds"].as_i64()
        && deadline <= spec["minReadySeconds"].as_i64().unwrap_or(0)
    {
        let why = "must be greater than minReadySeconds";
        errors.push(FieldError::invalid("spec.progressDeadlineSeconds", deadline, why));
    }
    errors
}

/// Upstream: `ValidateDeploymentStrategy`.
fn validate_strategy(strategy: &Value) -> Vec<FieldError> {
    const PATH: &str = "spec.strategy";
    let rolling = &strategy["rollingUpdate"];
    match strategy["type"].as_str().unwrap_or_default() {
        "Recreate" if rolling.is_null() => Vec::new(),
        "Recreate" => {
            let why = "may not be specified when strategy `type` is 'Recreate'";
            vec![FieldError::forbidden(&format!("{PATH}.rollingUpdate"), why)]
        }
        "RollingUpdate" => rolling_update(rolling, &format!("{PATH}.rollingUpdate")),
        other => {
            let strategy_text = strategy_text(other, rolling, &["maxUnavailable", "maxSurge"]);
            vec![FieldError::unsupported_printed(PATH, strategy_text, &["Recreate", "RollingUpdate"])]
        }
    }
}

fn rolling_update(rolling: &Value, path: &str) -> Vec<FieldError> {
    let of = |name: &str| format!("{path}.{name}");
    let names = ["maxUnavailable", "maxSurge"];
    let mut errors: Vec<FieldError> =
        names.iter().flat_map(|name| number_or_percent(&rolling[name], &of(name))).collect();
    let unavailable = &rolling["maxUnavailable"];
    if amount(unavailable) == 0 && amount(&rolling["maxSurge"]) == 0 {
        let why = "may not be 0 when `maxSurge` is 0";
        errors.push(FieldError::invalid(&of("maxUnavailable"), unavailable.clone(), why));
    }
    errors.extend(above_100_percent(unavailable, &of("maxUnavailable")));
    errors
}

fn validate_status(status: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for name in [
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ] {
        nonnegative(&mut errors, status, "status", name);
    }
    no_more_than_replicas(&mut errors, status, &["updatedReplicas", "readyReplicas", "availableReplicas"]);
    let collisions = |status: &Value| status["collisionCount"].as_i64();
    if let Some(before) = collisions(old)
        && collisions(status).is_none_or(|now| now < before)
    {
        let now = collisions(status).unwrap_or(0);
        errors.push(FieldError::invalid("status.collisionCount", now, "cannot be decremented"));
    }
    errors
}
