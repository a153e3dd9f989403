//! The metrics, in Prometheus' text format, and `/metrics` and `/healthz` over plain HTTP.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt::Write as _;
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

/// The most pairs of Deployment and rule with a counter of their own. Breaches of further ones
/// share a counter without names.
const MOST: usize = 1_000;

#[derive(Debug, Clone, Default)]
pub(crate) struct MonitorCounts {
    pub(super) deployments: usize,
    pub(super) versions: u64,
    pub(super) late: u64,
    pub(super) gaps: u64,
    pub(super) bytes: usize,
    /// In milliseconds.
    pub(super) behind: u64,
    /// Alerts and files that could not be sent or written, by what they are.
    pub(super) failed: BTreeMap<&'static str, u64>,
    breaches: BTreeMap<(String, String, &'static str), u64>,
}

impl MonitorCounts {
    pub(super) fn breach(&mut self, namespace: &str, deployment: &str, rule: &'static str) {
        let mut key = (namespace.to_owned(), deployment.to_owned(), rule);
        if self.breaches.len() >= MOST && !self.breaches.contains_key(&key) {
            (key.0, key.1) = (String::new(), String::new());
        }
        *self.breaches.entry(key).or_default() += 1;
    }

    pub(super) fn count_failure(&mut self, kind: &'static str) {
        *self.failed.entry(kind).or_default() += 1;
    }

    /// The number of all breaches.
    pub(super) fn all_breaches(&self) -> u64 {
        self.breaches.values().sum()
    }

    /// In Prometheus' text format.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        let gauge = [
            ("lockstep_watch_deployments", "Deployments that are watched.", self.deployments.to_string()),
            ("lockstep_watch_evidence_bytes", "What the versions kept for evidence weigh.", self.bytes.to_string()),
            (
                "lockstep_watch_behind_seconds",
                "How long ago that was up to which everything has been seen.",
                format!("{:.3}", Duration::from_millis(self.behind).as_secs_f64()),
            ),
        ];
        for (name, help, value) in gauge {
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}");
        }
        let counter = [
            ("lockstep_watch_versions_total", "Versions of objects that were looked at.", self.versions),
            ("lockstep_watch_late_total", "Versions that came after later ones.", self.late),
            ("lockstep_watch_gaps_total", "Times that a watch could not go on.", self.gaps),
        ];
        for (name, help, value) in counter {
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} counter\n{name} {value}");
        }
        let name = "lockstep_watch_breaches_total";
        let _ = writeln!(out, "# HELP {name} Broken invariants and wrong statuses.\n# TYPE {name} counter");
        for ((namespace, deployment, rule), count) in &self.breaches {
            // Names of objects contain no characters that must be escaped.
            let labels = format!("namespace=\"{namespace}\",deployment=\"{deployment}\",rule=\"{rule}\"");
            let _ = writeln!(out, "{name}{{{labels}}} {count}");
        }
        let name = "lockstep_watch_failures_total";
        let _ = writeln!(out, "# HELP {name} Alerts and files that were lost.\n# TYPE {name} counter");
        for (kind, count) in &self.failed {
            let _ = writeln!(out, "{name}{{what=\"{kind}\"}} {count}");
        }
        out
    }
}

/// The metrics of the last poll.
pub(super) type SharedCounts = Arc<Mutex<MonitorCounts>>;

/// The most connections at once; a scraper needs one.
const MAX_CONNECTIONS: usize = 16;
/// How long a connection may last.
const MAX_CONNECTION_TIME: Duration = Duration::from_secs(30);

/// Serve until dropped.
pub(super) async fn serve(listener: TcpListener, counts: SharedCounts) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if connections.len() < MAX_CONNECTIONS => match accepted {
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
        () = clock::sleep(MAX_CONNECTION_TIME) => {}
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renders_metrics_in_prometheus_format() {
        let mut counts = MonitorCounts { deployments: 2, behind: 1_500, ..MonitorCounts::default() };
        counts.breach("shop", "web", "surge");
        counts.breach("shop", "web", "surge");
        counts.count_failure("webhook");
        let text = counts.text();
        for line in [
            "lockstep_watch_deployments 2",
            "lockstep_watch_behind_seconds 1.500",
            "lockstep_watch_breaches_total{namespace=\"shop\",deployment=\"web\",rule=\"surge\"} 2",
            "lockstep_watch_failures_total{what=\"webhook\"} 1",
        ] {
            assert!(text.lines().any(|one| one == line), "{line} in\n{text}");
        }
        assert_eq!(counts.all_breaches(), 2);
    }
}
