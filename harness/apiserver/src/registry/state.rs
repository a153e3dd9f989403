//! The state of the server.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::SeededRng;
use crate::http::request::ResourceRequest;
use crate::http::status_error::{ApiResult, StatusError};
use crate::storage::keys::StoreKey;
use crate::storage::object::StoredObject;
use crate::storage::store::Store;
use crate::types::kinds::{Kinds, ResourceKind};
use crate::types::list_quantities::ListedQuantity;

/// The API server's state.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) store: Store,
    pub(crate) rng: SeededRng,
    /// The garbage collector has processed the changes up to this version.
    pub(crate) gc_version: u64,
    /// All namespaces had their service account at this version.
    pub(crate) service_accounts_version: u64,
    pub(crate) quotas: RecountProgress,
    /// The unsupported requests, each with the reason.
    pub(crate) unsupported: Vec<String>,
    /// The warnings of the current request.
    pub(crate) warnings: Vec<String>,
    /// The quantities in atomic lists of the current request's object, as the request writes them.
    pub(crate) listed_quantities: Vec<ListedQuantity>,
    /// Whether the current request is a dry run.
    pub(crate) dry_run: bool,
    /// The served kinds.
    pub(crate) kinds: Kinds,
    /// The definitions have been processed up to this version.
    pub(crate) definitions_version: u64,
    /// The definitions that are being deleted.
    pub(crate) deleting_definitions: BTreeSet<StoreKey>,
    /// The earliest creation time of new objects, by namespace.
    pub(crate) not_before: BTreeMap<String, Timestamp>,
}

impl Server {
    /// The error for a future resourceVersion. A watch cache asks the client to retry; Events have
    /// none.
    pub(crate) fn too_large_version(&self, kind: &ResourceKind, requested: u64) -> StatusError {
        let error = StatusError::too_large(requested, self.store.version());
        if kind.is_in_watch_cache { error.retry_after(1) } else { error }
    }

    /// The object of a request, in its internal version.
    pub(crate) fn existing_object(&self, request: &ResourceRequest<'_>) -> ApiResult<std::sync::Arc<StoredObject>> {
        let found = self.store.get(&request.key());
        let found = found.ok_or_else(|| StatusError::not_found(request.kind, &request.info.name))?;
        Ok(found.as_kind(request.kind.inner(), &self.kinds))
    }
}

impl ResourceRequest<'_> {
    pub(crate) fn key(&self) -> StoreKey {
        let namespace = if self.kind.namespaced { self.info.namespace.as_str() } else { "" };
        StoreKey::new(self.kind, namespace, &self.info.name)
    }
}

#[derive(Debug)]
pub(crate) struct RecountProgress {
    /// Changes up to this version have been processed.
    pub(crate) version: u64,
    /// The quotas to recount.
    pub(crate) due: BTreeSet<StoreKey>,
    pub(crate) start: Timestamp,
    /// The last resync period, counted from the start, in which all quotas were recounted.
    pub(crate) period: Option<i64>,
}

impl RecountProgress {
    pub(crate) fn new(start: Timestamp) -> Self {
        Self { version: 0, due: BTreeSet::new(), start, period: None }
    }

    /// Schedules a recount of all quotas, as objects were stored without admission.
    pub(crate) fn restart(&mut self) {
        self.period = None;
    }
}
