//! Upstream's admission plugin NamespaceLifecycle. The plugins for single kinds are called by their
//! strategies, and ResourceQuota is in `quota`.

use crate::http::status_error::{ApiResult, StatusError};
use crate::registry::core::namespace;
use crate::registry::state::Server;
use crate::storage::keys::StoreKey;
use crate::types::kinds::ResourceKind;

/// Rejects a new object in a namespace that does not exist or is being deleted.
pub(crate) fn check(server: &Server, kind: &ResourceKind, namespace: &str, name: &str) -> ApiResult<()> {
    let Some(found) = server.store.get(&StoreKey::new(&namespace::KIND, "", namespace)) else {
        return Err(StatusError::not_found(&namespace::KIND, namespace));
    };
    if found.is_deleting() || found.body["status"]["phase"] == "Terminating" {
        return Err(StatusError::terminating(kind, name, namespace));
    }
    Ok(())
}
