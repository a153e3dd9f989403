//! Configures a server before it starts.

use jiff::Timestamp;
use serde_json::Value;

use crate::clock::{ClockSource, ServerClock};
use crate::latency::{Latency, LatencyModel};
use crate::registry::restore::RestoreEntry;
use crate::registry::state::Server;
use crate::service::ApiServer;
use crate::storage::error::StorageError;
use crate::types::kinds::Kinds;

/// When the built-in controllers act.
///
/// They are the garbage collector (owner references, and finalizers of cascading deletion), the
/// namespace controller (deletes the content of a namespace), the service account controller
/// (creates the `default` account of each namespace) and the resource quota controller (counts used
/// resources). None of them creates pods or ReplicaSets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ControllerMode {
    /// During the write that triggers them, before its response is sent. Dependents are gone when
    /// the deletion of their owner is answered, so a test does not have to wait.
    #[default]
    Immediate,
    /// Some milliseconds after the write, one object at a time, as in a real cluster, while
    /// [`ApiServer::run_controllers`] is polled. Service accounts and quotas are still updated at
    /// once.
    Background,
    /// As [`ControllerMode::Immediate`], but without the garbage collector: another program, such
    /// as a real kube-controller-manager, deletes dependents and removes the finalizers `orphan`
    /// and `foregroundDeletion`.
    WithoutGarbageCollector,
    /// Never, as for kube-apiserver alone. Creating a pod then requires a service account, which
    /// the test has to create.
    Off,
}

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
