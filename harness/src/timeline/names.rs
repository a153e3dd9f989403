//! Names that two runs share. A ReplicaSet's real name ends in a hash of its template; a timeline
//! calls it `rs1`, `rs2`, … by first appearance under its Deployment. One that the case itself made
//! keeps the case's name where ReplicaSets are what is judged; and pods have the names that the
//! case gave them.

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
    /// Uid of every ReplicaSet that the case made and no Deployment ever had, to its name; only
    /// where ReplicaSets are what is judged.
    made: BTreeMap<String, String>,
    /// The names of pods by their real ones: those that the case gave, and its own of the pods that
    /// it made.
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
            names.deployments.insert(object::uid(&version.object.value()).to_owned(), version.name.clone());
        }
        names.several = names.deployments.values().collect::<BTreeSet<_>>().len() > 1;
        let sets: Vec<Shown<'_>> = versions().filter(|version| version.kind == REPLICA_SET).map(Shown::of).collect();
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
            let made =
                sets.iter().filter(|set| set.version.by == Writer::Driver && set.version.change == Change::Added);
            let without = made.filter(|set| names.rank_of(&set.uid).0.is_none());
            names.made = without.map(|set| (set.uid.clone(), set.version.name.clone())).collect();
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
        self.set_of(object::uid(object))
    }

    fn set_of(&self, uid: &str) -> String {
        if let Some(name) = self.made.get(uid) {
            return name.clone();
        }
        match self.sets.get(uid) {
            Some((Some(deployment), number)) if self.several => format!("{deployment}/rs{number}"),
            Some((Some(_), number)) => format!("rs{number}"),
            Some((None, number)) => format!("-/rs{number}"),
            None => "-/rs?".to_owned(),
        }
    }

    /// What orders a ReplicaSet among all others: its Deployment, then its number.
    pub(super) fn rank(&self, object: &Value) -> (Option<&str>, u32) {
        self.rank_of(object::uid(object))
    }

    fn rank_of(&self, uid: &str) -> (Option<&str>, u32) {
        self.sets.get(uid).map_or((None, u32::MAX), |(deployment, number)| (deployment.as_deref(), *number))
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

    /// First those that a Deployment ever controlled, in the order in which it got them; the rest
    /// are ownerless.
    fn number(&mut self, shown: &[Shown<'_>]) {
        let mut last: BTreeMap<Option<&str>, u32> = BTreeMap::new();
        let owned = shown.iter().filter_map(|set| {
            let deployment = self.deployments.get(set.controller.as_deref()?)?;
            Some((&set.uid, Some(deployment.as_str())))
        });
        let any = shown.iter().map(|set| (&set.uid, None));
        for (uid, deployment) in owned.chain(any) {
            if !self.sets.contains_key(uid) {
                let number = last.entry(deployment).or_insert(0);
                *number += 1;
                self.sets.insert(uid.clone(), (deployment.map(str::to_owned), *number));
            }
        }
    }

    fn real_names(&self, shown: &[Shown<'_>]) -> Vec<(String, String)> {
        let pairs = shown.iter().map(|set| (set.version.name.clone(), self.set_of(&set.uid)));
        let mut pairs: Vec<_> = pairs.collect::<BTreeMap<_, _>>().into_iter().collect();
        pairs.sort_by_key(|(real, _)| std::cmp::Reverse(real.len()));
        pairs
    }
}

/// A version of a ReplicaSet, and what names depend on.
struct Shown<'a> {
    version: &'a Version,
    uid: String,
    controller: Option<String>,
}

impl<'a> Shown<'a> {
    fn of(version: &'a Version) -> Self {
        let set = version.object.value();
        let controller = object::controller_uid(&set).map(str::to_owned);
        Self { version, uid: object::uid(&set).to_owned(), controller }
    }
}
