//! What must hold of a namespace at rest, whoever the controllers are.
//!
//! Pure. Pods bound and gone are the test environment's. What else must hold belongs to a controller, and is the subject's where the subject brings
//! that one, else the test environment's: ReplicaSet status equal to the pods counted is the ReplicaSet controller's, Deployment status equal to
//! its ReplicaSets' the Deployment controller's; so are the generations observed. The equations are
//! necessary, not sufficient: the probe is blind to keys in retry back-off, the equations are not; the
//! equations are blind to a write that is still to come, the probe is not.

use super::Object;
use crate::case::model::Terminations;
use crate::controllers::{Controller, Controllers};
use crate::pointer::At;
use crate::recording::{Blame, Trouble};

/// The readiness gate of pods that run for real: the condition that the case holds, under the project's own name.
pub const REAL_GATE: &str = "lockstep/ready";

/// A namespace as the watches have delivered it.
#[derive(Debug)]
pub struct Namespace<'a> {
    /// Deployments by name.
    pub deployments: &'a [Object],
    /// ReplicaSets by name.
    pub replica_sets: &'a [Object],
    /// Pods by name.
    pub pods: &'a [Object],
    /// Who finishes deletions.
    pub terminations: Terminations,
    /// Whether pods wait for the case to give them a node.
    pub unbound: bool,
    /// What the subject brings.
    pub under_test: &'a Controllers,
}

/// The first equation that does not hold, the test environment's before the subject's.
pub fn unmet(namespace: &Namespace<'_>) -> Option<Trouble> {
    let whose = |controller| if namespace.under_test.has(controller) { Blame::Subject } else { Blame::Environment };
    let found = [
        (Blame::Environment, nodes(namespace)),
        (whose(Controller::ReplicaSet), replica_sets(namespace)),
        (Blame::Environment, if namespace.under_test.has(Controller::ReplicaSet) { None } else { sizes(namespace) }),
        (whose(Controller::Deployment), deployments(namespace)),
    ];
    let mut found: Vec<Trouble> =
        found.into_iter().filter_map(|(blame, why)| Some(Trouble::new(blame, why?))).collect();
    found.sort_by_key(|trouble| trouble.blame == Blame::Subject);
    found.into_iter().next()
}

/// The first of the test environment's equations that does not hold.
pub fn unmet_by_lab(namespace: &Namespace<'_>) -> Option<Trouble> {
    unmet(namespace).filter(|trouble| trouble.blame == Blame::Environment)
}

/// Whether a completed Deployment still has more empty old ReplicaSets than its history limit: history is cut one
/// sync after completion, so this asks for patience, not for a verdict.
pub fn history_pending(namespace: &Namespace<'_>) -> bool {
    namespace.deployments.iter().any(|deployment| {
        let replicas = deployment.int("/spec/replicas");
        let complete = ["/status/updatedReplicas", "/status/replicas", "/status/availableReplicas"]
            .iter()
            .all(|counter| deployment.int(counter) == replicas);
        let limit = deployment.value.at("/spec/revisionHistoryLimit").and_then(serde_json::Value::as_i64);
        let empty = owned(deployment, namespace.replica_sets)
            .filter(|rs| rs.int("/spec/replicas") == 0 && rs.int("/status/replicas") == 0 && !rs.deleting());
        let empty = i64::try_from(empty.count()).unwrap_or(i64::MAX);
        // At zero replicas the new ReplicaSet is empty as well.
        complete && limit.is_some_and(|limit| empty - i64::from(replicas == 0) > limit)
    })
}

/// Pods are where they belong, or gone.
fn nodes(namespace: &Namespace<'_>) -> Option<String> {
    for pod in namespace.pods {
        if pod.alive() && pod.text("/spec/nodeName").is_empty() && !namespace.unbound {
            return Some(format!("pod {} is not bound to a node", pod.name));
        }
        if pod.deleting() && namespace.terminations == Terminations::Auto {
            return Some(format!("the deletion of pod {} has not finished", pod.name));
        }
        if let Some(why) = kubelet_lags(pod) {
            return Some(why);
        }
    }
    None
}

/// Each ReplicaSet has counted its pods.
fn replica_sets(namespace: &Namespace<'_>) -> Option<String> {
    let collected = garbage(namespace);
    if collected.is_some() {
        return collected;
    }
    namespace.replica_sets.iter().find_map(|rs| {
        let own = |pod: &&Object| pod.owner() == Some(rs.text("/metadata/uid")) && selects(rs, pod);
        let pods = || namespace.pods.iter().filter(own);
        let alive = pods().filter(|pod| pod.alive()).count();
        let ready = pods().filter(|pod| pod.alive() && pod.ready()).count();
        let generation = rs.int("/metadata/generation");
        differs(rs, "replicaset", "observedGeneration", generation)
            .or_else(|| differs(rs, "replicaset", "replicas", count(alive)))
            .or_else(|| differs(rs, "replicaset", "readyReplicas", count(ready)))
            .or_else(|| {
                let at_once = rs.int("/spec/minReadySeconds") == 0;
                at_once.then(|| differs(rs, "replicaset", "availableReplicas", count(ready))).flatten()
            })
            .or_else(|| {
                let terminating = pods()
                    .filter(|pod| pod.deleting() && !matches!(pod.text("/status/phase"), "Failed" | "Succeeded"))
                    .count();
                let reported = rs.value.at("/status/terminatingReplicas").is_some();
                reported.then(|| differs(rs, "replicaset", "terminatingReplicas", count(terminating))).flatten()
            })
    })
}

/// Whether a pod has the labels that a ReplicaSet selects by: a pod that is going and has them no more stays
/// its own, and is not counted.
fn selects(rs: &Object, pod: &Object) -> bool {
    let wanted = rs.value.at("/spec/selector/matchLabels").and_then(serde_json::Value::as_object);
    let has = pod.value.at("/metadata/labels");
    wanted.is_none_or(|wanted| wanted.iter().all(|(key, value)| has.and_then(|has| has.get(key)) == Some(value)))
}

/// Each ReplicaSet has as many pods as it should. Asked of the test environment's controller only: a subject that leaves a size wrong
/// is judged by what it did, not by waiting until it does better.
fn sizes(namespace: &Namespace<'_>) -> Option<String> {
    namespace.replica_sets.iter().filter(|rs| !rs.deleting() && !rs.condition("ReplicaFailure")).find_map(|rs| {
        let (wanted, found) = (rs.int("/spec/replicas"), rs.int("/status/replicas"));
        (wanted != found).then(|| format!("replicaset/{} has {found} pods, and {wanted} is right", rs.name))
    })
}

/// Whoever waits for its dependents to go, or to be let go, goes once none is left: the garbage collector's part, which nobody's
/// status tells of.
fn garbage(namespace: &Namespace<'_>) -> Option<String> {
    let waits = |object: &Object, finalizer: &str| {
        let finalizers = object.value.at("/metadata/finalizers").and_then(serde_json::Value::as_array);
        object.deleting() && finalizers.is_some_and(|names| names.iter().any(|name| name == finalizer))
    };
    let has = |owner: &Object, all: &[Object]| all.iter().any(|one| one.owner() == Some(owner.text("/metadata/uid")));
    let deployments = namespace.deployments.iter().map(|one| (one, "deployment", has(one, namespace.replica_sets)));
    let sets = namespace.replica_sets.iter().map(|one| (one, "replicaset", has(one, namespace.pods)));
    let kept = deployments.chain(sets).find_map(|(object, kind, has_dependents)| {
        let orphans = waits(object, "orphan");
        let due = orphans || waits(object, "foregroundDeletion") && !has_dependents;
        due.then(|| format!("{kind}/{} is still kept by the garbage collector's finalizer", object.name))
    });
    kept.or_else(|| {
        let sets = left_behind(namespace.replica_sets, "Deployment", namespace.deployments);
        let pods = || left_behind(namespace.pods, "ReplicaSet", namespace.replica_sets);
        let left = sets.map(|one| ("replicaset", one)).or_else(|| pods().map(|one| ("pod", one)));
        left.map(|(kind, one)| format!("{kind}/{} is still there, and its owner is gone", one.name))
    })
}

/// The first that is owned by one of a kind that is no longer there, and is not being deleted yet.
fn left_behind<'a>(objects: &'a [Object], kind: &str, owners: &[Object]) -> Option<&'a Object> {
    objects.iter().filter(|one| !one.deleting()).find(|one| {
        let references = one.value.at("/metadata/ownerReferences").and_then(serde_json::Value::as_array);
        let references = references.map(Vec::as_slice).unwrap_or_default();
        let gone = |owner: &serde_json::Value| {
            owner["kind"] == kind && !owners.iter().any(|one| owner["uid"] == one.text("/metadata/uid"))
        };
        !references.is_empty() && references.iter().all(gone)
    })
}

/// A real pod runs, and is ready exactly when the case lets it be; of a held one there is nothing to say.
fn kubelet_lags(pod: &Object) -> Option<String> {
    let gates = pod.value.at("/spec/readinessGates").and_then(serde_json::Value::as_array);
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

/// Each Deployment has summed its ReplicaSets up.
fn deployments(namespace: &Namespace<'_>) -> Option<String> {
    namespace.deployments.iter().filter(|deployment| !deployment.deleting()).find_map(|deployment| {
        let sum = |counter: &str| owned(deployment, namespace.replica_sets).map(|rs| rs.int(counter)).sum::<i64>();
        let generation = deployment.int("/metadata/generation");
        differs(deployment, "deployment", "observedGeneration", generation)
            .or_else(|| differs(deployment, "deployment", "replicas", sum("/status/replicas")))
            .or_else(|| differs(deployment, "deployment", "readyReplicas", sum("/status/readyReplicas")))
            .or_else(|| differs(deployment, "deployment", "availableReplicas", sum("/status/availableReplicas")))
    })
}

fn owned<'a>(deployment: &'a Object, replica_sets: &'a [Object]) -> impl Iterator<Item = &'a Object> {
    replica_sets.iter().filter(|rs| rs.owner() == Some(deployment.text("/metadata/uid")))
}

fn differs(object: &Object, kind: &str, counter: &str, expected: i64) -> Option<String> {
    let found = object.int(&format!("/status/{counter}"));
    (found != expected).then(|| format!("{kind}/{} has status.{counter} {found}, and {expected} is right", object.name))
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn object(value: Value) -> Object {
        let name = value["metadata"]["name"].as_str().unwrap().to_owned();
        Object { name, first: 1, value: Arc::new(value) }
    }

    fn rest() -> [Vec<Object>; 3] {
        let owner = |uid: &str| json!([{"uid": uid, "controller": true}]);
        let deployment = json!({"metadata": {"name": "web", "uid": "d", "generation": 2}, "spec": {"replicas": 1},
            "status": {"observedGeneration": 2, "replicas": 1, "readyReplicas": 1, "availableReplicas": 1}});
        let rs = json!({"metadata": {"name": "web-1", "uid": "r", "generation": 1, "ownerReferences": owner("d")},
            "spec": {"replicas": 1},
            "status": {"observedGeneration": 1, "replicas": 1, "readyReplicas": 1, "availableReplicas": 1, "conditions": []}});
        let pod = json!({"metadata": {"name": "web-1-a", "ownerReferences": owner("r")}, "spec": {"nodeName": "n"},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
        [vec![object(deployment)], vec![object(rs)], vec![object(pod)]]
    }

    fn change(objects: &mut [Object], pointer: &str, to: Value) {
        let value = Arc::make_mut(&mut objects[0].value);
        *value.pointer_mut(pointer).unwrap() = to;
    }

    fn look(
        deployments: &[Object],
        replica_sets: &[Object],
        pods: &[Object],
        under_test: &Controllers,
        unbound: bool,
    ) -> Option<Trouble> {
        let terminations = Terminations::Auto;
        unmet(&Namespace { deployments, replica_sets, pods, terminations, unbound, under_test })
    }

    #[rstest]
    #[case("deployment", Blame::Environment, Blame::Subject)]
    #[case("replicaset", Blame::Subject, Blame::Environment)]
    #[case("deployment,replicaset", Blame::Subject, Blame::Subject)]
    fn each_half_is_whose_it_is(#[case] under_test: &str, #[case] of_sets: Blame, #[case] of_deployments: Blame) {
        let under_test: Controllers = under_test.parse().unwrap();
        for (at, blame) in [(1, of_sets), (0, of_deployments)] {
            let mut world = rest();
            change(&mut world[at], "/status/observedGeneration", json!(0));
            let found = look(&world[0], &world[1], &world[2], &under_test, false).unwrap();
            assert_eq!(found.blame, blame, "{found:?}");
        }
    }

    #[test]
    fn the_environments_own_comes_first() {
        let mut world = rest();
        change(&mut world[1], "/status/observedGeneration", json!(0));
        change(&mut world[0], "/status/observedGeneration", json!(1));
        let under_test = "replicaset".parse().unwrap();
        let found = look(&world[0], &world[1], &world[2], &under_test, false).unwrap();
        assert!(found.blame == Blame::Environment && found.why.contains("deployment/web"), "{found:?}");
    }

    #[test]
    fn a_pod_that_the_case_leaves_without_a_node_may_stay_so() {
        let mut world = rest();
        change(&mut world[2], "/spec/nodeName", json!(""));
        assert!(look(&world[0], &world[1], &world[2], &Controllers::default(), true).is_none());
    }

    #[rstest]
    #[case::rest(|_: &mut [Vec<Object>; 3]| (), None)]
    #[case::unbound(|w: &mut [Vec<Object>; 3]| change(&mut w[2], "/spec/nodeName", json!("")), Some((Blame::Environment, "not bound")))]
    #[case::rs_lags(|w: &mut [Vec<Object>; 3]| change(&mut w[1], "/status/readyReplicas", json!(0)), Some((Blame::Environment, "status.readyReplicas 0, and 1")))]
    #[case::too_few_pods(|w: &mut [Vec<Object>; 3]| change(&mut w[1], "/spec/replicas", json!(2)), Some((Blame::Environment, "has 1 pods, and 2 is right")))]
    #[case::pods_refused(|w: &mut [Vec<Object>; 3]| {
        change(&mut w[1], "/spec/replicas", json!(2));
        change(&mut w[1], "/status/conditions", json!([{"type": "ReplicaFailure", "status": "True"}]));
    }, None)]
    #[case::unobserved(|w: &mut [Vec<Object>; 3]| change(&mut w[0], "/status/observedGeneration", json!(1)), Some((Blame::Subject, "observedGeneration 1, and 2")))]
    #[case::wrong_sum(|w: &mut [Vec<Object>; 3]| change(&mut w[0], "/status/availableReplicas", json!(0)), Some((Blame::Subject, "availableReplicas 0, and 1")))]
    fn each_equation(#[case] spoil: fn(&mut [Vec<Object>; 3]), #[case] expected: Option<(Blame, &str)>) {
        let mut world = rest();
        spoil(&mut world);
        let [deployments, replica_sets, pods] = &world;
        let found = look(deployments, replica_sets, pods, &Controllers::default(), false);
        match (found, expected) {
            (None, None) => {}
            (Some(trouble), Some((blame, words))) => {
                assert_eq!(trouble.blame, blame, "{trouble:?}");
                assert!(trouble.why.contains(words), "{trouble:?}");
            }
            (found, expected) => panic!("{found:?} instead of {expected:?}"),
        }
    }
}
