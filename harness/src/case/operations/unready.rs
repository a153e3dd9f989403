//! `unready: {pods: 2}`: pods are ready no longer.

use super::form::nothing;
use super::{Action, By, Drive, Form, Names, Operation, Performing};
use crate::case::model::{PodOperation, Pods};
use crate::case::moved::{self, FIELDS};

pub(super) static FORM: Form = Form {
    name: "unready",
    says: "Ready pods become not ready, one sub-step each.",
    by: By::Nodes,
    short: "",
    fields: &FIELDS,
    schema: moved::schema,
    read: |reader, written| moved::read(reader, written).map(|pods| Operation::new(Unready(pods))),
    announce: nothing,
    refusable: false,
    inner: true,
    only_held: None,
    examples: &["- unready: {pods: 1}"],
};

/// Ready pods become not ready.
#[derive(Debug, PartialEq)]
pub(in crate::case) struct Unready(pub(in crate::case) Pods);

impl Action for Unready {
    fn form(&self) -> &'static Form {
        &FORM
    }

    fn label(&self, _: Names) -> String {
        moved::label(FORM.name, &self.0)
    }

    fn moves(&self) -> Option<(PodOperation, &Pods)> {
        Some((PodOperation::Unready, &self.0))
    }

    fn on(&self, pods: Pods) -> Option<Operation> {
        Some(Operation::new(Self(pods)))
    }

    fn by_user(&self) -> bool {
        false
    }

    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> Performing<'a> {
        driver.move_pods(PodOperation::Unready, &self.0)
    }
}
