//! `resume: web`: a paused Deployment may start rollouts again.

use super::form::nothing;
use super::pause::set_paused;
use super::{Action, By, Change, Drive, Form, Names, Operation, Performing};
use crate::case::target::{ONE_DEPLOYMENT, ONE_DEPLOYMENT_SHORT, one_deployment};

pub(super) static FORM: Form = Form {
    name: "resume",
    says: "`kubectl rollout resume`.",
    by: By::User,
    short: ONE_DEPLOYMENT_SHORT,
    fields: &ONE_DEPLOYMENT,
    schema: one_deployment,
    read: |reader, written| reader.one_deployment(written).map(|deployment| Operation::new(Resume(deployment))),
    announce: nothing,
    refusable: true,
    inner: true,
    only_held: None,
    examples: &["- resume: web", "- resume:"],
};

/// A Deployment is paused no longer.
#[derive(Debug, PartialEq)]
pub(in crate::case) struct Resume(pub(in crate::case) String);

impl Action for Resume {
    fn form(&self) -> &'static Form {
        &FORM
    }

    fn label(&self, names: Names) -> String {
        format!("resume{}", names.deployment(&self.0))
    }

    fn change(&self) -> Change<'_> {
        Change::Paused(&self.0, false)
    }

    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> Performing<'a> {
        Box::pin(set_paused(driver, &self.0, false))
    }
}
