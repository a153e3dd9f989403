//! Objects as an API server stores them: valid, with all defaults and known UIDs.

use kube::Client;
use kube_apiserver_sim::ApiServer;
use serde_json::{Value, json};

use crate::restarts::{config, mounts, secret, workload};

/// An object of the namespace `default`, whose UID is its name.
pub(crate) fn object(api_version: &str, kind: &str, name: &str) -> Value {
    let created = "2026-01-01T00:00:00Z";
    let metadata = json!({"name": name, "namespace": "default", "uid": name, "creationTimestamp": created});
    json!({"apiVersion": api_version, "kind": kind, "metadata": metadata})
}

/// A pod spec with one container of these fields. Its grace period is 0, because no kubelet ends
/// the pod.
pub(crate) fn pod_spec(fields: &Value) -> Value {
    let mut container = json!({
        "name": "c", "image": "app:1", "imagePullPolicy": "IfNotPresent", "resources": {},
        "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
    });
    json_patch::merge(&mut container, fields);
    json!({
        "containers": [container], "restartPolicy": "Always", "terminationGracePeriodSeconds": 0, "dnsPolicy": "ClusterFirst",
        "securityContext": {}, "schedulerName": "default-scheduler",
    })
}

pub(crate) fn template(image: &str) -> Value {
    json!({"metadata": {"labels": {"app": "web"}}, "spec": pod_spec(&json!({"image": image}))})
}

/// A Deployment with this many replicas and this template.
pub(crate) fn deployment_of(name: &str, replicas: i32, template: &Value) -> Value {
    let mut deployment = object("apps/v1", "Deployment", name);
    deployment["metadata"]["generation"] = 1.into();
    deployment["spec"] = json!({
        "replicas": replicas,
        "progressDeadlineSeconds": 60,
        "revisionHistoryLimit": 10,
        "selector": {"matchLabels": template["metadata"]["labels"]},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}},
        "template": template,
    });
    deployment
}

/// A Deployment with three replicas.
pub(crate) fn deployment() -> Value {
    let mut web = deployment_of("web", 3, &template("app:1"));
    web["metadata"]["uid"] = "d".into();
    web
}

/// A ReplicaSet with this many replicas and without an owner.
pub(crate) fn replica_set(name: &str, uid: &str, replicas: i32, image: &str) -> Value {
    let mut set = object("apps/v1", "ReplicaSet", name);
    set["metadata"]["uid"] = uid.into();
    set["metadata"]["generation"] = 1.into();
    set["metadata"]["labels"] = json!({"app": "web"});
    let selector = json!({"matchLabels": {"app": "web"}});
    set["spec"] = json!({"replicas": replicas, "selector": selector, "template": template(image)});
    set["status"] = json!({"replicas": 0});
    set
}

/// A ReplicaSet without replicas that a Deployment `web` adopts.
pub(crate) fn orphan() -> Value {
    let mut orphan = replica_set("orphan", "o", 0, "app:0");
    orphan["status"]["observedGeneration"] = 1.into();
    orphan
}

/// A ready pod, optionally owned by the ReplicaSet `web` with the UID `rs`.
pub(crate) fn pod(name: &str, owned: bool) -> Value {
    let mut pod = object("v1", "Pod", name);
    pod["metadata"]["generation"] = 1.into();
    pod["metadata"]["labels"] = json!({"app": "web"});
    if owned {
        let owner =
            json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "rs", "controller": true});
        pod["metadata"]["ownerReferences"] = json!([owner]);
    }
    pod["spec"] = template("app:1")["spec"].clone();
    pod["spec"]["nodeName"] = "n".into();
    pod["spec"]["enableServiceLinks"] = true.into();
    // Set by admission.
    pod["spec"]["tolerations"] = ["not-ready", "unreachable"]
        .map(|taint| {
            let key = format!("node.kubernetes.io/{taint}");
            json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})
        })
        .into();
    let ready = json!({"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    pod["status"] = json!({"phase": "Running", "conditions": [ready]});
    pod
}

/// A lease with this spec, held under the controller's name.
pub(crate) fn lease(spec: &Value) -> Value {
    let mut lease = object("coordination.k8s.io/v1", "Lease", "rollout-controller");
    lease["spec"] = spec.clone();
    lease
}

/// Writing an object back unchanged is a no-op: the objects are valid and have all defaults.
#[tokio::test(start_paused = true)]
async fn objects_equal_their_stored_form() {
    let server = ApiServer::new();
    let client = Client::new(server.clone(), "default");
    let objects = [deployment(), orphan(), replica_set("web", "rs", 1, "app:1"), pod("a", true), pod("b", false)];
    let restarts = [config("c", "1"), workload("w", "c"), mounts("m"), secret("NDkzODE3"), lease(&json!({}))];
    // The owner precedes its pod.
    for object in objects.into_iter().chain(restarts) {
        let stored = server.put_stored(object).unwrap();
        let text = |of: &Value| of.as_str().unwrap().to_lowercase();
        let (version, name) = (text(&stored["apiVersion"]), text(&stored["metadata"]["name"]));
        let root = if version == "v1" { "/api/v1".to_owned() } else { format!("/apis/{version}") };
        let url = format!("{root}/namespaces/default/{}s/{name}", text(&stored["kind"]));
        let put = http::Request::put(url).header("content-type", "application/json");
        let put = put.body(stored.to_string().into_bytes()).unwrap();
        assert_eq!(client.request::<Value>(put).await.unwrap(), stored);
    }
}
