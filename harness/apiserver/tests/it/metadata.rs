//! Partial metadata, as the clients of client-go's package `metadata` request it: preferably in
//! protobuf.

use http_body_util::BodyExt as _;
use kube_apiserver_sim::{ApiServer, protobuf};
use serde_json::{Value, json};

fn accepted(kind: &str) -> String {
    let content_type = |coding: &str| format!("application/{coding};as={kind};g=meta.k8s.io;v=v1");
    format!("{},{},application/json", content_type("vnd.kubernetes.protobuf"), content_type("json"))
}

async fn send(server: &ApiServer, path: &str, accept: &str) -> http::Response<kube_apiserver_sim::ResponseBody> {
    let request = http::Request::get(path).header("accept", accept);
    server.handle(request.body(http_body_util::Full::<bytes::Bytes>::default()).expect("a request")).await
}

#[tokio::test(start_paused = true)]
async fn clients_do_not_cache_responses() {
    let response = send(&ApiServer::new(), "/api/v1/namespaces", "").await;
    assert_eq!(response.headers()["cache-control"], "no-cache, private");
}

#[tokio::test(start_paused = true)]
async fn serves_partial_metadata_in_protobuf() {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "v"},
        "metadata": {"name": "a", "namespace": "default", "labels": {"app": "web"}}});
    let server = ApiServer::builder().objects([map]).unwrap().build();
    let path = "/api/v1/namespaces/default/configmaps";
    let response = send(&server, path, &accepted("PartialObjectMetadataList")).await;
    assert_eq!(response.headers()["content-type"], protobuf::MEDIA_TYPE);
    let list = protobuf::decode(&response.into_body().collect().await.unwrap().to_bytes()).unwrap();
    assert_eq!((&list["kind"], &list["apiVersion"]), (&"PartialObjectMetadataList".into(), &"meta.k8s.io/v1".into()));
    assert_eq!(list["items"][0]["metadata"]["labels"]["app"], "web");
    assert_eq!(list["items"][0].get("data"), None);

    let response = send(&server, &format!("{path}/a"), &accepted("PartialObjectMetadata")).await;
    let one = protobuf::decode(&response.into_body().collect().await.unwrap().to_bytes()).unwrap();
    assert_eq!((&one["kind"], &one["metadata"]["name"]), (&"PartialObjectMetadata".into(), &"a".into()));

    let response = send(&server, &format!("{path}?watch=true"), &accepted("PartialObjectMetadata")).await;
    let mut body = response.into_body();
    let mut frame = body.frame().await.unwrap().unwrap().into_data().unwrap().to_vec();
    let event = protobuf::WireEvent::take(&mut frame).unwrap().expect("a whole frame");
    let object: Value = protobuf::decode(&event.object).unwrap();
    assert_eq!((event.kind.as_str(), &object["metadata"]["name"]), ("ADDED", &"a".into()));
    assert_eq!(object["kind"], "PartialObjectMetadata");
}

#[tokio::test(start_paused = true)]
async fn rejects_accept_header_without_known_type() {
    let server = ApiServer::new();
    for (accept, code) in [("application/*", 406), ("application/*,application/json", 200), ("*/*", 200)] {
        assert_eq!(send(&server, "/api/v1/namespaces", accept).await.status(), code, "{accept}");
    }
}
