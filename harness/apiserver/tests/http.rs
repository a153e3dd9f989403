//! The server on a socket, without TLS: kube over real HTTP.

use std::convert::Infallible;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::StreamBody;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, ListParams};
use kube::{Client, Config};
use kube_apiserver_sim::{ApiServer, Listen, Listening, Reaction, UNSUPPORTED_PATH, VERSION};
use rstest::rstest;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tower_service::Service;

fn client(listening: &Listening, token: Option<&str>) -> Client {
    let mut config = Config::new(listening.url().parse().expect("a URL"));
    config.auth_info.token = token.map(|token| token.to_owned().into());
    Client::try_from(config).expect("the configuration is complete")
}

#[tokio::test]
async fn without_tokens_everyone_is_served() {
    let listening = ApiServer::new().listen(Listen::loopback()).unwrap();
    let client = client(&listening, None);
    assert_eq!(client.apiserver_version().await.unwrap().git_version, VERSION);
    let namespaces: Api<Namespace> = Api::all(client);
    assert_eq!(namespaces.list(&ListParams::default()).await.unwrap().items.len(), 4);
}

#[tokio::test]
async fn with_tokens_only_their_bearers_are_served() {
    let server = ApiServer::new();
    let listening = server.listen(Listen::loopback().token("a").token("b")).unwrap();
    for (token, code) in [(Some("a"), 200), (Some("b"), 200), (Some("c"), 401), (None, 401)] {
        let answer = client(&listening, token).apiserver_version().await;
        let found = match answer {
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
    let listening = server.listen(Listen::loopback()).unwrap();
    let client = client(&listening, None);
    let get = |path: &str| Request::get(path).body(Vec::new()).unwrap();
    client.request_text(get("/metrics")).await.unwrap_err();
    let recorded: Vec<String> = client.request(get(UNSUPPORTED_PATH)).await.unwrap();
    assert_eq!(recorded, server.unsupported());
    assert_eq!(recorded, ["GET /metrics: kube-apiserver-sim does not support the path /metrics"]);
}

/// A hook applies to clients over HTTP too.
#[tokio::test]
async fn a_hook_can_refuse_and_break_connections() {
    let server = ApiServer::new();
    let listening = server.listen(Listen::loopback()).unwrap();
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
async fn it_stops_listening_when_dropped() {
    let listening = ApiServer::new().listen(Listen::loopback()).unwrap();
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
    server.stored("configmaps").expect("they are served").list("default")
}

/// Writes that change something if their bodies are taken for whole, or for empty.
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
async fn an_upload_that_breaks_off_does_nothing_and_has_no_answer(#[case] chunked: bool) {
    let server = server_with_a_map().await;
    let listening = server.listen(Listen::loopback()).unwrap();
    let before = maps(&server);
    for (method, path, form, body) in writes() {
        let body = body.to_string();
        // Nothing of the body, a part, and all of it but the end.
        for sent in [0, body.len() / 2, body.len() - usize::from(!chunked)] {
            let part = &body[..sent];
            let (length, part) = match chunked {
                true if sent == 0 => ("transfer-encoding: chunked".to_owned(), String::new()),
                true => ("transfer-encoding: chunked".to_owned(), format!("{sent:x}\r\n{part}\r\n")),
                false => (format!("content-length: {}", body.len()), part.to_owned()),
            };
            let head = format!("{method} {path} HTTP/1.1\r\nhost: a\r\ncontent-type: {form}\r\n{length}\r\n\r\n");
            let mut stream = TcpStream::connect(listening.address()).await.unwrap();
            stream.write_all((head + &part).as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
            let mut answer = String::new();
            // A connection that is reset has no answer either.
            let _ = stream.read_to_string(&mut answer).await;
            assert_eq!((answer.as_str(), maps(&server)), ("", before.clone()), "{method} {path} {sent}");
        }
    }
}

/// As over HTTP/2, where a stream can be reset.
#[tokio::test]
async fn a_body_with_an_error_is_a_disconnect() {
    let mut server = server_with_a_map().await;
    let before = maps(&server);
    for (method, path, form, body) in writes() {
        for sent in [0, body.to_string().len()] {
            let part = Bytes::from(body.to_string().split_off(body.to_string().len() - sent));
            let frames = [Ok(http_body::Frame::data(part)), Err("reset")];
            let request = Request::builder().method(method.clone()).uri(&path).header("content-type", form);
            let request = request.body(StreamBody::new(futures::stream::iter(frames))).unwrap();
            let answer = server.call(request).await;
            assert!(answer.is_err() && maps(&server) == before, "{method} {path} {sent}");
        }
    }
}

/// Three hundred megabytes are offered; the server reads three.
#[rstest]
#[case::of_a_length(false)]
#[case::in_chunks(true)]
#[tokio::test]
async fn a_long_upload_is_refused_before_it_has_been_read(#[case] chunked: bool) {
    let server = server_with_a_map().await;
    let listening = server.listen(Listen::loopback()).unwrap();
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
    let mut answer = vec![0; 12];
    reading.read_exact(&mut answer).await.unwrap();
    assert_eq!(answer, b"HTTP/1.1 413");
    drop(reading);
    let sent = sending.await.unwrap();
    assert!(sent < 100 << 20, "{sent} bytes were taken");
}

/// A client in the same process cannot make the server keep more either.
#[tokio::test]
async fn a_long_body_of_frames_is_refused() {
    let server = ApiServer::new();
    let mut taken = 0;
    let frames = (0..300).map(|_| {
        taken += 1;
        Ok::<_, Infallible>(http_body::Frame::data(Bytes::from(" ".repeat(1 << 20))))
    });
    let request = Request::post(MAPS).header("content-type", "application/json");
    let answer = server.handle(request.body(StreamBody::new(futures::stream::iter(frames))).unwrap()).await;
    assert_eq!(answer.status(), 413);
    assert_eq!(taken, 4, "four frames are enough to know");
}
