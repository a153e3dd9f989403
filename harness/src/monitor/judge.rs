//! Whether a decision breaks an invariant, whichever of the last states its controller acted on.

use std::sync::Arc;

use serde_json::Value;

use super::estate::{Estate, Group};
use super::facts;
use super::model::Found;
use super::past::Past;
use crate::recording::Version;
use crate::timeline::object::{count, deleting, replicas, revision, uid};
use crate::timeline::{Breach, Invariant, Moment};

/// A controller wrote the size of a ReplicaSet of this Deployment.
pub(super) fn replica_set(estate: &Estate, id: &str, version: &Version, before: Option<&Value>) -> Vec<Found> {
    let Some(group) = estate.groups.get(id) else { return Vec::new() };
    let Some(deployment) = group.deployment.now() else { return Vec::new() };
    let others: Vec<&Value> = others(estate, id, group, uid(&version.object)).collect();
    let suspected = Moment { version, before, deployment, others }.breaches();
    let is_sure = |breach: &Breach| Lenient::new(estate, id, group, version).confirms(breach.invariant, before);
    suspected.into_iter().filter(is_sure).map(|breach| found(id, version, breach)).collect()
}

/// A controller wrote the revision of this Deployment: it may fall, but not below that of a
/// ReplicaSet that is there.
pub(super) fn deployment(estate: &Estate, id: &str, version: &Version, before: Option<&Value>) -> Vec<Found> {
    let Some(group) = estate.groups.get(id) else { return Vec::new() };
    let Some(new) = revision(&version.object) else { return Vec::new() };
    let others: Vec<&Value> = others(estate, id, group, "").collect();
    let suspected = Moment { version, before, deployment: &version.object, others }.breaches();
    let lenient = Lenient::new(estate, id, group, version);
    let is_sure = |breach: &Breach| {
        breach.invariant == Invariant::Revision
            && lenient.others.iter().filter_map(|past| lenient.least(past)).any(|set| revision(&set) > Some(new))
    };
    suspected.into_iter().filter(is_sure).map(|breach| found(id, version, breach)).collect()
}

fn found(group: &str, version: &Version, breach: Breach) -> Found {
    let Breach { invariant, detail } = breach;
    Found { group: group.to_owned(), invariant: Some(invariant), detail, rv: Some(version.rv), at: version.at }
}

/// The ReplicaSets of a Deployment but this one.
fn others<'a>(estate: &'a Estate, id: &'a str, group: &'a Group, but: &'a str) -> impl Iterator<Item = &'a Value> {
    estate.sets_of(id, group).map(|set| &**set).filter(move |set| uid(set) != but)
}

/// What the controller may have taken for the truth.
struct Lenient<'a> {
    id: &'a str,
    group: &'a Group,
    own: Option<&'a Past>,
    others: Vec<&'a Past>,
    version: &'a Version,
    since: u64,
}

impl<'a> Lenient<'a> {
    fn new(estate: &'a Estate, id: &'a str, group: &'a Group, version: &'a Version) -> Self {
        let own = uid(&version.object);
        let others = group.sets.iter().filter(|set| *set != own).filter_map(|set| estate.sets.get(set));
        let since = version.at.saturating_sub(estate.staleness());
        Self { id, group, own: estate.sets.get(own), others: others.collect(), version, since }
    }

    /// Whether each of them breaks the invariant as well.
    fn confirms(&self, invariant: Invariant, before: Option<&Value>) -> bool {
        let is_about_pods = invariant == Invariant::Availability;
        let sets: Vec<Value> = if is_about_pods {
            self.others.iter().filter_map(|past| self.most(past)).collect()
        } else {
            self.others.iter().filter_map(|past| self.least(past)).collect()
        };
        // Of its own ReplicaSet it knew the size, which nobody overwrites unseen, but perhaps not
        // the pods. With fewer of them available it may have given up only such as were not.
        let befores: Vec<Option<Value>> = match (before, self.own.filter(|_| is_about_pods)) {
            (Some(before), Some(own)) => {
                self.available(own).map(|available| Some(with(before, None, Some(available)))).collect()
            }
            _ => vec![before.cloned()],
        };
        let breaks = |deployment: &Value, before: &Option<Value>| {
            let others = sets.iter().collect();
            let moment = Moment { version: self.version, before: before.as_ref(), deployment, others };
            moment.breaches().iter().any(|breach| breach.invariant == invariant)
        };
        let mut deployments = self.group.deployment.states(self.since);
        deployments.all(|it| it.is_some_and(|deployment| befores.iter().all(|before| breaks(deployment, before))))
    }

    /// A ReplicaSet as small as it was, if it was there and the Deployment's all the time.
    fn least(&self, past: &'a Past) -> Option<Value> {
        let is_own = |set: &&Arc<Value>| self.owns(set) && !deleting(set);
        let sizes = past.states(self.since).map(|set| set.filter(is_own).map(|set| i64::from(replicas(set))));
        let size = sizes.collect::<Option<Vec<i64>>>()?.into_iter().min()?;
        past.now().map(|set| with(set, Some(size), None))
    }

    /// A ReplicaSet with as many pods as it ever had, if it was ever there.
    fn most(&self, past: &'a Past) -> Option<Value> {
        let sets: Vec<&Arc<Value>> = past.states(self.since).flatten().filter(|set| self.owns(set)).collect();
        let size = sets.iter().map(|set| i64::from(replicas(set))).max()?;
        sets.last().map(|set| with(set, Some(size), self.available(past).max()))
    }

    /// How many available pods it had.
    fn available(&self, past: &'a Past) -> impl Iterator<Item = i64> {
        past.states(self.since).flatten().map(|set| count(set, "/status/availableReplicas"))
    }

    fn owns(&self, set: &Value) -> bool {
        facts::owner(set) == Some(self.id)
    }
}

/// A ReplicaSet of another size, or with another number of available pods.
fn with(set: &Value, size: Option<i64>, available: Option<i64>) -> Value {
    let mut set = set.clone();
    if let Some(size) = size {
        set["spec"]["replicas"] = size.into();
    }
    if let Some(available) = available {
        set["status"]["availableReplicas"] = available.into();
    }
    set
}
