//! Answers metrics and probes over plain HTTP: `/metrics`, `/healthz`, `/livez`, `/readyz`.
//!
//! Plain HTTP, unless the metrics are secured: then TLS, and only for authorized readers
//! (`access.rs`). A connection carries one request and lives for seconds, and above a limit the
//! oldest idle one is closed (`connection_limit.rs`), so a client can neither block this process
//! nor starve others.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener as BoundListener};
use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::access::{AccessDecision, AccessReviewer};
use super::connection_limit::{OpenConnections, RequestFlag};
use super::health::Health;
use super::tls::Tls;
use super::{Address, BindError};
use crate::clock;
use crate::metrics::Metrics;

/// Path of the metrics, also in access reviews.
const METRICS_PATH: &str = "/metrics";
/// Most concurrent connections of each address.
const MAX_CONNECTIONS: usize = 64;
/// Timeout of a request's head, and before it of the TLS handshake.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout of a connection.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(15);
/// The pause after a connection could not be accepted.
const PAUSE: Duration = Duration::from_millis(50);

/// The pages that an address serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// `/metrics`.
    Metrics,
    /// `/healthz`, `/livez` and `/readyz`.
    Probes,
    /// Both.
    All,
}

/// An address that is being listened on.
#[derive(Debug)]
pub struct Endpoint {
    /// Not registered with a runtime yet: the probes' runtime is not the one in which the address
    /// was bound.
    listener: BoundListener,
    pages: Pages,
    /// Set if the metrics are secured.
    tls: Option<Tls>,
}

/// What the pages show, and who may read the metrics.
#[derive(Clone)]
pub(super) struct PageSources {
    pub(super) metrics: Metrics,
    pub(super) health: Health,
    pub(super) access: AccessReviewer,
}

impl Endpoint {
    /// Listens on the addresses for metrics and probes, on one for both if they are equal. Must be
    /// called within a runtime.
    ///
    /// # Errors
    /// If one cannot be listened on.
    pub async fn open(metrics: Address, probes: Address) -> Result<Vec<Self>, BindError> {
        let listeners = if metrics == probes {
            vec![(metrics, Pages::All)]
        } else {
            vec![(metrics, Pages::Metrics), (probes, Pages::Probes)]
        };
        let mut endpoints = Vec::new();
        for (address, pages) in listeners {
            let candidates = address.candidates();
            if !candidates.is_empty() {
                let listener = TcpListener::bind(candidates.as_slice()).await;
                let listener = listener.and_then(TcpListener::into_std);
                let listener = listener.map_err(|source| BindError { address, source })?;
                endpoints.push(Self { listener, pages, tls: None });
            }
        }
        Ok(endpoints)
    }

    /// Where it listens, and which pages it serves.
    ///
    /// # Errors
    /// If the system cannot say.
    pub fn at(&self) -> std::io::Result<(SocketAddr, Pages)> {
        Ok((self.listener.local_addr()?, self.pages))
    }

    /// Secures the endpoint if it serves metrics alone: TLS, and authorized readers only. Probes
    /// stay plain.
    #[must_use]
    pub fn secured(self, tls: &Tls) -> Self {
        match self.pages {
            Pages::Metrics => Self { tls: Some(tls.clone()), ..self },
            Pages::Probes | Pages::All => self,
        }
    }

    /// Answers until dropped.
    pub(super) async fn serve(self, sources: PageSources) {
        let listener = match TcpListener::from_std(self.listener) {
            Ok(listener) => listener,
            Err(error) => return tracing::error!(%error, "Cannot answer metrics or probes."),
        };
        let mut tasks = JoinSet::new();
        let mut connections = OpenConnections::new(MAX_CONNECTIONS);
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let (has_request, pages, tls, sources) =
                        (RequestFlag::default(), self.pages, self.tls.clone(), sources.clone());
                    let handler = ConnectionHandler {
                        pages,
                        is_secured: tls.is_some(),
                        sources,
                        has_request: has_request.clone(),
                    };
                    let task = tasks.spawn(async move {
                        clock::within(CONNECTION_TIMEOUT, connection(stream, tls, handler)).await;
                    });
                    connections.add(task, has_request);
                }
                // Mostly out of file descriptors: other connections will be closed meanwhile.
                Err(error) => {
                    tracing::warn!(%error, "Cannot take a connection.");
                    clock::sleep(PAUSE).await;
                }
            }
            while tasks.try_join_next().is_some() {}
        }
    }
}

struct ConnectionHandler {
    pages: Pages,
    is_secured: bool,
    sources: PageSources,
    has_request: RequestFlag,
}

async fn connection(stream: TcpStream, tls: Option<Tls>, handler: ConnectionHandler) {
    let Some(tls) = tls else { return serve(stream, handler).await };
    match clock::within(HEAD_TIMEOUT, TlsAcceptor::from(tls.config()).accept(stream)).await {
        Some(Ok(stream)) => serve(stream, handler).await,
        Some(Err(error)) => tracing::debug!(%error, "A TLS handshake failed."),
        None => tracing::debug!("A TLS handshake took too long."),
    }
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + Send, handler: ConnectionHandler) {
    let answer = service_fn(async |request: Request<Incoming>| {
        handler.has_request.set();
        let (path, headers) = (request.uri().path(), request.headers());
        Ok::<_, Infallible>(handler.answer(request.method(), path, headers).await)
    });
    let mut server = http1::Builder::new();
    server.keep_alive(false).timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
    if let Err(error) = server.serve_connection(TokioIo::new(stream), answer).await {
        tracing::debug!(%error, "A connection ended early.");
    }
}

impl ConnectionHandler {
    async fn answer(&self, method: &Method, path: &str, headers: &HeaderMap) -> Response<String> {
        let (has_metrics, has_probes) = (self.pages != Pages::Probes, self.pages != Pages::Metrics);
        let (metrics, health) = (&self.sources.metrics, &self.sources.health);
        let (status, kind, body) = match path {
            _ if *method != Method::GET && *method != Method::HEAD => {
                plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD".to_owned())
            }
            METRICS_PATH if has_metrics => match self.authorize(headers).await {
                AccessDecision::Allowed => {
                    (StatusCode::OK, "application/openmetrics-text; version=1.0.0; charset=utf-8", metrics.text())
                }
                AccessDecision::Unknown => plain(StatusCode::UNAUTHORIZED, "Unauthorized".to_owned()),
                AccessDecision::Forbidden => {
                    plain(StatusCode::FORBIDDEN, "Forbidden: get on /metrics is not allowed".to_owned())
                }
                AccessDecision::Unanswered => {
                    let why = "the API server cannot review this access".to_owned();
                    plain(StatusCode::INTERNAL_SERVER_ERROR, why)
                }
            },
            "/healthz" | "/livez" if has_probes => probe(health.live()),
            "/readyz" if has_probes => probe(health.ready()),
            _ => plain(StatusCode::NOT_FOUND, "not found".to_owned()),
        };
        let mut response = Response::new(body);
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static(kind));
        response
    }

    async fn authorize(&self, headers: &HeaderMap) -> AccessDecision {
        if self.is_secured { self.sources.access.check(headers, METRICS_PATH).await } else { AccessDecision::Allowed }
    }
}

fn probe((is_fine, text): (bool, String)) -> (StatusCode, &'static str, String) {
    plain(if is_fine { StatusCode::OK } else { StatusCode::INTERNAL_SERVER_ERROR }, text)
}

fn plain(status: StatusCode, text: String) -> (StatusCode, &'static str, String) {
    (status, "text/plain; charset=utf-8", text)
}
