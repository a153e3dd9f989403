//! The way to the API server: address, credentials, proxy, and the client that goes it.
//!
//! ```text
//!  Client ─► base URI ─► credentials (a 401 renews them) ─► headers ─► counted ─► TLS ─► [proxy ─►] TCP
//! ```
//!
//! kube reads kubeconfigs and service accounts; the stack is put together here, since kube's own one cannot renew credentials
//! that the server has refused, and its proxy rules are not Go's: of the environment it knows `HTTPS_PROXY` alone, in a cluster
//! not even that, and it compares `NO_PROXY` with the proxy's address instead of the API server's.
//!
//! Borders: nothing in here knows what is asked of the server, nor decides whether a request is repeated, with one exception: a
//! request refused for its credentials is sent once more if there are others by now.

mod error;
mod proxy;
mod renew;

use std::path::Path;

pub use error::ConnectError;
use http::HeaderValue;
use http::header::USER_AGENT;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connection, HttpConnector};
use hyper_util::rt::TokioExecutor;
use kube::client::{Body, ClientBuilder, ConfigExt};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
pub use proxy::ProxyRules;
use tower::{BoxError, Service, ServiceBuilder};

use crate::metrics::Metrics;

/// How this program calls itself in the server's audit log.
const AGENT: &str = concat!("rollout-controller/", env!("CARGO_PKG_VERSION"));

/// Reads where the API server is and who asks: a kubeconfig, or what kube finds without one; and the proxy between, if the rules
/// name one for this server.
///
/// # Errors
/// If there is no usable configuration, or the proxy cannot be used.
pub async fn config(kubeconfig: Option<&Path>, proxies: &ProxyRules) -> Result<Config, ConnectError> {
    let file = match kubeconfig {
        Some(path) => {
            let failed = |source| ConnectError::Read { path: path.to_owned(), source: Box::new(source) };
            Some(Kubeconfig::read_from(path).map_err(failed)?)
        }
        None => Kubeconfig::read().ok(),
    };
    // Kept apart, for kube would take the environment's in its place.
    let own = file.as_ref().and_then(own_proxy);
    let mut config = match (kubeconfig, file) {
        (Some(_), Some(file)) => Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
            .await
            .map_err(|source| ConnectError::Use(Box::new(source)))?,
        _ => Config::infer().await.map_err(|source| ConnectError::None(Box::new(source)))?,
    };
    config.proxy_url = match own {
        Some(own) => Some(proxy::parse("proxy-url", &own)?),
        None => proxies.choose(&config.cluster_url)?,
    };
    // What is to be tried again, and when, is the controller's decision.
    config.default_retry = false;
    config.headers.push((USER_AGENT, HeaderValue::from_static(AGENT)));
    Ok(config)
}

/// The proxy that the current context's cluster names.
fn own_proxy(file: &Kubeconfig) -> Option<String> {
    let current = file.current_context.as_ref()?;
    let context = file.contexts.iter().find(|context| context.name == *current)?.context.as_ref()?;
    let cluster = file.clusters.iter().find(|cluster| cluster.name == context.cluster)?.cluster.as_ref()?;
    cluster.proxy_url.clone().filter(|url| !url.is_empty())
}

/// A client for this configuration, whose requests are counted.
///
/// # Errors
/// If the credentials cannot be read, or TLS cannot be set up from what is configured.
pub fn client(config: &Config, metrics: &Metrics) -> Result<Client, ConnectError> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_connect_timeout(config.connect_timeout);
    let Some(proxy) = config.proxy_url.clone() else { return stack(tcp, config, metrics) };
    tracing::info!(proxy = proxy::shown(&proxy), "Requests to the API server go through a proxy.");
    if proxy.scheme_str() == Some("https") {
        let tls = config.rustls_https_connector_with_connector(tcp).map_err(unusable)?;
        stack(proxy::with_credentials(Tunnel::new(proxy.clone(), tls), &proxy), config, metrics)
    } else {
        stack(proxy::with_credentials(Tunnel::new(proxy.clone(), tcp), &proxy), config, metrics)
    }
}

fn stack<C>(connector: C, config: &Config, metrics: &Metrics) -> Result<Client, ConnectError>
where
    C: Service<http::Uri, Future: Send, Error: Into<BoxError>> + Clone + Send + Sync + 'static,
    C::Response: Connection + hyper::rt::Read + hyper::rt::Write + Send + Unpin + 'static,
{
    let tls = config.rustls_https_connector_with_connector(connector).map_err(unusable)?;
    let sender: legacy::Client<_, Body> = legacy::Client::builder(TokioExecutor::new()).build(tls);
    let namespace = config.default_namespace.clone();
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .layer(renew::Renew::of(config).map_err(unusable)?)
        .layer(config.extra_headers_layer().map_err(unusable)?)
        .layer(metrics.requests())
        .service(sender);
    Ok(ClientBuilder::new(service, namespace).build())
}

fn unusable(source: kube::Error) -> ConnectError {
    ConnectError::Client(Box::new(source))
}
