//! Whether a write of a whole object meant to change its status, which a server ignores there: the
//! status is a subresource of its own.
//!
//! Seen by what the subject sends beside what the server answers, both read as they pass. Nothing
//! of either is kept.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use serde_json::{Map, Value};

use super::Verb;
use super::body::{BodyError, Stream, stream};
use super::refusal::object_of;
use super::request::InterceptedRequest;

/// The longest body that is read.
const MOST_READ: usize = 1 << 20;

/// What the subject has sent, as much of it as has passed.
pub(super) type Sent = Arc<Mutex<Vec<u8>>>;

/// An answer to a write that may have meant to change a status, as much of it as has passed.
#[derive(Debug)]
pub(super) struct StatusCheck {
    sent: Sent,
    answer: Vec<u8>,
}

/// Whether a request writes an object of a kind that may have a status of its own. Secrets and
/// ConfigMaps have none.
pub(super) fn may_write(request: &InterceptedRequest) -> bool {
    let writes = matches!(request.verb, Verb::Update | Verb::Patch);
    writes && request.subresource.is_empty() && !request.group.is_empty() && request.resource != "leases"
}

/// The same body, of which a copy is taken as it passes.
pub(super) fn tapped(body: Stream) -> (Stream, Sent) {
    let sent = Sent::default();
    (stream(Tap { body, sent: Arc::clone(&sent) }), sent)
}

struct Tap {
    body: Stream,
    sent: Sent,
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
    pub(super) fn new(sent: Sent) -> Self {
        Self { sent, answer: Vec::new() }
    }

    /// Some more of the answer has passed.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        push(&mut self.answer, bytes);
    }

    /// Whether a status was sent that is not in the answer.
    pub(super) fn is_ignored(&self) -> bool {
        let sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        // Most patches have no status, and need not be parsed.
        let names_it = sent.windows(6).any(|word| word == b"status") || sent.starts_with(b"k8s\0");
        names_it && ignores(&sent, &self.answer).unwrap_or_default()
    }
}

fn ignores(sent: &[u8], answer: &[u8]) -> Option<bool> {
    let sent = object_of(sent)?;
    if let Some(operations) = sent.as_array() {
        let path = |operation: &Value| operation.get("path")?.as_str().map(|path| path.starts_with("/status"));
        return Some(operations.iter().any(|operation| path(operation).unwrap_or_default()));
    }
    let none = Map::new();
    let answer = object_of(answer)?;
    let now = answer.get("status").and_then(Value::as_object).unwrap_or(&none);
    // A client may leave out, or send as nothing, what it does not know: what it sets says what it
    // means.
    let is_set = |value: &Value| value.as_i64().is_some_and(|number| number != 0);
    let status = sent.get("status")?.as_object()?;
    Some(status.iter().any(|(key, value)| is_set(value) && now.get(key) != Some(value)))
}

fn push(all: &mut Vec<u8>, bytes: &[u8]) {
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
    #[case::no_object("status", "{}", false)]
    fn a_status_that_the_answer_does_not_have_was_ignored(
        #[case] sent: &str,
        #[case] answer: &str,
        #[case] ignored: bool,
    ) {
        let mut check = StatusCheck::new(Arc::new(Mutex::new(sent.as_bytes().to_vec())));
        check.push(answer.as_bytes());
        assert_eq!(check.is_ignored(), ignored);
    }
}
