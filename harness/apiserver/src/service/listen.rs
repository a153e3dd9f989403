//! Serves HTTP on a socket, for clients in other processes.
//!
//! Supports HTTP/1.1 and HTTP/2, plain or over TLS, in real time. If tokens are configured, each
//! request needs one of them as its bearer token; all tokens have all rights.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use jiff::Timestamp;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use crate::clock;
use crate::service::api_server::ApiServer;
use crate::service::reaction::Disconnection;
use crate::service::response::ResponseBody;

/// The path at which a client over HTTP reads [`ApiServer::unsupported`], as a JSON list of
/// strings. Kubernetes has no such path.
pub const UNSUPPORTED_PATH: &str = "/kube-apiserver-sim/unsupported";
/// The path prefix at which a client over HTTP calls [`ApiServer::not_before`], followed by
/// `NAMESPACE/SECONDS` with the time in seconds since 1970. Kubernetes has no such path.
pub const NOT_BEFORE_PATH: &str = "/kube-apiserver-sim/not-before/";

/// The address, tokens and TLS configuration of a listener.
#[derive(Debug, Clone)]
pub struct ListenOptions {
    address: SocketAddr,
    tokens: Vec<String>,
    tls: Option<Arc<ServerConfig>>,
}

impl ListenOptions {
    /// Listens on a free port of 127.0.0.1, over plain HTTP, without tokens.
    #[must_use]
    pub fn loopback() -> Self {
        Self::at((Ipv4Addr::LOCALHOST, 0).into())
    }

    /// Listens on this address, over plain HTTP, without tokens.
    #[must_use]
    pub fn at(address: SocketAddr) -> Self {
        Self { address, tokens: Vec::new(), tls: None }
    }

    /// Adds a bearer token; requests without one of the tokens are refused with 401. kubectl and
    /// client-go send tokens over TLS only.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.tokens.push(token.into());
        self
    }

    /// Serves TLS with this configuration. For HTTP/2 it must offer `h2` by ALPN.
    #[must_use]
    pub fn tls(mut self, tls: ServerConfig) -> Self {
        self.tls = Some(Arc::new(tls));
        self
    }
}

/// A running listener. Dropping it stops the listener and ends its connections.
#[derive(Debug)]
#[must_use = "the server stops listening when this is dropped"]
pub struct ListenHandle {
    address: SocketAddr,
    is_tls: bool,
    task: AbortHandle,
}

impl ListenHandle {
    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL, such as `http://127.0.0.1:40123`.
    pub fn url(&self) -> String {
        format!("{}://{}", if self.is_tls { "https" } else { "http" }, self.address)
    }
}

impl ApiServer {
    /// Listens for HTTP. Call it within a tokio runtime with I/O whose clock is not paused.
    ///
    /// # Errors
    /// If the address cannot be bound.
    pub fn listen(&self, options: ListenOptions) -> io::Result<ListenHandle> {
        let ListenOptions { address, tokens, tls } = options;
        let listener = StdListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let listener = TcpListener::from_std(listener)?;
        let is_tls = tls.is_some();
        let tokens = tokens.into_iter().map(|token| format!("Bearer {token}")).collect();
        let context = Arc::new(ConnectionContext { server: self.clone(), tokens });
        let task = tokio::spawn(accept(listener, tls.map(TlsAcceptor::from), context)).abort_handle();
        Ok(ListenHandle { address, is_tls, task })
    }
}

impl Drop for ListenHandle {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The state that all connections share.
struct ConnectionContext {
    server: ApiServer,
    /// The accepted values of the `authorization` header; if empty, any request is accepted.
    tokens: Vec<String>,
}

impl ConnectionContext {
    async fn answer(&self, request: Request<Incoming>) -> Result<Response<ResponseBody>, Disconnection> {
        let given = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if !self.tokens.is_empty() && !self.tokens.iter().any(|known| known == given) {
            let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                "message": "Unauthorized", "reason": "Unauthorized", "code": 401});
            return Ok(json_response(StatusCode::UNAUTHORIZED, &status));
        }
        if request.uri().path() == UNSUPPORTED_PATH {
            return Ok(json_response(StatusCode::OK, &json!(self.server.unsupported())));
        }
        if let Some(words) = request.uri().path().strip_prefix(NOT_BEFORE_PATH) {
            return Ok(self.not_before(words));
        }
        self.server.receive(request).await
    }

    fn not_before(&self, words: &str) -> Response<ResponseBody> {
        let time = |seconds: &str| Timestamp::from_second(seconds.parse().ok()?).ok();
        let Some((namespace, time)) = words.split_once('/').and_then(|(name, seconds)| Some((name, time(seconds)?)))
        else {
            return json_response(StatusCode::BAD_REQUEST, &json!("wanted: NAMESPACE/SECONDS"));
        };
        self.server.not_before(namespace, time);
        json_response(StatusCode::OK, &json!(null))
    }
}

fn json_response(code: StatusCode, body: &serde_json::Value) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::complete(Bytes::from(body.to_string())));
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Accepts connections until aborted; then their tasks end too.
async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, context: Arc<ConnectionContext>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => {
                    connections.spawn(serve(socket, tls.clone(), Arc::clone(&context)));
                }
                // Usually too many open files, until connections are closed.
                Err(error) => {
                    tracing::warn!(%error, "the simulated API server cannot accept a connection");
                    clock::sleep(Duration::from_millis(50)).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(socket: TcpStream, tls: Option<TlsAcceptor>, context: Arc<ConnectionContext>) {
    // A watch event is one small frame, which must not wait for another one.
    let _ = socket.set_nodelay(true);
    match tls {
        None => serve_stream(socket, context).await,
        Some(tls) => {
            if let Ok(stream) = tls.accept(socket).await {
                serve_stream(stream, context).await;
            }
        }
    }
}

async fn serve_stream(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, context: Arc<ConnectionContext>) {
    let service = service_fn(move |request: Request<Incoming>| {
        let context = Arc::clone(&context);
        async move { context.answer(request).await }
    });
    let mut server = auto::Builder::new(TokioExecutor::new());
    server.http2().max_concurrent_streams(None);
    // Usually a client that disconnected early.
    if let Err(error) = server.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(error, "a connection to the simulated API server ended early");
    }
}
