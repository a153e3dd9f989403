//! How a server is configured before it starts.

use jiff::Timestamp;
use serde_json::Value;

use crate::clock::{Clock, Start};
use crate::kinds::Kinds;
use crate::latency::{Latency, LatencyModel};
use crate::server::Server;
use crate::service::ApiServer;
use crate::stored::{Entry, StoredError};

/// When the controllers that run in every cluster act.
///
/// These are the garbage collector (owner references and finalizers of cascading deletion), the
/// namespace controller (deletes the content of a namespace), the service account controller
/// (gives each namespace its `default` account) and the resource quota controller (counts what a
/// quota limits). None of them creates pods or ReplicaSets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Controllers {
    /// Within the write that gives them something to do, before its answer is sent. Dependents are
    /// gone when the deletion of their owner is answered, so a test does not have to wait.
    #[default]
    Immediate,
    /// Some milliseconds after that write, one object after the other, as in a real cluster, while
    /// [`ApiServer::run_controllers`] is polled. Accounts and quotas are still updated at once.
    Background,
    /// As [`Controllers::Immediate`], but for the garbage collector, which never acts: another
    /// program, such as kube-controller-manager's own, is to delete dependents and to remove the
    /// finalizers `orphan` and `foregroundDeletion`.
    WithoutGarbageCollector,
    /// Never: this is kube-apiserver alone. Pods cannot be created without a service account,
    /// which the test has to create.
    Off,
}

/// Configures a server; [`ApiServer::builder`] makes one.
#[derive(Debug, Default)]
pub struct Builder {
    seed: u64,
    latency: Latency,
    controllers: Controllers,
    start: Start,
    objects: Vec<Entry>,
    /// What the definitions among the objects declare.
    kinds: Kinds,
}

impl Builder {
    /// The seed of everything random: UIDs, generated names, and delays where the latency is
    /// random. The default is 0. Identical seeds and requests give identical answers, provided
    /// that the time of day is the same too ([`Builder::epoch`]).
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

    /// When the cluster's own controllers act. The default is [`Controllers::Immediate`].
    #[must_use]
    pub fn controllers(mut self, controllers: Controllers) -> Self {
        self.controllers = controllers;
        self
    }

    /// The time of day when the server is built, instead of the machine's. It advances with
    /// tokio's clock.
    #[must_use]
    pub fn epoch(mut self, epoch: Timestamp) -> Self {
        self.start = Start::At(epoch);
        self
    }

    /// Reads the time of day from this function whenever a request arrives: for programs that have
    /// a clock of their own. Delays and time-outs use tokio's clock nevertheless.
    #[must_use]
    pub fn clock(mut self, now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        self.start = Start::Given(Box::new(now));
        self
    }

    /// Starts with these objects too, exactly as they are: with their resourceVersions, UIDs,
    /// status and times, as if they had been read from etcd. They are not validated and get no
    /// defaults. What is absent of UID, creation time and resourceVersion is made up, see
    /// [`ApiServer::put_stored`]. Watches and lists from before the latest of their versions are
    /// refused with 410.
    ///
    /// # Errors
    /// When a kind is not served, or an object lacks a name or namespace or cannot be decoded.
    pub fn objects(mut self, objects: impl IntoIterator<Item = Value>) -> Result<Self, StoredError> {
        for object in objects {
            let entry = Entry::read(&self.kinds, object)?;
            entry.define(&mut self.kinds);
            self.objects.push(entry);
        }
        Ok(self)
    }

    /// Starts the server, with the namespaces `default`, `kube-system`, `kube-public` and
    /// `kube-node-lease`. Where tokio's clock is paused, call this within its runtime.
    #[must_use]
    pub fn build(self) -> ApiServer {
        let clock = Clock::starting(self.start);
        let server = Server::new(self.seed, clock.now(), self.objects);
        ApiServer::start(server, LatencyModel::new(self.latency, self.seed), self.controllers, clock)
    }
}
