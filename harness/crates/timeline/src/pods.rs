//! What happened to a ReplicaSet's pods in a step, if the case judges its controller: how many it
//! created, deleted, adopted and released.
//!
//! One line for each ReplicaSet and step, without an order: a controller creates and deletes pods
//! in parallel, and the order in which a watch shows them is not repeatable. Named pods are listed
//! by name, unless the case leaves their fate to chance. What the garbage collector does to the
//! pods of a ReplicaSet that is being deleted is not its controller's doing.
//!
//! [`ExpectationCheck`] compares the case's expectation of its named pods with the pods that are
//! alive once a step has settled.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_recording::{ChangeType, ObjectVersion, RecordingEntry, WriterRole};
use lockstep_recording::{PodExpectation, join_names};
use lockstep_support::pointer::JsonPointer;
use serde_json::Value;

use super::model::{Decision, DecisionAction, KeyValue, StepId};
use super::names::NormalizedNames;
use super::object;
use super::recorded_objects::{POD, REPLICA_SET, RecordedObjects};
use super::replay::{Frame, FrameReader};

/// The pods that changed, by kind of change, and the deviations of new pods; by ReplicaSet.
#[derive(Debug, Default)]
pub(super) struct PodChanges {
    sets: BTreeMap<SetKey, PodsByChange>,
    deviations: BTreeMap<String, BTreeSet<&'static str>>,
}

/// Stands for the ReplicaSet of a pod that has none.
const NO_REPLICA_SET: &str = "-";

/// A ReplicaSet by its Deployment, number and name, which is the order of the lines.
type SetKey = (Option<String>, u32, String);
/// Pods by kind of change.
type PodsByChange = BTreeMap<PodChange, BTreeSet<String>>;

/// What a ReplicaSet controller does to a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PodChange {
    Created,
    Deleted,
    Adopted,
    Released,
}

impl PodChanges {
    /// Records a version; `world` includes it already.
    pub(super) fn record(
        &mut self,
        before: Option<&Value>,
        version: &ObjectVersion,
        world: &RecordedObjects<'_>,
        names: &NormalizedNames,
    ) {
        let Some((how, set)) = pod_change(before, version, world) else { return };
        let name = set.map_or_else(|| NO_REPLICA_SET.to_owned(), |set| names.replica_set(set));
        if let (PodChange::Created, Some(set)) = (how, set) {
            self.deviations.entry(name.clone()).or_default().extend(pod_deviations(&version.object, set));
        }
        let (deployment, number) = set.map_or((None, u32::MAX), |set| names.rank(set));
        let set = self.sets.entry((deployment.map(str::to_owned), number, name)).or_default();
        set.entry(how).or_default().insert(version.name.clone());
    }

    /// The lines, by Deployment and ReplicaSet. Names in `uncertain` are not listed.
    pub(super) fn decisions(self, names: &NormalizedNames, uncertain: &BTreeSet<String>) -> Vec<Decision> {
        let line = |((_, _, object), moves): (SetKey, PodsByChange)| {
            let field = |(how, pods): (PodChange, BTreeSet<String>)| {
                let key = match how {
                    // The case names a new pod later.
                    PodChange::Created => {
                        return KeyValue::number("created", i64::try_from(pods.len()).unwrap_or(i64::MAX));
                    }
                    PodChange::Deleted => "deleted",
                    PodChange::Adopted => "adopted",
                    PodChange::Released => "released",
                };
                KeyValue::new(key, &describe_pods(pods.iter().map(String::as_str), 0, names, uncertain))
            };
            let odd = self.deviations.get(&object).filter(|odd| !odd.is_empty());
            let odd = odd.map(|odd| KeyValue::new("odd", &odd.iter().copied().collect::<Vec<_>>().join(",")));
            let details = moves.into_iter().map(field).chain(odd).collect();
            Decision { object, action: DecisionAction::Pods, details }
        };
        self.sets.into_iter().map(line).collect()
    }
}

/// Formats pods as a number, or by the names that the case has given them and the number of the
/// others: `3`, `a,b`, `a,+2`. `others` are further pods without a name.
pub(super) fn describe_pods<'a>(
    pods: impl Iterator<Item = &'a str>,
    mut others: usize,
    names: &NormalizedNames,
    uncertain: &BTreeSet<String>,
) -> String {
    let mut called = BTreeSet::new();
    for pod in pods {
        match names.pod(pod).filter(|name| !uncertain.contains(*name)) {
            Some(name) => drop(called.insert(name)),
            None => others += 1,
        }
    }
    let called = called.into_iter().collect::<Vec<_>>().join(",");
    match (called.is_empty(), others) {
        (true, others) => others.to_string(),
        (false, 0) => called,
        (false, others) => format!("{called},+{others}"),
    }
}

/// Whether a version is a change that a ReplicaSet controller made to its pod.
pub(super) fn is_pod_change(before: Option<&Value>, version: &ObjectVersion, world: &RecordedObjects<'_>) -> bool {
    pod_change(before, version, world).is_some_and(|(_, set)| set.is_some())
}

/// The change of a pod, and the pod's ReplicaSet. A pod without an owner counts only if it is
/// deleted, which no ReplicaSet controller should do.
fn pod_change<'a>(
    before: Option<&Value>,
    version: &ObjectVersion,
    world: &'a RecordedObjects<'_>,
) -> Option<(PodChange, Option<&'a Value>)> {
    if version.kind != POD || version.by == WriterRole::Driver {
        return None;
    }
    let after = &version.object;
    let owner = |pod: &Value| object::controller_uid(pod).map(str::to_owned);
    let begins = before.is_some_and(|before| !object::deleting(before))
        && (version.change == ChangeType::Deleted || object::deleting(after));
    let of_a_set = |pod: &Value| object::controller(pod).is_some_and(|owner| owner["kind"] == REPLICA_SET);
    if begins && before.is_some_and(|before| !of_a_set(before)) {
        return Some((PodChange::Deleted, None));
    }
    let (how, uid) = match (version.change, before) {
        (_, Some(before)) if begins => (PodChange::Deleted, owner(before)?),
        (ChangeType::Deleted, _) => return None,
        (_, None) => (PodChange::Created, owner(after)?),
        (_, Some(before)) => match (owner(before), owner(after)) {
            (Some(old), None) => (PodChange::Released, old),
            (None, Some(new)) => (PodChange::Adopted, new),
            _ => return None,
        },
    };
    let set = world.with_uid(REPLICA_SET, &uid).find(|set| !object::deleting(set))?;
    Some((how, Some(set)))
}

/// Every way in which a new pod deviates from its ReplicaSet's template. Source: the API's
/// documentation of ReplicaSet's `template`, and of controller references.
fn pod_deviations(pod: &Value, set: &Value) -> Vec<&'static str> {
    let template = |pointer: &str| set.at(&format!("/spec/template{pointer}")).cloned().unwrap_or(Value::Null);
    let has = |pointer: &str| pod.at(pointer).cloned().unwrap_or(Value::Null);
    let strings =
        |pointer: &str| object::strings(pod, pointer) == object::strings(set, &format!("/spec/template{pointer}"));
    let images = |spec: Value| {
        let containers = spec.get("containers").and_then(Value::as_array).cloned().unwrap_or_default();
        containers.iter().map(|one| (one["name"].clone(), one["image"].clone())).collect::<Vec<_>>()
    };
    let blocks = object::controller(pod).is_some_and(|owner| owner["blockOwnerDeletion"] == true);
    let prefix = format!("{}-", object::name(set));
    let named = object::name(pod).starts_with(&prefix) && has("/metadata/generateName") == prefix.as_str();
    let checks = [
        ("name", named),
        ("owner", blocks),
        ("labels", strings("/metadata/labels")),
        ("annotations", strings("/metadata/annotations")),
        ("finalizers", has("/metadata/finalizers") == template("/metadata/finalizers")),
        ("containers", images(has("/spec")) == images(template("/spec"))),
    ];
    checks.into_iter().filter(|(_, right)| !right).map(|(what, _)| what).collect()
}

/// Compares a case's expectation of its named pods with the recorded pods.
#[derive(Debug, Default)]
pub struct ExpectationCheck<'a> {
    /// The real names of the named pods.
    pod_names: BTreeMap<&'a str, &'a str>,
    current: Option<(StepId, &'a PodExpectation)>,
    mismatches: Vec<(StepId, String)>,
}

impl ExpectationCheck<'_> {
    /// The steps after which other named pods are alive than expected, with descriptions.
    pub fn into_mismatches(self) -> Vec<(StepId, String)> {
        self.mismatches
    }
}

impl<'a> FrameReader<'a> for ExpectationCheck<'a> {
    fn read(&mut self, frame: &Frame<'_, 'a>) {
        match frame.entry {
            RecordingEntry::Step(mark) => self.current = mark.expect.as_ref().map(|expect| (StepId::of(mark), expect)),
            RecordingEntry::PodNames(names) => {
                self.pod_names.extend(names.iter().map(|(name, real)| (name.as_str(), real.as_str())));
            }
            RecordingEntry::Settled(settling) if settling.unsettled.is_none() => {
                let Some((step, expect)) = self.current.take() else { return };
                let alive: BTreeSet<&str> =
                    frame.objects.of_kind(POD).filter(|pod| is_alive(pod)).map(object::name).collect();
                let named = self.pod_names.iter().filter(|(_, real)| alive.contains(*real));
                let alive: BTreeSet<String> = named.map(|(name, _)| (*name).to_owned()).collect();
                if !expect.allows(&alive) {
                    let what = format!("the case expects {expect} to be alive, and it is {}", join_names(&alive));
                    self.mismatches.push((step, what));
                }
            }
            _ => {}
        }
    }
}

/// Whether a ReplicaSet counts the pod: it is neither being deleted nor finished.
pub(super) fn is_alive(pod: &Value) -> bool {
    let ended = matches!(object::text(pod, "/status/phase"), Some("Failed" | "Succeeded"));
    !object::deleting(pod) && !ended
}
