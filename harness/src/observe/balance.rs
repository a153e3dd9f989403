//! The equations of one namespace, each worked out again only when what it is about has changed.
//!
//! A step changes a handful of objects, and settling asks several times whether everything holds:
//! looking at all of them each time made a case cost the square of its pods. So what does not hold
//! is kept, by object, and a change marks whose equations depend on it: a pod its own and its
//! ReplicaSet's, a ReplicaSet its own and its Deployment's, and whoever comes or goes those of all
//! that refer to it.

use std::collections::{BTreeMap, BTreeSet};

use super::equations;
use super::object::Owner;
use super::pods::Pods;
use super::sets::Sets;
use super::{Kind, Object};
use crate::case::model::Terminations;
use crate::controllers::{Controller, Controllers};
use crate::recording::{Blame, Trouble};
use crate::workload::Claims;

/// What the equations are asked for.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// Who finishes deletions.
    pub terminations: Terminations,
    /// Whether pods wait for the case to give them a node.
    pub unbound: bool,
    /// What the subject brings.
    pub under_test: &'a Controllers,
}

/// The objects of a namespace, by kind and name, and their indexes.
pub(super) struct View<'a> {
    pub(super) objects: &'a BTreeMap<Kind, BTreeMap<String, Object>>,
    pub(super) pods: &'a Pods,
    pub(super) sets: &'a Sets,
    /// What the subject's controller claims of a Deployment's status.
    pub(super) claims: Claims,
}

/// What does not hold, by the equation and the object's name.
#[derive(Debug, Default)]
pub(super) struct Balance {
    changed: BTreeSet<(Kind, String)>,
    unmet: BTreeMap<Equation, BTreeMap<String, String>>,
}

/// The equations that are kept, in the order in which they are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Equation {
    DeploymentKept,
    SetKept,
    SetLeftBehind,
    PodLeftBehind,
    Set,
    Size,
    Deployment,
    /// No equation, and not reported: settling has more patience while it does not hold.
    History,
}

impl Balance {
    /// The equations of this object may no longer hold, or hold again.
    pub(super) fn changed(&mut self, kind: Kind, name: &str) {
        self.changed.insert((kind, name.to_owned()));
    }

    /// The first equation that does not hold, the test environment's before the subject's.
    pub(super) fn unmet(&mut self, view: &View<'_>, question: Question<'_>) -> Option<Trouble> {
        self.catch_up(view);
        let Question { terminations, unbound, under_test } = question;
        let whose = |controller| if under_test.has(controller) { Blame::Subject } else { Blame::Environment };
        let mut suspects = view.pods.suspects().filter_map(|name| view.get(Kind::Pod, name));
        let node = suspects.find_map(|pod| equations::node(pod, terminations, unbound));
        let first = |equations: &[Equation]| {
            let unmet = equations.iter().filter_map(|equation| self.unmet.get(equation)?.values().next());
            unmet.map(String::clone).next()
        };
        let sets = [
            Equation::DeploymentKept,
            Equation::SetKept,
            Equation::SetLeftBehind,
            Equation::PodLeftBehind,
            Equation::Set,
        ];
        let sizes: &[Equation] = if under_test.has(Controller::ReplicaSet) { &[] } else { &[Equation::Size] };
        let found = [
            (Blame::Environment, node),
            (whose(Controller::ReplicaSet), first(&sets)),
            (Blame::Environment, first(sizes)),
            (whose(Controller::Deployment), first(&[Equation::Deployment])),
        ];
        let found = found.into_iter().filter_map(|(blame, why)| Some(Trouble::new(blame, why?)));
        found.min_by_key(|trouble| trouble.blame == Blame::Subject)
    }

    /// Whether a completed Deployment still has more empty old ReplicaSets than its history limit.
    pub(super) fn history_pending(&mut self, view: &View<'_>) -> bool {
        self.catch_up(view);
        self.unmet.get(&Equation::History).is_some_and(|pending| !pending.is_empty())
    }

    fn catch_up(&mut self, view: &View<'_>) {
        for (kind, name) in std::mem::take(&mut self.changed) {
            self.work_out(view, kind, &name);
        }
    }

    fn work_out(&mut self, view: &View<'_>, kind: Kind, name: &str) {
        let object = view.get(kind, name);
        match kind {
            Kind::Deployment => {
                let kept = object.and_then(|it| equations::kept(it, "deployment", view.has_sets(it)));
                self.note(Equation::DeploymentKept, name, kept);
                let summed = object.and_then(|it| equations::deployment(it, &view.sets_of(it), view.claims));
                self.note(Equation::Deployment, name, summed);
                let pending = object.is_some_and(|it| equations::history_pending(it, view.sets_of(it)));
                self.note(Equation::History, name, pending.then(String::new));
            }
            Kind::ReplicaSet => {
                let none = Owner::default();
                let pods = object.and_then(|set| view.pods.of(set.text("/metadata/uid"))).unwrap_or(&none);
                let is_there = |uid: &str| view.sets.deployment(uid).is_some();
                let kept = object.and_then(|it| equations::kept(it, "replicaset", pods.controlled > 0));
                self.note(Equation::SetKept, name, kept);
                let left = object.and_then(|it| equations::left_behind(it, "replicaset", "Deployment", is_there));
                self.note(Equation::SetLeftBehind, name, left);
                self.note(Equation::Set, name, object.and_then(|it| equations::replica_set(it, pods)));
                self.note(Equation::Size, name, object.and_then(equations::size));
            }
            Kind::Pod => {
                let is_there = |uid: &str| view.sets.named(uid).is_some();
                let left = object.and_then(|it| equations::left_behind(it, "pod", "ReplicaSet", is_there));
                self.note(Equation::PodLeftBehind, name, left);
            }
            Kind::Event | Kind::StatefulSet | Kind::DaemonSet | Kind::CronJob | Kind::Job | Kind::Rollout => {}
        }
    }

    fn note(&mut self, equation: Equation, name: &str, why: Option<String>) {
        let unmet = self.unmet.entry(equation).or_default();
        match why {
            Some(why) => drop(unmet.insert(name.to_owned(), why)),
            None => drop(unmet.remove(name)),
        }
    }
}

impl<'a> View<'a> {
    pub(super) fn get(&self, kind: Kind, name: &str) -> Option<&'a Object> {
        self.objects.get(&kind)?.get(name)
    }

    fn has_sets(&self, deployment: &Object) -> bool {
        self.sets.of(deployment.text("/metadata/uid")).next().is_some()
    }

    /// The ReplicaSets that a Deployment controls, by name.
    pub(super) fn sets_of(&self, deployment: &Object) -> impl Iterator<Item = &'a Object> + Clone {
        let sets = self.objects.get(&Kind::ReplicaSet);
        let names = self.sets.of(deployment.text("/metadata/uid"));
        names.filter_map(move |name| sets?.get(name))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rstest::rstest;
    use serde_json::{Value, json};

    use super::super::pods::PodState;
    use super::super::space::Space;
    use super::*;
    use crate::recording::Change;

    fn object(value: Value) -> Object {
        let name = value["metadata"]["name"].as_str().unwrap().to_owned();
        Object { name, first: 1, value: Arc::new(value) }
    }

    fn take(space: &mut Space, kind: Kind, object: &Object) {
        space.take(kind, Change::Modified, &object.name, object.first, Arc::clone(&object.value));
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

    const KINDS: [Kind; 3] = [Kind::Deployment, Kind::ReplicaSet, Kind::Pod];

    fn look(world: &[Vec<Object>; 3], under_test: &Controllers, unbound: bool) -> Option<Trouble> {
        let mut space = Space::default();
        for (kind, objects) in KINDS.into_iter().zip(world) {
            objects.iter().for_each(|object| take(&mut space, kind, object));
        }
        space.unmet(Question { terminations: Terminations::Auto, unbound, under_test })
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
            let found = look(&world, &under_test, false).unwrap();
            assert_eq!(found.blame, blame, "{found:?}");
        }
    }

    #[test]
    fn the_environments_own_comes_first() {
        let mut world = rest();
        change(&mut world[1], "/status/observedGeneration", json!(0));
        change(&mut world[0], "/status/observedGeneration", json!(1));
        let under_test = "replicaset".parse().unwrap();
        let found = look(&world, &under_test, false).unwrap();
        assert!(found.blame == Blame::Environment && found.why.contains("deployment/web"), "{found:?}");
    }

    #[test]
    fn a_pod_that_the_case_leaves_without_a_node_may_stay_so() {
        let mut world = rest();
        change(&mut world[2], "/spec/nodeName", json!(""));
        assert!(look(&world, &Controllers::default(), true).is_none());
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
        let found = look(&world, &Controllers::default(), false);
        match (found, expected) {
            (None, None) => {}
            (Some(trouble), Some((blame, words))) => {
                assert_eq!(trouble.blame, blame, "{trouble:?}");
                assert!(trouble.why.contains(words), "{trouble:?}");
            }
            (found, expected) => panic!("{found:?} instead of {expected:?}"),
        }
    }

    /// What may become of an object: it is not there, or it is in one of a few states.
    fn state(kind: Kind, number: usize, state: u8) -> Option<Value> {
        let owners = |kind: &str, uid: String| json!([{"kind": kind, "uid": uid, "controller": state != 6}]);
        let status = |all: i64, ready: i64| json!({"observedGeneration": 1, "replicas": all, "readyReplicas": ready, "availableReplicas": ready});
        let metadata = json!({"name": format!("o{number}"), "uid": format!("{kind}-{number}-{}", state / 4), "generation": 1,
            "deletionTimestamp": (state % 4 == 3).then_some("2026-01-01T00:00:00Z"),
            "finalizers": if state % 2 == 1 { json!(["foregroundDeletion"]) } else { Value::Null }, "labels": {"app": number % 2}});
        let mut value = match kind {
            Kind::Deployment => {
                json!({"metadata": metadata, "spec": {"replicas": state % 3, "revisionHistoryLimit": 0},
                    "status": status(i64::from(state % 3), i64::from(state % 2))})
            }
            Kind::ReplicaSet => {
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
        /// What is kept up to date with each change is what a first look would find.
        #[test]
        fn a_balance_that_is_kept_is_as_a_new_one(
            changes in proptest::collection::vec((0..3_usize, 0..4_usize, 0..9_u8, proptest::bool::ANY), 1..60)
        ) {
            let (mut kept, mut there) = (Space::default(), BTreeMap::new());
            let under_test = "deployment".parse().unwrap();
            let question = Question { terminations: Terminations::Auto, unbound: false, under_test: &under_test };
            let states = [PodState::Unready, PodState::Ready, PodState::Deleting];
            for (rv, (kind, number, now, asks)) in (1..).zip(changes) {
                let (kind, name) = (KINDS[kind], format!("o{number}"));
                match state(kind, number, now) {
                    Some(value) => {
                        let value = Arc::new(value);
                        kept.take(kind, Change::Modified, &name, rv, Arc::clone(&value));
                        let first = there.get(&(kind, name.clone())).map_or(rv, |(first, _)| *first);
                        there.insert((kind, name), (first, value));
                    }
                    None => {
                        kept.take(kind, Change::Deleted, &name, rv, Arc::default());
                        there.remove(&(kind, name));
                    }
                }
                if !asks {
                    continue;
                }
                let mut new = Space::default();
                for ((kind, name), (first, value)) in &there {
                    new.take(*kind, Change::Added, name, *first, Arc::clone(value));
                }
                proptest::prop_assert_eq!(kept.unmet(question), new.unmet(question));
                proptest::prop_assert_eq!(kept.history_pending(), new.history_pending());
                let names = |space: &Space, most| -> Vec<_> {
                    space.next_pods(&states, None, most).into_iter().map(|pod| pod.name).collect()
                };
                let all = names(&kept, usize::MAX);
                proptest::prop_assert_eq!(&all, &names(&new, usize::MAX));
                proptest::prop_assert_eq!(all.get(..1).unwrap_or_default(), &names(&kept, 1)[..]);
                proptest::prop_assert_eq!(kept.has_several_in_use(), new.has_several_in_use());
            }
        }
    }
}
