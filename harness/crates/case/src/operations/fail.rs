//! `fail: {pods: 2}`: pods fail.

use crate::model::{Drive, LabelStyle, Operation, PerformFuture, PodOperation, PodSelection, StepAction};
use crate::pod_selector::{self, FIELDS};
use crate::step::{Actor, NameDeclaration, OperationSpec};

pub(super) static SPEC: OperationSpec = OperationSpec {
    name: "fail",
    description: "Pods fail: their phase becomes Failed. One sub-step each.",
    actor: Actor::Nodes,
    shorthand: "",
    fields: &FIELDS,
    schema: pod_selector::schema,
    read: |reader, written| pod_selector::read(reader, written).map(|pods| Operation::new(FailStep(pods))),
    declaration: NameDeclaration::Nothing,
    is_refusable: false,
    is_nestable: true,
    examples: &["- fail: {pods: [a]}", "- fail: {pods: 2}"],
};

/// Makes pods fail: phase Failed.
#[derive(Debug, PartialEq)]
pub(crate) struct FailStep(pub(crate) PodSelection);

impl StepAction for FailStep {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn label(&self, _: LabelStyle) -> String {
        pod_selector::label(SPEC.name, &self.0)
    }

    fn requires_held_pods(&self) -> Option<(&'static str, &'static str)> {
        Some((SPEC.name, "a kubelet starts its containers again"))
    }

    fn pod_operation(&self) -> Option<(PodOperation, &PodSelection)> {
        Some((PodOperation::Fail, &self.0))
    }

    fn with_pods(&self, pods: PodSelection) -> Option<Operation> {
        Some(Operation::new(Self(pods)))
    }

    fn is_by_user(&self) -> bool {
        false
    }

    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> PerformFuture<'a> {
        driver.move_pods(PodOperation::Fail, &self.0)
    }
}
