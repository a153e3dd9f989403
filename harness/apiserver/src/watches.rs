//! Open watches, as a test steers them: they pause, end, and get bookmarks.
//!
//! Informers have to cope with all three. A paused watch is a connection on which nothing arrives,
//! so the client's cache becomes stale; after its end a client watches again from where it was.

use std::collections::BTreeMap;

use crate::kinds::{Kind, Place};
use crate::service::{ApiServer, locked};
use crate::stored::StoredError;

/// What a test asked of the watches of one kind.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Signals {
    /// While they are paused: the version up to which they deliver.
    pub(crate) paused: Option<u64>,
    /// How often they were ended.
    pub(crate) ends: u64,
    /// How often they were sent a bookmark.
    pub(crate) bookmarks: u64,
}

/// The signals by the place of the kind.
pub(crate) type Steering = BTreeMap<Place, Signals>;

/// The watches of one resource; [`ApiServer::watches`] makes it.
#[derive(Debug, Clone)]
pub struct Watches {
    server: ApiServer,
    kind: &'static Kind,
}

impl ApiServer {
    /// The watches of a resource, such as `pods` or `deployments.apps`; the group may be omitted.
    ///
    /// # Errors
    /// When the resource is not served.
    pub fn watches(&self, resource: &str) -> Result<Watches, StoredError> {
        Ok(Watches { server: self.clone(), kind: self.server().kinds.of_resource(resource)? })
    }

    pub(crate) fn signals(&self, kind: &'static Kind) -> Signals {
        locked(&self.shared.steering).get(&kind.place()).copied().unwrap_or_default()
    }
}

impl Watches {
    /// Holds back what changes from now on. Neither events nor bookmarks nor the end by time-out
    /// are delivered, also to watches that begin later. All other requests are answered as ever.
    pub fn pause(&self) {
        let version = self.server.resource_version();
        self.signal(|signals| signals.paused = Some(version));
    }

    /// Delivers what was held back, and goes on.
    pub fn resume(&self) {
        self.signal(|signals| signals.paused = None);
    }

    /// Ends the open watches, as a restart of the server does. To have them refused with 410 when
    /// they begin anew, call [`ApiServer::forget`] too.
    pub fn end(&self) {
        self.signal(|signals| signals.ends += 1);
    }

    /// Sends a bookmark to the open watches that asked for bookmarks, as a real server does about
    /// once a minute. The server itself sends one only before a watch times out.
    pub fn send_bookmarks(&self) {
        self.signal(|signals| signals.bookmarks += 1);
    }

    fn signal(&self, change: impl FnOnce(&mut Signals)) {
        change(locked(&self.server.shared.steering).entry(self.kind.place()).or_default());
        self.server.wake(self.kind);
    }
}
