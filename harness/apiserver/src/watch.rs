//! Watches: a position in the log of changes, and the events for the changes after it.

use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use serde_json::json;

use super::kinds::Kind;
use super::media::{Form, Offered};
use super::object::{ManagedFields, Object, written};
use super::options;
use super::problem::{Outcome, Problem};
use super::select::Selector;
use super::server::{Answer, Ask, Server};
use super::store::Change;

/// A watch: what it selects, and how far it got.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) kind: &'static Kind,
    namespace: String,
    selector: Selector,
    /// The events up to this version are delivered.
    pub(super) version: u64,
    /// Events to deliver before those of the log.
    pub(super) first: Vec<Event>,
    /// Whether it asked for bookmarks.
    pub(super) bookmarks: bool,
    /// When it times out, in seconds.
    pub(super) timeout: Option<u64>,
    /// Whether it has ended.
    pub(super) gone: bool,
    /// In what form its events leave.
    pub(super) form: Form,
    managed: ManagedFields,
}

/// What a watch delivers next.
#[derive(Debug)]
pub(super) enum Event {
    /// An object came, changed or went.
    Shown(What, Arc<Object>),
    /// Anything else, as it is written.
    Line(Bytes),
}

/// What happened to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// It is new.
    Added,
    /// It has changed.
    Modified,
    /// It is gone.
    Deleted,
}

impl Server {
    pub(super) fn watch(&mut self, ask: &Ask<'_>) -> Outcome<Answer> {
        let selector = options::list(ask.call, ask.kind, true)?;
        let latest = self.store.version();
        let wanted = ask.version().map_err(Problem::plain_internal)?;
        let send = ask.call.flag("sendInitialEvents");
        let mut order = Order {
            kind: ask.kind,
            namespace: ask.route.namespace.clone(),
            selector,
            version: wanted.unwrap_or(latest),
            first: Vec::new(),
            bookmarks: ask.call.flag("allowWatchBookmarks"),
            timeout: ask.call.param("timeoutSeconds").parse().ok(),
            gone: false,
            form: Form::PLAIN,
            managed: ask.call.managed,
        };
        order.form = Form::of(ask.call, Offered::Stream)?;
        if send && order.version > latest {
            order.gone = true;
            let status = self.too_large(ask.kind, order.version).status();
            order.first.push(Event::Line(line(&json!({"type": "ERROR", "object": status}))));
        } else if send || wanted.is_none() {
            order.version = latest;
            let objects =
                self.store.list(ask.kind, &order.namespace).filter(|object| order.selector.matches(&object.body));
            order.first = objects.map(|object| Event::Shown(What::Added, object.at(ask.kind))).collect();
            // Upstream's default of `sendInitialEvents` is yes where all versions are wanted.
            if order.bookmarks {
                order.first.push(Event::Line(order.bookmark(true)));
            }
        } else if order.version < self.store.forgotten() {
            let error = self.too_old(&mut order);
            order.first.push(Event::Line(error));
        }
        Ok(Answer::Watch(order))
    }

    /// The last event of a watch from a version that is forgotten.
    fn too_old(&self, order: &mut Order) -> Bytes {
        order.gone = true;
        let message = format!("too old resource version: {} ({})", order.version, self.store.forgotten());
        line(&json!({"type": "ERROR", "object": Problem::expired(message).status()}))
    }

    /// The events up to a version that a watch has not delivered yet; they count as delivered
    /// afterwards.
    pub(super) fn unseen(&self, order: &mut Order, until: u64) -> Vec<Event> {
        if order.gone {
            return Vec::new();
        }
        if self.store.lacks_of(order.kind.place(), order.version) {
            return vec![Event::Line(self.too_old(order))];
        }
        let until = until.min(self.store.version());
        let changes = self.store.since(order.version).iter().take_while(|change| change.version <= until);
        let shown = changes.filter_map(|change| order.shows(change)).collect();
        order.version = order.version.max(until);
        shown
    }

    /// Moves a watch of whose kind nothing has changed to the latest version, as a bookmark is to
    /// say.
    pub(super) fn move_on(&self, order: &mut Order) {
        let (kind, from) = (order.kind.place(), order.version);
        let has_changed = self.store.since(from).iter().any(|change| change.key.kind == kind);
        if !has_changed && !self.store.lacks_of(kind, from) {
            order.version = self.store.version().max(from);
        }
    }
}

impl Order {
    /// All objects of a kind, from a version on.
    pub(super) fn of_all(kind: &'static Kind, version: u64) -> Self {
        Self {
            kind,
            namespace: String::new(),
            selector: Selector::default(),
            version,
            first: Vec::new(),
            bookmarks: false,
            timeout: None,
            gone: false,
            form: Form::PLAIN,
            managed: ManagedFields::LeftOut,
        }
    }

    /// An event as it is written.
    pub(super) fn line(&self, event: Event) -> Bytes {
        let (what, object) = match event {
            Event::Line(line) => return line,
            Event::Shown(what, object) => (what, object),
        };
        let mut text = Vec::with_capacity(object.untyped_text(self.managed).len() + 96);
        text.extend_from_slice(match what {
            What::Added => b"{\"type\":\"ADDED\",\"object\":",
            What::Modified => b"{\"type\":\"MODIFIED\",\"object\":",
            What::Deleted => b"{\"type\":\"DELETED\",\"object\":",
        });
        object.write(&mut text, self.managed);
        text.extend_from_slice(b"}\n");
        text.into()
    }

    fn shows(&self, change: &Change) -> Option<Event> {
        let key = &change.key;
        if key.kind != self.kind.place() || !(self.namespace.is_empty() || key.namespace == self.namespace) {
            return None;
        }
        let meant = |object: &Object| self.selector.matches(&object.body);
        let before = change.before();
        let was = before.as_ref().is_some_and(|object| meant(object));
        match (change.after(), change.last()) {
            (Some(after), _) => match (was, meant(&after)) {
                (false, true) => Some(Event::Shown(What::Added, after.at(self.kind))),
                (true, true) => Some(Event::Shown(What::Modified, after.at(self.kind))),
                // Upstream sends the old state, at the new version.
                (true, false) => Some(Event::Line(gone(&before?.at(self.kind), &after))),
                (false, false) => None,
            },
            (None, Some(last)) if was => Some(Event::Shown(What::Deleted, last.at(self.kind))),
            _ => None,
        }
    }

    /// A bookmark: the version that it got to.
    pub(super) fn bookmark(&self, initial: bool) -> Bytes {
        let mut meta = json!({"resourceVersion": self.version.to_string()});
        if initial {
            meta["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        // Otherwise an empty object of the kind.
        let mut object = super::write::normal(self.kind, json!({})).unwrap_or_default();
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

fn gone(before: &Object, after: &Object) -> Bytes {
    let mut object = before.typed();
    object["metadata"]["resourceVersion"] = after.body["metadata"]["resourceVersion"].clone();
    line(&json!({"type": "DELETED", "object": object}))
}

fn line(value: &serde_json::Value) -> Bytes {
    let mut text = written(value);
    text.push(b'\n');
    text.into()
}

/// The status with which a watch begins.
pub(super) const BEGINS: StatusCode = StatusCode::OK;
