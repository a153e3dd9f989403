//! Reads and writes stored objects without requests.
//!
//! A test can start from objects as they are in etcd, and inspect the outcome, without a client.
//! Objects written here are neither validated nor defaulted, as in a restore of etcd: they keep
//! their UID, status, creation time and generation, so they should be complete.

use serde_json::Value;

use crate::registry::restore::RestoreEntry;
use crate::service::api_server::ApiServer;
use crate::storage::error::StorageError;
use crate::storage::keys::StoreKey;
use crate::types::kinds::ResourceKind;

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
