//! `pause: web`: no rollout starts until it is resumed.

use serde_json::Value;

use super::change::change;
use super::form::nothing;
use super::{Action, By, Change, Drive, DriveError, Form, Names, Operation, Performing};
use crate::case::target::{ONE_DEPLOYMENT, ONE_DEPLOYMENT_SHORT, one_deployment};
use crate::pointer::At;

pub(super) static FORM: Form = Form {
    name: "pause",
    says: "`kubectl rollout pause`.",
    by: By::User,
    short: ONE_DEPLOYMENT_SHORT,
    fields: &ONE_DEPLOYMENT,
    schema: one_deployment,
    read: |reader, written| reader.one_deployment(written).map(|deployment| Operation::new(Pause(deployment))),
    announce: nothing,
    refusable: true,
    inner: true,
    only_held: None,
    examples: &["- pause: web", "- pause: {}", "- pause: {deployment: web}"],
};

/// A Deployment is paused.
#[derive(Debug, PartialEq)]
pub(in crate::case) struct Pause(pub(in crate::case) String);

impl Action for Pause {
    fn form(&self) -> &'static Form {
        &FORM
    }

    fn label(&self, names: Names) -> String {
        format!("pause{}", names.deployment(&self.0))
    }

    fn change(&self) -> Change<'_> {
        Change::Paused(&self.0, true)
    }

    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> Performing<'a> {
        Box::pin(set_paused(driver, &self.0, true))
    }
}

/// Pause or resume; kubectl refuses what changes nothing.
pub(super) async fn set_paused(driver: &dyn Drive, deployment: &str, paused: bool) -> Result<(), DriveError> {
    let found = driver.deployment(deployment).await?;
    let is = found.at("/spec/paused").and_then(Value::as_bool).unwrap_or(false);
    if is == paused {
        let not = if paused { "already" } else { "not" };
        return Err(DriveError::Refused(format!("deployments.apps \"{deployment}\" is {not} paused")));
    }
    let mut changed = found.clone();
    changed["spec"]["paused"] = if paused { true.into() } else { Value::Null };
    change(driver, &found, &changed, "kubectl-rollout").await.map(drop)
}
