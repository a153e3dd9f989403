//! What must hold of a namespace at rest, whoever the controllers are: one function for each object
//! that something must hold of.
//!
//! Pure. Pods bound and gone are the test environment's. What else must hold belongs to a
//! controller, and is the subject's where the subject brings that one, else the test environment's:
//! ReplicaSet status equal to the pods counted is the ReplicaSet controller's, Deployment status
//! equal to its ReplicaSets' the Deployment controller's; so are the generations observed. The
//! equations are necessary, not sufficient: the probe is blind to keys in retry back-off, the
//! equations are not; the equations are blind to a write that is still to come, the probe is not.
//!
//! Which objects are looked at, and when, is `balance`'s.

use serde_json::Value;

use super::Object;
use super::object::Owner;
use crate::case::model::Terminations;
use crate::pointer::At;
use crate::workload::Claims;

/// The readiness gate of pods that run for real: the condition that the case holds, under the
/// project's own name.
pub const REAL_GATE: &str = "lockstep/ready";

/// A pod is where it belongs, or gone. `unbound`: pods wait for the case to give them a node.
pub(super) fn node(pod: &Object, terminations: Terminations, unbound: bool) -> Option<String> {
    if pod.alive() && pod.text("/spec/nodeName").is_empty() && !unbound {
        return Some(format!("pod {} is not bound to a node", pod.name));
    }
    if pod.deleting() && terminations == Terminations::Auto {
        return Some(format!("the deletion of pod {} has not finished", pod.name));
    }
    kubelet_lags(pod)
}

/// A ReplicaSet has counted its pods.
pub(super) fn replica_set(rs: &Object, pods: &Owner) -> Option<String> {
    let generation = rs.int("/metadata/generation");
    differs(rs, "replicaset", "observedGeneration", generation)
        .or_else(|| differs(rs, "replicaset", "replicas", count(pods.alive)))
        .or_else(|| differs(rs, "replicaset", "readyReplicas", count(pods.ready)))
        .or_else(|| {
            let at_once = rs.int("/spec/minReadySeconds") == 0;
            at_once.then(|| differs(rs, "replicaset", "availableReplicas", count(pods.ready))).flatten()
        })
        .or_else(|| {
            let reported = rs.value.at("/status/terminatingReplicas").is_some();
            reported.then(|| differs(rs, "replicaset", "terminatingReplicas", count(pods.terminating))).flatten()
        })
}

/// The same of a ReplicaSet and the pods that it controls.
pub(crate) fn replica_set_status(rs: &Object, pods: impl Iterator<Item = Object>) -> Option<String> {
    let mut counted = Owner::default();
    for pod in pods.filter(|pod| selects(rs, pod)) {
        let is_at_its_end = matches!(pod.text("/status/phase"), "Failed" | "Succeeded");
        counted.alive += usize::from(pod.alive());
        counted.ready += usize::from(pod.alive() && pod.ready());
        counted.terminating += usize::from(pod.deleting() && !is_at_its_end);
    }
    replica_set(rs, &counted)
}

/// Whether a pod has the labels that a ReplicaSet selects by: a pod that is going and has them no
/// more stays its own, and is not counted.
pub(super) fn selects(rs: &Object, pod: &Object) -> bool {
    let wanted = rs.value.at("/spec/selector/matchLabels").and_then(Value::as_object);
    let has = pod.value.at("/metadata/labels");
    wanted.is_none_or(|wanted| wanted.iter().all(|(key, value)| has.and_then(|has| has.get(key)) == Some(value)))
}

/// A ReplicaSet has as many pods as it should. Asked of the test environment's controller only: a
/// subject that leaves a size wrong is judged by what it did, not by waiting until it does better.
pub(super) fn size(rs: &Object) -> Option<String> {
    if rs.deleting() || rs.condition("ReplicaFailure") {
        return None;
    }
    let (wanted, found) = (rs.int("/spec/replicas"), rs.int("/status/replicas"));
    (wanted != found).then(|| format!("replicaset/{} has {found} pods, and {wanted} is right", rs.name))
}

/// Whoever waits for its dependents to go, or to be let go, goes once none is left: the garbage
/// collector's part, which nobody's status tells of.
pub(super) fn kept(object: &Object, kind: &str, has_dependents: bool) -> Option<String> {
    let waits = |finalizer: &str| {
        let finalizers = object.value.at("/metadata/finalizers").and_then(Value::as_array);
        object.deleting() && finalizers.is_some_and(|names| names.iter().any(|name| name == finalizer))
    };
    let due = waits("orphan") || waits("foregroundDeletion") && !has_dependents;
    due.then(|| format!("{kind}/{} is still kept by the garbage collector's finalizer", object.name))
}

/// An object whose only owners were of this kind, and do not exist any more, is being deleted.
pub(super) fn left_behind(
    object: &Object,
    kind: &str,
    owners: &str,
    is_there: impl Fn(&str) -> bool,
) -> Option<String> {
    if object.deleting() {
        return None;
    }
    let references = object.value.at("/metadata/ownerReferences").and_then(Value::as_array);
    let references = references.map(Vec::as_slice).unwrap_or_default();
    let gone = |owner: &Value| owner["kind"] == owners && !owner["uid"].as_str().is_some_and(&is_there);
    (!references.is_empty() && references.iter().all(gone))
        .then(|| format!("{kind}/{} is still there, and its owner is gone", object.name))
}

/// A real pod runs, and is ready exactly when the case lets it be; of a held one there is nothing
/// to say.
pub(super) fn kubelet_lags(pod: &Object) -> Option<String> {
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

/// A Deployment has summed its ReplicaSets up, as far as its controller claims to.
pub(crate) fn deployment<'a>(
    deployment: &Object,
    sets: &(impl Iterator<Item = &'a Object> + Clone),
    claims: Claims,
) -> Option<String> {
    if deployment.deleting() {
        return None;
    }
    let sum = |counter: &str| sets.clone().map(|rs| rs.int(&format!("/status/{counter}"))).sum::<i64>();
    let counters =
        [(claims.replicas, "replicas"), (claims.ready, "readyReplicas"), (claims.available, "availableReplicas")];
    let claimed = || counters.into_iter().filter(|(is_claimed, _)| *is_claimed).map(|(_, counter)| counter);
    let generation = deployment.int("/metadata/generation");
    let unobserved = claims.generation.then(|| differs(deployment, "deployment", "observedGeneration", generation));
    unobserved
        .flatten()
        .or_else(|| claimed().find_map(|counter| differs(deployment, "deployment", counter, sum(counter))))
}

/// Whether a completed Deployment still has more empty old ReplicaSets than its history limit:
/// history is cut one sync after completion, so this asks for patience, not for a verdict.
pub(super) fn history_pending<'a>(deployment: &Object, sets: impl Iterator<Item = &'a Object>) -> bool {
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

fn differs(object: &Object, kind: &str, counter: &str, expected: i64) -> Option<String> {
    let found = object.int(&format!("/status/{counter}"));
    (found != expected).then(|| format!("{kind}/{} has status.{counter} {found}, and {expected} is right", object.name))
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
