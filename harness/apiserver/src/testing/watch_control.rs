//! Controls open watches from a test: pauses and ends them, and sends bookmarks.
//!
//! Informers must handle all three. A paused watch is a connection on which nothing arrives, so the
//! client's cache becomes stale; after an end the client watches again from its last version.

use crate::service::api_server::ApiServer;
use crate::service::lock::locked;
use crate::service::watch_signals::WatchSignals;
use crate::storage::error::StorageError;
use crate::types::kinds::ResourceKind;

/// The watches of one resource; created by [`ApiServer::watches`].
#[derive(Debug, Clone)]
pub struct WatchControl {
    server: ApiServer,
    kind: &'static ResourceKind,
}

impl ApiServer {
    /// The watches of a resource, such as `pods` or `deployments.apps`; the group may be omitted.
    ///
    /// # Errors
    /// If the resource is not served.
    pub fn watches(&self, resource: &str) -> Result<WatchControl, StorageError> {
        Ok(WatchControl { server: self.clone(), kind: self.server().kinds.by_resource(resource)? })
    }

    pub(crate) fn signals(&self, kind: &'static ResourceKind) -> WatchSignals {
        locked(&self.shared.watch_signals).get(&kind.order()).copied().unwrap_or_default()
    }
}

impl WatchControl {
    /// Holds back later changes. Neither events nor bookmarks nor timeouts are delivered, not even
    /// to watches that start later. All other requests are handled as usual.
    pub fn pause(&self) {
        let version = self.server.resource_version();
        self.signal(|signals| signals.paused = Some(version));
    }

    /// Delivers what was held back, and continues.
    pub fn resume(&self) {
        self.signal(|signals| signals.paused = None);
    }

    /// Ends the open watches, as a restart of the server does. To refuse their next request with
    /// 410, call [`ApiServer::forget`] too.
    pub fn end(&self) {
        self.signal(|signals| signals.ends += 1);
    }

    /// Sends a bookmark to the open watches that requested bookmarks, as a real server does about
    /// once a minute. On its own the server sends one only before a watch times out.
    pub fn send_bookmarks(&self) {
        self.signal(|signals| signals.bookmarks += 1);
    }

    fn signal(&self, change: impl FnOnce(&mut WatchSignals)) {
        change(locked(&self.server.shared.watch_signals).entry(self.kind.order()).or_default());
        self.server.wake(self.kind);
    }
}
