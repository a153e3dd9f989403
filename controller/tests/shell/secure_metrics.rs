//! Metrics over TLS, only for clients with the right to read them.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use rollout_controller::{Endpoint, ProcessOptions, Settings, Tls, serve};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::requests::{Answer, failure};
use crate::rights::Rights;
use crate::server::Server;

/// A controller with secured metrics, and a client that trusts its certificate.
struct SecureController {
    server: Server,
    metrics: SocketAddr,
    probes: SocketAddr,
    trust: TlsConnector,
    task: JoinHandle<()>,
}

impl Drop for SecureController {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn start(test: &str) -> SecureController {
    let server = Server::default();
    server.requests().rights.0.extend(Rights::of_metrics_auth().0);
    server.interfere(review);
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("secured-{test}"));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("tls.crt"), made.cert.pem()).unwrap();
    std::fs::write(folder.join("tls.key"), made.signing_key.serialize_pem()).unwrap();
    let tls = Tls::new(Some(&folder), "").unwrap();

    let (at, nowhere) = ("127.0.0.1:0".parse().unwrap(), "0".parse().unwrap());
    let mut endpoints = Endpoint::open(at, nowhere).await.unwrap();
    endpoints.extend(Endpoint::open(nowhere, at).await.unwrap());
    let endpoints: Vec<_> = endpoints.into_iter().map(|endpoint| endpoint.secured(&tls)).collect();
    let (metrics, probes) = (endpoints[0].at().unwrap().0, endpoints[1].at().unwrap().0);
    let process = ProcessOptions { endpoints, ..ProcessOptions::default() };
    let client = server.client();
    let task = tokio::spawn(async move {
        serve(client, Settings::default(), process, std::future::pending()).await.unwrap();
    });
    SecureController { server, metrics, probes, trust: trusting(made.cert.der().clone()), task }
}

fn trusting(certificate: CertificateDer<'static>) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots);
    TlsConnector::from(Arc::new(config.with_no_client_auth()))
}

/// The API server knows two users, and allows one of them.
fn review(verb: &str, body: &Value) -> Answer {
    let spec = &body["spec"];
    match verb {
        "POST tokenreviews" => {
            let token = spec["token"].as_str().unwrap();
            let user = json!({"username": token, "uid": "u", "groups": ["g"], "extra": {"e": ["f"]}});
            let known = ["prometheus", "guest"].contains(&token);
            let status = if known { json!({"authenticated": true, "user": user}) } else { json!({"error": "unknown"}) };
            Some((201, json!({"status": status})))
        }
        "POST subjectaccessreviews" => {
            assert_eq!(spec["nonResourceAttributes"], json!({"path": "/metrics", "verb": "get"}));
            assert_eq!(
                (&spec["uid"], &spec["groups"], &spec["extra"]),
                (&json!("u"), &json!(["g"]), &json!({"e": ["f"]}))
            );
            Some((201, json!({"status": {"allowed": spec["user"] == "prometheus"}})))
        }
        _ => None,
    }
}

impl SecureController {
    async fn scrape(&self, authorization: &str) -> String {
        let stream = TcpStream::connect(self.metrics).await.unwrap();
        let mut stream = self.trust.connect("localhost".try_into().unwrap(), stream).await.unwrap();
        let request = format!("GET /metrics HTTP/1.1\r\nhost: x\r\n{authorization}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    async fn status(&self, authorization: &str) -> String {
        self.scrape(authorization).await.split(' ').nth(1).unwrap().to_owned()
    }

    fn reviews(&self) -> usize {
        self.server.verbs().iter().filter(|verb| verb.ends_with("reviews")).count()
    }
}

#[tokio::test]
async fn only_authorized_clients_get_the_metrics() {
    let controller = start("access").await;
    assert_eq!(controller.status("").await, "401");
    assert_eq!(controller.status("authorization: Basic prometheus\r\n").await, "401");
    assert_eq!(controller.reviews(), 0, "without a token there is nothing to ask");
    assert_eq!(controller.status("authorization: Bearer stranger\r\n").await, "401");
    assert_eq!(controller.status("authorization: Bearer guest\r\n").await, "403");
    let answer = controller.scrape("authorization: Bearer prometheus\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("\nprocess_start_time_seconds "), "{answer}");
    assert_eq!(controller.reviews(), 5);
    for (token, status) in [("stranger", "401"), ("guest", "403"), ("prometheus", "200")] {
        assert_eq!(controller.status(&format!("authorization: Bearer {token}\r\n")).await, status);
    }
    assert_eq!(controller.reviews(), 5, "what was answered holds for a while");
}

#[tokio::test]
async fn no_client_gets_the_metrics_when_reviews_fail() {
    let controller = start("outage").await;
    controller.server.interfere(|verb, _| verb.ends_with("reviews").then(|| failure(500, "InternalError", "no")));
    assert_eq!(controller.status("authorization: Bearer prometheus\r\n").await, "500");
    controller.server.interfere(review);
    assert_eq!(controller.status("authorization: Bearer prometheus\r\n").await, "200", "an outage is not remembered");
}

/// Plain HTTP would expose the token. Kubelets send no token, so probes stay plain.
#[tokio::test]
async fn secured_metrics_need_tls_and_probes_do_not() {
    let controller = start("clear").await;
    let plain = async |at: SocketAddr, path: &str| {
        let mut stream = TcpStream::connect(at).await.unwrap();
        stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // Either the connection closes, or a TLS alert ends it.
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    };
    let answer = plain(controller.metrics, "/metrics").await;
    assert!(!answer.contains("HTTP/1.1"), "{answer}");
    assert!(plain(controller.probes, "/livez").await.starts_with("HTTP/1.1 200 "));
}
