//! ReplicaSets. Upstream: `pkg/registry/apps/replicaset`, `ValidateReplicaSet…`,
//! `printReplicaSet`.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::registry::defaults::{pod_spec, spec};
use crate::registry::strategy::Strategy;
use crate::registry::validate::apps;
use crate::registry::validate::apps::{selector_change, template};
use crate::registry::validate::pod_warnings::workload_warnings;
use crate::registry::validate::scalars::nonnegative;
use crate::registry::validate::statuses::no_more_than_replicas;
use crate::registry::validate::unsupported_fields::pod_level_resources;
use crate::schema::printers::cells::{age, name, number, selector, with_containers};
use crate::schema::printers::columns::{AGE, CONTAINERS, Column, NAME, integer, wide};
use crate::types::field_error::FieldError;
use crate::types::kinds::{ALL, ResourceKind, kind};

pub(crate) static KIND: ResourceKind = ResourceKind {
    subresources: &["status", "scale"],
    short_names: &["rs"],
    categories: ALL,
    ..kind("apps", "v1", "replicasets", "ReplicaSet")
};

pub(crate) struct ReplicaSetStrategy;

impl Strategy for ReplicaSetStrategy {
    fn has_generation(&self) -> bool {
        true
    }

    fn set_defaults(&self, body: &mut Value) {
        spec(body, &json!({"replicas": 1}));
        pod_spec(&mut body["spec"]["template"]["spec"]);
    }

    fn prepare_for_create(&self, body: &mut Value) {
        body["status"] = json!({"replicas": 0});
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

    fn validate_status_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata_update(new, old);
        errors.extend(validate_status(&new["status"]));
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
                integer("Desired"),
                integer("Current"),
                integer("Ready"),
                AGE,
                CONTAINERS[0],
                CONTAINERS[1],
                wide("Selector"),
            ]
        }
    }

    fn cells(&self, replica_set: &Value, now: Timestamp) -> Vec<Value> {
        let (spec, status) = (&replica_set["spec"], &replica_set["status"]);
        let counts = [&spec["replicas"], &status["replicas"], &status["readyReplicas"]];
        let mut cells = vec![name(replica_set)];
        cells.extend(counts.into_iter().map(|count| Value::from(number(count))));
        cells.push(age(replica_set, now));
        let mut cells = with_containers(cells, &spec["template"]);
        cells.push(selector(&spec["selector"]));
        cells
    }
}

fn validate_spec(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    nonnegative(&mut errors, spec, "spec", "replicas");
    nonnegative(&mut errors, spec, "spec", "minReadySeconds");
    errors.extend(apps::selector(spec, "deployment"));
    errors.extend(template(spec, "ReplicaSet"));
    errors
}

fn validate_status(status: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for name in [
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
        "terminatingReplicas",
    ] {
        nonnegative(&mut errors, status, "status", name);
    }
    no_more_than_replicas(&mut errors, status, &["fullyLabeledReplicas", "readyReplicas", "availableReplicas"]);
    errors
}
