//! The server on a socket, without TLS: kube over real HTTP.

use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, ListParams};
use kube::{Client, Config};
use kube_apiserver_sim::{ApiServer, Listen, Listening, Reaction, UNSUPPORTED_PATH, VERSION};

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
    let get = |path: &str| http::Request::get(path).body(Vec::new()).unwrap();
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
