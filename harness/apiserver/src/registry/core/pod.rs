//! Pods. What they share with pod templates is in `registry/validate/pod.rs` and
//! `registry/defaults.rs`. Upstream: `pkg/registry/core/pod`, `SetDefaults_Pod`,
//! `ValidatePodCreate`, `ValidatePodUpdate`, `printPod`.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::admission::pods as admission;
use crate::http::status_error::ApiResult;
use crate::registry::defaults::{entry, host_ports, items, pod_spec, requests_from_limits, requests_of_pod, set};
use crate::registry::resource_list::{ResourceList, add, amounts};
use crate::registry::state::Server;
use crate::registry::strategy::{Deletion, FieldPaths, QuotaEvaluator, Strategy, keep};
use crate::registry::validate::pod::tolerations;
use crate::registry::validate::pod_warnings::{name_warning, spec_warnings};
use crate::registry::validate::unsupported_fields::pod_level_resources;
use crate::registry::validate::{pod, pod_status};
use crate::schema::printers::columns::{AGE, Column, NAME, text, wide};
use crate::schema::printers::pods;
use crate::types::field_error::FieldError;
use crate::types::kinds::{ALL, ResourceKind, SelectableFields, kind};

pub(crate) static KIND: ResourceKind = ResourceKind {
    subresources: &["status", "binding", "eviction"],
    unsupported_subresources: &["log", "exec", "attach", "portforward", "proxy", "ephemeralcontainers", "resize"],
    returns_deleted: true,
    short_names: &["po"],
    categories: ALL,
    selectable_fields: SelectableFields::Fields(&[
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
    ]),
    ..kind("", "v1", "pods", "Pod")
};

pub(crate) struct PodStrategy;

impl Strategy for PodStrategy {
    fn has_generation(&self) -> bool {
        true
    }

    fn reset_fields(&self, subresource: &str) -> FieldPaths {
        match subresource {
            "status" => &[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]],
            _ => &[&["status"]],
        }
    }

    fn convert_fields(&self, pod: &mut Value) {
        if pod["status"].is_object() {
            pod_status::convert_addresses(&mut pod["status"]);
        }
    }

    fn set_defaults(&self, pod: &mut Value) {
        let spec = entry(pod, "spec");
        pod_spec(spec);
        host_ports(spec);
        set(spec, "enableServiceLinks", json!(true));
        for list in ["containers", "initContainers"] {
            for container in items(spec, list) {
                requests_from_limits(container);
            }
        }
        requests_of_pod(pod);
    }

    fn deletion(&self) -> Deletion {
        Deletion::Graceful
    }

    fn quota_evaluator(&self) -> QuotaEvaluator {
        QuotaEvaluator::Pods
    }

    fn admit(&self, server: &mut Server, namespace_and_name: (&str, &str), new: &mut Value) -> ApiResult<()> {
        admission::admit(server, &KIND, namespace_and_name, new)
    }

    fn admit_update(&self, new: &mut Value, old: &Value) {
        admission::admit_update(new, old);
    }

    fn validate_admission(
        &self,
        server: &Server,
        namespace_and_name: (&str, &str),
        new: &Value,
        old: Option<&Value>,
    ) -> ApiResult<()> {
        if old.is_some() { Ok(()) } else { admission::validate(server, &KIND, namespace_and_name, new) }
    }

    fn prepare_for_create(&self, pod: &mut Value) {
        if pod["spec"]["terminationGracePeriodSeconds"].as_i64().is_some_and(|grace| grace < 0) {
            pod["spec"]["terminationGracePeriodSeconds"] = 1.into();
        }
        pod["status"] = json!({"phase": "Pending", "qosClass": qos_class(&pod["spec"])});
    }

    fn validate(&self, new: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_any(new);
        if !new["spec"]["ephemeralContainers"][0].is_null() {
            errors.push(FieldError::forbidden("spec.ephemeralContainers", "cannot be set on create"));
        }
        errors
    }

    // Upstream also validates it as a new object.
    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata_update(new, old);
        errors.extend(self.validate_any(new));
        errors.extend(validate_changed_annotations(new, old));
        errors.extend(validate_spec_update(&new["spec"], &old["spec"]));
        errors
    }

    fn prepare_for_status_update(&self, new: &mut Value, old: &Value) {
        for name in ["deletionTimestamp", "ownerReferences"] {
            keep(&mut new["metadata"], &old["metadata"], name);
        }
        for name in ["qosClass", "observedGeneration"] {
            if new["status"].get(name).is_none() {
                keep(&mut new["status"], &old["status"], name);
            }
        }
    }

    fn validate_status_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata_update(new, old);
        errors.extend(validate_changed_annotations(new, old));
        errors.extend(pod_status::update(new, old));
        errors
    }

    fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        if old.is_some() {
            return Vec::new();
        }
        let name = name_warning(new, "the Pod's hostname");
        name.into_iter().chain(spec_warnings(new, "spec", true)).collect()
    }

    fn unsupported_feature(&self, new: &Value, _: Option<&Value>) -> Option<String> {
        pod_level_resources(new)
    }

    fn is_stored_as_read(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        const {
            &[
                NAME,
                text("Ready"),
                text("Status"),
                text("Restarts"),
                AGE,
                wide("IP"),
                wide("Node"),
                wide("Nominated Node"),
                wide("Readiness Gates"),
            ]
        }
    }

    fn cells(&self, pod: &Value, now: Timestamp) -> Vec<Value> {
        pods::cells(pod, now)
    }

    fn row_conditions(&self, pod: &Value) -> Option<Value> {
        pods::completed(pod)
    }
}

impl PodStrategy {
    /// Validates what new and changed pods share.
    fn validate_any(&self, new: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata(new);
        errors.extend(pod::annotations(&new["metadata"], "metadata.annotations"));
        errors.extend(pod::spec(&new["spec"], "spec"));
        errors.extend(validate_images(&new["spec"]));
        errors
    }
}

fn validate_changed_annotations(new: &Value, old: &Value) -> Option<FieldError> {
    let has_changed = new["metadata"]["annotations"] != old["metadata"]["annotations"];
    has_changed.then(|| pod::annotations(&new["metadata"], "metadata.annotations")).flatten()
}

/// Validates the images, which may be anything in templates.
fn validate_images(spec: &Value) -> Vec<FieldError> {
    images(spec, "spec.containers").into_iter().chain(images(spec, "spec.initContainers")).collect()
}

fn images(spec: &Value, path: &str) -> Vec<FieldError> {
    let list = path.rsplit('.').next().unwrap_or_default();
    let mut errors = Vec::new();
    for (index, container) in spec[list].as_array().into_iter().flatten().enumerate() {
        let image = container["image"].as_str().unwrap_or_default();
        if image.trim() != image {
            let why = "must not have leading or trailing whitespace";
            errors.push(FieldError::invalid(&format!("{path}[{index}].image"), image, why));
        }
    }
    errors
}

/// Validates an update of a pod's spec, which is immutable except for few fields.
fn validate_spec_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for list in ["containers", "initContainers"] {
        let path = format!("spec.{list}");
        let count = |spec: &Value| spec[list].as_array().map_or(0, Vec::len);
        if count(new) != count(old) {
            errors.push(FieldError::forbidden(&path, "pod updates may not add or remove containers"));
            return errors;
        }
        for (index, container) in new[list].as_array().into_iter().flatten().enumerate() {
            if container["image"].as_str().unwrap_or_default().is_empty() {
                errors.push(FieldError::required(&format!("{path}[{index}].image"), ""));
            }
        }
        errors.extend(images(new, &path));
    }
    const DEADLINE: &str = "spec.activeDeadlineSeconds";
    match (new["activeDeadlineSeconds"].as_i64(), old["activeDeadlineSeconds"].as_i64()) {
        (Some(now), _) if !(0..=i64::from(i32::MAX)).contains(&now) => {
            errors.push(FieldError::invalid(DEADLINE, now, "must be between 0 and 2147483647, inclusive"));
            return errors;
        }
        (Some(now), Some(before)) if before < now => {
            errors.push(FieldError::invalid(DEADLINE, now, "must be less than or equal to previous value"));
            return errors;
        }
        (None, Some(_)) => {
            let why = "must not update from a positive integer to nil value";
            errors.push(FieldError::invalid(DEADLINE, Value::Null, why));
        }
        _ => {}
    }
    errors.extend(added_tolerations(new, old));
    if !is_allowed_change(new, old) {
        let why = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,\
                   `spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),\
                   `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
        errors.push(FieldError::forbidden("spec", why));
    }
    errors
}

fn added_tolerations(new: &Value, old: &Value) -> Vec<FieldError> {
    const PATH: &str = "spec.tolerations";
    let bare = |one: &Value| {
        let mut one = one.clone();
        one.as_object_mut().map(|one| one.remove("tolerationSeconds"));
        one
    };
    let all = |spec: &Value| spec["tolerations"].as_array().cloned().unwrap_or_default();
    let now: Vec<Value> = all(new).iter().map(bare).collect();
    if all(old).iter().any(|one| !now.contains(&bare(one))) {
        let why = "existing toleration can not be modified except its tolerationSeconds";
        return vec![FieldError::forbidden(PATH, why)];
    }
    tolerations(&new["tolerations"], PATH)
}

fn is_allowed_change(new: &Value, old: &Value) -> bool {
    let bare = |spec: &Value| {
        let mut spec = spec.clone();
        for list in ["containers", "initContainers"] {
            for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                container["image"] = Value::Null;
            }
        }
        for free in ["activeDeadlineSeconds", "tolerations", "schedulingGates"] {
            spec.as_object_mut().map(|fields| fields.remove(free));
        }
        spec
    };
    let grace = |spec: &Value| spec["terminationGracePeriodSeconds"].as_i64();
    let mut new = bare(new);
    if grace(old).is_some_and(|grace| grace < 0) && grace(&new) == Some(1) {
        new["terminationGracePeriodSeconds"] = old["terminationGracePeriodSeconds"].clone();
    }
    new == bare(old)
}

/// The QoS class of a pod. Upstream: `ComputePodQOS`.
fn qos_class(spec: &Value) -> &'static str {
    let containers =
        ["containers", "initContainers"].into_iter().flat_map(|list| spec[list].as_array().into_iter().flatten());
    // Pod-level resources take precedence over those of containers.
    let all: Vec<&Value> = match &spec["resources"] {
        Value::Null => containers.map(|container| &container["resources"]).collect(),
        own => vec![own],
    };
    let counted = |field: &str| -> Vec<ResourceList> {
        let of = |resources: &&Value| {
            let mut counted = amounts(&resources[field]);
            counted.retain(|name, amount| matches!(name.as_str(), "cpu" | "memory") && amount.is_positive());
            counted
        };
        all.iter().map(of).collect()
    };
    let (requests, limits) = (counted("requests"), counted("limits"));
    let sum = |all: &[ResourceList]| {
        let mut sum = ResourceList::new();
        all.iter().for_each(|one| add(&mut sum, one));
        sum
    };
    if requests.iter().chain(&limits).all(ResourceList::is_empty) {
        return "BestEffort";
    }
    let full = limits.iter().all(|one| one.len() == 2) && sum(&requests) == sum(&limits);
    if full { "Guaranteed" } else { "Burstable" }
}
