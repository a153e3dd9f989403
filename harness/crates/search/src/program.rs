//! A case as the search generates it.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockstep_case::{Case, parse};

use super::initial::{Focus, InitialDeployment, OwnedSets};
use super::op::{CaseWriter, DeploymentWrite, Disruption, Op, PodEdit, letter};
use super::pod_profile::{NODE, PodProfile};

/// A program: Deployments or ReplicaSets with ready pods, and steps.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CaseProgram {
    /// Which controllers' decisions are compared.
    pub focus: Focus,
    /// Whether only the case binds pods to nodes: `bindings: held`. The pods are not ready
    /// initially then, since a pod that becomes ready is bound to a node and stays there.
    pub unbound: bool,
    /// Whether deleted pods remain until the case terminates them: `terminations: held`.
    pub lingering: bool,
    /// Which ReplicaSets of a program without Deployments have an owner.
    pub family: OwnedSets,
    /// Whether the pods of such a ReplicaSet have a sidecar.
    pub sidecar: bool,
    /// Whether the names of Deployments leave no room for the hash in the names of their
    /// ReplicaSets.
    pub long_names: bool,
    /// `web`, and `api` if there are two. For a ReplicaSet only replicas and minReadySeconds
    /// matter.
    pub deployments: Vec<InitialDeployment>,
    /// The steps.
    pub steps: Vec<ProgramStep>,
}

/// An operation, and what goes wrong in its middle.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProgramStep {
    /// The operation.
    pub op: Op,
    /// What goes wrong.
    pub disruption: Option<Disruption>,
}

impl From<Op> for ProgramStep {
    fn from(op: Op) -> Self {
        Self { op, disruption: None }
    }
}

impl CaseProgram {
    /// The text of the case file.
    #[must_use]
    pub fn text(&self, description: &str) -> String {
        let mut text = format!("description: {description}\n");
        match self.focus {
            Focus::Deployment => {}
            Focus::ReplicaSet => text += "controllers: [replicaset]\n",
            Focus::Both => text += "controllers: [deployment, replicaset]\n",
        }
        if self.unbound {
            text += "bindings: held\n";
        }
        if self.lingering {
            text += "terminations: held\n";
        }
        text += "given:\n";
        let only_sets = self.focus == Focus::ReplicaSet;
        if only_sets && self.family != OwnedSets::None {
            text += "  - apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: family}}\n";
        }
        for (at, deployment) in self.deployments.iter().enumerate() {
            let created = match self.focus {
                Focus::ReplicaSet => deployment.creation_of_set(at, self.family.has(at), self.sidecar),
                Focus::Deployment | Focus::Both => deployment.creation(at, self.long_names),
            };
            text += &format!("  - {created}\n");
        }
        if !self.unbound {
            text += "  - ready: {pods: all, atomic: true}\n";
        }
        text += "steps:\n";
        let mut words = self.words();
        for step in &self.steps {
            let (before, op, after) = words.lines(&step.op);
            before.iter().for_each(|line| text += &format!("  - {line}\n"));
            text += &format!("  - {op}\n");
            if let Some(disruption) = &step.disruption {
                text += &format!("    {}\n", disruption.text(&mut words));
            }
            after.iter().for_each(|line| text += &format!("  - {line}\n"));
        }
        text
    }

    fn words(&self) -> CaseWriter<'_> {
        CaseWriter::new(self.focus, self.long_names, &self.deployments)
    }

    /// The case, if it is valid: a step must not refer to objects that cannot exist, such as a pod
    /// of zero replicas.
    #[must_use]
    pub fn case(&self) -> Option<Arc<Case>> {
        if !self.is_accepted() {
            return None;
        }
        parse("found/program.yaml", "found/program", &self.text("A random program.")).ok().map(Arc::new)
    }

    /// Whether kubectl and the API server accept all of it: a paused Deployment cannot be paused,
    /// restarted or undone, only a paused one can be resumed, and a deadline must be longer than
    /// minReadySeconds.
    fn is_accepted(&self) -> bool {
        let mut state = self.deployments.iter().map(|it| (false, it.deadline.unwrap_or(600), it.min_ready));
        let mut state: Vec<(bool, u32, u32)> = state.by_ref().collect();
        let in_time = |&(_, deadline, min_ready): &(bool, u32, u32)| deadline > min_ready;
        if !state.iter().all(in_time) {
            return false;
        }
        let ops = self.steps.iter().flat_map(ProgramStep::ops);
        ops.flat_map(Op::parts).all(|op| {
            let Op::Write(at, write) = op else { return true };
            let Some(state) = state.get_mut(*at) else { return false };
            match write {
                DeploymentWrite::Pause => !std::mem::replace(&mut state.0, true),
                DeploymentWrite::Resume => std::mem::replace(&mut state.0, false),
                DeploymentWrite::Restart | DeploymentWrite::Undo(_) => !state.0,
                DeploymentWrite::Deadline(seconds) => {
                    state.1 = *seconds;
                    in_time(state)
                }
                DeploymentWrite::MinReady(seconds) => {
                    state.2 = *seconds;
                    in_time(state)
                }
                _ => true,
            }
        })
    }

    /// The number of the case's step, from 1, for each step of the program.
    #[must_use]
    pub(crate) fn numbers(&self) -> Vec<u32> {
        let mut words = self.words();
        let mut next = 1;
        let number = |step: &ProgramStep| {
            let (before, _, after) = words.lines(&step.op);
            let length = |lines: Vec<String>| u32::try_from(lines.len()).unwrap_or(u32::MAX);
            let own = next + length(before);
            next = own + 1 + length(after);
            own
        };
        self.steps.iter().map(number).collect()
    }

    /// The traits in which two pods differ, as a case calls them; a pod without a name has none.
    /// Nodes differ by their numbers of pods of the pods' own ReplicaSet, and of others.
    #[must_use]
    pub(crate) fn differing_traits(&self, one: Option<&str>, two: Option<&str>) -> Vec<&'static str> {
        let all = self.named_pods();
        let of = |name: Option<&str>| name.and_then(|name| all.get(name)).cloned().unwrap_or_default();
        let [(set, one), (_, two)] = [of(one), of(two)];
        let mut traits = one.differing_traits(&two);
        if let Some(at) = traits.iter().position(|name| *name == NODE) {
            let beside = |pod: &PodProfile, is_own: bool| {
                let there = all.values().filter(|(of, peer)| (*of == set) == is_own && peer.node == pod.node);
                there.count()
            };
            let differ = |is_own| beside(&one, is_own) != beside(&two, is_own);
            let crowds = [("ownPodsOnNode", differ(true)), ("othersOnNode", differ(false))];
            let crowds: Vec<_> = crowds.into_iter().filter(|(_, differ)| *differ).map(|(name, _)| name).collect();
            if !crowds.is_empty() {
                traits.splice(at..=at, crowds);
            }
        }
        traits
    }

    /// The named pods: their ReplicaSet, and their final traits.
    fn named_pods(&self) -> BTreeMap<String, (u32, PodProfile)> {
        let mut all: Vec<(u32, PodProfile)> = Vec::new();
        for op in self.steps.iter().flat_map(ProgramStep::ops).flat_map(Op::parts) {
            match op {
                Op::Name(set, pods) => all.extend(pods.iter().map(|pod| (*set, pod.clone()))),
                Op::Pod(pod, PodEdit::Cost(cost)) => {
                    let pod = usize::try_from(*pod).ok().and_then(|pod| all.get_mut(pod));
                    pod.into_iter().for_each(|(_, pod)| pod.cost = Some(*cost));
                }
                _ => {}
            }
        }
        (0..).map(|pod| letter(pod).to_string()).zip(all).collect()
    }

    /// The number of its operations.
    #[must_use]
    pub fn size(&self) -> usize {
        self.steps.iter().map(|step| usize::from(step.disruption.is_some()) + step.ops().count()).sum()
    }
}

impl ProgramStep {
    /// Its operation, and the one in its middle.
    pub(super) fn ops(&self) -> impl Iterator<Item = &Op> {
        std::iter::once(&self.op).chain(self.disruption.as_ref().and_then(Disruption::op))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod_profile::PodReadiness;
    use crate::{Areas, generate};

    fn of_sets(steps: Vec<Op>) -> CaseProgram {
        let mut chance = kube_apimachinery::SeededRng::new(1);
        let drawn = generate(Focus::ReplicaSet, &Areas::only(&[]), &mut chance);
        let deployments = vec![InitialDeployment { replicas: 3, ..drawn.deployments[0].clone() }; 2];
        let steps = steps.into_iter().map(ProgramStep::from).collect();
        CaseProgram { unbound: true, family: OwnedSets::All, sidecar: false, deployments, steps, ..drawn }
    }

    #[test]
    fn compares_the_final_traits_of_two_pods() {
        let on = |node: u32, ready: PodReadiness| PodProfile {
            node: Some(node),
            ready: Some(ready),
            ..PodProfile::default()
        };
        let named =
            Op::Name(1, vec![on(1, PodReadiness::For(7200)), on(2, PodReadiness::For(10)), on(0, PodReadiness::No)]);
        let program = of_sets(vec![named, Op::Pod(0, PodEdit::Cost(5))]);
        assert_eq!(program.differing_traits(Some("a"), Some("b")), ["node", "deletionCost", "readySince"]);
        assert_eq!(program.differing_traits(Some("b"), Some("c")), ["binding", "ready"]);
        assert_eq!(program.differing_traits(Some("c"), None), ["ready"]);
        assert!(program.differing_traits(Some("a"), Some("a")).is_empty());
    }

    #[test]
    fn nodes_differ_by_their_other_pods() {
        let on = |nodes: &[u32]| {
            nodes.iter().map(|node| PodProfile { node: Some(*node), ..PodProfile::default() }).collect()
        };
        let crowd_traits = |own: &[u32], foreign: &[u32]| {
            let program = of_sets(vec![Op::Name(1, on(own)), Op::Name(2, on(foreign))]);
            program.differing_traits(Some("a"), Some("b"))
        };
        assert_eq!(crowd_traits(&[1, 2], &[1, 2]), ["node"]);
        assert_eq!(crowd_traits(&[1, 2, 2], &[]), ["ownPodsOnNode"]);
        assert_eq!(crowd_traits(&[1, 2], &[2]), ["othersOnNode"]);
        assert_eq!(crowd_traits(&[1, 2, 2], &[1]), ["ownPodsOnNode", "othersOnNode"]);
        assert!(crowd_traits(&[1, 1], &[2]).is_empty());
    }

    #[test]
    fn siblings_have_an_owner() {
        let program = of_sets(vec![Op::Write(0, DeploymentWrite::Scale(1))]);
        let owned =
            |family| CaseProgram { family, ..program.clone() }.text("x").matches("owner: configmap/family}").count();
        assert_eq!([OwnedSets::None, OwnedSets::First, OwnedSets::All].map(owned), [0, 1, 2]);
        assert!(program.case().is_some());
        let with_sidecar = CaseProgram { sidecar: true, ..program };
        assert_eq!(with_sidecar.text("x").matches("kind: ConfigMap, name: family, controller: true").count(), 2);
        assert!(with_sidecar.case().is_some(), "{}", with_sidecar.text("x"));
    }

    #[test]
    fn pods_that_the_case_binds_start_unbound() {
        let program = of_sets(vec![Op::Write(0, DeploymentWrite::Scale(1))]);
        assert!(!program.text("x").contains("ready:"));
        assert!(CaseProgram { unbound: false, ..program }.text("x").contains("ready: {pods: all, atomic: true}"));
    }
}
