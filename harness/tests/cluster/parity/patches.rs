//! Random patches: JSON, merge and strategic ones, and server-side apply.

use serde_json::{Value, json};

use super::bodies::object;
use super::kinds::Kind;
use super::mutations::{mutation, put};
use super::rng::Rng;
use super::spell::{text, validation};
use super::step::{APPLY, MERGE, PATCH, STRATEGIC, Step, step};

/// A patch in one of the four forms.
pub(crate) fn patch(kind: &Kind, rng: &mut Rng) -> Step {
    if rng.percent(30) {
        return apply(kind, rng);
    }
    let path = format!("{}/{}{}", kind.collection(), kind.name(rng), validation(rng));
    let (verb, form) = rng.one(&[("json-patch", PATCH), ("merge-patch", MERGE), ("strategic-patch", STRATEGIC)]);
    let body = if form == PATCH { json_patch(kind, rng) } else { merge(kind, rng, form == STRATEGIC) };
    step(verb, kind.kind, "PATCH", path, form, &text(&body, rng))
}

/// Server-side apply of a whole object or a part, by one of three managers.
fn apply(kind: &Kind, rng: &mut Rng) -> Step {
    let name = kind.name(rng);
    let manager = rng.one(&["?fieldManager=one", "?fieldManager=two", "?fieldManager=kubectl", ""]);
    let force = if manager.is_empty() { "" } else { rng.one(&["", "", "&force=true", "&force=false"]) };
    let mut body = object(kind, &name, rng);
    match rng.next() % 6 {
        0 => drop(body.as_object_mut().and_then(|body| body.remove("spec"))),
        1 => put(
            &mut body,
            "/metadata/labels",
            rng.one(&[json!({"app": "b"}), json!({}), json!({"app": "a", "two": "2"})]),
        ),
        2 if kind.workload() || kind.custom() => put(&mut body, "/spec/replicas", rng.one(&[json!(1), json!(7)])),
        3 => put(&mut body, rng.one(&["/metadata/zeta", "/spec/alpha"]), json!(1)),
        4 => put(&mut body, "/metadata/finalizers", json!([rng.one(&["x.io/a", "x.io/b"])])),
        _ => {}
    }
    if rng.percent(5) {
        body["apiVersion"] = "apps/v2".into();
    }
    step("apply", kind.kind, "PATCH", format!("{}/{name}{manager}{force}", kind.collection()), APPLY, &body.to_string())
}

fn json_patch(kind: &Kind, rng: &mut Rng) -> Value {
    let mut operations = vec![
        json!({"op": "add", "path": "/metadata/labels/app", "value": "b"}),
        json!({"op": "replace", "path": "/metadata/labels/app", "value": "a"}),
        json!({"op": "remove", "path": "/metadata/labels/tier"}),
        json!({"op": "remove", "path": "/metadata/nothing"}),
        json!({"op": "test", "path": "/metadata/labels/app", "value": "a"}),
        json!({"op": "add", "path": "/metadata/annotations", "value": {"x": "1"}}),
        json!({"op": "add", "path": "/metadata/annotations/x", "value": "2"}),
        json!({"op": "replace", "path": "/metadata/name", "value": "other"}),
        json!({"op": "replace", "path": "/metadata/resourceVersion", "value": "1"}),
        json!({"op": "remove", "path": "/metadata/finalizers"}),
        json!({"op": "copy", "from": "/metadata/name", "path": "/metadata/labels/copied"}),
        json!({"op": "move", "from": "/metadata/labels/app", "path": "/metadata/labels/moved"}),
        json!({"op": "odd", "path": "/metadata"}),
        json!({"op": "add"}),
        json!({"op": "add", "path": "metadata", "value": 1}),
    ];
    if kind.workload() {
        operations.extend([
            json!({"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "app:9"}),
            json!({"op": "add", "path": "/spec/template/spec/containers/-", "value": {"name": "new", "image": "n:1"}}),
            json!({"op": "replace", "path": "/spec/template/spec/containers/5/image", "value": "app:9"}),
            json!({"op": "replace", "path": "/spec/replicas", "value": 7}),
            json!({"op": "replace", "path": "/spec/replicas", "value": "x"}),
            json!({"op": "remove", "path": "/spec/selector"}),
        ]);
    }
    if kind.custom() {
        operations.extend([
            json!({"op": "replace", "path": "/spec/replicas", "value": 7}),
            json!({"op": "replace", "path": "/spec/replicas", "value": "x"}),
            json!({"op": "remove", "path": "/spec/size"}),
            json!({"op": "add", "path": "/spec/parts", "value": [{"id": "n"}]}),
            json!({"op": "add", "path": "/spec/odd", "value": 1}),
            json!({"op": "add", "path": "/spec/free", "value": {"a": {"b": 1}}}),
        ]);
    }
    if kind.kind == "ConfigMap" {
        operations.push(json!({"op": "add", "path": "/data/new", "value": "1"}));
        operations.push(json!({"op": "remove", "path": "/data/k"}));
    }
    let mut patch = vec![rng.one(&operations)];
    if rng.percent(25) {
        patch.push(rng.one(&operations));
    }
    if rng.percent(4) { patch.remove(0) } else { Value::Array(patch) }
}

fn merge(kind: &Kind, rng: &mut Rng, strategic: bool) -> Value {
    if rng.percent(35) {
        let (path, value) = mutation(kind, rng);
        let mut patch = json!({});
        put(&mut patch, &path, value);
        return patch;
    }
    let mut patches = vec![
        json!({"metadata": {"labels": {"app": "b"}}}),
        json!({"metadata": {"labels": {"tier": null}}}),
        json!({"metadata": {"labels": null}}),
        json!({"metadata": {"annotations": {"x": "1"}}}),
        json!({"metadata": {"annotations": {"note": null}}}),
        json!({"metadata": {"finalizers": null}}),
        json!({"metadata": {"finalizers": ["example.com/other"]}}),
        json!({"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "b", "uid": "${uid:configmaps/b}"}]}}),
        json!({"metadata": {"resourceVersion": format!("${{rv0:{}/a}}", kind.plural)}}),
        json!({}),
    ];
    if kind.workload() {
        patches.extend([
            json!({"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "app:7"}]}}}}),
            json!({"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "side:7"}]}}}}),
            json!({"spec": {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "1999-01-01T00:00:00Z"}}}}}),
            json!({"spec": {"replicas": 5}}),
            json!({"spec": {"replicas": null}}),
            json!({"spec": {"minReadySeconds": 700}}),
            json!({"spec": {"template": {"spec": {"volumes": [{"name": "w", "emptyDir": {}}]}}}}),
            json!({"spec": {"template": {"spec": {"nodeSelector": {"zone": "b"}}}}}),
        ]);
        if strategic {
            patches.extend([
                json!({"spec": {"template": {"spec": {"containers": [{"name": "two", "$patch": "delete"}]}}}}),
                json!({"spec": {"template": {"spec": {"containers": [{"image": "x"}]}}}}),
                json!({"spec": {"template": {"spec": {"$setElementOrder/containers": [{"name": "two"}, {"name": "app"}], "containers": [{"name": "app", "image": "app:8"}]}}}}),
                json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}),
                json!({"spec": {"template": {"spec": {"$patch": "replace", "containers": [{"name": "only", "image": "o:1"}]}}}}),
                json!({"spec": {"template": {"$patch": "odd"}}}),
            ]);
        }
    }
    match kind.kind {
        "Deployment" => patches.extend([
            json!({"spec": {"paused": true}}),
            json!({"spec": {"strategy": {"rollingUpdate": {"maxSurge": "30%"}}}}),
            json!({"spec": {"strategy": {"type": "Recreate", "rollingUpdate": null}}}),
            json!({"spec": {"progressDeadlineSeconds": 5, "minReadySeconds": 5}}),
        ]),
        "Pod" => patches.extend([
            json!({"spec": {"containers": [{"name": "app", "image": "app:7"}]}}),
            json!({"spec": {"nodeName": "n2"}}),
            json!({"spec": {"activeDeadlineSeconds": 50}}),
            json!({"spec": {"tolerations": [{"key": "z", "operator": "Exists"}]}}),
            json!({"spec": {"terminationGracePeriodSeconds": 7}}),
        ]),
        "ConfigMap" => patches.extend([
            json!({"data": {"k": "9"}}),
            json!({"data": {"k": null}}),
            json!({"data": null}),
            json!({"immutable": true}),
        ]),
        "Secret" => patches.extend([
            json!({"data": {"k": "OQ=="}}),
            json!({"stringData": {"k": "nine"}}),
            json!({"type": "other"}),
        ]),
        "Node" => patches.extend([
            json!({"spec": {"unschedulable": true}}),
            json!({"spec": {"taints": [{"key": "t", "effect": "NoSchedule"}]}}),
            json!({"spec": {"taints": null}}),
            json!({"spec": {"podCIDR": "10.0.0.0/24"}}),
        ]),
        "Lease" => patches.extend([
            json!({"spec": {"holderIdentity": "she"}}),
            json!({"spec": {"renewTime": "1999-01-02T00:00:00.000001Z"}}),
        ]),
        "Event" if kind.new_event() => patches.extend([
            json!({"series": {"count": 7, "lastObservedTime": "1999-01-01T00:00:09.000000Z"}}),
            json!({"series": null}),
            json!({"note": "else"}),
        ]),
        "Ingress" => patches.extend([
            json!({"spec": {"ingressClassName": "other"}}),
            json!({"spec": {"rules": [{"host": "new.example.com"}]}}),
            json!({"spec": {"rules": null, "defaultBackend": null}}),
        ]),
        "Role" | "ClusterRole" => patches.extend([
            json!({"rules": [{"verbs": ["watch"], "apiGroups": [""], "resources": ["secrets"]}]}),
            json!({"rules": null}),
        ]),
        "RoleBinding" | "ClusterRoleBinding" => patches.extend([
            json!({"subjects": [{"kind": "User", "name": "joe"}]}),
            json!({"subjects": null}),
            json!({"roleRef": {"name": "other"}}),
        ]),
        "NetworkPolicy" => patches.extend([
            json!({"spec": {"ingress": [{"ports": [{"port": 443}]}]}}),
            json!({"spec": {"policyTypes": ["Egress"], "egress": null}}),
            json!({"spec": {"podSelector": {"matchLabels": {"app": "z"}}}}),
        ]),
        "PriorityClass" => {
            patches.extend([json!({"value": 8}), json!({"description": "else"}), json!({"preemptionPolicy": null})]);
        }
        "IngressClass" => patches.extend([
            json!({"spec": {"controller": "example.com/else"}}),
            json!({"spec": {"parameters": null}}),
            json!({"spec": {"parameters": {"kind": "Config", "name": "y"}}}),
        ]),
        "Event" => {
            patches.extend([json!({"count": 2, "lastTimestamp": "1999-01-02T00:00:00Z"}), json!({"message": "else"})]);
        }
        "Widget" => patches.extend([
            json!({"spec": {"replicas": 5}}),
            json!({"spec": {"replicas": null}}),
            json!({"spec": {"colour": null}}),
            json!({"spec": {"labels": {"a": "9", "b": null}}}),
            json!({"spec": {"free": {"x": {"y": 2}}}}),
            json!({"spec": {"free": null}}),
            json!({"spec": {"parts": [{"id": "q", "count": 9}]}}),
            json!({"spec": {"tags": ["z"]}}),
            json!({"spec": {"level": 4}}),
            json!({"spec": {"odd": 1}}),
            json!({"spec": {"nested": {"inner": "y"}}}),
            json!({"status": {"phase": "A"}}),
        ]),
        "HorizontalPodAutoscaler" if kind.is_autoscaler_v1() => patches.extend([
            json!({"spec": {"targetCPUUtilizationPercentage": 60}}),
            json!({"spec": {"targetCPUUtilizationPercentage": null}}),
            json!({"spec": {"maxReplicas": 7}}),
            json!({"metadata": {"annotations": {"autoscaling.alpha.kubernetes.io/metrics": null}}}),
            json!({"metadata": {"annotations": {"autoscaling.alpha.kubernetes.io/behavior": null, "x": "1"}}}),
        ]),
        "HorizontalPodAutoscaler" => patches.extend([
            json!({"spec": {"maxReplicas": 8}}),
            json!({"spec": {"metrics": null}}),
            json!({"spec": {"metrics": [{"type": "Resource", "resource": {"name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": 33}}}]}}),
            json!({"spec": {"behavior": null}}),
            json!({"spec": {"behavior": {"scaleUp": {"stabilizationWindowSeconds": 30}}}}),
        ]),
        "ResourceQuota" => patches.push(json!({"spec": {"hard": {"replicationcontrollers": "7"}}})),
        _ => {}
    }
    rng.one(&patches)
}
