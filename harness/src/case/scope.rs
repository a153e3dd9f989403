//! Who plays in a case: the Deployments and other workloads that its steps make, and what is known
//! of them on the way from step to step. Steps that name no Deployment mean the only one.

use std::collections::BTreeSet;

use super::finding::Report;
use super::nearest::did_you_mean;
use super::operations;
use super::read;
use super::tree::{Kind, Node};

/// Kinds that a controller can have something to do with.
const WORKLOADS: [&str; 7] = ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "CronJob", "Job", "Rollout"];

/// The scope of one case.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// Every Deployment that some step makes.
    deployments: BTreeSet<String>,
    /// Every ReplicaSet that some step makes.
    replica_sets: BTreeSet<String>,
    /// The names that pods have been given by the steps read so far.
    pub(super) pods: BTreeSet<String>,
    /// The labels of the steps read so far.
    pub(super) labels: BTreeSet<String>,
    /// Those that the steps read so far have made.
    on_stage: BTreeSet<String>,
    /// Whether some step makes a Deployment whose name cannot be read: then it is not known who is
    /// missing.
    unreadable: bool,
    /// Whether any step makes a workload.
    pub(super) any_workload: bool,
    /// Whether a step read so far may have given a Deployment a second template.
    pub(super) retemplated: bool,
}

impl Scope {
    /// Look through all steps for the objects that they make.
    pub(super) fn of(lists: &[Option<&Node>]) -> Self {
        let mut scope = Self::default();
        lists.iter().flatten().for_each(|list| scope.look_through(list));
        scope
    }

    /// Look through a list of steps. What an operation makes, it announces itself.
    pub(super) fn look_through(&mut self, list: &Node) {
        let Kind::List(steps) = &list.kind else { return };
        for step in steps.iter().filter(|step| step.get("refused").is_none()) {
            for form in operations::ALL {
                step.get(form.name).into_iter().for_each(|value| (form.announce)(self, value));
            }
            let within = step.get("during").and_then(|during| during.get("do"));
            within.into_iter().for_each(|inner| self.look_through(inner));
        }
    }

    /// Some step makes an object of this kind and name.
    pub(super) fn announce(&mut self, kind: Option<&str>, name: Option<&str>) {
        let name = name.map(str::to_owned);
        match kind {
            Some("Deployment") => self.deployments.extend(name),
            Some("ReplicaSet") => self.replica_sets.extend(name),
            _ => {}
        }
        self.any_workload |= kind.is_some_and(|kind| WORKLOADS.contains(&kind));
    }

    /// Some step makes a Deployment by the short form.
    pub(super) fn announce_deployment(&mut self, name: Option<&str>) {
        self.unreadable |= name.is_none();
        self.announce(Some("Deployment"), name);
    }

    /// A step makes this Deployment, or makes it anew.
    pub(super) fn enter(&mut self, name: &str) {
        self.retemplated |= !self.on_stage.insert(name.to_owned());
    }

    /// The Deployment that a step means: the one that it names, else the only one. `step` is where
    /// a finding points if it names none.
    pub(super) fn meant(&self, named: Option<&Node>, step: &Node, report: &mut Report) -> Option<String> {
        match named {
            Some(node) => self.named(node, report),
            None => self.only(step, report),
        }
    }

    /// A Deployment by its name.
    pub(super) fn named(&self, node: &Node, report: &mut Report) -> Option<String> {
        let name = read::text(node, "a Deployment's name", report)?;
        self.known(name, node, report).then(|| name.to_owned())
    }

    /// Whether a Deployment of this name has been made; a finding if not.
    pub(super) fn known(&self, name: &str, node: &Node, report: &mut Report) -> bool {
        let known = self.on_stage.contains(name);
        if self.deployments.contains(name) && !known {
            report.add(node, format!("Deployment `{name}` does not exist yet"), "a later step makes it");
        } else if !known {
            let hint = did_you_mean(name, self.deployments.iter().map(String::as_str))
                .unwrap_or_else(|| format!("the case makes {}", self.list()));
            report.add(node, format!("unknown Deployment `{name}`"), hint);
        }
        known
    }

    /// A ReplicaSet that a step names: one that the case makes, or `rs2`, the second to appear.
    pub(super) fn named_set(&self, node: &Node, report: &mut Report) -> Option<String> {
        let name = read::text(node, "a ReplicaSet's name", report)?;
        let by_number = name.strip_prefix("rs").is_some_and(|rest| rest.parse::<u32>().is_ok_and(|number| number > 0));
        if by_number || self.replica_sets.contains(name) {
            return Some(name.to_owned());
        }
        let hint = did_you_mean(name, self.replica_sets.iter().map(String::as_str).chain(["rs1", "rs2"]))
            .unwrap_or_else(|| "one that the case makes, or `rs1` for the first that appears".to_owned());
        report.add(node, format!("unknown ReplicaSet `{name}`"), hint);
        None
    }

    /// The only ReplicaSet of a case without Deployments.
    pub(super) fn only_set(&self) -> Option<String> {
        let only = self.deployments.is_empty() && self.replica_sets.len() == 1;
        self.replica_sets.first().filter(|_| only).cloned()
    }

    /// Whether a case without Deployments has more than one ReplicaSet.
    pub(super) fn several_sets(&self) -> bool {
        self.deployments.is_empty() && self.replica_sets.len() > 1
    }

    /// Whether there is more than one.
    pub(super) fn several(&self) -> bool {
        self.deployments.len() > 1
    }

    fn only(&self, step: &Node, report: &mut Report) -> Option<String> {
        let mut names = self.deployments.iter();
        match (names.next(), names.next()) {
            (Some(only), None) => self.known(only, step, report).then(|| only.clone()),
            (None, _) if self.unreadable => None,
            (None, _) if !self.replica_sets.is_empty() => {
                let names: Vec<&str> = self.replica_sets.iter().map(String::as_str).collect();
                report.add(
                    step,
                    "the step does not say which ReplicaSet",
                    format!("name one of {}", read::list(&names)),
                );
                None
            }
            (None, _) => {
                report.add(step, "the case has no Deployment", "make one under `given` first");
                None
            }
            (Some(_), Some(_)) => {
                report.add(step, "the step does not say which Deployment", format!("name one of {}", self.list()));
                None
            }
        }
    }

    fn list(&self) -> String {
        let names: Vec<&str> = self.deployments.iter().map(String::as_str).collect();
        if names.is_empty() { "no Deployment".to_owned() } else { read::list(&names) }
    }
}
