//! Names that are the same in every run. A ReplicaSet's real name ends in a hash of its template; a
//! timeline calls it `rs1`, `rs2`, … by first appearance under its Deployment. In cases that judge
//! ReplicaSets, a ReplicaSet that the case created keeps its name; pods have the names that the
//! case gave them.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_recording::controllers::Controller;
use lockstep_recording::{ChangeType, ObjectVersion, Recording, RecordingEntry, WriterRole};
use serde_json::Value;

use super::object;
use super::recorded_objects::{DEPLOYMENT, POD, REPLICA_SET};

/// The number of a ReplicaSet that a timeline calls `rs2` or `web/rs2`; `None` for another name.
pub fn replica_set_number(object: &str) -> Option<u32> {
    object.rsplit('/').next()?.strip_prefix("rs")?.parse().ok()
}

/// The normalised names of the objects of one recording.
#[derive(Debug, Default)]
pub struct NormalizedNames {
    /// For the UID of every ReplicaSet, the name of its Deployment, if it ever had one, and its
    /// number.
    sets: BTreeMap<String, (Option<String>, u32)>,
    /// Real names with the normalised ones, longest first, for messages.
    by_real_name: Vec<(String, String)>,
    /// For the UID of every ReplicaSet that the case created and no Deployment ever controlled, its
    /// name; only if the case judges ReplicaSets.
    case_sets: BTreeMap<String, String>,
    /// The names of pods by their real names: those that the case gave, and the own names of pods
    /// that it created.
    pods: BTreeMap<String, String>,
    /// The names of all Deployments by UID.
    deployments: BTreeMap<String, String>,
    /// Whether names have their Deployment's name as a prefix.
    has_several_deployments: bool,
    /// Whether ReplicaSets keep their real names.
    real_sets: bool,
}

impl NormalizedNames {
    /// Numbers every ReplicaSet of the recording.
    pub fn of(recording: &Recording) -> Self {
        let versions = || {
            recording.entries.iter().filter_map(|entry| match entry {
                RecordingEntry::Object(version) => Some(version),
                _ => None,
            })
        };
        let mut names = Self::default();
        for version in versions().filter(|version| version.kind == DEPLOYMENT) {
            names.deployments.insert(object::uid(&version.object.value()).to_owned(), version.name.clone());
        }
        names.has_several_deployments = names.deployments.values().collect::<BTreeSet<_>>().len() > 1;
        let sets: Vec<ReplicaSetVersion<'_>> =
            versions().filter(|version| version.kind == REPLICA_SET).map(ReplicaSetVersion::of).collect();
        names.number(&sets);
        for entry in &recording.entries {
            match entry {
                RecordingEntry::PodNames(named) => {
                    names.pods.extend(named.iter().map(|(name, real)| (real.clone(), name.clone())));
                }
                RecordingEntry::Object(made)
                    if made.kind == POD && made.by == WriterRole::Driver && made.change == ChangeType::Added =>
                {
                    names.pods.entry(made.name.clone()).or_insert_with(|| made.name.clone());
                }
                _ => {}
            }
        }
        if recording.header.controllers.has(Controller::ReplicaSet) {
            let case_sets = sets
                .iter()
                .filter(|set| set.version.by == WriterRole::Driver && set.version.change == ChangeType::Added);
            let unowned = case_sets.filter(|set| names.rank_of(&set.uid).0.is_none());
            names.case_sets = unowned.map(|set| (set.uid.clone(), set.version.name.clone())).collect();
        }
        names.by_real_name = names.message_names(&sets);
        names
    }

    /// Keeps real names, for display to the owners of a live cluster.
    pub(super) fn real_names() -> Self {
        Self { real_sets: true, ..Self::default() }
    }

    /// The normalised name of a ReplicaSet.
    pub fn replica_set(&self, object: &Value) -> String {
        if self.real_sets {
            return object::name(object).to_owned();
        }
        self.set_of(object::uid(object))
    }

    fn set_of(&self, uid: &str) -> String {
        if let Some(name) = self.case_sets.get(uid) {
            return name.clone();
        }
        match self.sets.get(uid) {
            Some((Some(deployment), number)) if self.has_several_deployments => format!("{deployment}/rs{number}"),
            Some((Some(_), number)) => format!("rs{number}"),
            Some((None, number)) => format!("-/rs{number}"),
            None => "-/rs?".to_owned(),
        }
    }

    /// The sort key of a ReplicaSet: its Deployment, then its number.
    pub(super) fn rank(&self, object: &Value) -> (Option<&str>, u32) {
        self.rank_of(object::uid(object))
    }

    fn rank_of(&self, uid: &str) -> (Option<&str>, u32) {
        self.sets.get(uid).map_or((None, u32::MAX), |(deployment, number)| (deployment.as_deref(), *number))
    }

    /// The name of the Deployment with this UID, even if it was deleted.
    pub(super) fn deployment(&self, uid: &str) -> Option<&str> {
        self.deployments.get(uid).map(String::as_str)
    }

    /// The name of a pod, if it has a stable one.
    pub(super) fn pod(&self, real: &str) -> Option<&str> {
        self.pods.get(real).map(String::as_str)
    }

    /// Whether there are several Deployments.
    pub(super) fn has_several_deployments(&self) -> bool {
        self.has_several_deployments
    }

    /// Replaces ReplicaSets' real names in a message.
    pub(super) fn in_message(&self, message: &str) -> String {
        self.by_real_name.iter().fold(message.to_owned(), |text, (real, normal)| text.replace(real.as_str(), normal))
    }

    /// Numbers the ReplicaSets: first those that a Deployment ever controlled, in the order in
    /// which it got them; then those without an owner.
    fn number(&mut self, versions: &[ReplicaSetVersion<'_>]) {
        let mut last: BTreeMap<Option<&str>, u32> = BTreeMap::new();
        let owned = versions.iter().filter_map(|set| {
            let deployment = self.deployments.get(set.controller.as_deref()?)?;
            Some((&set.uid, Some(deployment.as_str())))
        });
        let any = versions.iter().map(|set| (&set.uid, None));
        for (uid, deployment) in owned.chain(any) {
            if !self.sets.contains_key(uid) {
                let number = last.entry(deployment).or_insert(0);
                *number += 1;
                self.sets.insert(uid.clone(), (deployment.map(str::to_owned), *number));
            }
        }
    }

    fn message_names(&self, versions: &[ReplicaSetVersion<'_>]) -> Vec<(String, String)> {
        let pairs = versions.iter().map(|set| (set.version.name.clone(), self.set_of(&set.uid)));
        let mut pairs: Vec<_> = pairs.collect::<BTreeMap<_, _>>().into_iter().collect();
        pairs.sort_by_key(|(real, _)| std::cmp::Reverse(real.len()));
        pairs
    }
}

/// A version of a ReplicaSet with the fields that determine its name.
struct ReplicaSetVersion<'a> {
    version: &'a ObjectVersion,
    uid: String,
    controller: Option<String>,
}

impl<'a> ReplicaSetVersion<'a> {
    fn of(version: &'a ObjectVersion) -> Self {
        let set = version.object.value();
        let controller = object::controller_uid(&set).map(str::to_owned);
        Self { version, uid: object::uid(&set).to_owned(), controller }
    }
}
