//! What each version changes in what is known, and what it breaks.

use std::sync::Arc;

use serde_json::Value;

use super::estate::{Estate, Held};
use super::model::{DEPLOYMENT, Found, POD, REPLICA_SET};
use super::past::Past;
use super::seen::Seen;
use super::{facts, judge, status};
use crate::recording::{Change, Version, Writer};
use crate::timeline::object::{self, uid};

impl Estate {
    /// Take in one version; `judged`: what led to it is known.
    pub(super) fn apply(&mut self, seen: &Seen, judged: bool) -> Vec<Found> {
        let version = &seen.version;
        let key = (version.kind.clone(), seen.namespace.clone(), version.name.clone());
        let is_gone = version.change == Change::Deleted;
        let is_old = |held: &Held| version.rv < held.rv || version.rv == held.rv && !is_gone;
        if self.held.get(&key).is_some_and(is_old) {
            return Vec::new();
        }
        let owner = facts::owner(&version.object).map(str::to_owned);
        let held = Held { rv: version.rv, uid: uid(&version.object).to_owned(), owner };
        // A pod of nobody's, or of another kind's, is nothing to remember.
        let is_strange = version.kind == POD && held.owner.is_none();
        let before = if is_gone || is_strange { self.held.remove(&key) } else { self.held.insert(key, held) };
        match version.kind.as_str() {
            DEPLOYMENT => self.deployment(seen, judged),
            REPLICA_SET => self.replica_set(seen, judged),
            _ => {
                self.pod(seen, before.and_then(|before| before.owner));
                Vec::new()
            }
        }
    }

    /// The next status that is wrong although what it sums up has not changed for some time.
    pub(super) fn wrong_status(&mut self, now: u64) -> Option<Found> {
        while let Some(uid) = self.clocks.next(now) {
            let wrong = status::wrong(self, &uid);
            if wrong.is_none() {
                self.rest(&uid);
            }
            let of = if self.groups.contains_key(&uid) { Some(uid.as_str()) } else { self.group_of_set(&uid) };
            if let (Some(detail), Some(group)) = (wrong, of) {
                return Some(Found { group: group.to_owned(), invariant: None, detail, rv: None, at: now });
            }
        }
        None
    }

    fn deployment(&mut self, seen: &Seen, judged: bool) -> Vec<Found> {
        let version = &seen.version;
        let id = uid(&version.object).to_owned();
        let broken = self.broken(&id);
        let since = version.at.saturating_sub(self.terms.staleness);
        self.sweep(&id, since);
        let group = self.groups.entry(id.clone()).or_default();
        (group.namespace, group.name) = (seen.namespace.clone(), version.name.clone());
        group.deployment.forget(since);
        let after = (version.change != Change::Deleted).then(|| version.object.value());
        let before = group.deployment.put(after.clone(), version.at);
        self.keep(&id, version.clone());
        let generation = |object: Option<&Arc<Value>>| object.map(|it| object::count(it, "/metadata/generation"));
        let is_new = generation(before.as_ref()) != generation(after.as_ref());
        if is_new {
            self.excuse(&id, &broken);
        }
        let due = version.at + self.terms.settle;
        match after {
            None => {
                self.clocks.drop(&id);
                self.gone.insert(id.clone());
            }
            Some(_) if is_new => self.clocks.restart(&id, due),
            Some(_) => self.clocks.written(&id, due),
        }
        let is_decision = judged && seen.author.numbered(&self.controllers);
        let found = if is_decision { judge::deployment(self, &id, version, before.as_deref()) } else { Vec::new() };
        self.permitted(&id, found)
    }

    fn replica_set(&mut self, seen: &Seen, judged: bool) -> Vec<Found> {
        let version = &seen.version;
        let set = uid(&version.object).to_owned();
        let after = (version.change != Change::Deleted).then(|| version.object.value());
        let was = self.sets.get(&set).and_then(Past::now).and_then(|before| facts::owner(before)).map(str::to_owned);
        let is = after.as_deref().and_then(facts::owner).map(str::to_owned);
        let group = is.clone().or_else(|| was.clone());
        let past = self.sets.entry(set.clone()).or_default();
        past.forget(version.at.saturating_sub(self.terms.staleness));
        let before = past.put(after.clone(), version.at);
        let due = version.at + self.terms.settle;
        if after.is_none() {
            self.clocks.drop(&set);
        } else if before.as_deref().map(facts::of_set) != after.as_deref().map(facts::of_set) {
            self.clocks.restart(&set, due);
        } else {
            self.clocks.written(&set, due);
        }
        if before.as_deref().map(facts::summed) != after.as_deref().map(facts::summed) {
            [&was, &is].into_iter().flatten().for_each(|group| self.clocks.restart(group, due));
        }
        let Some(group) = group.filter(|group| self.groups.contains_key(group)) else {
            if after.is_none() {
                self.sets.remove(&set);
            }
            return Vec::new();
        };
        if was != is && after.is_some() {
            self.join(&group, &set);
        }
        let size = |object: Option<&Arc<Value>>| object.map(|set| object::replicas(set));
        let is_written = size(before.as_ref()) != size(after.as_ref()) || was != is;
        let is_decision = is_written && after.is_some() && seen.author.sized(&self.controllers);
        // What it adds to all that the Deployment's ReplicaSets want.
        let adds =
            |owner: &Option<String>, set| if owner.as_ref() == Some(&group) { size(set).unwrap_or(0) } else { 0 };
        let is_foreign = !is_decision && adds(&was, before.as_ref()) != adds(&is, after.as_ref());
        let by = if is_foreign { Writer::Driver } else { Writer::Other };
        self.keep(&group, Version { by, ..version.clone() });
        if is_foreign {
            self.excuse_sizes(&group);
        }
        if !is_decision || !judged {
            return Vec::new();
        }
        let found = judge::replica_set(self, &group, version, before.as_deref());
        self.permitted(&group, found)
    }

    fn pod(&mut self, seen: &Seen, was: Option<String>) {
        let version = &seen.version;
        let is = facts::owner(&version.object).filter(|_| version.change != Change::Deleted).map(str::to_owned);
        let before = was.as_ref().and_then(|set| {
            let pods = self.pods.get_mut(set)?;
            let before = pods.remove(&version.name);
            if pods.is_empty() {
                self.pods.remove(set);
            }
            before
        });
        if let Some(set) = &is {
            self.pods.entry(set.clone()).or_default().insert(version.name.clone(), version.object.value());
        }
        if was != is || before.as_deref().map(facts::of_pod) != Some(facts::of_pod(&version.object)) {
            let due = version.at + self.terms.settle;
            [&was, &is].into_iter().flatten().for_each(|set| self.clocks.restart(set, due));
        }
        let group = is.or(was).and_then(|set| self.group_of_set(&set).map(str::to_owned));
        if let Some(group) = group {
            self.keep(&group, version.clone());
        }
    }
}
