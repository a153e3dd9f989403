//! What is known of the cluster: each Deployment with its ReplicaSets, their pods, and what is
//! excused of it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde_json::Value;

use super::author::controllers;
use super::clocks::Clocks;
use super::facts;
use super::model::{DEPLOYMENT, Found, POD, REPLICA_SET, Terms};
use super::past::Past;
use super::seen::Seen;
use super::window::Window;
use crate::recording::{Change, Version, Writer};
use crate::timeline::object::{self, uid};
use crate::timeline::{Invariant, broken_bounds};

/// A kind, a namespace and a name.
pub(super) type Key = (String, String, String);

/// One Deployment.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) deployment: Past,
    /// The UIDs of ReplicaSets that it controls or has controlled.
    pub(super) sets: BTreeSet<String>,
    /// Bounds that somebody else than the controller broke, until they hold and its status has been
    /// right for some time.
    pub(super) excused: BTreeSet<Invariant>,
    pub(super) window: Window,
}

/// The last version of an object, and who controls it.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) rv: u64,
    pub(super) uid: String,
    pub(super) owner: Option<String>,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Estate {
    pub(super) terms: Terms,
    /// Deployments by UID.
    pub(super) groups: BTreeMap<String, Group>,
    /// ReplicaSets by UID.
    pub(super) sets: BTreeMap<String, Past>,
    /// Pods by the UID of their ReplicaSet and by name.
    pub(super) pods: BTreeMap<String, BTreeMap<String, Arc<Value>>>,
    pub(super) held: BTreeMap<Key, Held>,
    pub(super) clocks: Clocks,
    /// Who writes the status of Deployments.
    pub(super) controllers: BTreeSet<String>,
    /// Which window holds the oldest version, the second oldest, and so on.
    order: VecDeque<(u64, String)>,
    /// What all windows weigh.
    pub(super) weight: usize,
    /// Deployments that are gone.
    pub(super) gone: BTreeSet<String>,
}

impl Estate {
    pub(super) fn new(terms: Terms) -> Self {
        Self {
            terms,
            groups: BTreeMap::new(),
            sets: BTreeMap::new(),
            pods: BTreeMap::new(),
            held: BTreeMap::new(),
            clocks: Clocks::default(),
            controllers: BTreeSet::new(),
            order: VecDeque::new(),
            weight: 0,
            gone: BTreeSet::new(),
        }
    }

    /// Those who write this Deployment's status are controllers.
    pub(super) fn note_controllers(&mut self, deployment: &Value) {
        for name in controllers(deployment) {
            if !self.controllers.contains(name) {
                self.controllers.insert(name.to_owned());
            }
        }
    }

    /// An object is there already. Deployments first, then ReplicaSets, then pods.
    pub(super) fn found(&mut self, seen: Seen) {
        let Seen { namespace, version, .. } = seen;
        let object = &version.object;
        let (uid, owner) = (uid(object).to_owned(), facts::owner(object).map(str::to_owned));
        let due = version.at + self.terms.settle;
        let group = match version.kind.as_str() {
            DEPLOYMENT => {
                let past = Past::found(object.value());
                let (name, namespace) = (version.name.clone(), namespace.clone());
                self.groups.insert(uid.clone(), Group { namespace, name, deployment: past, ..Group::default() });
                self.clocks.restart(&uid, due);
                Some(uid.clone())
            }
            REPLICA_SET => {
                self.sets.insert(uid.clone(), Past::found(object.value()));
                self.clocks.restart(&uid, due);
                owner.clone()
            }
            _ => {
                let Some(owner) = &owner else { return };
                self.pods.entry(owner.clone()).or_default().insert(version.name.clone(), object.value());
                self.group_of_set(owner).map(str::to_owned)
            }
        };
        self.held.insert(
            (version.kind.clone(), namespace, version.name.clone()),
            Held { rv: version.rv, uid: uid.clone(), owner },
        );
        if let Some(group) = group.and_then(|group| self.groups.get_mut(&group)) {
            if version.kind == REPLICA_SET {
                group.sets.insert(uid);
            }
            group.window.found(version);
        }
    }

    /// What is broken now was broken by nobody knows whom; and all statuses get their time.
    pub(super) fn excuse_all(&mut self, at: u64) {
        let due = at + self.terms.settle;
        let all: Vec<String> = self.groups.keys().cloned().collect();
        for uid in all {
            let broken = self.broken(&uid);
            let Some(group) = self.groups.get_mut(&uid) else { continue };
            group.excused.extend(broken);
            self.clocks.restart(&uid, due);
            group.sets.iter().for_each(|set| self.clocks.restart(set, due));
        }
    }

    /// Those of a kind that are not among these any more: their last versions, as deleted.
    pub(super) fn gone(&self, kind: &str, names: &BTreeSet<(String, String)>, at: u64) -> Vec<Seen> {
        let from = (kind.to_owned(), String::new(), String::new());
        let all = self.held.range(from..).take_while(|((of, ..), _)| of == kind);
        let gone = all.filter(|((_, namespace, name), _)| !names.contains(&(namespace.clone(), name.clone())));
        let seen = gone.filter_map(|((_, namespace, name), held)| {
            let object = match kind {
                DEPLOYMENT => self.groups.get(&held.uid)?.deployment.now()?,
                REPLICA_SET => self.sets.get(&held.uid)?.now()?,
                _ => self.pods.get(held.owner.as_ref()?)?.get(name)?,
            };
            let mut seen = Seen::of("", Change::Deleted, Value::Null, at);
            seen.namespace.clone_from(namespace);
            seen.version.kind = kind.to_owned();
            seen.version.name.clone_from(name);
            (seen.version.rv, seen.version.object) = (held.rv, Arc::clone(object).into());
            Some(seen)
        });
        seen.collect()
    }

    /// Forget what is too old. `None`: all of what came before now.
    pub(super) fn trim(&mut self, since: Option<u64>) {
        while self.order.front().is_some_and(|(at, _)| since.is_none_or(|since| *at < since)) {
            self.shorten();
        }
    }

    /// The oldest version of all that are kept becomes part of what was there.
    fn shorten(&mut self) {
        let Some((_, uid)) = self.order.pop_front() else { return };
        let shortened = self.groups.get_mut(&uid).and_then(|group| group.window.shorten());
        self.weight -= shortened.unwrap_or(0);
    }

    /// Forget Deployments that are gone, unless they are still of interest; their ReplicaSets go
    /// with them, or belong to nobody.
    pub(super) fn bury(&mut self, is_of_interest: impl Fn(&str) -> bool) {
        let gone = std::mem::take(&mut self.gone);
        let (kept, gone): (Vec<String>, Vec<String>) = gone.into_iter().partition(|uid| is_of_interest(uid));
        self.gone.extend(kept);
        for group in gone.iter().filter_map(|uid| self.groups.remove(uid)) {
            self.weight -= group.window.weight();
            for set in group.sets {
                if self.sets.get(&set).is_some_and(|past| past.now().is_none()) {
                    self.sets.remove(&set);
                }
            }
        }
    }

    /// ReplicaSets that were deleted, or went to others, a while ago.
    pub(super) fn sweep(&mut self, uid: &str, since: u64) {
        let Some(group) = self.groups.get_mut(uid) else { return };
        let sets = &mut self.sets;
        group.sets.retain(|set| {
            let Some(past) = sets.get_mut(set) else { return false };
            past.forget(since);
            let is_kept = past.states(since).flatten().any(|set| facts::owner(set) == Some(uid));
            if past.states(since).flatten().next().is_none() {
                sets.remove(set);
            }
            is_kept
        });
    }

    /// The Deployment of a ReplicaSet, by UIDs.
    pub(super) fn group_of_set(&self, set: &str) -> Option<&str> {
        let set = self.sets.get(set)?.now()?;
        facts::owner(set).filter(|owner| self.groups.contains_key(*owner))
    }

    /// A ReplicaSet is the Deployment's from now on, and its pods are with it.
    pub(super) fn join(&mut self, group: &str, set: &str) {
        let pods = self.pods.get(set).into_iter().flatten();
        let version = |(name, pod): (&String, &Arc<Value>)| Version {
            kind: POD.to_owned(),
            name: name.clone(),
            change: Change::Added,
            rv: object::text(pod, "/metadata/resourceVersion").and_then(|rv| rv.parse().ok()).unwrap_or(0),
            by: Writer::Other,
            author: None,
            at: 0,
            object: Arc::clone(pod).into(),
        };
        if let Some(group) = self.groups.get_mut(group) {
            group.sets.insert(set.to_owned());
            pods.map(version).for_each(|version| group.window.found(version));
        }
    }

    pub(super) fn keep(&mut self, uid: &str, version: Version) {
        let Some(group) = self.groups.get_mut(uid) else { return };
        // A case begins with its Deployment.
        if version.kind == DEPLOYMENT && version.change == Change::Added {
            return group.window.found(version);
        }
        self.order.push_back((version.at, uid.to_owned()));
        self.weight += group.window.put(version);
        while self.weight > self.terms.bytes && !self.order.is_empty() {
            self.shorten();
        }
    }

    /// The bounds that are broken now.
    pub(super) fn broken(&self, uid: &str) -> BTreeSet<Invariant> {
        let Some(group) = self.groups.get(uid) else { return BTreeSet::new() };
        let sets: Vec<&Value> = self.sets_of(uid, group).map(|set| &**set).collect();
        group.deployment.now().map(|deployment| broken_bounds(deployment, &sets)).unwrap_or_default()
    }

    /// Those that it controls.
    pub(super) fn sets_of<'a>(
        &'a self,
        uid: &'a str,
        group: &'a Group,
    ) -> impl Iterator<Item = &'a Arc<Value>> + Clone {
        let sets = group.sets.iter().filter_map(|set| self.sets.get(set)?.now());
        sets.filter(move |set| facts::owner(set) == Some(uid))
    }

    /// What is broken now and was not before is excused. With too many pods all ReplicaSets are cut
    /// in proportion, whichever pods are available.
    pub(super) fn excuse(&mut self, uid: &str, before: &BTreeSet<Invariant>) {
        let broken: BTreeSet<Invariant> = self.broken(uid).difference(before).copied().collect();
        if broken.contains(&Invariant::Surge) {
            self.excuse_sizes(uid);
        } else if let Some(group) = self.groups.get_mut(uid) {
            group.excused.extend(broken);
        }
    }

    /// Nothing has changed for some time: what holds again is excused no more.
    pub(super) fn rest(&mut self, uid: &str) {
        let broken = self.broken(uid);
        if let Some(group) = self.groups.get_mut(uid) {
            group.excused.retain(|invariant| broken.contains(invariant));
        }
    }

    /// Somebody else has sized a ReplicaSet. Proportional scaling then goes by annotations that are
    /// not about that size, and may take away all pods that are available.
    pub(super) fn excuse_sizes(&mut self, uid: &str) {
        if let Some(group) = self.groups.get_mut(uid) {
            group.excused.extend([Invariant::Surge, Invariant::Availability]);
        }
    }

    pub(super) fn permitted(&self, uid: &str, found: Vec<Found>) -> Vec<Found> {
        let excused = self.groups.get(uid).map(|group| &group.excused);
        let is_excused = |one: &Found| one.invariant.is_some_and(|one| excused.is_some_and(|all| all.contains(&one)));
        found.into_iter().filter(|one| !is_excused(one)).collect()
    }

    pub(super) fn staleness(&self) -> u64 {
        self.terms.staleness
    }
}
