//! Telling others of a breach: a webhook, and a Kubernetes Event.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::CONTENT_TYPE;
use hyper::{Method, Request, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use k8s_openapi::api::core::v1::Event;
use kube::api::{Api, PostParams};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;

use super::breach::Breach;
use crate::clock;
use crate::plain;

/// How long one attempt may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long to wait before the next attempt; afterwards it is given up.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];

/// Why no alert can be sent.
#[derive(Debug, thiserror::Error)]
pub enum AlertError {
    /// The address is none.
    #[error("unknown webhook '{0}': expected http://HOST/PATH or https://HOST/PATH")]
    Address(String),
    /// TLS cannot be set up.
    #[error("no TLS for the webhook: {0}")]
    Tls(#[from] rustls::Error),
}

/// Where breaches are posted.
#[derive(Debug, Clone)]
pub(super) struct Webhook {
    to: Uri,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

impl Webhook {
    /// To this address. Certificates are checked against the system's authorities.
    pub(super) fn new(address: &str) -> Result<Self, AlertError> {
        let to: Uri = address.parse().map_err(|_| AlertError::Address(address.to_owned()))?;
        if !matches!(to.scheme_str(), Some("http" | "https")) || to.host().is_none() {
            return Err(AlertError::Address(address.to_owned()));
        }
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        let tls = HttpsConnectorBuilder::new().with_tls_config(config).https_or_http().enable_http1();
        Ok(Self { to, client: Client::builder(TokioExecutor::new()).build(tls.wrap_connector(tcp)) })
    }

    /// Post a breach; what went wrong, in the end.
    pub(super) async fn post(self, breach: Breach) -> Result<(), String> {
        let body = Bytes::from(serde_json::to_vec(&breach).expect("a breach is plain data"));
        let mut pauses = PAUSES.into_iter();
        loop {
            let request = Request::builder().method(Method::POST).uri(self.to.clone());
            let request = request.header(CONTENT_TYPE, "application/json").body(Full::new(body.clone()));
            let request = request.expect("the address was parsed");
            let why = match tokio::time::timeout(PATIENCE, self.client.request(request)).await {
                Ok(Ok(answer)) if answer.status().is_success() => return Ok(()),
                Ok(Ok(answer)) => format!("it answered {}", answer.status()),
                Ok(Err(error)) => error.to_string(),
                Err(_) => format!("no answer within {PATIENCE:?}"),
            };
            match pauses.next() {
                Some(pause) => clock::pause(pause).await,
                None => return Err(why),
            }
        }
    }
}

/// Write an Event about the Deployment; what went wrong.
pub(super) async fn event(client: kube::Client, breach: Breach) -> Result<(), String> {
    let message = plain::text(&format!("{}: {}", breach.rule, breach.detail)).into_owned();
    let event = json!({
        "metadata": {"generateName": "lockstep-watch-", "namespace": breach.namespace},
        "involvedObject": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": breach.namespace,
            "name": breach.deployment, "uid": breach.uid},
        "type": "Warning",
        "reason": "InvariantBroken",
        "message": message,
        "firstTimestamp": breach.time,
        "lastTimestamp": breach.time,
        "count": 1,
        "source": {"component": "lockstep-watch"},
    });
    let event: Event = serde_json::from_value(event).expect("it has an Event's fields");
    let api: Api<Event> = Api::namespaced(client, &breach.namespace);
    match tokio::time::timeout(PATIENCE, api.create(&PostParams::default(), &event)).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("no answer within {PATIENCE:?}")),
    }
}
