//! The connection to the API server: address, credentials, proxy, and the client that uses them.
//!
//! ```text
//!  Client ─► base URI ─► credentials (renewed on 401) ─► headers ─► metrics ─► TLS ─► [proxy ─►] TCP
//! ```
//!
//! kube reads kubeconfigs and service accounts. The service stack is built here, for two reasons:
//! kube's stack cannot renew credentials that the server has rejected, and kube's proxy rules
//! differ from Go's. kube reads only `HTTPS_PROXY`, ignores it in a cluster, and matches `NO_PROXY`
//! against the proxy's address instead of the API server's.
//!
//! A connection can fall silent without being closed: a proxy or a firewall forgets it, a machine
//! loses its power. So every silence is bounded ([`Bounds`]), and a silent connection is found in
//! thirty seconds or less, for watches and for all other requests:
//!
//! * Over TLS it is HTTP/2 with a server that speaks it. A ping goes out whenever nothing has come
//!   for ten seconds; if ten more pass without an answer, the connection is closed, and everything
//!   on it fails and is tried again on another. Pings go from end to end, so a proxy that takes
//!   everything and forwards nothing deceives nobody.
//! * HTTP/1.1 has no pings. A connection on which nothing has come for thirty seconds is closed. A
//!   quiet watch is begun anew by that twice a minute, from where it was; that is the price of a
//!   server without HTTP/2.
//! * To make a connection takes ten seconds at most, those for a proxy and for TLS included.
//!
//! What answers and yet says nothing is bounded where it is asked: `api/server.rs` for requests,
//! `runtime/reflector.rs` for watches. The lease has connections of its own ([`Protocol::Http1`]):
//! a request that is given up closes its connection, so the next try has a new one, before the
//! lease is lost; and no long list is in its way.
//!
//! Borders: this module does not know what is requested, and retries nothing, with one exception: a
//! request rejected with 401 is sent once more if the credentials have changed.

mod bounds;
mod described;
mod error;
mod poster;
mod proxy;
mod renew;

use std::path::Path;

pub use bounds::{Bounds, Protocol};
use described::described;
pub use error::ConnectError;
use futures::future::BoxFuture;
use http::HeaderValue;
use http::header::USER_AGENT;
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::{Connection, HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::{Body, ClientBuilder, ConfigExt};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
pub use poster::Poster;
pub use proxy::ProxyRules;
use tower::{BoxError, Service, ServiceBuilder};

use crate::metrics::Metrics;

/// The user agent, as the API server's audit log shows it.
const AGENT: &str = concat!("rollout-controller/", env!("CARGO_PKG_VERSION"));

/// Reads the configuration from a kubeconfig file, or infers it as kube does without one, and
/// chooses the proxy for its API server.
///
/// # Errors
/// If there is no usable configuration, or the proxy cannot be used.
pub fn config<'a>(
    kubeconfig: Option<&'a Path>,
    proxies: &'a ProxyRules,
) -> BoxFuture<'a, Result<Config, ConnectError>> {
    // Boxed, so that it is compiled here and not once more in each program.
    Box::pin(read_config(kubeconfig, proxies))
}

async fn read_config(kubeconfig: Option<&Path>, proxies: &ProxyRules) -> Result<Config, ConnectError> {
    let file = match kubeconfig {
        Some(path) => {
            let failed = |error| ConnectError::Read { path: path.to_owned(), why: described(&error) };
            Some(Kubeconfig::read_from(path).map_err(failed)?)
        }
        None => Kubeconfig::read().ok(),
    };
    // Read from the file, because kube falls back to the environment.
    let own = file.as_ref().and_then(own_proxy);
    let mut config = match (kubeconfig, file) {
        (Some(_), Some(file)) => Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
            .await
            .map_err(|error| ConnectError::Use(described(&error)))?,
        _ => Config::infer().await.map_err(|error| ConnectError::None(described(&error)))?,
    };
    if config.cluster_url.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(ConnectError::ServerUser);
    }
    config.proxy_url = match own {
        Some(own) => Some(proxy::parse("proxy-url", &own)?),
        None => proxies.choose(&config.cluster_url)?,
    };
    // The controller decides what is retried, and when.
    config.default_retry = false;
    config.headers.push((USER_AGENT, HeaderValue::from_static(AGENT)));
    Ok(config)
}

/// `proxy-url` of the current context's cluster.
fn own_proxy(file: &Kubeconfig) -> Option<String> {
    let current = file.current_context.as_ref()?;
    let context = file.contexts.iter().find(|context| context.name == *current)?.context.as_ref()?;
    let cluster = file.clusters.iter().find(|cluster| cluster.name == context.cluster)?.cluster.as_ref()?;
    cluster.proxy_url.clone().filter(|url| !url.is_empty())
}

/// A client for this configuration; `metrics` counts its requests.
///
/// # Errors
/// If the credentials cannot be read, or TLS cannot be set up from what is configured.
pub fn client(config: &Config, metrics: &Metrics) -> Result<Client, ConnectError> {
    client_within(config, Protocol::Any, Bounds::default(), metrics)
}

/// The same for a protocol, with bounds of its own; of the configuration's timeouts none counts.
///
/// # Errors
/// As [`client`].
pub fn client_within(
    config: &Config,
    protocol: Protocol,
    bounds: Bounds,
    metrics: &Metrics,
) -> Result<Client, ConnectError> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    // In HTTP/2 head and body are two small writes, and the second must not wait until the first is
    // acknowledged.
    tcp.set_nodelay(true);
    // Of several addresses each gets its share, so that one that is dead leaves time for the
    // others.
    tcp.set_connect_timeout(Some(bounds.connect));
    let stack = Stack { config, protocol, bounds, metrics };
    let Some(proxy) = config.proxy_url.clone() else { return stack.over(tcp) };
    tracing::info!(proxy = proxy::shown(&proxy), "Requests to the API server go through a proxy.");
    if proxy.scheme_str() == Some("https") {
        let tls = config.rustls_https_connector_with_connector(tcp).map_err(unusable)?;
        stack.over(proxy::tunnel(tls, &proxy))
    } else {
        stack.over(proxy::tunnel(tcp, &proxy))
    }
}

/// What a client is put together from.
struct Stack<'a> {
    config: &'a Config,
    protocol: Protocol,
    bounds: Bounds,
    metrics: &'a Metrics,
}

impl Stack<'_> {
    fn over<C>(&self, connector: C) -> Result<Client, ConnectError>
    where
        C: Service<http::Uri, Future: Send, Error: Into<BoxError>> + Clone + Send + Sync + 'static,
        C::Response: Connection + hyper::rt::Read + hyper::rt::Write + Send + Unpin + 'static,
    {
        let (config, bounds) = (self.config, self.bounds);
        let mut connector = TimeoutConnector::new(self.tls(connector)?);
        connector.set_connect_timeout(Some(bounds.connect));
        connector.set_read_timeout(Some(bounds.silence));
        connector.set_write_timeout(Some(bounds.silence));
        // A connection that was idle is silent from its next request on, not from its last answer.
        connector.set_reset_reader_on_write(true);
        let mut sender = legacy::Client::builder(TokioExecutor::new());
        sender.timer(TokioTimer::new()).pool_timer(TokioTimer::new());
        sender.http2_keep_alive_interval(bounds.ping).http2_keep_alive_timeout(bounds.pong);
        sender.http2_keep_alive_while_idle(true);
        let sender: legacy::Client<_, Body> = sender.build(connector);
        let namespace = config.default_namespace.clone();
        let service = ServiceBuilder::new()
            .layer(config.base_uri_layer())
            .layer(renew::Renew::of(config).map_err(unusable)?)
            .layer(config.extra_headers_layer().map_err(unusable)?)
            .layer(self.metrics.requests())
            .service(sender);
        Ok(ClientBuilder::new(service, namespace).build())
    }

    /// As kube's own, which offers HTTP/1.1 alone.
    fn tls<C>(&self, connector: C) -> Result<HttpsConnector<C>, ConnectError> {
        let tls = self.config.rustls_client_config().map_err(unusable)?;
        let mut builder = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
        if let Some(name) = &self.config.tls_server_name {
            let known = name.clone().try_into().map_err(|_| ConnectError::ServerName(name.clone()))?;
            builder = builder.with_server_name_resolver(FixedServerNameResolver::new(known));
        }
        Ok(match self.protocol {
            Protocol::Any => builder.enable_all_versions().wrap_connector(connector),
            Protocol::Http1 => builder.enable_http1().wrap_connector(connector),
        })
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is passed to `map_err`")]
fn unusable(error: kube::Error) -> ConnectError {
    ConnectError::Client(described(&error))
}
