//! Reads which version of its object a write is answered with, as the answer passes.
//!
//! A version of an object in a watch does not say who wrote it; its number does, once the
//! interceptor has seen which program was answered with it.

use serde::Deserialize;

use super::ignored_status::push;
use super::refusal_reader::object_of;

/// The answer to a write, as far as it has passed.
#[derive(Debug, Default)]
pub(super) struct VersionReader {
    answer: Vec<u8>,
}

impl VersionReader {
    /// Adds a part of the answer.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        push(&mut self.answer, bytes);
    }

    /// The version of the object, in JSON or protobuf; `None` if the answer is not one.
    pub(super) fn version(&self) -> Option<u64> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Metadata {
            resource_version: String,
        }
        #[derive(Deserialize)]
        struct Object {
            metadata: Metadata,
        }
        let of_json = || serde_json::from_slice::<Object>(&self.answer).ok().map(|it| it.metadata.resource_version);
        let of_protobuf = || Some(object_of(&self.answer)?["metadata"]["resourceVersion"].as_str()?.to_owned());
        let version = if self.answer.starts_with(b"{") { of_json() } else { of_protobuf() };
        version?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::object(r#"{"kind":"ReplicaSet","metadata":{"name":"x","resourceVersion":"42"},"spec":{}}"#, Some(42))]
    #[case::status(r#"{"kind":"Status","metadata":{},"status":"Success"}"#, None)]
    #[case::half(r#"{"kind":"ReplicaSet","metadata":{"resourceVersion":"4"#, None)]
    #[case::page("<html>", None)]
    fn reads_version_of_an_object(#[case] answer: &str, #[case] version: Option<u64>) {
        let mut reader = VersionReader::default();
        let (first, second) = answer.split_at(answer.len() / 2);
        reader.push(first.as_bytes());
        reader.push(second.as_bytes());
        assert_eq!(reader.version(), version);
    }
}
