//! The ownership of lists whose quantities a request writes in another form.

use crate::tests::*;

const LIMITS: &str = "/api/v1/namespaces/default/limitranges";
const SCALERS: &str = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";

fn limits(cpu: &str) -> Value {
    json!({"metadata": {"name": "a"}, "spec": {"limits": [{"type": "Container", "max": {"cpu": cpu}}]}})
}

fn scaler(amount: &str) -> Value {
    let target = json!({"type": "AverageValue", "averageValue": amount});
    let metric = json!({"type": "Resource", "resource": {"name": "cpu", "target": target}});
    json!({"metadata": {"name": "a"}, "spec": {"maxReplicas": 3, "metrics": [metric],
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}})
}

fn workload(cpu: &str) -> Value {
    let mut web = deployment("a");
    web["spec"]["template"]["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": cpu}});
    web
}

/// The last writer owns an atomic list if its quantities differ in memory from the stored ones, as
/// on kube-apiserver.
#[rstest]
#[case::other_form(LIMITS, "limits", limits("0.25"), limits("0.25"), true)]
#[case::stored_form(LIMITS, "limits", limits("0.25"), limits("250m"), false)]
#[case::other_form_that_is_parsed_alike(LIMITS, "limits", limits("8192Ki"), limits("8192Ki"), false)]
#[case::metrics(SCALERS, "metrics", scaler("0.25"), scaler("0.25"), true)]
#[case::metrics_in_stored_form(SCALERS, "metrics", scaler("0.25"), scaler("250m"), false)]
#[case::merged_list(DEPLOYMENTS, "template", workload("0.25"), workload("0.25"), false)]
fn writer_of_quantity_in_other_form_owns_its_list(
    #[case] collection: &str,
    #[case] field: &str,
    #[case] created: Value,
    #[case] given: Value,
    #[case] moves: bool,
) {
    let owns = |object: &Value, manager: &str| {
        let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
        let owned = entries.iter().find(|entry| entry["manager"] == manager).map(|entry| &entry["fieldsV1"]["f:spec"]);
        owned.is_some_and(|spec| spec.get(format!("f:{field}")).is_some())
    };
    let mut fixture = fixture();
    let (code, stored) = fixture.request(Method::POST, &format!("{collection}?fieldManager=first"), &created);
    assert_eq!((code, owns(&stored, "first")), (201, true), "{stored}");
    let path = format!("{collection}/a?fieldManager=second");
    let (code, updated) = fixture.request(Method::PUT, &path, &given);
    assert_eq!((code, &updated["spec"]), (200, &stored["spec"]));
    assert_eq!((owns(&updated, "first"), owns(&updated, "second")), (!moves, moves), "{updated}");
    let path = format!("{collection}/a?fieldManager=third");
    let (code, patched) = fixture.request(Method::PATCH, &path, &json!({"metadata": {"labels": {"a": "b"}}}));
    assert_eq!((code, owns(&patched, "third")), (200, false), "a patch reads the stored form");
}

/// Upstream: `validatePodResources` compares only what is set.
#[test]
fn empty_resources_of_a_pod_as_a_whole_are_kept() {
    let mut server = fixture();
    let mut web = deployment("web");
    web["spec"]["template"]["spec"]["resources"] = json!({});
    let (code, created) = server.request(Method::POST, DEPLOYMENTS, &web);
    assert_eq!((code, &created["spec"]["template"]["spec"]["resources"]), (201, &json!({})), "{created}");
}
