//! The behaviour of an operation, once it is read.

use std::any::Any;
use std::fmt::Debug;
use std::ops::Deref;
use std::sync::Arc;

use serde_json::Value;

use super::OperationSpec;
use super::advance::AdvanceStep;
use super::drive::{Drive, PerformFuture};
use crate::model::{CountSpec, PatchKind, PodOperation, PodSelection, ProcessAction, Step, Target};

/// The behaviour of one operation. Only the first three methods are required; the defaults of the
/// others suit most operations.
pub trait StepAction: Debug + Send + Sync + DynEq {
    /// The operation's entry in the table, whose name is also a label for filters.
    fn spec(&self) -> &'static OperationSpec;

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
        self.spec().requires_held_pods.map(|why| (self.spec().name, why))
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
    pub(super) fn deployment(self, name: &str) -> String {
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
