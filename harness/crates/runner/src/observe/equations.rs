//! What must hold in a settled namespace, whichever controllers run: one function for each kind of
//! object.
//!
//! Pure. The test environment binds pods and finishes deletions. Each other equation belongs to a
//! controller, and the subject is responsible for it if it brings that controller, otherwise the
//! test environment: the ReplicaSet controller's status must equal its counted pods, the Deployment
//! controller's status the sum of its ReplicaSets, and both must observe the current generation.
//! The equations are necessary, not sufficient. The probe does not see keys in retry back-off,
//! which the equations do; the equations do not see a write that is still to come, which the probe
//! does.
//!
//! `equation_tracker` decides which objects are checked, and when.

use lockstep_case::model::Terminations;
use lockstep_support::pointer::JsonPointer;
use lockstep_workload::{Claims, ReportedCounts};
use serde_json::Value;

use super::CachedObject;
use super::object::OwnerCounts;

/// The readiness gate of pods that run for real: a condition in the project's own domain, which the
/// case sets.
pub(crate) const REAL_GATE: &str = "lockstep/ready";

/// A pod must be bound, or gone if it was deleted. `unbound`: the case binds pods itself.
pub(super) fn node(pod: &CachedObject, terminations: Terminations, unbound: bool) -> Option<String> {
    if pod.alive() && pod.text("/spec/nodeName").is_empty() && !unbound {
        return Some(format!("pod {} is not bound to a node", pod.name));
    }
    if pod.deleting() && terminations == Terminations::Auto {
        return Some(format!("the deletion of pod {} has not finished", pod.name));
    }
    kubelet_lags(pod)
}

/// A ReplicaSet's status must count its pods, as far as its kind reports them.
pub(super) fn replica_set(rs: &CachedObject, pods: &OwnerCounts, claims: ReportedCounts) -> Option<String> {
    let at_once = rs.int("/spec/minReadySeconds") == 0;
    let expected = [
        (claims.generation, "observedGeneration", rs.int("/metadata/generation")),
        (claims.replicas, "replicas", count(pods.alive)),
        (claims.ready, "readyReplicas", count(pods.ready)),
        (claims.available && at_once, "availableReplicas", count(pods.ready)),
    ];
    let mut claimed = expected.into_iter().filter(|(is_claimed, ..)| *is_claimed);
    claimed.find_map(|(_, counter, number)| differs(rs, "replicaset", counter, number)).or_else(|| {
        let reported = rs.value.at("/status/terminatingReplicas").is_some();
        reported.then(|| differs(rs, "replicaset", "terminatingReplicas", count(pods.terminating))).flatten()
    })
}

/// The same for a ReplicaSet and an iterator of the pods that it controls.
pub fn replica_set_status(rs: &CachedObject, pods: impl Iterator<Item = CachedObject>) -> Option<String> {
    let mut counted = OwnerCounts::default();
    for pod in pods.filter(|pod| selects(rs, pod)) {
        let is_at_its_end = matches!(pod.text("/status/phase"), "Failed" | "Succeeded");
        counted.alive += usize::from(pod.alive());
        counted.ready += usize::from(pod.alive() && pod.ready());
        counted.terminating += usize::from(pod.deleting() && !is_at_its_end);
    }
    replica_set(rs, &counted, Claims::default().owned)
}

/// Whether a pod has the labels that a ReplicaSet selects. A terminating pod that no longer has
/// them is still controlled, and not counted.
pub(super) fn selects(rs: &CachedObject, pod: &CachedObject) -> bool {
    let wanted = rs.value.at("/spec/selector/matchLabels").and_then(Value::as_object);
    let has = pod.value.at("/metadata/labels");
    wanted.is_none_or(|wanted| wanted.iter().all(|(key, value)| has.and_then(|has| has.get(key)) == Some(value)))
}

/// A ReplicaSet must have as many pods as its spec says. Only required of the test environment's
/// controller: a subject that leaves a wrong size is judged by its decisions, without waiting for
/// better ones.
pub(super) fn size(rs: &CachedObject) -> Option<String> {
    if rs.deleting() || rs.condition("ReplicaFailure") {
        return None;
    }
    let (wanted, found) = (rs.int("/spec/replicas"), rs.int("/status/replicas"));
    (wanted != found).then(|| format!("replicaset/{} has {found} pods, and {wanted} is right", rs.name))
}

/// A deleted object must lose the orphan finalizer, and the foreground one once it has no
/// dependents. This is the garbage collector's part, which no status reports.
pub(super) fn stuck_finalizer(object: &CachedObject, kind: &str, has_dependents: bool) -> Option<String> {
    let due = object.deleting() && has_finalizer(object, "orphan") || deletes_dependents(object) && !has_dependents;
    due.then(|| format!("{kind}/{} is still kept by the garbage collector's finalizer", object.name))
}

/// What the owner of an object means for the garbage collector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OwnerState {
    Gone,
    /// It is in foreground deletion: it goes after what blocks it.
    DeletesDependents,
    Stays,
}

impl OwnerState {
    /// The state of an owner that the cache has, or no longer has.
    pub(super) fn of(owner: Option<&CachedObject>) -> Self {
        match owner {
            None => Self::Gone,
            Some(owner) if deletes_dependents(owner) => Self::DeletesDependents,
            Some(_) => Self::Stays,
        }
    }
}

/// Whether an object is in foreground deletion.
pub(super) fn deletes_dependents(object: &CachedObject) -> bool {
    object.deleting() && has_finalizer(object, "foregroundDeletion")
}

fn has_finalizer(object: &CachedObject, finalizer: &str) -> bool {
    let finalizers = object.value.at("/metadata/finalizers").and_then(Value::as_array);
    finalizers.is_some_and(|names| names.iter().any(|name| name == finalizer))
}

/// An object must be deleted if all its owners are of this kind, and each is gone or waits for it
/// in foreground deletion. Upstream: `attemptToDeleteItem`, `processDeletingDependentsItem`.
pub(super) fn undeleted_dependent(
    object: &CachedObject,
    kind: &str,
    owners: &str,
    state: impl Fn(&str) -> OwnerState,
) -> Option<String> {
    if object.deleting() {
        return None;
    }
    let references = object.value.at("/metadata/ownerReferences").and_then(Value::as_array)?;
    let mut waits = false;
    for owner in references {
        match state(owner["uid"].as_str().unwrap_or_default()) {
            _ if owner["kind"] != owners => return None,
            OwnerState::Stays => return None,
            OwnerState::DeletesDependents if owner["blockOwnerDeletion"] != true => return None,
            OwnerState::DeletesDependents => waits = true,
            OwnerState::Gone => {}
        }
    }
    let owner = if waits { "waits for its deletion" } else { "is gone" };
    (!references.is_empty()).then(|| format!("{kind}/{} is still there, and its owner {owner}", object.name))
}

/// A real pod must run, and be ready exactly when the case allows it; for a held pod there is
/// nothing to check.
pub(super) fn kubelet_lags(pod: &CachedObject) -> Option<String> {
    let gates = pod.value.at("/spec/readinessGates").and_then(Value::as_array);
    if !pod.alive() || !gates.is_some_and(|gates| gates.iter().any(|gate| gate["conditionType"] == REAL_GATE)) {
        return None;
    }
    if !pod.condition("ContainersReady") {
        return Some(format!("the containers of pod {} do not run yet", pod.name));
    }
    let open = pod.condition(REAL_GATE);
    let (gate, is) = if open { ("open", "not ready") } else { ("shut", "ready") };
    (open != pod.ready()).then(|| format!("the gate of pod {} is {gate}, and the kubelet still has it {is}", pod.name))
}

/// A Deployment's status must sum up its ReplicaSets, as far as its controller claims to write it.
pub fn deployment<'a>(
    deployment: &CachedObject,
    sets: &(impl Iterator<Item = &'a CachedObject> + Clone),
    claims: Claims,
) -> Option<String> {
    if deployment.deleting() {
        return None;
    }
    let sum = |counter: &str| sets.clone().map(|rs| rs.int(&format!("/status/{counter}"))).sum::<i64>();
    let Claims { status, owned, .. } = claims;
    // What its ReplicaSets do not report cannot be summed up.
    let counters = [
        (status.replicas && owned.replicas, "replicas"),
        (status.ready && owned.ready, "readyReplicas"),
        (status.available && owned.available, "availableReplicas"),
    ];
    let claimed = || counters.into_iter().filter(|(is_claimed, _)| *is_claimed).map(|(_, counter)| counter);
    let generation = deployment.int("/metadata/generation");
    let unobserved = status.generation.then(|| differs(deployment, "deployment", "observedGeneration", generation));
    unobserved
        .flatten()
        .or_else(|| claimed().find_map(|counter| differs(deployment, "deployment", counter, sum(counter))))
}

/// Whether a completed Deployment still has more empty old ReplicaSets than its history limit. They
/// are deleted one sync after completion, so settling waits longer for them, but this is no
/// violation.
pub(super) fn history_pending<'a>(deployment: &CachedObject, sets: impl Iterator<Item = &'a CachedObject>) -> bool {
    let replicas = deployment.int("/spec/replicas");
    let complete = ["/status/updatedReplicas", "/status/replicas", "/status/availableReplicas"]
        .iter()
        .all(|counter| deployment.int(counter) == replicas);
    let limit = deployment.value.at("/spec/revisionHistoryLimit").and_then(Value::as_i64);
    let empty = sets.filter(|rs| rs.int("/spec/replicas") == 0 && rs.int("/status/replicas") == 0 && !rs.deleting());
    let empty = count(empty.count());
    // At zero replicas the new ReplicaSet is empty as well.
    complete && limit.is_some_and(|limit| empty - i64::from(replicas == 0) > limit)
}

fn differs(object: &CachedObject, kind: &str, counter: &str, expected: i64) -> Option<String> {
    let found = object.int(&format!("/status/{counter}"));
    (found != expected).then(|| format!("{kind}/{} has status.{counter} {found}, and {expected} is right", object.name))
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
