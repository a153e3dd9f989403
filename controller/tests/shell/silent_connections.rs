//! Connections that stop transmitting without being closed, in real time, over real sockets.

use std::sync::Arc;
use std::time::Duration;

use http::Version;
use kube::Config;
use kube_apiserver_sim::ListenOptions;
use rollout_controller::connect::{ConnectionTimeouts, Protocol, client_with_timeouts};
use rollout_controller::{Election, Metrics, ProcessOptions, Settings, serve};
use rstest::rstest;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;

use crate::server::Server;
use crate::{deployment, pass};

const LEASE: &str = "leases/rollout-controller";
/// Short timeouts for a short test; with kube's own client it would take five minutes.
const TIMEOUTS: ConnectionTimeouts = ConnectionTimeouts {
    connect: Duration::from_secs(10),
    ping: Duration::from_millis(500),
    pong: Duration::from_secs(2),
    silence: Duration::from_secs(4),
};

/// A proxy that can stop forwarding without closing anything.
struct Proxy {
    port: u16,
    /// How often it has been frozen.
    frozen: watch::Sender<u32>,
}

impl Proxy {
    async fn start(to: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let frozen = watch::Sender::new(0);
        let proxy = Self { port, frozen: frozen.clone() };
        tokio::spawn(async move {
            loop {
                let (mut from, _) = listener.accept().await.unwrap();
                let mut frozen = frozen.subscribe();
                tokio::spawn(async move {
                    let mut to = TcpStream::connect(("127.0.0.1", to)).await.unwrap();
                    tokio::select! {
                        _ = tokio::io::copy_bidirectional(&mut from, &mut to) => {}
                        _ = frozen.changed() => std::future::pending().await,
                    }
                });
            }
        });
        proxy
    }

    /// Freezes the existing connections, but not new ones.
    fn freeze(&self) {
        self.frozen.send_modify(|times| *times += 1);
    }
}

/// TLS with HTTP/2, and the certificate to trust in DER.
fn tls() -> (ListenOptions, Vec<u8>) {
    let issued = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(issued.signing_key.serialize_der());
    let authority = issued.cert.der().to_vec();
    let tls = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let tls = tls.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let mut tls = tls.with_single_cert(vec![issued.cert.into()], key.into()).unwrap();
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    (ListenOptions::loopback().tls(tls), authority)
}

async fn until(condition: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..6000 {
        if holds() {
            return;
        }
        pass(Duration::from_millis(10)).await;
    }
    panic!("never within a minute: {condition}")
}

/// All connections freeze, including the lease's: a new Deployment still gets its ReplicaSet, and
/// the lease is kept.
#[rstest]
#[case::http_2("https", Version::HTTP_2)]
#[case::http_1("http", Version::HTTP_11)]
#[tokio::test(flavor = "multi_thread")]
async fn detects_silent_connections_and_reconnects(#[case] scheme: &str, #[case] spoken: Version) {
    let server = Server::default();
    let (how, authority) = if scheme == "https" { tls() } else { (ListenOptions::loopback(), vec![]) };
    let port = server.listen(how);
    let proxy = Proxy::start(port).await;
    let mut config = Config::new(format!("{scheme}://127.0.0.1:{}", proxy.port).parse().unwrap());
    config.root_cert = Some(vec![authority]).filter(|_| scheme == "https");
    let client = |protocol| client_with_timeouts(&config, protocol, TIMEOUTS, &Metrics::default()).unwrap();
    let process = ProcessOptions {
        election: Some(Election::new("default", "rollout-controller", "me")),
        lease: Some(client(Protocol::Http1)),
        ..ProcessOptions::default()
    };
    let task = tokio::spawn(serve(client(Protocol::Any), Settings::default(), process, std::future::pending()));
    server.put(deployment());
    until("it works", || server.all("replicasets").len() == 1).await;
    until("it watches", || server.reads().iter().filter(|read| read.starts_with("WATCH")).count() >= 3).await;
    let versions = server.requests().versions.clone();
    assert!(versions.contains(&spoken), "{versions:?}");

    proxy.freeze();
    let renewed = || server.get(LEASE)["spec"]["renewTime"].clone();
    let before = renewed();
    let mut other = deployment();
    other["metadata"]["name"] = "other".into();
    other["metadata"]["uid"] = "other".into();
    server.put(other);
    until("the watch restarts", || server.all("replicasets").len() == 2).await;
    until("the lease is renewed", || renewed() != before).await;
    assert!(!task.is_finished(), "it has kept its lease");
    assert_eq!(server.get(LEASE)["spec"]["leaseTransitions"], 0);
    task.abort();
}
