//! Watches: a position in the log of changes, and the events for later changes.

use bytes::Bytes;
use serde_json::json;

use crate::http::media_types::{ResponseFormat, SupportedFormats};
use crate::http::query;
use crate::http::request::ResourceRequest;
use crate::http::response::ApiResponse;
use crate::http::status_error::{ApiResult, StatusError};
use crate::registry::kinds::strategy_of;
use crate::registry::state::Server;
use crate::storage::object::StoredObject;
use crate::storage::store::ChangeRecord;
use crate::storage::watch::{EventType, WatchCursor, WatchEvent, line};
use crate::types::kinds::{Kinds, ResourceKind};

impl Server {
    pub(crate) fn watch(&mut self, request: &ResourceRequest<'_>) -> ApiResult<ApiResponse> {
        let selector = query::list(request.http, request.kind, true)?;
        let latest = self.store.version();
        let requested = request.resource_version().map_err(StatusError::plain_internal)?;
        let send = request.http.flag("sendInitialEvents");
        // Upstream: `ListResource`, where zero means the default, which is half an hour or more.
        let timeout = query::number(request.http, "timeoutSeconds")?.filter(|seconds| *seconds != 0);
        let mut cursor = WatchCursor {
            kind: request.kind,
            spec_digest: self.kinds.spec_digest(request.kind),
            namespace: request.info.namespace.clone(),
            selector,
            version: requested.unwrap_or(latest),
            initial_events: Vec::new(),
            bookmarks: request.http.flag("allowWatchBookmarks"),
            timeout: timeout.map(|seconds| u64::try_from(seconds).unwrap_or(0)),
            is_finished: timeout.is_some_and(|seconds| seconds < 0),
            format: ResponseFormat::PLAIN,
            managed_fields: request.http.managed_fields,
        };
        cursor.format = ResponseFormat::of(request.http, SupportedFormats::Stream)?;
        if cursor.is_finished {
            return Ok(ApiResponse::Watch(cursor));
        }
        if send && cursor.version > latest {
            cursor.is_finished = true;
            let status = self.too_large_version(request.kind, cursor.version).status();
            cursor.initial_events.push(WatchEvent::Encoded(line(&json!({"type": "ERROR", "object": status}))));
        } else if send || requested.is_none() {
            cursor.version = latest;
            let selector = &cursor.selector;
            let objects = self
                .store
                .list(request.kind, &cursor.namespace)
                .filter(|object| selector.is_empty() || selector.matches(&object.body));
            cursor.initial_events = objects
                .map(|object| WatchEvent::Object(EventType::Added, object.as_kind(cursor.source_kind(), &self.kinds)))
                .collect();
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
        let message = if cursor.kind.is_in_watch_cache {
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
        let events = changes.filter_map(|change| cursor.event_of(change, &self.kinds)).collect();
        cursor.version = cursor.version.max(until);
        // Upstream ends the watches of a kind when its definition changes.
        cursor.is_finished =
            cursor.spec_digest.is_some_and(|digest| self.kinds.spec_digest(cursor.kind) != Some(digest));
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
    /// The kind of the objects from which events are made.
    fn source_kind(&self) -> &'static ResourceKind {
        self.format.source_kind(self.kind)
    }

    fn event_of(&self, change: &ChangeRecord, kinds: &Kinds) -> Option<WatchEvent> {
        let key = &change.key;
        if key.kind != self.kind.order() || !(self.namespace.is_empty() || key.namespace == self.namespace) {
            return None;
        }
        let is_selected = |object: &StoredObject| self.selector.is_empty() || self.selector.matches(&object.body);
        let before = change.before();
        let was_selected = before.as_ref().is_some_and(|object| is_selected(object));
        match (change.after(), change.last()) {
            (Some(after), _) => match (was_selected, is_selected(&after)) {
                (false, true) => Some(WatchEvent::Object(EventType::Added, after.as_kind(self.source_kind(), kinds))),
                (true, true) => Some(WatchEvent::Object(EventType::Modified, after.as_kind(self.source_kind(), kinds))),
                // Upstream sends the old state at the new version.
                (true, false) => {
                    Some(WatchEvent::Encoded(deleted_event(&before?.as_kind(self.source_kind(), kinds), &after)))
                }
                (false, false) => None,
            },
            (None, Some(last)) if was_selected => {
                Some(WatchEvent::Object(EventType::Deleted, last.as_kind(self.source_kind(), kinds)))
            }
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
        let kind = self.source_kind();
        let mut object = crate::registry::decode::normalize(kind, json!({})).unwrap_or_default();
        object["kind"] = kind.kind.into();
        object["apiVersion"] = kind.api_version().into();
        object["metadata"] = meta;
        strategy_of(kind).fill_bookmark(&mut object);
        line(&json!({"type": "BOOKMARK", "object": object}))
    }
}

pub(crate) fn deleted_event(before: &StoredObject, after: &StoredObject) -> Bytes {
    let mut object = before.typed();
    object["metadata"]["resourceVersion"] = after.body["metadata"]["resourceVersion"].clone();
    line(&json!({"type": "DELETED", "object": object}))
}
