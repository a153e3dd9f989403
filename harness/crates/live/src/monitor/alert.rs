//! Reports breaches to others: by a webhook, and as a Kubernetes Event.

use std::fmt::{Debug, Formatter};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use k8s_openapi::api::core::v1::Event;
use kube::api::{Api, PostParams};
use lockstep_cluster::basic_auth_from_userinfo;
use lockstep_support::{clock, sanitize};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;

use super::model::BreachReport;

/// How long one attempt may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long to wait before the next attempt; after these, the alert is dropped.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];

/// Why alerts cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum AlertError {
    /// The address is malformed.
    #[error(
        "the address of the webhook is malformed: expected http://HOST/PATH or https://HOST/PATH, perhaps with USER:PASSWORD@ before the host and %40 for an @ in it"
    )]
    Address,
    /// TLS cannot be set up.
    #[error("no TLS for the webhook: {0}")]
    Tls(#[from] rustls::Error),
}

/// An address to post to. It is never printed: it may contain a password, and knowing a chat's
/// address may be enough to write there.
#[derive(Clone, PartialEq, Eq)]
pub struct AlertUrl(String);

impl From<String> for AlertUrl {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl Debug for AlertUrl {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("AlertUrl(..)")
    }
}

impl AlertUrl {
    /// Whether nothing is posted, as with an empty environment variable.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The address without its user, and the user as a header.
    fn parse(&self) -> Option<(Uri, Option<HeaderValue>)> {
        let mut parts = self.0.parse::<Uri>().ok()?.into_parts();
        let authority = parts.authority.take()?;
        let (user, host) =
            authority.as_str().rsplit_once('@').map_or((None, authority.as_str()), |(u, h)| (Some(u), h));
        let authorization = match user.filter(|user| !user.is_empty()) {
            Some(user) => Some(basic_auth_from_userinfo(user)?),
            None => None,
        };
        parts.authority = Some(host.parse().ok()?);
        let to = Uri::from_parts(parts).ok()?;
        let (host, port) = (to.host().unwrap_or_default(), to.port_u16());
        let is_whole = !host.is_empty() && (port.is_some() || to.authority().is_some_and(|all| all.as_str() == host));
        let is_web = matches!(to.scheme_str(), Some("http" | "https"));
        (is_web && is_whole).then_some((to, authorization))
    }
}

/// The webhook to which breaches are posted.
#[derive(Debug, Clone)]
pub(super) struct AlertWebhook {
    to: Uri,
    /// The user of the address.
    authorization: Option<HeaderValue>,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

impl AlertWebhook {
    /// A webhook with this address. Certificates are verified with the system's authorities.
    pub(super) fn new(address: &AlertUrl) -> Result<Self, AlertError> {
        let (to, authorization) = address.parse().ok_or(AlertError::Address)?;
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        let tls = HttpsConnectorBuilder::new().with_tls_config(config).https_or_http().enable_http1();
        Ok(Self { to, authorization, client: Client::builder(TokioExecutor::new()).build(tls.wrap_connector(tcp)) })
    }

    /// Post a breach, with retries; returns the last error.
    pub(super) async fn post(self, breach: BreachReport) -> Result<(), String> {
        let body = Bytes::from(serde_json::to_vec(&breach).expect("a breach is plain data"));
        let mut pauses = PAUSES.into_iter();
        loop {
            let request = Request::builder().method(Method::POST).uri(self.to.clone());
            let request = request.header(CONTENT_TYPE, "application/json").body(Full::new(body.clone()));
            let mut request = request.expect("the address was parsed");
            request.headers_mut().extend(self.authorization.clone().map(|value| (AUTHORIZATION, value)));
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

/// Create an Event about the Deployment.
pub(super) async fn event(client: kube::Client, breach: BreachReport) -> Result<(), String> {
    let message = sanitize::text(&format!("{}: {}", breach.rule, breach.detail)).into_owned();
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

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    fn url(text: &str) -> AlertUrl {
        AlertUrl::from(text.to_owned())
    }

    #[rstest]
    #[case("user:s3cret@chat")]
    #[case("ftp://user:s3cret@chat")]
    #[case("https://user:s3cret@")]
    #[case("https://user:s3cret@chat:port/x")]
    #[case("https://user:s3 cret@chat")]
    #[case("https//chat/s3cret")]
    fn malformed_address_is_not_quoted(#[case] address: &str) {
        let error = AlertWebhook::new(&url(address)).unwrap_err();
        assert!(matches!(error, AlertError::Address), "{error}");
        let texts = format!("{error} {error:?} {:?}", url(address));
        assert!(!texts.contains("s3") && !texts.contains("chat"), "{texts}");
    }

    #[tokio::test]
    async fn user_of_the_address_is_sent_as_basic_authorization() {
        let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let webhook =
            AlertWebhook::new(&url(&format!("http://us%40er:p%3Ass@{}/hook?x", server.local_addr().unwrap()))).unwrap();
        assert!(!format!("{webhook:?}").contains("p%3Ass"), "{webhook:?}");
        let breach = BreachReport {
            time: String::new(),
            cluster: String::new(),
            namespace: String::new(),
            deployment: String::new(),
            uid: String::new(),
            rule: "surge",
            statement: "",
            detail: String::new(),
            resource_version: None,
            evidence: None,
            is_repeated: false,
        };
        let serve = async {
            let (mut stream, _) = server.accept().await.unwrap();
            let mut request = vec![0; 4096];
            let length = stream.read(&mut request).await.unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
            String::from_utf8_lossy(&request[..length]).into_owned()
        };
        let (sent, request) = tokio::join!(webhook.post(breach), serve);
        assert_eq!(sent, Ok(()));
        // `us@er:p:ss`
        assert!(request.contains("authorization: Basic dXNAZXI6cDpzcw==\r\n"), "{request}");
        assert!(request.starts_with("POST /hook?x HTTP/1.1\r\n") && !request.contains("p%3Ass"), "{request}");
    }
}
