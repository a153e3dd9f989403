//! `/metrics` and `/healthz` over plain HTTP.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use lockstep_support::clock;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::counts::MonitorCounts;

/// The metrics of the last poll.
pub(super) type SharedCounts = Arc<Mutex<MonitorCounts>>;

/// The most connections at once; a scraper needs one.
const MOST: usize = 16;
/// How long a connection may last.
const LONGEST: Duration = Duration::from_secs(30);

/// Serve until dropped.
pub(super) async fn serve(listener: TcpListener, counts: SharedCounts) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if connections.len() < MOST => match accepted {
                Ok((socket, _)) => drop(connections.spawn(answer(socket, Arc::clone(&counts)))),
                Err(error) => {
                    tracing::warn!(%error, "no connection for metrics could be taken");
                    clock::pause(Duration::from_millis(100)).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Bind the listening socket.
pub(super) async fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    TcpListener::bind(address).await
}

async fn answer(socket: TcpStream, counts: SharedCounts) {
    let service = service_fn(move |request: Request<Incoming>| {
        let answer = page(request.uri().path(), &counts);
        async move { Ok::<_, Infallible>(answer) }
    });
    let connection = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(socket), service);
    tokio::select! {
        // A client that disconnects needs no answer.
        _ = connection => {}
        () = clock::sleep(LONGEST) => {}
    }
}

fn page(path: &str, counts: &SharedCounts) -> Response<Full<Bytes>> {
    let (status, text) = match path {
        "/metrics" => (StatusCode::OK, counts.lock().unwrap_or_else(PoisonError::into_inner).text()),
        "/healthz" => (StatusCode::OK, "ok\n".to_owned()),
        _ => (StatusCode::NOT_FOUND, "there is /metrics, and /healthz\n".to_owned()),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, plain);
    response
}
