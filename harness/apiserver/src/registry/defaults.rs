//! Sets defaults as upstream's `SetDefaults_…` and `SetObjectDefaults_…` do.

use serde_json::{Map, Value, json};

use crate::pointer::JsonPointer;
use crate::registry::resource_list::default_requests;
use crate::types::quantity::rounded_to_thousandths;

pub(crate) fn spec(body: &mut Value, defaults: &Value) {
    let spec = entry(body, "spec");
    for (name, value) in defaults.as_object().into_iter().flatten() {
        set(spec, name, value.clone());
    }
}

pub(crate) fn pod_spec(spec: &mut Value) {
    if !spec.is_object() {
        *spec = json!({});
    }
    set(spec, "dnsPolicy", json!("ClusterFirst"));
    set(spec, "restartPolicy", json!("Always"));
    set(spec, "securityContext", json!({}));
    set(spec, "terminationGracePeriodSeconds", json!(30));
    set(spec, "schedulerName", json!("default-scheduler"));
    // `serviceAccount` is the deprecated name.
    match spec.get("serviceAccountName").cloned() {
        Some(account) => spec["serviceAccount"] = account,
        None => {
            if let Some(account) = spec.get("serviceAccount").cloned() {
                spec["serviceAccountName"] = account;
            }
        }
    }
    round_up(spec, &["overhead"]);
    if let Some(resources) = spec.get_mut("resources") {
        round_up(resources, &["limits", "requests"]);
    }
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        items(spec, list).for_each(container);
    }
    for one in items(spec, "volumes") {
        volume(one);
    }
}

/// Sets the host ports of a pod in the network of its node. Upstream: `defaultHostNetworkPorts`,
/// which since v1.28 leaves the templates of pods alone.
pub(crate) fn host_ports(spec: &mut Value) {
    if spec["hostNetwork"] != true {
        return;
    }
    for list in ["containers", "initContainers"] {
        for port in items(spec, list).flat_map(|container| items(container, "ports")) {
            if port["hostPort"].as_i64().unwrap_or(0) == 0 {
                port["hostPort"] = port["containerPort"].clone();
            }
        }
    }
}

fn container(container: &mut Value) {
    let image = container["image"].as_str().unwrap_or_default();
    let policy = if is_latest(image) { "Always" } else { "IfNotPresent" };
    set(container, "imagePullPolicy", json!(policy));
    set(container, "terminationMessagePath", json!("/dev/termination-log"));
    set(container, "terminationMessagePolicy", json!("File"));
    for port in items(container, "ports") {
        set(port, "protocol", json!("TCP"));
    }
    for variable in items(container, "env") {
        if let Some(source) = variable.get_mut("valueFrom") {
            field_reference(source);
            if let Some(file) = source.get_mut("fileKeyRef") {
                set(file, "optional", json!(false));
            }
        }
    }
    if let Some(resources) = container.get_mut("resources") {
        round_up(resources, &["limits", "requests"]);
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = container.get_mut(name) {
            set(probe, "timeoutSeconds", json!(1));
            set(probe, "periodSeconds", json!(10));
            set(probe, "successThreshold", json!(1));
            set(probe, "failureThreshold", json!(3));
            http_get(probe);
            if let Some(grpc) = probe.get_mut("grpc") {
                set(grpc, "service", json!(""));
            }
        }
    }
    for moment in ["postStart", "preStop"] {
        if let Some(handler) = container.get_mut("lifecycle").and_then(|lifecycle| lifecycle.get_mut(moment)) {
            http_get(handler);
        }
    }
}

fn http_get(handler: &mut Value) {
    if let Some(get) = handler.get_mut("httpGet") {
        set(get, "path", json!("/"));
        set(get, "scheme", json!("HTTP"));
    }
}

fn field_reference(source: &mut Value) {
    if let Some(reference) = source.get_mut("fieldRef") {
        set(reference, "apiVersion", json!("v1"));
    }
}

fn volume(volume: &mut Value) {
    let sources = volume.as_object().map_or(0, |fields| fields.keys().filter(|name| *name != "name").count());
    if sources == 0 {
        volume["emptyDir"] = json!({});
    }
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = volume.get_mut(source) {
            set(source, "defaultMode", json!(0o644));
        }
    }
    if let Some(path) = volume.get_mut("hostPath") {
        set(path, "type", json!(""));
    }
    if let Some(downward) = volume.get_mut("downwardAPI") {
        items(downward, "items").for_each(field_reference);
    }
    if let Some(projected) = volume.get_mut("projected") {
        for source in items(projected, "sources") {
            if let Some(downward) = source.get_mut("downwardAPI") {
                items(downward, "items").for_each(field_reference);
            }
            if let Some(token) = source.get_mut("serviceAccountToken") {
                set(token, "expirationSeconds", json!(3600));
            }
        }
    }
}

pub(crate) fn requests_from_limits(container: &mut Value) {
    let limits = container.at("/resources/limits").and_then(Value::as_object).cloned().unwrap_or_default();
    if limits.is_empty() {
        return;
    }
    let requests = entry(&mut container["resources"], "requests");
    for (name, limit) in limits {
        set(requests, &name, limit);
    }
}

/// Upstream: `defaultPodRequests`.
pub(crate) fn requests_of_pod(pod: &mut Value) {
    let defaults = default_requests(pod);
    if !defaults.is_empty() {
        let requests = entry(&mut pod["spec"]["resources"], "requests");
        defaults.into_iter().for_each(|(name, amount)| set(requests, &name, json!(amount.to_string())));
    }
}

/// Whether an image has no tag, or the tag `latest`, and no digest.
fn is_latest(image: &str) -> bool {
    // An invalid image name has no tag.
    let readable = |c: char| c.is_ascii_alphanumeric() || "._-/:".contains(c);
    if image.is_empty() || !image.chars().all(readable) {
        return false;
    }
    let name = image.rsplit('/').next().unwrap_or_default();
    name.split_once(':').is_none_or(|(_, tag)| tag == "latest")
}

/// Rounds the amounts of these lists up to thousandths. Upstream: `SetDefaults_ResourceList`.
pub(crate) fn round_up(owner: &mut Value, lists: &[&str]) {
    for list in lists {
        for (_, amount) in owner.get_mut(*list).and_then(Value::as_object_mut).into_iter().flatten() {
            if let Some(rounded) = amount.as_str().and_then(rounded_to_thousandths) {
                *amount = rounded.into();
            }
        }
    }
}

/// The object in a field, created if absent.
pub(crate) fn entry<'a>(value: &'a mut Value, name: &str) -> &'a mut Value {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    let field = &mut value[name];
    if field.is_null() {
        *field = Value::Object(Map::new());
    }
    field
}

/// The items of a list; none if it is absent.
pub(crate) fn items<'a>(value: &'a mut Value, name: &str) -> impl Iterator<Item = &'a mut Value> {
    value.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten()
}

/// Sets an absent field.
pub(crate) fn set(value: &mut Value, name: &str, default: Value) {
    if let Value::Object(fields) = value {
        let field = fields.entry(name).or_insert(Value::Null);
        if field.is_null() {
            *field = default;
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("app", true)]
    #[case("app:latest", true)]
    #[case("app:1", false)]
    #[case("host:5000/app", true)]
    #[case("host:5000/app:1", false)]
    #[case("app@sha256:aa", false)]
    fn recognizes_images_with_latest_tag(#[case] image: &str, #[case] latest: bool) {
        assert_eq!(is_latest(image), latest);
    }
}
