//! `fail: {pods: 2}`: pods fail.

use super::form::nothing;
use super::{Action, By, Drive, Form, Names, Operation, Performing};
use crate::case::model::{PodOperation, Pods};
use crate::case::moved::{self, FIELDS};

pub(super) static FORM: Form = Form {
    name: "fail",
    says: "Pods fail: their phase becomes Failed. One sub-step each.",
    by: By::Nodes,
    short: "",
    fields: &FIELDS,
    schema: moved::schema,
    read: |reader, written| moved::read(reader, written).map(|pods| Operation::new(Fail(pods))),
    announce: nothing,
    refusable: false,
    inner: true,
    only_held: Some("a kubelet starts its containers again"),
    examples: &["- fail: {pods: [a]}", "- fail: {pods: 2}"],
};

/// Pods fail: phase Failed.
#[derive(Debug, PartialEq)]
pub(in crate::case) struct Fail(pub(in crate::case) Pods);

impl Action for Fail {
    fn form(&self) -> &'static Form {
        &FORM
    }

    fn label(&self, _: Names) -> String {
        moved::label(FORM.name, &self.0)
    }

    fn moves(&self) -> Option<(PodOperation, &Pods)> {
        Some((PodOperation::Fail, &self.0))
    }

    fn on(&self, pods: Pods) -> Option<Operation> {
        Some(Operation::new(Self(pods)))
    }

    fn by_user(&self) -> bool {
        false
    }

    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> Performing<'a> {
        driver.move_pods(PodOperation::Fail, &self.0)
    }
}
