//! Builds the clients for servers, with any kind of credentials and through any proxy.
//!
//! A client does not retry, because a retry would hide a fault from the case that injects it, and
//! sets no time limit on a silent watch.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::header::{AUTHORIZATION, HeaderValue};
use hyper::{Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use kube::client::{Body, ClientBuilder, ConfigExt};
use rustls::pki_types::CertificateDer;
use tower::{BoxError, ServiceBuilder};

use super::dialer::{Dialer, basic_auth};
use super::proxy::ForwardProxy;
use super::response_limit::{LimitedBody, is_watch};
use crate::error_chain::{chain_once, without_output};

/// The credentials of a request, besides certificates and plugins.
#[derive(Clone, Default)]
pub(crate) struct Authorization {
    /// A bearer token.
    pub(crate) token: Option<String>,
    /// A file with a token, which is read for each request because it may be replaced. `token` is
    /// used if the file cannot be read.
    pub(crate) token_file: Option<PathBuf>,
    /// User name and password.
    pub(crate) basic: Option<(String, String)>,
}

impl Authorization {
    fn header(&self) -> Option<HeaderValue> {
        if let Some((name, password)) = &self.basic {
            return basic_auth(name, password);
        }
        let text = self.token_file.as_ref().and_then(|file| std::fs::read_to_string(file).ok());
        let of_file = text.map(|text| text.trim().to_owned()).filter(|token| !token.is_empty());
        let token = of_file.or_else(|| self.token.clone())?;
        let mut value = HeaderValue::try_from(format!("Bearer {token}")).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// Builds a client from this configuration, with these credentials, through this proxy. `proxy_url`
/// and the timeouts of the configuration are not used. Needs a tokio runtime.
///
/// # Errors
/// The error in the configuration, or why a credential plugin failed.
pub(crate) fn build_client(
    config: &kube::Config,
    authorization: Authorization,
    proxy: Option<&ForwardProxy>,
    limit: Duration,
) -> Result<kube::Client, String> {
    let failed = |error: kube::Error| chain_once(&error);
    let authorities: Vec<CertificateDer<'_>> =
        config.root_cert.iter().flatten().map(|bytes| CertificateDer::from(bytes.as_slice())).collect();
    let dial = Dialer::new(proxy, &authorities, limit)?;
    let connector = config.rustls_https_connector_with_connector(dial).map_err(failed)?;
    let http: Client<_, Body> = Client::builder(TokioExecutor::new()).build(connector);
    // Keep using the last token if its file disappears.
    let last: Arc<Mutex<Option<HeaderValue>>> = Arc::default();
    let authorize = move |mut request: Request<Body>| {
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = authorization.header().or_else(|| last.take());
        if let Some(header) = &*last {
            request.headers_mut().insert(AUTHORIZATION, header.clone());
        }
        request
    };
    let limited = tower::service_fn(move |request: Request<Body>| {
        let (is_watch, answer) = (is_watch(request.uri()), http.request(request));
        async move {
            Ok(answer.await?.map(|body| LimitedBody::new(body, is_watch))) as Result<Response<LimitedBody>, BoxError>
        }
    });
    let service = ServiceBuilder::new()
        .map_err(without_output)
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer().map_err(failed)?)
        .layer(config.extra_headers_layer().map_err(failed)?)
        .map_request(authorize)
        .service(limited);
    Ok(ClientBuilder::new(service, config.default_namespace.clone()).build())
}
