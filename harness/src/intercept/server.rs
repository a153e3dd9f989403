//! The interceptor's own side: sockets, TLS, and a task for each connection.

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
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use super::body;
use super::passage::{Outgoing, Passage, Upstream};
use super::{Control, InterceptorError, InterceptorLog, SentLog};
use crate::clock;
use crate::cluster::{Access, Authority, Credential, Dial, LIMIT, kubeconfig};

/// HTTP/2's largest window, nearly: what one stream leaves unread must not stop another.
const CONNECTION_WINDOW: u32 = 1 << 30;
/// What a single stream may leave unread, which is what a held watch piles up.
const STREAM_WINDOW: u32 = 16 << 20;

/// A way to a cluster that writes down who uses it. Dropping it ends it, and every request on its
/// way.
#[derive(Debug)]
pub struct Interceptor {
    passage: Arc<Passage>,
    /// Whether it listens nowhere, and the subject is handed a client.
    inside: bool,
    address: SocketAddr,
    url: String,
    ca_pem: String,
    token: String,
    log: InterceptorLog,
    control: Control,
    task: Option<AbortHandle>,
}

impl Interceptor {
    /// Open an interceptor to this cluster, on a free port of loopback. To be called inside of a
    /// tokio runtime, which it lives on.
    ///
    /// # Errors
    /// See [`InterceptorError`].
    pub fn start(access: &Access) -> Result<Self, InterceptorError> {
        Self::start_at(access, Ipv4Addr::LOCALHOST.into())
    }

    /// The same on another address of this machine's, for a subject that cannot reach loopback.
    /// Whoever reaches it needs a token of his own: the interceptor has none to give.
    ///
    /// # Errors
    /// See [`InterceptorError`].
    pub fn start_at(access: &Access, host: IpAddr) -> Result<Self, InterceptorError> {
        let (log, control) = (InterceptorLog::new(), Control::new());
        let (server, base) = target(access)?;
        let upstream = Upstream::Wire { server, base, client: Box::new(upstream(access)?) };
        let passage = Arc::new(Passage::new(upstream, &log, &control));
        let own = Authority::new("lockstep interceptor", clock::now())?.speaking_for(&[host.to_string()]);
        let tls = TlsAcceptor::from(Arc::new(server_config(&own)?));
        let (listener, address) = listen(host).map_err(|source| InterceptorError::Listen { host, source })?;
        let url = format!("https://{address}");
        let task = Some(tokio::spawn(accept(listener, tls, Arc::clone(&passage))).abort_handle());
        let token = access.subject_token.clone();
        Ok(Self { passage, inside: false, address, url, ca_pem: own.pem(), token, log, control, task })
    }

    /// An interceptor to a cluster in this process, on no socket: [`Interceptor::client`] is the
    /// way through.
    pub fn inside(server: ApiServer) -> Self {
        let (log, control) = (InterceptorLog::new(), Control::new());
        let upstream = Upstream::Inside(server);
        let passage = Arc::new(Passage::new(upstream, &log, &control));
        let address = SocketAddr::from(([0, 0, 0, 0], 0));
        let nothing = String::new;
        Self {
            passage,
            inside: true,
            address,
            url: nothing(),
            ca_pem: nothing(),
            token: nothing(),
            log,
            control,
            task: None,
        }
    }

    /// The subject's client, where the interceptor is in this process with it.
    pub fn client(&self) -> Option<kube::Client> {
        self.inside.then(|| super::inside::client(Arc::clone(&self.passage)))
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Who vouches for it: its authority's certificate, PEM.
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// Where it listens, `https://ADDRESS:PORT`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A kubeconfig file, YAML, that leads the subject through this interceptor.
    pub fn kubeconfig(&self) -> String {
        kubeconfig(&self.url, &self.ca_pem, &self.token)
    }

    /// How to reach the cluster through this interceptor; the admin's credential is not in it.
    pub fn access(&self) -> Access {
        Access {
            server: self.url.clone(),
            server_name: None,
            ca_pem: self.ca_pem.clone(),
            proxy: None,
            admin: Credential::Token(String::new()),
            subject_token: self.token.clone(),
        }
    }

    /// Keep every request from now on, with its body, where this is the first who wants that.
    pub fn keep_requests(&self, sent: &SentLog) {
        self.passage.sent.get_or_init(|| sent.clone());
    }

    /// What passed.
    pub fn log(&self) -> &InterceptorLog {
        &self.log
    }

    /// What it is told to do.
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

/// Take connections until aborted; their tasks end with this one.
async fn accept(listener: TcpListener, tls: TlsAcceptor, passage: Arc<Passage>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => {
                    connections.spawn(serve(socket, tls.clone(), Arc::clone(&passage)));
                }
                // Out of file descriptors, mostly: others will be closed meanwhile.
                Err(error) => {
                    tracing::warn!(%error, "the interceptor cannot take a connection");
                    clock::pause(std::time::Duration::from_millis(50)).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(socket: TcpStream, tls: TlsAcceptor, passage: Arc<Passage>) {
    // A watch event is one small frame, which must not wait for a second one.
    let _ = socket.set_nodelay(true);
    passage.log.connected();
    let stream = match tls.accept(socket).await {
        Ok(stream) => stream,
        Err(error) => return passage.log.unsecured(&error),
    };
    let cut = Arc::new(Notify::new());
    let cutter = Arc::clone(&cut);
    let service = service_fn(move |request: Request<Incoming>| {
        let (passage, cut) = (Arc::clone(&passage), Arc::clone(&cutter));
        async move { passage.pass(request.map(body::stream), &cut).await }
    });
    let mut server = auto::Builder::new(TokioExecutor::new());
    server.http2().max_concurrent_streams(None);
    // An error here is a client that went away in the middle of something: its requests are logged,
    // and it needs no answer.
    tokio::select! {
        ended = server.serve_connection(TokioIo::new(stream), service) => {
            if let Err(error) = ended {
                tracing::debug!(error, "a connection through the interceptor ended early");
            }
        }
        () = cut.notified() => {}
    }
}

/// Where the server listens, and what its paths begin with.
fn target(access: &Access) -> Result<(hyper::http::uri::Authority, String), InterceptorError> {
    let uri = access.server.parse::<Uri>().ok().filter(|uri| uri.scheme_str() == Some("https"));
    let found = uri.and_then(|uri| Some((uri.authority().cloned()?, uri.path().trim_end_matches('/').to_owned())));
    found.ok_or_else(|| InterceptorError::Address(access.server.clone()))
}

/// A client without time-outs for requests that trusts this cluster's CAs alone.
fn upstream(access: &Access) -> Result<Client<HttpsConnector<Dial>, Outgoing>, InterceptorError> {
    let authorities: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(access.ca_pem.as_bytes()).collect();
    let authorities = authorities.map_err(|error| InterceptorError::Ca(error.to_string()))?;
    let dial = Dial::new(access.proxy.as_ref(), &authorities, LIMIT).map_err(InterceptorError::Ca)?;
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

pub(super) fn client_config(access: &Access) -> Result<ClientConfig, InterceptorError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(access.ca_pem.as_bytes()) {
        roots.add(certificate.map_err(|error| InterceptorError::Ca(error.to_string()))?)?;
    }
    Ok(ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

pub(super) fn server_config(own: &Authority) -> Result<ServerConfig, InterceptorError> {
    Ok(own.server("lockstep interceptor")?.server_config()?)
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}
