//! Dry runs: everything is decided, nothing is stored.
//!
//! Every write of a request comes through here. A dry run answers with the object as it would have
//! been written, at the version that it had: upstream's `DryRunnableStorage` has no other.

use std::sync::Arc;

use serde_json::Value;

use super::convert;
use super::kinds::Kind;
use super::managed::Managers;
use super::object::Object;
use super::server::Server;
use super::store::Key;

impl Server {
    /// Write an object.
    pub(super) fn keep(&mut self, kind: &'static Kind, key: Key, body: Value, managers: Managers) -> Arc<Object> {
        let asked = kind;
        let kind = self.kinds.stored(kind);
        if self.dry {
            let version = self.store.get(&key).map_or(0, |there| there.version);
            return Object::new(asked, body, managers, version);
        }
        self.store.put(kind, key, convert::converted(body, asked, kind), managers).at(asked)
    }

    /// Remove an object.
    pub(super) fn discard(&mut self, key: &Key) -> Option<Arc<Object>> {
        if self.dry { self.store.get(key).cloned() } else { self.store.remove(key) }
    }
}
