//! The initial state of a program: its focus and its Deployments.

use std::fmt::{Display, Formatter};

use lockstep_recording::controllers::{Controller, ControllerSet};

/// Which controllers' decisions a program tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Focus {
    /// The Deployment controller's.
    Deployment,
    /// The ReplicaSet controller's: there is a ReplicaSet, but no Deployment.
    ReplicaSet,
    /// Those of both together.
    Both,
}

/// Which ReplicaSets of a program without Deployments have an owner. It is the same owner for all:
/// only then are their pods siblings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OwnedSets {
    /// None of them.
    None,
    /// The first; the pods of the second are unrelated to it.
    First,
    /// All.
    All,
}

impl OwnedSets {
    /// Whether the nth ReplicaSet has the owner.
    pub(super) fn has(self, at: usize) -> bool {
        self == Self::All || (self == Self::First && at == 0)
    }
}

/// The initial state of a Deployment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct InitialDeployment {
    /// `spec.replicas`.
    pub replicas: u32,
    /// `spec.strategy`.
    pub strategy: RolloutStrategy,
    /// `spec.minReadySeconds`; 0 is not written.
    pub min_ready: u32,
    /// `spec.progressDeadlineSeconds`, where it is set.
    pub deadline: Option<u32>,
    /// `spec.revisionHistoryLimit`, where it is set.
    pub history: Option<u32>,
}

/// `spec.strategy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RolloutStrategy {
    /// Recreate.
    Recreate,
    /// RollingUpdate with `maxSurge` and `maxUnavailable`.
    Rolling(Bound, Bound),
}

/// A number of pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bound {
    /// This many.
    Number(u32),
    /// This percentage.
    Percent(u32),
}

/// The `app` label of the pods of each.
fn app(at: usize) -> &'static str {
    if at == 0 { "web" } else { "api" }
}

/// Makes a name long if repeated often enough.
pub(super) const LONG: &str = "-long";

/// The name of the first or the second Deployment; a long one has 253 characters, the most that a
/// name may have.
pub(super) fn name(at: usize, is_long: bool) -> String {
    if is_long { format!("{}{}", app(at), LONG.repeat(50)) } else { app(at).to_owned() }
}

impl Focus {
    /// The controllers that the subject brings.
    #[must_use]
    pub fn controllers(self) -> ControllerSet {
        match self {
            Self::Deployment => [Controller::Deployment].into_iter().collect(),
            Self::ReplicaSet => [Controller::ReplicaSet].into_iter().collect(),
            Self::Both => [Controller::Deployment, Controller::ReplicaSet].into_iter().collect(),
        }
    }
}

impl InitialDeployment {
    /// The operation that creates a ReplicaSet with these fields. One with a sidecar is written in
    /// full.
    pub(super) fn creation_of_set(&self, at: usize, is_owned: bool, has_sidecar: bool) -> String {
        let (name, replicas) = (app(at), self.replicas);
        let min_ready =
            if self.min_ready > 0 { format!(", minReadySeconds: {}", self.min_ready) } else { String::new() };
        if !has_sidecar {
            let owner = if is_owned { ", owner: configmap/family" } else { "" };
            return format!("replicaset: {{name: {name}, replicas: {replicas}, image: \"app:1\"{min_ready}{owner}}}");
        }
        let owner = match is_owned {
            true => ", ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: family, controller: true}]",
            false => "",
        };
        let labels = format!("{{app: {name}}}");
        let spec = format!(
            "replicas: {replicas}{min_ready}, selector: {{matchLabels: {labels}}}, template: {{metadata: {{labels: {labels}}}, spec: {{initContainers: [{{name: sidecar, image: \"side:1\", restartPolicy: Always}}], containers: [{{name: app, image: \"app:1\"}}]}}}}"
        );
        format!("apply: {{apiVersion: apps/v1, kind: ReplicaSet, metadata: {{name: {name}{owner}}}, spec: {{{spec}}}}}")
    }

    /// The operation that creates it. A long name cannot be a label, so such a Deployment is
    /// written in full.
    pub(super) fn creation(&self, at: usize, is_long: bool) -> String {
        let name = name(at, is_long);
        if !is_long {
            return format!("deployment: {{name: {name}, {self}}}");
        }
        let labels = format!("{{app: {}}}", app(at));
        let mut spec = format!("replicas: {}, strategy: {{{}}}", self.replicas, self.strategy.fields());
        let numbers = [
            ("minReadySeconds", (self.min_ready > 0).then_some(self.min_ready)),
            ("progressDeadlineSeconds", self.deadline),
            ("revisionHistoryLimit", self.history),
        ];
        for (key, number) in numbers {
            if let Some(number) = number {
                spec += &format!(", {key}: {number}");
            }
        }
        spec += &format!(
            ", selector: {{matchLabels: {labels}}}, template: {{metadata: {{labels: {labels}}}, spec: {{containers: [{{name: app, image: \"app:1\"}}]}}}}"
        );
        format!("apply: {{apiVersion: apps/v1, kind: Deployment, metadata: {{name: {name}}}, spec: {{{spec}}}}}")
    }
}

impl RolloutStrategy {
    /// The fields of `spec.strategy`.
    pub(super) fn fields(self) -> String {
        match self {
            Self::Recreate => "type: Recreate".to_owned(),
            Self::Rolling(surge, unavailable) => {
                format!("type: RollingUpdate, rollingUpdate: {{maxSurge: {surge}, maxUnavailable: {unavailable}}}")
            }
        }
    }
}

impl Display for InitialDeployment {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "replicas: {}, image: \"app:1\"", self.replicas)?;
        match self.strategy {
            RolloutStrategy::Recreate => write!(f, ", strategy: Recreate")?,
            RolloutStrategy::Rolling(surge, unavailable) => {
                write!(f, ", maxSurge: {surge}, maxUnavailable: {unavailable}")?;
            }
        }
        if self.min_ready > 0 {
            write!(f, ", minReadySeconds: {}", self.min_ready)?;
        }
        if let Some(deadline) = self.deadline {
            write!(f, ", progressDeadlineSeconds: {deadline}")?;
        }
        if let Some(history) = self.history {
            write!(f, ", revisionHistoryLimit: {history}")?;
        }
        Ok(())
    }
}

impl Display for Bound {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}
