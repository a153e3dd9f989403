//! Random requests to subresources: status, scale, binding and eviction.

use serde_json::json;

use super::bodies::{object, status};
use super::kinds::Kind;
use super::rng::Rng;
use super::spell::{text, validation};
use super::step::{APPLY, JSON, MERGE, PATCH, STRATEGIC, Step, step};

/// A request to status, scale, binding or eviction.
pub(crate) fn parts(kind: &Kind, rng: &mut Rng) -> Step {
    let name = kind.name(rng);
    let at = format!("{}/{name}", kind.collection());
    if kind.kind == "Pod" && rng.percent(40) {
        let target = rng.one(&[
            json!({"kind": "Node", "name": "n1"}),
            json!({"name": "n2"}),
            json!({"kind": "Pod", "name": "n1"}),
            json!({}),
            json!({"kind": "Node", "name": ""}),
        ]);
        let named = if rng.percent(90) { name } else { "c".to_owned() };
        let mut body = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": named}, "target": target});
        if rng.percent(15) {
            body["metadata"]["annotations"] = json!({"bound": "1"});
        }
        if rng.percent(10) {
            body["metadata"]["uid"] = rng.one(&["${uid:pods/a}", "00000000-0000-4000-8000-000000000000"]).into();
        }
        return step("bind", kind.kind, "POST", format!("{at}/binding"), JSON, &text(&body, rng));
    }
    if kind.kind == "Pod" && rng.percent(30) {
        return evict(kind, &at, &name, rng);
    }
    if kind.scale && rng.percent(50) {
        if rng.percent(20) {
            return apply_scale(kind, &at, &name, rng);
        }
        let path = format!("{at}/scale{}", validation(rng));
        return match rng.next() % 3 {
            0 => step("get-scale", kind.kind, "GET", path, "", ""),
            1 => {
                let spec = rng.one(&[
                    json!({"replicas": 4}),
                    json!({"replicas": 0}),
                    json!({}),
                    json!({"replicas": -2}),
                    json!({"replicas": "x"}),
                ]);
                let mut body = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": name, "namespace": "$NS"}, "spec": spec});
                if rng.percent(25) {
                    let version = rng.one(&["${rv:", "${rv0:"]);
                    body["metadata"]["resourceVersion"] = format!("{version}{}/{name}}}", kind.plural).into();
                }
                if rng.percent(10) {
                    body["metadata"]["name"] = rng.one(&["other", ""]).into();
                }
                step("replace-scale", kind.kind, "PUT", path, JSON, &text(&body, rng))
            }
            _ => {
                if rng.percent(33) {
                    let operations = [
                        json!([{"op": "replace", "path": "/spec/replicas", "value": 6}]),
                        json!([{"op": "replace", "path": "/spec/replicas", "value": -1}]),
                        json!([{"op": "test", "path": "/spec/replicas", "value": 1}, {"op": "add", "path": "/spec/replicas", "value": 2}]),
                        json!([{"op": "remove", "path": "/spec/replicas"}]),
                        json!([{"op": "add", "path": "/spec/odd", "value": 1}, {"op": "replace", "path": "/spec/replicas", "value": 8}]),
                    ];
                    let body = text(&rng.one(&operations), rng);
                    // Only managedFields show patches that change nothing.
                    let body = if matches!(body.as_str(), "[]" | "null") { "[{}]".to_owned() } else { body };
                    return step("json-patch-scale", kind.kind, "PATCH", path, PATCH, &body);
                }
                let body = rng.one(&[
                    json!({"spec": {"replicas": 6}}),
                    json!({"spec": {"replicas": -1}}),
                    json!({"spec": {"replicas": null}}),
                    json!({"spec": {"replicas": "x"}}),
                    json!({"spec": {"replicas": 5, "odd": 1}}),
                    json!({"metadata": {"resourceVersion": "1"}}),
                ]);
                let (verb, form) = rng.one(&[("merge-patch-scale", MERGE), ("strategic-patch-scale", STRATEGIC)]);
                let body = text(&body, rng);
                let body = if body == "null" { "[]".to_owned() } else { body };
                step(verb, kind.kind, "PATCH", path, form, &body)
            }
        };
    }
    if !kind.status {
        return step("get", kind.kind, "GET", at, "", "");
    }
    let path = format!("{at}/status{}", validation(rng));
    let status = status(kind, rng);
    match rng.next() % 5 {
        0 => step("get-status", kind.kind, "GET", format!("{at}/status"), "", ""),
        1 | 2 => {
            let mut body = object(kind, &name, rng);
            body["status"] = status;
            if rng.percent(30) {
                let version = rng.one(&["${rv:", "${rv0:"]);
                body["metadata"]["resourceVersion"] = format!("{version}{}/{name}}}", kind.plural).into();
            }
            step("replace-status", kind.kind, "PUT", path, JSON, &text(&body, rng))
        }
        _ => {
            let mut body = json!({"status": status});
            if rng.percent(15) {
                body["metadata"] = rng.one(&[
                    json!({"annotations": {"s": "1"}}),
                    json!({"labels": {"s": "1"}}),
                    json!({"finalizers": ["example.com/s"]}),
                ]);
            }
            if rng.percent(10) && kind.workload() {
                body["spec"] = json!({"replicas": 8});
            }
            if rng.percent(33) {
                let operation = rng.one(&["add", "replace", "add", "test"]);
                let mut operations = json!([{"op": operation, "path": "/status", "value": status}]);
                if rng.percent(20) {
                    operations[0]["path"] = "/status/odd".into();
                }
                return step("json-patch-status", kind.kind, "PATCH", path, PATCH, &text(&operations, rng));
            }
            let (verb, form) = rng.one(&[("merge-patch-status", MERGE), ("strategic-patch-status", STRATEGIC)]);
            step(verb, kind.kind, "PATCH", path, form, &text(&body, rng))
        }
    }
}

/// An eviction. Never with another pod's UID, as the real server retries that for ten seconds.
fn evict(kind: &Kind, at: &str, name: &str, rng: &mut Rng) -> Step {
    let named = if rng.percent(95) { name } else { "other" };
    let mut body = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": named}});
    if rng.percent(20) {
        body["metadata"]["namespace"] = rng.one(&["$NS", "other"]).into();
    }
    if rng.percent(50) {
        body["deleteOptions"] = rng.one(&[
            json!({"gracePeriodSeconds": 0}),
            json!({"gracePeriodSeconds": 5}),
            json!({"propagationPolicy": "Foreground"}),
            json!({"propagationPolicy": "Sometime"}),
            json!({"preconditions": {"resourceVersion": format!("${{rv:pods/{name}}}")}}),
            json!({"preconditions": {"resourceVersion": "1"}}),
            json!({"dryRun": ["All"]}),
            json!({"dryRun": ["Some"]}),
            json!({}),
        ]);
    }
    let path = format!("{at}/eviction{}", validation(rng));
    step("evict", kind.kind, "POST", path, JSON, &text(&body, rng))
}

/// Server-side apply of a scale by one of three managers.
fn apply_scale(kind: &Kind, at: &str, name: &str, rng: &mut Rng) -> Step {
    let manager = rng.one(&["?fieldManager=one", "?fieldManager=two", "?fieldManager=kubectl", ""]);
    let force = if manager.is_empty() { "" } else { rng.one(&["", "", "&force=true", "&force=false"]) };
    let mut body = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": name}});
    let spec = rng.one(&[
        json!({"replicas": 1}),
        json!({"replicas": 3}),
        json!({"replicas": 3}),
        json!({"replicas": 0}),
        json!({"replicas": -1}),
        json!({}),
        json!({"odd": 1}),
        json!(null),
    ]);
    if !spec.is_null() {
        body["spec"] = spec;
    }
    if rng.percent(10) {
        body["metadata"]["name"] = "other".into();
    }
    if rng.percent(5) {
        body["apiVersion"] = "apps/v1".into();
    }
    step("apply-scale", kind.kind, "PATCH", format!("{at}/scale{manager}{force}"), APPLY, &body.to_string())
}
