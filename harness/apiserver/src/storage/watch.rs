//! The position of a watch in the log of changes, and its events.

use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;

use crate::http::media_types::ResponseFormat;
use crate::http::request::ManagedFieldsPolicy;
use crate::http::selector::Selector;
use crate::storage::object::StoredObject;
use crate::types::decode::to_json_bytes;
use crate::types::kinds::ResourceKind;

/// The selection of a watch, and its position in the log.
#[derive(Debug)]
pub(crate) struct WatchCursor {
    pub(crate) kind: &'static ResourceKind,
    /// The definition with which a watch of custom resources ends.
    pub(crate) spec_digest: Option<[u8; 32]>,
    pub(crate) namespace: String,
    pub(crate) selector: Selector,
    /// Events up to this version have been delivered.
    pub(crate) version: u64,
    /// Events to deliver before those of the log.
    pub(crate) initial_events: Vec<WatchEvent>,
    /// Whether the client requested bookmarks.
    pub(crate) bookmarks: bool,
    /// The timeout in seconds.
    pub(crate) timeout: Option<u64>,
    pub(crate) is_finished: bool,
    /// The format of its events.
    pub(crate) format: ResponseFormat,
    pub(crate) managed_fields: ManagedFieldsPolicy,
}

#[derive(Debug)]
pub(crate) enum WatchEvent {
    /// An object was added, modified or deleted.
    Object(EventType, Arc<StoredObject>),
    /// Any other event, encoded.
    Encoded(Bytes),
}

/// The type of a change. Upstream: `watch.EventType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventType {
    /// The object is new.
    Added,
    /// The object has changed.
    Modified,
    /// The object was deleted.
    Deleted,
}

impl WatchCursor {
    /// A watch of all objects of a kind from a version on.
    pub(crate) fn all(kind: &'static ResourceKind, version: u64) -> Self {
        Self {
            kind,
            spec_digest: None,
            namespace: String::new(),
            selector: Selector::default(),
            version,
            initial_events: Vec::new(),
            bookmarks: false,
            timeout: None,
            is_finished: false,
            format: ResponseFormat::PLAIN,
            managed_fields: ManagedFieldsPolicy::Omit,
        }
    }

    /// Encodes an event as a line of JSON.
    pub(crate) fn encode(&self, event: WatchEvent) -> Bytes {
        let (event_type, object) = match event {
            WatchEvent::Encoded(line) => return line,
            WatchEvent::Object(event_type, object) => (event_type, object),
        };
        let mut text = Vec::new();
        text.extend_from_slice(match event_type {
            EventType::Added => b"{\"type\":\"ADDED\",\"object\":",
            EventType::Modified => b"{\"type\":\"MODIFIED\",\"object\":",
            EventType::Deleted => b"{\"type\":\"DELETED\",\"object\":",
        });
        object.write(&mut text, self.managed_fields);
        text.extend_from_slice(b"}\n");
        text.into()
    }
}

pub(crate) fn line(value: &serde_json::Value) -> Bytes {
    let mut text = to_json_bytes(value);
    text.push(b'\n');
    text.into()
}

/// The HTTP status of a watch.
pub(crate) const WATCH_STATUS: StatusCode = StatusCode::OK;
