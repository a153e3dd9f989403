//! Objects of each kind, as random as cases are, and ways to spoil them.

use serde_json::{Value, json};

use super::lots::Lots;

/// A kind as a path and a body name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) version: &'static str,
    pub(crate) namespaced: bool,
    pub(crate) status: bool,
    pub(crate) scale: bool,
}

const fn kind(kind: &'static str, plural: &'static str, version: &'static str, parts: (bool, bool)) -> Kind {
    Kind { kind, plural, version, namespaced: true, status: parts.0, scale: parts.1 }
}

/// All that are tried.
pub(crate) const KINDS: [Kind; 13] = [
    kind("Deployment", "deployments", "apps/v1", (true, true)),
    kind("ReplicaSet", "replicasets", "apps/v1", (true, true)),
    kind("Pod", "pods", "v1", (true, false)),
    kind("ConfigMap", "configmaps", "v1", (false, false)),
    kind("Secret", "secrets", "v1", (false, false)),
    kind("StatefulSet", "statefulsets", "apps/v1", (true, true)),
    kind("DaemonSet", "daemonsets", "apps/v1", (true, false)),
    kind("Event", "events", "v1", (false, false)),
    kind("ServiceAccount", "serviceaccounts", "v1", (false, false)),
    kind("ResourceQuota", "resourcequotas", "v1", (true, false)),
    kind("Lease", "leases", "coordination.k8s.io/v1", (false, false)),
    Kind { namespaced: false, ..kind("Node", "nodes", "v1", (true, false)) },
    Kind { namespaced: false, ..kind("Namespace", "namespaces", "v1", (true, false)) },
];

impl Kind {
    /// The path of its collection.
    pub(crate) fn collection(&self) -> String {
        let root = if self.version == "v1" { "/api/v1".to_owned() } else { format!("/apis/{}", self.version) };
        if self.namespaced {
            format!("{root}/namespaces/$NS/{}", self.plural)
        } else {
            format!("{root}/{}", self.plural)
        }
    }

    pub(crate) fn workload(&self) -> bool {
        matches!(self.kind, "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet")
    }

    /// A name of the pool; those of what has no namespace are the sequence's own.
    pub(crate) fn name(&self, lots: &mut Lots) -> String {
        let name = lots.one(&["a", "a", "b", "b", "c"]);
        if self.namespaced { name.to_owned() } else { format!("$NS-{name}") }
    }
}

fn labels(kind: &Kind, lots: &mut Lots) -> Value {
    let mut labels = json!({"app": lots.one(&["a", "b"])});
    if lots.percent(30) {
        labels["tier"] = lots.one(&["x", "y", ""]).into();
    }
    if !kind.namespaced {
        labels["seq"] = "$NS".into();
    }
    labels
}

/// A pod's spec.
pub(crate) fn pod_spec(lots: &mut Lots) -> Value {
    let mut container =
        json!({"name": "app", "image": lots.one(&["app:1", "app:2", "app", "app:latest", "host:5000/app"])});
    if lots.percent(20) {
        container["env"] = lots.one(&[
            json!([{"name": "A", "value": "1"}, {"name": "B"}]),
            json!([{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]),
            json!([{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}}]),
            json!([{"name": "A", "valueFrom": {"secretKeyRef": {"name": "c", "key": "k", "optional": true}}}]),
        ]);
    }
    if lots.percent(10) {
        container["envFrom"] = json!([{"configMapRef": {"name": "c"}}, {"prefix": "X_", "secretRef": {"name": "s"}}]);
    }
    if lots.percent(15) {
        container["ports"] = lots.one(&[
            json!([{"containerPort": 80}]),
            json!([{"containerPort": 80, "name": "web"}, {"containerPort": 81, "protocol": "UDP"}]),
        ]);
    }
    if lots.percent(15) {
        container["resources"] = lots.one(&[
            json!({"requests": {"cpu": "100m", "memory": "64Mi"}}),
            json!({"limits": {"cpu": "1", "memory": "64Mi"}}),
            json!({"limits": {"cpu": "1"}, "requests": {"cpu": "500m"}}),
            json!({"requests": {"cpu": 1}}),
        ]);
    }
    if lots.percent(15) {
        container["readinessProbe"] = lots.one(&[
            json!({"httpGet": {"port": 80}}),
            json!({"exec": {"command": ["true"]}, "periodSeconds": 5}),
            json!({"tcpSocket": {"port": 80}, "initialDelaySeconds": 3}),
        ]);
    }
    let mut spec = json!({"containers": [container]});
    if lots.percent(20) {
        spec["volumes"] = lots.one(&[
            json!([{"name": "v"}]),
            json!([{"name": "v", "configMap": {"name": "c"}}]),
            json!([{"name": "v", "secret": {"secretName": "s"}}]),
            json!([{"name": "v", "emptyDir": {}}]),
            json!([{"name": "v", "projected": {"sources": [{"configMap": {"name": "c"}}, {"secret": {"name": "s"}}]}}]),
        ]);
        if lots.percent(60) {
            spec["containers"][0]["volumeMounts"] = json!([{"name": "v", "mountPath": "/v"}]);
        }
    }
    if lots.percent(15) {
        spec["initContainers"] = lots.one(&[
            json!([{"name": "init", "image": "init:1"}]),
            json!([{"name": "side", "image": "s:1", "restartPolicy": "Always"}]),
        ]);
    }
    if lots.percent(15) {
        spec["containers"].as_array_mut().expect("it is one").push(json!({"name": "two", "image": "two:1"}));
    }
    if lots.percent(20) {
        spec["terminationGracePeriodSeconds"] = lots.one(&[json!(0), json!(5), json!(60)]);
    }
    if lots.percent(10) {
        spec["schedulerName"] = "lockstep".into();
    }
    if lots.percent(10) {
        spec["nodeSelector"] = json!({"zone": "a"});
    }
    if lots.percent(10) {
        spec["tolerations"] = json!([{"key": "k", "operator": "Exists", "effect": "NoSchedule"}]);
    }
    if lots.percent(5) {
        spec["readinessGates"] = json!([{"conditionType": "example.com/gate"}]);
    }
    spec
}

/// A valid new object.
pub(crate) fn object(kind: &Kind, name: &str, lots: &mut Lots) -> Value {
    let labels = labels(kind, lots);
    let mut body = json!({"apiVersion": kind.version, "kind": kind.kind, "metadata": {"name": name, "labels": labels}});
    if lots.percent(15) {
        body["metadata"]["annotations"] = json!({"note": lots.one(&["1", "2"])});
    }
    if lots.percent(8) {
        body["metadata"]["finalizers"] = json!(["example.com/keep"]);
    }
    if lots.percent(8) && kind.namespaced {
        let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "${uid:configmaps/a}"});
        body["metadata"]["ownerReferences"] = json!([owner]);
    }
    let app = labels_app(&body);
    match kind.kind {
        "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet" => {
            let mut template = json!({"metadata": {"labels": {"app": app}}, "spec": pod_spec(lots)});
            if lots.percent(10) {
                template["metadata"]["annotations"] = json!({"t": "1"});
            }
            let selector = if lots.percent(85) {
                json!({"matchLabels": {"app": app}})
            } else {
                json!({"matchExpressions": [{"key": "app", "operator": "In", "values": [app, "z"]}]})
            };
            body["spec"] = json!({"selector": selector, "template": template});
            workload(kind, &mut body["spec"], lots);
        }
        "Pod" => {
            body["spec"] = pod_spec(lots);
            if lots.percent(15) {
                body["spec"]["restartPolicy"] = lots.one(&["Never", "OnFailure"]).into();
            }
            if lots.percent(10) {
                body["metadata"]["annotations"]["controller.kubernetes.io/pod-deletion-cost"] =
                    lots.one(&["5", "-3", "x", "+1"]).into();
            }
            if lots.percent(15) {
                body["spec"]["nodeName"] = "n1".into();
            }
        }
        "ConfigMap" => {
            body["data"] = lots.one(&[json!({"k": "1"}), json!({"k": "2", "l.m": "x"}), json!({})]);
            if lots.percent(10) {
                body["immutable"] = true.into();
            }
            if lots.percent(10) {
                body["binaryData"] = json!({"b": "aGk="});
            }
        }
        "Secret" => {
            body["data"] = lots.one(&[json!({"k": "MQ=="}), json!({"k": "Mg=="})]);
            if lots.percent(20) {
                body["stringData"] = json!({"s": "plain"});
            }
            if lots.percent(10) {
                body["immutable"] = true.into();
            }
        }
        "Event" => {
            body["involvedObject"] = json!({"kind": "Pod", "namespace": "$NS", "name": "a", "apiVersion": "v1"});
            body["reason"] = lots.one(&["Made", "Scaled"]).into();
            body["message"] = "something".into();
            body["type"] = lots.one(&["Normal", "Warning"]).into();
            body["source"] = json!({"component": "parity"});
            body["count"] = 1.into();
            body["firstTimestamp"] = "1999-01-01T00:00:00Z".into();
            body["lastTimestamp"] = "1999-01-01T00:00:00Z".into();
        }
        "ServiceAccount" if lots.percent(30) => body["automountServiceAccountToken"] = false.into(),
        // Nobody makes services, so that nobody is refused one.
        "ResourceQuota" => body["spec"] = json!({"hard": {"services": lots.one(&["5", "0", "10"])}}),
        "Lease" => {
            body["spec"] = json!({"holderIdentity": lots.one(&["me", "you"]), "leaseDurationSeconds": 15,
                "renewTime": "1999-01-01T00:00:00.000000Z"});
        }
        "Node" if lots.percent(30) => body["spec"] = json!({"unschedulable": true}),
        _ => {}
    }
    body
}

fn labels_app(body: &Value) -> String {
    body["metadata"]["labels"]["app"].as_str().unwrap_or_default().to_owned()
}

fn workload(kind: &Kind, spec: &mut Value, lots: &mut Lots) {
    if kind.kind != "DaemonSet" && lots.percent(70) {
        // None that a scale asks for.
        spec["replicas"] = lots.one(&[1, 2, 3, 10]).into();
    }
    if kind.kind == "StatefulSet" {
        spec["serviceName"] = "web".into();
    }
    if lots.percent(20) {
        spec["minReadySeconds"] = lots.one(&[0, 5, 30]).into();
    }
    if kind.kind != "ReplicaSet" && lots.percent(15) {
        spec["revisionHistoryLimit"] = lots.one(&[0, 2]).into();
    }
    if kind.kind == "Deployment" {
        if lots.percent(40) {
            spec["strategy"] = lots.one(&[
                json!({"type": "Recreate"}),
                json!({"type": "RollingUpdate"}),
                json!({"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}),
                json!({"rollingUpdate": {"maxSurge": "50%"}}),
                json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": "10%"}}),
                json!({"rollingUpdate": {"maxUnavailable": "100%"}}),
            ]);
        }
        if lots.percent(15) {
            spec["progressDeadlineSeconds"] = lots.one(&[60, 31, 600]).into();
        }
        if lots.percent(10) {
            spec["paused"] = true.into();
        }
    }
    if kind.kind == "DaemonSet" && lots.percent(20) {
        spec["updateStrategy"] = json!({"type": "OnDelete"});
    }
    if kind.kind == "StatefulSet" && lots.percent(20) {
        spec["updateStrategy"] = lots
            .one(&[json!({"type": "OnDelete"}), json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 1}})]);
    }
}

/// A change of one place in an object: a pointer's last part is made, and null takes it away.
type Spoil = (&'static str, Value);

/// One thing that may be wrong with an object of this kind.
pub(crate) fn spoil(kind: &Kind, lots: &mut Lots) -> (String, Value) {
    let mut all: Vec<Spoil> = vec![
        ("/metadata/name", json!("Upper")),
        ("/metadata/name", json!("")),
        ("/metadata/name", json!("-dash")),
        ("/metadata/name", json!("dot.ted")),
        ("/metadata/labels", json!({"app": "not valid!"})),
        ("/metadata/labels", json!({"bad key": "a"})),
        ("/metadata/labels", json!({"/x": "a"})),
        ("/metadata/labels", json!({"app": 5})),
        ("/metadata/labels", json!("text")),
        ("/metadata/annotations", json!({"a b": "1"})),
        ("/metadata/annotations", json!({"n": 1})),
        ("/metadata/annotations", json!([1])),
        ("/metadata/finalizers", json!(["short"])),
        ("/metadata/finalizers", json!(["orphan", "foregroundDeletion"])),
        ("/metadata/finalizers", json!(["example.com/a", "example.com/a"])),
        ("/metadata/ownerReferences", json!([{"apiVersion": "v1", "kind": "Pod", "name": "x"}])),
        ("/metadata/ownerReferences", json!([{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": ""}])),
        (
            "/metadata/ownerReferences",
            json!([{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "1", "controller": true},
                {"apiVersion": "v1", "kind": "Pod", "name": "y", "uid": "2", "controller": true}]),
        ),
        ("/metadata/ownerReferences", json!([{"apiVersion": "", "kind": "Pod", "name": "x", "uid": "1"}])),
        ("/metadata/ownerReferences", json!([{"apiVersion": "v1", "kind": "Event", "name": "x", "uid": "1"}])),
        ("/metadata/resourceVersion", json!("1")),
        ("/metadata/resourceVersion", json!("abc")),
        ("/metadata/uid", json!("00000000-0000-4000-8000-000000000000")),
        ("/metadata/generation", json!(-1)),
        ("/metadata/generation", json!(7)),
        ("/metadata/creationTimestamp", json!("1999-01-01T00:00:00Z")),
        ("/metadata/creationTimestamp", json!("yesterday")),
        ("/metadata/deletionGracePeriodSeconds", json!(3)),
        ("/metadata/namespace", json!("other")),
        ("/metadata/unknown", json!(1)),
        ("/unknown", json!({"a": 1})),
        ("/apiVersion", json!("v2")),
        ("/apiVersion", json!("")),
        ("/kind", json!("Thing")),
        ("/kind", json!("")),
        ("/metadata", json!("x")),
        ("/metadata", json!(null)),
        ("/status", json!({"replicas": 3})),
        ("/spec", json!("x")),
        ("/spec", json!([])),
    ];
    if kind.workload() || kind.kind == "Pod" {
        let template: &[Spoil] = &[
            ("/containers", json!([])),
            ("/containers", json!({})),
            ("/containers", json!([{"name": "app"}])),
            ("/containers", json!([{"image": "app:1"}])),
            ("/containers", json!([{"name": "App", "image": "a"}])),
            ("/containers", json!([{"name": "a.b", "image": "a"}])),
            ("/containers", json!([{"name": "a", "image": " a"}])),
            ("/containers", json!([{"name": "a", "image": "a"}, {"name": "a", "image": "b"}])),
            ("/containers", json!([{"name": "a", "image": "a", "imagePullPolicy": "Sometimes"}])),
            ("/containers", json!([{"name": "a", "image": "a", "ports": [{"containerPort": 0}]}])),
            ("/containers", json!([{"name": "a", "image": "a", "ports": [{"containerPort": 70000}]}])),
            ("/containers", json!([{"name": "a", "image": "a", "ports": [{"containerPort": 80, "protocol": "IP"}]}])),
            ("/containers", json!([{"name": "a", "image": "a", "ports": [{"containerPort": "80"}]}])),
            ("/containers", json!([{"name": "a", "image": "a", "env": [{"value": "x"}]}])),
            ("/containers", json!([{"name": "a", "image": "a", "env": [{"name": "A=B", "value": "x"}]}])),
            ("/containers", json!([{"name": "a", "image": "a", "env": [{"name": "A", "value": 1}]}])),
            (
                "/containers",
                json!([{"name": "a", "image": "a", "volumeMounts": [{"name": "none", "mountPath": "/x"}]}]),
            ),
            ("/containers", json!([{"name": "a", "image": "a", "resources": {"requests": {"cpu": "x"}}}])),
            (
                "/containers",
                json!([{"name": "a", "image": "a", "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}]),
            ),
            ("/containers", json!([{"name": "a", "image": "a", "resources": {"requests": {"cpu": "-1"}}}])),
            ("/containers", json!([{"name": "a", "image": "a", "readinessProbe": {}}])),
            ("/containers", json!([{"name": "a", "image": "a", "readinessProbe": {"httpGet": {"port": 0}}}])),
            (
                "/containers",
                json!([{"name": "a", "image": "a", "readinessProbe": {"httpGet": {"port": 80}, "periodSeconds": -1}}]),
            ),
            ("/containers", json!([{"name": "a", "image": "a", "command": "sh"}])),
            ("/containers", json!([{"name": "a", "image": "a", "unknown": 1}])),
            ("/volumes", json!([{"emptyDir": {}}])),
            ("/volumes", json!([{"name": "V_"}])),
            ("/volumes", json!([{"name": "v"}, {"name": "v"}])),
            ("/volumes", json!([{"name": "v", "configMap": {}}])),
            ("/volumes", json!([{"name": "v", "emptyDir": {}, "configMap": {"name": "c"}}])),
            ("/restartPolicy", json!("Never")),
            ("/restartPolicy", json!("Maybe")),
            ("/dnsPolicy", json!("Fast")),
            ("/terminationGracePeriodSeconds", json!(-1)),
            ("/terminationGracePeriodSeconds", json!("30")),
            ("/activeDeadlineSeconds", json!(5)),
            ("/activeDeadlineSeconds", json!(0)),
            ("/nodeName", json!("Bad_Node")),
            ("/nodeSelector", json!({"a b": "c"})),
            ("/tolerations", json!([{"operator": "Sometimes"}])),
            ("/tolerations", json!([{"key": "a", "effect": "Never"}])),
            ("/serviceAccountName", json!("Not Valid")),
            ("/serviceAccountName", json!("nobody")),
            ("/readinessGates", json!([{"conditionType": "not valid"}])),
            ("/hostNetwork", json!("yes")),
            ("/priority", json!(3)),
            ("/unknown", json!(true)),
        ];
        let at = if kind.kind == "Pod" { "/spec" } else { "/spec/template/spec" };
        if lots.percent(50) {
            let (path, value) = lots.one(template);
            return (format!("{at}{path}"), value);
        }
    }
    if kind.workload() {
        all.extend([
            ("/spec/selector", json!(null)),
            ("/spec/selector", json!({})),
            ("/spec/selector", json!({"matchLabels": {"app": "mismatch"}})),
            ("/spec/selector", json!({"matchLabels": {"app": "not valid!"}})),
            ("/spec/selector", json!({"matchLabels": {"bad key": "a"}})),
            ("/spec/selector", json!({"matchExpressions": [{"key": "app", "operator": "Like", "values": ["a"]}]})),
            ("/spec/selector", json!({"matchExpressions": [{"key": "app", "operator": "In", "values": []}]})),
            ("/spec/selector", json!({"matchExpressions": [{"key": "app", "operator": "Exists", "values": ["a"]}]})),
            ("/spec/selector", json!("app=a")),
            ("/spec/template", json!(null)),
            ("/spec/template/metadata/labels", json!(null)),
            ("/spec/template/metadata/labels", json!({"app": "not valid!"})),
            ("/spec/template/metadata/annotations", json!({"a b": "1"})),
            ("/spec/replicas", json!(-1)),
            ("/spec/replicas", json!("three")),
            ("/spec/replicas", json!(1.5)),
            ("/spec/replicas", json!(3_000_000_000_u64)),
            ("/spec/replicas", json!(null)),
            ("/spec/replica", json!(3)),
            ("/spec/minReadySeconds", json!(-1)),
            ("/spec/revisionHistoryLimit", json!(-1)),
        ]);
    }
    match kind.kind {
        "Deployment" => all.extend([
            ("/spec/strategy", json!({"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}})),
            ("/spec/strategy", json!({"rollingUpdate": {"maxSurge": "0%", "maxUnavailable": "0%"}})),
            ("/spec/strategy", json!({"rollingUpdate": {"maxSurge": "ten"}})),
            ("/spec/strategy", json!({"rollingUpdate": {"maxSurge": "10"}})),
            ("/spec/strategy", json!({"rollingUpdate": {"maxSurge": "-10%"}})),
            ("/spec/strategy", json!({"rollingUpdate": {"maxSurge": -1}})),
            ("/spec/strategy", json!({"rollingUpdate": {"maxUnavailable": "101%"}})),
            ("/spec/strategy", json!({"rollingUpdate": {"maxUnavailable": "a%"}})),
            ("/spec/strategy", json!({"rollingUpdate": {"maxUnavailable": true}})),
            ("/spec/strategy", json!({"rollingUpdate": {"maxSurge": "%"}})),
            ("/spec/strategy", json!({"type": "Recreate", "rollingUpdate": {"maxSurge": 1}})),
            ("/spec/strategy", json!({"type": "Slow"})),
            ("/spec/strategy", json!({"type": "Slow", "rollingUpdate": {"maxSurge": "10%"}})),
            ("/spec/strategy", json!({"type": 1})),
            ("/spec/progressDeadlineSeconds", json!(0)),
            ("/spec/progressDeadlineSeconds", json!(-1)),
            ("/spec/paused", json!("yes")),
            ("/spec/template/spec/restartPolicy", json!("OnFailure")),
        ]),
        "StatefulSet" => all.extend([
            ("/spec/updateStrategy", json!({"type": "Slow"})),
            ("/spec/updateStrategy", json!({"type": "OnDelete", "rollingUpdate": {"partition": 1}})),
            ("/spec/updateStrategy", json!({"type": "RollingUpdate", "rollingUpdate": {"partition": -1}})),
            ("/spec/podManagementPolicy", json!("Sometimes")),
            ("/spec/serviceName", json!("Not Valid")),
            ("/spec/ordinals", json!({"start": -1})),
        ]),
        "DaemonSet" => all.extend([
            ("/spec/updateStrategy", json!({"type": "Slow"})),
            ("/spec/updateStrategy", json!({"type": "Slow", "rollingUpdate": {"maxSurge": 1}})),
            ("/spec/updateStrategy", json!({"rollingUpdate": {"maxUnavailable": 0}})),
            ("/spec/updateStrategy", json!({"rollingUpdate": {"maxUnavailable": 1, "maxSurge": 1}})),
            ("/spec/updateStrategy", json!({"rollingUpdate": {"maxUnavailable": "101%"}})),
            ("/spec/updateStrategy", json!({"rollingUpdate": {"maxUnavailable": "ten"}})),
            ("/spec/updateStrategy", json!({"rollingUpdate": {"maxUnavailable": 0, "maxSurge": "20%"}})),
        ]),
        "ConfigMap" => all.extend([
            ("/data", json!({"bad key": "1"})),
            ("/data", json!({"..": "1"})),
            ("/data", json!({"n": 1})),
            ("/data", json!({"b": "1"})),
            ("/binaryData", json!({"b": "not base64!"})),
            ("/binaryData", json!({"k": "aGk="})),
            ("/immutable", json!("yes")),
            ("/data", json!([])),
        ]),
        "Secret" => all.extend([
            ("/data", json!({"bad key": "MQ=="})),
            ("/data", json!({"k": "not base64!"})),
            ("/data", json!({"k": 1})),
            ("/stringData", json!({"x y": "1"})),
            ("/type", json!("example.com/thing")),
            ("/type", json!("kubernetes.io/tls")),
            ("/type", json!(5)),
        ]),
        "Event" => all.extend([
            ("/involvedObject", json!(null)),
            ("/involvedObject", json!({"namespace": "elsewhere", "name": "a"})),
            ("/involvedObject", json!({"kind": "Node", "name": "a"})),
            ("/count", json!("one")),
            ("/firstTimestamp", json!("x")),
            ("/type", json!("Odd")),
        ]),
        "Lease" => all.extend([
            ("/spec/leaseDurationSeconds", json!(0)),
            ("/spec/leaseDurationSeconds", json!(-1)),
            ("/spec/leaseTransitions", json!(-1)),
            ("/spec/renewTime", json!("x")),
            ("/spec/holderIdentity", json!("")),
        ]),
        "ResourceQuota" => all.extend([
            ("/spec/hard", json!({"services": "x"})),
            ("/spec/hard", json!({"services": "-1"})),
            ("/spec/hard", json!({"services": "1.5"})),
            ("/spec/hard", json!({"not valid": "1"})),
        ]),
        "Node" => all.extend([
            ("/spec/taints", json!([{"key": "k", "effect": "Now"}])),
            ("/spec/taints", json!([{"key": "", "effect": "NoSchedule"}])),
            ("/spec/taints", json!([{"key": "k", "effect": "NoSchedule"}, {"key": "k", "effect": "NoSchedule"}])),
            ("/spec/podCIDR", json!("x")),
        ]),
        _ => {}
    }
    let (path, value) = lots.one(&all);
    (path.to_owned(), value)
}

/// Put a value at a pointer, making what is missing on the way.
pub(crate) fn put(object: &mut Value, path: &str, value: Value) {
    let mut at = object;
    for part in path.trim_start_matches('/').split('/') {
        if !at.is_object() {
            *at = json!({});
        }
        at = &mut at[part];
    }
    *at = value;
}

/// A status that may be written.
pub(crate) fn status(kind: &Kind, lots: &mut Lots) -> Value {
    let condition = |what: &str, is: &str| json!({"type": what, "status": is, "lastTransitionTime": "1999-01-01T00:00:00Z", "reason": "R", "message": "m"});
    match kind.kind {
        "Deployment" => lots.one(&[
            json!({"observedGeneration": 1, "replicas": 2, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1, "unavailableReplicas": 1}),
            json!({"replicas": 0, "conditions": [condition("Available", "True")]}),
            json!({"replicas": 1, "readyReplicas": 2}),
            json!({"replicas": 1, "updatedReplicas": -1}),
            json!({"replicas": 1, "availableReplicas": 1}),
            json!({"collisionCount": 2}),
            json!({"collisionCount": 1}),
            json!({"replicas": "x"}),
            json!({"observedGeneration": -1}),
        ]),
        "ReplicaSet" => lots.one(&[
            json!({"replicas": 2, "fullyLabeledReplicas": 2, "readyReplicas": 1, "availableReplicas": 1, "observedGeneration": 1}),
            json!({"replicas": 2, "conditions": [condition("ReplicaFailure", "True")]}),
            json!({"replicas": 1, "readyReplicas": 2}),
            json!({"replicas": 3, "readyReplicas": 1, "availableReplicas": 2}),
            json!({"replicas": -1}),
            json!({}),
        ]),
        "StatefulSet" => lots.one(&[
            json!({"replicas": 2, "readyReplicas": 1, "availableReplicas": 1}),
            json!({"replicas": 1, "readyReplicas": 2}),
            json!({"replicas": -1}),
        ]),
        "DaemonSet" => lots.one(&[
            json!({"currentNumberScheduled": 1, "numberMisscheduled": 0, "desiredNumberScheduled": 1, "numberReady": 1}),
            json!({"currentNumberScheduled": -1, "numberMisscheduled": 0, "desiredNumberScheduled": 1, "numberReady": 1}),
        ]),
        "Pod" => lots.one(&[
            json!({"phase": "Running", "conditions": [condition("Ready", "True")], "startTime": "1999-01-01T00:00:00Z"}),
            json!({"phase": "Running", "conditions": [condition("Ready", "False"), condition("ContainersReady", "False")]}),
            json!({"phase": "Failed", "reason": "Evicted"}),
            json!({"phase": "Succeeded"}),
            json!({"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]}),
            json!({"phase": "Odd"}),
            json!({"phase": "Running", "containerStatuses": [{"name": "app", "image": "app:1", "imageID": "", "ready": true, "restartCount": 2, "state": {"running": {"startedAt": "1999-01-01T00:00:00Z"}}}]}),
            json!({"qosClass": "Guaranteed"}),
            json!({"phase": 1}),
        ]),
        "Node" => lots.one(&[
            json!({"conditions": [{"type": "Ready", "status": "True", "reason": "R", "message": "m", "lastTransitionTime": "1999-01-01T00:00:00Z", "lastHeartbeatTime": "1999-01-01T00:00:00Z"}]}),
            json!({"capacity": {"cpu": "4", "pods": "110"}}),
            json!({"allocatable": {"cpu": "4"}}),
        ]),
        "Namespace" => json!({"phase": "Active"}),
        _ => lots.one(&[json!({"hard": {"services": "5"}, "used": {"services": "1"}}), json!({"used": {"services": "x"}}), json!({})]),
    }
}
