//! `succeed: {pods: 2}`: pods succeed.

use super::form::nothing;
use super::{Action, By, Drive, Form, Names, Operation, Performing};
use crate::case::model::{PodOperation, Pods};
use crate::case::moved::{self, FIELDS};

pub(super) static FORM: Form = Form {
    name: "succeed",
    says: "Pods succeed: their phase becomes Succeeded. One sub-step each.",
    by: By::Nodes,
    short: "",
    fields: &FIELDS,
    schema: moved::schema,
    read: |reader, written| moved::read(reader, written).map(|pods| Operation::new(Succeed(pods))),
    announce: nothing,
    refusable: false,
    inner: true,
    only_held: Some("a kubelet starts its containers again"),
    examples: &["- succeed: {pods: 1}"],
};

/// Pods succeed: phase Succeeded.
#[derive(Debug, PartialEq)]
pub(in crate::case) struct Succeed(pub(in crate::case) Pods);

impl Action for Succeed {
    fn form(&self) -> &'static Form {
        &FORM
    }

    fn label(&self, _: Names) -> String {
        moved::label(FORM.name, &self.0)
    }

    fn moves(&self) -> Option<(PodOperation, &Pods)> {
        Some((PodOperation::Succeed, &self.0))
    }

    fn on(&self, pods: Pods) -> Option<Operation> {
        Some(Operation::new(Self(pods)))
    }

    fn by_user(&self) -> bool {
        false
    }

    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> Performing<'a> {
        driver.move_pods(PodOperation::Succeed, &self.0)
    }
}
