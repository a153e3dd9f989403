//! Renews credentials that the API server rejects with 401, and sends the request once more.
//!
//! A token can be replaced before it expires. kube re-reads a token file once a minute and runs an
//! exec plugin again shortly before its token expires, whatever the server answers meanwhile. This
//! layer re-reads the file or runs the plugin at the first 401. Concurrent 401s cause one renewal,
//! and a request whose credentials did not change is not sent again.

use std::future::Ready;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::header::AUTHORIZATION;
use http::{HeaderValue, Request, Response, StatusCode};
use kube::Config;
use kube::client::middleware::AuthLayer;
use kube::client::{Body, ConfigExt};
use tokio::sync::Mutex;
use tower::{BoxError, Layer, Service, ServiceExt, service_fn};

use super::redaction::{redact, redact_plugin_output};

/// The layer that adds credentials to requests and renews them.
#[derive(Clone)]
pub(super) struct RenewLayer(Arc<Credentials>);

struct Credentials {
    config: Config,
    loaded: Mutex<LoadedCredentials>,
}

/// The credentials that were last loaded.
#[derive(Clone)]
struct LoadedCredentials {
    /// Number of times they have been loaded.
    readings: u64,
    /// `None`: no credentials, or a client certificate.
    layer: Option<Arc<AuthLayer>>,
}

impl LoadedCredentials {
    fn read(config: &Config, readings: u64) -> kube::Result<Self> {
        Ok(Self { readings, layer: config.auth_layer()?.map(Arc::new) })
    }

    /// A request with these credentials.
    async fn add_to(&self, request: Request<Body>) -> Result<Request<Body>, BoxError> {
        let Some(layer) = &self.layer else { return Ok(request) };
        // Boxed, because the compiler fails to prove that kube's future is Send.
        let answer: ResultFuture<Response<Request<Body>>> =
            Box::pin(layer.layer(service_fn(echo_request)).oneshot(request));
        answer.await.map(Response::into_body).map_err(redact_plugin_output)
    }
}

type ResultFuture<T> = Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send>>;

fn echo_request(request: Request<Body>) -> Ready<Result<Response<Request<Body>>, BoxError>> {
    std::future::ready(Ok(Response::new(request)))
}

impl RenewLayer {
    pub(super) fn new(config: &Config) -> kube::Result<Self> {
        Ok(Self(Arc::new(Credentials {
            config: config.clone(),
            loaded: Mutex::new(LoadedCredentials::read(config, 1)?),
        })))
    }
}

impl Credentials {
    async fn current(&self) -> LoadedCredentials {
        self.loaded.lock().await.clone()
    }

    /// Renews the credentials unless another request has done so; returns the current ones.
    async fn renew(&self, refused: &LoadedCredentials) -> LoadedCredentials {
        // Locked during the renewal, so that no request is sent with the rejected credentials.
        let mut loaded = self.loaded.lock().await;
        if loaded.readings == refused.readings {
            let (config, readings) = (self.config.clone(), loaded.readings + 1);
            // An exec plugin blocks.
            let read = tokio::task::spawn_blocking(move || LoadedCredentials::read(&config, readings)).await;
            match read {
                Ok(Ok(renewed)) => *loaded = renewed,
                Ok(Err(error)) => {
                    let error = redact(&error);
                    tracing::warn!(error, "The API server rejected the credentials; cannot renew them.");
                }
                Err(error) => {
                    tracing::warn!(%error, "The API server rejected the credentials; renewing them failed.");
                }
            }
        }
        loaded.clone()
    }
}

impl<S> Layer<S> for RenewLayer {
    type Service = RenewService<S>;

    fn layer(&self, inner: S) -> RenewService<S> {
        RenewService { credentials: self.0.clone(), inner }
    }
}

/// A service that adds credentials to requests.
#[derive(Clone)]
pub(super) struct RenewService<S> {
    credentials: Arc<Credentials>,
    inner: S,
}

impl<S, B> Service<Request<Body>> for RenewService<S>
where
    S: Service<Request<Body>, Response = Response<B>, Error: Into<BoxError>, Future: Send> + Clone + Send + 'static,
    B: Send,
{
    type Response = Response<B>;
    type Error = BoxError;
    type Future = ResultFuture<Response<B>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        // Call the service that was polled ready, and keep its clone.
        let waiting = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, waiting);
        let credentials = self.credentials.clone();
        Box::pin(async move {
            let retry = copy(&request);
            let loaded = credentials.current().await;
            let request = loaded.add_to(request).await?;
            let sent = authorization(&request);
            let answer = inner.call(request).await.map_err(S::Error::into)?;
            let (StatusCode::UNAUTHORIZED, Some(retry)) = (answer.status(), retry) else { return Ok(answer) };
            let retry = credentials.renew(&loaded).await.add_to(retry).await?;
            if authorization(&retry) == sent {
                return Ok(answer);
            }
            tracing::info!("The API server rejected the credentials; renewed them and sending the request again.");
            let ready = inner.ready().await.map_err(S::Error::into)?;
            ready.call(retry).await.map_err(S::Error::into)
        })
    }
}

fn authorization(request: &Request<Body>) -> Option<HeaderValue> {
    request.headers().get(AUTHORIZATION).cloned()
}

/// A copy of the request, unless its body is a stream; this controller sends none.
fn copy(request: &Request<Body>) -> Option<Request<Body>> {
    let body = request.body().try_clone()?;
    let (mut copy, _) = Request::new(()).into_parts();
    copy.method = request.method().clone();
    copy.uri = request.uri().clone();
    copy.version = request.version();
    copy.headers = request.headers().clone();
    copy.extensions = request.extensions().clone();
    Some(Request::from_parts(copy, body))
}
