//! The service account controller: each namespace gets the account `default`.

use std::sync::Arc;

use serde_json::json;

use crate::registry::core::{namespace, service_account};
use crate::registry::state::Server;
use crate::storage::keys::StoreKey;
use crate::storage::object::StoredObject;
use crate::storage::store::ChangeRecord;

impl Server {
    pub(crate) fn create_service_account(&mut self) -> bool {
        let (spaces, accounts) = (&namespace::KIND, &service_account::KIND);
        let is_relevant = |change: &ChangeRecord| [spaces.order(), accounts.order()].contains(&change.key.kind);
        if !self.store.has_changed(self.service_accounts_version, is_relevant) {
            self.service_accounts_version = self.store.version();
            return false;
        }
        let lacks = |space: &Arc<StoredObject>| {
            !space.is_deleting() && !self.store.contains(&StoreKey::new(accounts, space.meta("name"), "default"))
        };
        let Some(space) = self
            .store
            .list(spaces, "")
            .find(lacks)
            .map(|space| (space.meta("name").to_owned(), space.body["metadata"]["creationTimestamp"].clone()))
        else {
            self.service_accounts_version = self.store.version();
            return false;
        };
        let (name, created) = space;
        let body = json!({"metadata": {"name": "default", "namespace": name, "uid": self.rng.uid(), "creationTimestamp": created}});
        self.store.put(accounts, StoreKey::new(accounts, &name, "default"), body, None);
        true
    }
}
