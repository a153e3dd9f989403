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
        mut body: Value,
        managers: Managers,
    ) -> Arc<StoredObject> {
        let stored_kind = self.kinds.storage_of(kind);
        let (stored_kind, body) = match stored_kind.custom {
            // Upstream reads what it wrote, by the schema of the stored version.
            Some(custom) => {
                if !stored_kind.is(kind) {
                    body = custom.pruned(body);
                }
                custom.fill(&mut body);
                (stored_kind, body)
            }
            None if self.dry_run => (kind, body),
            None => (stored_kind, conversion::convert_object(body, kind, stored_kind)),
        };
        let stored = if self.dry_run {
            let version = self.store.get(&key).map_or(0, |existing| existing.version);
            StoredObject::new(stored_kind, body, managers, version)
        } else {
            self.store.put(stored_kind, key, body, managers)
        };
        stored.as_kind(kind, &self.kinds)
    }

    /// Removes an object, unless this is a dry run.
    pub(crate) fn remove_object(&mut self, key: &StoreKey) -> Option<Arc<StoredObject>> {
        if self.dry_run { self.store.get(key) } else { self.store.remove(key) }
    }
}
