//! `pause: web`: no rollout starts until `resume: web`.

use lockstep_support::pointer::JsonPointer;
use serde_json::Value;

use super::patch::patch_difference;
use super::target::{ONE_DEPLOYMENT, ONE_DEPLOYMENT_SHORT, one_deployment};
use crate::model::{DeclaredChange, Drive, DriveError, LabelStyle, Operation, PerformFuture, StepAction};
use crate::step::{Actor, NameDeclaration, OperationNode, OperationSpec, StepReader};

pub(super) static PAUSE: OperationSpec = spec(
    "pause",
    "`kubectl rollout pause`.",
    |reader, node| read(reader, node, true),
    &["- pause: web", "- pause: {}", "- pause: {deployment: web}"],
);

pub(super) static RESUME: OperationSpec = spec(
    "resume",
    "`kubectl rollout resume`.",
    |reader, node| read(reader, node, false),
    &["- resume: web", "- resume:"],
);

const fn spec(
    name: &'static str,
    description: &'static str,
    read: fn(&mut StepReader<'_>, &OperationNode<'_>) -> Option<Operation>,
    examples: &'static [&'static str],
) -> OperationSpec {
    OperationSpec {
        name,
        description,
        actor: Actor::User,
        shorthand: ONE_DEPLOYMENT_SHORT,
        fields: &ONE_DEPLOYMENT,
        schema: one_deployment,
        read,
        declaration: NameDeclaration::Nothing,
        is_refusable: true,
        is_nestable: true,
        examples,
    }
}

/// Pauses or resumes a Deployment.
#[derive(Debug, PartialEq)]
pub(crate) struct PauseStep {
    pub(crate) deployment: String,
    /// Whether it is paused, rather than resumed.
    pub(crate) paused: bool,
}

fn read(reader: &mut StepReader<'_>, node: &OperationNode<'_>, paused: bool) -> Option<Operation> {
    let deployment = reader.read_deployment_name(node)?;
    Some(Operation::new(PauseStep { deployment, paused }))
}

impl StepAction for PauseStep {
    fn name(&self) -> &'static str {
        if self.paused { PAUSE.name } else { RESUME.name }
    }

    fn label(&self, names: LabelStyle) -> String {
        format!("{}{}", self.name(), names.deployment(&self.deployment))
    }

    fn change(&self) -> DeclaredChange<'_> {
        DeclaredChange::Paused(&self.deployment, self.paused)
    }

    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> PerformFuture<'a> {
        Box::pin(set_paused(driver, &self.deployment, self.paused))
    }
}

/// Pauses or resumes a Deployment; kubectl refuses if nothing changes.
async fn set_paused(driver: &dyn Drive, deployment: &str, paused: bool) -> Result<(), DriveError> {
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
