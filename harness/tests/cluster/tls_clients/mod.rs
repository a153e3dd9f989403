//! Real TLS clients against every server with a certificate of the harness: interceptor, simulated
//! server, control plane.
//!
//! Trials `tls::<server>::<client>`. A missing client is listed as ignored, with the reason on
//! standard error. Unit tests check the certificates' content without clients.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use futures::future::try_join_all;
use libtest_mimic::{Failed, Trial};
use lockstep_cluster::{self as cluster, Cluster, ClusterPlan, Site, issue_control_plane};
use lockstep_intercept::Interceptor;
use lockstep_support::clock;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::process;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// Another address than 127.0.0.1 that an interceptor listens on, as for the pods of a kind node.
const ELSEWHERE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
/// Every name in a server's certificate.
const NAMES: [&str; 5] =
    ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"];

type HandshakeResult<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// The server under test.
#[derive(Debug, Clone, Copy)]
enum Server {
    Interceptor,
    InterceptorElsewhere,
    Simulated,
    KubeApiserver,
    Etcd,
}

#[derive(Debug, Clone, Copy)]
enum Client {
    OpenSsl,
    Curl,
    Python,
    Go,
}

/// A listening server; dropping this stops it.
struct ListeningServer {
    address: SocketAddr,
    ca: PathBuf,
    _folder: TempDir,
    _cluster: Option<Cluster>,
    _interceptor: Option<Interceptor>,
    answering: Option<JoinHandle<()>>,
}

pub(crate) fn trials() -> Vec<Trial> {
    let servers = [
        ("interceptor", Server::Interceptor),
        ("interceptor-elsewhere", Server::InterceptorElsewhere),
        ("simulated-server", Server::Simulated),
        ("kube-apiserver", Server::KubeApiserver),
        ("etcd", Server::Etcd),
    ];
    let clients = [
        ("openssl", Client::OpenSsl, "openssl", "version"),
        ("curl", Client::Curl, "curl", "--version"),
        ("python", Client::Python, "python3", "--version"),
        ("go", Client::Go, "go", "version"),
    ];
    let mut trials = Vec::new();
    for (name, client, program, version) in clients {
        let lacking = !runs(program, version);
        if lacking {
            eprintln!("ignored: tls::*::{name}: `{program}` is not installed here");
        }
        let of = |(server, which): (&str, Server)| {
            let trial = Trial::test(format!("tls::{server}::{name}"), move || {
                let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
                let runtime = runtime.map_err(|why| Failed::from(why.to_string()))?;
                runtime.block_on(connects(which, client)).map_err(|why| Failed::from(why.to_string()))
            });
            trial.with_ignored_flag(lacking)
        };
        trials.extend(servers.map(of));
    }
    trials
}

/// Whether a program is installed and runs.
fn runs(program: &str, version: &str) -> bool {
    let mut asked = Command::new(program);
    asked.arg(version).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    asked.status().is_ok_and(|status| status.success())
}

async fn connects(server: Server, client: Client) -> HandshakeResult {
    let listening = server.start().await?;
    let ca = listening.ca.display().to_string();
    match client {
        Client::OpenSsl => {
            let address = listening.address.to_string();
            let ip = listening.address.ip().to_string();
            let names = NAMES.map(|name| ["-verify_hostname", name]);
            let ips = [ip.as_str(), "127.0.0.1", "::1"].map(|ip| ["-verify_ip", ip]);
            // One name per connection.
            for name in names.into_iter().chain(ips) {
                let strict = ["s_client", "-connect", &address, "-CAfile", &ca, "-x509_strict", "-verify_return_error"];
                expect_output("openssl", strict.into_iter().chain(name), "Verify return code: 0 (ok)").await?;
            }
        }
        Client::Curl => {
            let plain = ["--noproxy", "*", "--silent", "--show-error", "--write-out", "%{http_code}", "--cacert", &ca];
            try_join_all(listening.urls().iter().map(async |url| {
                let url = format!("{url}/version");
                expect_output("curl", plain.into_iter().chain([url.as_str()]), "401").await
            }))
            .await?;
        }
        Client::Python => {
            let script = source("client.py");
            let words = [script, ca].into_iter().chain(listening.urls());
            expect_output("python3", words, " 401").await?;
        }
        Client::Go => {
            let words = ["run".to_owned(), source("client.go"), ca].into_iter().chain(listening.urls());
            expect_output("go", words, " 401").await?;
        }
    }
    Ok(())
}

fn source(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/tls_clients").join(name).display().to_string()
}

/// Runs a client, which must succeed and print this text.
async fn expect_output(
    program: &str,
    words: impl IntoIterator<Item = impl AsRef<std::ffi::OsStr>>,
    expected: &str,
) -> HandshakeResult {
    let mut client = process::Command::new(program);
    client.args(words).stdin(Stdio::null()).kill_on_drop(true);
    let output = client.output().await?;
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    if output.status.success() && text.contains(expected) {
        return Ok(());
    }
    Err(format!("{client:?} did not say `{expected}` ({}):\n{text}", output.status).into())
}

impl Server {
    /// Starts the server, with its CA certificate in a file.
    async fn start(self) -> HandshakeResult<ListeningServer> {
        let folder = tempfile::tempdir()?;
        if let Self::KubeApiserver | Self::Etcd = self {
            let pki = folder.path().join("pki");
            issue_control_plane(&pki, &["plane-etcd".to_owned()], clock::now())?;
            let name = if let Self::Etcd = self { "etcd" } else { "kube-apiserver" };
            let (address, answering) = answer(&pki, name).await?;
            let ca = pki.join("ca.crt");
            let (cluster, interceptor, answering) = (None, None, Some(answering));
            return Ok(ListeningServer {
                address,
                ca,
                _folder: folder,
                _cluster: cluster,
                _interceptor: interceptor,
                answering,
            });
        }
        let cluster = cluster::boot(&ClusterPlan::new(cluster::DEFAULT_VERSION).at(Site::Sim)).await?;
        let interceptor = match self {
            Self::Interceptor => Some(Interceptor::start(cluster.access())?),
            Self::InterceptorElsewhere => Some(Interceptor::start_at(cluster.access(), ELSEWHERE)?),
            _ => None,
        };
        let address = cluster.access().server.trim_start_matches("https://").parse::<SocketAddr>()?;
        let address = interceptor.as_ref().map_or(address, Interceptor::address);
        let ca = folder.path().join("ca.crt");
        fs::write(&ca, interceptor.as_ref().map_or(cluster.access().ca_pem.as_str(), Interceptor::ca_pem))?;
        Ok(ListeningServer {
            address,
            ca,
            _folder: folder,
            _cluster: Some(cluster),
            _interceptor: interceptor,
            answering: None,
        })
    }
}

impl ListeningServer {
    fn urls(&self) -> Vec<String> {
        let port = self.address.port();
        let by_name = self.address.ip() == Ipv4Addr::LOCALHOST;
        let hosts = std::iter::once(self.address.ip().to_string()).chain(by_name.then(|| "localhost".to_owned()));
        hosts.map(|host| format!("https://{host}:{port}")).collect()
    }
}

impl Drop for ListeningServer {
    fn drop(&mut self) {
        if let Some(answering) = &self.answering {
            answering.abort();
        }
    }
}

/// A server with one of a control plane's certificates that answers every request as unauthorized.
async fn answer(pki: &Path, name: &str) -> HandshakeResult<(SocketAddr, JoinHandle<()>)> {
    let certificate = CertificateDer::from_pem_file(pki.join(format!("{name}.crt")))?;
    let key = PrivateKeyDer::from_pem_file(pki.join(format!("{name}.key")))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)?;
    let tls = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let answering = tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let tls = tls.clone();
            tokio::spawn(async move {
                // A client that does not trust the certificate reports it.
                let Ok(mut stream) = tls.accept(socket).await else { return };
                let mut asked = [0; 4096];
                if stream.read(&mut asked).await.is_ok_and(|read| read > 0) {
                    let words = b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                    stream.write_all(words).await.ok();
                }
                stream.shutdown().await.ok();
            });
        }
    });
    Ok((address, answering))
}
