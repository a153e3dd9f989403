//! Converts one autoscaler between both versions.

use rstest::rstest;
use serde_json::{Value, json};

use crate::registry::autoscaling::v1::*;

fn v2(spec: &Value, status: &Value) -> Value {
    let mut object = json!({"metadata": {"name": "a", "annotations": {"note": "1"}}, "spec": spec, "status": status});
    object["spec"]["maxReplicas"] = 3.into();
    object["spec"]["scaleTargetRef"] = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
    complete("HorizontalPodAutoscaler", object)
}

fn note<'a>(v1: &'a Value, name: &str) -> Option<&'a str> {
    v1["metadata"]["annotations"][name].as_str()
}

#[test]
fn cpu_utilization_becomes_a_field_of_v1() {
    let object = v2(&json!({"metrics": [cpu_utilization(&50.into())]}), &json!({}));
    let v1 = to_v1(&object);
    assert_eq!(v1["spec"]["targetCPUUtilizationPercentage"], 50);
    assert_eq!(v1["metadata"]["annotations"], json!({"note": "1"}));
    assert_eq!(v1["status"], json!({"currentReplicas": 0, "desiredReplicas": 0}));
    assert_eq!(from_v1(&v1), object);
}

#[test]
fn v1_annotations_use_upstream_field_order() {
    let object = v2(
        &json!({"metrics": [
            {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Mi"}}},
            {"type": "Object", "object": {"describedObject": {"kind": "Service", "name": "s", "apiVersion": "v1"},
                "metric": {"name": "hits"}, "target": {"type": "Value", "value": "9"}}},
        ], "behavior": {"scaleUp": {"selectPolicy": "Min", "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}]}}}),
        &json!({"conditions": [{"type": "AbleToScale", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z",
            "reason": "Ready", "message": "1 < 2"}], "currentMetrics": [{"type": "Resource",
            "resource": {"name": "cpu", "current": {"averageUtilization": 7, "averageValue": "70m"}}}]}),
    );
    let v1 = to_v1(&object);
    assert_eq!(
        note(&v1, METRICS),
        Some(concat!(
            r#"[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Mi"}},"#,
            r#"{"type":"Object","object":{"target":{"kind":"Service","name":"s","apiVersion":"v1"},"#,
            r#""metricName":"hits","targetValue":"9"}}]"#
        ))
    );
    assert_eq!(
        note(&v1, BEHAVIOR),
        Some(concat!(
            r#"{"ScaleUp":{"StabilizationWindowSeconds":null,"SelectPolicy":"Min","#,
            r#""Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15}],"Tolerance":null},"ScaleDown":null}"#
        ))
    );
    assert_eq!(
        note(&v1, CONDITIONS),
        Some(concat!(
            r#"[{"type":"AbleToScale","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z","#,
            r#""reason":"Ready","message":"1 \u003c 2"}]"#
        ))
    );
    assert_eq!(
        note(&v1, CURRENT),
        Some(concat!(
            r#"[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":7,"#,
            r#""currentAverageValue":"70m"}}]"#
        ))
    );
    assert_eq!(v1["status"]["currentCPUUtilizationPercentage"], 7);
    assert_eq!(from_v1(&v1), object);
}

#[rstest]
#[case::nothing_is_said(json!({}), json!(null), json!([cpu_utilization(&80.into())]))]
#[case::no_list(json!({METRICS: "5"}), json!(null), json!([cpu_utilization(&80.into())]))]
#[case::no_json(json!({METRICS: "["}), json!(30), json!([cpu_utilization(&30.into())]))]
#[case::an_empty_list(json!({METRICS: "[]"}), json!(null), json!([cpu_utilization(&80.into())]))]
#[case::both(
    json!({METRICS: r#"[{"type":"Pods","pods":{"metricName":"q","targetAverageValue":"2"}}]"#}),
    json!(30),
    json!([{"type": "Pods", "pods": {"metric": {"name": "q"}, "target": {"type": "AverageValue", "averageValue": "2"}}},
        cpu_utilization(&30.into())])
)]
fn metrics_come_from_the_annotation_and_the_field(#[case] notes: Value, #[case] share: Value, #[case] metrics: Value) {
    let mut v1 = json!({"metadata": {"name": "a", "annotations": notes}, "spec": {"maxReplicas": 3}});
    if !share.is_null() {
        v1["spec"]["targetCPUUtilizationPercentage"] = share;
    }
    let object = from_v1(&v1);
    assert_eq!(object["spec"]["metrics"], metrics);
    assert_eq!(object["metadata"], json!({"name": "a"}), "the annotation stands for a field alone");
}

#[test]
fn reads_behavior_annotation_case_insensitively() {
    let text = r#"{"scaleDown":{"policies":[{"type":"Percent","value":10,"PERIODSECONDS":60}]}}"#;
    let policy = json!({"type": "Percent", "value": 10, "periodSeconds": 60});
    assert_eq!(text::read_behavior(text), Some(json!({"scaleDown": {"policies": [policy]}})));
    assert_eq!(text::read_behavior("{}"), None);
    assert_eq!(text::read_behavior("[]"), None);
}
