//! Connecting to the API server over real sockets: proxies and credentials.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use kube_apiserver_sim::ListenOptions;
use rollout_controller::connect::{self, ProxyRules};
use rollout_controller::{Metrics, RunError, check};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;

use crate::server::Server;

/// A proxy that tunnels every request to one address, and records the requests.
#[derive(Clone, Default)]
pub(crate) struct Proxy(Arc<Mutex<Vec<String>>>);

impl Proxy {
    /// Starts it; returns its address.
    pub(crate) async fn to(&self, port: u16) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap().to_string();
        let proxy = self.clone();
        tokio::spawn(async move {
            loop {
                let (mut client, _) = listener.accept().await.unwrap();
                let proxy = proxy.clone();
                tokio::spawn(async move {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        head.push(client.read_u8().await.unwrap());
                    }
                    proxy.0.lock().unwrap().push(String::from_utf8(head).unwrap());
                    let mut server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                });
            }
        });
        at
    }

    /// The heads of the requests that it received.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

fn file(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// Writes a kubeconfig file, as JSON, which is valid YAML.
pub(crate) fn kubeconfig(name: &str, cluster: &Value, user: &Value) -> PathBuf {
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "c", "user": user}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
    });
    file(&format!("{name}.kubeconfig"), &config.to_string())
}

/// Connects with this kubeconfig and environment, and sends a first request.
async fn connect_and_check(kubeconfig: &Path, environment: &[(&str, &str)]) -> Result<(), RunError> {
    let find = |name: &str| environment.iter().find(|(of, _)| *of == name).map(|(_, value)| (*value).to_owned());
    let config = connect::config(Some(kubeconfig), &ProxyRules::read(find)).await.unwrap();
    check(&connect::client(&config, &Metrics::default()).unwrap()).await
}

#[tokio::test]
async fn uses_the_proxy_of_the_environment() {
    let (server, proxy) = (Server::default(), Proxy::default());
    let at = proxy.to(server.listen(ListenOptions::loopback())).await;
    let path = kubeconfig("proxied", &json!({"server": "http://api.invalid:8080"}), &json!({}));
    connect_and_check(&path, &[("HTTP_PROXY", &format!("http://u:p%40ss@{at}"))]).await.unwrap();
    let requests = proxy.requests();
    assert!(requests[0].starts_with("CONNECT api.invalid:8080 HTTP/1.1\r\n"), "{requests:?}");
    assert!(requests[0].contains("\r\nProxy-Authorization: Basic dTpwQHNz\r\n"), "{requests:?}");
}

/// Terminates TLS as `api.invalid` and forwards to a port. Returns its own port and its
/// certificate.
async fn tls(to: u16) -> (u16, PathBuf) {
    let made = rcgen::generate_simple_self_signed(vec!["api.invalid".to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let config = config.with_single_cert(vec![made.cert.der().clone()], key.into()).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let mut client = acceptor.accept(stream).await.unwrap();
                let mut server = TcpStream::connect(("127.0.0.1", to)).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    (port, file("api-invalid.crt", &made.cert.pem()))
}

/// The client sees the API server's certificate, not the proxy's: TLS runs through the tunnel.
#[tokio::test]
async fn tls_runs_through_the_proxy_tunnel() {
    let (server, proxy) = (Server::default(), Proxy::default());
    let (port, certificate) = tls(server.listen(ListenOptions::loopback())).await;
    let at = proxy.to(port).await;
    let cluster = json!({"server": "https://api.invalid", "certificate-authority": certificate});
    let path = kubeconfig("tunnelled", &cluster, &json!({}));
    connect_and_check(&path, &[("HTTPS_PROXY", &at), ("HTTP_PROXY", "unused.invalid:1")]).await.unwrap();
    assert!(proxy.requests()[0].starts_with("CONNECT api.invalid:443 "), "{:?}", proxy.requests());
}

/// Loopback, where every simulated API server listens, needs no proxy.
#[tokio::test]
async fn uses_no_proxy_for_loopback() {
    let (server, proxy) = (Server::default(), Proxy::default());
    let port = server.listen(ListenOptions::loopback());
    let at = proxy.to(port).await;
    let path = kubeconfig("straight", &json!({"server": format!("http://127.0.0.1:{port}")}), &json!({}));
    connect_and_check(&path, &[("HTTP_PROXY", &at), ("HTTPS_PROXY", &at)]).await.unwrap();
    assert_eq!(proxy.requests(), [] as [&str; 0]);
}

/// `proxy-url` applies without exceptions, as in client-go.
#[tokio::test]
async fn uses_the_proxy_of_the_kubeconfig() {
    let (server, proxy) = (Server::default(), Proxy::default());
    let port = server.listen(ListenOptions::loopback());
    let at = proxy.to(port).await;
    let cluster = json!({"server": format!("http://127.0.0.1:{port}"), "proxy-url": format!("http://{at}")});
    connect_and_check(&kubeconfig("own-proxy", &cluster, &json!({})), &[("NO_PROXY", "*")]).await.unwrap();
    assert!(proxy.requests()[0].starts_with(&format!("CONNECT 127.0.0.1:{port} ")), "{:?}", proxy.requests());
}

/// A replaced token is used at once, not a minute later. An unchanged token is not sent again.
#[tokio::test]
async fn rejected_token_file_is_read_again() {
    let server = Server::default();
    let cluster = json!({"server": format!("http://127.0.0.1:{}", server.listen(ListenOptions::loopback()))});
    let token = file("rotated.token", "one");
    let path = kubeconfig("rotated", &cluster, &json!({"tokenFile": token}));
    server.requests().token = Some("one");
    let config = connect::config(Some(&path), &ProxyRules::default()).await.unwrap();
    let client = connect::client(&config, &Metrics::default()).unwrap();
    check(&client).await.unwrap();

    server.requests().token = Some("two");
    std::fs::write(&token, "two").unwrap();
    check(&client).await.unwrap();
    assert_eq!(server.requests().refused, ["Bearer one"]);
    check(&client).await.unwrap();
    assert_eq!(server.requests().refused, ["Bearer one"], "the new one is kept");

    server.requests().token = Some("three");
    let error = check(&client).await.unwrap_err();
    assert!(matches!(error, RunError::Refused { .. }), "{error}");
    assert_eq!(server.requests().refused, ["Bearer one", "Bearer two"], "only once, since there is no other token");
}

/// The exec plugin runs again although its token expires only years later.
#[tokio::test]
async fn rejected_token_runs_the_exec_plugin_again() {
    let server = Server::default();
    let cluster = json!({"server": format!("http://127.0.0.1:{}", server.listen(ListenOptions::loopback()))});
    let token = file("exec.token", "one");
    let script = format!(
        r#"printf '{{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{{"token":"%s","expirationTimestamp":"2099-01-01T00:00:00Z"}}}}' "$(cat {})""#,
        token.display()
    );
    let exec = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never",
        "command": "sh", "args": ["-c", script],
    });
    server.requests().token = Some("one");
    let path = kubeconfig("exec", &cluster, &json!({"exec": exec}));
    let config = connect::config(Some(&path), &ProxyRules::default()).await.unwrap();
    let client = connect::client(&config, &Metrics::default()).unwrap();
    check(&client).await.unwrap();
    server.requests().token = Some("two");
    std::fs::write(&token, "two").unwrap();
    check(&client).await.unwrap();
    assert_eq!(server.requests().refused, ["Bearer one"]);
}
