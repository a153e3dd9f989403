//! Writes that respect dry runs: a dry run decides everything and stores nothing.
//!
//! Every write of a request goes through here. A dry run returns the object as it would have been
//! written, at its old version, like upstream's `DryRunnableStorage`.

use std::sync::Arc;

use serde_json::Value;

use crate::fields::entries::Managers;
use crate::registry::conversion;
use crate::registry::state::Server;
use crate::storage::keys::StoreKey;
use crate::storage::object::StoredObject;
use crate::types::kinds::ResourceKind;

impl Server {
    /// Stores an object, unless this is a dry run.
    pub(crate) fn put_object(
        &mut self,
        kind: &'static ResourceKind,
        key: StoreKey,
        body: Value,
        managers: Managers,
    ) -> Arc<StoredObject> {
        let requested_kind = kind;
        let kind = self.kinds.storage_of(kind);
        if self.dry_run {
            let version = self.store.get(&key).map_or(0, |existing| existing.version);
            return StoredObject::new(requested_kind, body, managers, version);
        }
        self.store
            .put(kind, key, conversion::convert_object(body, requested_kind, kind), managers)
            .as_kind(requested_kind)
    }

    /// Removes an object, unless this is a dry run.
    pub(crate) fn remove_object(&mut self, key: &StoreKey) -> Option<Arc<StoredObject>> {
        if self.dry_run { self.store.get(key) } else { self.store.remove(key) }
    }
}
