//! A cache of what the watches have delivered, and the journals of the namespaces in which cases
//! run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use kube_apiserver_sim::notify::{Notifier, Subscription};
use lockstep_recording::{Body, ChangeType, ObjectVersion, Trouble, WriterRole};
use lockstep_support::clock;
use lockstep_support::clock::Instant;
use lockstep_support::pointer::JsonPointer;
use lockstep_timeline::object::{deleting, remove_managed_fields};
use lockstep_workload::Claims;
use serde_json::Value;

use super::equation_tracker::EquationScope;
use super::namespace_cache::NamespaceCache;
use super::object::{CachedObject, WatchedKind};
use super::pod_index::PodState;

/// The objects of the harness's namespaces as the watches have delivered them.
#[derive(Debug)]
pub struct WatchCache {
    epoch: Instant,
    inner: Mutex<CacheState>,
    changed: Notifier,
}

#[derive(Debug, Default)]
struct CacheState {
    /// The stored namespaces: the harness's own.
    namespaces: BTreeMap<String, NamespaceCache>,
    /// The latest resourceVersion that each kind's watch has delivered.
    latest_versions: BTreeMap<WatchedKind, u64>,
    /// The resourceVersions that the harness itself wrote.
    own_writes: BTreeSet<u64>,
    /// Kind, namespace and name of the objects that the harness itself deleted; whether one request
    /// did all of it.
    own_deletions: BTreeMap<(String, String, String), bool>,
    /// The number of versions of Events in the stored namespaces.
    events: u64,
    gap: Option<String>,
    claims: Claims,
}

impl CacheState {
    /// The cache of a namespace, which is stored from now on.
    fn space(&mut self, namespace: &str) -> &mut NamespaceCache {
        let claims = self.claims;
        self.namespaces.entry(namespace.to_owned()).or_insert_with(|| NamespaceCache::with_claims(claims))
    }
}

impl Default for WatchCache {
    fn default() -> Self {
        Self { epoch: clock::instant(), inner: Mutex::default(), changed: Notifier::default() }
    }
}

impl WatchCache {
    /// A cache of a cluster whose controllers have these claims.
    pub(crate) fn with_claims(claims: Claims) -> Self {
        let inner = Mutex::new(CacheState { claims, ..CacheState::default() });
        Self { inner, ..Self::default() }
    }

    /// Milliseconds since this was created: the time that versions carry.
    pub(crate) fn elapsed(&self) -> u64 {
        clock::millis_since(self.epoch)
    }

    /// The same time scale for another point in time.
    pub(crate) fn millis_at(&self, time: Instant) -> u64 {
        u64::try_from(time.saturating_duration_since(self.epoch).as_millis()).unwrap_or(u64::MAX)
    }

    /// The point in time for a time on that scale.
    pub(crate) fn instant_at(&self, millis: u64) -> Instant {
        self.epoch + Duration::from_millis(millis)
    }

    /// Record that the harness itself deletes this object, so that its deletion is attributed to
    /// the driver.
    pub(crate) fn record_own_deletion(&self, kind: WatchedKind, namespace: &str, name: &str) {
        self.lock().own_deletions.insert((kind.to_string(), namespace.to_owned(), name.to_owned()), false);
    }

    /// Forget a deletion that the server has refused: a later one is not the harness's.
    pub(crate) fn forget_own_deletion(&self, kind: WatchedKind, namespace: &str, name: &str) {
        self.lock().own_deletions.remove(&(kind.to_string(), namespace.to_owned(), name.to_owned()));
    }

    /// Record that one request of the harness marked this object as deleting and removed it, as for
    /// a pod that has ended. Its answer has the version of the removal only.
    pub(crate) fn record_own_removal(&self, kind: WatchedKind, namespace: &str, name: &str) {
        self.lock().own_deletions.insert((kind.to_string(), namespace.to_owned(), name.to_owned()), true);
    }

    /// Wakes whenever the watches deliver something.
    pub(crate) fn listen(&self) -> Subscription {
        self.changed.listen()
    }

    /// Wait until the condition holds; false if it did not within the budget.
    pub(crate) async fn until(&self, budget: Duration, mut condition: impl FnMut() -> bool) -> bool {
        let mut changes = self.changed.listen();
        let wait = async {
            while !condition() {
                // Not every condition depends on the cache: a subject's process may end.
                tokio::time::timeout(Duration::from_millis(100), changes.changed()).await.ok();
            }
        };
        tokio::time::timeout(budget, wait).await.is_ok()
    }

    /// All objects of a kind in a namespace, by name.
    pub(crate) fn list(&self, kind: WatchedKind, namespace: &str) -> Vec<CachedObject> {
        self.read(namespace, |space| space.all(kind).cloned().collect())
    }

    pub(crate) fn get(&self, kind: WatchedKind, namespace: &str, name: &str) -> Option<CachedObject> {
        self.read(namespace, |space| space.get(kind, name).cloned())
    }

    /// The pods of the ReplicaSets that first appeared at these versions, or of all, in any of
    /// these states; at most `most`. Those of the newest ReplicaSet first, and of these the oldest
    /// first; those without a ReplicaSet last.
    pub(crate) fn next_pods(
        &self,
        namespace: &str,
        states: &[PodState],
        sets: Option<&[u64]>,
        most: usize,
    ) -> Vec<CachedObject> {
        self.read(namespace, |space| space.next_pods(states, sets, most))
    }

    /// The pods that a kubelet has to act on, the oldest first: those without a node, and
    /// terminating ones.
    pub(crate) fn pods_awaiting_kubelet(&self, namespace: &str) -> Vec<CachedObject> {
        self.read(namespace, NamespaceCache::pods_awaiting_kubelet)
    }

    /// Whether an owner has several ReplicaSets with replicas.
    pub(crate) fn has_several_in_use(&self, namespace: &str) -> bool {
        self.read(namespace, NamespaceCache::has_several_in_use)
    }

    /// The creation time of the newest ReplicaSet, as the API writes it.
    pub(crate) fn last_created(&self, namespace: &str) -> Option<String> {
        self.read(namespace, |space| space.last_created().map(str::to_owned))
    }

    /// The first violation, the test environment's before the subject's.
    pub(crate) fn first_unmet(&self, namespace: &str, scope: EquationScope<'_>) -> Option<Trouble> {
        self.lock().namespaces.get_mut(namespace)?.first_unmet(scope)
    }

    /// Whether a completed Deployment still has more empty old ReplicaSets than its history limit.
    pub(crate) fn history_pending(&self, namespace: &str) -> bool {
        self.lock().namespaces.get_mut(namespace).is_some_and(NamespaceCache::history_pending)
    }

    /// Whether the watch of this kind has delivered this resourceVersion or a later one.
    pub(crate) fn has_seen(&self, kind: WatchedKind, rv: u64) -> bool {
        self.lock().latest_versions.get(&kind).is_some_and(|seen| *seen >= rv)
    }

    /// Whether this kind is watched.
    pub(crate) fn watches(&self, kind: WatchedKind) -> bool {
        self.lock().latest_versions.contains_key(&kind)
    }

    /// The number of versions of the namespace so far, without Events: equal readings mean silence.
    pub(crate) fn activity(&self, namespace: &str) -> u64 {
        self.read(namespace, |space| space.activity)
    }

    /// The number of versions of Events so far.
    pub(crate) fn events(&self) -> u64 {
        self.lock().events
    }

    /// Record that the harness itself wrote this version.
    pub(crate) fn record_own_write(&self, rv: u64) {
        self.lock().own_writes.insert(rv);
    }

    /// Store the latest state of the namespace's objects from now on. Must be called before the
    /// namespace is created. Other namespaces are not the harness's own and are not stored.
    pub(crate) fn follow(&self, namespace: &str) {
        self.lock().space(namespace);
    }

    /// Store every version of the namespace's objects from now on.
    pub(crate) fn open_journal(&self, namespace: &str) {
        self.lock().space(namespace).journal.get_or_insert_default();
    }

    /// The versions since the last call, ordered by resourceVersion.
    pub(crate) fn drain_journal(&self, namespace: &str) -> Vec<ObjectVersion> {
        let mut inner = self.lock();
        let journal = inner.namespaces.get_mut(namespace).and_then(|space| space.journal.as_mut());
        let mut versions = journal.map(std::mem::take).unwrap_or_default();
        versions.sort_by_key(|version| version.rv);
        for version in &mut versions {
            let object = || (version.kind.clone(), namespace.to_owned(), version.name.clone());
            let is_own_deletion = match version.change {
                // The next object of this name is another one.
                ChangeType::Deleted => inner.own_deletions.remove(&object()).is_some(),
                _ => deleting(&version.object) && inner.own_deletions.get(&object()) == Some(&true),
            };
            if is_own_deletion || inner.own_writes.remove(&version.rv) {
                version.by = WriterRole::Driver;
            }
        }
        versions
    }

    /// Drop the namespace, its journal and its objects.
    pub(crate) fn close_journal(&self, namespace: &str) {
        let mut inner = self.lock();
        inner.namespaces.remove(namespace);
        inner.own_deletions.retain(|(_, of, _), _| of != namespace);
    }

    /// Why events may have been lost, if so.
    pub(crate) fn gap(&self) -> Option<String> {
        self.lock().gap.clone()
    }

    /// Apply one version. Called by the watches only.
    pub(crate) fn deliver(&self, kind: WatchedKind, change: ChangeType, object: Value) {
        self.deliver_with_text(kind, change, object, None);
    }

    /// Apply one version, with its text if the watch has it.
    pub(super) fn deliver_with_text(
        &self,
        kind: WatchedKind,
        change: ChangeType,
        mut object: Value,
        json_text: Option<String>,
    ) {
        let at = self.elapsed();
        let text = |pointer: &str| object.at(pointer).and_then(Value::as_str).unwrap_or("").to_owned();
        let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
        let rv = text("/metadata/resourceVersion").parse().unwrap_or(0);
        let mut inner = self.lock();
        inner.events += u64::from(kind == WatchedKind::Event && inner.namespaces.contains_key(&namespace));
        if let Some(space) = inner.namespaces.get_mut(&namespace) {
            remove_managed_fields(&mut object);
            let value = Arc::new(object);
            if let Some(journal) = &mut space.journal {
                let (name, object) = (name.clone(), Body::with_text(Arc::clone(&value), json_text));
                journal.push(ObjectVersion {
                    kind: kind.to_string(),
                    name,
                    change,
                    rv,
                    by: WriterRole::Other,
                    author: None,
                    at,
                    object,
                });
            }
            space.apply(kind, change, &name, rv, value);
        }
        advance(&mut inner, kind, rv);
        drop(inner);
        self.wake();
    }

    /// Record that the watch has reached this version without an object.
    pub(super) fn progress(&self, kind: WatchedKind, rv: u64) {
        advance(&mut self.lock(), kind, rv);
        self.wake();
    }

    /// Record that events may have been lost.
    pub(super) fn record_gap(&self, why: String) {
        self.lock().gap.get_or_insert(why);
        self.wake();
    }

    /// Wake all waiting tasks without a change.
    pub(crate) fn wake(&self) {
        self.changed.notify();
    }

    /// Read a namespace; one that is not stored is empty.
    fn read<T: Default>(&self, namespace: &str, look: impl FnOnce(&NamespaceCache) -> T) -> T {
        self.lock().namespaces.get(namespace).map(look).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, CacheState> {
        self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn advance(inner: &mut CacheState, kind: WatchedKind, rv: u64) {
    let seen = inner.latest_versions.entry(kind).or_default();
    *seen = rv.max(*seen);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str, rv: u64) -> Value {
        json!({"metadata": {"namespace": "ns", "name": name, "resourceVersion": rv.to_string(), "managedFields": []}})
    }

    #[test]
    fn journal_is_ordered_by_resource_version() {
        let cache = WatchCache::default();
        cache.open_journal("ns");
        cache.deliver(WatchedKind::Pod, ChangeType::Added, pod("a", 7));
        cache.deliver(WatchedKind::ReplicaSet, ChangeType::Added, pod("r", 5));
        cache.deliver(WatchedKind::Pod, ChangeType::Deleted, pod("a", 9));
        cache.record_own_write(7);
        let journal = cache.drain_journal("ns");
        let versions: Vec<_> = journal.iter().map(|v| (v.rv, v.by, v.change)).collect();
        let expected = [
            (5, WriterRole::Other, ChangeType::Added),
            (7, WriterRole::Driver, ChangeType::Added),
            (9, WriterRole::Other, ChangeType::Deleted),
        ];
        assert_eq!(versions, expected);
        assert!(journal.iter().all(|version| version.object["metadata"]["managedFields"].is_null()));
        assert!(cache.list(WatchedKind::Pod, "ns").is_empty());
        assert!(cache.drain_journal("ns").is_empty());
    }

    #[test]
    fn removal_by_one_request_is_the_drivers_from_its_first_version() {
        let deleting = |rv| {
            let mut pod = pod("a", rv);
            pod["metadata"]["deletionTimestamp"] = json!("2026-01-05T00:00:00Z");
            pod
        };
        let writers = |record: fn(&WatchCache)| {
            let cache = WatchCache::default();
            cache.open_journal("ns");
            cache.deliver(WatchedKind::Pod, ChangeType::Added, pod("a", 7));
            cache.deliver(WatchedKind::Pod, ChangeType::Modified, deleting(8));
            cache.deliver(WatchedKind::Pod, ChangeType::Deleted, deleting(9));
            record(&cache);
            cache.drain_journal("ns").iter().map(|version| version.by).collect::<Vec<_>>()
        };
        let (other, driver) = (WriterRole::Other, WriterRole::Driver);
        assert_eq!(writers(|_| {}), [other, other, other]);
        assert_eq!(writers(|cache| cache.record_own_deletion(WatchedKind::Pod, "ns", "a")), [other, other, driver]);
        let refused = |cache: &WatchCache| {
            cache.record_own_deletion(WatchedKind::Pod, "ns", "a");
            cache.forget_own_deletion(WatchedKind::Pod, "ns", "a");
        };
        assert_eq!(writers(refused), [other, other, other]);
        assert_eq!(writers(|cache| cache.record_own_removal(WatchedKind::Pod, "ns", "a")), [other, driver, driver]);
    }

    #[test]
    fn next_object_of_a_deleted_name_is_not_the_drivers() {
        let cache = WatchCache::default();
        cache.open_journal("ns");
        cache.record_own_deletion(WatchedKind::Pod, "ns", "a");
        for rv in [7, 9] {
            cache.deliver(WatchedKind::Pod, ChangeType::Added, pod("a", rv));
            cache.deliver(WatchedKind::Pod, ChangeType::Deleted, pod("a", rv + 1));
        }
        let (other, driver) = (WriterRole::Other, WriterRole::Driver);
        let writers: Vec<_> = cache.drain_journal("ns").iter().map(|version| version.by).collect();
        assert_eq!(writers, [other, driver, other, other]);
    }

    #[test]
    fn stores_followed_namespaces_only_and_tracks_versions_of_all() {
        let cache = WatchCache::default();
        cache.deliver(WatchedKind::Pod, ChangeType::Added, pod("users-own", 3));
        assert!(cache.get(WatchedKind::Pod, "ns", "users-own").is_none() && cache.has_seen(WatchedKind::Pod, 3));
        cache.open_journal("ns");
        cache.deliver(WatchedKind::Pod, ChangeType::Added, pod("a", 4));
        assert!(cache.get(WatchedKind::Pod, "ns", "a").is_some());
        cache.close_journal("ns");
        cache.deliver(WatchedKind::Pod, ChangeType::Modified, pod("a", 5));
        assert!(cache.list(WatchedKind::Pod, "ns").is_empty() && cache.has_seen(WatchedKind::Pod, 5));
    }

    #[test]
    fn activity_excludes_other_namespaces_and_events() {
        let cache = WatchCache::default();
        cache.follow("ns");
        let before = cache.activity("ns");
        let mut other = pod("a", 1);
        other["metadata"]["namespace"] = json!("other");
        cache.deliver(WatchedKind::Pod, ChangeType::Added, other);
        cache.deliver(WatchedKind::Event, ChangeType::Added, pod("e", 2));
        assert_eq!(cache.activity("ns"), before);
        cache.deliver(WatchedKind::Pod, ChangeType::Added, pod("a", 3));
        assert_eq!(cache.activity("ns"), before + 1);
        assert!(cache.has_seen(WatchedKind::Pod, 3) && !cache.has_seen(WatchedKind::Pod, 4));
    }
}
