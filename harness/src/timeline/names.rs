//! Names that two runs share. A ReplicaSet's real name ends in a hash of its template; a timeline calls it `rs1`, `rs2`, …
//! by first appearance under its Deployment. One that the case itself made keeps the case's name where ReplicaSets are what is judged;
//! and pods have the names that the case gave them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::object;
use super::world::{DEPLOYMENT, POD, REPLICA_SET};
use crate::controllers::Controller;
use crate::recording::{Change, Entry, Recording, Version, Writer};

/// The normalised names of one recording's objects.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// Uid of every ReplicaSet to its Deployment's name, if it ever had one, and its number.
    sets: BTreeMap<String, (Option<String>, u32)>,
    /// Real names to normalised ones, longest first, for messages.
    real: Vec<(String, String)>,
    /// Uid of every ReplicaSet that the case made and no Deployment ever had, to its name; only where ReplicaSets are what is judged.
    made: BTreeMap<String, String>,
    /// The names of pods by their real ones: those that the case gave, and its own of the pods that it made.
    pods: BTreeMap<String, String>,
    /// Uids of every Deployment ever seen.
    deployments: BTreeMap<String, String>,
    /// Whether names are prefixed by their Deployment's.
    several: bool,
    /// Whether ReplicaSets are called by their real names.
    real_sets: bool,
}

impl Names {
    /// Number every ReplicaSet that the recording ever shows.
    pub(crate) fn of(recording: &Recording) -> Self {
        let versions = || {
            recording.entries.iter().filter_map(|entry| match entry {
                Entry::Object(version) => Some(version),
                _ => None,
            })
        };
        let mut names = Self::default();
        for version in versions().filter(|version| version.kind == DEPLOYMENT) {
            names.deployments.insert(object::uid(&version.object).to_owned(), version.name.clone());
        }
        names.several = names.deployments.values().collect::<BTreeSet<_>>().len() > 1;
        let sets: Vec<&Version> = versions().filter(|version| version.kind == REPLICA_SET).collect();
        names.number(&sets);
        for entry in &recording.entries {
            match entry {
                Entry::Named(named) => {
                    names.pods.extend(named.iter().map(|(name, real)| (real.clone(), name.clone())));
                }
                Entry::Object(made)
                    if made.kind == POD && made.by == Writer::Driver && made.change == Change::Added =>
                {
                    names.pods.entry(made.name.clone()).or_insert_with(|| made.name.clone());
                }
                _ => {}
            }
        }
        if recording.header.judged.has(Controller::ReplicaSet) {
            let made = sets.iter().filter(|set| set.by == Writer::Driver && set.change == Change::Added);
            let nobodys = made.filter(|set| names.rank(&set.object).0.is_none());
            names.made = nobodys.map(|set| (object::uid(&set.object).to_owned(), set.name.clone())).collect();
        }
        names.real = names.real_names(&sets);
        names
    }

    /// Objects by their real names, for people whose cluster they are of.
    pub(super) fn real() -> Self {
        Self { real_sets: true, ..Self::default() }
    }

    /// The normalised name of a ReplicaSet.
    pub(super) fn replica_set(&self, object: &Value) -> String {
        if self.real_sets {
            return object::name(object).to_owned();
        }
        if let Some(name) = self.made.get(object::uid(object)) {
            return name.clone();
        }
        match self.sets.get(object::uid(object)) {
            Some((Some(deployment), number)) if self.several => format!("{deployment}/rs{number}"),
            Some((Some(_), number)) => format!("rs{number}"),
            Some((None, number)) => format!("-/rs{number}"),
            None => "-/rs?".to_owned(),
        }
    }

    /// What orders a ReplicaSet among all others: its Deployment, then its number.
    pub(super) fn rank(&self, object: &Value) -> (Option<&str>, u32) {
        self.sets
            .get(object::uid(object))
            .map_or((None, u32::MAX), |(deployment, number)| (deployment.as_deref(), *number))
    }

    /// The name of the Deployment with this uid, alive or not.
    pub(super) fn deployment(&self, uid: &str) -> Option<&str> {
        self.deployments.get(uid).map(String::as_str)
    }

    /// The name of a pod, if it has one that another run shares.
    pub(super) fn pod(&self, real: &str) -> Option<&str> {
        self.pods.get(real).map(String::as_str)
    }

    /// Whether there is more than one Deployment.
    pub(super) fn several(&self) -> bool {
        self.several
    }

    /// A message with ReplicaSets' real names replaced.
    pub(super) fn in_message(&self, message: &str) -> String {
        self.real.iter().fold(message.to_owned(), |text, (real, normal)| text.replace(real.as_str(), normal))
    }

    /// First those that a Deployment ever controlled, in the order in which it got them; the rest are ownerless.
    fn number(&mut self, versions: &[&Version]) {
        let mut last: BTreeMap<Option<String>, u32> = BTreeMap::new();
        let owned = versions.iter().filter_map(|version| {
            let deployment = self.deployments.get(object::controller_uid(&version.object)?)?;
            Some((object::uid(&version.object).to_owned(), Some(deployment.clone())))
        });
        let any = versions.iter().map(|version| (object::uid(&version.object).to_owned(), None));
        for (uid, deployment) in owned.chain(any).collect::<Vec<_>>() {
            self.sets.entry(uid).or_insert_with(|| {
                let number = last.entry(deployment.clone()).or_insert(0);
                *number += 1;
                (deployment, *number)
            });
        }
    }

    fn real_names(&self, versions: &[&Version]) -> Vec<(String, String)> {
        let pairs = versions.iter().map(|version| (version.name.clone(), self.replica_set(&version.object)));
        let mut pairs: Vec<_> = pairs.collect::<BTreeMap<_, _>>().into_iter().collect();
        pairs.sort_by_key(|(real, _)| std::cmp::Reverse(real.len()));
        pairs
    }
}
