//! Storage keys of etcd, which clients see in errors.

use crate::http::request::ResourceRequest;
use crate::http::status_error::StatusError;
use crate::registry::kinds::strategy_of;
use crate::registry::state::Server;
use crate::storage::keys::StoreKey;
use crate::types::kinds::ResourceKind;

impl Server {
    /// The error for a request whose UID is not that of the existing object.
    pub(crate) fn uid_precondition_error(
        &self,
        request: &ResourceRequest<'_>,
        actual_uid: &str,
        uid: &str,
    ) -> StatusError {
        // A dry run does not reach etcd, whose keys have a prefix.
        let path =
            format!("{}{}", if self.dry_run { "" } else { "/registry" }, storage_key(request.kind, &request.key()));
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: {path}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: \
             UID in precondition: {uid}, UID in object meta: {actual_uid}"
        );
        StatusError::conflict(request.kind, &request.info.name, &why)
    }
}

/// The storage key of an object.
pub(crate) fn storage_key(kind: &ResourceKind, key: &StoreKey) -> String {
    let names: Vec<&str> =
        [key.namespace.as_str(), key.name.as_str()].into_iter().filter(|part| !part.is_empty()).collect();
    if kind.custom.is_some() {
        return format!("/{}/{}/{}", kind.group, kind.plural, names.join("/"));
    }
    format!("/{}/{}", strategy_of(kind).storage_folder().unwrap_or(kind.plural), names.join("/"))
}
