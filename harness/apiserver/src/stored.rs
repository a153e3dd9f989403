//! What is stored, read and written without a request.
//!
//! A test starts from objects as they are in etcd, and looks at the outcome, without a client of
//! its own. Objects that are written here are neither validated nor defaulted, as in a restore of
//! etcd: they keep their UID, status, creation time and generation, so they should be complete.

use std::fmt;

use jiff::Timestamp;
use serde_json::Value;

use crate::claims::take_managed_fields;
use crate::convert;
use crate::custom::kinds_of;
use crate::kinds::{DEFINITION, Kind, Kinds};
use crate::object::Object;
use crate::read::untyped;
use crate::server::{Server, stamp};
use crate::service::ApiServer;
use crate::store::Key;
use crate::write::typed;

/// Why an object cannot be stored, or a resource cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoredError {
    /// No such resource is served.
    UnknownResource(String),
    /// No such kind is served.
    UnknownKind {
        /// As in the object, empty if absent.
        api_version: String,
        /// As in the object, empty if absent.
        kind: String,
    },
    /// The object lacks this field.
    Missing(&'static str),
    /// A field has a value of another type than its kind has.
    Undecodable(String),
}

impl fmt::Display for StoredError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownResource(name) => write!(f, "the resource {name:?} is not served"),
            Self::UnknownKind { api_version, kind } => {
                write!(f, "the kind {kind:?} of the version {api_version:?} is not served")
            }
            Self::Missing(field) => write!(f, "a stored object needs {field}"),
            Self::Undecodable(why) => write!(f, "the object cannot be decoded: {why}"),
        }
    }
}

impl std::error::Error for StoredError {}

/// An object to be stored as it is.
#[derive(Debug)]
pub(crate) struct Entry {
    kind: &'static Kind,
    key: Key,
    body: Value,
    /// The resourceVersion that it has, if any.
    pub(crate) version: Option<u64>,
}

impl Entry {
    pub(crate) fn read(kinds: &Kinds, object: Value) -> Result<Self, StoredError> {
        let text = |of: &Value| of.as_str().unwrap_or_default().to_owned();
        let (api_version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
        let Some(kind) = kinds.named(&api_version, &kind) else {
            return Err(StoredError::UnknownKind { api_version, kind });
        };
        let body = typed(kind, &untyped(object)).map_err(StoredError::Undecodable)?.value;
        let (namespace, name) = (text(&body["metadata"]["namespace"]), text(&body["metadata"]["name"]));
        if name.is_empty() {
            return Err(StoredError::Missing("metadata.name"));
        }
        if kind.namespaced && namespace.is_empty() {
            return Err(StoredError::Missing("metadata.namespace"));
        }
        let key = Key::new(kind, if kind.namespaced { &namespace } else { "" }, &name);
        let version = body["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok());
        let mut body = convert::converted(untyped(body), kind, kind.storage());
        take_managed_fields(&mut body);
        Ok(Self { kind: kind.storage(), key, body, version })
    }
}

impl Entry {
    /// Serves what it declares, if it is a definition of custom resources.
    pub(crate) fn define(&self, kinds: &mut Kinds) {
        if let Some(Ok(definition)) = (self.kind.built_in() == DEFINITION).then(|| kinds_of(&self.body["spec"])) {
            kinds.define(&self.key.name, definition);
        }
    }
}

impl Server {
    /// Stores an object as it is.
    pub(crate) fn restore(&mut self, entry: Entry, now: Timestamp) -> std::sync::Arc<Object> {
        let Entry { kind, key, mut body, version } = entry;
        let meta = &mut body["metadata"];
        if meta["uid"].as_str().unwrap_or_default().is_empty() {
            meta["uid"] = self.chance.uid().into();
        }
        if meta["creationTimestamp"].is_null() {
            meta["creationTimestamp"] = stamp(now);
        }
        self.quotas.restart();
        self.store.restore(kind, key, body, version)
    }
}

/// The stored objects of one resource; [`ApiServer::stored`] makes it.
#[derive(Debug, Clone)]
pub struct Stored {
    server: ApiServer,
    kind: &'static Kind,
}

impl ApiServer {
    /// Stores an object exactly as it is, in place of one of its name, and shows it to watches:
    /// what a restore of etcd does. It may have a UID, a status or a deletionTimestamp that no
    /// client could write, and is not validated. Absent UIDs and creation times are made up.
    ///
    /// A resourceVersion is kept if it is later than all others, and the next write gets a later
    /// one; otherwise the object gets the next version. `managedFields` are not stored. The
    /// controllers act on it as on every write.
    ///
    /// Returns the object as it is stored.
    ///
    /// # Errors
    /// When its kind is not served, it lacks a name or namespace, or cannot be decoded.
    pub fn put_stored(&self, object: Value) -> Result<Value, StoredError> {
        let now = self.now();
        let (before, stored) = {
            let mut server = self.server();
            let before = server.store.version();
            let entry = Entry::read(&server.kinds, object)?;
            let stored = server.restore(entry, now);
            server.establish(now);
            (before, stored)
        };
        self.wrote(before);
        Ok(stored.typed())
    }

    /// The stored objects of a resource, such as `pods` or `deployments.apps`; the group may be
    /// omitted.
    ///
    /// # Errors
    /// When the resource is not served.
    pub fn stored(&self, resource: &str) -> Result<Stored, StoredError> {
        Ok(Stored { server: self.clone(), kind: self.server().kinds.of_resource(resource)? })
    }
}

impl Stored {
    /// An object. The namespace is ignored if the resource has none.
    #[must_use]
    pub fn get(&self, namespace: &str, name: &str) -> Option<Value> {
        self.server.server().store.get(&self.key(namespace, name)).map(|object| object.typed())
    }

    /// The objects of a namespace, or of all namespaces if it is empty, by namespace and name.
    #[must_use]
    pub fn list(&self, namespace: &str) -> Vec<Value> {
        let namespace = if self.kind.namespaced { namespace } else { "" };
        self.server.server().store.list(self.kind, namespace).map(|object| object.typed()).collect()
    }

    /// Removes an object at once, without regard to finalizers and grace periods, and shows that
    /// to watches; returns its last state.
    pub fn remove(&self, namespace: &str, name: &str) -> Option<Value> {
        let (before, last) = {
            let store = &mut self.server.server().store;
            (store.version(), store.remove(&self.key(namespace, name))?)
        };
        self.server.wrote(before);
        Some(last.typed())
    }

    fn key(&self, namespace: &str, name: &str) -> Key {
        Key::new(self.kind, if self.kind.namespaced { namespace } else { "" }, name)
    }
}
