//! The objects of a recording at one moment, and whether the controllers had settled. [`Revisions`]
//! translates their revisions and generations into those of a case, which begins without objects.

use std::collections::BTreeMap;

use lockstep_recording::{ChangeType, ObjectVersion, Recording, RecordingEntry};
use lockstep_support::pointer::JsonPointer;
use lockstep_timeline::object;
use serde_json::Value;

pub(super) use lockstep_timeline::object::{
    REVISION, bare_template as template, controller_uid as controller, count as int, deleting as is_deleting, revision,
    uid,
};

pub(super) const DEPLOYMENT: &str = "Deployment";
pub(super) const REPLICA_SET: &str = "ReplicaSet";
pub(super) const POD: &str = "Pod";
/// The annotation of a ReplicaSet with its earlier revisions.
pub(super) const REVISION_HISTORY: &str = "deployment.kubernetes.io/revision-history";

/// The versions of objects among entries of a recording.
pub(super) fn versions(entries: &[RecordingEntry]) -> impl Iterator<Item = &ObjectVersion> {
    entries.iter().filter_map(|entry| if let RecordingEntry::Object(version) = entry { Some(version) } else { None })
}

/// Every version of every Deployment.
pub(super) fn deployments(recording: &Recording) -> impl Iterator<Item = &Value> {
    versions(&recording.entries).filter(|version| version.kind == DEPLOYMENT).map(|version| &*version.object)
}

/// The objects at one moment.
#[derive(Debug, Default, Clone)]
pub(super) struct LiveObjects<'a> {
    objects: BTreeMap<(&'a str, &'a str), &'a Value>,
    /// The UIDs of ReplicaSets in the order of their appearance.
    appeared: Vec<&'a str>,
    /// Whether terminating pods count.
    terminates: bool,
}

impl<'a> LiveObjects<'a> {
    /// No objects. With `terminates` the controllers have settled only after the end of each pod's
    /// deletion.
    pub(super) fn new(terminates: bool) -> Self {
        Self { terminates, ..Self::default() }
    }

    /// Apply a version; returns the object before it.
    pub(super) fn apply(&mut self, version: &'a ObjectVersion) -> Option<&'a Value> {
        let key = (version.kind.as_str(), version.name.as_str());
        if version.change == ChangeType::Deleted {
            return self.objects.remove(&key);
        }
        if version.kind == REPLICA_SET && !self.appeared.contains(&uid(&version.object)) {
            self.appeared.push(uid(&version.object));
        }
        self.objects.insert(key, &version.object)
    }

    /// The only Deployment.
    pub(super) fn deployment(&self) -> Option<&'a Value> {
        self.all(DEPLOYMENT).next()
    }

    /// The ReplicaSets that a controller owns: neither those of other clients nor released ones.
    pub(super) fn owned_sets(&self) -> Vec<&'a Value> {
        let mut sets = self.sets();
        sets.retain(|set| controller(set).is_some());
        sets
    }

    /// All ReplicaSets that the Deployment ever controlled, in the order of their appearance.
    pub(super) fn sets(&self) -> Vec<&'a Value> {
        let mut sets: Vec<&Value> = self.all(REPLICA_SET).collect();
        sets.sort_by_key(|set| self.number(uid(set)));
        sets
    }

    /// The number of a ReplicaSet by first appearance, from 1.
    pub(super) fn number(&self, uid: &str) -> Option<usize> {
        self.appeared.iter().position(|known| *known == uid).map(|at| at + 1)
    }

    /// A pod, alive or not.
    pub(super) fn pod(&self, name: &'a str) -> Option<&'a Value> {
        self.objects.get(&(POD, name)).copied()
    }

    /// The pods of a ReplicaSet that are alive: ready ones first, those that have been ready
    /// longest first; then by age.
    pub(super) fn pods(&self, set: &str) -> Vec<&'a Value> {
        let mut pods: Vec<&'a Value> =
            self.all(POD).filter(|pod| is_alive(pod) && controller(pod) == Some(set)).collect();
        pods.sort_by_cached_key(|pod| {
            let since = ready_since(pod).map(str::to_owned);
            (since.is_none(), since, text(pod, "/metadata/creationTimestamp").to_owned())
        });
        pods
    }

    /// Whether each status matches the objects, and each ReplicaSet has as many pods as it should:
    /// then the controllers have seen everything.
    pub(super) fn has_settled(&self) -> bool {
        let counts = self.pod_counts();
        self.sets().iter().all(|set| self.is_counted(set, counts.get(uid(set)).copied().unwrap_or_default()))
            && self.deployment().is_none_or(|deployment| {
                let owned = self.owned_sets();
                let sum = |counter: &str| owned.iter().map(|set| int(set, counter)).sum::<i64>();
                let summed = |counter: &str| int(deployment, counter) == sum(counter);
                self.is_going(deployment)
                    || is_observed(deployment)
                        && summed("/status/replicas")
                        && summed("/status/readyReplicas")
                        && summed("/status/availableReplicas")
                        && (!self.terminates || summed("/status/terminatingReplicas"))
                        && !(is_deleting(deployment) && owned.is_empty() && has_finalizer(deployment, FOREGROUND))
            })
    }

    /// Whether an object is deleted and goes without a further status: not if its deletion waits
    /// for pods that terminate.
    fn is_going(&self, object: &Value) -> bool {
        is_deleting(object) && !(self.terminates && has_finalizer(object, FOREGROUND))
    }

    /// How many pods of each ReplicaSet are alive, and how many of these are ready.
    fn pod_counts(&self) -> BTreeMap<&'a str, [i64; 2]> {
        let mut counts: BTreeMap<&str, [i64; 2]> = BTreeMap::new();
        for pod in self.all(POD).filter(|pod| is_alive(pod)) {
            let Some(set) = controller(pod) else { continue };
            let [alive, ready] = counts.entry(set).or_default();
            *alive += 1;
            *ready += i64::from(ready_since(pod).is_some());
        }
        counts
    }

    fn is_counted(&self, set: &Value, [alive, ready]: [i64; 2]) -> bool {
        let at_once = int(set, "/spec/minReadySeconds") == 0;
        let has_failed = condition(set, "ReplicaFailure").is_some_and(|(status, ..)| status == "True");
        let has_pods = || self.all(POD).any(|pod| controller(pod) == Some(uid(set)));
        self.is_going(set)
            || is_observed(set)
                && int(set, "/status/replicas") == alive
                && int(set, "/status/readyReplicas") == ready
                && (!at_once || int(set, "/status/availableReplicas") == ready)
                && (has_failed || is_deleting(set) && has_pods() || int(set, "/spec/replicas") == alive)
                && (!self.terminates || self.is_terminating_counted(set))
    }

    /// Whether the status, if it has this field at all, counts the terminating pods.
    fn is_terminating_counted(&self, set: &Value) -> bool {
        let goes = |pod: &&Value| is_deleting(pod) && !has_ended(pod) && controller(pod) == Some(uid(set));
        let status = set.at("/status/terminatingReplicas").and_then(Value::as_i64);
        status.is_none_or(|status| status == number(self.all(POD).filter(goes).count()))
    }

    pub(super) fn all(&self, kind: &'static str) -> impl Iterator<Item = &'a Value> + use<'a, '_> {
        self.objects.range((kind, "")..).take_while(move |((of, _), _)| *of == kind).map(|(_, object)| *object)
    }
}

/// The garbage collector's finalizer of an object that is deleted only after what it owns.
pub(super) const FOREGROUND: &str = "foregroundDeletion";
/// Its finalizer of an object that leaves what it owns.
pub(super) const ORPHAN: &str = "orphan";

pub(super) fn has_finalizer(object: &Value, name: &str) -> bool {
    let all = object.at("/metadata/finalizers").and_then(Value::as_array);
    all.is_some_and(|all| all.iter().any(|one| one == name))
}

/// Whether the status refers to the current generation.
fn is_observed(object: &Value) -> bool {
    int(object, "/status/observedGeneration") >= int(object, "/metadata/generation")
}

/// The status, reason and time of a condition.
pub(super) fn condition<'a>(object: &'a Value, kind: &str) -> Option<(&'a str, &'a str, &'a str)> {
    let all = object.at("/status/conditions")?.as_array()?;
    let found = all.iter().find(|condition| text(condition, "/type") == kind)?;
    Some((text(found, "/status"), text(found, "/reason"), text(found, "/lastTransitionTime")))
}

/// Since when a pod is ready, if it is.
pub(super) fn ready_since(pod: &Value) -> Option<&str> {
    condition(pod, "Ready").filter(|(status, ..)| *status == "True").map(|(.., since)| since)
}

/// Whether a pod counts: it is neither terminating nor ended.
pub(super) fn is_alive(pod: &Value) -> bool {
    !is_deleting(pod) && !has_ended(pod)
}

/// Whether all containers of a pod have ended for good.
pub(super) fn has_ended(pod: &Value) -> bool {
    matches!(text(pod, "/status/phase"), "Failed" | "Succeeded")
}

/// The text at a pointer; empty if there is none.
pub(super) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object::text(object, pointer).unwrap_or_default()
}

fn number(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Translates the cluster's numbers into the case's.
#[derive(Debug, Default, Clone)]
pub(super) struct Revisions {
    /// The initial revisions, counted from 1.
    first: BTreeMap<i64, i64>,
    /// The difference of the Deployment's generations.
    generations: i64,
}

impl Revisions {
    /// For these ReplicaSets and a Deployment of this generation, which is `of_case` in the case
    /// before its first step.
    pub(super) fn new(sets: &[&Value], generation: i64, of_case: i64) -> Self {
        let mut known: Vec<i64> = sets.iter().filter_map(|set| revision(set)).collect();
        known.sort_unstable();
        known.dedup();
        Self { first: known.into_iter().zip(1..).collect(), generations: generation - of_case }
    }

    /// A revision in the case.
    pub(super) fn of(&self, revision: i64) -> i64 {
        let (last, count) = self.first.iter().next_back().map_or((0, 0), |(last, count)| (*last, *count));
        self.first.get(&revision).copied().unwrap_or(if revision > last { revision - last + count } else { revision })
    }

    /// Whether a ReplicaSet had this revision before the recording, and another one at its
    /// beginning.
    fn is_earlier(&self, revision: i64) -> bool {
        self.first.last_key_value().is_some_and(|(last, _)| revision < *last) && !self.first.contains_key(&revision)
    }

    /// Replace the numbers of a Deployment or a ReplicaSet by the case's.
    pub(super) fn apply(&self, kind: &str, object: &mut Value) {
        if kind == DEPLOYMENT {
            for place in ["/metadata/generation", "/status/observedGeneration"] {
                let number = int(object, place);
                if let Some(field) = object.pointer_mut(place) {
                    *field = Value::from((number - self.generations).max(0));
                }
            }
        }
        let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) else {
            return;
        };
        for key in [REVISION, REVISION_HISTORY] {
            if let Some(Value::String(text)) = annotations.get_mut(key) {
                let numbers: Option<Vec<i64>> = text.split(',').map(|number| number.trim().parse().ok()).collect();
                let Some(mut numbers) = numbers else { continue };
                numbers.retain(|number| key == REVISION || !self.is_earlier(*number));
                *text = numbers.into_iter().map(|number| self.of(number).to_string()).collect::<Vec<_>>().join(",");
            }
        }
        if annotations.get(REVISION_HISTORY).is_some_and(|history| history == "") {
            annotations.remove(REVISION_HISTORY);
        }
    }
}
