//! A validated case: what the driver executes and reports quote. Only the reader of files creates
//! one.
//!
//! * `step` is a step and what every operation has in common; an operation requests what it needs
//!   through [`Drive`], from `drive`.
//! * `pods`, `injection` and `restart` are what steps and cases say of pods, of the middle of a
//!   step, and of a config-restart controller.

mod drive;
mod injection;
mod pods;
mod restart;
mod step;

use std::collections::BTreeSet;
use std::time::Duration;

use lockstep_recording::controllers::ControllerSet;
use lockstep_recording::secret::Redaction;
use lockstep_workload::Workload;

pub use drive::{Cascade, Drive, DriveError, PatchKind, PerformFuture, Target};
pub use injection::{DecisionKind, DecisionMatcher, Fault, FaultAction, FaultPoint, InjectionPoint, ProcessAction};
pub use pods::{
    BatchSize, CountSpec, NamedPodTraits, NodeBinding, PodNaming, PodOperation, PodPhase, PodSelection, Readiness,
};
pub use restart::{CompanionController, RestartOptions, RestartProfile, RestartWebhook};
pub use step::{AdvanceStep, DeclaredChange, During, Operation, Step};
pub(crate) use step::{LabelStyle, StepAction};

use crate::rules::{Expectation, Rule};

/// One case: a YAML file under `cases/<area>/`.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// `area/name`, from the file's path: `rolling/surge-25pct`.
    pub name: String,
    /// The path of the file, as the user gave it.
    pub path: String,
    /// The file's text, without the values of its Secrets.
    pub source: String,
    /// Removes the values of Secrets from text.
    pub redaction: Redaction,
    /// What the case is about, one sentence.
    pub description: String,
    /// Tags, which form groups of cases.
    pub tags: BTreeSet<String>,
    /// The controllers that the case judges, which a subject must therefore bring.
    pub controllers: ControllerSet,
    /// Nodes to which the pods are bound in turn; if empty, each pod gets its own node.
    pub nodes: Vec<String>,
    /// Who gives pods their nodes.
    pub bindings: Bindings,
    /// Who finishes deletions.
    pub terminations: Terminations,
    /// Who runs the pods on a cluster that has a kubelet.
    pub pods: PodKind,
    /// The kind that the case uses in place of Deployments.
    pub workload: Option<Box<Workload>>,
    /// The custom resources that the case needs; they are created before it begins.
    pub crds: Vec<CrdSource>,
    /// Steps that run one by one before the first step; compared as one block.
    pub given: Vec<Step>,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// Whose Deployment controller must run beside the subject; `None`: the cluster's default.
    pub companion: Option<CompanionController>,
    /// How a config-restart controller is to run.
    pub restart: RestartOptions,
    /// The restart profiles of the file, one case each; empty if the file has a single case.
    pub profiles: Vec<RestartProfile>,
    /// What the case is compared with.
    pub expectation: Expectation,
    /// The case's own rules.
    pub rules: Vec<Rule>,
}

/// A CustomResourceDefinition that a case needs.
#[derive(Debug, Clone, PartialEq)]
pub enum CrdSource {
    /// The manifest.
    Inline(serde_json::Value),
    /// The name of a file with manifests, relative to the case.
    File(String),
}

/// Who runs the pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PodKind {
    /// The harness: pods change only when the case says so.
    #[default]
    Held,
    /// A kubelet, if the cluster has one; the case controls a readiness gate.
    Real,
}

/// Who binds pods to nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bindings {
    /// The driver, at once.
    #[default]
    Auto,
    /// The case: by naming the pod and its node, or by making the pod ready.
    Held,
}

/// Who finishes the deletion of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Terminations {
    /// The driver, at once.
    #[default]
    Auto,
    /// The case, by `terminate` steps.
    Held,
}

impl Case {
    /// How much time the case lets pass in `advance` steps.
    pub fn total_advance(&self) -> Duration {
        let steps = self.given.iter().chain(&self.steps);
        steps.filter_map(|step| step.operation.advance()).map(AdvanceStep::max_duration).sum()
    }

    /// Why the case cannot run with real pods, if it cannot: the line, and the reason.
    pub fn held_pods_reason(&self) -> Option<(usize, String)> {
        let line = |field: &str| 1 + self.source.lines().position(|line| line.starts_with(field)).unwrap_or(0);
        let only = |field: &str, why: &str| Some((line(field), format!("`{field}` is for held pods: {why}")));
        if self.terminations == Terminations::Held {
            return only("terminations", "a kubelet finishes deletions by itself");
        }
        if self.bindings == Bindings::Held {
            return only("bindings", "real ones run on the cluster's own node");
        }
        if !self.nodes.is_empty() {
            return only("nodes", "real ones run on the cluster's own node");
        }
        self.given.iter().chain(&self.steps).find_map(step_reason)
    }

    /// Whether it asks for real pods if the cluster has them.
    pub fn wants_real_pods(&self) -> bool {
        self.pods == PodKind::Real
    }
}

fn step_reason(step: &Step) -> Option<(usize, String)> {
    let inner =
        step.during.iter().flat_map(|during| &during.steps).chain(step.operation.nested_steps()).find_map(step_reason);
    inner.or_else(|| {
        let (what, why) = step.operation.requires_held_pods()?;
        Some((step.line, format!("`{what}` is for held pods: {why}")))
    })
}

/// The label of an operation in a timeline.
pub fn label(case: &Case, operation: &Operation) -> String {
    let changes = case.given.iter().chain(&case.steps).map(|step| step.operation.change());
    let made = changes.filter_map(|change| match change {
        DeclaredChange::Object(manifest) if manifest["kind"] == "Deployment" => manifest["metadata"]["name"].as_str(),
        _ => None,
    });
    let only = made.collect::<BTreeSet<_>>().len() < 2;
    operation.label(LabelStyle { has_single_deployment: only })
}
