//! A client for a webhook: POST to one address, which it does not show.
//!
//! The address may be a path of the API server, which the command line refuses: a simulation has no
//! network but its API server, and observes messages there.

use http::header::{AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Method, Request, StatusCode, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::rt::TokioExecutor;
use kube::Config;
use kube::client::{Body, ConfigExt};

use super::{AGENT, Bounds, ConnectError, proxy, unusable};

/// Sends to one address.
#[derive(Clone)]
pub struct Poster {
    url: Uri,
    /// The user of its address.
    authorization: Option<HeaderValue>,
    client: Sender,
}

#[derive(Clone)]
enum Sender {
    Direct(legacy::Client<HttpsConnector<HttpConnector>, String>),
    Proxied(legacy::Client<HttpsConnector<Tunnel<HttpConnector>>, String>),
    Api(kube::Client),
}

impl Poster {
    /// One for an address, by way of a proxy if there is one. TLS trusts what the machine trusts.
    ///
    /// # Errors
    /// [`ConnectError`] if an address is not one, or TLS cannot be set up.
    pub fn new(url: &str, through: Option<&str>) -> Result<Self, ConnectError> {
        let (url, authorization) = proxy::address(url)?;
        let tls = Config::new(url.clone()).rustls_client_config().map_err(unusable)?;
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_connect_timeout(Some(Bounds::default().connect));
        let https = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1();
        let builder = legacy::Client::builder(TokioExecutor::new());
        let client = match through {
            Some(address) => {
                let tunnel = proxy::tunnel(tcp, &proxy::parse("the webhook's settings", address)?);
                Sender::Proxied(builder.build(https.wrap_connector(tunnel)))
            }
            None => Sender::Direct(builder.build(https.wrap_connector(tcp))),
        };
        Ok(Self { url, authorization, client })
    }

    /// One for a path of the API server, by a client for that.
    ///
    /// # Errors
    /// [`ConnectError`] if it is not a path.
    pub fn by(client: kube::Client, path: &str) -> Result<Self, ConnectError> {
        let url = path.parse().map_err(|_| ConnectError::Webhook)?;
        Ok(Self { url, authorization: None, client: Sender::Api(client) })
    }

    /// Sends, and returns the status. What is wrong is said without the address.
    ///
    /// # Errors
    /// If there is no answer.
    pub async fn post(&self, content_type: &str, body: String) -> Result<StatusCode, String> {
        let request = Request::builder().method(Method::POST).uri(self.url.clone());
        let request = request.header(CONTENT_TYPE, content_type).header(USER_AGENT, AGENT).body(body);
        let mut request = request.map_err(|error| error.to_string())?;
        request.headers_mut().extend(self.authorization.clone().map(|header| (AUTHORIZATION, header)));
        let answer = match &self.client {
            Sender::Direct(client) => client.request(request).await,
            Sender::Proxied(client) => client.request(request).await,
            Sender::Api(client) => {
                let answer = client.send(request.map(|body| Body::from(body.into_bytes()))).await;
                return answer.map(|answer| answer.status()).map_err(|error| error.to_string());
            }
        };
        answer.map(|answer| answer.status()).map_err(|error| match std::error::Error::source(&error) {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        })
    }
}
