//! What one step does, once it is read.

use std::any::Any;
use std::fmt::Debug;
use std::ops::Deref;
use std::sync::Arc;

use serde_json::Value;

use super::Form;
use super::advance::Advance;
use super::drive::{Drive, Performing};
use crate::case::model::{Count, Life, PatchKind, PodOperation, Pods, Step, Target};

/// What one step does. Everything but the first three has an answer that fits most operations.
pub trait Action: Debug + Send + Sync + Same {
    /// Its form in the table; the form's name is what a filter calls it.
    fn form(&self) -> &'static Form;

    /// In the words of its case, as timelines, marks and messages show it.
    fn label(&self, names: Names) -> String;

    /// Do it.
    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> Performing<'a>;

    /// More words by which a filter finds it.
    fn words(&self, _add: &mut dyn FnMut(&str)) {}

    /// What it makes of the case's objects, as far as the case alone says.
    fn change(&self) -> Change<'_> {
        Change::Nothing
    }

    /// The pods that it moves and how, if that is what it does.
    fn moves(&self) -> Option<(PodOperation, &Pods)> {
        None
    }

    /// The same operation on other pods.
    fn on(&self, _pods: Pods) -> Option<Operation> {
        None
    }

    /// The steps that it is made of.
    fn inner(&self) -> &[Step] {
        &[]
    }

    /// The time that it lets pass.
    fn advance(&self) -> Option<&Advance> {
        None
    }

    /// What becomes of the subject's process.
    fn life(&self) -> Option<Life> {
        None
    }

    /// What of it only pods without a kubelet can do, and why.
    fn only_held(&self) -> Option<(&'static str, &'static str)> {
        self.form().only_held.map(|why| (self.form().name, why))
    }

    /// Whether a user does it, not the nodes, the clock or the harness.
    fn by_user(&self) -> bool {
        true
    }

    /// Whether what the subject did before decides if it is refused.
    fn depends_on_the_subject(&self) -> bool {
        false
    }
}

/// What an operation makes of the case's objects.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Change<'a> {
    /// Nothing that the case alone could say.
    Nothing,
    /// This object is there from now on.
    Object(&'a Value),
    /// An object is patched.
    Patch(&'a Target, PatchKind, &'a Value),
    /// An object wants so many pods.
    Scale(&'a Target, i32),
    /// A Deployment gets another template.
    Template(&'a str),
    /// A Deployment is paused, or not any more.
    Paused(&'a str, bool),
    /// What an object owned is left behind.
    Orphans,
}

/// Which names a label needs: those of Deployments are left out where the case has only one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Names {
    /// Whether the case has at most one Deployment.
    pub(super) only: bool,
}

impl Names {
    /// ` web`, or nothing.
    pub(super) fn deployment(self, name: &str) -> String {
        if self.only { String::new() } else { format!(" {name}") }
    }
}

/// Equality of actions whose types are not known.
pub trait Same: Any {
    /// Whether the other is of this type, and equal.
    fn same(&self, other: &dyn Any) -> bool;
}

impl<T: PartialEq + Any> Same for T {
    fn same(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<T>() == Some(self)
    }
}

/// What the world does in one step. Operations that name no Deployment mean the case's only one;
/// the reader fills the name in.
#[derive(Debug, Clone)]
pub struct Operation(Arc<dyn Action>);

impl Operation {
    /// Of an action.
    pub fn new(action: impl Action) -> Self {
        Self(Arc::new(action))
    }

    /// The action, if it is of this type.
    #[cfg(test)]
    pub(crate) fn get<T: Action>(&self) -> Option<&T> {
        let action: &dyn Any = &*self.0;
        action.downcast_ref()
    }

    /// The operation as one pod's, of pods by name the one of this number; one that moves no pods
    /// as it is.
    #[must_use]
    pub fn part(&self, part: u32) -> Self {
        let one = self.moves().and_then(|(_, pods)| {
            let at = usize::try_from(part).unwrap_or(usize::MAX).saturating_sub(1);
            let names = pods.names.get(at).cloned().into_iter().collect();
            self.on(Pods { count: Count::Exactly(1), names, ..pods.clone() })
        });
        one.unwrap_or_else(|| self.clone())
    }

    /// The operation on so many pods at once; one that moves no pods as it is.
    #[must_use]
    pub fn batch(&self, pods: u32) -> Self {
        let batch = self
            .moves()
            .and_then(|(_, all)| self.on(Pods { count: Count::Exactly(pods), atomic: true, ..all.clone() }));
        batch.unwrap_or_else(|| self.clone())
    }
}

impl Deref for Operation {
    type Target = dyn Action;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl PartialEq for Operation {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_ref().same(other.0.as_ref())
    }
}
