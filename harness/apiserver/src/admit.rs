//! Admission: what upstream's default admission plugins add to an object, and what they refuse.
//!
//! NamespaceLifecycle, LimitRanger, ServiceAccount, Priority, DefaultTolerationSeconds,
//! RuntimeClass, PodTopologyLabels and TaintNodesByCondition, for the kinds that are served.
//! `quota` is ResourceQuota.

use std::sync::Arc;

use serde_json::{Value, json};

use super::defaults::entry;
use super::kinds::{Kind, built_in};
use super::limits;
use super::pod_security;
use super::problem::{Outcome, Problem};
use super::server::Server;
use super::store::Key;

/// Before a new object is validated.
pub(super) fn create(server: &mut Server, kind: &Kind, namespace: &str, name: &str, body: &mut Value) -> Outcome<()> {
    if kind.namespaced {
        namespace_lives(server, kind, namespace, name)?;
    }
    match kind.built_in() {
        "Pod" => {
            limits::admit(server, namespace, body);
            account(server, kind, namespace, name, body)?;
            priority(kind, name, body)?;
            tolerations(body);
            runtime_class(kind, name, body)?;
            let node = body["spec"]["nodeName"].as_str().unwrap_or_default().to_owned();
            topology(server, &node, body);
        }
        // No kubelet has reported that it is ready.
        "Node" => {
            let spec = entry(body, "spec");
            let taint = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"});
            let mut taints = spec["taints"].as_array().cloned().unwrap_or_default();
            if !taints.contains(&taint) {
                taints.push(taint);
            }
            spec["taints"] = Value::Array(taints);
        }
        _ => {}
    }
    Ok(())
}

/// Before a changed object is validated.
pub(super) fn update(kind: &Kind, new: &mut Value, old: &Value) {
    if kind.built_in() == "Pod" {
        for name in ["priority", "preemptionPolicy"] {
            if let Some(was) = old["spec"].get(name)
                && new["spec"][name].is_null()
            {
                new["spec"][name] = was.clone();
            }
        }
        tolerations(new);
    }
}

/// Upstream: NamespaceLifecycle.
pub(super) fn namespace_lives(server: &Server, kind: &Kind, namespace: &str, name: &str) -> Outcome<()> {
    let spaces = built_in("", "namespaces").expect("namespaces are served");
    let Some(found) = server.store.get(&Key::new(spaces, "", namespace)) else {
        return Err(Problem::not_found(spaces, namespace));
    };
    if found.deleting() || found.body["status"]["phase"] == "Terminating" {
        return Err(Problem::terminating(kind, name, namespace));
    }
    Ok(())
}

/// Upstream: Priority, with the classes that every cluster has.
fn priority(kind: &Kind, name: &str, body: &mut Value) -> Outcome<()> {
    const POLICY: &str = "PreemptLowerPriority";
    let forbidden = |why: String| Err(Problem::forbidden(kind, name, &why));
    let spec = entry(body, "spec");
    let priority = match spec["priorityClassName"].as_str().unwrap_or_default() {
        "" => 0,
        "system-cluster-critical" => 2_000_000_000,
        "system-node-critical" => 2_000_001_000,
        class => return forbidden(format!("no PriorityClass with name {class} was found")),
    };
    let computed = |what: &str, given: &str, computed: &str| {
        format!(
            "the {what} ({given}) must not be provided in pod spec; priority admission controller computed {computed} \
             from the given PriorityClass name"
        )
    };
    if let Some(given) = spec["priority"].as_i64().filter(|given| *given != priority) {
        return forbidden(computed("integer value of priority", &given.to_string(), &priority.to_string()));
    }
    if let Some(given) = spec["preemptionPolicy"].as_str().filter(|given| *given != POLICY) {
        return forbidden(computed("string value of PreemptionPolicy", given, POLICY));
    }
    spec["priority"] = priority.into();
    spec["preemptionPolicy"] = POLICY.into();
    Ok(())
}

/// Upstream: RuntimeClass. There are no classes.
fn runtime_class(kind: &Kind, name: &str, pod: &Value) -> Outcome<()> {
    match pod["spec"]["runtimeClassName"].as_str().unwrap_or_default() {
        "" => Ok(()),
        class => Err(Problem::forbidden(kind, name, &format!("pod rejected: RuntimeClass \"{class}\" not found"))),
    }
}

/// A pod on a node gets the node's labels of zone and region. Upstream: PodTopologyLabels.
pub(super) fn topology(server: &Server, node: &str, pod: &mut Value) {
    let nodes = built_in("", "nodes").expect("nodes are served");
    let Some(node) = server.store.get(&Key::new(nodes, "", node)) else { return };
    for label in ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"] {
        if let Some(value) = node.body["metadata"]["labels"].get(label) {
            entry(&mut pod["metadata"], "labels")[label] = value.clone();
        }
    }
}

/// After a new object is validated.
pub(super) fn validate(server: &Server, kind: &Kind, namespace: &str, name: &str, body: &Value) -> Outcome<()> {
    if kind.built_in() != "Pod" {
        return Ok(());
    }
    limits::validate(server, kind, namespace, name, body)?;
    if !body["spec"]["overhead"].is_null() {
        let why = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";
        return Err(Problem::forbidden(kind, name, why));
    }
    match pod_security::restricted(server, namespace, body) {
        Some(what) => Err(Problem::unsupported(what)),
        None => Ok(()),
    }
}

/// Upstream: ServiceAccount.
fn account(server: &mut Server, kind: &Kind, namespace: &str, name: &str, body: &mut Value) -> Outcome<()> {
    const TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
    const MOUNTABLE: &str = "kubernetes.io/enforce-mountable-secrets";
    // Go's `ParseBool`.
    let is_true = |value: &Value| matches!(value.as_str(), Some("1" | "t" | "T" | "true" | "TRUE" | "True"));
    if !body["metadata"]["annotations"]["kubernetes.io/config.mirror"].is_null() {
        return Err(Problem::unsupported("a mirror pod"));
    }
    let spec = entry(body, "spec");
    let account = match spec["serviceAccountName"].as_str().unwrap_or_default() {
        "" => "default".to_owned(),
        named => named.to_owned(),
    };
    spec["serviceAccountName"] = account.clone().into();
    spec["serviceAccount"] = account.clone().into();
    let accounts = built_in("", "serviceaccounts").expect("service accounts are served");
    let Some(found) = server.store.get(&Key::new(accounts, namespace, &account)) else {
        let why =
            format!("error looking up service account {namespace}/{account}: serviceaccount \"{account}\" not found");
        return Err(Problem::forbidden(kind, name, &why));
    };
    let found = Arc::clone(found);
    if spec["imagePullSecrets"].as_array().is_none_or(Vec::is_empty) && !found.body["imagePullSecrets"].is_null() {
        spec["imagePullSecrets"] = found.body["imagePullSecrets"].clone();
    }
    if found.body["metadata"]["annotations"].get(MOUNTABLE).is_some_and(is_true) {
        return Err(Problem::unsupported(format!("pods of a service account with the annotation {MOUNTABLE}")));
    }
    let wanted = |of: &Value| of["automountServiceAccountToken"].as_bool();
    if !wanted(spec).or(wanted(&found.body)).unwrap_or(true) {
        return Ok(());
    }
    let volume = format!("kube-api-access-{}", server.chance.suffix());
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
fn tolerations(body: &mut Value) {
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
