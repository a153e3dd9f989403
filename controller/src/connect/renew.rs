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

use super::described::{described, without_output};

/// The layer that adds credentials to requests and renews them.
#[derive(Clone)]
pub(super) struct Renew(Arc<Credentials>);

struct Credentials {
    config: Config,
    held: Mutex<Held>,
}

/// The credentials as they were last read.
#[derive(Clone)]
struct Held {
    /// How often they have been read.
    readings: u64,
    /// `None`: no credentials, or a client certificate.
    layer: Option<Arc<AuthLayer>>,
}

impl Held {
    fn read(config: &Config, readings: u64) -> kube::Result<Self> {
        Ok(Self { readings, layer: config.auth_layer()?.map(Arc::new) })
    }

    /// A request with these credentials.
    async fn add_to(&self, request: Request<Body>) -> Result<Request<Body>, BoxError> {
        let Some(layer) = &self.layer else { return Ok(request) };
        // Boxed, because the compiler fails to prove that kube's future is Send.
        let answer: Boxed<Response<Request<Body>>> = Box::pin(layer.layer(service_fn(hand_on)).oneshot(request));
        answer.await.map(Response::into_body).map_err(without_output)
    }
}

type Boxed<T> = Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send>>;

fn hand_on(request: Request<Body>) -> Ready<Result<Response<Request<Body>>, BoxError>> {
    std::future::ready(Ok(Response::new(request)))
}

impl Renew {
    pub(super) fn of(config: &Config) -> kube::Result<Self> {
        Ok(Self(Arc::new(Credentials { config: config.clone(), held: Mutex::new(Held::read(config, 1)?) })))
    }
}

impl Credentials {
    async fn now(&self) -> Held {
        self.held.lock().await.clone()
    }

    /// Renews them unless another request has done so since; returns the current ones.
    async fn renewed(&self, refused: &Held) -> Held {
        // Locked during the renewal, so that no request is sent with the rejected ones.
        let mut held = self.held.lock().await;
        if held.readings == refused.readings {
            let (config, readings) = (self.config.clone(), held.readings + 1);
            // An exec plugin blocks.
            let read = tokio::task::spawn_blocking(move || Held::read(&config, readings)).await;
            match read {
                Ok(Ok(anew)) => *held = anew,
                Ok(Err(error)) => {
                    let error = described(&error);
                    tracing::warn!(error, "The API server rejected the credentials; cannot renew them.");
                }
                Err(error) => {
                    tracing::warn!(%error, "The API server rejected the credentials; renewing them failed.");
                }
            }
        }
        held.clone()
    }
}

impl<S> Layer<S> for Renew {
    type Service = Renewing<S>;

    fn layer(&self, inner: S) -> Renewing<S> {
        Renewing { credentials: self.0.clone(), inner }
    }
}

/// A service that adds credentials to requests.
#[derive(Clone)]
pub(super) struct Renewing<S> {
    credentials: Arc<Credentials>,
    inner: S,
}

impl<S, B> Service<Request<Body>> for Renewing<S>
where
    S: Service<Request<Body>, Response = Response<B>, Error: Into<BoxError>, Future: Send> + Clone + Send + 'static,
    B: Send,
{
    type Response = Response<B>;
    type Error = BoxError;
    type Future = Boxed<Response<B>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        // Call the service that was polled ready, and keep its clone.
        let waiting = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, waiting);
        let credentials = self.credentials.clone();
        Box::pin(async move {
            let again = copy(&request);
            let held = credentials.now().await;
            let request = held.add_to(request).await?;
            let sent = authorization(&request);
            let answer = inner.call(request).await.map_err(S::Error::into)?;
            let (StatusCode::UNAUTHORIZED, Some(again)) = (answer.status(), again) else { return Ok(answer) };
            let again = credentials.renewed(&held).await.add_to(again).await?;
            if authorization(&again) == sent {
                return Ok(answer);
            }
            tracing::info!("The API server rejected the credentials; renewed them and sending the request again.");
            let ready = inner.ready().await.map_err(S::Error::into)?;
            ready.call(again).await.map_err(S::Error::into)
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
