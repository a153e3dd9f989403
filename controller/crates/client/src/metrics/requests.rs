//! Metrics of the requests to the API server, under client-go's names, and the layer around a
//! client that feeds them.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use tower::{Layer, Service};

use crate::clock;

/// Upper bounds in seconds, client-go's.
const BUCKETS: [f64; 12] = [0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AnswerLabels {
    code: String,
    method: String,
    host: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct VerbLabels {
    verb: String,
    host: String,
}

type RequestHistograms = Family<VerbLabels, Histogram, fn() -> Histogram>;

/// The metrics of all requests.
#[derive(Debug)]
pub(super) struct RequestFamilies {
    host: String,
    answers: Family<AnswerLabels, Counter>,
    durations: RequestHistograms,
    throttles: RequestHistograms,
}

impl RequestFamilies {
    pub(super) fn register(host: &str, registry: &mut Registry) -> Self {
        let answers = Family::default();
        let help = "Requests to the API server, by status code, method and host";
        registry.register("rest_client_requests", help, Family::clone(&answers));
        let durations = RequestHistograms::new_with_constructor(histogram);
        let help = "How long in seconds an answer takes to begin, watches left out";
        registry.register("rest_client_request_duration_seconds", help, durations.clone());
        let throttles = RequestHistograms::new_with_constructor(histogram);
        let help = "How long in seconds a request waits for its turn under this process's own limit";
        registry.register("rest_client_rate_limiter_duration_seconds", help, throttles.clone());
        Self { host: host.to_owned(), answers, durations, throttles }
    }

    /// Counts one request; `took` is `None` for watches.
    pub(super) fn observe_request(&self, method: &str, code: Option<u16>, took: Option<Duration>) {
        let code = code.map_or_else(|| "<error>".to_owned(), |code| code.to_string());
        let labels = AnswerLabels { code, method: method.to_owned(), host: self.host.clone() };
        self.answers.get_or_create(&labels).inc();
        if let Some(took) = took {
            self.durations.get_or_create(&self.labels(method)).observe(took.as_secs_f64());
        }
    }

    pub(super) fn observe_throttle(&self, method: &str, wait: Duration) {
        self.throttles.get_or_create(&self.labels(method)).observe(wait.as_secs_f64());
    }

    fn labels(&self, method: &str) -> VerbLabels {
        VerbLabels { verb: method.to_owned(), host: self.host.clone() }
    }
}

fn histogram() -> Histogram {
    Histogram::new(BUCKETS)
}

/// A layer that counts the requests of a client; see [`crate::metrics::Metrics::requests`].
#[derive(Debug, Clone)]
pub struct RequestCountLayer {
    families: Arc<RequestFamilies>,
}

impl RequestCountLayer {
    pub(super) fn new(families: Arc<RequestFamilies>) -> Self {
        Self { families }
    }
}

impl<S> Layer<S> for RequestCountLayer {
    type Service = CountedRequests<S>;

    fn layer(&self, inner: S) -> CountedRequests<S> {
        CountedRequests { families: self.families.clone(), inner }
    }
}

/// A service whose requests are counted.
#[derive(Debug, Clone)]
pub struct CountedRequests<S> {
    families: Arc<RequestFamilies>,
    inner: S,
}

impl<S, A, B> Service<Request<A>> for CountedRequests<S>
where
    S: Service<Request<A>, Response = Response<B>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        let (families, method, start) = (self.families.clone(), request.method().clone(), clock::instant());
        let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
        let uri = request.uri().clone();
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            let code = answer.as_ref().ok().map(|answer| answer.status().as_u16());
            tracing::debug!(%method, %uri, code, "Answered.");
            let took = (!is_watch).then(|| clock::instant() - start);
            families.observe_request(method.as_str(), code, took);
            answer
        })
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use tower::{ServiceExt, service_fn};

    use super::*;
    use crate::metrics::Metrics;

    #[tokio::test]
    async fn layer_counts_requests() {
        let metrics = Metrics::new("server");
        let gone = service_fn(async |_: Request<()>| Ok::<_, Infallible>(Response::builder().status(410).body(())));
        let answer = metrics.requests().layer(gone.map_response(Result::unwrap));
        for uri in ["/api/v1/pods?watch=true&resourceVersion=1", "/api/v1/pods?limit=500"] {
            answer.clone().oneshot(Request::get(uri).body(()).unwrap()).await.unwrap();
        }
        let failing = service_fn(async |_: Request<()>| Err::<Response<()>, _>("refused"));
        metrics.requests().layer(failing).oneshot(Request::put("/").body(()).unwrap()).await.unwrap_err();
        let text = metrics.text();
        for line in [
            "rest_client_requests_total{code=\"410\",method=\"GET\",host=\"server\"} 2",
            "rest_client_requests_total{code=\"<error>\",method=\"PUT\",host=\"server\"} 1",
            "rest_client_request_duration_seconds_count{verb=\"GET\",host=\"server\"} 1",
            "rest_client_request_duration_seconds_count{verb=\"PUT\",host=\"server\"} 1",
        ] {
            assert!(text.lines().any(|shown| shown == line), "{line} not in\n{text}");
        }
    }
}
