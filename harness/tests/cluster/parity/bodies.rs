//! Random objects of each kind, and mutations that make them invalid.

use serde_json::{Value, json};

use super::rng::Rng;

/// A kind with its names in paths and bodies.
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

/// All kinds under test.
pub(crate) const KINDS: [Kind; 31] = [
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
    kind("Widget", "widgets", "parity.example.com/v1", (true, true)),
    kind("Job", "jobs", "batch/v1", (true, false)),
    kind("CronJob", "cronjobs", "batch/v1", (true, false)),
    kind("Service", "services", "v1", (true, false)),
    kind("EndpointSlice", "endpointslices", "discovery.k8s.io/v1", (false, false)),
    kind("LimitRange", "limitranges", "v1", (false, false)),
    kind("PodDisruptionBudget", "poddisruptionbudgets", "policy/v1", (true, false)),
    kind("HorizontalPodAutoscaler", "horizontalpodautoscalers", "autoscaling/v2", (true, false)),
    kind("Ingress", "ingresses", "networking.k8s.io/v1", (true, false)),
    kind("Event", "events", "events.k8s.io/v1", (false, false)),
    kind("HorizontalPodAutoscaler", "horizontalpodautoscalers", "autoscaling/v1", (true, false)),
    Kind { namespaced: false, ..kind("IngressClass", "ingressclasses", "networking.k8s.io/v1", (false, false)) },
    kind("Role", "roles", RBAC, (false, false)),
    kind("RoleBinding", "rolebindings", RBAC, (false, false)),
    Kind { namespaced: false, ..kind("ClusterRole", "clusterroles", RBAC, (false, false)) },
    Kind { namespaced: false, ..kind("ClusterRoleBinding", "clusterrolebindings", RBAC, (false, false)) },
    kind("NetworkPolicy", "networkpolicies", "networking.k8s.io/v1", (false, false)),
    Kind { namespaced: false, ..kind("PriorityClass", "priorityclasses", "scheduling.k8s.io/v1", (false, false)) },
];

/// The version of roles and bindings.
pub(crate) const RBAC: &str = "rbac.authorization.k8s.io/v1";

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

    /// Whether it is a custom resource.
    pub(crate) fn custom(&self) -> bool {
        self.kind == "Widget"
    }

    /// Whether it is the Event of `events.k8s.io`.
    pub(crate) fn new_event(&self) -> bool {
        self.version == "events.k8s.io/v1"
    }

    /// Whether it is the HorizontalPodAutoscaler of v1.
    pub(crate) fn is_autoscaler_v1(&self) -> bool {
        self.version == "autoscaling/v1"
    }

    pub(crate) fn workload(&self) -> bool {
        matches!(self.kind, "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet")
    }

    /// A name from the pool. Names of cluster-scoped objects are unique to the sequence.
    pub(crate) fn name(&self, rng: &mut Rng) -> String {
        let name = rng.one(&["a", "a", "b", "b", "c"]);
        if self.namespaced { name.to_owned() } else { format!("$NS-{name}") }
    }
}

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

pub(crate) fn pod_spec(rng: &mut Rng) -> Value {
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
fn autoscaling_annotation(rng: &mut Rng) -> (&'static str, &'static str) {
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

/// A change at a JSON pointer: missing parents are created, and null removes the value.
type Mutation = (&'static str, Value);

/// A random mutation of an object of this kind, which may make it invalid.
pub(crate) fn mutation(kind: &Kind, rng: &mut Rng) -> (String, Value) {
    let mut all: Vec<Mutation> = vec![
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
        let template: &[Mutation] = &[
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
        if rng.percent(50) {
            let (path, value) = rng.one(template);
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
        "Event" if kind.new_event() => all.extend([
            ("/regarding", json!(null)),
            ("/regarding", json!({"kind": "Node", "name": "a"})),
            ("/regarding", json!({"kind": "Pod", "namespace": "elsewhere", "name": "a"})),
            ("/eventTime", json!(null)),
            ("/reportingController", json!("")),
            ("/reportingController", json!("not valid!")),
            ("/reportingInstance", json!("")),
            ("/action", json!("")),
            ("/reason", json!("Other")),
            ("/note", json!("something else")),
            ("/type", json!("Odd")),
            ("/series", json!({"count": 1, "lastObservedTime": "1999-01-01T00:00:05.000000Z"})),
            ("/series", json!({"count": 3})),
            ("/series", json!({"count": "x"})),
            ("/series", json!("x")),
            ("/related", json!({"kind": "Pod", "name": "b"})),
            ("/deprecatedCount", json!(2)),
            ("/deprecatedSource", json!({"component": "x"})),
            ("/involvedObject", json!({"name": "a"})),
        ]),
        "Ingress" => all.extend([
            ("/spec", json!({})),
            ("/spec/rules", json!([])),
            ("/spec/rules", json!([{"host": "Upper"}])),
            ("/spec/rules", json!([{"host": "10.0.0.1"}])),
            ("/spec/rules", json!([{"host": "*"}])),
            ("/spec/rules", json!([{"http": {}}])),
            ("/spec/rules", json!([{"http": {"paths": [{"path": "/"}]}}])),
            ("/spec/rules", json!([{"http": {"paths": [{"pathType": "Odd", "backend": {}}]}}])),
            ("/spec/rules", json!([{"http": {"paths": [{"path": "x//y", "pathType": "Exact", "backend": {}}]}}])),
            ("/spec/rules", json!([{"http": {"paths": [{"path": "/a/..", "pathType": "Prefix", "backend": {}}]}}])),
            (
                "/spec/rules",
                json!([{"http": {"paths": [{"path": "x", "pathType": "ImplementationSpecific", "backend": {}}]}}]),
            ),
            ("/spec/defaultBackend", json!({})),
            ("/spec/defaultBackend", json!({"service": {"name": "", "port": {}}})),
            ("/spec/defaultBackend", json!({"service": {"name": "Bad", "port": {"number": 70000}}})),
            ("/spec/defaultBackend", json!({"service": {"name": "a", "port": {"name": "Bad_", "number": 0}}})),
            ("/spec/defaultBackend", json!({"service": {"name": "a", "port": {"name": "b", "number": 1}}})),
            ("/spec/defaultBackend", json!({"service": {"name": "a"}, "resource": {"kind": "b", "name": "c"}})),
            ("/spec/defaultBackend", json!({"resource": {"apiGroup": "Bad!", "kind": "", "name": "a/b"}})),
            ("/spec/tls", json!([{"hosts": ["Bad!", "*.ok.example.com", "*"]}])),
            ("/spec/tls", json!([{"secretName": "Bad!"}])),
            ("/spec/ingressClassName", json!("")),
            ("/spec/ingressClassName", json!("Bad!")),
            ("/metadata/annotations", json!({"kubernetes.io/ingress.class": "other"})),
        ]),
        "Event" => all.extend([
            ("/eventTime", json!("1999-01-01T00:00:00.000000Z")),
            ("/reportingComponent", json!("x")),
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
        "Job" => all.extend([
            ("/spec/parallelism", json!(-1)),
            ("/spec/completions", json!(-1)),
            ("/spec/backoffLimit", json!(-1)),
            ("/spec/ttlSecondsAfterFinished", json!(-1)),
            ("/spec/completionMode", json!("Odd")),
            ("/spec/podReplacementPolicy", json!("Odd")),
            ("/spec/selector", json!({"matchLabels": {"a": "b"}})),
            ("/spec/template/spec/restartPolicy", json!("Always")),
            ("/spec/template/spec/restartPolicy", json!("Maybe")),
            ("/spec/template/metadata/labels", json!({"job-name": "other"})),
            ("/spec/template/spec/containers", json!([])),
            ("/spec/suspend", json!("yes")),
        ]),
        "CronJob" => all.extend([
            ("/spec/schedule", json!("")),
            ("/spec/schedule", json!("* * *")),
            ("/spec/concurrencyPolicy", json!("Odd")),
            ("/spec/startingDeadlineSeconds", json!(-1)),
            ("/spec/successfulJobsHistoryLimit", json!(-1)),
            ("/spec/failedJobsHistoryLimit", json!(-1)),
            ("/spec/jobTemplate/spec/template/spec/restartPolicy", json!("Always")),
            ("/spec/jobTemplate/spec/parallelism", json!(-1)),
            ("/spec/suspend", json!(true)),
        ]),
        "Service" => all.extend([
            ("/spec/ports", json!([])),
            ("/spec/ports", json!([{"port": 0}])),
            ("/spec/ports", json!([{"port": 80, "protocol": "IP"}])),
            ("/spec/ports", json!([{"port": 80, "targetPort": "bad_"}])),
            ("/spec/ports", json!([{"port": 80, "name": "Bad"}])),
            ("/spec/ports", json!([{"port": 80}, {"port": 81}])),
            ("/spec/type", json!("Odd")),
            ("/spec/sessionAffinity", json!("Odd")),
            ("/spec/selector", json!({"bad key": "a"})),
            ("/spec/selector", json!({"app": "other"})),
        ]),
        "EndpointSlice" => all.extend([
            ("/addressType", json!("Odd")),
            ("/addressType", json!("")),
            ("/endpoints", json!([{"addresses": []}])),
            ("/endpoints", json!([{"addresses": ["x"]}])),
            ("/endpoints", json!([{"addresses": ["10.0.0.3"], "hostname": "Bad"}])),
            ("/ports", json!([{"name": "BAD"}])),
            ("/ports", json!([{"name": "a"}, {"name": "a"}])),
            ("/ports", json!([{"protocol": "IP"}])),
        ]),
        "LimitRange" => all.extend([
            ("/spec/limits", json!([{"type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "2"}}])),
            ("/spec/limits", json!([{"type": "Container", "max": {"cpu": "1"}, "default": {"cpu": "3"}}])),
            ("/spec/limits", json!([{"type": "Container"}, {"type": "Container"}])),
            ("/spec/limits", json!([{"type": "Container", "max": {"cpu": "x"}}])),
        ]),
        "PodDisruptionBudget" => all.extend([
            ("/spec/minAvailable", json!(-1)),
            ("/spec/minAvailable", json!("x")),
            ("/spec/maxUnavailable", json!("101%")),
            ("/spec/maxUnavailable", json!(2)),
            ("/spec/selector", json!({"matchLabels": {"a b": "c"}})),
            ("/spec/unhealthyPodEvictionPolicy", json!("Odd")),
        ]),
        "HorizontalPodAutoscaler" if kind.is_autoscaler_v1() => all.extend([
            ("/spec/minReplicas", json!(9)),
            ("/spec/maxReplicas", json!(0)),
            ("/spec/targetCPUUtilizationPercentage", json!(0)),
            ("/spec/targetCPUUtilizationPercentage", json!("x")),
            ("/spec/targetCPUUtilizationPercentage", json!(null)),
            ("/spec/targetCPUUtilizationPercentage", json!(70)),
            ("/spec/metrics", json!([])),
            ("/apiVersion", json!("autoscaling/v2")),
            ("/metadata/annotations", json!({autoscaling_annotation(rng).0: autoscaling_annotation(rng).1})),
            ("/spec/scaleTargetRef", json!({"kind": "a/b", "name": "x", "apiVersion": "a/b/c"})),
        ]),
        "HorizontalPodAutoscaler" => all.extend([
            ("/apiVersion", json!("autoscaling/v1")),
            ("/metadata/annotations", json!({autoscaling_annotation(rng).0: autoscaling_annotation(rng).1})),
            ("/spec/metrics", json!([{"type": "Pods", "pods": {"metric": {"name": "a/b"}, "target": {"type": "Value", "value": "0"}}}])),
            ("/spec/metrics", json!([{"type": "Object", "object": {"metric": {"name": "q"}, "target": {"type": "Value"},
                "describedObject": {"kind": "", "name": "x", "apiVersion": "a/b/c"}}}])),
            ("/spec/metrics", json!([{"type": "External", "external": {"metric": {"name": ""},
                "target": {"type": "Value", "value": "1", "averageValue": "-1"}}}])),
            ("/spec/metrics", json!([{"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "A",
                "target": {"type": "Utilization", "averageUtilization": 0}}}])),
            ("/spec/metrics", json!([{"type": "Resource", "pods": {"metric": {"name": "q"}, "target": {"type": "AverageValue", "averageValue": "1"}}}])),
            ("/spec/behavior", json!({"scaleUp": {"selectPolicy": "Odd", "policies": [], "stabilizationWindowSeconds": -1}})),
            ("/spec/behavior", json!({"scaleDown": {"stabilizationWindowSeconds": 3601, "tolerance": "-1",
                "policies": [{"type": "Odd", "value": 0, "periodSeconds": 1801}, {"type": "Pods", "value": 1, "periodSeconds": 0}]}})),
            ("/spec/minReplicas", json!(0)),
            ("/spec/minReplicas", json!(9)),
            ("/spec/maxReplicas", json!(0)),
            ("/spec/maxReplicas", json!(-1)),
            ("/spec/scaleTargetRef", json!({"kind": "", "name": ""})),
            ("/spec/scaleTargetRef", json!({"kind": "a/b", "name": "x", "apiVersion": "v1"})),
            ("/spec/metrics", json!([{"type": "Odd"}])),
            ("/spec/metrics", json!([{"type": "Resource"}])),
            ("/spec/metrics", json!([{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Odd"}}}])),
        ]),
        "ResourceQuota" => all.extend([
            ("/spec/hard", json!({"replicationcontrollers": "x"})),
            ("/spec/hard", json!({"replicationcontrollers": "-1"})),
            ("/spec/hard", json!({"replicationcontrollers": "1.5"})),
            ("/spec/hard", json!({"not valid": "1"})),
        ]),
        "Widget" => {
            let own = [
                ("/spec/size", json!("x")),
                ("/spec/size", json!(null)),
                ("/spec/size", json!(1.5)),
                ("/spec/size", json!(7000)),
                ("/spec/size", json!(101)),
                ("/spec/replicas", json!(-1)),
                ("/spec/replicas", json!(101)),
                ("/spec/replicas", json!(null)),
                ("/spec/replicas", json!("two")),
                ("/spec/colour", json!("blue")),
                ("/spec/colour", json!(1)),
                ("/spec/name", json!("Q")),
                ("/spec/name", json!("UPPER")),
                ("/spec/name", json!("muchtoolong")),
                ("/spec/port", json!(1.5)),
                ("/spec/port", json!(true)),
                ("/spec/labels", json!({"a": 1})),
                ("/spec/labels", json!({"a": null})),
                ("/spec/labels", json!([])),
                ("/spec/ratio", json!("x")),
                ("/spec/on", json!("yes")),
                ("/spec/when", json!("yesterday")),
                ("/spec/free", json!([])),
                ("/spec/template", json!({})),
                ("/spec/template", json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "odd": 1}})),
                ("/spec/template", json!({"apiVersion": "a/b/c", "kind": "not valid"})),
                ("/spec/template", json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a b": "c"}}})),
                ("/spec/parts", json!([{"id": "x"}, {"id": "x"}])),
                ("/spec/parts", json!([{"count": 1}])),
                ("/spec/parts", json!([{"id": "a"}, {"id": "b"}, {"id": "c"}, {"id": "d"}])),
                ("/spec/parts", json!([{"id": "a", "odd": 1}])),
                ("/spec/parts", json!(["a"])),
                ("/spec/tags", json!(["a", "a"])),
                ("/spec/tags", json!([1])),
                ("/spec/tags", json!("a")),
                ("/spec/steps", json!([{"a": "x", "b": 1}])),
                ("/spec/choice", json!({})),
                ("/spec/choice", json!({"a": "x", "b": "y"})),
                ("/spec/amount", json!("x")),
                ("/spec/amount", json!(true)),
                ("/spec/level", json!(1)),
                ("/spec/level", json!(13)),
                ("/spec/nested", json!({"list": []})),
                ("/spec/nested", json!({"list": ["long one"]})),
                ("/spec/nested", json!(null)),
                ("/spec/whole", json!({"p": "2", "r": 1})),
                ("/spec/odd", json!({"a": [1]})),
                ("/spec", json!(null)),
                ("/spec", json!({})),
            ];
            if rng.percent(60) {
                let (path, value) = rng.one(&own);
                return (path.to_owned(), value);
            }
        }
        "IngressClass" => all.extend([
            ("/spec", json!({})),
            ("/spec/controller", json!("example.com")),
            ("/spec/controller", json!("Bad/x y")),
            ("/spec/controller", json!("example.com/other")),
            ("/spec/parameters", json!({"kind": "", "name": ""})),
            ("/spec/parameters", json!({"apiGroup": "Bad!", "kind": "a/b", "name": "c%d"})),
            ("/spec/parameters", json!({"kind": "a", "name": "b", "scope": "Odd"})),
            ("/spec/parameters", json!({"kind": "a", "name": "b", "scope": "Namespace"})),
            ("/spec/parameters", json!({"kind": "a", "name": "b", "namespace": "c"})),
        ]),
        "Role" | "ClusterRole" => all.extend([
            ("/metadata/name", json!("with:colon")),
            ("/metadata/name", json!("a/b")),
            ("/rules", json!([{}])),
            ("/rules", json!([{"verbs": ["get"]}])),
            ("/rules", json!([{"verbs": [], "apiGroups": [""], "resources": ["pods"]}])),
            ("/rules", json!([{"verbs": ["get"], "apiGroups": [""]}])),
            ("/rules", json!([{"verbs": ["get"], "nonResourceURLs": ["/healthz"]}])),
            ("/rules", json!([{"verbs": ["get"], "nonResourceURLs": ["/a", "/b"], "resourceNames": ["x"]}])),
            ("/rules", json!([{"nonResourceURLs": ["/a"], "apiGroups": [""], "resources": ["pods"]}])),
            ("/rules", json!("all")),
            ("/rules", json!([{"verbs": "get"}])),
            ("/rules", json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "odd": 1}])),
            ("/aggregationRule", json!({})),
            ("/aggregationRule", json!({"clusterRoleSelectors": []})),
            ("/aggregationRule", json!({"clusterRoleSelectors": [{"matchLabels": {"a b": "c"}}]})),
            (
                "/aggregationRule",
                json!({"clusterRoleSelectors": [{}, {"matchExpressions": [{"key": "a", "operator": "Like"}]}]}),
            ),
        ]),
        "RoleBinding" | "ClusterRoleBinding" => all.extend([
            ("/metadata/name", json!("with:colon")),
            ("/roleRef", json!(null)),
            ("/roleRef", json!({"kind": "Odd", "name": "a", "apiGroup": "odd"})),
            ("/roleRef", json!({"kind": "ClusterRole", "name": "other"})),
            ("/roleRef", json!({"kind": "Role", "name": "a/b"})),
            ("/roleRef", json!({"kind": "Role", "name": "%"})),
            ("/roleRef/name", json!("")),
            ("/roleRef/kind", json!("")),
            ("/subjects", json!([{}])),
            ("/subjects", json!([{"kind": "Odd", "name": "a"}])),
            ("/subjects", json!([{"kind": "ServiceAccount", "name": "a"}])),
            ("/subjects", json!([{"kind": "ServiceAccount", "name": "Bad!", "namespace": "a"}])),
            ("/subjects", json!([{"kind": "ServiceAccount", "name": "", "namespace": "Bad!", "apiGroup": "odd"}])),
            ("/subjects", json!([{"kind": "User", "name": ""}])),
            ("/subjects", json!([{"kind": "Group", "name": "a", "apiGroup": "odd"}])),
            ("/subjects", json!({"kind": "User"})),
        ]),
        "NetworkPolicy" => all.extend([
            ("/spec", json!(null)),
            ("/spec", json!({})),
            ("/spec/podSelector", json!({"matchLabels": {"a b": "not valid!"}})),
            ("/spec/podSelector", json!({"matchExpressions": [{"key": "a", "operator": "In"}]})),
            ("/spec/policyTypes", json!([])),
            ("/spec/policyTypes", json!(["Odd"])),
            ("/spec/policyTypes", json!(["Ingress", "Egress", "Ingress"])),
            ("/spec/ingress", json!([{"ports": [{"port": 0}, {"port": 70000, "endPort": 5}]}])),
            ("/spec/ingress", json!([{"ports": [{"port": "Bad_"}, {"port": "web", "endPort": 90}]}])),
            ("/spec/ingress", json!([{"ports": [{"endPort": 90}, {"port": 80, "endPort": 70000}, {"protocol": "IP"}]}])),
            ("/spec/ingress", json!([{"from": [{}]}])),
            ("/spec/ingress", json!([{"from": [{"ipBlock": {}}]}])),
            ("/spec/ingress", json!([{"from": [{"podSelector": {}, "ipBlock": {"cidr": "10.0.0.0/8"}}]}])),
            ("/spec/ingress", json!([{"from": [{"namespaceSelector": {"matchLabels": {"x": "not valid!"}}}]}])),
            ("/spec/egress", json!([{"to": [{"ipBlock": {"cidr": "x"}}, {"ipBlock": {"cidr": "10.0.0.1/8"}}]}])),
            ("/spec/egress", json!([{"to": [{"ipBlock": {"cidr": "010.0.0.0/8", "except": ["10.0.0.0/08", ""]}}]}])),
            ("/spec/egress", json!([{"to": [{"ipBlock": {"cidr": "::ffff:10.0.0.0/104", "except": ["10.0.0.0/9"]}}]}])),
            ("/spec/egress", json!([{"to": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.0.0.0/8", "11.0.0.0/9", "x"]}}]}])),
            ("/spec/egress", json!([{"to": [{"ipBlock": {"cidr": "2001:0db8::/32", "except": ["2001:DB8:1::1/48"]}}]}])),
            ("/spec/egress", json!([{"ports": [{"port": "x", "odd": 1}]}])),
        ]),
        "PriorityClass" => all.extend([
            ("/metadata/name", json!("system-critical")),
            ("/value", json!(1_000_000_001)),
            ("/value", json!(3_000_000_000_u64)),
            ("/value", json!("high")),
            ("/value", json!(null)),
            ("/value", json!(8)),
            ("/preemptionPolicy", json!("")),
            ("/preemptionPolicy", json!("Odd")),
            ("/preemptionPolicy", json!("Never")),
            ("/globalDefault", json!("yes")),
            ("/globalDefault", json!(false)),
            ("/description", json!(5)),
            ("/description", json!("other")),
        ]),
        "Node" => all.extend([
            ("/spec/taints", json!([{"key": "k", "effect": "Now"}])),
            ("/spec/taints", json!([{"key": "", "effect": "NoSchedule"}])),
            ("/spec/taints", json!([{"key": "k", "effect": "NoSchedule"}, {"key": "k", "effect": "NoSchedule"}])),
            ("/spec/podCIDR", json!("x")),
        ]),
        _ => {}
    }
    let (path, value) = rng.one(&all);
    (path.to_owned(), value)
}

/// Sets the value at a pointer and creates missing parents.
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
