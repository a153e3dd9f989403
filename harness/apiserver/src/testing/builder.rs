//! Configures a server before it starts.

use jiff::Timestamp;
use serde_json::Value;

use crate::clock::{ClockSource, ServerClock};
use crate::registry::restore::RestoreEntry;
use crate::registry::state::Server;
use crate::service::api_server::{ApiServer, ControllerMode};
use crate::service::latency::{Latency, LatencyModel};
use crate::storage::error::StorageError;
use crate::types::kinds::Kinds;

/// Configures a server; created by [`ApiServer::builder`].
#[derive(Debug, Default)]
pub struct Builder {
    seed: u64,
    latency: Latency,
    controllers: ControllerMode,
    start: ClockSource,
    objects: Vec<RestoreEntry>,
    /// The kinds that the definitions among the objects declare.
    kinds: Kinds,
}

impl ApiServer {
    /// A server with seed 0, fixed latency and immediate controllers. If the clock of the runtime
    /// is paused, call this within the runtime.
    #[expect(clippy::new_without_default, reason = "it reads the clock and must be called in a runtime")]
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Configures a server.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }
}

impl Builder {
    /// The seed of everything random: UIDs, generated names, and delays if the latency is random.
    /// The default is 0. Equal seeds and requests give equal responses if the time of day is the
    /// same too ([`Builder::epoch`]).
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// How long requests and watch events take. The default is [`Latency::Fixed`].
    #[must_use]
    pub fn latency(mut self, latency: Latency) -> Self {
        self.latency = latency;
        self
    }

    /// When the built-in controllers act. The default is [`ControllerMode::Immediate`].
    #[must_use]
    pub fn controllers(mut self, controllers: ControllerMode) -> Self {
        self.controllers = controllers;
        self
    }

    /// The time of day when the server is built; the default is the machine's. It advances with
    /// tokio's clock.
    #[must_use]
    pub fn epoch(mut self, epoch: Timestamp) -> Self {
        self.start = ClockSource::At(epoch);
        self
    }

    /// Reads the time of day from this function for each request, for programs with their own
    /// clock. Delays and timeouts still use tokio's clock.
    #[must_use]
    pub fn clock(mut self, now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        self.start = ClockSource::Custom(Box::new(now));
        self
    }

    /// Starts with these objects, stored exactly as they are: with their resourceVersions, UIDs,
    /// status and times, as if read from etcd. They are neither validated nor defaulted. A missing
    /// UID, creation time or resourceVersion is generated, see [`ApiServer::put_stored`]. Watches
    /// and lists from before the latest of their versions get 410.
    ///
    /// # Errors
    /// If a kind is not served, or an object lacks a name or namespace or cannot be decoded.
    pub fn objects(mut self, objects: impl IntoIterator<Item = Value>) -> Result<Self, StorageError> {
        for object in objects {
            let entry = RestoreEntry::read(&self.kinds, object)?;
            entry.define(&mut self.kinds);
            self.objects.push(entry);
        }
        Ok(self)
    }

    /// Starts the server, with the namespaces `default`, `kube-system`, `kube-public` and
    /// `kube-node-lease`. Where tokio's clock is paused, call this within its runtime.
    #[must_use]
    pub fn build(self) -> ApiServer {
        let clock = ServerClock::new(self.start);
        let server = Server::new(self.seed, clock.now(), self.objects);
        ApiServer::start(server, LatencyModel::new(self.latency, self.seed), self.controllers, clock)
    }
}
