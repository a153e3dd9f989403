//! `unready: {pods: 2}`: makes ready pods not ready.

use crate::model::{Drive, LabelStyle, Operation, PerformFuture, PodOperation, PodSelection, StepAction};
use crate::pod_selector::{self, FIELDS};
use crate::step::{Actor, NameDeclaration, OperationSpec};

pub(super) static SPEC: OperationSpec = OperationSpec {
    name: "unready",
    description: "Ready pods become not ready, one sub-step each.",
    actor: Actor::Nodes,
    shorthand: "",
    fields: &FIELDS,
    schema: pod_selector::schema,
    read: |reader, written| pod_selector::read(reader, written).map(|pods| Operation::new(UnreadyStep(pods))),
    declaration: NameDeclaration::Nothing,
    is_refusable: false,
    is_nestable: true,
    examples: &["- unready: {pods: 1}"],
};

/// Makes ready pods not ready.
#[derive(Debug, PartialEq)]
pub(crate) struct UnreadyStep(pub(crate) PodSelection);

impl StepAction for UnreadyStep {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn label(&self, _: LabelStyle) -> String {
        pod_selector::label(SPEC.name, &self.0)
    }

    fn pod_operation(&self) -> Option<(PodOperation, &PodSelection)> {
        Some((PodOperation::Unready, &self.0))
    }

    fn with_pods(&self, pods: PodSelection) -> Option<Operation> {
        Some(Operation::new(Self(pods)))
    }

    fn is_by_user(&self) -> bool {
        false
    }

    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> PerformFuture<'a> {
        driver.move_pods(PodOperation::Unready, &self.0)
    }
}
