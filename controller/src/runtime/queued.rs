//! A controller whose work is a queue of keys, as upstream's are: woken by changes of the shared
//! cache, it looks at one object after the other, with several workers and never two of them at one
//! object.

use std::fmt::Display;
use std::sync::Arc;

use kube::Client;

use super::controller::{Controller, Due, Listed, Need, Task};
use super::lane::{Lane, Looked};
use super::queue::Retries;
use super::shared::Shared;
use crate::api::{ApiServer, Cache, Changed, Key, Reports, Source};
use crate::settings::{ControllerName, Settings};

/// Namespaces that can keep their whole share of the workers busy before others wait for one.
/// Upstream has no shares, so its workers are one namespace's share here.
const NAMESPACES: usize = 4;

/// What makes such a controller the one that it is.
pub(super) trait Keyed: Send + Sync + 'static {
    /// Its name.
    const NAME: ControllerName;
    /// Who its events come from, and what they are about.
    const SOURCE: Source;
    /// What it does about keys that failed.
    const RETRIES: Retries;
    /// Kinds that it needs in the shared cache.
    const NEEDS: &'static [Need];
    /// Why a look fails.
    type Error: Display;

    /// How many objects of one namespace are looked at at the same time.
    fn workers(settings: &Settings) -> usize;

    /// All objects in the cache that it looks at.
    fn keys(cache: &Cache) -> Vec<Key>;

    /// As [`Controller::changed`].
    fn changed(&self, cache: &Cache, change: &Changed) -> Vec<Due>;

    /// Looks at one object: observe, plan, apply.
    fn look(&self, lane: &Lane, key: &Key) -> impl Future<Output = Looked<Self::Error>> + Send;
}

/// Such a controller with its lane.
pub(super) struct Queued<K> {
    lane: Lane,
    keyed: K,
}

impl<K: Keyed> Queued<K> {
    pub(super) fn new(keyed: K, client: &Client, shared: &Arc<Shared>) -> (Self, (ApiServer, Reports)) {
        let share = K::workers(&shared.settings).max(1);
        let (lane, reports) = Lane::new(K::NAME, K::RETRIES, share, K::SOURCE, client, shared);
        let api = lane.api.clone();
        (Self { lane, keyed }, (api, reports))
    }

    /// Looks at one object after the other, until the queue is closed.
    async fn work(&self) {
        while let Some(key) = self.lane.queue.next().await {
            let looked = self.keyed.look(&self.lane, &key).await;
            self.lane.finish(&key, looked);
        }
    }
}

impl<K: Keyed> Controller for Queued<K> {
    fn needs(&self) -> &'static [Need] {
        K::NEEDS
    }

    fn background(self: Arc<Self>, _listed: &dyn Fn() -> Listed) -> Vec<Task> {
        let queue = self.lane.queue.clone();
        vec![Box::pin(async move { queue.run_timer().await })]
    }

    fn workers(self: Arc<Self>) -> Vec<Task> {
        let worker = |_| -> Task {
            let this = self.clone();
            Box::pin(async move { this.work().await })
        };
        (0..K::workers(&self.lane.shared.settings).max(1) * NAMESPACES).map(worker).collect()
    }

    fn keys(&self, cache: &Cache) -> Vec<Key> {
        K::keys(cache)
    }

    fn changed(&self, cache: &Cache, change: &Changed) -> Vec<Due> {
        self.keyed.changed(cache, change)
    }

    fn begin(&self, all: Vec<Key>) {
        self.look_again(all);
    }

    fn look_at(&self, due: Vec<Due>) {
        for Due { key, after } in due {
            match after {
                None => self.lane.queue.add(key),
                Some(wait) => self.lane.queue.add_after(key, wait),
            }
        }
    }

    fn look_again(&self, all: Vec<Key>) {
        all.into_iter().for_each(|key| self.lane.queue.add(key));
    }

    fn end(&self) {
        self.lane.queue.close();
    }

    fn close(&self) -> Option<String> {
        self.lane.recorder.close();
        None
    }
}
