//! `restart: web`: a rollout to the same template with a new stamp.

use serde_json::Value;

use super::change::change;
use super::form::nothing;
use super::{Action, By, Change, Drive, DriveError, Form, Names, Operation, Performing, Written};
use crate::case::step::Reader;
use crate::case::target::{ONE_DEPLOYMENT, ONE_DEPLOYMENT_SHORT, one_deployment};
use crate::pointer::At;

const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";

pub(super) static FORM: Form = Form {
    name: "restart",
    says: "`kubectl rollout restart`, which refuses a second restart within one second.",
    by: By::User,
    short: ONE_DEPLOYMENT_SHORT,
    fields: &ONE_DEPLOYMENT,
    schema: one_deployment,
    read,
    announce: nothing,
    refusable: true,
    inner: true,
    only_held: None,
    examples: &["- restart: web", "- restart: {deployment: web}"],
};

/// A Deployment is restarted.
#[derive(Debug, PartialEq)]
pub(in crate::case) struct Restart(pub(in crate::case) String);

fn read(reader: &mut Reader<'_>, written: &Written<'_>) -> Option<Operation> {
    let deployment = reader.one_deployment(written)?;
    reader.scope.retemplated |= !written.refused;
    Some(Operation::new(Restart(deployment)))
}

impl Action for Restart {
    fn form(&self) -> &'static Form {
        &FORM
    }

    fn label(&self, names: Names) -> String {
        format!("restart{}", names.deployment(&self.0))
    }

    fn change(&self) -> Change<'_> {
        Change::Template(&self.0)
    }

    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> Performing<'a> {
        Box::pin(async move {
            let Self(deployment) = self;
            let found = driver.deployment(deployment).await?;
            if found.at("/spec/paused") == Some(&Value::Bool(true)) {
                let why = "can't restart paused deployment (run rollout resume first)";
                return Err(DriveError::Refused(format!("deployments.apps \"{deployment}\" {why}")));
            }
            let mut changed = found.clone();
            changed["spec"]["template"]["metadata"]["annotations"][RESTARTED_AT] = driver.now().into();
            if change(driver, &found, &changed, "kubectl-rollout").await? {
                return Ok(());
            }
            Err(DriveError::Refused(format!(
                "failed to create patch for {deployment}: if restart has already been triggered within the past second, \
                 please wait before attempting to trigger another"
            )))
        })
    }
}
