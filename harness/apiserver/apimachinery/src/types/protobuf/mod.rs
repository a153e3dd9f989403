//! Kubernetes' protobuf encoding, which client-go's typed clients use by default: converts objects
//! from and to JSON.
//!
//! Field numbers come from the type table. The encoding equals upstream's byte for byte:
//! fields ordered by number, and fields that are not pointers even if zero. Unknown fields are
//! skipped, as in upstream's decoder.
//!
//! Crates for protobuf need types that are known at compile time, or a published description of the
//! types. Quantities, times, maps and inlined fields are encoded in Kubernetes' own way in either
//! case.
//!
//! Upstream: `k8s.io/apimachinery/pkg/runtime/serializer/protobuf`.

mod decode;
mod encode;
pub mod error;
pub mod wire;

use serde_json::{Map, Value, json};

use crate::types::protobuf::decode::text;
use crate::types::table::{AUTOSCALER_V1, TYPES};

pub use crate::types::protobuf::error::ProtobufError;

/// The prefix of each object.
const MAGIC: &[u8] = b"k8s\0";

/// The media type of an object.
pub const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";
/// The media type of a watch.
pub const WATCH_MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf;stream=watch";

/// Upstream: `runtime.Unknown`.
struct Envelope<'a> {
    api_version: String,
    kind: String,
    raw: &'a [u8],
}

/// Decodes an object, including `kind` and `apiVersion`.
///
/// # Errors
/// The bytes lack Kubernetes' prefix, or the kind is not in the type table.
pub fn decode(bytes: &[u8]) -> Result<Value, ProtobufError> {
    let envelope = open(bytes)?;
    let head = [("kind", &envelope.kind), ("apiVersion", &envelope.api_version)];
    let mut object: Map<String, Value> = head
        .into_iter()
        .filter(|(_, text)| !text.is_empty())
        .map(|(name, text)| (name.to_owned(), json!(text)))
        .collect();
    let body = match item_of_list(&envelope.api_version, &envelope.kind) {
        Some(item) => decode::list(item, envelope.raw)?,
        None => decode::message(known_type(&envelope.api_version, &envelope.kind)?, envelope.raw)?,
    };
    object.extend(body);
    Ok(Value::Object(object))
}

/// The `apiVersion` and `kind` of an object, without decoding it.
///
/// # Errors
/// The bytes lack Kubernetes' prefix.
pub fn type_of(bytes: &[u8]) -> Result<(String, String), ProtobufError> {
    open(bytes).map(|envelope| (envelope.api_version, envelope.kind))
}

/// The namespace and the resourceVersion of an object of any kind, without decoding the rest:
/// metadata is the first field of each kind, and these two have the same numbers in all.
///
/// # Errors
/// The bytes lack Kubernetes' prefix.
pub fn namespace_and_version(bytes: &[u8]) -> Result<(String, Option<u64>), ProtobufError> {
    let envelope = open(bytes)?;
    let (mut namespace, mut version) = (String::new(), None);
    if envelope.kind == "Status" {
        return Ok((namespace, version));
    }
    for field in wire::fields(envelope.raw) {
        let (1, wire::Value::Bytes(metadata)) = field? else { continue };
        for field in wire::fields(metadata) {
            match field? {
                (3, wire::Value::Bytes(name)) => namespace = text(name)?,
                (6, wire::Value::Bytes(number)) => version = text(number)?.parse().ok(),
                _ => {}
            }
        }
    }
    Ok((namespace, version))
}

/// Encodes an object by its `kind` and `apiVersion`.
///
/// # Errors
/// The kind is not in the type table, or a value has the wrong type.
pub fn encode(object: &Value) -> Result<Vec<u8>, ProtobufError> {
    let head = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (head("apiVersion"), head("kind"));
    let raw = match item_of_list(api_version, kind) {
        Some(item) => encode::list(item, object)?,
        None => encode::message(known_type(api_version, kind)?, object)?,
    };
    let mut type_meta = Vec::new();
    wire::text(&mut type_meta, 1, api_version);
    wire::text(&mut type_meta, 2, kind);
    let mut out = MAGIC.to_vec();
    wire::bytes(&mut out, 1, &type_meta);
    wire::bytes(&mut out, 2, &raw);
    wire::text(&mut out, 3, "");
    wire::text(&mut out, 4, "");
    Ok(out)
}

/// An encoded watch event: its type, and the object with Kubernetes' prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireEvent {
    /// `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK` or `ERROR`.
    pub kind: String,
    /// The object, to be decoded by [`decode`].
    pub object: Vec<u8>,
}

impl WireEvent {
    /// The event as a frame of a stream: the length in four bytes, big-endian, and the message.
    #[must_use]
    pub fn frame(&self) -> Vec<u8> {
        let (mut object, mut message) = (Vec::new(), Vec::new());
        wire::bytes(&mut object, 1, &self.object);
        wire::text(&mut message, 1, &self.kind);
        wire::bytes(&mut message, 2, &object);
        let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
        [length.to_be_bytes().as_slice(), &message].concat()
    }

    /// Takes the first frame from a stream; `None` while it is incomplete.
    ///
    /// # Errors
    /// The frame does not contain an event.
    pub fn take(stream: &mut Vec<u8>) -> Result<Option<Self>, ProtobufError> {
        let Some(length) = stream.first_chunk::<4>().map(|length| u32::from_be_bytes(*length) as usize) else {
            return Ok(None);
        };
        let Some(message) = stream.get(4..4 + length) else { return Ok(None) };
        let event = Self::read(message)?;
        stream.drain(..4 + length);
        Ok(Some(event))
    }

    fn read(message: &[u8]) -> Result<Self, ProtobufError> {
        let mut event = Self { kind: String::new(), object: Vec::new() };
        for field in wire::fields(message) {
            match field? {
                (1, wire::Value::Bytes(kind)) => event.kind = text(kind)?,
                (2, wire::Value::Bytes(raw)) => {
                    for field in wire::fields(raw) {
                        if let (1, wire::Value::Bytes(object)) = field? {
                            event.object = object.to_vec();
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(event)
    }
}

fn open(bytes: &[u8]) -> Result<Envelope<'_>, ProtobufError> {
    let no_prefix = || {
        ProtobufError(
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]".to_owned(),
        )
    };
    let message = bytes.strip_prefix(MAGIC).ok_or_else(no_prefix)?;
    let mut envelope = Envelope { api_version: String::new(), kind: String::new(), raw: &[] };
    for field in wire::fields(message) {
        match field? {
            (1, wire::Value::Bytes(type_meta)) => {
                for field in wire::fields(type_meta) {
                    match field? {
                        (1, wire::Value::Bytes(version)) => envelope.api_version = text(version)?,
                        (2, wire::Value::Bytes(kind)) => envelope.kind = text(kind)?,
                        _ => {}
                    }
                }
            }
            (2, wire::Value::Bytes(raw)) => envelope.raw = raw,
            _ => {}
        }
    }
    Ok(envelope)
}

/// The type of a kind. Two groups have Events, and one has autoscalers in two versions.
fn type_named(api_version: &str, kind: &str) -> Option<usize> {
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    TYPES.index_of(match kind {
        "Event" if group == "events.k8s.io" => "events.Event",
        "HorizontalPodAutoscaler" if api_version == "autoscaling/v1" => AUTOSCALER_V1,
        kind => kind,
    })
}

fn known_type(api_version: &str, kind: &str) -> Result<usize, ProtobufError> {
    let found = type_named(api_version, kind);
    found.ok_or_else(|| ProtobufError(format!("no kind \"{kind}\" is known in protobuf")))
}

/// The item type of a list kind that has no type of its own, unlike those of discovery.
fn item_of_list(api_version: &str, kind: &str) -> Option<usize> {
    if type_named(api_version, kind).is_some() {
        return None;
    }
    kind.strip_suffix("List").and_then(|item| type_named(api_version, item))
}

#[cfg(test)]
mod tests;
