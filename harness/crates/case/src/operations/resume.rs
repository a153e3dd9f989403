//! `resume: web`: a paused Deployment may start rollouts again.

use super::pause::set_paused;
use crate::model::{DeclaredChange, Drive, LabelStyle, Operation, PerformFuture, StepAction};
use crate::step::{Actor, NameDeclaration, OperationSpec};
use crate::target::{ONE_DEPLOYMENT, ONE_DEPLOYMENT_SHORT, one_deployment};

pub(super) static SPEC: OperationSpec = OperationSpec {
    name: "resume",
    description: "`kubectl rollout resume`.",
    actor: Actor::User,
    shorthand: ONE_DEPLOYMENT_SHORT,
    fields: &ONE_DEPLOYMENT,
    schema: one_deployment,
    read: |reader, written| {
        reader.read_deployment_name(written).map(|deployment| Operation::new(ResumeStep(deployment)))
    },
    declaration: NameDeclaration::Nothing,
    is_refusable: true,
    is_nestable: true,
    examples: &["- resume: web", "- resume:"],
};

/// Resumes a paused Deployment.
#[derive(Debug, PartialEq)]
pub(crate) struct ResumeStep(pub(crate) String);

impl StepAction for ResumeStep {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn label(&self, names: LabelStyle) -> String {
        format!("resume{}", names.deployment(&self.0))
    }

    fn change(&self) -> DeclaredChange<'_> {
        DeclaredChange::Paused(&self.0, false)
    }

    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> PerformFuture<'a> {
        Box::pin(set_paused(driver, &self.0, false))
    }
}
