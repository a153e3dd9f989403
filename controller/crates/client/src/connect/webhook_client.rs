//! A client for a webhook: POSTs to one address, which it does not reveal.
//!
//! The address may be a path of the API server, which the command line refuses: a simulation has no
//! other network, and observes the messages there.

use http::header::{AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Method, Request, StatusCode, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::rt::TokioExecutor;
use kube::Config;
use kube::client::{Body, ConfigExt};

use super::{AGENT, ConnectError, ConnectionTimeouts, proxy, unusable};

/// An HTTP client for one webhook.
#[derive(Clone)]
pub struct WebhookClient {
    url: Uri,
    /// Credentials from the address.
    authorization: Option<HeaderValue>,
    client: Sender,
}

#[derive(Clone)]
enum Sender {
    Direct(legacy::Client<HttpsConnector<HttpConnector>, String>),
    Proxied(legacy::Client<HttpsConnector<Tunnel<HttpConnector>>, String>),
    Api(kube::Client),
}

impl WebhookClient {
    /// A client for an address, through a proxy if there is one. TLS trusts the machine's
    /// certificates.
    ///
    /// # Errors
    /// [`ConnectError`] if an address is not one, or TLS cannot be set up.
    pub fn new(url: &str, through: Option<&str>) -> Result<Self, ConnectError> {
        let (url, authorization) = proxy::split_credentials(url)?;
        let tls = Config::new(url.clone()).rustls_client_config().map_err(unusable)?;
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_connect_timeout(Some(ConnectionTimeouts::default().connect));
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

    /// A client for a path of the API server.
    ///
    /// # Errors
    /// [`ConnectError`] if it is not a path.
    pub fn for_api_path(client: kube::Client, path: &str) -> Result<Self, ConnectError> {
        let url = path.parse().map_err(|_| ConnectError::Webhook)?;
        Ok(Self { url, authorization: None, client: Sender::Api(client) })
    }

    /// Sends a message, and returns the status. Errors do not contain the address.
    ///
    /// # Errors
    /// If there is no response.
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
