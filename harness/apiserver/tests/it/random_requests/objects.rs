//! The valid objects from which random requests are derived: one of each kind, with fields of every
//! type.

use serde_json::{Value, json};

/// A served kind: the path of its collection, its subresources, and an object.
pub(crate) struct Sample {
    pub(crate) path: &'static str,
    pub(crate) subresources: &'static [&'static str],
    pub(crate) object: Value,
}

const fn sample(path: &'static str, subresources: &'static [&'static str], object: Value) -> Sample {
    Sample { path, subresources, object }
}

fn object(version: &str, kind: &str, rest: &Value) -> Value {
    let mut object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": "a", "labels": {"app": "a"},
        "annotations": {"example.com/note": "x"}, "finalizers": []}});
    for (name, value) in rest.as_object().into_iter().flatten() {
        object[name] = value.clone();
    }
    object
}

fn template() -> Value {
    json!({"metadata": {"labels": {"app": "a"}}, "spec": {
        "containers": [{"name": "app", "image": "app:1", "ports": [{"containerPort": 80, "name": "http", "protocol": "TCP"}],
            "env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "a", "key": "a"}}}],
            "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "1"}},
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            "readinessProbe": {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 5},
            "securityContext": {"runAsUser": 1000, "capabilities": {"drop": ["ALL"]}}}],
        "initContainers": [{"name": "init", "image": "init:1", "restartPolicy": "Always"}],
        "volumes": [{"name": "data", "emptyDir": {"sizeLimit": "1Gi"}}],
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]}}},
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "a"}}}],
        "tolerations": [{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}],
        "terminationGracePeriodSeconds": 30, "nodeSelector": {"zone": "a"}}})
}

fn workload(rest: &Value) -> Value {
    let mut spec = json!({"selector": {"matchLabels": {"app": "a"}}, "template": template()});
    for (name, value) in rest.as_object().into_iter().flatten() {
        spec[name] = value.clone();
    }
    json!({"spec": spec, "status": {"observedGeneration": 1, "replicas": 1, "conditions": [{"type": "Available", "status": "True",
        "lastUpdateTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}})
}

fn schema() -> Value {
    json!({"type": "object", "properties": {
        "spec": {"type": "object", "required": ["size"], "properties": {
            "size": {"type": "integer", "minimum": 0, "maximum": 10, "multipleOf": 1},
            "replicas": {"type": "integer", "default": 1, "format": "int32"},
            "colour": {"type": "string", "enum": ["red", "green"], "default": "red", "pattern": "^[a-z]+$", "maxLength": 9},
            "port": {"x-kubernetes-int-or-string": true},
            "when": {"type": "string", "format": "date-time"},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "pod": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
            "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}, "maxItems": 5},
            "limits": {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 3},
            "parts": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"],
                "items": {"type": "object", "required": ["id"], "properties": {
                    "id": {"type": "string"}, "count": {"type": "integer", "default": 1, "nullable": true}}}},
            "either": {"type": "object", "oneOf": [{"required": ["x"]}, {"required": ["y"]}],
                "properties": {"x": {"type": "number"}, "y": {"type": "boolean"}}}}},
        "status": {"type": "object", "properties": {"replicas": {"type": "integer"}, "selector": {"type": "string"}}}}})
}

fn definition() -> Value {
    let version = |name: &str, stored: bool| {
        json!({"name": name, "served": true, "storage": stored, "schema": {"openAPIV3Schema": schema()},
            "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
            "selectableFields": [{"jsonPath": ".spec.colour"}],
            "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas",
                "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"}}})
    };
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "singular": "widget",
            "kind": "Widget", "shortNames": ["w"], "categories": ["all"]}, "conversion": {"strategy": "None"},
            "versions": [version("v1", true), version("v1beta1", false)]}})
}

fn widget() -> Value {
    json!({"spec": {"size": 1, "colour": "red", "port": "http", "when": "2026-01-01T00:00:00Z", "free": {"a": [1, {"b": null}]},
        "pod": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}, "tags": ["a", "b"], "limits": {"a": "1"},
        "parts": [{"id": "a"}, {"id": "b", "count": 2}], "either": {"x": 1.5}}, "status": {"replicas": 1, "selector": "a=b"}})
}

fn autoscaler() -> Value {
    let metrics = json!([{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}},
        {"type": "Pods", "pods": {"metric": {"name": "x"}, "target": {"type": "AverageValue", "averageValue": "10"}}}]);
    json!({"spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}, "minReplicas": 1,
        "maxReplicas": 3, "metrics": metrics, "behavior": {"scaleDown": {"stabilizationWindowSeconds": 300,
        "policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}}},
        "status": {"currentReplicas": 1, "desiredReplicas": 1, "conditions": [{"type": "AbleToScale", "status": "True"}]}})
}

/// One of each kind. The definition comes before the objects of its kind.
pub(crate) fn samples() -> Vec<Sample> {
    const STATUS: &[&str] = &["status"];
    const SCALED: &[&str] = &["status", "scale"];
    let job = json!({"template": {"metadata": {"labels": {"app": "a"}}, "spec": {"restartPolicy": "Never",
        "containers": template()["spec"]["containers"], "volumes": template()["spec"]["volumes"]}},
        "parallelism": 1, "completions": 1, "backoffLimit": 3});
    let time = "2026-01-01T00:00:00.000000Z";
    vec![
        sample("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", STATUS, definition()),
        sample(
            "/apis/example.com/v1/namespaces/default/widgets",
            SCALED,
            object("example.com/v1", "Widget", &widget()),
        ),
        sample(
            "/apis/example.com/v1beta1/namespaces/default/widgets",
            SCALED,
            object("example.com/v1beta1", "Widget", &widget()),
        ),
        sample(
            "/api/v1/namespaces",
            &["status", "finalize"],
            object("v1", "Namespace", &json!({"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}})),
        ),
        sample(
            "/api/v1/nodes",
            STATUS,
            object(
                "v1",
                "Node",
                &json!({"spec": {"taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]},
            "status": {"capacity": {"cpu": "4", "memory": "8Gi"}, "allocatable": {"cpu": "4"}, "conditions": [{"type": "Ready", "status": "True"}]}}),
            ),
        ),
        sample(
            "/api/v1/namespaces/default/pods",
            &["status", "binding", "eviction", "ephemeralcontainers", "log"],
            object(
                "v1",
                "Pod",
                &json!({
            "spec": template()["spec"], "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [{"name": "app", "ready": true, "restartCount": 1, "image": "app:1", "imageID": "x",
                "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}]}}),
            ),
        ),
        sample(
            "/api/v1/namespaces/default/configmaps",
            &[],
            object("v1", "ConfigMap", &json!({"data": {"a": "1"}, "binaryData": {"b": "AQI="}, "immutable": false})),
        ),
        sample(
            "/api/v1/namespaces/default/secrets",
            &[],
            object("v1", "Secret", &json!({"type": "Opaque", "data": {"a": "AQI="}, "stringData": {"c": "d"}})),
        ),
        sample(
            "/api/v1/namespaces/default/serviceaccounts",
            &["token"],
            object("v1", "ServiceAccount", &json!({"secrets": [{"name": "a"}], "imagePullSecrets": [{"name": "b"}]})),
        ),
        sample(
            "/api/v1/namespaces/default/services",
            STATUS,
            object(
                "v1",
                "Service",
                &json!({"spec": {"selector": {"app": "a"}, "type": "ClusterIP",
            "ports": [{"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP"}], "ipFamilyPolicy": "SingleStack", "sessionAffinity": "None"}}),
            ),
        ),
        sample(
            "/api/v1/namespaces/default/limitranges",
            &[],
            object(
                "v1",
                "LimitRange",
                &json!({"spec": {"limits": [{"type": "Container",
            "default": {"cpu": "1"}, "defaultRequest": {"cpu": "100m"}, "max": {"cpu": "2"}}]}}),
            ),
        ),
        sample(
            "/api/v1/namespaces/default/resourcequotas",
            STATUS,
            object(
                "v1",
                "ResourceQuota",
                &json!({"spec": {"hard": {"pods": "20", "requests.cpu": "20", "count/configmaps": "30"},
            "scopes": ["NotTerminating"], "scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["a"]}]}}}),
            ),
        ),
        sample(
            "/api/v1/namespaces/default/events",
            &[],
            object(
                "v1",
                "Event",
                &json!({"involvedObject": {"kind": "Pod", "name": "a", "namespace": "default", "apiVersion": "v1"},
            "reason": "x", "message": "y", "type": "Normal", "count": 1, "firstTimestamp": "2026-01-01T00:00:00Z", "source": {"component": "z"}}),
            ),
        ),
        sample(
            "/apis/events.k8s.io/v1/namespaces/default/events",
            &[],
            object(
                "events.k8s.io/v1",
                "Event",
                &json!({"regarding": {"kind": "Pod", "name": "a", "namespace": "default"},
            "reason": "x", "note": "y", "type": "Normal", "eventTime": time, "action": "a", "reportingController": "example.com/z", "reportingInstance": "z",
            "series": {"count": 2, "lastObservedTime": time}}),
            ),
        ),
        sample(
            "/apis/apps/v1/namespaces/default/deployments",
            SCALED,
            object(
                "apps/v1",
                "Deployment",
                &workload(
                    &json!({"replicas": 2, "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}}}),
                ),
            ),
        ),
        sample(
            "/apis/apps/v1/namespaces/default/replicasets",
            SCALED,
            object("apps/v1", "ReplicaSet", &workload(&json!({"replicas": 1, "minReadySeconds": 1}))),
        ),
        sample(
            "/apis/apps/v1/namespaces/default/statefulsets",
            SCALED,
            object(
                "apps/v1",
                "StatefulSet",
                &workload(&json!({"serviceName": "a", "volumeClaimTemplates": [
            {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]})),
            ),
        ),
        sample(
            "/apis/apps/v1/namespaces/default/daemonsets",
            STATUS,
            object(
                "apps/v1",
                "DaemonSet",
                &workload(
                    &json!({"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}}}),
                ),
            ),
        ),
        sample(
            "/apis/batch/v1/namespaces/default/jobs",
            STATUS,
            object(
                "batch/v1",
                "Job",
                &json!({"spec": job, "status": {"active": 1, "startTime": "2026-01-01T00:00:00Z"}}),
            ),
        ),
        sample(
            "/apis/batch/v1/namespaces/default/cronjobs",
            STATUS,
            object("batch/v1", "CronJob", &json!({"spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": job}}})),
        ),
        sample(
            "/apis/coordination.k8s.io/v1/namespaces/default/leases",
            &[],
            object(
                "coordination.k8s.io/v1",
                "Lease",
                &json!({"spec": {"holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": time}}),
            ),
        ),
        sample(
            "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
            &[],
            object(
                "discovery.k8s.io/v1",
                "EndpointSlice",
                &json!({"addressType": "IPv4",
            "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": true}, "targetRef": {"kind": "Pod", "name": "a"}}], "ports": [{"name": "http", "port": 80, "protocol": "TCP"}]}),
            ),
        ),
        sample(
            "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
            STATUS,
            object(
                "policy/v1",
                "PodDisruptionBudget",
                &json!({"spec": {"minAvailable": "50%", "selector": {"matchLabels": {"app": "a"}}},
            "status": {"disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2, "observedGeneration": 1}}),
            ),
        ),
        sample(
            "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
            STATUS,
            object(
                "networking.k8s.io/v1",
                "Ingress",
                &json!({"spec": {"tls": [{"hosts": ["a.example.com"], "secretName": "a"}],
            "rules": [{"host": "a.example.com", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "a", "port": {"number": 80}}}}]}}]}}),
            ),
        ),
        sample(
            "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
            STATUS,
            object("autoscaling/v2", "HorizontalPodAutoscaler", &autoscaler()),
        ),
        sample(
            "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers",
            STATUS,
            object(
                "autoscaling/v1",
                "HorizontalPodAutoscaler",
                &json!({
            "metadata": {"name": "b", "annotations": {"autoscaling.alpha.kubernetes.io/metrics": "[{\"type\":\"Pods\",\"pods\":{\"metricName\":\"x\",\"targetAverageValue\":\"1\"}}]",
                "autoscaling.alpha.kubernetes.io/conditions": "[{\"type\":\"AbleToScale\",\"status\":\"True\"}]"}},
            "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}, "maxReplicas": 3, "targetCPUUtilizationPercentage": 50}}),
            ),
        ),
    ]
}

/// Bodies of other types than the objects of a collection.
pub(crate) fn other_bodies() -> Vec<Value> {
    let review = json!({"resourceAttributes": {"namespace": "default", "verb": "get", "resource": "pods"}});
    vec![
        json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a", "namespace": "default"}, "spec": {"replicas": 3}}),
        json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "a", "annotations": {"a": "b"}}, "target": {"kind": "Node", "name": "a"}}),
        json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}, "deleteOptions": {"gracePeriodSeconds": 1, "preconditions": {"uid": "x"}}}),
        json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 5, "propagationPolicy": "Foreground", "preconditions": {"resourceVersion": "5"}, "dryRun": ["All"]}),
        json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": review}),
        json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": "default"}}),
    ]
}
