//! The built-in controllers: garbage collection, namespaces, service accounts and quotas. Each acts
//! in steps of one write.
//!
//! They import `registry` and `admission`. No other room may import them; the dispatcher and the
//! service call their steps on the server.

pub(crate) mod garbage_collection;
pub(crate) mod namespaces;
pub(crate) mod quotas;
pub(crate) mod service_accounts;

use jiff::Timestamp;

use crate::registry::state::Server;

impl Server {
    /// Performs the next due step; returns whether there was one. `collects`: whether the garbage
    /// collector is enabled.
    pub(crate) fn step_controllers(&mut self, now: Timestamp, collects: bool) -> bool {
        self.create_service_account()
            || collects && self.collect_garbage(now)
            || self.delete_namespace_contents(now)
            || self.recount_quota(now)
    }

    /// Performs the steps that clients rely on right after a write: service accounts and quotas.
    pub(crate) fn run_urgent_controllers(&mut self, now: Timestamp) {
        while self.create_service_account() || self.recount_quota(now) {}
    }
}
