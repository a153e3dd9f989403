//! Requests whose bodies break off: none of them reaches the server as a complete one.

use std::net::SocketAddr;

use kube_apiserver_sim::{ApiServer, ListenOptions};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::*;

const MAP: &str = "/api/v1/namespaces/default/configmaps/a";

/// A server with a ConfigMap.
async fn server() -> ApiServer {
    let server = ApiServer::new();
    let map = json!({"metadata": {"name": "a"}, "data": {"a": "1"}}).to_string();
    let request =
        Request::post(MAP.trim_end_matches("/a")).header("content-type", "application/json").body(map).unwrap();
    assert_eq!(server.handle(request).await.status(), StatusCode::CREATED);
    server
}

fn maps(server: &ApiServer) -> Vec<Value> {
    server.storage("configmaps").unwrap().list("default")
}

/// The deletion of another object of this name: complete it is refused, without its precondition it
/// is not.
fn options() -> String {
    json!({"preconditions": {"uid": "another"}}).to_string()
}

/// What a client reads that sends this part of a request and disconnects.
async fn answer_to(interceptor: &Interceptor, request: &str) -> String {
    let connector = TlsConnector::from(Arc::new(client_config(&interceptor.access()).unwrap()));
    let address: SocketAddr = interceptor.address();
    let socket = TcpStream::connect(address).await.unwrap();
    let mut stream = connector.connect(ServerName::from(address.ip()), socket).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = Vec::new();
    let _ = soon(stream.read_to_end(&mut answer)).await;
    String::from_utf8(answer).unwrap()
}

#[rstest]
#[case::of_a_length(false)]
#[case::in_chunks(true)]
#[tokio::test]
async fn incomplete_upload_is_not_forwarded(#[case] chunked: bool) {
    let server = server().await;
    let authority = Authority::new("test", "2026-11-21T00:00:00Z".parse().unwrap()).unwrap();
    let listening = server.listen(ListenOptions::loopback().tls(server_config(&authority).unwrap())).unwrap();
    let access = ClusterAccess {
        server: listening.url(),
        server_name: None,
        ca_pem: authority.pem(),
        proxy: None,
        admin: Credential::Token("admin".to_owned()),
        subject_token: "subject".to_owned(),
    };
    let interceptor = Interceptor::start(&access).unwrap();
    let (before, body) = (maps(&server), options());
    for sent in [0, body.len() / 2] {
        let part = &body[..sent];
        let (length, part) = match chunked {
            true if sent == 0 => ("transfer-encoding: chunked".to_owned(), String::new()),
            true => ("transfer-encoding: chunked".to_owned(), format!("{sent:x}\r\n{part}\r\n")),
            false => (format!("content-length: {}", body.len()), part.to_owned()),
        };
        let head = format!("DELETE {MAP} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n{length}\r\n\r\n");
        let answer = answer_to(&interceptor, &(head + &part)).await;
        assert!(!answer.starts_with("HTTP/1.1 2"), "{answer}");
        assert_eq!(maps(&server), before, "{sent}");
    }
}
