//! Connects to a server's socket, directly or through a proxy.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Uri;
use hyper::header::HeaderValue;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::rt::TokioIo;
use k8s_openapi::ByteString;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tower::{BoxError, Service, ServiceExt};

use super::proxy::{self, ForwardProxy, Scheme};

/// Opens connections to a server.
#[derive(Debug, Clone)]
pub struct Dialer {
    route: ProxiedConnector,
    /// The time limit, including the proxy's handshake.
    limit: Duration,
}

#[derive(Debug, Clone)]
enum ProxiedConnector {
    Direct(HttpConnector),
    Http(Tunnel<HttpConnector>),
    Https(Tunnel<HttpsConnector<HttpConnector>>),
    Socks(SocksV5<HttpConnector>),
}

impl Dialer {
    /// Connects through this proxy, if there is one. A proxy with TLS is trusted by this machine's
    /// CAs and by the cluster's.
    pub fn new(
        proxy: Option<&ForwardProxy>,
        authorities: &[CertificateDer<'_>],
        limit: Duration,
    ) -> Result<Self, String> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        let Some(proxy) = proxy else { return Ok(Self { route: ProxiedConnector::Direct(tcp), limit }) };
        let address: Uri = proxy.to_string().parse().map_err(|error| format!("{proxy}: {error}"))?;
        let route = match proxy.scheme {
            Scheme::Http => ProxiedConnector::Http(with_credentials(Tunnel::new(address, tcp), proxy)),
            Scheme::Https => {
                let tls = HttpsConnectorBuilder::new().with_tls_config(tls_config(authorities)?).https_only();
                ProxiedConnector::Https(with_credentials(
                    Tunnel::new(address, tls.enable_http1().wrap_connector(tcp)),
                    proxy,
                ))
            }
            Scheme::Socks5 => ProxiedConnector::Socks(match &proxy.user {
                Some((name, password)) => SocksV5::new(address, tcp).with_auth(name.clone(), password.clone()),
                None => SocksV5::new(address, tcp),
            }),
        };
        Ok(Self { route, limit })
    }
}

fn with_credentials<C>(tunnel: Tunnel<C>, proxy: &ForwardProxy) -> Tunnel<C> {
    let Some((name, password)) = &proxy.user else { return tunnel };
    match basic_auth(name, password) {
        Some(header) => tunnel.with_auth(header),
        None => tunnel,
    }
}

/// User name and password as a header.
pub(super) fn basic_auth(name: &str, password: &str) -> Option<HeaderValue> {
    // The Kubernetes API's type for bytes serialises them as base64, as the header requires.
    let base64 = serde_json::to_value(ByteString(format!("{name}:{password}").into_bytes())).ok()?;
    let mut value = HeaderValue::try_from(format!("Basic {}", base64.as_str()?)).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// The part before the `@` of an address, such as `name:pass%40word`, as a header.
pub fn basic_auth_from_userinfo(user: &str) -> Option<HeaderValue> {
    let (name, password) = proxy::user_and_password(user);
    basic_auth(&name, &password)
}

fn tls_config(authorities: &[CertificateDer<'_>]) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    for one in authorities {
        roots.add(one.clone().into_owned()).map_err(|error| error.to_string())?;
    }
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    Ok(config.map_err(|error| error.to_string())?.with_root_certificates(roots).with_no_client_auth())
}

impl Service<Uri> for Dialer {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, server: Uri) -> Self::Future {
        let Self { route, limit } = self.clone();
        let open = async move {
            Ok(match route {
                ProxiedConnector::Direct(way) => MaybeHttpsStream::Http(way.oneshot(server).await?),
                ProxiedConnector::Http(way) => MaybeHttpsStream::Http(way.oneshot(server).await?),
                ProxiedConnector::Socks(way) => MaybeHttpsStream::Http(way.oneshot(server).await?),
                ProxiedConnector::Https(way) => way.oneshot(server).await?,
            })
        };
        Box::pin(async move {
            let late = || format!("no connection within {} s", limit.as_secs());
            tokio::time::timeout(limit, open).await.unwrap_or_else(|_| Err(late().into()))
        })
    }
}
