//! Checks cells that the comparison with a real server does not reach, against upstream's values.

use rstest::rstest;
use serde_json::{Value, json};

use crate::registry::autoscaling::horizontal_pod_autoscaler::AutoscalerStrategy;
use crate::registry::core::config_map;
use crate::registry::core::pod::PodStrategy;
use crate::registry::kinds::KINDS;
use crate::schema::printers::*;

fn row_of(strategy: &dyn Strategy, object: &Value) -> Vec<String> {
    let now = "2030-01-01T00:10:00Z".parse().unwrap();
    let text = |cell: Value| cell.as_str().map_or_else(|| cell.to_string(), str::to_owned);
    strategy.cells(object, now).into_iter().map(text).collect()
}

#[rstest]
#[case(-2, "<invalid>")]
#[case(-1, "0s")]
#[case(119, "119s")]
#[case(120, "2m")]
#[case(599, "9m59s")]
#[case(600, "10m")]
#[case(10_799, "179m")]
#[case(10_800, "3h")]
#[case(28_799, "7h59m")]
#[case(28_800, "8h")]
#[case(172_799, "47h")]
#[case(172_800, "2d")]
#[case(176_400, "2d1h")]
#[case(691_200, "8d")]
#[case(63_072_000, "2y")]
#[case(63_158_400, "2y1d")]
#[case(252_288_000, "8y")]
fn formats_ages_as_kubectl_does(#[case] seconds: i64, #[case] expected: &str) {
    assert_eq!(age::human(jiff::SignedDuration::from_secs(seconds)), expected);
}

#[test]
fn every_kind_has_a_cell_for_each_column() {
    for kind in KINDS {
        let strategy = strategy_of(kind);
        let cells = strategy.cells(&json!({"metadata": {"name": "a"}}), Timestamp::UNIX_EPOCH);
        assert_eq!(cells.len(), strategy.columns().len(), "{}", kind.kind);
    }
}

fn pod(status: &Value) -> Value {
    json!({"metadata": {"name": "a", "creationTimestamp": "2030-01-01T00:00:00Z"},
        "spec": {"containers": [{"name": "a"}, {"name": "b"}], "initContainers": [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}]},
        "status": status})
}

#[rstest]
#[case::new(json!({"phase": "Pending"}), "0/3 Pending 0")]
#[case::gated(json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]}),
    "0/3 SchedulingGated 0")]
#[case::initializing(json!({"phase": "Pending", "initContainerStatuses": [{"name": "i", "restartCount": 1, "state": {"running": {}}}]}),
    "0/3 Init:0/2 1")]
#[case::init_failed(json!({"phase": "Failed", "initContainerStatuses": [{"name": "i", "state": {"terminated": {"exitCode": 2}}}]}),
    "0/3 Init:ExitCode:2 0")]
#[case::waiting(json!({"phase": "Pending", "containerStatuses": [{"name": "a", "state": {"waiting": {"reason": "ErrImagePull"}}}]}),
    "0/3 ErrImagePull 0")]
#[case::restarted(json!({"phase": "Running", "containerStatuses": [
    {"name": "a", "ready": true, "restartCount": 3, "state": {"running": {}}, "lastState": {"terminated": {"finishedAt": "2030-01-01T00:09:00Z"}}}]}),
    "1/3 Running 3 (60s ago)")]
#[case::one_completed(json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}], "containerStatuses": [
    {"name": "a", "ready": true, "state": {"running": {}}}, {"name": "b", "state": {"terminated": {"reason": "Completed", "exitCode": 0}}}]}),
    "1/3 Running 0")]
#[case::sidecar(json!({"phase": "Running", "initContainerStatuses": [
    {"name": "i", "restartCount": 4, "state": {"terminated": {"exitCode": 0}}},
    {"name": "s", "started": true, "ready": true, "restartCount": 2, "state": {"running": {}}}]}), "1/3 Running 2")]
fn pod_cells_summarize_container_states(#[case] status: Value, #[case] expected: &str) {
    let cells = row_of(&PodStrategy, &pod(&status));
    assert_eq!(format!("{} {} {}", cells[1], cells[2], cells[3]), expected);
    assert_eq!(cells[4], "10m");
}

#[test]
fn deleted_pod_shows_terminating() {
    let mut pod = pod(&json!({"phase": "Running"}));
    pod["metadata"]["deletionTimestamp"] = "2030-01-01T00:00:00Z".into();
    assert_eq!(row_of(&PodStrategy, &pod)[2], "Terminating");
    pod["status"]["reason"] = "NodeLost".into();
    assert_eq!(row_of(&PodStrategy, &pod)[2], "Unknown");
    pod["status"] = json!({"phase": "Succeeded"});
    assert_eq!(row_of(&PodStrategy, &pod)[2], "Succeeded");
}

#[test]
fn autoscaler_cell_shows_two_metrics() {
    let resource =
        |name: &str| json!({"type": "Resource", "resource": {"name": name, "target": {"averageUtilization": 80}}});
    let object = json!({"metadata": {"name": "a"}, "spec": {"maxReplicas": 5, "scaleTargetRef": {"kind": "Deployment", "name": "web"},
        "metrics": [resource("cpu"), {"type": "Pods", "pods": {"target": {"averageValue": "10"}}}, resource("memory")]},
        "status": {"currentMetrics": [{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 7}}}]}});
    let cells = row_of(&AutoscalerStrategy, &object);
    assert_eq!(cells[1..5], ["Deployment/web", "cpu: 7%/80%, <unknown>/10 + 1 more...", "<unset>", "5"]);
}

#[test]
fn row_object_follows_include_object_parameter() {
    let list = json!({"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {"resourceVersion": "7", "continue": "c"},
        "items": [{"metadata": {"name": "a"}, "data": {"x": "1"}}]});
    let style = |include, headers| TableOptions {
        api_version: "meta.k8s.io/v1",
        include,
        headers,
        now: Timestamp::UNIX_EPOCH,
        requested_kind: None,
    };
    let kind = Some(&config_map::KIND);
    let with = |include| table(&list, kind, style(include, true));
    assert_eq!(with(Include::Nothing)["rows"][0]["object"], Value::Null);
    assert_eq!(with(Include::Metadata)["rows"][0]["object"]["kind"], "PartialObjectMetadata");
    let whole = with(Include::Object);
    assert_eq!(
        whole["rows"][0]["object"],
        json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}, "data": {"x": "1"}})
    );
    assert_eq!(whole["metadata"], json!({"resourceVersion": "7", "continue": "c"}));
    assert_eq!(table(&list, kind, style(Include::Metadata, false))["columnDefinitions"], Value::Null);
    assert!(Include::of("Some").unwrap_err().message.ends_with("must be 'Metadata', 'Object', 'None', or empty"));
}
