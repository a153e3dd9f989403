//! Rewrites a manifest to the objects that run it on kind. No I/O.
//!
//! * The Deployment becomes a ReplicaSet without an owner: the cluster's Deployment controller is
//!   off, and the controller under test must not manage itself.
//! * Its pods run on the node that has a kubelet, with the images that were loaded there.
//! * It reaches the API server through the interceptor. Every client that can run in a cluster
//!   finds its server by KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT, and its CA and token
//!   in one folder, so those are changed: no flag of the program and no kubeconfig is needed. The
//!   token stays the pods' own, so that their permissions are those of the manifest's roles.
//! * Network policies are omitted: they do not allow the interceptor's address and port.
//! * Everything has the harness's label, and is owned by one namespace: when that namespace is
//!   deleted, the garbage collector removes what a killed run has left.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use lockstep_cluster::{MANAGED_BY, MANAGER};
use lockstep_support::pointer::JsonPointer;
use serde_json::{Value, json};

use super::manifest::{CONTAINERS, Manifest, ManifestError, namespace, text_at};
use crate::command::is_proxy;

/// The folder in which every client looks for its token and CA.
const ACCESS: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// The ConfigMap with the cluster's CA in each namespace; the interceptor's CA replaces it.
const CLUSTER_CA: &str = "kube-root-ca.crt";
/// The name of the ConfigMap with the interceptor's CA, and of its volume.
const INTERCEPTOR_CA: &str = "lockstep-interceptor";
/// The lifetime of the token that a pod gets by default.
const TOKEN_SECONDS: u32 = 3607;

/// Where the pods run, and what they need there.
#[derive(Debug)]
pub(super) struct Placement<'a> {
    /// The node's name.
    pub(super) node: &'a str,
    /// Where the interceptor listens.
    pub(super) interceptor: SocketAddr,
    /// The interceptor's CA, PEM.
    pub(super) ca_pem: &'a str,
    /// Images that were loaded onto the node and are not pulled.
    pub(super) images: &'a BTreeSet<String>,
    /// The owning namespace, as an owner reference.
    pub(super) owner: &'a Value,
}

/// The objects to create, in order: namespaces first, the ReplicaSet last.
pub(super) fn objects(manifest: &Manifest, placement: &Placement<'_>) -> Result<Vec<Value>, ManifestError> {
    let kept = manifest.other_objects.iter().filter(|object| object["kind"] != "NetworkPolicy").cloned();
    let (mut namespaces, others): (Vec<_>, Vec<_>) = kept.partition(|object| object["kind"] == "Namespace");
    let ca = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": INTERCEPTOR_CA, "namespace": manifest.namespace()},
        "data": {"ca.crt": placement.ca_pem},
    });
    namespaces.extend(others.into_iter().chain([ca, replica_set(manifest, placement)?]));
    for object in &mut namespaces {
        object["metadata"]["labels"][MANAGED_BY] = MANAGER.into();
        object["metadata"]["ownerReferences"] = json!([placement.owner]);
    }
    Ok(namespaces)
}

fn replica_set(manifest: &Manifest, placement: &Placement<'_>) -> Result<Value, ManifestError> {
    let deployment = &manifest.deployment;
    let mut template = deployment["spec"]["template"].clone();
    // A pod template with this label keeps its value, which a selector may require.
    if template.at("/metadata/labels").and_then(|labels| labels.get(MANAGED_BY)).is_none() {
        template["metadata"]["labels"][MANAGED_BY] = MANAGER.into();
    }
    let spec = &mut template["spec"];
    spec["nodeSelector"]["kubernetes.io/hostname"] = placement.node.into();
    tolerate_control_plane(spec);
    route_through_interceptor(spec, manifest)
        .map_err(|why| ManifestError::Deployment { name: manifest.name(), why: why.to_owned() })?;
    for container in containers(spec) {
        set_env(container, placement.interceptor);
        if placement.images.contains(&text_at(container, "/image")) {
            container["imagePullPolicy"] = "IfNotPresent".into();
        }
    }
    let mut made = json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": manifest.name(), "namespace": manifest.namespace()},
        "spec": {
            "replicas": manifest.replicas(),
            "selector": deployment["spec"]["selector"],
            "template": template,
        },
    });
    if let Some(labels) = deployment.at("/metadata/labels") {
        made["metadata"]["labels"] = labels.clone();
    }
    if let Some(seconds) = deployment.at("/spec/minReadySeconds") {
        made["spec"]["minReadySeconds"] = seconds.clone();
    }
    Ok(made)
}

/// Tolerates the taint that the control plane has in a kind cluster with workers.
fn tolerate_control_plane(spec: &mut Value) {
    let toleration =
        json!({"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"});
    push(spec, "tolerations", toleration);
}

/// Mounts token, CA and namespace as a pod has them by default, with the interceptor's CA instead
/// of the cluster's.
fn route_through_interceptor(spec: &mut Value, manifest: &Manifest) -> Result<(), &'static str> {
    let mut own_token = false;
    for volume in spec.get_mut("volumes").and_then(Value::as_array_mut).into_iter().flatten() {
        for source in volume.pointer_mut("/projected/sources").and_then(Value::as_array_mut).into_iter().flatten() {
            own_token |= source.get("serviceAccountToken").is_some();
            if text_at(source, "/configMap/name") == CLUSTER_CA {
                source["configMap"]["name"] = INTERCEPTOR_CA.into();
            }
        }
    }
    if !gets_a_token(spec, manifest) {
        // A token that the manifest itself mounts is mounted where it is needed.
        return if own_token {
            Ok(())
        } else {
            Err("its pods get no token (automountServiceAccountToken is false), so they could not act on a cluster")
        };
    }
    let mut needed = false;
    for container in containers(spec) {
        let mounts = container.get("volumeMounts").and_then(Value::as_array);
        let own =
            mounts.into_iter().flatten().any(|mount| text_at(mount, "/mountPath").trim_end_matches('/') == ACCESS);
        if !own {
            needed = true;
            push(container, "volumeMounts", json!({"name": INTERCEPTOR_CA, "mountPath": ACCESS, "readOnly": true}));
        }
    }
    spec["automountServiceAccountToken"] = false.into();
    if needed {
        let sources = json!([
            {"serviceAccountToken": {"path": "token", "expirationSeconds": TOKEN_SECONDS}},
            {"configMap": {"name": INTERCEPTOR_CA, "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
        ]);
        push(spec, "volumes", json!({"name": INTERCEPTOR_CA, "projected": {"defaultMode": 0o644, "sources": sources}}));
    }
    Ok(())
}

/// Whether the cluster would mount a token by default, according to the pod, else its service
/// account, else yes.
fn gets_a_token(spec: &Value, manifest: &Manifest) -> bool {
    let pods = spec.get("automountServiceAccountToken").and_then(Value::as_bool);
    let name = match text_at(spec, "/serviceAccountName") {
        name if name.is_empty() => "default".to_owned(),
        name => name,
    };
    let account = manifest.other_objects.iter().find(|object| {
        object["kind"] == "ServiceAccount"
            && text_at(object, "/metadata/name") == name
            && namespace(object) == manifest.namespace()
    });
    let accounts = account.and_then(|account| account.get("automountServiceAccountToken")?.as_bool());
    pods.or(accounts).unwrap_or(true)
}

/// Sets the interceptor's address first, so that variables of the manifest that refer to it use it.
/// Proxy variables are removed: a proxy could not reach the interceptor.
fn set_env(container: &mut Value, interceptor: SocketAddr) {
    let ours = [
        ("KUBERNETES_SERVICE_HOST", interceptor.ip().to_string()),
        ("KUBERNETES_SERVICE_PORT", interceptor.port().to_string()),
    ];
    let theirs = container.get("env").and_then(Value::as_array).cloned().unwrap_or_default();
    let theirs = theirs
        .into_iter()
        .filter(|one| ours.iter().all(|(name, _)| one["name"] != *name) && !one["name"].as_str().is_some_and(is_proxy));
    let ours = ours.iter().map(|(name, value)| json!({"name": name, "value": value}));
    container["env"] = ours.chain(theirs).collect();
}

fn containers(spec: &mut Value) -> impl Iterator<Item = &mut Value> {
    let lists = spec.as_object_mut().into_iter().flat_map(|fields| fields.iter_mut());
    let lists = lists.filter(|(name, _)| CONTAINERS.contains(&name.as_str()));
    lists.filter_map(|(_, list)| list.as_array_mut()).flatten().filter(|container| container.is_object())
}

fn push(object: &mut Value, list: &str, item: Value) {
    match object[list].as_array_mut() {
        Some(items) => items.push(item),
        None => object[list] = json!([item]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewrite(manifest: &str) -> Result<Vec<Value>, ManifestError> {
        let owner = json!({"apiVersion": "v1", "kind": "Namespace", "name": "lockstep-subject-1", "uid": "u"});
        let placement = Placement {
            node: "lockstep-control-plane",
            interceptor: "172.18.0.1:4711".parse().unwrap(),
            ca_pem: "PEM",
            images: &BTreeSet::from(["mine:1".to_owned()]),
            owner: &owner,
        };
        objects(&Manifest::parse(manifest).unwrap(), &placement)
    }

    #[test]
    fn removes_proxy_variables() {
        let env = json!([{"name": "HTTPS_PROXY", "value": "http://p"}, {"name": "http_proxy", "value": "http://p"},
            {"name": "NO_PROXY", "value": "x"}]);
        let mut container = json!({"env": env});
        set_env(&mut container, "172.18.0.1:4711".parse().unwrap());
        let names: Vec<&Value> = container["env"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
        assert_eq!(names, ["KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "NO_PROXY"]);
    }

    /// A Deployment with these fields in its pod spec.
    fn deployment(spec: &Value) -> String {
        let mut spec = spec.clone();
        if spec["containers"].is_null() {
            spec["containers"] = json!([{"name": "a", "image": "mine:1"}]);
        }
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "mine", "namespace": "there", "labels": {"app": "mine"}, "annotations": {"a": "b"}},
            "spec": {"replicas": 2, "minReadySeconds": 3, "strategy": {"type": "Recreate"},
                "selector": {"matchLabels": {"app": "mine"}},
                "template": {"metadata": {"labels": {"app": "mine"}}, "spec": spec}}})
        .to_string()
    }

    fn account(automount: bool) -> String {
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "mine", "namespace": "there"},
            "automountServiceAccountToken": automount})
        .to_string()
    }

    fn pod(manifest: &str) -> Value {
        rewrite(manifest).unwrap().pop().unwrap()["spec"]["template"]["spec"].take()
    }

    fn sources(volume: &Value) -> Vec<&str> {
        let sources = volume["projected"]["sources"].as_array().unwrap();
        sources.iter().map(|source| source.as_object().unwrap().keys().next().unwrap().as_str()).collect()
    }

    #[test]
    fn deployment_becomes_replica_set() {
        let set = rewrite(&deployment(&json!({}))).unwrap().pop().unwrap();
        assert_eq!((&set["apiVersion"], &set["kind"]), (&json!("apps/v1"), &json!("ReplicaSet")));
        let metadata = &set["metadata"];
        assert_eq!((&metadata["name"], &metadata["namespace"]), (&json!("mine"), &json!("there")));
        assert_eq!(metadata["labels"], json!({"app": "mine", MANAGED_BY: MANAGER}));
        assert!(metadata["ownerReferences"][0].get("controller").is_none());
        let spec = &set["spec"];
        assert_eq!((&spec["replicas"], &spec["minReadySeconds"]), (&json!(2), &json!(3)));
        assert_eq!(spec["selector"], json!({"matchLabels": {"app": "mine"}}));
        assert!(spec.get("strategy").is_none(), "a ReplicaSet has none");
        assert_eq!(spec["template"]["metadata"]["labels"], json!({"app": "mine", MANAGED_BY: MANAGER}));
    }

    #[test]
    fn namespaces_come_first_and_all_objects_are_labelled_and_owned() {
        let namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: there, labels: {x: y}}}";
        let made = rewrite(&format!("{}\n---\n{}\n---\n{namespace}", account(true), deployment(&json!({})))).unwrap();
        let kinds: Vec<_> = made.iter().map(|object| object["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["Namespace", "ServiceAccount", "ConfigMap", "ReplicaSet"]);
        assert_eq!(made[0]["metadata"]["labels"], json!({"x": "y", MANAGED_BY: MANAGER}));
        for object in &made {
            assert_eq!(object["metadata"]["labels"][MANAGED_BY], MANAGER);
            assert_eq!(object["metadata"]["ownerReferences"][0]["name"], "lockstep-subject-1");
        }
        assert_eq!((&made[2]["metadata"]["namespace"], &made[2]["data"]["ca.crt"]), (&json!("there"), &json!("PEM")));
    }

    /// A policy for the API server's port would block the interceptor's.
    #[test]
    fn omits_network_policies() {
        let policy =
            "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: mine, namespace: there}}";
        let made = rewrite(&format!("{policy}\n---\n{}", deployment(&json!({})))).unwrap();
        let kinds: Vec<_> = made.iter().map(|object| object["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["ConfigMap", "ReplicaSet"]);
    }

    #[test]
    fn pods_run_on_the_node_with_its_images() {
        let containers =
            json!([{"name": "a", "image": "mine:1", "imagePullPolicy": "Always"}, {"name": "b", "image": "side"}]);
        let pod = pod(&deployment(
            &json!({"containers": containers, "nodeSelector": {"a": "b"}, "tolerations": [{"key": "x"}]}),
        ));
        assert_eq!(pod["nodeSelector"], json!({"a": "b", "kubernetes.io/hostname": "lockstep-control-plane"}));
        assert_eq!(pod["tolerations"].as_array().unwrap().len(), 2);
        assert!(pod.get("schedulerName").is_none() && pod.get("nodeName").is_none());
        assert_eq!(pod["containers"][0]["imagePullPolicy"], "IfNotPresent");
        assert!(pod["containers"][1].get("imagePullPolicy").is_none());
    }

    #[test]
    fn every_container_gets_interceptor_and_token() {
        let env = json!([{"name": "URL", "value": "https://$(KUBERNETES_SERVICE_HOST)"},
            {"name": "KUBERNETES_SERVICE_PORT", "value": "443"}]);
        let spec = json!({"containers": [{"name": "a", "image": "mine:1", "env": env}, {"name": "b"}], "initContainers": [{"name": "c"}]});
        let pod = pod(&deployment(&spec));
        for container in ["/containers/0", "/containers/1", "/initContainers/0"] {
            let container = pod.pointer(container).unwrap();
            assert_eq!(container["env"][0], json!({"name": "KUBERNETES_SERVICE_HOST", "value": "172.18.0.1"}));
            assert_eq!(container["env"][1], json!({"name": "KUBERNETES_SERVICE_PORT", "value": "4711"}));
            assert_eq!(
                container["volumeMounts"],
                json!([{"name": INTERCEPTOR_CA, "mountPath": ACCESS, "readOnly": true}])
            );
        }
        assert_eq!(pod["containers"][0]["env"].as_array().unwrap().len(), 3);
        assert_eq!(pod["automountServiceAccountToken"], false);
        assert_eq!(sources(&pod["volumes"][0]), ["serviceAccountToken", "configMap", "downwardAPI"]);
    }

    #[test]
    fn projected_volume_of_manifest_gets_interceptors_ca() {
        let projected = json!({"sources": [{"serviceAccountToken": {"path": "token"}}, {"configMap": {"name": CLUSTER_CA}},
            {"configMap": {"name": "other"}}]});
        let mount = json!([{"name": "own", "mountPath": format!("{ACCESS}/")}]);
        let containers = json!([{"name": "a", "volumeMounts": mount}, {"name": "b"}]);
        for automount in [true, false] {
            let spec = json!({"containers": containers, "volumes": [{"name": "own", "projected": projected}],
                "automountServiceAccountToken": automount});
            let pod = pod(&deployment(&spec));
            let sources = &pod["volumes"][0]["projected"]["sources"];
            assert_eq!(
                (&sources[1]["configMap"]["name"], &sources[2]["configMap"]["name"]),
                (&json!(INTERCEPTOR_CA), &json!("other"))
            );
            assert_eq!(pod["containers"][0]["volumeMounts"].as_array().unwrap().len(), 1);
            // The other container has its default.
            assert_eq!(pod["containers"][1]["volumeMounts"].is_array(), automount);
            assert_eq!(pod["volumes"].as_array().unwrap().len(), 1 + usize::from(automount));
        }
    }

    #[test]
    fn pods_without_a_token_are_refused() {
        let refused = |manifest: &str| rewrite(manifest).unwrap_err().to_string();
        assert!(
            refused(&deployment(&json!({"automountServiceAccountToken": false})))
                .starts_with("deployment/mine: its pods get no token")
        );
        let by_account = deployment(&json!({"serviceAccountName": "mine"}));
        refused(&format!("{}\n---\n{by_account}", account(false)));
        rewrite(&format!("{}\n---\n{by_account}", account(true))).unwrap();
        // The pod's setting overrides its account's; another account's setting does not count.
        let by_pod = deployment(&json!({"serviceAccountName": "mine", "automountServiceAccountToken": true}));
        rewrite(&format!("{}\n---\n{by_pod}", account(false))).unwrap();
        rewrite(&format!("{}\n---\n{}", account(false), deployment(&json!({})))).unwrap();
    }

    #[test]
    fn keeps_label_of_selector() {
        let manifest = deployment(&json!({})).replace(r#""app":"mine""#, &format!(r#""{MANAGED_BY}":"them""#));
        let set = rewrite(&manifest).unwrap().pop().unwrap();
        assert_eq!(set["spec"]["template"]["metadata"]["labels"][MANAGED_BY], "them");
        assert_eq!(set["metadata"]["labels"][MANAGED_BY], MANAGER);
    }
}
