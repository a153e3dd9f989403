//! Deletions: graceful deletion, cascading deletion, and finalizers.

use crate::tests::*;

#[test]
fn bound_pod_is_deleted_gracefully_and_unbound_pod_at_once() {
    let mut fixture = fixture();
    fixture.request(Method::POST, PODS, &pod("a"));
    let binding = json!({"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n1"}});
    assert_eq!(fixture.request(Method::POST, &format!("{PODS}/a/binding"), &binding).0, 201);
    assert_eq!(fixture.request(Method::POST, &format!("{PODS}/a/binding"), &binding).0, 409);
    let (_, deleting) = fixture.request(Method::DELETE, &format!("{PODS}/a"), &Value::Null);
    assert_eq!(deleting["metadata"]["deletionGracePeriodSeconds"], 30);
    assert_eq!(deleting["metadata"]["deletionTimestamp"], "2026-01-05T00:00:30Z");
    assert_eq!(fixture.get(&format!("{PODS}/a")).0, 200);
    fixture.request(Method::DELETE, &format!("{PODS}/a"), &json!({"gracePeriodSeconds": 0}));
    assert_eq!(fixture.get(&format!("{PODS}/a")).0, 404);
    fixture.request(Method::POST, PODS, &pod("b"));
    fixture.request(Method::DELETE, &format!("{PODS}/b"), &Value::Null);
    assert_eq!(fixture.get(&format!("{PODS}/b")).0, 404);
}

/// Creates a Deployment with a ReplicaSet that it owns.
fn create_owner_and_dependent(fixture: &mut Fixture) {
    let (_, web) = fixture.request(Method::POST, DEPLOYMENTS, &deployment("web"));
    let owner = json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": web["metadata"]["uid"],
        "controller": true, "blockOwnerDeletion": true}]);
    let set = json!({"metadata": {"name": "web-1", "ownerReferences": owner},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template("web")}});
    assert_eq!(fixture.request(Method::POST, SETS, &set).0, 201);
}

#[rstest]
#[case("Background", 404, 404)]
#[case("Foreground", 404, 404)]
#[case("Orphan", 404, 200)]
fn propagation_policy_decides_about_dependents(#[case] how: &str, #[case] owner: u16, #[case] dependent: u16) {
    let mut fixture = fixture();
    create_owner_and_dependent(&mut fixture);
    fixture.request(Method::DELETE, &format!("{DEPLOYMENTS}/web"), &json!({"propagationPolicy": how}));
    if how != "Background" {
        assert_eq!(fixture.get(&format!("{DEPLOYMENTS}/web")).0, 200, "a finalizer keeps it");
    }
    fixture.step_controllers();
    assert_eq!(fixture.get(&format!("{DEPLOYMENTS}/web")).0, owner);
    let (code, set) = fixture.get(&format!("{SETS}/web-1"));
    assert_eq!(code, dependent);
    if code == 200 {
        assert_eq!(set["metadata"]["ownerReferences"], Value::Null);
    }
}

#[test]
fn deleting_a_namespace_deletes_its_content_and_rejects_new_objects() {
    let mut fixture = fixture();
    create_owner_and_dependent(&mut fixture);
    fixture.request(Method::DELETE, "/api/v1/namespaces/default", &Value::Null);
    let (code, status) = fixture.request(Method::POST, PODS, &pod("a"));
    assert_eq!((code, &status["details"]["causes"][0]["reason"]), (403, &json!("NamespaceTerminating")));
    fixture.step_controllers();
    assert_eq!(fixture.get("/api/v1/namespaces/default").0, 404);
    assert_eq!(fixture.get(DEPLOYMENTS).1["items"], json!([]));
}

#[test]
fn removing_the_last_finalizer_deletes_without_an_update_event() {
    let mut fixture = fixture();
    fixture.request(Method::POST, DEPLOYMENTS, &deployment("web"));
    fixture.request(Method::DELETE, &format!("{DEPLOYMENTS}/web"), &json!({"propagationPolicy": "Foreground"}));
    let before = fixture.server.store.version();
    fixture.step_controllers();
    let changes = fixture.server.store.since(before);
    assert_eq!(changes.len(), 1);
    let last = changes[0].last().unwrap();
    assert_eq!(last.body["metadata"]["finalizers"], json!(["foregroundDeletion"]));
}

/// A watch of ReplicaSets must be able to deliver the owner's deletion before those of its pods.
#[tokio::test(start_paused = true)]
async fn background_collector_deletes_dependents_after_their_owner() {
    let server = ApiServer::builder().controllers(ControllerMode::Background).build();
    let controllers = tokio::spawn(server.run_controllers());
    let request = async |method: Method, path: &str, body: &Value| {
        let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        let answer = server.handle(request.body(Full::<Bytes>::from(body.to_string())).unwrap()).await;
        serde_json::from_slice::<Value>(&answer.into_body().collect().await.unwrap().to_bytes()).unwrap()
    };
    let web = request(Method::POST, DEPLOYMENTS, &deployment("web")).await;
    let owner = json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": web["metadata"]["uid"]}]);
    let set = json!({"metadata": {"name": "web-1", "ownerReferences": owner},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template("web")}});
    request(Method::POST, SETS, &set).await;
    request(Method::DELETE, &format!("{DEPLOYMENTS}/web"), &json!({"propagationPolicy": "Background"})).await;
    let replica_sets = async || request(Method::GET, SETS, &Value::Null).await["items"].as_array().unwrap().len();
    assert_eq!(replica_sets().await, 1);
    crate::clock::sleep(Duration::from_secs(1)).await;
    assert_eq!(replica_sets().await, 0);
    controllers.abort();
}

/// client-go's typed client of apps/v1 sends options of apps/v1, its dynamic client those of
/// meta.k8s.io/v1.
#[rstest]
#[case("apps/v1", 200)]
#[case("meta.k8s.io/v1", 200)]
#[case("v1", 200)]
#[case("example.com/v1", 501)]
fn accepts_delete_options_of_any_served_group(#[case] version: &str, #[case] code: u16) {
    let mut fixture = fixture();
    fixture.request(Method::POST, DEPLOYMENTS, &deployment("web"));
    let options = json!({"kind": "DeleteOptions", "apiVersion": version, "propagationPolicy": "Background"});
    assert_eq!(fixture.request(Method::DELETE, &format!("{DEPLOYMENTS}/web"), &options).0, code);
}
