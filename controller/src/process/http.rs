//! Answers metrics and probes over plain HTTP: `/metrics`, `/healthz`, `/livez`, `/readyz`.
//!
//! Plain, as controllers usually do inside a cluster; where that is too open, a proxy beside it or a network policy closes it.
//! A connection has one request, a few seconds, and few others beside it, so nobody can hold this process up through it.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{Method, Request, Response, StatusCode};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::health::Health;
use super::{Address, BindError};
use crate::clock;
use crate::metrics::Metrics;

/// Connections at the same time; more have to wait.
const CONNECTIONS: usize = 32;
/// How long a request's head may take.
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
    listener: TcpListener,
    pages: Pages,
}

impl Endpoint {
    /// Listens on what an operator has chosen, on one address for both if they are the same. To be called within a runtime.
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
                let listener = listener.map_err(|source| BindError { address, source })?;
                endpoints.push(Self { listener, pages });
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

    /// Answers until dropped.
    pub(super) async fn serve(self, metrics: Metrics, health: Health) {
        let (pages, free) = (self.pages, Arc::new(Semaphore::new(CONNECTIONS)));
        let mut connections = JoinSet::new();
        loop {
            let Ok(permit) = free.clone().acquire_owned().await else { return };
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let (metrics, health) = (metrics.clone(), health.clone());
                    connections.spawn(async move {
                        clock::within(CONNECTION, connection(stream, pages, metrics, health)).await;
                        drop(permit);
                    });
                }
                // Out of file descriptors, mostly: others will be closed meanwhile.
                Err(error) => {
                    tracing::warn!(%error, "Cannot take a connection.");
                    clock::sleep(PAUSE).await;
                }
            }
            while connections.try_join_next().is_some() {}
        }
    }
}

async fn connection(stream: TcpStream, pages: Pages, metrics: Metrics, health: Health) {
    let answer = service_fn(|request: Request<_>| {
        let answer = answer(request.method(), request.uri().path(), pages, &metrics, &health);
        std::future::ready(Ok::<_, Infallible>(answer))
    });
    let mut server = http1::Builder::new();
    server.keep_alive(false).timer(TokioTimer::new()).header_read_timeout(HEAD);
    if let Err(error) = server.serve_connection(TokioIo::new(stream), answer).await {
        tracing::debug!(%error, "A connection ended early.");
    }
}

fn answer(method: &Method, path: &str, pages: Pages, metrics: &Metrics, health: &Health) -> Response<String> {
    let (has_metrics, has_probes) = (pages != Pages::Probes, pages != Pages::Metrics);
    let (status, kind, body) = match path {
        "/metrics" if has_metrics => {
            (StatusCode::OK, "application/openmetrics-text; version=1.0.0; charset=utf-8", metrics.text())
        }
        "/healthz" | "/livez" if has_probes => probe(health.live()),
        "/readyz" if has_probes => probe(health.ready()),
        _ => plain(StatusCode::NOT_FOUND, "not found".to_owned()),
    };
    let (status, kind, body) = match *method {
        Method::GET | Method::HEAD => (status, kind, body),
        _ => plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD".to_owned()),
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static(kind));
    response
}

fn probe((is_fine, text): (bool, String)) -> (StatusCode, &'static str, String) {
    plain(if is_fine { StatusCode::OK } else { StatusCode::INTERNAL_SERVER_ERROR }, text)
}

fn plain(status: StatusCode, text: String) -> (StatusCode, &'static str, String) {
    (status, "text/plain; charset=utf-8", text)
}
