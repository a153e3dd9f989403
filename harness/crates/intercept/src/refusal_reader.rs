//! Reads the message of the `Status` in an error response, as it passes.
//!
//! Nothing else of a body is stored. A message may quote values of the object, so those about
//! Secrets are not read.

use hyper::HeaderMap;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE};
use hyper::http::response::Parts;
use kube_apiserver_sim::protobuf;
use serde_json::Value;

/// The maximum length of a body that is read; a `Status` is far shorter.
const MOST_READ: usize = 64 << 10;
/// The maximum length of a message, in characters.
const MOST_KEPT: usize = 500;

/// An error response, as far as it has passed.
#[derive(Debug)]
pub(super) struct RefusalReader {
    bytes: Vec<u8>,
}

impl RefusalReader {
    /// Starts reading a response; `None` if it is not an error, or not readable.
    pub(super) fn of(answer: &Parts, resource: &str) -> Option<Self> {
        let error = answer.status.is_client_error() || answer.status.is_server_error();
        (error && resource != "secrets" && is_readable(&answer.headers)).then(|| Self { bytes: Vec::new() })
    }

    /// Adds a part of the body.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let room = MOST_READ.saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..room.min(bytes.len())]);
    }

    /// The server's message, if there is one.
    pub(super) fn message(&self) -> Option<String> {
        let message = message_of(&object_of(&self.bytes)?)?;
        Some(message.chars().take(MOST_KEPT).collect())
    }
}

/// The object of a body in JSON or protobuf; `None` for any other body.
pub fn object_of(body: &[u8]) -> Option<Value> {
    protobuf::decode(body).ok().or_else(|| serde_json::from_slice(body).ok())
}

/// The message of a `Status`.
pub(super) fn message_of(status: &Value) -> Option<String> {
    let message = status.get("message")?.as_str()?;
    (status.get("kind")?.as_str()? == "Status" && !message.is_empty()).then(|| message.to_owned())
}

fn is_readable(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let forms = ["application/json", "application/vnd.kubernetes.protobuf"];
    forms.iter().any(|form| kind.starts_with(form)) && !headers.contains_key(CONTENT_ENCODING)
}

#[cfg(test)]
mod tests {
    use hyper::Response;
    use rstest::rstest;

    use super::*;

    const JSON: &str = "application/json";

    fn refusal(status: u16, form: &str, resource: &str) -> Option<RefusalReader> {
        let answer = Response::builder().status(status).header(CONTENT_TYPE, form).body(()).unwrap();
        RefusalReader::of(&answer.into_parts().0, resource)
    }

    #[rstest]
    #[case::an_answer(200, JSON, "pods", false)]
    #[case::a_refusal(422, JSON, "replicasets", true)]
    #[case::with_parameters(500, "application/json; charset=utf-8", "pods", true)]
    #[case::a_secret(422, JSON, "secrets", false)]
    #[case::a_page(502, "text/html", "pods", false)]
    fn reads_only_readable_errors(#[case] status: u16, #[case] form: &str, #[case] resource: &str, #[case] read: bool) {
        assert_eq!(refusal(status, form, resource).is_some(), read);
    }

    #[test]
    fn reads_message_from_json_in_parts() {
        let mut refusal = refusal(422, JSON, "replicasets").unwrap();
        refusal.push(br#"{"kind":"Status","code":422,"#);
        assert_eq!(refusal.message(), None);
        refusal.push(br#""message":"it is invalid"}"#);
        assert_eq!(refusal.message().as_deref(), Some("it is invalid"));
    }

    #[test]
    fn reads_message_from_protobuf() {
        let status = serde_json::json!({"kind": "Status", "apiVersion": "v1", "message": "it is invalid", "code": 422});
        let envelope = protobuf::encode(&status).unwrap();
        let mut refusal = refusal(422, "application/vnd.kubernetes.protobuf", "replicasets").unwrap();
        refusal.push(&envelope);
        assert_eq!(refusal.message().as_deref(), Some("it is invalid"));
        refusal.bytes.truncate(20);
        assert_eq!(refusal.message(), None);
    }

    #[test]
    fn object_is_not_a_status() {
        assert_eq!(message_of(&serde_json::json!({"kind": "ConfigMap", "message": "x"})), None);
    }
}
