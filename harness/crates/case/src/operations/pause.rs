//! `pause: web`: no rollout starts until it is resumed.

use lockstep_support::pointer::JsonPointer;
use serde_json::Value;

use super::patch_difference::patch_difference;
use crate::model::{DeclaredChange, Drive, DriveError, LabelStyle, Operation, PerformFuture, StepAction};
use crate::step::{Actor, NameDeclaration, OperationSpec};
use crate::target::{ONE_DEPLOYMENT, ONE_DEPLOYMENT_SHORT, one_deployment};

pub(super) static SPEC: OperationSpec = OperationSpec {
    name: "pause",
    description: "`kubectl rollout pause`.",
    actor: Actor::User,
    shorthand: ONE_DEPLOYMENT_SHORT,
    fields: &ONE_DEPLOYMENT,
    schema: one_deployment,
    read: |reader, written| {
        reader.read_deployment_name(written).map(|deployment| Operation::new(PauseStep(deployment)))
    },
    declaration: NameDeclaration::Nothing,
    is_refusable: true,
    is_nestable: true,
    examples: &["- pause: web", "- pause: {}", "- pause: {deployment: web}"],
};

/// Pauses a Deployment.
#[derive(Debug, PartialEq)]
pub(crate) struct PauseStep(pub(crate) String);

impl StepAction for PauseStep {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn label(&self, names: LabelStyle) -> String {
        format!("pause{}", names.deployment(&self.0))
    }

    fn change(&self) -> DeclaredChange<'_> {
        DeclaredChange::Paused(&self.0, true)
    }

    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> PerformFuture<'a> {
        Box::pin(set_paused(driver, &self.0, true))
    }
}

/// Pauses or resumes a Deployment; kubectl refuses if nothing changes.
pub(super) async fn set_paused(driver: &dyn Drive, deployment: &str, paused: bool) -> Result<(), DriveError> {
    let found = driver.deployment(deployment).await?;
    let is = found.at("/spec/paused").and_then(Value::as_bool).unwrap_or(false);
    if is == paused {
        let not = if paused { "already" } else { "not" };
        return Err(DriveError::Refused(format!("deployments.apps \"{deployment}\" is {not} paused")));
    }
    let mut changed = found.clone();
    changed["spec"]["paused"] = if paused { true.into() } else { Value::Null };
    patch_difference(driver, &found, &changed, "kubectl-rollout").await.map(drop)
}
