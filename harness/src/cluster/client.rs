//! A client for a server, of whatever credentials and by whatever way.
//!
//! It repeats nothing, or a fault would be hidden from whoever asks for it, and lets a watch be
//! silent for as long as it likes.

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

use super::answer_limit::{Answer, is_watch};
use super::dial::{Dial, basic};
use super::proxy::Proxy;
use crate::causes::{chain_once, without_output};

/// What a request says about who sends it, beside certificates and what plugins say.
#[derive(Clone, Default)]
pub(crate) struct Authorization {
    /// A bearer token.
    pub(crate) token: Option<String>,
    /// A file with one, which is read anew for each request as it may be replaced; the other counts
    /// where it cannot be read.
    pub(crate) token_file: Option<PathBuf>,
    /// A name and a password.
    pub(crate) basic: Option<(String, String)>,
}

impl Authorization {
    fn header(&self) -> Option<HeaderValue> {
        if let Some((name, password)) = &self.basic {
            return basic(name, password);
        }
        let text = self.token_file.as_ref().and_then(|file| std::fs::read_to_string(file).ok());
        let of_file = text.map(|text| text.trim().to_owned()).filter(|token| !token.is_empty());
        let token = of_file.or_else(|| self.token.clone())?;
        let mut value = HeaderValue::try_from(format!("Bearer {token}")).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// A client by this configuration, with these credentials, through this proxy. Its own `proxy_url`
/// and time-outs are not used. Needs a tokio runtime.
///
/// # Errors
/// What is wrong with the configuration, or why a plugin for credentials failed.
pub(crate) fn client(
    config: &kube::Config,
    authorization: Authorization,
    proxy: Option<&Proxy>,
    limit: Duration,
) -> Result<kube::Client, String> {
    let failed = |error: kube::Error| chain_once(&error);
    let authorities: Vec<CertificateDer<'_>> =
        config.root_cert.iter().flatten().map(|bytes| CertificateDer::from(bytes.as_slice())).collect();
    let dial = Dial::new(proxy, &authorities, limit)?;
    let connector = config.rustls_https_connector_with_connector(dial).map_err(failed)?;
    let http: Client<_, Body> = Client::builder(TokioExecutor::new()).build(connector);
    // A token that could be read once stays good where its file is gone later.
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
        async move { Ok(answer.await?.map(|body| Answer::new(body, is_watch))) as Result<Response<Answer>, BoxError> }
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
