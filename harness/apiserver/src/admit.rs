//! Admission: what upstream's default admission plugins add to an object, and what they refuse.
//!
//! NamespaceLifecycle, LimitRanger, Priority, ServiceAccount, DefaultTolerationSeconds and TaintNodesByCondition,
//! for the kinds that are served. `quota` is ResourceQuota.

use serde_json::{Value, json};

use super::defaults::entry;
use super::kinds::{Kind, built_in};
use super::limits;
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
            priority(kind, name, body)?;
            account(server, kind, namespace, name, body)?;
            tolerations(body);
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

/// Upstream: Priority, without classes.
fn priority(kind: &Kind, name: &str, body: &mut Value) -> Outcome<()> {
    let spec = entry(body, "spec");
    if let Some(given) = spec["priority"].as_i64().filter(|given| *given != 0) {
        let why = format!(
            "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller computed 0 from the \
             given PriorityClass name"
        );
        return Err(Problem::forbidden(kind, name, &why));
    }
    spec["priority"] = 0.into();
    spec["preemptionPolicy"] = "PreemptLowerPriority".into();
    Ok(())
}

/// Upstream: ServiceAccount.
fn account(server: &mut Server, kind: &Kind, namespace: &str, name: &str, body: &mut Value) -> Outcome<()> {
    const TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
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
