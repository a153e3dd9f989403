//! `ready: {pods: 2}`: pods become Running and Ready.

use super::form::nothing;
use super::{Action, By, Drive, Form, Names, Operation, Performing};
use crate::case::model::{PodOperation, Pods};
use crate::case::moved::{self, ATOMIC_FIELDS};

pub(super) static FORM: Form = Form {
    name: "ready",
    says: "Pods become Running and Ready, one sub-step each: those of the newest ReplicaSet first, in it the oldest first.",
    by: By::Nodes,
    short: "",
    fields: &ATOMIC_FIELDS,
    schema: moved::atomic_schema,
    read: |reader, written| moved::read(reader, written).map(|pods| Operation::new(Ready(pods))),
    announce: nothing,
    refusable: false,
    inner: true,
    only_held: None,
    examples: &[
        "- ready: {pods: all}",
        "- ready: {pods: 2, of: {revision: 1}}",
        "- ready: {pods: [a, b]}",
        "- ready: {pods: 2, atomic: true}",
        "- ready: {every: 10%}",
    ],
};

/// Pods become Running and Ready.
#[derive(Debug, PartialEq)]
pub(in crate::case) struct Ready(pub(in crate::case) Pods);

impl Action for Ready {
    fn form(&self) -> &'static Form {
        &FORM
    }

    fn label(&self, _: Names) -> String {
        moved::label(FORM.name, &self.0)
    }

    fn moves(&self) -> Option<(PodOperation, &Pods)> {
        Some((PodOperation::Ready, &self.0))
    }

    fn on(&self, pods: Pods) -> Option<Operation> {
        Some(Operation::new(Self(pods)))
    }

    fn only_held(&self) -> Option<(&'static str, &'static str)> {
        let field = if self.0.every.is_some() { "every" } else { "atomic" };
        (self.0.atomic || self.0.every.is_some()).then_some((field, "a kubelet says itself since when a pod is ready"))
    }

    fn by_user(&self) -> bool {
        false
    }

    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> Performing<'a> {
        driver.move_pods(PodOperation::Ready, &self.0)
    }
}
