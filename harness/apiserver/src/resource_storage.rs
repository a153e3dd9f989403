//! Reads and writes stored objects without requests.
//!
//! A test can start from objects as they are in etcd, and inspect the outcome, without a client.
//! Objects written here are neither validated nor defaulted, as in a restore of etcd: they keep
//! their UID, status, creation time and generation, so they should be complete.

use jiff::Timestamp;
use serde_json::Value;

use crate::convert;
use crate::custom::kinds_of;
use crate::field_ownership::take_managed_fields;
use crate::http::request::timestamp_value;
use crate::read::untyped;
use crate::server::Server;
use crate::service::ApiServer;
use crate::storage::error::StorageError;
use crate::storage::keys::StoreKey;
use crate::storage::object::StoredObject;
use crate::types::kinds::{DEFINITION, Kinds, ResourceKind};
use crate::write::decode_as;

/// An object to store unchanged.
#[derive(Debug)]
pub(crate) struct RestoreEntry {
    kind: &'static ResourceKind,
    key: StoreKey,
    body: Value,
    /// The resourceVersion of the object, if any.
    pub(crate) version: Option<u64>,
}

impl RestoreEntry {
    pub(crate) fn read(kinds: &Kinds, object: Value) -> Result<Self, StorageError> {
        let text = |of: &Value| of.as_str().unwrap_or_default().to_owned();
        let (api_version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
        let Some(kind) = kinds.find(&api_version, &kind) else {
            return Err(StorageError::UnknownKind { api_version, kind });
        };
        let body = decode_as(kind, &untyped(object)).map_err(StorageError::Undecodable)?.value;
        let (namespace, name) = (text(&body["metadata"]["namespace"]), text(&body["metadata"]["name"]));
        if name.is_empty() {
            return Err(StorageError::Missing("metadata.name"));
        }
        if kind.namespaced && namespace.is_empty() {
            return Err(StorageError::Missing("metadata.namespace"));
        }
        let key = StoreKey::new(kind, if kind.namespaced { &namespace } else { "" }, &name);
        let version = body["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok());
        let mut body = convert::convert_object(untyped(body), kind, kind.storage());
        take_managed_fields(&mut body);
        Ok(Self { kind: kind.storage(), key, body, version })
    }
}

impl Kinds {
    /// The kind of a resource as kubectl names it: `deployments` or `deployments.apps`.
    pub(crate) fn by_resource(&self, name: &str) -> Result<&'static ResourceKind, StorageError> {
        let found = self.all().find(|kind| kind.plural == name || kind.resource() == name);
        found.ok_or_else(|| StorageError::UnknownResource(name.to_owned()))
    }
}

impl RestoreEntry {
    /// Serves the kinds that it declares, if it is a definition of custom resources.
    pub(crate) fn define(&self, kinds: &mut Kinds) {
        if let Some(Ok(definition)) = (self.kind.built_in() == DEFINITION).then(|| kinds_of(&self.body["spec"])) {
            kinds.define(&self.key.name, definition);
        }
    }
}

impl Server {
    /// Stores an object unchanged.
    pub(crate) fn restore(&mut self, entry: RestoreEntry, now: Timestamp) -> std::sync::Arc<StoredObject> {
        let RestoreEntry { kind, key, mut body, version } = entry;
        let meta = &mut body["metadata"];
        if meta["uid"].as_str().unwrap_or_default().is_empty() {
            meta["uid"] = self.rng.uid().into();
        }
        if meta["creationTimestamp"].is_null() {
            meta["creationTimestamp"] = timestamp_value(now);
        }
        self.quotas.restart();
        self.store.restore(kind, key, body, version)
    }
}

/// The stored objects of one resource; created by [`ApiServer::storage`].
#[derive(Debug, Clone)]
pub struct ResourceStorage {
    server: ApiServer,
    kind: &'static ResourceKind,
}

impl ApiServer {
    /// Stores an object exactly as it is, replacing one with the same name, and delivers it to
    /// watches, like a restore of etcd. It may have a UID, a status or a deletionTimestamp that no
    /// client could write, and is not validated. A missing UID and creation time are generated.
    ///
    /// A resourceVersion is kept if it is later than all others, and the next write gets a later
    /// one; otherwise the object gets the next version. `managedFields` are not stored. The
    /// controllers act on it as on every write.
    ///
    /// Returns the stored object.
    ///
    /// # Errors
    /// If its kind is not served, it lacks a name or namespace, or it cannot be decoded.
    pub fn put_stored(&self, object: Value) -> Result<Value, StorageError> {
        let now = self.now();
        let (before, stored) = {
            let mut server = self.server();
            let before = server.store.version();
            let entry = RestoreEntry::read(&server.kinds, object)?;
            let stored = server.restore(entry, now);
            server.establish(now);
            (before, stored)
        };
        self.after_write(before);
        Ok(stored.typed())
    }

    /// The stored objects of a resource, such as `pods` or `deployments.apps`; the group may be
    /// omitted.
    ///
    /// # Errors
    /// If the resource is not served.
    pub fn storage(&self, resource: &str) -> Result<ResourceStorage, StorageError> {
        Ok(ResourceStorage { server: self.clone(), kind: self.server().kinds.by_resource(resource)? })
    }
}

impl ResourceStorage {
    /// An object. The namespace is ignored if the resource has none.
    #[must_use]
    pub fn get(&self, namespace: &str, name: &str) -> Option<Value> {
        self.server.server().store.get(&self.key(namespace, name)).map(|object| object.typed())
    }

    /// The objects of a namespace, or of all namespaces if it is empty, ordered by namespace and
    /// name.
    #[must_use]
    pub fn list(&self, namespace: &str) -> Vec<Value> {
        let namespace = if self.kind.namespaced { namespace } else { "" };
        self.server.server().store.list(self.kind, namespace).map(|object| object.typed()).collect()
    }

    /// Removes an object at once, ignoring finalizers and grace periods, and delivers that to
    /// watches; returns its last state.
    pub fn remove(&self, namespace: &str, name: &str) -> Option<Value> {
        let (before, last) = {
            let store = &mut self.server.server().store;
            (store.version(), store.remove(&self.key(namespace, name))?)
        };
        self.server.after_write(before);
        Some(last.typed())
    }

    fn key(&self, namespace: &str, name: &str) -> StoreKey {
        StoreKey::new(self.kind, if self.kind.namespaced { namespace } else { "" }, name)
    }
}
