//! Metadata alone, as the clients of client-go's package `metadata` ask for it: in protobuf first.

use http_body_util::BodyExt as _;
use kube_apiserver_sim::{ApiServer, protobuf};
use serde_json::{Value, json};

fn accepted(kind: &str) -> String {
    let form = |coding: &str| format!("application/{coding};as={kind};g=meta.k8s.io;v=v1");
    format!("{},{},application/json", form("vnd.kubernetes.protobuf"), form("json"))
}

async fn ask(server: &ApiServer, path: &str, accept: &str) -> http::Response<kube_apiserver_sim::ResponseBody> {
    let request = http::Request::get(path).header("accept", accept);
    server.handle(request.body(http_body_util::Full::<bytes::Bytes>::default()).expect("a request")).await
}

#[tokio::test(start_paused = true)]
async fn metadata_alone_has_a_form_in_protobuf() {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "v"},
        "metadata": {"name": "a", "namespace": "default", "labels": {"app": "web"}}});
    let server = ApiServer::builder().objects([map]).unwrap().build();
    let path = "/api/v1/namespaces/default/configmaps";
    let answer = ask(&server, path, &accepted("PartialObjectMetadataList")).await;
    assert_eq!(answer.headers()["content-type"], protobuf::MEDIA_TYPE);
    let list = protobuf::decode(&answer.into_body().collect().await.unwrap().to_bytes()).unwrap();
    assert_eq!((&list["kind"], &list["apiVersion"]), (&"PartialObjectMetadataList".into(), &"meta.k8s.io/v1".into()));
    assert_eq!(list["items"][0]["metadata"]["labels"]["app"], "web");
    assert_eq!(list["items"][0].get("data"), None);

    let answer = ask(&server, &format!("{path}/a"), &accepted("PartialObjectMetadata")).await;
    let one = protobuf::decode(&answer.into_body().collect().await.unwrap().to_bytes()).unwrap();
    assert_eq!((&one["kind"], &one["metadata"]["name"]), (&"PartialObjectMetadata".into(), &"a".into()));

    let answer = ask(&server, &format!("{path}?watch=true"), &accepted("PartialObjectMetadata")).await;
    let mut body = answer.into_body();
    let mut frame = body.frame().await.unwrap().unwrap().into_data().unwrap().to_vec();
    let event = protobuf::Event::take(&mut frame).unwrap().expect("a whole frame");
    let object: Value = protobuf::decode(&event.object).unwrap();
    assert_eq!((event.kind.as_str(), &object["metadata"]["name"]), ("ADDED", &"a".into()));
    assert_eq!(object["kind"], "PartialObjectMetadata");
}

#[tokio::test(start_paused = true)]
async fn a_header_must_name_a_form() {
    let server = ApiServer::new();
    for (accept, code) in [("application/*", 406), ("application/*,application/json", 200), ("*/*", 200)] {
        assert_eq!(ask(&server, "/api/v1/namespaces", accept).await.status(), code, "{accept}");
    }
}
