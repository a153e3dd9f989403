//! The same server over HTTP, on a socket of loopback and in the machine's own time: for whoever is no part of this process.
//!
//! It speaks TLS and knows two bearer tokens, the harness's and the subject's; both may do everything, as the server is thrown away.
//! Bodies are JSON: who sends or wants protobuf is refused as loudly as anything else that this server does not know.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rustls::ServerConfig;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use super::{Reply, Sim};
use crate::clock;

/// Where a client learns what the server was asked that it does not know: a list of texts. Not a path of Kubernetes'.
pub(in crate::cluster) const BEYOND: &str = "/lockstep/beyond";

/// A server that listens, until it is dropped.
#[derive(Debug)]
pub(in crate::cluster) struct Listening {
    pub(in crate::cluster) address: SocketAddr,
    task: AbortHandle,
}

impl Sim {
    /// Listen on a free port of loopback, for whoever has one of these tokens. To be called inside of a tokio runtime.
    pub(in crate::cluster) fn listen(&self, tls: ServerConfig, tokens: Vec<String>) -> std::io::Result<Listening> {
        let listener = StdListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let listener = TcpListener::from_std(listener)?;
        let tls = TlsAcceptor::from(Arc::new(tls));
        let known = tokens.into_iter().map(|token| format!("Bearer {token}")).collect();
        let door = Arc::new(Door { sim: self.clone(), known });
        let task = tokio::spawn(accept(listener, tls, door)).abort_handle();
        Ok(Listening { address, task })
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Who is let in, and to what.
struct Door {
    sim: Sim,
    /// Values of the header.
    known: Vec<String>,
}

impl Door {
    async fn answer(&self, request: Request<Incoming>) -> Result<Response<Reply>, Infallible> {
        let said = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if !self.known.iter().any(|known| known == said) {
            let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "Unauthorized",
                "reason": "Unauthorized", "code": 401});
            return Ok(whole(StatusCode::UNAUTHORIZED, &status));
        }
        if request.uri().path() == BEYOND {
            return Ok(whole(StatusCode::OK, &json!(self.sim.beyond())));
        }
        self.sim.call(request).await
    }
}

fn whole(code: StatusCode, body: &serde_json::Value) -> Response<Reply> {
    let mut response = Response::new(Reply::Whole(Full::new(body.to_string().into())));
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Take connections until aborted; their tasks end with this one.
async fn accept(listener: TcpListener, tls: TlsAcceptor, door: Arc<Door>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => {
                    connections.spawn(serve(socket, tls.clone(), Arc::clone(&door)));
                }
                // Out of file descriptors, mostly: others will be closed meanwhile.
                Err(error) => {
                    tracing::warn!(%error, "the simulated server cannot take a connection");
                    clock::pause(Duration::from_millis(50)).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(socket: TcpStream, tls: TlsAcceptor, door: Arc<Door>) {
    // A watch event is one small frame, which must not wait for a second one.
    let _ = socket.set_nodelay(true);
    let Ok(stream) = tls.accept(socket).await else { return };
    let service = service_fn(move |request: Request<Incoming>| {
        let door = Arc::clone(&door);
        async move { door.answer(request).await }
    });
    let mut server = auto::Builder::new(TokioExecutor::new());
    server.http2().max_concurrent_streams(None);
    // An error here is a client that went away in the middle of something, and needs no answer.
    if let Err(error) = server.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(error, "a connection to the simulated server ended early");
    }
}
