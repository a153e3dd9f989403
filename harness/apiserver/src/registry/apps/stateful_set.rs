//! StatefulSets. Upstream: `pkg/registry/apps/statefulset`, `ValidateStatefulSet…`,
//! `printStatefulSet`.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::registry::defaults::{entry, pod_spec, set, spec};
use crate::registry::strategy::Strategy;
use crate::registry::validate::apps::{selector, template};
use crate::registry::validate::pod_warnings::spec_warnings;
use crate::registry::validate::scalars::nonnegative;
use crate::registry::validate::statuses::no_more_than_replicas;
use crate::registry::validate::unsupported_fields::pod_level_resources;
use crate::schema::printers::cells::{age, name, of, with_containers};
use crate::schema::printers::columns::{AGE, CONTAINERS, Column, NAME, text};
use crate::types::field_error::FieldError;
use crate::types::kinds::{ALL, ResourceKind, kind};
use crate::types::names;

pub(crate) static KIND: ResourceKind = ResourceKind {
    subresources: &["status", "scale"],
    short_names: &["sts"],
    categories: ALL,
    ..kind("apps", "v1", "statefulsets", "StatefulSet")
};

pub(crate) struct StatefulSetStrategy;

impl Strategy for StatefulSetStrategy {
    fn name_rule(&self) -> fn(&str) -> Vec<String> {
        names::dns_label
    }

    fn has_generation(&self) -> bool {
        true
    }

    fn set_defaults(&self, body: &mut Value) {
        spec(body, &json!({"replicas": 1, "revisionHistoryLimit": 10, "podManagementPolicy": "OrderedReady"}));
        let retention = entry(&mut body["spec"], "persistentVolumeClaimRetentionPolicy");
        set(retention, "whenDeleted", json!("Retain"));
        set(retention, "whenScaled", json!("Retain"));
        let strategy = entry(&mut body["spec"], "updateStrategy");
        if strategy.get("type").is_none() {
            set(strategy, "type", json!("RollingUpdate"));
            entry(strategy, "rollingUpdate");
        }
        if strategy["type"] == "RollingUpdate"
            && let Some(rolling) = strategy.get_mut("rollingUpdate")
        {
            set(rolling, "partition", json!(0));
        }
        pod_spec(&mut body["spec"]["template"]["spec"]);
    }

    fn prepare_for_create(&self, body: &mut Value) {
        body["status"] = json!({"replicas": 0, "availableReplicas": 0});
    }

    fn validate(&self, new: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata(new);
        errors.extend(validate_spec(&new["spec"], true));
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata_update(new, old);
        errors.extend(validate_spec(&new["spec"], false));
        errors.extend(validate_changes(&new["spec"], &old["spec"]));
        errors
    }

    // Upstream validates the status before the metadata.
    fn validate_status_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = validate_status(&new["status"]);
        errors.extend(self.validate_metadata_update(new, old));
        errors
    }

    fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        let mut all = Vec::new();
        if new["spec"]["revisionHistoryLimit"].as_i64().is_some_and(|limit| limit < 0) {
            let why = "a negative value retains all historical revisions; a value >= 0 is recommended";
            all.push(format!("spec.revisionHistoryLimit: {why}"));
        }
        let changed = old.is_none_or(|old| old["metadata"]["generation"] != new["metadata"]["generation"]);
        all.extend(spec_warnings(new, "spec.template.spec", changed));
        all
    }

    fn unsupported_feature(&self, new: &Value, _: Option<&Value>) -> Option<String> {
        pod_level_resources(&new["spec"]["template"])
    }

    fn fill_bookmark(&self, object: &mut Value) {
        object["spec"]["replicas"] = 0.into();
    }

    fn columns(&self) -> &'static [Column] {
        const { &[NAME, text("Ready"), AGE, CONTAINERS[0], CONTAINERS[1]] }
    }

    fn cells(&self, stateful_set: &Value, now: Timestamp) -> Vec<Value> {
        let (spec, status) = (&stateful_set["spec"], &stateful_set["status"]);
        with_containers(
            vec![name(stateful_set), of(&status["readyReplicas"], &spec["replicas"]), age(stateful_set, now)],
            &spec["template"],
        )
    }
}

/// Upstream: `ValidateStatefulSetSpec`.
fn validate_spec(spec: &Value, is_new: bool) -> Vec<FieldError> {
    let mut errors = validate_strategy(spec);
    nonnegative(&mut errors, spec, "spec", "replicas");
    nonnegative(&mut errors, spec, "spec", "minReadySeconds");
    nonnegative(&mut errors, &spec["ordinals"], "spec.ordinals", "start");
    // The field is immutable, so only creation validates it.
    if let Some(service) = spec["serviceName"].as_str().filter(|service| is_new && !service.is_empty()) {
        let wrong = names::dns_label(service);
        errors.extend(wrong.into_iter().map(|wrong| FieldError::invalid("spec.serviceName", service, wrong)));
    }
    errors.extend(selector(spec, "statefulset"));
    errors.extend(template(spec, "StatefulSet"));
    errors
}

fn validate_changes(new: &Value, old: &Value) -> Option<FieldError> {
    let free = [
        "replicas",
        "template",
        "updateStrategy",
        "minReadySeconds",
        "ordinals",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
    ];
    let bare = |spec: &Value| {
        let mut spec = spec.clone();
        if let Some(fields) = spec.as_object_mut() {
            fields.retain(|name, _| !free.contains(&name.as_str()));
        }
        spec
    };
    (bare(new) != bare(old)).then(|| {
        let why = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', \
                   'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
        FieldError::forbidden("spec", why)
    })
}

/// The first part of `ValidateStatefulSetSpec`.
fn validate_strategy(spec: &Value) -> Vec<FieldError> {
    const PATH: &str = "spec.updateStrategy";
    let mut errors = Vec::new();
    let policy = spec["podManagementPolicy"].as_str().unwrap_or_default();
    if !matches!(policy, "OrderedReady" | "Parallel") {
        let why = "must be 'OrderedReady' or 'Parallel'";
        errors.push(FieldError::invalid("spec.podManagementPolicy", policy, why));
    }
    let (strategy, rolling) = (&spec["updateStrategy"], &spec["updateStrategy"]["rollingUpdate"]);
    let path = format!("{PATH}.rollingUpdate");
    match strategy["type"].as_str().unwrap_or_default() {
        "OnDelete" if rolling.is_null() => {}
        "OnDelete" => {
            errors.push(FieldError::invalid_printed(
                &path,
                rolling_update_text(rolling),
                "only allowed for updateStrategy 'RollingUpdate'",
            ));
        }
        "RollingUpdate" => nonnegative(&mut errors, rolling, &path, "partition"),
        other => {
            let strategy_text = if rolling.is_null() { "null".to_owned() } else { rolling_update_text(rolling) };
            let strategy_text = format!("{{\"Type\":{},\"RollingUpdate\":{strategy_text}}}", Value::from(other));
            errors.push(FieldError::invalid_printed(PATH, strategy_text, "must be 'RollingUpdate' or 'OnDelete'"));
        }
    }
    errors
}

fn rolling_update_text(rolling: &Value) -> String {
    let partition = rolling["partition"].as_i64().unwrap_or(0);
    format!("{{\"Partition\":{partition},\"MaxUnavailable\":{}}}", rolling["maxUnavailable"])
}

fn validate_status(status: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for name in [
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "observedGeneration",
        "collisionCount",
    ] {
        nonnegative(&mut errors, status, "status", name);
    }
    let parts = ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"];
    no_more_than_replicas(&mut errors, status, &parts);
    errors
}
