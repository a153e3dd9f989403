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
mod step;

use std::collections::BTreeSet;
use std::time::Duration;

pub use drive::{Cascade, Drive, DriveError, PatchKind, PerformFuture, Target};
pub use injection::{DecisionKind, DecisionMatcher, Fault, FaultAction, FaultPoint, InjectionPoint, ProcessAction};
use lockstep_recording::controllers::ControllerSet;
use lockstep_recording::secret::Redaction;
use lockstep_workload::Workload;
pub use pods::{
    BatchSize, CountSpec, NamedPodTraits, NodeBinding, PodNaming, PodOperation, PodPhase, PodSelection, Readiness,
};
pub use step::{AdvanceStep, DeclaredChange, InjectedSteps, Operation, Step};
pub(crate) use step::{LabelStyle, StepAction};

use crate::rules::{Expectation, Rule};

/// One case: a YAML file under `cases/AREA/`.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// `area/name`, from the file's path: `rolling/surge-25pct`, `config-restart/safe/delay`.
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
    /// Which clock the case can be played by.
    pub clock: ClockKind,
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

/// Which clock a case can be played by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClockKind {
    /// Any: it waits for lengths of time only.
    #[default]
    Any,
    /// That of virtual time alone: it has times of day, and knows the time at its beginning.
    Virtual,
}

impl Case {
    /// The folder in the case's name: `rolling`, `config-restart/safe`.
    #[must_use]
    pub fn area(&self) -> &str {
        self.name.rsplit_once('/').map_or("", |(area, _)| area)
    }

    /// The step with this number, from 1.
    pub fn step(&self, number: u32) -> Option<&Step> {
        self.steps.get(usize::try_from(number).ok()?.checked_sub(1)?)
    }

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
    step.inner_steps().find_map(step_reason).or_else(|| {
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

/// How a config-restart controller must run; unset options have the controller's own defaults.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RestartOptions {
    /// Whose behaviour the controller follows.
    pub profile: RestartProfile,
    /// How long changes are gathered.
    pub grace_period: Option<Duration>,
    /// How long changes are gathered at most.
    pub max_wait: Option<Duration>,
    /// The maximum of restarts of one workload within a period.
    pub budget: Option<(u32, Duration)>,
    /// Parts of errors that are ignored.
    pub ignored_errors: Vec<String>,
    /// Whether it writes nothing.
    pub dry_run: bool,
    /// The format of webhook messages, if there are any.
    pub webhook: Option<RestartWebhook>,
    /// Flags in the format of the profile's own project.
    pub flags: Vec<String>,
}

impl RestartOptions {
    /// Whether only the profile is set.
    pub fn is_profile_alone(&self) -> bool {
        *self == Self { profile: self.profile, ..Self::default() }
    }
}

/// What is sent to a webhook, and in which format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestartWebhook {
    /// Restarts, as JSON.
    Json,
    /// Restarts, as plain text.
    Raw,
    /// Restarts, as a message for Slack.
    Slack,
    /// Restarts, as a message for Microsoft Teams.
    Teams,
    /// Restarts, as a message for Google Chat.
    GoogleChat,
    /// Changes only, in place of restarts.
    Instead,
}

impl RestartWebhook {
    /// All of them, in the order of the case format.
    pub(crate) const ALL: [Self; 6] =
        [Self::Json, Self::Raw, Self::Slack, Self::Teams, Self::GoogleChat, Self::Instead];

    /// The word in a case.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Raw => "raw",
            Self::Slack => "slack",
            Self::Teams => "teams",
            Self::GoogleChat => "gchat",
            Self::Instead => "instead",
        }
    }

    /// Whether a profile supports it.
    pub(crate) const fn is_supported_by(self, profile: RestartProfile) -> bool {
        match profile {
            RestartProfile::Xing => false,
            RestartProfile::Safe => !matches!(self, Self::Instead),
            RestartProfile::Reloader => !matches!(self, Self::Json),
        }
    }
}

/// Whose behaviour a config-restart controller follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum RestartProfile {
    /// That of xing's controller.
    Xing,
    /// This project's own: it misses no restart, and does not restart workloads when it adopts
    /// them.
    #[default]
    Safe,
    /// That of Stakater's Reloader.
    Reloader,
}

impl RestartProfile {
    /// All profiles.
    pub const ALL: [Self; 3] = [Self::Xing, Self::Safe, Self::Reloader];

    /// The word in a case.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Xing => "xing",
            Self::Safe => "safe",
            Self::Reloader => "reloader",
        }
    }

    /// Whether golden timelines are recorded from another project's controller.
    pub(crate) const fn is_recorded(self) -> bool {
        matches!(self, Self::Xing | Self::Reloader)
    }
}

impl std::fmt::Display for RestartProfile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for RestartProfile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|profile| profile.as_str() == text);
        found.ok_or_else(|| format!("unknown restart profile '{text}': expected xing, safe or reloader"))
    }
}

/// Whose Deployment controller runs beside the subject, if the subject brings none: `with:
/// {deployment: upstream}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompanionController {
    /// That of kube-controller-manager. It is the default on every cluster but the simulated one,
    /// where it needs `--cluster-controllers upstream`.
    Upstream,
    /// This project's own, which is the default on the simulated cluster.
    Ours,
}
