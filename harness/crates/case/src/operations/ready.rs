//! `ready: {pods: 2}`: makes pods Running and Ready.

use crate::model::{Drive, LabelStyle, Operation, PerformFuture, PodOperation, PodSelection, StepAction};
use crate::pod_selector::{self, ATOMIC_FIELDS};
use crate::step::{Actor, NameDeclaration, OperationSpec};

pub(super) static SPEC: OperationSpec = OperationSpec {
    name: "ready",
    description: "Pods become Running and Ready, one sub-step each: those of the newest ReplicaSet first, in it the oldest first.",
    actor: Actor::Nodes,
    shorthand: "",
    fields: &ATOMIC_FIELDS,
    schema: pod_selector::atomic_schema,
    read: |reader, written| pod_selector::read(reader, written).map(|pods| Operation::new(ReadyStep(pods))),
    declaration: NameDeclaration::Nothing,
    is_refusable: false,
    is_nestable: true,
    examples: &[
        "- ready: {pods: all}",
        "- ready: {pods: 2, of: {revision: 1}}",
        "- ready: {pods: [a, b]}",
        "- ready: {pods: 2, atomic: true}",
        "- ready: {every: 10%}",
    ],
};

/// Makes pods Running and Ready.
#[derive(Debug, PartialEq)]
pub(crate) struct ReadyStep(pub(crate) PodSelection);

impl StepAction for ReadyStep {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn label(&self, _: LabelStyle) -> String {
        pod_selector::label(SPEC.name, &self.0)
    }

    fn pod_operation(&self) -> Option<(PodOperation, &PodSelection)> {
        Some((PodOperation::Ready, &self.0))
    }

    fn with_pods(&self, pods: PodSelection) -> Option<Operation> {
        Some(Operation::new(Self(pods)))
    }

    fn requires_held_pods(&self) -> Option<(&'static str, &'static str)> {
        let field = if self.0.every.is_some() { "every" } else { "atomic" };
        (self.0.atomic || self.0.every.is_some()).then_some((field, "a kubelet says itself since when a pod is ready"))
    }

    fn is_by_user(&self) -> bool {
        false
    }

    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> PerformFuture<'a> {
        driver.move_pods(PodOperation::Ready, &self.0)
    }
}
