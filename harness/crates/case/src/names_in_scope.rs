//! Tracks the Deployments and other workloads that a case's steps create, from step to step. Steps
//! that name no Deployment mean the only one.

use std::collections::BTreeSet;

use super::diagnostics::{DiagnosticCollector, did_you_mean};
use super::read;
use super::yaml::YamlNode;

/// Kinds that a controller under test may concern.
const WORKLOADS: [&str; 7] = ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "CronJob", "Job", "Rollout"];

/// The names that a case knows.
#[derive(Debug, Default)]
pub(super) struct NamesInScope {
    /// Deployments that any step creates.
    deployments: BTreeSet<String>,
    /// ReplicaSets that any step creates.
    replica_sets: BTreeSet<String>,
    /// Names of pods that the steps read so far have given.
    pub(super) pods: BTreeSet<String>,
    /// The labels of the steps read so far.
    pub(super) labels: BTreeSet<String>,
    /// Deployments that the steps read so far have created.
    created: BTreeSet<String>,
    /// Whether a step creates a Deployment whose name cannot be read; then a missing Deployment is
    /// not reported.
    has_unreadable_name: bool,
    /// Whether any step creates a workload.
    pub(super) has_workload: bool,
    /// Whether a step read so far may have given a Deployment a second template.
    pub(super) has_template_change: bool,
}

impl NamesInScope {
    /// Declares that a step creates an object of this kind and name.
    pub(super) fn declare(&mut self, kind: Option<&str>, name: Option<&str>) {
        let name = name.map(str::to_owned);
        match kind {
            Some("Deployment") => self.deployments.extend(name),
            Some("ReplicaSet") => self.replica_sets.extend(name),
            _ => {}
        }
        self.has_workload |= kind.is_some_and(|kind| WORKLOADS.contains(&kind));
    }

    /// Declares that a step creates a Deployment by the short form.
    pub(super) fn declare_deployment(&mut self, name: Option<&str>) {
        self.has_unreadable_name |= name.is_none();
        self.declare(Some("Deployment"), name);
    }

    /// Records that a step creates or changes this Deployment.
    pub(super) fn mark_created(&mut self, name: &str) {
        self.has_template_change |= !self.created.insert(name.to_owned());
    }

    /// Returns the Deployment of a step: the one that it names, else the only one. Problems are
    /// reported at `step` if it names none.
    pub(super) fn resolve_deployment(
        &self,
        name: Option<&YamlNode>,
        step: &YamlNode,
        report: &mut DiagnosticCollector,
    ) -> Option<String> {
        match name {
            Some(node) => self.deployment_named(node, report),
            None => self.only_deployment(step, report),
        }
    }

    /// Returns the Deployment that a node names.
    pub(super) fn deployment_named(&self, node: &YamlNode, report: &mut DiagnosticCollector) -> Option<String> {
        let name = read::text(node, "a Deployment's name", report)?;
        self.check_created(name, node, report).then(|| name.to_owned())
    }

    /// Whether a Deployment of this name has been created; reports a problem if not.
    pub(super) fn check_created(&self, name: &str, node: &YamlNode, report: &mut DiagnosticCollector) -> bool {
        let known = self.created.contains(name);
        if self.deployments.contains(name) && !known {
            report.add(node, format!("Deployment `{name}` does not exist yet"), "a later step makes it");
        } else if !known {
            let hint = did_you_mean(name, self.deployments.iter().map(String::as_str))
                .unwrap_or_else(|| format!("the case makes {}", self.describe_deployments()));
            report.add(node, format!("unknown Deployment `{name}`"), hint);
        }
        known
    }

    /// Returns the ReplicaSet that a node names: one that the case creates, or `rs2`, the second to
    /// appear.
    pub(super) fn replica_set_named(&self, node: &YamlNode, report: &mut DiagnosticCollector) -> Option<String> {
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

    /// Returns the name of a pod that an earlier step has named.
    pub(super) fn pod_named(&self, node: &YamlNode, report: &mut DiagnosticCollector) -> Option<String> {
        let name = read::name(node, "a pod's name", report)?;
        if self.pods.contains(&name) {
            return Some(name);
        }
        report.add(node, format!("no pod is called `{name}`"), "name it in a step before: `pods: {name: {…}}`");
        None
    }

    /// Returns the only ReplicaSet of a case without Deployments.
    pub(super) fn only_replica_set(&self) -> Option<String> {
        let only = self.deployments.is_empty() && self.replica_sets.len() == 1;
        self.replica_sets.first().filter(|_| only).cloned()
    }

    /// Whether a case without Deployments has several ReplicaSets.
    pub(super) fn has_several_replica_sets(&self) -> bool {
        self.deployments.is_empty() && self.replica_sets.len() > 1
    }

    /// Whether the case has several Deployments.
    pub(super) fn has_several_deployments(&self) -> bool {
        self.deployments.len() > 1
    }

    fn only_deployment(&self, step: &YamlNode, report: &mut DiagnosticCollector) -> Option<String> {
        let mut names = self.deployments.iter();
        match (names.next(), names.next()) {
            (Some(only), None) => self.check_created(only, step, report).then(|| only.clone()),
            (None, _) if self.has_unreadable_name => None,
            (None, _) if !self.replica_sets.is_empty() => {
                let names: Vec<&str> = self.replica_sets.iter().map(String::as_str).collect();
                report.add(
                    step,
                    "the step does not say which ReplicaSet",
                    format!("name one of {}", read::join_quoted(&names)),
                );
                None
            }
            (None, _) => {
                report.add(step, "the case has no Deployment", "make one under `given` first");
                None
            }
            (Some(_), Some(_)) => {
                report.add(
                    step,
                    "the step does not say which Deployment",
                    format!("name one of {}", self.describe_deployments()),
                );
                None
            }
        }
    }

    fn describe_deployments(&self) -> String {
        let names: Vec<&str> = self.deployments.iter().map(String::as_str).collect();
        if names.is_empty() { "no Deployment".to_owned() } else { read::join_quoted(&names) }
    }
}
