//! Random objects of each kind, and random statuses.

use serde_json::{Value, json};

use super::kinds::Kind;
use super::rng::Rng;

fn labels(kind: &Kind, rng: &mut Rng) -> Value {
    let mut labels = json!({"app": rng.one(&["a", "b"])});
    if rng.percent(30) {
        labels["tier"] = rng.one(&["x", "y", ""]).into();
    }
    if !kind.namespaced {
        labels["seq"] = "$NS".into();
    }
    labels
}

fn pod_spec(rng: &mut Rng) -> Value {
    let mut container =
        json!({"name": "app", "image": rng.one(&["app:1", "app:2", "app", "app:latest", "host:5000/app"])});
    if rng.percent(20) {
        container["env"] = rng.one(&[
            json!([{"name": "A", "value": "1"}, {"name": "B"}]),
            json!([{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]),
            json!([{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}}]),
            json!([{"name": "A", "valueFrom": {"secretKeyRef": {"name": "c", "key": "k", "optional": true}}}]),
        ]);
    }
    if rng.percent(10) {
        container["envFrom"] = json!([{"configMapRef": {"name": "c"}}, {"prefix": "X_", "secretRef": {"name": "s"}}]);
    }
    if rng.percent(15) {
        container["ports"] = rng.one(&[
            json!([{"containerPort": 80}]),
            json!([{"containerPort": 80, "name": "web"}, {"containerPort": 81, "protocol": "UDP"}]),
        ]);
    }
    if rng.percent(15) {
        container["resources"] = rng.one(&[
            json!({"requests": {"cpu": "100m", "memory": "64Mi"}}),
            json!({"limits": {"cpu": "1", "memory": "64Mi"}}),
            json!({"limits": {"cpu": "1"}, "requests": {"cpu": "500m"}}),
            json!({"requests": {"cpu": 1}}),
            json!({"requests": {"cpu": 0.5, "memory": "1.5Gi"}}),
            json!({"requests": {"cpu": "1000m", "memory": "1e3"}, "limits": {"cpu": "2000m", "memory": "1024Mi"}}),
        ]);
    }
    if rng.percent(15) {
        container["readinessProbe"] = rng.one(&[
            json!({"httpGet": {"port": 80}}),
            json!({"exec": {"command": ["true"]}, "periodSeconds": 5}),
            json!({"tcpSocket": {"port": 80}, "initialDelaySeconds": 3}),
        ]);
    }
    let mut spec = json!({"containers": [container]});
    if rng.percent(20) {
        spec["volumes"] = rng.one(&[
            json!([{"name": "v"}]),
            json!([{"name": "v", "configMap": {"name": "c"}}]),
            json!([{"name": "v", "secret": {"secretName": "s"}}]),
            json!([{"name": "v", "emptyDir": {}}]),
            json!([{"name": "v", "projected": {"sources": [{"configMap": {"name": "c"}}, {"secret": {"name": "s"}}]}}]),
        ]);
        if rng.percent(60) {
            spec["containers"][0]["volumeMounts"] = json!([{"name": "v", "mountPath": "/v"}]);
        }
    }
    if rng.percent(15) {
        spec["initContainers"] = rng.one(&[
            json!([{"name": "init", "image": "init:1"}]),
            json!([{"name": "side", "image": "s:1", "restartPolicy": "Always"}]),
        ]);
    }
    if rng.percent(15) {
        spec["containers"].as_array_mut().expect("it is one").push(json!({"name": "two", "image": "two:1"}));
    }
    if rng.percent(20) {
        spec["terminationGracePeriodSeconds"] = rng.one(&[json!(0), json!(5), json!(60)]);
    }
    if rng.percent(10) {
        spec["schedulerName"] = "lockstep".into();
    }
    if rng.percent(10) {
        spec["nodeSelector"] = json!({"zone": "a"});
    }
    if rng.percent(10) {
        spec["tolerations"] = json!([{"key": "k", "operator": "Exists", "effect": "NoSchedule"}]);
    }
    if rng.percent(5) {
        spec["readinessGates"] = json!([{"conditionType": "example.com/gate"}]);
    }
    spec
}

/// A valid new object.
pub(crate) fn object(kind: &Kind, name: &str, rng: &mut Rng) -> Value {
    let labels = labels(kind, rng);
    let mut body = json!({"apiVersion": kind.version, "kind": kind.kind, "metadata": {"name": name, "labels": labels}});
    if rng.percent(15) {
        body["metadata"]["annotations"] = json!({"note": rng.one(&["1", "2"])});
    }
    if rng.percent(8) {
        body["metadata"]["finalizers"] = json!(["example.com/keep"]);
    }
    if rng.percent(8) && kind.namespaced {
        let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "${uid:configmaps/a}"});
        body["metadata"]["ownerReferences"] = json!([owner]);
    }
    let app = labels_app(&body);
    match kind.kind {
        "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet" => {
            let mut template = json!({"metadata": {"labels": {"app": app}}, "spec": pod_spec(rng)});
            if rng.percent(10) {
                template["metadata"]["annotations"] = json!({"t": "1"});
            }
            let selector = if rng.percent(85) {
                json!({"matchLabels": {"app": app}})
            } else {
                json!({"matchExpressions": [{"key": "app", "operator": "In", "values": [app, "z"]}]})
            };
            body["spec"] = json!({"selector": selector, "template": template});
            workload(kind, &mut body["spec"], rng);
        }
        "Pod" => {
            body["spec"] = pod_spec(rng);
            if rng.percent(15) {
                body["spec"]["restartPolicy"] = rng.one(&["Never", "OnFailure"]).into();
            }
            if rng.percent(10) {
                body["metadata"]["annotations"]["controller.kubernetes.io/pod-deletion-cost"] =
                    rng.one(&["5", "-3", "x", "+1"]).into();
            }
            if rng.percent(15) {
                body["spec"]["nodeName"] = "n1".into();
            }
        }
        "ConfigMap" => {
            body["data"] = rng.one(&[json!({"k": "1"}), json!({"k": "2", "l.m": "x"}), json!({})]);
            if rng.percent(10) {
                body["immutable"] = true.into();
            }
            if rng.percent(10) {
                body["binaryData"] = json!({"b": "aGk="});
            }
        }
        "Secret" => {
            body["data"] = rng.one(&[json!({"k": "MQ=="}), json!({"k": "Mg=="})]);
            if rng.percent(20) {
                body["stringData"] = json!({"s": "plain"});
            }
            if rng.percent(10) {
                body["immutable"] = true.into();
            }
        }
        "Event" if kind.new_event() => {
            body["regarding"] = json!({"kind": "Pod", "namespace": "$NS", "name": "a", "apiVersion": "v1"});
            body["reason"] = rng.one(&["Made", "Scaled"]).into();
            body["action"] = "Making".into();
            body["note"] = "something".into();
            body["type"] = rng.one(&["Normal", "Warning"]).into();
            body["reportingController"] = "example.com/parity".into();
            body["reportingInstance"] = "parity-1".into();
            body["eventTime"] = "1999-01-01T00:00:00.000000Z".into();
            if rng.percent(30) {
                body["series"] = json!({"count": 2, "lastObservedTime": "1999-01-01T00:00:05.000000Z"});
            }
        }
        "Ingress" => {
            let backend = json!({"service": {"name": "web", "port": {"number": 80}}});
            body["spec"] = rng.one(&[
                json!({"defaultBackend": backend}),
                json!({"rules": [{"host": "a.example.com", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}]}),
                json!({"ingressClassName": "nginx", "rules": [{"host": "*.example.com"}, {"http": {"paths": [
                    {"path": "/x", "pathType": "Exact", "backend": {"service": {"name": "web", "port": {"name": "http"}}}},
                    {"pathType": "ImplementationSpecific", "backend": {"resource": {"kind": "Bucket", "name": "b"}}}]}}],
                    "tls": [{"hosts": ["a.example.com"], "secretName": "s"}]}),
                json!({"rules": [{"host": "a.b"}, {"host": "c.d"}, {"host": "e.f"}, {"host": "g.h"}]}),
            ]);
            if rng.percent(10) {
                body["metadata"]["annotations"] = json!({"kubernetes.io/ingress.class": "nginx"});
            }
        }
        "Event" => {
            body["involvedObject"] = json!({"kind": "Pod", "namespace": "$NS", "name": "a", "apiVersion": "v1"});
            body["reason"] = rng.one(&["Made", "Scaled"]).into();
            body["message"] = "something".into();
            body["type"] = rng.one(&["Normal", "Warning"]).into();
            body["source"] = json!({"component": "parity"});
            body["count"] = 1.into();
            body["firstTimestamp"] = "1999-01-01T00:00:00Z".into();
            body["lastTimestamp"] = "1999-01-01T00:00:00Z".into();
        }
        "ServiceAccount" if rng.percent(30) => body["automountServiceAccountToken"] = false.into(),
        // No request creates ReplicationControllers, so this quota refuses none.
        "ResourceQuota" => body["spec"] = json!({"hard": {"replicationcontrollers": rng.one(&["5", "0", "10"])}}),
        "Lease" => {
            body["spec"] = json!({"holderIdentity": rng.one(&["me", "you"]), "leaseDurationSeconds": 15,
                "renewTime": "1999-01-01T00:00:00.000000Z"});
        }
        "Widget" => body["spec"] = widget(rng),
        "Job" => body["spec"] = job(rng),
        "CronJob" => {
            body["spec"] = json!({"schedule": rng.one(&["* * * * *", "*/5 1-3 * * 0,6", "@daily"]),
                "jobTemplate": {"spec": job(rng)}});
        }
        "Service" => {
            body["spec"] = rng.one(&[
                json!({"selector": {"app": app}, "ports": [{"port": 80}]}),
                json!({"selector": {"app": app}, "ports": [{"port": 80, "name": "a", "targetPort": "web"}, {"port": 81, "name": "b", "protocol": "UDP"}]}),
                json!({"clusterIP": "None", "selector": {"app": app}}),
                json!({"type": "NodePort", "ports": [{"port": 80}]}),
                json!({"type": "LoadBalancer", "ports": [{"port": 80}]}),
                json!({"type": "ExternalName", "externalName": "example.com"}),
                json!({"sessionAffinity": "ClientIP", "ports": [{"port": 80}]}),
            ]);
        }
        "EndpointSlice" => {
            body["addressType"] = "IPv4".into();
            body["endpoints"] = rng.one(&[
                json!([]),
                json!([{"addresses": ["10.0.0.1"], "conditions": {"ready": true}}]),
                json!([{"addresses": ["10.0.0.2"], "targetRef": {"kind": "Pod", "name": "a"}}]),
            ]);
            body["ports"] =
                rng.one(&[json!([]), json!([{"port": 80}]), json!([{"name": "a", "port": 80, "protocol": "UDP"}])]);
        }
        "LimitRange" => {
            body["spec"] = json!({"limits": [rng.one(&[
                json!({"type": "Container", "default": {"cpu": "1"}}),
                json!({"type": "Container", "default": {"cpu": "0.25"}}),
                json!({"type": "Container", "defaultRequest": {"cpu": "100m", "memory": "32Mi"}}),
                json!({"type": "Container", "max": {"cpu": "2"}}),
                json!({"type": "Container", "min": {"memory": "16Mi"}}),
            ])]});
        }
        "PodDisruptionBudget" => {
            body["spec"] = rng.one(&[
                json!({"minAvailable": 1, "selector": {"matchLabels": {"app": app}}}),
                json!({"maxUnavailable": "50%", "selector": {"matchLabels": {"app": app}}}),
                json!({"selector": {}}),
            ]);
        }
        "HorizontalPodAutoscaler" => {
            body["spec"] = json!({"maxReplicas": rng.one(&[3, 5]),
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}});
            if rng.percent(30) {
                body["spec"]["minReplicas"] = 2.into();
            }
            if kind.is_autoscaler_v1() {
                if rng.percent(40) {
                    body["spec"]["targetCPUUtilizationPercentage"] = rng.one(&[50, 80]).into();
                }
                if rng.percent(40) {
                    let (name, text) = autoscaling_annotation(rng);
                    body["metadata"]["annotations"][name] = text.into();
                }
            } else {
                if rng.percent(50) {
                    let first = autoscaling_metric(rng);
                    body["spec"]["metrics"] = json!([first]);
                    if rng.percent(40) {
                        body["spec"]["metrics"] = json!([first, autoscaling_metric(rng)]);
                    }
                }
                if rng.percent(25) {
                    body["spec"]["behavior"] = rng.one(&[
                        json!({}),
                        json!({"scaleUp": {"selectPolicy": "Min"}}),
                        json!({"scaleDown": {"stabilizationWindowSeconds": 60, "tolerance": "50m",
                            "policies": [{"type": "Percent", "value": 10, "periodSeconds": 60}]}}),
                        json!({"scaleUp": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 15}]}, "scaleDown": {}}),
                    ]);
                }
            }
        }
        "Node" if rng.percent(30) => body["spec"] = json!({"unschedulable": true}),
        // None is the default class, which would change the Ingresses of other sequences.
        "IngressClass" => {
            body["spec"] = rng.one(&[
                json!({"controller": "example.com/a"}),
                json!({"controller": "example.com/a/b", "parameters": {"kind": "Config", "name": "x"}}),
                json!({"controller": "example.com/a", "parameters": {"apiGroup": "example.com", "kind": "Config",
                    "name": "x", "scope": "Namespace", "namespace": "default"}}),
            ]);
        }
        "Role" => body["rules"] = policy_rules(rng),
        "ClusterRole" => {
            let rules = policy_rules(rng);
            let urls = json!([{"verbs": ["get"], "nonResourceURLs": ["/healthz", "/metrics/*"]}]);
            body["rules"] = rng.one(&[rules, urls]);
            if rng.percent(25) {
                body["aggregationRule"] = json!({"clusterRoleSelectors": [{"matchLabels": {"aggregate": app}},
                    {"matchExpressions": [{"key": "tier", "operator": "Exists"}]}]});
            }
        }
        "RoleBinding" | "ClusterRoleBinding" => {
            body["roleRef"] =
                json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": rng.one(&["a", "x:y"])});
            if kind.namespaced && rng.percent(50) {
                body["roleRef"] = json!({"kind": "Role", "name": "a"});
            }
            if rng.percent(80) {
                body["subjects"] = rng.one(&[
                    json!([{"kind": "ServiceAccount", "name": "a", "namespace": "default"}]),
                    json!([{"kind": "User", "name": "jane"}, {"kind": "Group", "name": "team a"}]),
                    json!([{"kind": "User", "name": "x@example.com", "apiGroup": "rbac.authorization.k8s.io"},
                        {"kind": "ServiceAccount", "name": "b", "namespace": "$NS"}]),
                    json!([]),
                ]);
            }
        }
        "NetworkPolicy" => {
            body["spec"] = rng.one(&[
                json!({"podSelector": {}}),
                json!({"podSelector": {"matchLabels": {"app": app}}, "policyTypes": ["Egress"]}),
                json!({"podSelector": {"matchExpressions": [{"key": "app", "operator": "In", "values": [app]}]}, "egress": [{}]}),
                json!({"podSelector": {}, "ingress": [{"from": [{"podSelector": {}}, {"namespaceSelector": {"matchLabels": {"a": "b"}},
                    "podSelector": {"matchLabels": {"app": app}}}], "ports": [{"port": 80}, {"port": "web", "protocol": "UDP"}, {}]}]}),
                json!({"podSelector": {}, "ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}]}],
                    "egress": [{"to": [{"ipBlock": {"cidr": "2001:DB8::/32", "except": ["2001:db8:1::/48"]}}],
                        "ports": [{"port": 1000, "endPort": 2000, "protocol": "SCTP"}]}]}),
                json!({"podSelector": {}, "policyTypes": ["Ingress", "Egress"], "ingress": [], "egress": []}),
            ]);
        }
        // Only one class can be the default of a cluster, which sequences share.
        "PriorityClass" => {
            body["value"] = rng.one(&[0, 7, -5, 1_000_000_000]).into();
            if rng.percent(40) {
                body["preemptionPolicy"] = rng.one(&["Never", "PreemptLowerPriority"]).into();
            }
            if rng.percent(30) {
                body["description"] = "some".into();
            }
        }
        _ => {}
    }
    body
}

/// The rules of a role.
fn policy_rules(rng: &mut Rng) -> Value {
    rng.one(&[
        json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]),
        json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}, {"apiGroups": ["apps"], "resources": ["deployments/scale"],
            "resourceNames": ["a"], "verbs": ["update"]}]),
        json!([]),
        json!(null),
    ])
}

/// A metric of an autoscaling/v2 HorizontalPodAutoscaler.
fn autoscaling_metric(rng: &mut Rng) -> Value {
    let named = json!({"name": "hits", "selector": {"matchLabels": {"b": "1", "a": "2"}}});
    rng.one(&[
        json!({"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "100Mi"}}}),
        json!({"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}),
        json!({"type": "Resource", "resource": {"name": "cpu", "target": {"type": "AverageValue", "averageValue": "500m"}}}),
        json!({"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "app",
            "target": {"type": "Utilization", "averageUtilization": 60}}}),
        json!({"type": "Pods", "pods": {"metric": named, "target": {"type": "AverageValue", "averageValue": "5"}}}),
        json!({"type": "Object", "object": {"metric": {"name": "hits"}, "target": {"type": "Value", "value": "9"},
            "describedObject": {"kind": "Service", "name": "s", "apiVersion": "v1"}}}),
        json!({"type": "Object", "object": {"metric": named, "target": {"type": "AverageValue", "averageValue": "9"},
            "describedObject": {"kind": "Service", "name": "s"}}}),
        json!({"type": "External", "external": {"metric": named, "target": {"type": "Value", "value": "2k"}}}),
        json!({"type": "External", "external": {"metric": {"name": "q"}, "target": {"type": "AverageValue", "averageValue": "3"}}}),
    ])
}

/// An annotation of an autoscaling/v1 HorizontalPodAutoscaler that represents a v2 field, possibly
/// invalid.
pub(crate) fn autoscaling_annotation(rng: &mut Rng) -> (&'static str, &'static str) {
    rng.one(&[
        ("autoscaling.alpha.kubernetes.io/metrics", r#"[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Mi"}}]"#),
        ("autoscaling.alpha.kubernetes.io/metrics", r#"[{"type":"Pods","pods":{"metricName":"q","targetAverageValue":"2"}}]"#),
        ("autoscaling.alpha.kubernetes.io/metrics", r#"[{"type":"Object","object":{"target":{"kind":"Service","name":"s"},"metricName":"q","averageValue":"4"}}]"#),
        ("autoscaling.alpha.kubernetes.io/metrics", r#"[{"type":"External","external":{"metricName":"q","targetValue":"4","odd":1}}]"#),
        ("autoscaling.alpha.kubernetes.io/metrics", r#"[{"type":"Pods","pods":{"metricName":5}}]"#),
        ("autoscaling.alpha.kubernetes.io/metrics", r#"[{"type":"Resource"}]"#),
        ("autoscaling.alpha.kubernetes.io/metrics", "[]"),
        ("autoscaling.alpha.kubernetes.io/metrics", "nothing"),
        ("autoscaling.alpha.kubernetes.io/behavior", r#"{"ScaleUp":{"SelectPolicy":"Min"},"ScaleDown":null}"#),
        ("autoscaling.alpha.kubernetes.io/behavior", r#"{"scaleDown":{"policies":[{"type":"Percent","value":10,"periodSeconds":60}]}}"#),
        ("autoscaling.alpha.kubernetes.io/behavior", "{}"),
        ("autoscaling.alpha.kubernetes.io/conditions", r#"[{"type":"AbleToScale","status":"True","lastTransitionTime":"1999-01-01T00:00:00Z"}]"#),
        ("autoscaling.alpha.kubernetes.io/current-metrics", r#"[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":7,"currentAverageValue":"70m"}}]"#),
        ("autoscaling.alpha.kubernetes.io/scale-up-tolerance", "1"),
    ])
}

/// The spec of a Job.
fn job(rng: &mut Rng) -> Value {
    let mut template = json!({"spec": pod_spec(rng)});
    template["spec"]["restartPolicy"] = rng.one(&["Never", "OnFailure"]).into();
    if rng.percent(30) {
        template["metadata"] = json!({"labels": {"job": "x"}});
    }
    // A container with restartPolicy Always is a sidecar: it may keep that policy.
    let mut spec = json!({"template": template});
    if rng.percent(30) {
        spec["parallelism"] = 2.into();
    }
    if rng.percent(20) {
        spec["completions"] = 3.into();
    }
    if rng.percent(10) {
        spec["completionMode"] = "Indexed".into();
        spec["completions"] = 3.into();
    }
    if rng.percent(20) {
        spec["backoffLimit"] = 0.into();
    }
    spec
}

/// A custom resource's spec that is valid by its schema.
fn widget(rng: &mut Rng) -> Value {
    let mut spec = json!({"size": rng.one(&[1, 5, 99])});
    let parts = [
        ("replicas", json!(2)),
        ("colour", json!("green")),
        ("name", json!("some")),
        ("port", json!(80)),
        ("port", json!("http")),
        ("labels", json!({"a": "1", "b": "2"})),
        ("ratio", json!(0.5)),
        ("ratio", json!(2)),
        ("on", json!(true)),
        ("when", json!("1999-01-01T00:00:00Z")),
        ("free", json!({"x": {"y": [1, {"z": null}]}, "n": null})),
        ("free", json!({"x": {"w": 1}})),
        ("nothing", json!(null)),
        (
            "template",
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "labels": {"a": "b"}}, "spec": {"a": 1}}),
        ),
        ("parts", json!([{"id": "p"}, {"id": "q", "count": 3}])),
        ("parts", json!([{"id": "q"}])),
        ("tags", json!(["a", "b"])),
        ("tags", json!(["b", "c"])),
        ("steps", json!([{"a": 1}, {"a": 2}])),
        ("choice", json!({"a": "x"})),
        ("amount", json!("25%")),
        ("amount", json!(25)),
        ("level", json!(5)),
        ("level", json!(2)),
        ("nested", json!({"list": ["abc"]})),
        ("whole", json!({"p": "1"})),
        ("whole", json!({"q": "1"})),
    ];
    for _ in 0..rng.next() % 5 {
        let (name, value) = rng.one(&parts);
        spec[name] = value;
    }
    spec
}

fn labels_app(body: &Value) -> String {
    body["metadata"]["labels"]["app"].as_str().unwrap_or_default().to_owned()
}

fn workload(kind: &Kind, spec: &mut Value, rng: &mut Rng) {
    if kind.kind != "DaemonSet" && rng.percent(70) {
        // None of the sizes that scale requests use.
        spec["replicas"] = rng.one(&[1, 2, 3, 10]).into();
    }
    if kind.kind == "StatefulSet" {
        spec["serviceName"] = "web".into();
    }
    if rng.percent(20) {
        spec["minReadySeconds"] = rng.one(&[0, 5, 30]).into();
    }
    if kind.kind != "ReplicaSet" && rng.percent(15) {
        spec["revisionHistoryLimit"] = rng.one(&[0, 2]).into();
    }
    if kind.kind == "Deployment" {
        if rng.percent(40) {
            spec["strategy"] = rng.one(&[
                json!({"type": "Recreate"}),
                json!({"type": "RollingUpdate"}),
                json!({"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}),
                json!({"rollingUpdate": {"maxSurge": "50%"}}),
                json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": "10%"}}),
                json!({"rollingUpdate": {"maxUnavailable": "100%"}}),
            ]);
        }
        if rng.percent(15) {
            spec["progressDeadlineSeconds"] = rng.one(&[60, 31, 600]).into();
        }
        if rng.percent(10) {
            spec["paused"] = true.into();
        }
    }
    if kind.kind == "DaemonSet" && rng.percent(20) {
        spec["updateStrategy"] = json!({"type": "OnDelete"});
    }
    if kind.kind == "StatefulSet" && rng.percent(20) {
        spec["updateStrategy"] = rng
            .one(&[json!({"type": "OnDelete"}), json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 1}})]);
    }
}

/// A random status.
pub(crate) fn status(kind: &Kind, rng: &mut Rng) -> Value {
    let condition = |what: &str, is: &str| json!({"type": what, "status": is, "lastTransitionTime": "1999-01-01T00:00:00Z", "reason": "R", "message": "m"});
    match kind.kind {
        "Deployment" => rng.one(&[
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
        "ReplicaSet" => rng.one(&[
            json!({"replicas": 2, "fullyLabeledReplicas": 2, "readyReplicas": 1, "availableReplicas": 1, "observedGeneration": 1}),
            json!({"replicas": 2, "conditions": [condition("ReplicaFailure", "True")]}),
            json!({"replicas": 1, "readyReplicas": 2}),
            json!({"replicas": 3, "readyReplicas": 1, "availableReplicas": 2}),
            json!({"replicas": -1}),
            json!({}),
        ]),
        "StatefulSet" => rng.one(&[
            json!({"replicas": 2, "readyReplicas": 1, "availableReplicas": 1}),
            json!({"replicas": 1, "readyReplicas": 2}),
            json!({"replicas": -1}),
        ]),
        "DaemonSet" => rng.one(&[
            json!({"currentNumberScheduled": 1, "numberMisscheduled": 0, "desiredNumberScheduled": 1, "numberReady": 1}),
            json!({"currentNumberScheduled": -1, "numberMisscheduled": 0, "desiredNumberScheduled": 1, "numberReady": 1}),
        ]),
        "Pod" => rng.one(&[
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
        "Node" => rng.one(&[
            json!({"conditions": [{"type": "Ready", "status": "True", "reason": "R", "message": "m", "lastTransitionTime": "1999-01-01T00:00:00Z", "lastHeartbeatTime": "1999-01-01T00:00:00Z"}]}),
            json!({"capacity": {"cpu": "4", "pods": "110"}}),
            json!({"allocatable": {"cpu": "4"}}),
        ]),
        "Namespace" => json!({"phase": "Active"}),
        "Job" => rng.one(&[json!({"active": 1}), json!({"active": -1}), json!({})]),
        "CronJob" => rng.one(&[json!({"lastScheduleTime": "1999-01-01T00:00:00Z"}), json!({})]),
        "Ingress" => rng.one(&[
            json!({}),
            json!({"loadBalancer": {"ingress": [{"hostname": "a.example.com"}, {"ip": "10.0.0.1"}]}}),
            json!({"loadBalancer": {"ingress": [{"hostname": "Bad!"}]}}),
            json!({"loadBalancer": {"ingress": [{"hostname": "10.0.0.1"}]}}),
            json!({"loadBalancer": {"ingress": [{"ip": "10.0.0.2", "ports": [{"port": 80, "protocol": "TCP"}]}]}}),
        ]),
        "Service" => rng.one(&[json!({}), json!({"loadBalancer": {"ingress": [{"hostname": "a.example.com"}]}})]),
        "PodDisruptionBudget" => rng.one(&[
            json!({"disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2}),
            json!({"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2}),
            json!({"observedGeneration": 9, "disruptionsAllowed": 2, "currentHealthy": 3, "desiredHealthy": 1, "expectedPods": 3}),
            json!({"observedGeneration": 9, "disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 2}),
            json!({"observedGeneration": 9, "disruptionsAllowed": 0, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2,
                "conditions": [{"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": "no scale",
                    "lastTransitionTime": "1999-01-01T00:00:00Z"}]}),
            json!({"disruptionsAllowed": -1}),
        ]),
        "HorizontalPodAutoscaler" if kind.is_autoscaler_v1() => rng.one(&[
            json!({"currentReplicas": 2, "desiredReplicas": 3, "currentCPUUtilizationPercentage": 40}),
            json!({"currentReplicas": 2, "desiredReplicas": 2, "observedGeneration": 1, "lastScaleTime": "1999-01-01T00:00:00Z"}),
            json!({"desiredReplicas": -1}),
            json!({"currentMetrics": []}),
        ]),
        "HorizontalPodAutoscaler" => rng.one(&[
            json!({"currentReplicas": 2, "desiredReplicas": 3, "conditions": [{"type": "AbleToScale", "status": "True",
                "reason": "Ready", "message": "1 < 2", "lastTransitionTime": "1999-01-01T00:00:00Z"}]}),
            json!({"currentReplicas": 2, "desiredReplicas": 3, "currentMetrics": [
                {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 7, "averageValue": "70m"}}},
                {"type": "Pods", "pods": {"metric": {"name": "q"}, "current": {"averageValue": "3"}}}]}),
            json!({"currentReplicas": 2, "desiredReplicas": 3, "currentMetrics": null}),
            json!({"currentReplicas": -1}),
        ]),
        "Widget" => rng.one(&[
            json!({"replicas": 2, "selector": "app=a", "phase": "A"}),
            json!({"replicas": 1, "phase": "B"}),
            json!({"replicas": -1}),
            json!({"replicas": "x"}),
            json!({"phase": "C"}),
            json!({"selector": 5}),
            json!({"odd": 1, "phase": "A"}),
            json!({}),
        ]),
        _ => rng.one(&[json!({"hard": {"replicationcontrollers": "5"}, "used": {"replicationcontrollers": "1"}}), json!({"used": {"replicationcontrollers": "x"}}), json!({})]),
    }
}
