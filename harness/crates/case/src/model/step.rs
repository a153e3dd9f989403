//! One step of a case: its operation, which is any type that implements [`StepAction`], and what
//! goes with it.

use std::any::Any;
use std::fmt::Debug;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use lockstep_recording::PodExpectation;
use serde_json::Value;

use super::drive::{Drive, DriveError, PatchKind, PerformFuture, Target};
use super::injection::{Fault, InjectionPoint, ProcessAction};
use super::pods::{CountSpec, PodOperation, PodSelection};

/// One step of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Its line in the case file, from 1.
    pub line: usize,
    /// What it does.
    pub operation: Operation,
    /// A label by which later steps and rules refer to the beginning of this step.
    pub label: Option<String>,
    /// The server must refuse the operation, with a message that contains this text.
    pub refused: Option<String>,
    /// Steps that run in the middle of this one.
    pub during: Option<InjectedSteps>,
    /// A fault between the subject and the server while the subject reacts to this step.
    pub fault: Option<Fault>,
    /// Which of the named pods are alive once this step has settled.
    pub expect: Option<PodExpectation>,
}

impl Step {
    /// The steps in this one: those in the middle of it, and those that its operation consists of.
    pub fn inner_steps(&self) -> impl Iterator<Item = &Self> {
        self.during.iter().flat_map(|during| &during.steps).chain(self.operation.nested_steps())
    }

    /// Whether this is the refusal that the step expects.
    pub fn expects(&self, error: &DriveError) -> bool {
        let Some(text) = &self.refused else { return false };
        match error {
            DriveError::Refused(said) | DriveError::Impossible(said) => said.contains(text),
            // The server answers some refusals with 500, such as an annotation that it cannot
            // convert.
            DriveError::Server(error) => error.to_string().contains(text),
            DriveError::Environment(_) => false,
        }
    }

    /// Whether the subject may decide from an old view while it reacts to this step.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        let is_held = self.during.as_ref().is_some_and(|during| matches!(during.point, InjectionPoint::HeldWatch(_)));
        is_held || self.fault.iter().flat_map(Fault::all).any(Fault::delays_view)
    }
}

/// Steps that run in the middle of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct InjectedSteps {
    /// The point at which they run.
    pub point: InjectionPoint,
    /// The steps.
    pub steps: Vec<Step>,
}

/// The behaviour of one operation. Only the first three methods are required; the defaults of the
/// others suit most operations.
pub trait StepAction: Debug + Send + Sync + DynEq {
    /// The field of a step that names the operation, which is also a label for filters.
    fn name(&self) -> &'static str;

    /// The operation in the words of its case, for timelines, marks and messages.
    fn label(&self, names: LabelStyle) -> String;

    /// Performs the operation.
    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> PerformFuture<'a>;

    /// Adds further labels by which filters select the case.
    fn add_filter_labels(&self, _add: &mut dyn FnMut(&str)) {}

    /// The operation's effect on the case's objects, as far as the case alone determines it.
    fn change(&self) -> DeclaredChange<'_> {
        DeclaredChange::Unchanged
    }

    /// The pods that the operation moves, and how, if it moves pods.
    fn pod_operation(&self) -> Option<(PodOperation, &PodSelection)> {
        None
    }

    /// The same operation on other pods.
    fn with_pods(&self, _pods: PodSelection) -> Option<Operation> {
        None
    }

    /// The steps that the operation consists of.
    fn nested_steps(&self) -> &[Step] {
        &[]
    }

    /// The time that the operation waits, if it waits.
    fn advance(&self) -> Option<&AdvanceStep> {
        None
    }

    /// The effect on the subject's process, if there is one.
    fn process_action(&self) -> Option<ProcessAction> {
        None
    }

    /// What of the operation requires pods without a kubelet, and why.
    fn requires_held_pods(&self) -> Option<(&'static str, &'static str)> {
        None
    }

    /// Whether a user performs it, rather than nodes, the clock or the harness.
    fn is_by_user(&self) -> bool {
        true
    }

    /// Whether earlier actions of the subject determine if the server refuses it.
    fn depends_on_subject(&self) -> bool {
        false
    }
}

/// An operation's effect on the case's objects.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DeclaredChange<'a> {
    /// The case alone does not determine one.
    Unchanged,
    /// This object exists from now on.
    Object(&'a Value),
    /// An object is patched.
    Patch(&'a Target, PatchKind, &'a Value),
    /// The number of desired replicas changes.
    Scale(&'a Target, i32),
    /// A Deployment gets another template.
    NewTemplate(&'a str),
    /// A Deployment is paused or resumed.
    Paused(&'a str, bool),
    /// Dependents of an object are orphaned.
    Orphans,
}

/// Which names a label includes: the Deployment's name is left out if the case has only one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LabelStyle {
    /// Whether the case has at most one Deployment.
    pub(super) has_single_deployment: bool,
}

impl LabelStyle {
    /// ` web`, or an empty string.
    pub(crate) fn deployment(self, name: &str) -> String {
        if self.has_single_deployment { String::new() } else { format!(" {name}") }
    }
}

/// Equality of trait objects.
pub trait DynEq: Any {
    /// Whether the other value has this type and is equal.
    fn dyn_eq(&self, value: &dyn Any) -> bool;
}

impl<T: PartialEq + Any> DynEq for T {
    fn dyn_eq(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<T>() == Some(self)
    }
}

/// The operation of one step. If a case names no Deployment, the reader fills in the only one.
#[derive(Debug, Clone)]
pub struct Operation(Arc<dyn StepAction>);

impl Operation {
    /// Wraps an action.
    pub fn new(action: impl StepAction) -> Self {
        Self(Arc::new(action))
    }

    /// Returns the action if it has this type.
    #[cfg(test)]
    pub(crate) fn downcast<T: StepAction>(&self) -> Option<&T> {
        let action: &dyn Any = &*self.0;
        action.downcast_ref()
    }

    /// The operation for one sub-step's pod; of pods by name, the one with this number. An
    /// operation that moves no pods stays as it is.
    #[must_use]
    pub fn for_pod(&self, part: u32) -> Self {
        let one = self.pod_operation().and_then(|(_, pods)| {
            let at = usize::try_from(part).unwrap_or(usize::MAX).saturating_sub(1);
            let names = pods.names.get(at).cloned().into_iter().collect();
            self.with_pods(PodSelection { count: CountSpec::Exactly(1), names, ..pods.clone() })
        });
        one.unwrap_or_else(|| self.clone())
    }

    /// The operation for this many pods at once. An operation that moves no pods stays as it is.
    #[must_use]
    pub fn for_batch(&self, pods: u32) -> Self {
        let batch = self.pod_operation().and_then(|(_, all)| {
            self.with_pods(PodSelection { count: CountSpec::Exactly(pods), atomic: true, ..all.clone() })
        });
        batch.unwrap_or_else(|| self.clone())
    }
}

impl Deref for Operation {
    type Target = dyn StepAction;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl PartialEq for Operation {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_ref().dyn_eq(other.0.as_ref())
    }
}

/// A wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdvanceStep {
    /// For this long.
    For(Duration),
    /// Until this long after the labelled step began.
    Until {
        /// How long after that step began.
        to: Duration,
        /// The label.
        since: String,
    },
}

impl AdvanceStep {
    /// How long to wait from now.
    ///
    /// # Errors
    /// The moment has passed already.
    pub fn duration(&self, driver: &dyn Drive) -> Result<Duration, DriveError> {
        match self {
            Self::For(time) => Ok(*time),
            Self::Until { to, since } => driver.time_until(*to, since),
        }
    }

    /// The longest possible wait, as far as the case alone determines it.
    pub(crate) fn max_duration(&self) -> Duration {
        match self {
            // It is counted from an earlier step, so the wait is at most this long.
            Self::For(time) | Self::Until { to: time, .. } => *time,
        }
    }
}
