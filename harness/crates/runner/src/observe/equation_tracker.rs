//! The equations of one namespace, each evaluated again only when an object that it depends on has
//! changed.
//!
//! A step changes a handful of objects, and settling checks several times whether all equations
//! hold. Checking all objects each time made the cost of a case quadratic in its pods. So the
//! violations are stored by object, and a change marks the equations that depend on it: a pod its
//! own and its ReplicaSet's, a ReplicaSet its own and its Deployment's, and an object that appears
//! or disappears those of all objects that refer to it.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_case::model::Terminations;
use lockstep_recording::controllers::{Controller, ControllerSet};
use lockstep_recording::{Blame, Trouble, TroubleTopic};
use lockstep_workload::Claims;

use super::equations::OwnerState;
use super::object::OwnerCounts;
use super::pod_index::PodIndex;
use super::replica_set_index::ReplicaSetIndex;
use super::{CachedObject, WatchedKind, equations};

/// What decides which equations must hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EquationScope<'a> {
    /// Who finishes deletions.
    pub terminations: Terminations,
    /// Whether the case leaves pods without a node.
    pub unbound: bool,
    /// The controllers that the subject brings.
    pub under_test: &'a ControllerSet,
}

/// The objects of a namespace, by kind and name, and their indexes.
pub(super) struct NamespaceView<'a> {
    pub(super) objects: &'a BTreeMap<WatchedKind, BTreeMap<String, CachedObject>>,
    pub(super) pods: &'a PodIndex,
    pub(super) sets: &'a ReplicaSetIndex,
    /// What the subject's controller claims to write into a Deployment's status.
    pub(super) claims: Claims,
}

/// The violations, by equation and name of the object.
#[derive(Debug, Default)]
pub(super) struct EquationTracker {
    changed: BTreeSet<(WatchedKind, String)>,
    violations: BTreeMap<Equation, BTreeMap<String, String>>,
}

/// The equations, in the order in which violations are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Equation {
    DeploymentFinalizer,
    ReplicaSetFinalizer,
    UndeletedReplicaSet,
    UndeletedPod,
    ReplicaSetStatus,
    ReplicaSetSize,
    DeploymentStatus,
    /// Not an equation, and not reported: settling is more patient while it does not hold.
    History,
}

impl Equation {
    /// What a violation is about.
    fn topic(self) -> TroubleTopic {
        match self {
            Self::DeploymentStatus => TroubleTopic::DeploymentStatus,
            Self::ReplicaSetStatus => TroubleTopic::ReplicaSetStatus,
            Self::DeploymentFinalizer
            | Self::ReplicaSetFinalizer
            | Self::UndeletedReplicaSet
            | Self::UndeletedPod
            | Self::ReplicaSetSize
            | Self::History => TroubleTopic::Other,
        }
    }
}

impl EquationTracker {
    /// Mark this object: its equations must be evaluated again.
    pub(super) fn mark_changed(&mut self, kind: WatchedKind, name: &str) {
        self.changed.insert((kind, name.to_owned()));
    }

    /// The first violation, the test environment's before the subject's.
    pub(super) fn first_unmet(&mut self, view: &NamespaceView<'_>, scope: EquationScope<'_>) -> Option<Trouble> {
        self.catch_up(view);
        let EquationScope { terminations, unbound, under_test } = scope;
        let blame_of = |controller| if under_test.has(controller) { Blame::Subject } else { Blame::Environment };
        let mut suspects = view.pods.suspects().filter_map(|name| view.get(WatchedKind::Pod, name));
        let node = suspects.find_map(|pod| equations::node(pod, terminations, unbound));
        let first = |equations: &[Equation]| {
            equations
                .iter()
                .find_map(|equation| Some((*equation, self.violations.get(equation)?.values().next()?.clone())))
        };
        let sets = [
            Equation::DeploymentFinalizer,
            Equation::ReplicaSetFinalizer,
            Equation::UndeletedReplicaSet,
            Equation::UndeletedPod,
            Equation::ReplicaSetStatus,
        ];
        let sizes: &[Equation] = if under_test.has(Controller::ReplicaSet) { &[] } else { &[Equation::ReplicaSetSize] };
        let found = [
            (blame_of(Controller::ReplicaSet), first(&sets)),
            (Blame::Environment, first(sizes)),
            (blame_of(Controller::Deployment), first(&[Equation::DeploymentStatus])),
        ];
        let found = found.into_iter().filter_map(|(blame, unmet)| {
            let (equation, why) = unmet?;
            Some(Trouble::new(blame, why).about(equation.topic()))
        });
        let node = node.map(|why| Trouble::new(Blame::Environment, why));
        node.into_iter().chain(found).min_by_key(|trouble| trouble.blame == Blame::Subject)
    }

    /// Whether a completed Deployment still has more empty old ReplicaSets than its history limit.
    pub(super) fn history_pending(&mut self, view: &NamespaceView<'_>) -> bool {
        self.catch_up(view);
        self.violations.get(&Equation::History).is_some_and(|pending| !pending.is_empty())
    }

    fn catch_up(&mut self, view: &NamespaceView<'_>) {
        for (kind, name) in std::mem::take(&mut self.changed) {
            self.evaluate(view, kind, &name);
        }
    }

    fn evaluate(&mut self, view: &NamespaceView<'_>, kind: WatchedKind, name: &str) {
        let object = view.get(kind, name);
        match kind {
            WatchedKind::Deployment => {
                let stuck = object.and_then(|it| equations::stuck_finalizer(it, "deployment", view.has_sets(it)));
                self.set_result(Equation::DeploymentFinalizer, name, stuck);
                let summed = object.and_then(|it| equations::deployment(it, &view.sets_of(it), view.claims));
                self.set_result(Equation::DeploymentStatus, name, summed);
                let pending = object.is_some_and(|it| equations::history_pending(it, view.sets_of(it)));
                self.set_result(Equation::History, name, pending.then(String::new));
            }
            WatchedKind::ReplicaSet => {
                let none = OwnerCounts::default();
                let pods = object.and_then(|set| view.pods.owner_counts(set.text("/metadata/uid"))).unwrap_or(&none);
                let deployment = |uid: &str| view.get(WatchedKind::Deployment, view.sets.deployment(uid)?);
                let owner = |uid: &str| OwnerState::of(deployment(uid));
                let stuck = object.and_then(|it| equations::stuck_finalizer(it, "replicaset", pods.controlled > 0));
                self.set_result(Equation::ReplicaSetFinalizer, name, stuck);
                let left = object.and_then(|it| equations::undeleted_dependent(it, "replicaset", "Deployment", owner));
                self.set_result(Equation::UndeletedReplicaSet, name, left);
                self.set_result(
                    Equation::ReplicaSetStatus,
                    name,
                    object.and_then(|it| equations::replica_set(it, pods, view.claims.owned)),
                );
                self.set_result(Equation::ReplicaSetSize, name, object.and_then(equations::size));
            }
            WatchedKind::Pod => {
                let set = |uid: &str| view.get(WatchedKind::ReplicaSet, view.sets.name_of(uid)?);
                let owner = |uid: &str| OwnerState::of(set(uid));
                let left = object.and_then(|it| equations::undeleted_dependent(it, "pod", "ReplicaSet", owner));
                self.set_result(Equation::UndeletedPod, name, left);
            }
            WatchedKind::Event
            | WatchedKind::StatefulSet
            | WatchedKind::DaemonSet
            | WatchedKind::CronJob
            | WatchedKind::Job
            | WatchedKind::Rollout => {}
        }
    }

    fn set_result(&mut self, equation: Equation, name: &str, why: Option<String>) {
        let reasons = self.violations.entry(equation).or_default();
        match why {
            Some(why) => drop(reasons.insert(name.to_owned(), why)),
            None => drop(reasons.remove(name)),
        }
    }
}

impl<'a> NamespaceView<'a> {
    pub(super) fn get(&self, kind: WatchedKind, name: &str) -> Option<&'a CachedObject> {
        self.objects.get(&kind)?.get(name)
    }

    fn has_sets(&self, deployment: &CachedObject) -> bool {
        self.sets.controlled_by(deployment.text("/metadata/uid")).next().is_some()
    }

    /// The ReplicaSets that a Deployment controls, by name.
    pub(super) fn sets_of(&self, deployment: &CachedObject) -> impl Iterator<Item = &'a CachedObject> + Clone {
        let sets = self.objects.get(&WatchedKind::ReplicaSet);
        let names = self.sets.controlled_by(deployment.text("/metadata/uid"));
        names.filter_map(move |name| sets?.get(name))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lockstep_recording::ChangeType;
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::super::namespace_cache::NamespaceCache;
    use super::super::pod_index::PodState;
    use super::*;

    fn object(value: Value) -> CachedObject {
        let name = value["metadata"]["name"].as_str().unwrap().to_owned();
        CachedObject { name, first: 1, value: Arc::new(value) }
    }

    fn take(space: &mut NamespaceCache, kind: WatchedKind, object: &CachedObject) {
        space.apply(kind, ChangeType::Modified, &object.name, object.first, Arc::clone(&object.value));
    }

    fn settled_objects() -> [Vec<CachedObject>; 3] {
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

    fn change(objects: &mut [CachedObject], pointer: &str, to: Value) {
        let value = Arc::make_mut(&mut objects[0].value);
        *value.pointer_mut(pointer).unwrap() = to;
    }

    const KINDS: [WatchedKind; 3] = [WatchedKind::Deployment, WatchedKind::ReplicaSet, WatchedKind::Pod];

    fn check(by_kind: &[Vec<CachedObject>; 3], under_test: &ControllerSet, unbound: bool) -> Option<Trouble> {
        let mut space = NamespaceCache::default();
        for (kind, objects) in KINDS.into_iter().zip(by_kind) {
            objects.iter().for_each(|object| take(&mut space, kind, object));
        }
        space.first_unmet(EquationScope { terminations: Terminations::Auto, unbound, under_test })
    }

    #[rstest]
    #[case("deployment", Blame::Environment, Blame::Subject)]
    #[case("replicaset", Blame::Subject, Blame::Environment)]
    #[case("deployment,replicaset", Blame::Subject, Blame::Subject)]
    fn blames_the_side_that_brings_the_controller(
        #[case] under_test: &str,
        #[case] of_sets: Blame,
        #[case] of_deployments: Blame,
    ) {
        let under_test: ControllerSet = under_test.parse().unwrap();
        let topics = [TroubleTopic::DeploymentStatus, TroubleTopic::ReplicaSetStatus];
        for (at, blame) in [(1, of_sets), (0, of_deployments)] {
            let mut by_kind = settled_objects();
            change(&mut by_kind[at], "/status/observedGeneration", json!(0));
            let found = check(&by_kind, &under_test, false).unwrap();
            assert_eq!((found.blame, found.about), (blame, topics[at]), "{found:?}");
        }
    }

    #[test]
    fn reports_violations_of_the_test_environment_first() {
        let mut by_kind = settled_objects();
        change(&mut by_kind[1], "/status/observedGeneration", json!(0));
        change(&mut by_kind[0], "/status/observedGeneration", json!(1));
        let under_test = "replicaset".parse().unwrap();
        let found = check(&by_kind, &under_test, false).unwrap();
        assert!(found.blame == Blame::Environment && found.why.contains("deployment/web"), "{found:?}");
    }

    #[test]
    fn accepts_unbound_pods_where_the_case_binds_them() {
        let mut by_kind = settled_objects();
        change(&mut by_kind[2], "/spec/nodeName", json!(""));
        assert!(check(&by_kind, &ControllerSet::default(), true).is_none());
    }

    #[rstest]
    #[case::rest(|_: &mut [Vec<CachedObject>; 3]| (), None)]
    #[case::unbound(|w: &mut [Vec<CachedObject>; 3]| change(&mut w[2], "/spec/nodeName", json!("")), Some((Blame::Environment, "not bound")))]
    #[case::rs_lags(|w: &mut [Vec<CachedObject>; 3]| change(&mut w[1], "/status/readyReplicas", json!(0)), Some((Blame::Environment, "status.readyReplicas 0, and 1")))]
    #[case::too_few_pods(|w: &mut [Vec<CachedObject>; 3]| change(&mut w[1], "/spec/replicas", json!(2)), Some((Blame::Environment, "has 1 pods, and 2 is right")))]
    #[case::pods_refused(|w: &mut [Vec<CachedObject>; 3]| {
        change(&mut w[1], "/spec/replicas", json!(2));
        change(&mut w[1], "/status/conditions", json!([{"type": "ReplicaFailure", "status": "True"}]));
    }, None)]
    #[case::unobserved(|w: &mut [Vec<CachedObject>; 3]| change(&mut w[0], "/status/observedGeneration", json!(1)), Some((Blame::Subject, "observedGeneration 1, and 2")))]
    #[case::wrong_sum(|w: &mut [Vec<CachedObject>; 3]| change(&mut w[0], "/status/availableReplicas", json!(0)), Some((Blame::Subject, "availableReplicas 0, and 1")))]
    fn reports_each_violated_equation(
        #[case] spoil: fn(&mut [Vec<CachedObject>; 3]),
        #[case] expected: Option<(Blame, &str)>,
    ) {
        let mut by_kind = settled_objects();
        spoil(&mut by_kind);
        let found = check(&by_kind, &ControllerSet::default(), false);
        match (found, expected) {
            (None, None) => {}
            (Some(trouble), Some((blame, words))) => {
                assert_eq!(trouble.blame, blame, "{trouble:?}");
                assert!(trouble.why.contains(words), "{trouble:?}");
                assert_eq!(
                    trouble.about != TroubleTopic::Other,
                    words.contains("observedGeneration") || words.contains("Replicas")
                );
            }
            (found, expected) => panic!("{found:?} instead of {expected:?}"),
        }
    }

    #[rstest]
    #[case::before_it_has_marked_the_pod(
        true,
        false,
        Some("pod/web-1-a is still there, and its owner waits for its deletion")
    )]
    #[case::after_that(true, true, None)]
    #[case::the_pod_does_not_block_its_owner(false, false, None)]
    fn garbage_collector_deletes_what_blocks_a_foreground_deletion(
        #[case] blocks: bool,
        #[case] is_marked: bool,
        #[case] expected: Option<&str>,
    ) {
        let mut space = NamespaceCache::default();
        let [deployments, mut sets, mut pods] = settled_objects();
        let pod = &mut Arc::make_mut(&mut pods[0].value)["metadata"];
        pod["ownerReferences"] =
            json!([{"kind": "ReplicaSet", "uid": "r", "controller": true, "blockOwnerDeletion": blocks}]);
        for (kind, objects) in KINDS.into_iter().zip([&deployments, &sets, &pods]) {
            objects.iter().for_each(|object| take(&mut space, kind, object));
        }
        let scope =
            EquationScope { terminations: Terminations::Held, unbound: false, under_test: &ControllerSet::default() };
        assert_eq!(space.first_unmet(scope), None);
        let deleted = json!("2026-01-01T00:00:00Z");
        let set = &mut Arc::make_mut(&mut sets[0].value)["metadata"];
        (set["deletionTimestamp"], set["finalizers"]) = (deleted.clone(), json!(["foregroundDeletion"]));
        take(&mut space, WatchedKind::ReplicaSet, &sets[0]);
        if is_marked {
            Arc::make_mut(&mut pods[0].value)["metadata"]["deletionTimestamp"] = deleted;
            take(&mut space, WatchedKind::Pod, &pods[0]);
        }
        let found = space.first_unmet(scope).filter(|trouble| trouble.why.starts_with("pod/"));
        assert_eq!(
            found.as_ref().map(|trouble| (trouble.blame, &*trouble.why)),
            expected.map(|why| (Blame::Environment, why))
        );
    }

    /// The object in one of a few states; `None`: it does not exist.
    fn state(kind: WatchedKind, number: usize, state: u8) -> Option<Value> {
        let owners = |kind: &str, uid: String| json!([{"kind": kind, "uid": uid, "controller": state != 6, "blockOwnerDeletion": state != 7}]);
        let status = |all: i64, ready: i64| json!({"observedGeneration": 1, "replicas": all, "readyReplicas": ready, "availableReplicas": ready});
        let metadata = json!({"name": format!("o{number}"), "uid": format!("{kind}-{number}-{}", state / 4), "generation": 1,
            "deletionTimestamp": (state % 4 == 3).then_some("2026-01-01T00:00:00Z"),
            "finalizers": if state % 2 == 1 { json!(["foregroundDeletion"]) } else { Value::Null }, "labels": {"app": number % 2}});
        let mut value = match kind {
            WatchedKind::Deployment => {
                json!({"metadata": metadata, "spec": {"replicas": state % 3, "revisionHistoryLimit": 0},
                    "status": status(i64::from(state % 3), i64::from(state % 2))})
            }
            WatchedKind::ReplicaSet => {
                let mut value = json!({"metadata": metadata, "spec": {"replicas": state % 3, "selector": {"matchLabels": {"app": number % 2}}},
                    "status": status(i64::from(state % 3), i64::from(state % 2))});
                value["metadata"]["ownerReferences"] = owners("Deployment", format!("Deployment-{}-0", number % 2));
                value
            }
            _ => {
                let phase = if state % 5 == 4 { "Failed" } else { "Running" };
                let mut value = json!({"metadata": metadata, "spec": {"nodeName": if state == 7 { "" } else { "n" }},
                    "status": {"phase": phase, "conditions": [{"type": "Ready", "status": if state.is_multiple_of(2) { "True" } else { "False" }}]}});
                value["metadata"]["ownerReferences"] =
                    owners("ReplicaSet", format!("ReplicaSet-{}-{}", number % 3, state % 2));
                value
            }
        };
        // The API writes no nulls.
        value["metadata"].as_object_mut().unwrap().retain(|_, value| !value.is_null());
        (state < 8).then_some(value)
    }

    proptest::proptest! {
        /// Incremental updates give the same violations as a new tracker.
        #[test]
        fn incremental_updates_equal_a_new_evaluation(
            changes in proptest::collection::vec((0..3_usize, 0..4_usize, 0..9_u8, proptest::bool::ANY), 1..60)
        ) {
            let (mut incremental, mut present) = (NamespaceCache::default(), BTreeMap::new());
            let under_test = "deployment".parse().unwrap();
            let scope = EquationScope { terminations: Terminations::Auto, unbound: false, under_test: &under_test };
            let states = [PodState::Unready, PodState::Ready, PodState::Deleting];
            for (rv, (kind, number, now, asks)) in (1..).zip(changes) {
                let (kind, name) = (KINDS[kind], format!("o{number}"));
                match state(kind, number, now) {
                    Some(value) => {
                        let value = Arc::new(value);
                        incremental.apply(kind, ChangeType::Modified, &name, rv, Arc::clone(&value));
                        let first = present.get(&(kind, name.clone())).map_or(rv, |(first, _)| *first);
                        present.insert((kind, name), (first, value));
                    }
                    None => {
                        incremental.apply(kind, ChangeType::Deleted, &name, rv, Arc::default());
                        present.remove(&(kind, name));
                    }
                }
                if !asks {
                    continue;
                }
                let mut new = NamespaceCache::default();
                for ((kind, name), (first, value)) in &present {
                    new.apply(*kind, ChangeType::Added, name, *first, Arc::clone(value));
                }
                proptest::prop_assert_eq!(incremental.first_unmet(scope), new.first_unmet(scope));
                proptest::prop_assert_eq!(incremental.history_pending(), new.history_pending());
                let names = |space: &NamespaceCache, most| -> Vec<_> {
                    space.next_pods(&states, None, most).into_iter().map(|pod| pod.name).collect()
                };
                let all = names(&incremental, usize::MAX);
                proptest::prop_assert_eq!(&all, &names(&new, usize::MAX));
                proptest::prop_assert_eq!(all.get(..1).unwrap_or_default(), &names(&incremental, 1)[..]);
                proptest::prop_assert_eq!(incremental.has_several_in_use(), new.has_several_in_use());
            }
        }
    }
}
