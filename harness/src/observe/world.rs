//! The world as the watches have delivered it, and the journals of the namespaces that a case runs
//! in.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use super::balance::Question;
use super::object::{Kind, Object};
use super::pods::PodState;
use super::space::Space;
use crate::clock::Instant;
use crate::pointer::At;

use kube_apiserver_sim::notify::{Listener, Notifier};
use serde_json::Value;

use crate::clock;
use crate::recording::{Body, Change, Trouble, Version, Writer};
use crate::workload::Claims;

/// See the module.
#[derive(Debug)]
pub struct World {
    epoch: Instant,
    inner: Mutex<Inner>,
    changed: Notifier,
}

#[derive(Debug, Default)]
struct Inner {
    /// The namespaces whose objects are kept: the harness's own.
    spaces: BTreeMap<String, Space>,
    /// The latest resourceVersion that each kind's watch has delivered.
    seen: BTreeMap<Kind, u64>,
    /// resourceVersions that the harness itself wrote.
    own: BTreeSet<u64>,
    /// Kind, namespace and name of what the harness itself deleted.
    own_deletions: BTreeSet<(String, String, String)>,
    gap: Option<String>,
    claims: Claims,
}

impl Inner {
    /// The namespace's objects, kept from now on.
    fn space(&mut self, namespace: &str) -> &mut Space {
        let claims = self.claims;
        self.spaces.entry(namespace.to_owned()).or_insert_with(|| Space::claiming(claims))
    }
}

impl Default for World {
    fn default() -> Self {
        Self { epoch: clock::instant(), inner: Mutex::default(), changed: Notifier::default() }
    }
}

impl World {
    /// Of a cluster where this is claimed of a Deployment.
    pub fn claiming(claims: Claims) -> Self {
        let inner = Mutex::new(Inner { claims, ..Inner::default() });
        Self { inner, ..Self::default() }
    }

    /// Milliseconds since the world was made: the time that versions carry.
    pub fn elapsed(&self) -> u64 {
        clock::millis_since(self.epoch)
    }

    /// The same for a point in time of somebody else's.
    pub fn at(&self, time: Instant) -> u64 {
        u64::try_from(time.saturating_duration_since(self.epoch).as_millis()).unwrap_or(u64::MAX)
    }

    /// Say that the harness itself deletes this object: its end is the driver's doing.
    pub fn own_deletion(&self, kind: Kind, namespace: &str, name: &str) {
        self.lock().own_deletions.insert((kind.to_string(), namespace.to_owned(), name.to_owned()));
    }

    /// Wakes whenever anything was delivered.
    pub fn listen(&self) -> Listener {
        self.changed.listen()
    }

    /// Wait until the condition holds; false if it did not within the budget.
    pub async fn until(&self, budget: Duration, mut condition: impl FnMut() -> bool) -> bool {
        let mut changes = self.changed.listen();
        let wait = async {
            while !condition() {
                // Not all that is waited for is news of the world: a subject's process may end.
                tokio::time::timeout(Duration::from_millis(100), changes.changed()).await.ok();
            }
        };
        tokio::time::timeout(budget, wait).await.is_ok()
    }

    /// All objects of a kind in a namespace, by name.
    pub fn list(&self, kind: Kind, namespace: &str) -> Vec<Object> {
        self.read(namespace, |space| space.all(kind).cloned().collect())
    }

    /// One object.
    pub fn get(&self, kind: Kind, namespace: &str, name: &str) -> Option<Object> {
        self.read(namespace, |space| space.get(kind, name).cloned())
    }

    /// The pods of the ReplicaSets that first appeared at these versions, or of all, in any of
    /// these states; no more than so many. Those of the newest ReplicaSet first, in it the oldest
    /// first; those of no ReplicaSet last.
    pub fn next_pods(&self, namespace: &str, states: &[PodState], sets: Option<&[u64]>, most: usize) -> Vec<Object> {
        self.read(namespace, |space| space.next_pods(states, sets, most))
    }

    /// The pods that nodes have to do something about, the oldest first: those without a node, and
    /// those that are being deleted.
    pub fn restless_pods(&self, namespace: &str) -> Vec<Object> {
        self.read(namespace, Space::restless_pods)
    }

    /// Whether an owner has several ReplicaSets that want pods.
    pub fn has_several_in_use(&self, namespace: &str) -> bool {
        self.read(namespace, Space::has_several_in_use)
    }

    /// When the last ReplicaSet was created, as the API writes times.
    pub fn last_created(&self, namespace: &str) -> Option<String> {
        self.read(namespace, |space| space.last_created().map(str::to_owned))
    }

    /// The first equation that does not hold, the test environment's before the subject's.
    pub fn unmet(&self, namespace: &str, question: Question<'_>) -> Option<Trouble> {
        self.lock().spaces.get_mut(namespace)?.unmet(question)
    }

    /// Whether a completed Deployment still has more empty old ReplicaSets than its history limit.
    pub fn history_pending(&self, namespace: &str) -> bool {
        self.lock().spaces.get_mut(namespace).is_some_and(Space::history_pending)
    }

    /// Whether the watch of this kind has delivered this resourceVersion or a later one.
    pub fn has_seen(&self, kind: Kind, rv: u64) -> bool {
        self.lock().seen.get(&kind).is_some_and(|seen| *seen >= rv)
    }

    /// Whether there is a watch of this kind.
    pub fn watches(&self, kind: Kind) -> bool {
        self.lock().seen.contains_key(&kind)
    }

    /// How many versions of other kinds than Event the namespace has had: two equal readings mean
    /// silence.
    pub fn activity(&self, namespace: &str) -> u64 {
        self.read(namespace, |space| space.activity)
    }

    /// Say that the harness itself wrote this version.
    pub fn own(&self, rv: u64) {
        self.lock().own.insert(rv);
    }

    /// From now on keep the latest state of the namespace's objects. To be called before the
    /// namespace is made; what is in namespaces that nobody named is somebody else's, and is not
    /// kept.
    pub fn follow(&self, namespace: &str) {
        self.lock().space(namespace);
    }

    /// From now on keep every version of the namespace's objects.
    pub fn open_journal(&self, namespace: &str) {
        self.lock().space(namespace).journal.get_or_insert_default();
    }

    /// What the journal has gathered since the last call, in the order of resourceVersions.
    pub fn drain_journal(&self, namespace: &str) -> Vec<Version> {
        let mut inner = self.lock();
        let journal = inner.spaces.get_mut(namespace).and_then(|space| space.journal.as_mut());
        let mut versions = journal.map(std::mem::take).unwrap_or_default();
        for version in &mut versions {
            let deleted = || (version.kind.clone(), namespace.to_owned(), version.name.clone());
            if inner.own.contains(&version.rv)
                || version.change == Change::Deleted && inner.own_deletions.contains(&deleted())
            {
                version.by = Writer::Driver;
            }
        }
        versions.sort_by_key(|version| version.rv);
        versions
    }

    /// Forget the namespace, its journal and its objects.
    pub fn close_journal(&self, namespace: &str) {
        self.lock().spaces.remove(namespace);
    }

    /// Why events may have been lost, if they may.
    pub fn gap(&self) -> Option<String> {
        self.lock().gap.clone()
    }

    /// Take in one version. Called by the watches only.
    pub(crate) fn deliver(&self, kind: Kind, change: Change, object: Value) {
        self.deliver_with_text(kind, change, object, None);
    }

    /// The same, where the watch has the text of the object.
    pub(super) fn deliver_with_text(&self, kind: Kind, change: Change, mut object: Value, written: Option<String>) {
        let at = self.elapsed();
        let text = |pointer: &str| object.at(pointer).and_then(Value::as_str).unwrap_or("").to_owned();
        let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
        let rv = text("/metadata/resourceVersion").parse().unwrap_or(0);
        let mut inner = self.lock();
        if let Some(space) = inner.spaces.get_mut(&namespace) {
            if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.remove("managedFields");
            }
            let value = Arc::new(object);
            if let Some(journal) = &mut space.journal {
                let (name, object) = (name.clone(), Body::with_text(Arc::clone(&value), written));
                journal.push(Version {
                    kind: kind.to_string(),
                    name,
                    change,
                    rv,
                    by: Writer::Other,
                    author: None,
                    at,
                    object,
                });
            }
            space.take(kind, change, &name, rv, value);
        }
        advance(&mut inner, kind, rv);
        drop(inner);
        self.wake();
    }

    /// The watch has come so far, without an object to show for it.
    pub(super) fn progress(&self, kind: Kind, rv: u64) {
        advance(&mut self.lock(), kind, rv);
        self.wake();
    }

    /// Events may have been lost.
    pub(super) fn lose(&self, why: String) {
        self.lock().gap.get_or_insert(why);
        self.wake();
    }

    /// Wake whoever waits for the world, without news.
    pub fn wake(&self) {
        self.changed.notify();
    }

    /// Look at a namespace; one that is not kept looks empty.
    fn read<T: Default>(&self, namespace: &str, look: impl FnOnce(&Space) -> T) -> T {
        self.lock().spaces.get(namespace).map(look).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn advance(inner: &mut Inner, kind: Kind, rv: u64) {
    let seen = inner.seen.entry(kind).or_default();
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
    fn a_journal_is_in_the_order_of_versions_whatever_the_order_of_arrival() {
        let world = World::default();
        world.open_journal("ns");
        world.deliver(Kind::Pod, Change::Added, pod("a", 7));
        world.deliver(Kind::ReplicaSet, Change::Added, pod("r", 5));
        world.deliver(Kind::Pod, Change::Deleted, pod("a", 9));
        world.own(7);
        let journal = world.drain_journal("ns");
        let seen: Vec<_> = journal.iter().map(|v| (v.rv, v.by, v.change)).collect();
        let expected = [
            (5, Writer::Other, Change::Added),
            (7, Writer::Driver, Change::Added),
            (9, Writer::Other, Change::Deleted),
        ];
        assert_eq!(seen, expected);
        assert!(journal.iter().all(|version| version.object["metadata"]["managedFields"].is_null()));
        assert!(world.list(Kind::Pod, "ns").is_empty());
        assert!(world.drain_journal("ns").is_empty());
    }

    #[test]
    fn only_what_is_followed_is_kept_and_all_is_seen() {
        let world = World::default();
        world.deliver(Kind::Pod, Change::Added, pod("users-own", 3));
        assert!(world.get(Kind::Pod, "ns", "users-own").is_none() && world.has_seen(Kind::Pod, 3));
        world.open_journal("ns");
        world.deliver(Kind::Pod, Change::Added, pod("a", 4));
        assert!(world.get(Kind::Pod, "ns", "a").is_some());
        world.close_journal("ns");
        world.deliver(Kind::Pod, Change::Modified, pod("a", 5));
        assert!(world.list(Kind::Pod, "ns").is_empty() && world.has_seen(Kind::Pod, 5));
    }

    #[test]
    fn other_namespaces_are_no_activity_and_events_are_none() {
        let world = World::default();
        world.follow("ns");
        let before = world.activity("ns");
        let mut other = pod("a", 1);
        other["metadata"]["namespace"] = json!("other");
        world.deliver(Kind::Pod, Change::Added, other);
        world.deliver(Kind::Event, Change::Added, pod("e", 2));
        assert_eq!(world.activity("ns"), before);
        world.deliver(Kind::Pod, Change::Added, pod("a", 3));
        assert_eq!(world.activity("ns"), before + 1);
        assert!(world.has_seen(Kind::Pod, 3) && !world.has_seen(Kind::Pod, 4));
    }
}
