//! The server on a socket without TLS, with kube over real HTTP.

use std::convert::Infallible;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::StreamBody;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, ListParams};
use kube::{Client, Config};
use kube_apiserver_sim::{ApiServer, ListenHandle, ListenOptions, Reaction, UNSUPPORTED_PATH, VERSION};
use rstest::rstest;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tower_service::Service;

fn client(listening: &ListenHandle, token: Option<&str>) -> Client {
    let mut config = Config::new(listening.url().parse().expect("a URL"));
    config.auth_info.token = token.map(|token| token.to_owned().into());
    Client::try_from(config).expect("the configuration is complete")
}

#[tokio::test]
async fn serves_every_client_without_tokens() {
    let listening = ApiServer::new().listen(ListenOptions::loopback()).unwrap();
    let client = client(&listening, None);
    assert_eq!(client.apiserver_version().await.unwrap().git_version, VERSION);
    let namespaces: Api<Namespace> = Api::all(client);
    assert_eq!(namespaces.list(&ListParams::default()).await.unwrap().items.len(), 4);
}

#[tokio::test]
async fn requires_a_configured_bearer_token() {
    let server = ApiServer::new();
    let listening = server.listen(ListenOptions::loopback().token("a").token("b")).unwrap();
    for (token, code) in [(Some("a"), 200), (Some("b"), 200), (Some("c"), 401), (None, 401)] {
        let response = client(&listening, token).apiserver_version().await;
        let found = match response {
            Ok(_) => 200,
            Err(kube::Error::Api(status)) => status.code,
            Err(other) => panic!("{other}"),
        };
        assert_eq!(found, code, "{token:?}");
    }
}

#[tokio::test]
async fn unsupported_requests_can_be_read_over_http() {
    let server = ApiServer::new();
    let listening = server.listen(ListenOptions::loopback()).unwrap();
    let client = client(&listening, None);
    let get = |path: &str| Request::get(path).body(Vec::new()).unwrap();
    client.request_text(get("/metrics")).await.unwrap_err();
    let recorded: Vec<String> = client.request(get(UNSUPPORTED_PATH)).await.unwrap();
    assert_eq!(recorded, server.unsupported());
    assert_eq!(recorded, ["GET /metrics: kube-apiserver-sim does not support the path /metrics"]);
}

/// A hook applies to clients over HTTP too.
#[tokio::test]
async fn hook_applies_to_http_clients() {
    let server = ApiServer::new();
    let listening = server.listen(ListenOptions::loopback()).unwrap();
    let client = client(&listening, None);
    server.on_request(|_| Reaction::failure(http::StatusCode::FORBIDDEN, "Forbidden", "not you"));
    let refused = client.apiserver_version().await;
    assert!(matches!(&refused, Err(kube::Error::Api(status)) if status.code == 403), "{refused:?}");
    server.on_request(|_| Reaction::Disconnect);
    let broken = client.apiserver_version().await;
    assert!(!matches!(&broken, Ok(_) | Err(kube::Error::Api(_))), "{broken:?}");
    server.on_request(|_| Reaction::Pass);
    client.apiserver_version().await.unwrap();
}

#[tokio::test]
async fn dropping_the_handle_stops_listening() {
    let listening = ApiServer::new().listen(ListenOptions::loopback()).unwrap();
    let client = client(&listening, None);
    client.apiserver_version().await.unwrap();
    drop(listening);
    client.apiserver_version().await.unwrap_err();
}

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A server with a ConfigMap.
async fn server_with_a_map() -> ApiServer {
    let server = ApiServer::new();
    let map = json!({"metadata": {"name": "a", "finalizers": ["example.com/x"]}, "data": {"a": "1"}}).to_string();
    let request = Request::post(MAPS).header("content-type", "application/json");
    assert_eq!(server.handle(request.body(map).expect("a request")).await.status(), 201);
    server
}

fn maps(server: &ApiServer) -> Vec<Value> {
    server.storage("configmaps").expect("they are served").list("default")
}

/// Writes that would change something if a truncated or empty body were accepted.
fn writes() -> Vec<(Method, String, &'static str, Value)> {
    let path = format!("{MAPS}/a");
    let map = |name: &str| json!({"metadata": {"name": name}, "data": {"a": "2"}});
    let options = json!({"preconditions": {"uid": "another"}, "propagationPolicy": "Orphan"});
    vec![
        (Method::DELETE, path.clone(), "application/json", options.clone()),
        (Method::DELETE, MAPS.to_owned(), "application/json", options),
        (Method::POST, MAPS.to_owned(), "application/json", map("b")),
        (Method::PUT, path.clone(), "application/json", map("a")),
        (Method::PATCH, path.clone(), "application/merge-patch+json", map("a")),
        (Method::PATCH, path.clone() + "?fieldManager=x&force=1", "application/apply-patch+yaml", map("a")),
    ]
}

#[rstest]
#[case::of_a_length(false)]
#[case::in_chunks(true)]
#[tokio::test]
async fn aborted_upload_changes_nothing(#[case] chunked: bool) {
    let server = server_with_a_map().await;
    let listening = server.listen(ListenOptions::loopback()).unwrap();
    let before = maps(&server);
    for (method, path, content_type, body) in writes() {
        let body = body.to_string();
        // Send nothing of the body, a part, and all but the end.
        for sent in [0, body.len() / 2, body.len() - usize::from(!chunked)] {
            let part = &body[..sent];
            let (length, part) = match chunked {
                true if sent == 0 => ("transfer-encoding: chunked".to_owned(), String::new()),
                true => ("transfer-encoding: chunked".to_owned(), format!("{sent:x}\r\n{part}\r\n")),
                false => (format!("content-length: {}", body.len()), part.to_owned()),
            };
            let head =
                format!("{method} {path} HTTP/1.1\r\nhost: a\r\ncontent-type: {content_type}\r\n{length}\r\n\r\n");
            let mut stream = TcpStream::connect(listening.address()).await.unwrap();
            stream.write_all((head + &part).as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
            let mut response = String::new();
            // A reset connection has no response either.
            let _ = stream.read_to_string(&mut response).await;
            assert_eq!((response.as_str(), maps(&server)), ("", before.clone()), "{method} {path} {sent}");
        }
    }
}

/// As over HTTP/2, where a stream can be reset.
#[tokio::test]
async fn body_error_is_a_disconnect() {
    let mut server = server_with_a_map().await;
    let before = maps(&server);
    for (method, path, content_type, body) in writes() {
        for sent in [0, body.to_string().len()] {
            let part = Bytes::from(body.to_string().split_off(body.to_string().len() - sent));
            let frames = [Ok(http_body::Frame::data(part)), Err("reset")];
            let request = Request::builder().method(method.clone()).uri(&path).header("content-type", content_type);
            let request = request.body(StreamBody::new(futures::stream::iter(frames))).unwrap();
            let response = server.call(request).await;
            assert!(response.is_err() && maps(&server) == before, "{method} {path} {sent}");
        }
    }
}

/// The client offers three hundred megabytes; the server reads three.
#[rstest]
#[case::of_a_length(false)]
#[case::in_chunks(true)]
#[tokio::test]
async fn oversized_upload_is_rejected_before_it_is_read(#[case] chunked: bool) {
    let server = server_with_a_map().await;
    let listening = server.listen(ListenOptions::loopback()).unwrap();
    let stream = TcpStream::connect(listening.address()).await.unwrap();
    let (mut reading, mut writing) = stream.into_split();
    let length = if chunked { "transfer-encoding: chunked" } else { "content-length: 314572800" };
    let head = format!("POST {MAPS} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n{length}\r\n\r\n");
    writing.write_all(head.as_bytes()).await.unwrap();
    let sending = tokio::spawn(async move {
        let block = " ".repeat(1 << 16);
        let block = if chunked { format!("10000\r\n{block}\r\n") } else { block };
        let mut sent = 0;
        while sent < 314_572_800 && writing.write_all(block.as_bytes()).await.is_ok() {
            sent += 1 << 16;
        }
        sent
    });
    let mut response = vec![0; 12];
    reading.read_exact(&mut response).await.unwrap();
    assert_eq!(response, b"HTTP/1.1 413");
    drop(reading);
    let sent = sending.await.unwrap();
    assert!(sent < 100 << 20, "{sent} bytes were taken");
}

/// A client in the same process cannot make the server buffer more either.
#[tokio::test]
async fn oversized_body_in_frames_is_rejected() {
    let server = ApiServer::new();
    let mut taken = 0;
    let frames = (0..300).map(|_| {
        taken += 1;
        Ok::<_, Infallible>(http_body::Frame::data(Bytes::from(" ".repeat(1 << 20))))
    });
    let request = Request::post(MAPS).header("content-type", "application/json");
    let response = server.handle(request.body(StreamBody::new(futures::stream::iter(frames))).unwrap()).await;
    assert_eq!(response.status(), 413);
    assert_eq!(taken, 4, "four frames are enough to know");
}
