//! `subject: stop`, `subject: start`: the subject's process, one after the other.

use super::form::nothing;
use super::{Action, By, Drive, Form, Names, Operation, Performing, Written};
use crate::case::model::Life;
use crate::case::read;
use crate::case::schema::words;
use crate::case::step::Reader;

pub(super) static FORM: Form = Form {
    name: "subject",
    says: "The subject is killed, or started again.",
    by: By::Harness,
    short: "`stop` or `start`",
    fields: &[],
    schema: |_| words(&["stop", "start"]),
    read,
    announce: nothing,
    refusable: false,
    inner: false,
    only_held: None,
    examples: &["- subject: stop\n- scale: 5\n- subject: start"],
};

fn read(reader: &mut Reader<'_>, Written { key, value, .. }: &Written<'_>) -> Option<Operation> {
    let words = [("stop", Life::Stop), ("start", Life::Start)];
    let life = read::word(value, "`subject`", &words, reader.report)?;
    match (life, reader.stopped.is_some()) {
        (Life::Stop, true) => {
            reader.report.add(key, "the subject is stopped already", "start it first");
            return None;
        }
        (Life::Start, false) => {
            reader.report.add(key, "the subject runs already", "only a stopped subject can be started");
            return None;
        }
        (Life::Stop, false) => reader.stopped = Some(key.span.clone()),
        (Life::Start, true) => reader.stopped = None,
    }
    Some(Operation::new(life))
}

impl Action for Life {
    fn form(&self) -> &'static Form {
        &FORM
    }

    fn label(&self, _: Names) -> String {
        match self {
            Self::Stop => "subject stop".to_owned(),
            Self::Start => "subject start".to_owned(),
        }
    }

    fn life(&self) -> Option<Life> {
        Some(*self)
    }

    fn by_user(&self) -> bool {
        false
    }

    /// Not the API server's business: whoever started the subject does it.
    fn perform<'a>(&'a self, _: &'a dyn Drive) -> Performing<'a> {
        Box::pin(async { Ok(()) })
    }
}
