//! The connection to the API server: address, credentials, proxy, and the client that uses them.
//!
//! ```text
//!  Client ─► base URI ─► credentials (renewed on 401) ─► headers ─► metrics ─► TLS ─► [proxy ─►] TCP
//! ```
//!
//! kube reads kubeconfigs and service accounts. The service stack is built here, for two reasons:
//! kube's stack cannot renew credentials that the server has rejected, and kube's proxy rules
//! differ from Go's: it reads only `HTTPS_PROXY`, ignores it in a cluster, and matches `NO_PROXY`
//! against the proxy's address instead of the API server's.
//!
//! A connection can fall silent without being closed, when a proxy or a firewall forgets it or a
//! machine loses power. So every silence has a timeout ([`ConnectionTimeouts`]), and a silent
//! connection is detected within thirty seconds, for watches and for all other requests:
//!
//! * Over TLS, HTTP/2 is used with servers that support it. A ping is sent after ten seconds
//!   without data; if it is not answered within ten more, the connection is closed, and its
//!   requests fail and are retried on another. Pings go from end to end, so a proxy that accepts
//!   data without forwarding it is detected.
//! * HTTP/1.1 has no pings. A connection without data for thirty seconds is closed. A quiet watch
//!   is therefore restarted twice a minute, from its version; that is the price of a server without
//!   HTTP/2.
//! * Establishing a connection takes ten seconds at most, including those to a proxy and the TLS
//!   handshake.
//!
//! Servers that respond without data have limits at the requests: `api/server.rs` for reads and
//! writes, `runtime/reflector.rs` for watches. The lease has connections of its own
//! ([`Protocol::Http1`]): an abandoned request closes its connection, so the next attempt has a new
//! one before the lease is lost, and no long list is in its way.
//!
//! This module does not know what is requested, and retries nothing, with one exception: a request
//! rejected with 401 is sent once more if the credentials have changed.

mod error;
mod proxy;
mod redaction;
mod renew;
mod timeouts;
mod webhook_client;

use std::path::Path;

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
pub use proxy::ProxyRules;
use redaction::redact;
pub use timeouts::{ConnectionTimeouts, Protocol};
use tower::{BoxError, Service, ServiceBuilder};
pub use webhook_client::WebhookClient;

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
            let failed = |error| ConnectError::Read { path: path.to_owned(), why: redact(&error) };
            Some(Kubeconfig::read_from(path).map_err(failed)?)
        }
        None => Kubeconfig::read().ok(),
    };
    // Read from the file, because kube falls back to the environment.
    let proxy_url = file.as_ref().and_then(kubeconfig_proxy);
    let mut config = match (kubeconfig, file) {
        (Some(_), Some(file)) => Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
            .await
            .map_err(|error| ConnectError::Use(redact(&error)))?,
        _ => Config::infer().await.map_err(|error| ConnectError::None(redact(&error)))?,
    };
    if config.cluster_url.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(ConnectError::ServerUser);
    }
    config.proxy_url = match proxy_url {
        Some(url) => Some(proxy::parse("proxy-url", &url)?),
        None => proxies.choose(&config.cluster_url)?,
    };
    // The controller decides what is retried, and when.
    config.default_retry = false;
    config.headers.push((USER_AGENT, HeaderValue::from_static(AGENT)));
    Ok(config)
}

/// `proxy-url` of the current context's cluster.
fn kubeconfig_proxy(file: &Kubeconfig) -> Option<String> {
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
    client_with_timeouts(config, Protocol::Any, ConnectionTimeouts::default(), metrics)
}

/// The same for a protocol and with other timeouts; those of the configuration are ignored.
///
/// # Errors
/// As [`client`].
pub fn client_with_timeouts(
    config: &Config,
    protocol: Protocol,
    timeouts: ConnectionTimeouts,
    metrics: &Metrics,
) -> Result<Client, ConnectError> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    // In HTTP/2 head and body are two small writes, and the second must not wait until the first is
    // acknowledged.
    tcp.set_nodelay(true);
    // The timeout is divided among several addresses, so that a dead one leaves time for the
    // others.
    tcp.set_connect_timeout(Some(timeouts.connect));
    let stack = ClientParts { config, protocol, timeouts, metrics };
    let Some(proxy) = config.proxy_url.clone() else { return stack.build(tcp) };
    tracing::info!(proxy = proxy::without_credentials(&proxy), "Requests to the API server go through a proxy.");
    if proxy.scheme_str() == Some("https") {
        let tls = config.rustls_https_connector_with_connector(tcp).map_err(unusable)?;
        stack.build(proxy::tunnel(tls, &proxy))
    } else {
        stack.build(proxy::tunnel(tcp, &proxy))
    }
}

struct ClientParts<'a> {
    config: &'a Config,
    protocol: Protocol,
    timeouts: ConnectionTimeouts,
    metrics: &'a Metrics,
}

impl ClientParts<'_> {
    fn build<C>(&self, connector: C) -> Result<Client, ConnectError>
    where
        C: Service<http::Uri, Future: Send, Error: Into<BoxError>> + Clone + Send + Sync + 'static,
        C::Response: Connection + hyper::rt::Read + hyper::rt::Write + Send + Unpin + 'static,
    {
        let (config, timeouts) = (self.config, self.timeouts);
        let mut connector = TimeoutConnector::new(self.tls(connector)?);
        connector.set_connect_timeout(Some(timeouts.connect));
        connector.set_read_timeout(Some(timeouts.silence));
        connector.set_write_timeout(Some(timeouts.silence));
        // The silence of an idle connection counts from its next request, not from its last
        // response.
        connector.set_reset_reader_on_write(true);
        let mut sender = legacy::Client::builder(TokioExecutor::new());
        sender.timer(TokioTimer::new()).pool_timer(TokioTimer::new());
        sender.http2_keep_alive_interval(timeouts.ping).http2_keep_alive_timeout(timeouts.pong);
        sender.http2_keep_alive_while_idle(true);
        let sender: legacy::Client<_, Body> = sender.build(connector);
        let namespace = config.default_namespace.clone();
        let service = ServiceBuilder::new()
            .layer(config.base_uri_layer())
            .layer(renew::RenewLayer::new(config).map_err(unusable)?)
            .layer(config.extra_headers_layer().map_err(unusable)?)
            .layer(self.metrics.requests())
            .service(sender);
        Ok(ClientBuilder::new(service, namespace).build())
    }

    /// As kube's TLS connector, which offers HTTP/1.1 only.
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
    ConnectError::Client(redact(&error))
}
