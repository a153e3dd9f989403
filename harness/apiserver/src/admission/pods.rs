//! Admission of pods. Upstream: LimitRanger, ServiceAccount, Priority, DefaultTolerationSeconds,
//! RuntimeClass, PodTopologyLabels and PodSecurity.

use serde_json::{Value, json};

use crate::admission::{limit_ranger, pod_security};
use crate::http::status_error::{ApiResult, StatusError};
use crate::registry::core::{namespace, node, service_account};
use crate::registry::defaults::entry;
use crate::registry::scheduling::priority_class;
use crate::registry::state::Server;
use crate::storage::keys::StoreKey;
use crate::types::kinds::ResourceKind;

/// Changes or rejects a new pod before validation; `kind` is that of pods.
pub(crate) fn admit(
    server: &mut Server,
    kind: &ResourceKind,
    (namespace, name): (&str, &str),
    pod: &mut Value,
) -> ApiResult<()> {
    limit_ranger::admit(server, namespace, pod);
    set_service_account(server, kind, namespace, name, pod)?;
    set_priority(server, kind, name, pod)?;
    add_default_tolerations(pod);
    check_runtime_class(kind, name, pod)?;
    let node = pod["spec"]["nodeName"].as_str().unwrap_or_default().to_owned();
    add_topology_labels(server, &node, pod);
    Ok(())
}

/// Changes an updated pod before validation.
pub(crate) fn admit_update(new: &mut Value, old: &Value) {
    for name in ["priority", "preemptionPolicy"] {
        if let Some(was) = old["spec"].get(name)
            && new["spec"][name].is_null()
        {
            new["spec"][name] = was.clone();
        }
    }
    add_default_tolerations(new);
}

/// Upstream: Priority.
fn set_priority(server: &Server, kind: &ResourceKind, name: &str, body: &mut Value) -> ApiResult<()> {
    const POLICY: &str = "PreemptLowerPriority";
    let forbidden = |why: String| Err(StatusError::forbidden(kind, name, &why));
    let spec = entry(body, "spec");
    let class = match spec["priorityClassName"].as_str().unwrap_or_default() {
        "" => priority_class::default_class(server),
        class => match server.store.get(&StoreKey::new(&priority_class::KIND, "", class)) {
            None => return forbidden(format!("no PriorityClass with name {class} was found")),
            found => found,
        },
    };
    let priority = class.as_ref().map_or(0, |class| class.body["value"].as_i64().unwrap_or(0));
    let policy = class.as_ref().map_or(POLICY, |class| class.body["preemptionPolicy"].as_str().unwrap_or(POLICY));
    let computed = |what: &str, given: &str, computed: &str| {
        format!(
            "the {what} ({given}) must not be provided in pod spec; priority admission controller computed {computed} \
             from the given PriorityClass name"
        )
    };
    if let Some(given) = spec["priority"].as_i64().filter(|given| *given != priority) {
        return forbidden(computed("integer value of priority", &given.to_string(), &priority.to_string()));
    }
    if let Some(given) = spec["preemptionPolicy"].as_str().filter(|given| *given != policy) {
        return forbidden(computed("string value of PreemptionPolicy", given, policy));
    }
    if let Some(class) = &class {
        spec["priorityClassName"] = class.meta("name").into();
    }
    spec["priority"] = priority.into();
    spec["preemptionPolicy"] = policy.into();
    Ok(())
}

/// Upstream: RuntimeClass. No classes exist, so any name is refused.
fn check_runtime_class(kind: &ResourceKind, name: &str, pod: &Value) -> ApiResult<()> {
    match pod["spec"]["runtimeClassName"].as_str().unwrap_or_default() {
        "" => Ok(()),
        class => Err(StatusError::forbidden(kind, name, &format!("pod rejected: RuntimeClass \"{class}\" not found"))),
    }
}

/// Copies the zone and region labels of its node to a pod. Upstream: PodTopologyLabels.
pub(crate) fn add_topology_labels(server: &Server, node: &str, pod: &mut Value) {
    let Some(node) = server.store.get(&StoreKey::new(&node::KIND, "", node)) else { return };
    for label in ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"] {
        if let Some(value) = node.body["metadata"]["labels"].get(label) {
            entry(&mut pod["metadata"], "labels")[label] = value.clone();
        }
    }
}

/// Rejects a valid new pod.
pub(crate) fn validate(
    server: &Server,
    kind: &ResourceKind,
    (namespace, name): (&str, &str),
    body: &Value,
) -> ApiResult<()> {
    limit_ranger::validate(server, kind, namespace, name, body)?;
    if !body["spec"]["overhead"].is_null() {
        let why = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";
        return Err(StatusError::forbidden(kind, name, why));
    }
    let space = server.store.get(&StoreKey::new(&namespace::KIND, "", namespace));
    match space.and_then(|space| pod_security::restricted(&space.body["metadata"]["labels"], body)) {
        Some(what) => Err(StatusError::unsupported(what)),
        None => Ok(()),
    }
}

/// Upstream: ServiceAccount.
fn set_service_account(
    server: &mut Server,
    kind: &ResourceKind,
    namespace: &str,
    name: &str,
    body: &mut Value,
) -> ApiResult<()> {
    const TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
    const MOUNTABLE: &str = "kubernetes.io/enforce-mountable-secrets";
    // Go's `ParseBool`.
    let is_true = |value: &Value| matches!(value.as_str(), Some("1" | "t" | "T" | "true" | "TRUE" | "True"));
    if !body["metadata"]["annotations"]["kubernetes.io/config.mirror"].is_null() {
        return Err(StatusError::unsupported("a mirror pod"));
    }
    let spec = entry(body, "spec");
    let account = match spec["serviceAccountName"].as_str().unwrap_or_default() {
        "" => "default".to_owned(),
        named => named.to_owned(),
    };
    spec["serviceAccountName"] = account.clone().into();
    spec["serviceAccount"] = account.clone().into();
    let Some(found) = server.store.get(&StoreKey::new(&service_account::KIND, namespace, &account)) else {
        let why =
            format!("error looking up service account {namespace}/{account}: serviceaccount \"{account}\" not found");
        return Err(StatusError::forbidden(kind, name, &why));
    };
    if spec["imagePullSecrets"].as_array().is_none_or(Vec::is_empty) && !found.body["imagePullSecrets"].is_null() {
        spec["imagePullSecrets"] = found.body["imagePullSecrets"].clone();
    }
    if found.body["metadata"]["annotations"].get(MOUNTABLE).is_some_and(is_true) {
        return Err(StatusError::unsupported(format!("pods of a service account with the annotation {MOUNTABLE}")));
    }
    let automounts_token = |of: &Value| of["automountServiceAccountToken"].as_bool();
    if !automounts_token(spec).or(automounts_token(&found.body)).unwrap_or(true) {
        return Ok(());
    }
    let volume = format!("kube-api-access-{}", server.rng.suffix());
    let mut mounted = false;
    for list in ["containers", "initContainers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let mut mounts = container["volumeMounts"].as_array().cloned().unwrap_or_default();
            if mounts.iter().all(|mount| mount["mountPath"] != TOKEN) {
                mounts.push(json!({"name": volume, "readOnly": true, "mountPath": TOKEN}));
                container["volumeMounts"] = Value::Array(mounts);
                mounted = true;
            }
        }
    }
    if mounted {
        let sources = json!([
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}},
        ]);
        let mut volumes = spec["volumes"].as_array().cloned().unwrap_or_default();
        volumes.push(json!({"name": volume, "projected": {"sources": sources, "defaultMode": 0o644}}));
        spec["volumes"] = Value::Array(volumes);
    }
    Ok(())
}

/// Upstream: DefaultTolerationSeconds.
fn add_default_tolerations(body: &mut Value) {
    let spec = entry(body, "spec");
    let mut all = spec["tolerations"].as_array().cloned().unwrap_or_default();
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let covers = |one: &Value| {
            (one["key"] == key || one["key"].is_null()) && (one["effect"] == "NoExecute" || one["effect"].is_null())
        };
        if !all.iter().any(covers) {
            all.push(json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}));
        }
    }
    spec["tolerations"] = Value::Array(all);
}
