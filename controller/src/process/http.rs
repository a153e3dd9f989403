//! Answers metrics and probes over plain HTTP: `/metrics`, `/healthz`, `/livez`, `/readyz`.
//!
//! Plain HTTP, unless the metrics are secured: then TLS, and only for authorized readers
//! (`access.rs`). A connection carries one request and lives for seconds, and the oldest idle one
//! is closed above a limit (`shed.rs`), so a client can neither block this process nor starve
//! others.

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

use super::access::{Access, Verdict};
use super::health::Health;
use super::shed::{Asked, Connections};
use super::tls::Tls;
use super::{Address, BindError};
use crate::clock;
use crate::metrics::Metrics;

/// The path of the metrics, also in access reviews.
const METRICS: &str = "/metrics";
/// Connections at the same time, at each address.
const CONNECTIONS: usize = 64;
/// How long a request's head may take, and before it a TLS handshake.
const HEAD: Duration = Duration::from_secs(5);
/// How long a connection may take.
const CONNECTION: Duration = Duration::from_secs(15);
/// The pause after a connection could not be taken.
const PAUSE: Duration = Duration::from_millis(50);

/// What is answered at an address.
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
    /// In no runtime yet: that of probes is another than the one in which the address was bound.
    listener: BoundListener,
    pages: Pages,
    /// Set if the metrics are secured.
    tls: Option<Tls>,
}

/// What the pages show, and who may see it.
#[derive(Clone)]
pub(super) struct Sources {
    pub(super) metrics: Metrics,
    pub(super) health: Health,
    pub(super) access: Access,
}

impl Endpoint {
    /// Listens on what an operator has chosen, on one address for both if they are the same. To be
    /// called within a runtime.
    ///
    /// # Errors
    /// If one cannot be listened on.
    pub async fn open(metrics: Address, probes: Address) -> Result<Vec<Self>, BindError> {
        let wanted = if metrics == probes {
            vec![(metrics, Pages::All)]
        } else {
            vec![(metrics, Pages::Metrics), (probes, Pages::Probes)]
        };
        let mut endpoints = Vec::new();
        for (address, pages) in wanted {
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

    /// Where it listens, and for what.
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
    pub(super) async fn serve(self, sources: Sources) {
        let listener = match TcpListener::from_std(self.listener) {
            Ok(listener) => listener,
            Err(error) => return tracing::error!(%error, "Cannot answer metrics or probes."),
        };
        let mut tasks = JoinSet::new();
        let mut connections = Connections::new(CONNECTIONS);
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let (asked, pages, tls, sources) =
                        (Asked::default(), self.pages, self.tls.clone(), sources.clone());
                    let visit = Visit { pages, is_secured: tls.is_some(), sources, asked: asked.clone() };
                    let task = tasks.spawn(async move {
                        clock::within(CONNECTION, connection(stream, tls, visit)).await;
                    });
                    connections.add(task, asked);
                }
                // Out of file descriptors, mostly: others will be closed meanwhile.
                Err(error) => {
                    tracing::warn!(%error, "Cannot take a connection.");
                    clock::sleep(PAUSE).await;
                }
            }
            while tasks.try_join_next().is_some() {}
        }
    }
}

/// One connection.
struct Visit {
    pages: Pages,
    is_secured: bool,
    sources: Sources,
    asked: Asked,
}

async fn connection(stream: TcpStream, tls: Option<Tls>, visit: Visit) {
    let Some(tls) = tls else { return serve(stream, visit).await };
    match clock::within(HEAD, TlsAcceptor::from(tls.config()).accept(stream)).await {
        Some(Ok(stream)) => serve(stream, visit).await,
        Some(Err(error)) => tracing::debug!(%error, "A TLS handshake failed."),
        None => tracing::debug!("A TLS handshake took too long."),
    }
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + Send, visit: Visit) {
    let answer = service_fn(async |request: Request<Incoming>| {
        visit.asked.set();
        let (path, headers) = (request.uri().path(), request.headers());
        Ok::<_, Infallible>(visit.answer(request.method(), path, headers).await)
    });
    let mut server = http1::Builder::new();
    server.keep_alive(false).timer(TokioTimer::new()).header_read_timeout(HEAD);
    if let Err(error) = server.serve_connection(TokioIo::new(stream), answer).await {
        tracing::debug!(%error, "A connection ended early.");
    }
}

impl Visit {
    async fn answer(&self, method: &Method, path: &str, headers: &HeaderMap) -> Response<String> {
        let (has_metrics, has_probes) = (self.pages != Pages::Probes, self.pages != Pages::Metrics);
        let (metrics, health) = (&self.sources.metrics, &self.sources.health);
        let (status, kind, body) = match path {
            _ if *method != Method::GET && *method != Method::HEAD => {
                plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD".to_owned())
            }
            METRICS if has_metrics => match self.verdict(headers).await {
                Verdict::Allowed => {
                    (StatusCode::OK, "application/openmetrics-text; version=1.0.0; charset=utf-8", metrics.text())
                }
                Verdict::Unknown => plain(StatusCode::UNAUTHORIZED, "Unauthorized".to_owned()),
                Verdict::Forbidden => {
                    plain(StatusCode::FORBIDDEN, "Forbidden: get on /metrics is not allowed".to_owned())
                }
                Verdict::Unanswered => {
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

    async fn verdict(&self, headers: &HeaderMap) -> Verdict {
        if self.is_secured { self.sources.access.check(headers, METRICS).await } else { Verdict::Allowed }
    }
}

fn probe((is_fine, text): (bool, String)) -> (StatusCode, &'static str, String) {
    plain(if is_fine { StatusCode::OK } else { StatusCode::INTERNAL_SERVER_ERROR }, text)
}

fn plain(status: StatusCode, text: String) -> (StatusCode, &'static str, String) {
    (status, "text/plain; charset=utf-8", text)
}
