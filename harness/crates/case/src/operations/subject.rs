//! `subject: stop`, `subject: start`, `subject: handover`: stops or starts the subject's process,
//! or puts the other subject in its place.

use crate::field::words;
use crate::model::{Drive, LabelStyle, Operation, PerformFuture, ProcessAction, StepAction};
use crate::read;
use crate::step::{Actor, NameDeclaration, OperationNode, OperationSpec, StepReader};

pub(super) static SPEC: OperationSpec = OperationSpec {
    name: "subject",
    description: "The subject is killed, started again, or replaced by the other one (or by a new run of itself, if there is one subject).",
    actor: Actor::Harness,
    shorthand: "`stop`, `start` or `handover`",
    fields: &[],
    schema: |_| words(&["stop", "start", "handover"]),
    read,
    declaration: NameDeclaration::Nothing,
    is_refusable: false,
    is_nestable: false,
    examples: &["- subject: stop\n- scale: 5\n- subject: start", "- subject: handover"],
};

fn read(reader: &mut StepReader<'_>, OperationNode { key, value, .. }: &OperationNode<'_>) -> Option<Operation> {
    let words = [("stop", ProcessAction::Stop), ("start", ProcessAction::Start), ("handover", ProcessAction::Handover)];
    let life = read::word(value, "`subject`", &words, reader.report)?;
    match (life, reader.stopped_at.is_some()) {
        (ProcessAction::Stop, true) => {
            reader.report.add(key, "the subject is stopped already", "start it first");
            return None;
        }
        (ProcessAction::Start, false) => {
            reader.report.add(key, "the subject runs already", "only a stopped subject can be started");
            return None;
        }
        (ProcessAction::Handover, true) => {
            reader.report.add(key, "the subject is stopped", "only a running subject can hand over; start it first");
            return None;
        }
        (ProcessAction::Handover, false) => {}
        (ProcessAction::Stop, false) => reader.stopped_at = Some(key.span.clone()),
        (ProcessAction::Start, true) => reader.stopped_at = None,
    }
    Some(Operation::new(life))
}

impl StepAction for ProcessAction {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn label(&self, _: LabelStyle) -> String {
        match self {
            Self::Stop => "subject stop".to_owned(),
            Self::Start => "subject start".to_owned(),
            Self::Handover => "subject handover".to_owned(),
        }
    }

    fn process_action(&self) -> Option<ProcessAction> {
        Some(*self)
    }

    fn is_by_user(&self) -> bool {
        false
    }

    /// Does nothing on the API server: the runner stops or starts the process.
    fn perform<'a>(&'a self, _: &'a dyn Drive) -> PerformFuture<'a> {
        Box::pin(async { Ok(()) })
    }
}
