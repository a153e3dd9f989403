//! `advance: 10s`, `advance: {to: 6s, since: changed}`: time passes.

use std::time::Duration;

use serde_json::Value;

use super::form::nothing;
use super::{Action, By, Drive, DriveError, Form, Names, Operation, Performing, Written};
use crate::case::field::{DURATION, Field, NAME, names};
use crate::case::read::{self, Fields};
use crate::case::schema::{any_of, object, reference};
use crate::case::step::Reader;
use crate::case::tree::Kind;

static FIELDS: [Field; 2] = [
    Field::required("to", DURATION, "How long after that moment."),
    Field::required("since", NAME, "The `label` of an earlier step: the moment at which it began."),
];

pub(super) static FORM: Form = Form {
    name: "advance",
    says: "Time passes: so much of it, or until so long after the step with a label.",
    by: By::Harness,
    short: "a length of time, such as `90s` or `1h 30m`",
    fields: &FIELDS,
    schema,
    read,
    announce: nothing,
    refusable: false,
    inner: false,
    only_held: None,
    examples: &["- advance: 10m", "- scale: 4\n  label: scaled\n- advance: {to: 6s, since: scaled}"],
};

/// Time passes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Advance {
    /// So much of it.
    For(Duration),
    /// Until so long after the step with a label began.
    To {
        /// How long after it.
        to: Duration,
        /// The label.
        since: String,
    },
}

impl Advance {
    /// How much time passes from now on.
    ///
    /// # Errors
    /// It is to last until a moment that is gone.
    pub fn time(&self, driver: &dyn Drive) -> Result<Duration, DriveError> {
        match self {
            Self::For(time) => Ok(*time),
            Self::To { to, since } => driver.until(*to, since),
        }
    }

    /// How much at most, as far as the case alone says.
    pub(in crate::case) fn most(&self) -> Duration {
        match self {
            // Counted from an earlier step: no more than this.
            Self::For(time) | Self::To { to: time, .. } => *time,
        }
    }
}

fn schema(refused: bool) -> Value {
    any_of([reference("duration"), object(&FIELDS, refused)])
}

fn read(reader: &mut Reader<'_>, Written { value, .. }: &Written<'_>) -> Option<Operation> {
    let Kind::Map(_) = value.kind else {
        return reader.duration(value).map(|time| Operation::new(Advance::For(time)));
    };
    let fields = Fields::of(value, "`advance`", &names(&FIELDS), reader.report)?;
    let (Some(to), Some(since)) = (fields.get("to"), fields.get("since")) else {
        reader.report.add(value, "`advance` needs both `to` and `since`", "or give a duration: `10m`");
        return None;
    };
    let (to, label) = (reader.duration(to)?, read::text(since, "a label", reader.report)?);
    if !reader.scope.labels.contains(label) {
        reader.report.add(
            since,
            format!("no step before this has the label `{label}`"),
            "add `label: …` beside its operation",
        );
        return None;
    }
    Some(Operation::new(Advance::To { to, since: label.to_owned() }))
}

impl Action for Advance {
    fn form(&self) -> &'static Form {
        &FORM
    }

    fn label(&self, _: Names) -> String {
        match self {
            Self::For(time) => format!("advance {}", humantime::format_duration(*time)),
            Self::To { to, since } => format!("advance to {} since {since}", humantime::format_duration(*to)),
        }
    }

    fn advance(&self) -> Option<&Advance> {
        Some(self)
    }

    fn by_user(&self) -> bool {
        false
    }

    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> Performing<'a> {
        Box::pin(async move { driver.wait(self.time(driver)?).await })
    }
}
