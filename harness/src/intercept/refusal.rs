//! What the server says when it refuses: the message of its `Status`, read from the answer as it passes.
//!
//! Nothing else of a body is kept. A message may quote values of the object, so those about Secrets are not read.

use hyper::HeaderMap;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE};
use hyper::http::response::Parts;
use serde_json::Value;

/// The longest body that is read; a `Status` is far shorter.
const MOST_READ: usize = 64 << 10;
/// The longest message that is kept, in characters.
const MOST_KEPT: usize = 500;
/// What a body in Kubernetes' protobuf envelope begins with.
const ENVELOPE: &[u8] = b"k8s\0";

/// An answer that says no, as much of it as has passed.
#[derive(Debug)]
pub(super) struct Refusal {
    bytes: Vec<u8>,
}

impl Refusal {
    /// One to be read; `None` for an answer that is no refusal, or in a form that is not read.
    pub(super) fn of(answer: &Parts, resource: &str) -> Option<Self> {
        let error = answer.status.is_client_error() || answer.status.is_server_error();
        (error && resource != "secrets" && is_readable(&answer.headers)).then(|| Self { bytes: Vec::new() })
    }

    /// Some more of it has passed.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let room = MOST_READ.saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..room.min(bytes.len())]);
    }

    /// The server's message, if there is one.
    pub(super) fn message(&self) -> Option<String> {
        let message = match self.bytes.strip_prefix(ENVELOPE) {
            // `runtime.Unknown`'s second field is the `Status`, whose third is the message.
            Some(unknown) => String::from_utf8_lossy(field(field(unknown, 2)?, 3)?).into_owned(),
            None => message_of(&serde_json::from_slice(&self.bytes).ok()?)?,
        };
        Some(message.chars().take(MOST_KEPT).collect())
    }
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

/// A field of a protobuf message that has a length: text, bytes, another message.
fn field(mut message: &[u8], wanted: u64) -> Option<&[u8]> {
    while !message.is_empty() {
        let key = varint(&mut message)?;
        let length = match key & 7 {
            0 => {
                varint(&mut message)?;
                continue;
            }
            1 => 8,
            2 => usize::try_from(varint(&mut message)?).ok()?,
            5 => 4,
            _ => return None,
        };
        let (found, rest) = message.split_at_checked(length)?;
        if key >> 3 == wanted && key & 7 == 2 {
            return Some(found);
        }
        message = rest;
    }
    None
}

fn varint(message: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = message.split_first()?;
        *message = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use hyper::Response;
    use rstest::rstest;

    use super::*;

    const JSON: &str = "application/json";

    fn refusal(status: u16, form: &str, resource: &str) -> Option<Refusal> {
        let answer = Response::builder().status(status).header(CONTENT_TYPE, form).body(()).unwrap();
        Refusal::of(&answer.into_parts().0, resource)
    }

    #[rstest]
    #[case::an_answer(200, JSON, "pods", false)]
    #[case::a_refusal(422, JSON, "replicasets", true)]
    #[case::with_parameters(500, "application/json; charset=utf-8", "pods", true)]
    #[case::a_secret(422, JSON, "secrets", false)]
    #[case::a_page(502, "text/html", "pods", false)]
    fn what_is_read(#[case] status: u16, #[case] form: &str, #[case] resource: &str, #[case] read: bool) {
        assert_eq!(refusal(status, form, resource).is_some(), read);
    }

    #[test]
    fn the_message_is_read_from_json_in_parts() {
        let mut refusal = refusal(422, JSON, "replicasets").unwrap();
        refusal.push(br#"{"kind":"Status","code":422,"#);
        assert_eq!(refusal.message(), None);
        refusal.push(br#""message":"it is invalid"}"#);
        assert_eq!(refusal.message().as_deref(), Some("it is invalid"));
    }

    #[test]
    fn the_message_is_read_from_protobuf() {
        // metadata, status and message of a Status; type and raw of the envelope.
        let status = [b"\x0a\x00\x12\x07Failure\x1a\x0d".as_slice(), b"it is invalid", b"\x30\xa6\x03"].concat();
        let envelope = [b"k8s\0\x0a\x04\x0a\x02v1\x12".as_slice(), &[u8::try_from(status.len()).unwrap()], &status];
        let mut refusal = refusal(422, "application/vnd.kubernetes.protobuf", "replicasets").unwrap();
        refusal.push(&envelope.concat());
        assert_eq!(refusal.message().as_deref(), Some("it is invalid"));
        refusal.bytes.truncate(20);
        assert_eq!(refusal.message(), None);
    }

    #[test]
    fn an_object_is_no_status() {
        assert_eq!(message_of(&serde_json::json!({"kind": "ConfigMap", "message": "x"})), None);
    }
}
