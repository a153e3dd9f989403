//! Watches: a position in the log of changes, and the events for later changes.

use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use serde_json::json;

use super::media::{ResponseFormat, SupportedFormats};
use super::object::{ManagedFieldsPolicy, StoredObject, to_json_bytes};
use super::options;
use super::selector::Selector;
use super::server::{ApiResponse, ResourceRequest, Server};
use super::status_error::{ApiResult, StatusError};
use super::store::ChangeRecord;
use crate::types::kinds::ResourceKind;

/// The selection of a watch, and its position in the log.
#[derive(Debug)]
pub(crate) struct WatchCursor {
    pub(crate) kind: &'static ResourceKind,
    namespace: String,
    selector: Selector,
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
    managed_fields: ManagedFieldsPolicy,
}

/// An event of a watch.
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

impl Server {
    pub(crate) fn watch(&mut self, request: &ResourceRequest<'_>) -> ApiResult<ApiResponse> {
        let selector = options::list(request.http, request.kind, true)?;
        let latest = self.store.version();
        let requested = request.resource_version().map_err(StatusError::plain_internal)?;
        let send = request.http.flag("sendInitialEvents");
        let mut cursor = WatchCursor {
            kind: request.kind,
            namespace: request.info.namespace.clone(),
            selector,
            version: requested.unwrap_or(latest),
            initial_events: Vec::new(),
            bookmarks: request.http.flag("allowWatchBookmarks"),
            timeout: request.http.param("timeoutSeconds").parse().ok(),
            is_finished: false,
            format: ResponseFormat::PLAIN,
            managed_fields: request.http.managed_fields,
        };
        cursor.format = ResponseFormat::of(request.http, SupportedFormats::Stream)?;
        if send && cursor.version > latest {
            cursor.is_finished = true;
            let status = self.too_large_version(request.kind, cursor.version).status();
            cursor.initial_events.push(WatchEvent::Encoded(line(&json!({"type": "ERROR", "object": status}))));
        } else if send || requested.is_none() {
            cursor.version = latest;
            let objects =
                self.store.list(request.kind, &cursor.namespace).filter(|object| cursor.selector.matches(&object.body));
            cursor.initial_events =
                objects.map(|object| WatchEvent::Object(EventType::Added, object.as_kind(request.kind))).collect();
            // By default upstream marks the end of the initial events if the client requests any
            // version.
            if cursor.bookmarks {
                cursor.initial_events.push(WatchEvent::Encoded(cursor.bookmark(true)));
            }
        } else if cursor.version < self.store.forgotten() {
            let error = self.too_old(&mut cursor);
            cursor.initial_events.push(WatchEvent::Encoded(error));
        }
        Ok(ApiResponse::Watch(cursor))
    }

    /// The last event of a watch from a forgotten version.
    fn too_old(&self, cursor: &mut WatchCursor) -> Bytes {
        cursor.is_finished = true;
        let message = if cursor.kind.is_in_watch_cache() {
            format!("too old resource version: {} ({})", cursor.version, self.store.forgotten())
        } else {
            "The resourceVersion for the provided watch is too old.".to_owned()
        };
        line(&json!({"type": "ERROR", "object": StatusError::expired(message).status()}))
    }

    /// The undelivered events up to a version, which then count as delivered.
    pub(crate) fn pending_events(&self, cursor: &mut WatchCursor, until: u64) -> Vec<WatchEvent> {
        if cursor.is_finished {
            return Vec::new();
        }
        if self.store.lacks_changes_of(cursor.kind.order(), cursor.version) {
            return vec![WatchEvent::Encoded(self.too_old(cursor))];
        }
        let until = until.min(self.store.version());
        let changes = self.store.since(cursor.version).iter().take_while(|change| change.version <= until);
        let events = changes.filter_map(|change| cursor.event_of(change)).collect();
        cursor.version = cursor.version.max(until);
        events
    }

    /// Moves a watch without changes of its kind to the latest version, for its bookmark.
    pub(crate) fn advance_idle(&self, cursor: &mut WatchCursor) {
        let (kind, from) = (cursor.kind.order(), cursor.version);
        let has_changed = self.store.since(from).iter().any(|change| change.key.kind == kind);
        if !has_changed && !self.store.lacks_changes_of(kind, from) {
            cursor.version = self.store.version().max(from);
        }
    }
}

impl WatchCursor {
    /// A watch of all objects of a kind from a version on.
    pub(crate) fn all(kind: &'static ResourceKind, version: u64) -> Self {
        Self {
            kind,
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
        let mut text = Vec::with_capacity(object.untyped_text(self.managed_fields).len() + 96);
        text.extend_from_slice(match event_type {
            EventType::Added => b"{\"type\":\"ADDED\",\"object\":",
            EventType::Modified => b"{\"type\":\"MODIFIED\",\"object\":",
            EventType::Deleted => b"{\"type\":\"DELETED\",\"object\":",
        });
        object.write(&mut text, self.managed_fields);
        text.extend_from_slice(b"}\n");
        text.into()
    }

    fn event_of(&self, change: &ChangeRecord) -> Option<WatchEvent> {
        let key = &change.key;
        if key.kind != self.kind.order() || !(self.namespace.is_empty() || key.namespace == self.namespace) {
            return None;
        }
        let is_selected = |object: &StoredObject| self.selector.matches(&object.body);
        let before = change.before();
        let was_selected = before.as_ref().is_some_and(|object| is_selected(object));
        match (change.after(), change.last()) {
            (Some(after), _) => match (was_selected, is_selected(&after)) {
                (false, true) => Some(WatchEvent::Object(EventType::Added, after.as_kind(self.kind))),
                (true, true) => Some(WatchEvent::Object(EventType::Modified, after.as_kind(self.kind))),
                // Upstream sends the old state at the new version.
                (true, false) => Some(WatchEvent::Encoded(deleted_event(&before?.as_kind(self.kind), &after))),
                (false, false) => None,
            },
            (None, Some(last)) if was_selected => Some(WatchEvent::Object(EventType::Deleted, last.as_kind(self.kind))),
            _ => None,
        }
    }

    /// Encodes a bookmark at the current position.
    pub(crate) fn bookmark(&self, initial: bool) -> Bytes {
        let mut meta = json!({"resourceVersion": self.version.to_string()});
        if initial {
            meta["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        // Apart from its metadata, the object of a bookmark is empty.
        let mut object = super::write::normalize(self.kind, json!({})).unwrap_or_default();
        object["kind"] = self.kind.kind.into();
        object["apiVersion"] = self.kind.api_version().into();
        object["metadata"] = meta;
        if self.kind.built_in() == "DaemonSet" {
            object["metadata"]["annotations"]["deprecated.daemonset.template.generation"] = "0".into();
        }
        if matches!(self.kind.built_in(), "Deployment" | "ReplicaSet" | "StatefulSet") {
            object["spec"]["replicas"] = 0.into();
        }
        line(&json!({"type": "BOOKMARK", "object": object}))
    }
}

fn deleted_event(before: &StoredObject, after: &StoredObject) -> Bytes {
    let mut object = before.typed();
    object["metadata"]["resourceVersion"] = after.body["metadata"]["resourceVersion"].clone();
    line(&json!({"type": "DELETED", "object": object}))
}

fn line(value: &serde_json::Value) -> Bytes {
    let mut text = to_json_bytes(value);
    text.push(b'\n');
    text.into()
}

/// The HTTP status of a watch.
pub(crate) const WATCH_STATUS: StatusCode = StatusCode::OK;
