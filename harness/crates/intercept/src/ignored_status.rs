//! Detects a write of an object that tries to change its status, which a server ignores there: the
//! status is a subresource.
//!
//! Compares what the subject sends with what the server answers, both read as they pass. Neither is
//! stored.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use serde::Deserialize;
use serde_json::Value;

use super::Verb;
use super::refusal_reader::object_of;
use super::request::{BodyError, BodyStream, InterceptedRequest, stream};

/// The maximum length of a body that is read.
const MOST_READ: usize = 1 << 20;

/// What the subject has sent so far.
pub(super) type SentBody = Arc<Mutex<Vec<u8>>>;

/// The check of a write that may try to change a status, with the answer so far.
#[derive(Debug)]
pub(super) struct StatusCheck {
    sent: SentBody,
    answer: Vec<u8>,
}

/// Whether a request writes an object of a kind that may have a status. Secrets and ConfigMaps have
/// none.
pub(super) fn may_write(request: &InterceptedRequest) -> bool {
    let writes = matches!(request.verb, Verb::Update | Verb::Patch);
    writes && request.subresource.is_empty() && !request.group.is_empty() && request.resource != "leases"
}

/// Copies a body as it passes.
pub(super) fn tap_body(body: BodyStream) -> (BodyStream, SentBody) {
    let sent = SentBody::default();
    (stream(Tap { body, sent: Arc::clone(&sent) }), sent)
}

struct Tap {
    body: BodyStream,
    sent: SentBody,
}

impl Body for Tap {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(bytes) = frame.data_ref()
        {
            push(&mut self.sent.lock().unwrap_or_else(PoisonError::into_inner), bytes);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl StatusCheck {
    pub(super) fn new(sent: SentBody) -> Self {
        Self { sent, answer: Vec::new() }
    }

    /// Adds a part of the answer.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        push(&mut self.answer, bytes);
    }

    /// Whether a status was sent that the answer does not have.
    pub(super) fn is_ignored(&self) -> bool {
        let sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        // Most patches have no status and need not be parsed.
        let names_it = sent.windows(6).any(|word| word == b"status") || sent.starts_with(b"k8s\0");
        names_it && ignores(&sent, &self.answer).unwrap_or_default()
    }
}

fn ignores(sent: &[u8], answer: &[u8]) -> Option<bool> {
    if sent.starts_with(b"[") {
        let operations: Vec<Value> = serde_json::from_slice(sent).ok()?;
        let changes_it = |operation: &Value| {
            let path = operation["path"].as_str().and_then(|path| path.strip_prefix("/status"));
            operation["op"] != "test" && path.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        return Some(operations.iter().any(changes_it));
    }
    // A client may omit or zero fields that it does not know; only the fields that it sets count.
    let is_set = |value: &Value| value.as_i64().is_some_and(|number| number != 0);
    let sent = status_of(sent)?;
    let now = status_of(answer)?;
    Some(sent.as_object()?.iter().any(|(key, value)| is_set(value) && now.get(key) != Some(value)))
}

/// The status of an object in JSON or protobuf, null if it has none; of JSON nothing else is made a
/// value.
fn status_of(object: &[u8]) -> Option<Value> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct WithStatus {
        status: Value,
    }
    match object.first()? {
        b'{' => serde_json::from_slice::<WithStatus>(object).ok().map(|object| object.status),
        _ => object_of(object).map(|object| object.get("status").cloned().unwrap_or_default()),
    }
}

/// Adds a part of a body that is read.
pub(super) fn push(all: &mut Vec<u8>, bytes: &[u8]) {
    let room = MOST_READ.saturating_sub(all.len());
    all.extend_from_slice(&bytes[..room.min(bytes.len())]);
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::put(
        r#"{"spec":{},"status":{"replicas":3,"observedGeneration":2}}"#,
        r#"{"status":{"replicas":3,"observedGeneration":1}}"#,
        true
    )]
    #[case::put_as_it_was_read(
        r#"{"spec":{},"status":{"replicas":3}}"#,
        r#"{"status":{"replicas":3,"observedGeneration":1}}"#,
        false
    )]
    #[case::merge_patch(r#"{"status":{"observedGeneration":1}}"#, r#"{"spec":{}}"#, true)]
    #[case::patch_of_another_field(r#"{"spec":{"replicas":3}}"#, r#"{"status":{"replicas":1}}"#, false)]
    #[case::nothing_set(r#"{"status":{"replicas":0}}"#, r#"{"status":{"replicas":1}}"#, false)]
    #[case::json_patch(r#"[{"op":"add","path":"/status/replicas","value":1}]"#, "{}", true)]
    #[case::json_patch_of_another_field(r#"[{"op":"add","path":"/spec/replicas","value":"status"}]"#, "{}", false)]
    #[case::json_patch_that_tests_it(r#"[{"op":"test","path":"/status/replicas","value":1}]"#, "{}", false)]
    #[case::json_patch_of_a_longer_name(r#"[{"op":"add","path":"/statuses","value":1}]"#, "{}", false)]
    #[case::no_object("status", "{}", false)]
    fn detects_status_that_the_answer_does_not_have(#[case] sent: &str, #[case] answer: &str, #[case] ignored: bool) {
        let mut check = StatusCheck::new(Arc::new(Mutex::new(sent.as_bytes().to_vec())));
        check.push(answer.as_bytes());
        assert_eq!(check.is_ignored(), ignored);
    }
}
