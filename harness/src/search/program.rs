//! A case as the search writes it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::given::{About, Deployment, Family};
use super::op::{Op, ToPod, Words, Write, letter};
use super::traits::{NODE, Traits};
use super::trouble::Trouble;
use crate::case::{Case, parse};

/// A program: Deployments or a ReplicaSet whose pods are ready, and steps.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Program {
    /// Whose decisions are compared.
    pub about: About,
    /// Whether pods get nodes from the case alone: `bindings: held`. They are not ready at the
    /// start then, since a pod that becomes ready is given a node, and keeps it.
    pub unbound: bool,
    /// Whether pods that are deleted stay until the case ends them: `terminations: held`.
    pub lingering: bool,
    /// Which ReplicaSets of a program without Deployments have an owner.
    pub family: Family,
    /// Whether the pods of such a ReplicaSet have a sidecar.
    pub sidecar: bool,
    /// Whether the names of Deployments leave no room for the hash in those of their ReplicaSets.
    pub long_names: bool,
    /// `web`, and `api` where there are two. Of a ReplicaSet only replicas and minReadySeconds
    /// count.
    pub deployments: Vec<Deployment>,
    /// What happens.
    pub steps: Vec<Step>,
}

/// An operation, and what goes wrong meanwhile.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step {
    /// The operation.
    pub op: Op,
    /// What goes wrong.
    pub trouble: Option<Trouble>,
}

impl From<Op> for Step {
    fn from(op: Op) -> Self {
        Self { op, trouble: None }
    }
}

impl Program {
    /// The case's file.
    #[must_use]
    pub fn text(&self, description: &str) -> String {
        let mut text = format!("description: {description}\n");
        match self.about {
            About::Deployment => {}
            About::ReplicaSet => text += "controllers: [replicaset]\n",
            About::Both => text += "controllers: [deployment, replicaset]\n",
        }
        if self.unbound {
            text += "bindings: held\n";
        }
        if self.lingering {
            text += "terminations: held\n";
        }
        text += "given:\n";
        let only_sets = self.about == About::ReplicaSet;
        if only_sets && self.family != Family::None {
            text += "  - apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: family}}\n";
        }
        for (at, deployment) in self.deployments.iter().enumerate() {
            let created = match self.about {
                About::ReplicaSet => deployment.creation_of_set(at, self.family.has(at), self.sidecar),
                About::Deployment | About::Both => deployment.creation(at, self.long_names),
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
            if let Some(trouble) = &step.trouble {
                text += &format!("    {}\n", trouble.text(&mut words));
            }
            after.iter().for_each(|line| text += &format!("  - {line}\n"));
        }
        text
    }

    fn words(&self) -> Words<'_> {
        Words::new(self.about, self.long_names, &self.deployments)
    }

    /// The case, if it is one: no step may ask for what cannot be there, such as a pod of no
    /// replicas.
    #[must_use]
    pub fn case(&self) -> Option<Arc<Case>> {
        if !self.is_accepted() {
            return None;
        }
        parse("found/program.yaml", "found/program", &self.text("A random program.")).ok().map(Arc::new)
    }

    /// Whether kubectl and the API server would do all of it: what is paused cannot be paused,
    /// restarted or undone, only that can be resumed, and a deadline has to be later than
    /// minReadySeconds.
    fn is_accepted(&self) -> bool {
        let mut state = self.deployments.iter().map(|it| (false, it.deadline.unwrap_or(600), it.min_ready));
        let mut state: Vec<(bool, u32, u32)> = state.by_ref().collect();
        let in_time = |&(_, deadline, min_ready): &(bool, u32, u32)| deadline > min_ready;
        if !state.iter().all(in_time) {
            return false;
        }
        let ops = self.steps.iter().flat_map(Step::ops);
        ops.flat_map(Op::parts).all(|op| {
            let Op::Write(at, write) = op else { return true };
            let Some(state) = state.get_mut(*at) else { return false };
            match write {
                Write::Pause => !std::mem::replace(&mut state.0, true),
                Write::Resume => std::mem::replace(&mut state.0, false),
                Write::Restart | Write::Undo(_) => !state.0,
                Write::Deadline(seconds) => {
                    state.1 = *seconds;
                    in_time(state)
                }
                Write::MinReady(seconds) => {
                    state.2 = *seconds;
                    in_time(state)
                }
                _ => true,
            }
        })
    }

    /// The number of the case's step, from 1, for each of the program's own.
    #[must_use]
    pub fn numbers(&self) -> Vec<u32> {
        let mut words = self.words();
        let mut next = 1;
        let number = |step: &Step| {
            let (before, _, after) = words.lines(&step.op);
            let length = |lines: Vec<String>| u32::try_from(lines.len()).unwrap_or(u32::MAX);
            let own = next + length(before);
            next = own + 1 + length(after);
            own
        };
        self.steps.iter().map(number).collect()
    }

    /// In which traits two pods differ, as a case calls them; one without a name has none. Of the
    /// node it is said by what two nodes differ: how many pods of the pods' own ReplicaSet are
    /// there, and how many of another.
    #[must_use]
    pub fn apart(&self, one: Option<&str>, two: Option<&str>) -> Vec<&'static str> {
        let all = self.named();
        let of = |name: Option<&str>| name.and_then(|name| all.get(name)).cloned().unwrap_or_default();
        let [(set, one), (_, two)] = [of(one), of(two)];
        let mut apart = one.apart(&two);
        if let Some(at) = apart.iter().position(|name| *name == NODE) {
            let beside = |pod: &Traits, is_own: bool| {
                let there = all.values().filter(|(of, other)| (*of == set) == is_own && other.node == pod.node);
                there.count()
            };
            let differ = |is_own| beside(&one, is_own) != beside(&two, is_own);
            let crowds = [("ownPodsOnNode", differ(true)), ("othersOnNode", differ(false))];
            let crowds: Vec<_> = crowds.into_iter().filter(|(_, differ)| *differ).map(|(name, _)| name).collect();
            if !crowds.is_empty() {
                apart.splice(at..=at, crowds);
            }
        }
        apart
    }

    /// The named pods: of which ReplicaSet each is, and its traits, as they are in the end.
    fn named(&self) -> BTreeMap<String, (u32, Traits)> {
        let mut all: Vec<(u32, Traits)> = Vec::new();
        for op in self.steps.iter().flat_map(Step::ops).flat_map(Op::parts) {
            match op {
                Op::Name(set, pods) => all.extend(pods.iter().map(|pod| (*set, pod.clone()))),
                Op::Pod(pod, ToPod::Cost(cost)) => {
                    let pod = usize::try_from(*pod).ok().and_then(|pod| all.get_mut(pod));
                    pod.into_iter().for_each(|(_, pod)| pod.cost = Some(*cost));
                }
                _ => {}
            }
        }
        (0..).map(|pod| letter(pod).to_string()).zip(all).collect()
    }

    /// How many operations it has.
    #[must_use]
    pub fn size(&self) -> usize {
        self.steps.iter().map(|step| usize::from(step.trouble.is_some()) + step.ops().count()).sum()
    }
}

impl Step {
    /// Its operation, and that in the middle of it.
    pub(super) fn ops(&self) -> impl Iterator<Item = &Op> {
        std::iter::once(&self.op).chain(self.trouble.as_ref().and_then(Trouble::op))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::{Areas, Ready, generate};

    fn of_sets(steps: Vec<Op>) -> Program {
        let mut chance = kube_apiserver_sim::Chance::new(1);
        let drawn = generate(About::ReplicaSet, &Areas::only(&[]), &mut chance);
        let deployments = vec![Deployment { replicas: 3, ..drawn.deployments[0].clone() }; 2];
        let steps = steps.into_iter().map(Step::from).collect();
        Program { unbound: true, family: Family::All, sidecar: false, deployments, steps, ..drawn }
    }

    #[test]
    fn the_traits_tell_two_pods_apart_as_they_are_in_the_end() {
        let on = |node: u32, ready: Ready| Traits { node: Some(node), ready: Some(ready), ..Traits::default() };
        let named = Op::Name(1, vec![on(1, Ready::For(7200)), on(2, Ready::For(10)), on(0, Ready::No)]);
        let program = of_sets(vec![named, Op::Pod(0, ToPod::Cost(5))]);
        assert_eq!(program.apart(Some("a"), Some("b")), ["node", "deletionCost", "readySince"]);
        assert_eq!(program.apart(Some("b"), Some("c")), ["binding", "ready"]);
        assert_eq!(program.apart(Some("c"), None), ["ready"]);
        assert!(program.apart(Some("a"), Some("a")).is_empty());
    }

    #[test]
    fn nodes_differ_by_who_else_is_there() {
        let on = |nodes: &[u32]| nodes.iter().map(|node| Traits { node: Some(*node), ..Traits::default() }).collect();
        let apart = |own: &[u32], others: &[u32]| {
            let program = of_sets(vec![Op::Name(1, on(own)), Op::Name(2, on(others))]);
            program.apart(Some("a"), Some("b"))
        };
        assert_eq!(apart(&[1, 2], &[1, 2]), ["node"]);
        assert_eq!(apart(&[1, 2, 2], &[]), ["ownPodsOnNode"]);
        assert_eq!(apart(&[1, 2], &[2]), ["othersOnNode"]);
        assert_eq!(apart(&[1, 2, 2], &[1]), ["ownPodsOnNode", "othersOnNode"]);
        assert!(apart(&[1, 1], &[2]).is_empty());
    }

    #[test]
    fn siblings_have_an_owner() {
        let program = of_sets(vec![Op::Write(0, Write::Scale(1))]);
        let owned =
            |family| Program { family, ..program.clone() }.text("x").matches("owner: configmap/family}").count();
        assert_eq!([Family::None, Family::First, Family::All].map(owned), [0, 1, 2]);
        assert!(program.case().is_some());
        let with_sidecar = Program { sidecar: true, ..program };
        assert_eq!(with_sidecar.text("x").matches("kind: ConfigMap, name: family, controller: true").count(), 2);
        assert!(with_sidecar.case().is_some(), "{}", with_sidecar.text("x"));
    }

    #[test]
    fn pods_that_get_nodes_from_the_case_have_none_before() {
        let program = of_sets(vec![Op::Write(0, Write::Scale(1))]);
        assert!(!program.text("x").contains("ready:"));
        assert!(Program { unbound: false, ..program }.text("x").contains("ready: {pods: all, atomic: true}"));
    }
}
