//! `terminate: {pods: 2}`: finishes deletions of pods.

use crate::model::{Drive, LabelStyle, Operation, PerformFuture, PodOperation, PodSelection, StepAction};
use crate::pod_selector::{self, FIELDS};
use crate::step::{Actor, NameDeclaration, OperationNode, OperationSpec, StepReader};

pub(super) static SPEC: OperationSpec = OperationSpec {
    name: "terminate",
    description: "Deletions finish, one sub-step each; with `terminations: held`.",
    actor: Actor::Nodes,
    shorthand: "",
    fields: &FIELDS,
    schema: pod_selector::schema,
    read,
    declaration: NameDeclaration::Nothing,
    is_refusable: false,
    is_nestable: true,
    examples: &["- terminate: {pods: all}"],
};

/// Finishes deletions of pods.
#[derive(Debug, PartialEq)]
pub(crate) struct TerminateStep(pub(crate) PodSelection);

fn read(reader: &mut StepReader<'_>, node: &OperationNode<'_>) -> Option<Operation> {
    if !reader.terminations_are_held {
        reader.report.add(node.key, "`terminate` without held terminations", "deletions finish by themselves here");
        reader.report.help("add `terminations: held` at the top of the case");
        return None;
    }
    pod_selector::read(reader, node).map(|pods| Operation::new(TerminateStep(pods)))
}

impl StepAction for TerminateStep {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn label(&self, _: LabelStyle) -> String {
        pod_selector::label(SPEC.name, &self.0)
    }

    fn requires_held_pods(&self) -> Option<(&'static str, &'static str)> {
        Some((SPEC.name, "a kubelet finishes deletions by itself"))
    }

    fn pod_operation(&self) -> Option<(PodOperation, &PodSelection)> {
        Some((PodOperation::Terminate, &self.0))
    }

    fn with_pods(&self, pods: PodSelection) -> Option<Operation> {
        Some(Operation::new(Self(pods)))
    }

    fn is_by_user(&self) -> bool {
        false
    }

    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> PerformFuture<'a> {
        driver.move_pods(PodOperation::Terminate, &self.0)
    }
}
