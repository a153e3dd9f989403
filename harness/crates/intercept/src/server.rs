//! The interceptor's server: sockets, TLS, and a task for each connection; or, without sockets, a
//! layer of a client in this process.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener as StdListener};
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Uri};
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use kube_apiserver_sim::ApiServer;
use lockstep_cluster::{Authority, CONNECT_TIMEOUT, ClusterAccess, Credential, Dialer, kubeconfig};
use lockstep_support::clock;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use crate::proxy::{OutgoingBody, Proxy, Upstream};
use crate::request::stream;
use crate::{Control, InterceptorLog, SentLog, request};

/// Nearly HTTP/2's largest window: what one stream leaves unread must not block another.
const CONNECTION_WINDOW: u32 = 1 << 30;
/// What a single stream may leave unread, as a held watch does.
const STREAM_WINDOW: u32 = 16 << 20;

/// Why the interceptor cannot start.
#[derive(Debug, thiserror::Error)]
pub enum InterceptorError {
    /// The interceptor cannot listen.
    #[error("the interceptor cannot listen on {host}: {source}")]
    Listen {
        /// The address.
        host: IpAddr,
        /// The system's error.
        source: std::io::Error,
    },
    /// The interceptor's certificate cannot be created.
    #[error("cannot make the interceptor's certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// The TLS library refuses a certificate or a key.
    #[error("cannot set up TLS for the interceptor: {0}")]
    Tls(#[from] rustls::Error),
    /// The cluster's CA is not a PEM certificate.
    #[error("the cluster's CA is not a certificate: {0}")]
    Ca(String),
    /// The cluster's address is invalid.
    #[error("the cluster's address {0} is not of the form https://HOST:PORT")]
    Address(String),
}

/// A proxy to a cluster that records its requests. Dropping it ends it, with all pending requests.
#[derive(Debug)]
pub struct Interceptor {
    proxy: Arc<Proxy>,
    /// Whether it has no socket, and the subject gets a client.
    in_process: bool,
    address: SocketAddr,
    url: String,
    ca_pem: String,
    token: String,
    log: InterceptorLog,
    control: Control,
    task: Option<AbortHandle>,
}

impl Interceptor {
    /// Starts an interceptor for this cluster, on a free port of loopback. Needs a tokio runtime,
    /// for as long as it lives.
    ///
    /// # Errors
    /// See [`InterceptorError`].
    pub fn start(access: &ClusterAccess) -> Result<Self, InterceptorError> {
        Self::start_at(access, Ipv4Addr::LOCALHOST.into())
    }

    /// Like [`Interceptor::start`], on another address of this machine, for a subject that cannot
    /// reach loopback. Other clients need their own token: the interceptor provides none.
    ///
    /// # Errors
    /// See [`InterceptorError`].
    pub fn start_at(access: &ClusterAccess, host: IpAddr) -> Result<Self, InterceptorError> {
        let (log, control) = (InterceptorLog::default(), Control::new());
        let (server, base) = server_address(access)?;
        let upstream = Upstream::Remote { server, base, client: Box::new(upstream_client(access)?) };
        let proxy = Arc::new(Proxy::new(upstream, &log, &control));
        let authority = Authority::new("lockstep interceptor", clock::now())?.with_names(&[host.to_string()]);
        let tls = TlsAcceptor::from(Arc::new(server_config(&authority)?));
        let (listener, address) = listen(host).map_err(|source| InterceptorError::Listen { host, source })?;
        let url = format!("https://{address}");
        let task = Some(tokio::spawn(accept(listener, tls, Arc::clone(&proxy))).abort_handle());
        let token = access.subject_token.clone();
        Ok(Self { proxy, in_process: false, address, url, ca_pem: authority.pem(), token, log, control, task })
    }

    /// An interceptor for a cluster in this process, without a socket; [`Interceptor::client`] uses
    /// it.
    pub fn in_process(server: ApiServer) -> Self {
        let (log, control) = (InterceptorLog::default(), Control::new());
        let upstream = Upstream::InProcess(server);
        let proxy = Arc::new(Proxy::new(upstream, &log, &control));
        let address = SocketAddr::from(([0, 0, 0, 0], 0));
        let nothing = String::new;
        Self {
            proxy,
            in_process: true,
            address,
            url: nothing(),
            ca_pem: nothing(),
            token: nothing(),
            log,
            control,
            task: None,
        }
    }

    /// The subject's client, if the interceptor has no socket.
    pub fn client(&self) -> Option<kube::Client> {
        self.in_process.then(|| in_process_client(Arc::clone(&self.proxy)))
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The certificate of its CA, PEM.
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// Its URL, `https://ADDRESS:PORT`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A kubeconfig, YAML, for the subject to use this interceptor.
    pub fn kubeconfig(&self) -> String {
        kubeconfig(&self.url, &self.ca_pem, &self.token)
    }

    /// The access to the cluster through this interceptor, without the admin's credential.
    pub fn access(&self) -> ClusterAccess {
        ClusterAccess {
            server: self.url.clone(),
            server_name: None,
            ca_pem: self.ca_pem.clone(),
            proxy: None,
            admin: Credential::Token(String::new()),
            subject_token: self.token.clone(),
        }
    }

    /// Records every request from now on, with its body, unless another log was set before.
    pub fn record_requests(&self, sent: &SentLog) {
        self.proxy.sent.get_or_init(|| sent.clone());
    }

    /// The log of requests.
    pub fn log(&self) -> &InterceptorLog {
        &self.log
    }

    /// Its commands.
    pub fn control(&self) -> &Control {
        &self.control
    }
}

impl Drop for Interceptor {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

fn listen(host: IpAddr) -> std::io::Result<(TcpListener, SocketAddr)> {
    let listener = StdListener::bind((host, 0))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    Ok((TcpListener::from_std(listener)?, address))
}

/// Accepts connections until aborted; their tasks end with this one.
async fn accept(listener: TcpListener, tls: TlsAcceptor, proxy: Arc<Proxy>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => {
                    connections.spawn(serve(socket, tls.clone(), Arc::clone(&proxy)));
                }
                // Usually out of file descriptors: others will be closed meanwhile.
                Err(error) => {
                    tracing::warn!(%error, "the interceptor cannot take a connection");
                    clock::pause(std::time::Duration::from_millis(50)).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(socket: TcpStream, tls: TlsAcceptor, proxy: Arc<Proxy>) {
    // A watch event is one small frame that must not wait for another.
    let _ = socket.set_nodelay(true);
    proxy.log.record_connection();
    let stream = match tls.accept(socket).await {
        Ok(stream) => stream,
        Err(error) => return proxy.log.record_failed_handshake(&error),
    };
    let cut = Arc::new(Notify::new());
    let cutter = Arc::clone(&cut);
    let service = service_fn(move |request: Request<Incoming>| {
        let (proxy, cut) = (Arc::clone(&proxy), Arc::clone(&cutter));
        async move { proxy.pass(request.map(request::stream), &cut).await }
    });
    let mut server = auto::Builder::new(TokioExecutor::new());
    server.http2().max_concurrent_streams(None);
    // An error here means that the client disconnected: its requests are logged, and it needs no
    // answer.
    tokio::select! {
        ended = server.serve_connection(TokioIo::new(stream), service) => {
            if let Err(error) = ended {
                tracing::debug!(error, "a connection through the interceptor ended early");
            }
        }
        () = cut.notified() => {}
    }
}

/// The server's address, and the prefix of its paths.
fn server_address(access: &ClusterAccess) -> Result<(hyper::http::uri::Authority, String), InterceptorError> {
    let uri = access.server.parse::<Uri>().ok().filter(|uri| uri.scheme_str() == Some("https"));
    let found = uri.and_then(|uri| Some((uri.authority().cloned()?, uri.path().trim_end_matches('/').to_owned())));
    found.ok_or_else(|| InterceptorError::Address(access.server.clone()))
}

/// A client without request timeouts that trusts only this cluster's CAs.
fn upstream_client(access: &ClusterAccess) -> Result<Client<HttpsConnector<Dialer>, OutgoingBody>, InterceptorError> {
    let authorities: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(access.ca_pem.as_bytes()).collect();
    let authorities = authorities.map_err(|error| InterceptorError::Ca(error.to_string()))?;
    let dial = Dialer::new(access.proxy.as_ref(), &authorities, CONNECT_TIMEOUT).map_err(InterceptorError::Ca)?;
    let mut tls = HttpsConnectorBuilder::new().with_tls_config(client_config(access)?).https_only();
    if let Some(name) = &access.server_name {
        let fixed = ServerName::try_from(name.clone()).map_err(|_| InterceptorError::Address(name.clone()))?;
        tls = tls.with_server_name_resolver(FixedServerNameResolver::new(fixed));
    }
    Ok(Client::builder(TokioExecutor::new())
        .http2_initial_connection_window_size(CONNECTION_WINDOW)
        .http2_initial_stream_window_size(STREAM_WINDOW)
        .build(tls.enable_all_versions().wrap_connector(dial)))
}

pub(super) fn client_config(access: &ClusterAccess) -> Result<ClientConfig, InterceptorError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(access.ca_pem.as_bytes()) {
        roots.add(certificate.map_err(|error| InterceptorError::Ca(error.to_string()))?)?;
    }
    Ok(ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

pub(super) fn server_config(authority: &Authority) -> Result<ServerConfig, InterceptorError> {
    Ok(authority.server("lockstep interceptor")?.server_config()?)
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// A client whose requests go through the interceptor.
fn in_process_client(proxy: Arc<Proxy>) -> kube::Client {
    // There is no connection to close: the client gets an error, as when one is closed.
    let connection = Arc::new(Notify::new());
    let service = tower::service_fn(move |request: Request<kube::client::Body>| {
        let (proxy, connection) = (Arc::clone(&proxy), Arc::clone(&connection));
        async move { proxy.pass(request.map(stream), &connection).await }
    });
    kube::Client::new(service, "default")
}
