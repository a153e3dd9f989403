//! Deletions: what goes at once, what goes with its owner, and what a finalizer keeps.

use super::*;

#[test]
fn a_bound_pod_goes_in_two_steps_and_an_unbound_one_at_once() {
    let mut world = world();
    world.ask(Method::POST, PODS, &pod("a"));
    let binding = json!({"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n1"}});
    assert_eq!(world.ask(Method::POST, &format!("{PODS}/a/binding"), &binding).0, 201);
    assert_eq!(world.ask(Method::POST, &format!("{PODS}/a/binding"), &binding).0, 409);
    let (_, going) = world.ask(Method::DELETE, &format!("{PODS}/a"), &Value::Null);
    assert_eq!(going["metadata"]["deletionGracePeriodSeconds"], 30);
    assert_eq!(going["metadata"]["deletionTimestamp"], "2026-01-05T00:00:30Z");
    assert_eq!(world.get(&format!("{PODS}/a")).0, 200);
    world.ask(Method::DELETE, &format!("{PODS}/a"), &json!({"gracePeriodSeconds": 0}));
    assert_eq!(world.get(&format!("{PODS}/a")).0, 404);
    world.ask(Method::POST, PODS, &pod("b"));
    world.ask(Method::DELETE, &format!("{PODS}/b"), &Value::Null);
    assert_eq!(world.get(&format!("{PODS}/b")).0, 404);
}

/// A Deployment with a ReplicaSet of its own.
fn family(world: &mut World) {
    let (_, web) = world.ask(Method::POST, DEPLOYMENTS, &deployment("web"));
    let owner = json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": web["metadata"]["uid"],
        "controller": true, "blockOwnerDeletion": true}]);
    let set = json!({"metadata": {"name": "web-1", "ownerReferences": owner},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template("web")}});
    assert_eq!(world.ask(Method::POST, SETS, &set).0, 201);
}

#[rstest]
#[case("Background", 404, 404)]
#[case("Foreground", 404, 404)]
#[case("Orphan", 404, 200)]
fn dependents_follow_their_owner(#[case] how: &str, #[case] owner: u16, #[case] dependent: u16) {
    let mut world = world();
    family(&mut world);
    world.ask(Method::DELETE, &format!("{DEPLOYMENTS}/web"), &json!({"propagationPolicy": how}));
    if how != "Background" {
        assert_eq!(world.get(&format!("{DEPLOYMENTS}/web")).0, 200, "a finalizer keeps it");
    }
    world.step_controllers();
    assert_eq!(world.get(&format!("{DEPLOYMENTS}/web")).0, owner);
    let (code, set) = world.get(&format!("{SETS}/web-1"));
    assert_eq!(code, dependent);
    if code == 200 {
        assert_eq!(set["metadata"]["ownerReferences"], Value::Null);
    }
}

#[test]
fn a_namespace_takes_everything_with_it_and_takes_nothing_more_in() {
    let mut world = world();
    family(&mut world);
    world.ask(Method::DELETE, "/api/v1/namespaces/default", &Value::Null);
    let (code, status) = world.ask(Method::POST, PODS, &pod("a"));
    assert_eq!((code, &status["details"]["causes"][0]["reason"]), (403, &json!("NamespaceTerminating")));
    world.step_controllers();
    assert_eq!(world.get("/api/v1/namespaces/default").0, 404);
    assert_eq!(world.get(DEPLOYMENTS).1["items"], json!([]));
}

#[test]
fn with_its_last_finalizer_an_object_goes_and_no_watch_sees_it_without() {
    let mut world = world();
    world.ask(Method::POST, DEPLOYMENTS, &deployment("web"));
    world.ask(Method::DELETE, &format!("{DEPLOYMENTS}/web"), &json!({"propagationPolicy": "Foreground"}));
    let before = world.server.store.version();
    world.step_controllers();
    let changes = world.server.store.since(before);
    assert_eq!(changes.len(), 1);
    let last = changes[0].last().unwrap();
    assert_eq!(last.body["metadata"]["finalizers"], json!(["foregroundDeletion"]));
}

/// A watch of ReplicaSets must be able to deliver the deletion before the pods' follow.
#[tokio::test(start_paused = true)]
async fn in_the_background_dependents_are_deleted_after_their_owner() {
    let server = ApiServer::builder().controllers(Controllers::Background).build();
    let controllers = tokio::spawn(server.run_controllers());
    let ask = async |method: Method, path: &str, body: &Value| {
        let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        let answer = server.handle(request.body(Full::<Bytes>::from(body.to_string())).unwrap()).await;
        serde_json::from_slice::<Value>(&answer.into_body().collect().await.unwrap().to_bytes()).unwrap()
    };
    let web = ask(Method::POST, DEPLOYMENTS, &deployment("web")).await;
    let owner = json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": web["metadata"]["uid"]}]);
    let set = json!({"metadata": {"name": "web-1", "ownerReferences": owner},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template("web")}});
    ask(Method::POST, SETS, &set).await;
    ask(Method::DELETE, &format!("{DEPLOYMENTS}/web"), &json!({"propagationPolicy": "Background"})).await;
    let there = async || ask(Method::GET, SETS, &Value::Null).await["items"].as_array().unwrap().len();
    assert_eq!(there().await, 1);
    crate::clock::sleep(Duration::from_secs(1)).await;
    assert_eq!(there().await, 0);
    controllers.abort();
}

/// client-go's typed client of apps/v1 sends options of apps/v1, its dynamic client those of
/// meta.k8s.io/v1.
#[rstest]
#[case("apps/v1", 200)]
#[case("meta.k8s.io/v1", 200)]
#[case("v1", 200)]
#[case("example.com/v1", 501)]
fn delete_options_may_be_of_any_group_that_is_served(#[case] version: &str, #[case] code: u16) {
    let mut world = world();
    world.ask(Method::POST, DEPLOYMENTS, &deployment("web"));
    let options = json!({"kind": "DeleteOptions", "apiVersion": version, "propagationPolicy": "Background"});
    assert_eq!(world.ask(Method::DELETE, &format!("{DEPLOYMENTS}/web"), &options).0, code);
}
