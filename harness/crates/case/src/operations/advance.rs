//! `advance: 10s`, `advance: {to: 6s, since: changed}`: waits.

use std::time::Duration;

use serde_json::Value;

use crate::field::{DURATION, FieldSpec, NAME, any_of, names, object, reference};
use crate::model::{AdvanceStep, Drive, LabelStyle, Operation, PerformFuture, StepAction};
use crate::read::{self, MappingFields};
use crate::step::{Actor, NameDeclaration, OperationNode, OperationSpec, StepReader};
use crate::yaml::YamlKind;

/// The longest advance: each day takes some ten seconds to play in virtual time.
const MAX_ADVANCE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

static FIELDS: [FieldSpec; 2] = [
    FieldSpec::required("to", DURATION, "How long after that moment."),
    FieldSpec::required("since", NAME, "The `label` of an earlier step: the moment at which it began."),
];

pub(super) static SPEC: OperationSpec = OperationSpec {
    name: "advance",
    description: "Time passes: so much of it, or until so long after the step with a label; at most 30 days.",
    actor: Actor::Harness,
    shorthand: "a length of time, such as `90s` or `1h 30m`",
    fields: &FIELDS,
    schema,
    read,
    declaration: NameDeclaration::Nothing,
    is_refusable: false,
    is_nestable: false,
    examples: &["- advance: 10m", "- scale: 4\n  label: scaled\n- advance: {to: 6s, since: scaled}"],
};

fn schema(refused: bool) -> Value {
    any_of([reference("duration"), object(&FIELDS, refused)])
}

fn read(reader: &mut StepReader<'_>, OperationNode { value, .. }: &OperationNode<'_>) -> Option<Operation> {
    let YamlKind::Map(_) = value.kind else {
        return read::duration(value, MAX_ADVANCE, reader.report).map(|time| Operation::new(AdvanceStep::For(time)));
    };
    let fields = MappingFields::of(value, "`advance`", &names(&FIELDS), reader.report)?;
    let (Some(to), Some(since)) = (fields.get("to"), fields.get("since")) else {
        reader.report.add(value, "`advance` needs both `to` and `since`", "or give a duration: `10m`");
        return None;
    };
    let to = read::duration(to, MAX_ADVANCE, reader.report)?;
    let label = read::text(since, "a label", reader.report)?;
    if !reader.scope.labels.contains(label) {
        reader.report.add(
            since,
            format!("no step before this has the label `{label}`"),
            "add `label: …` beside its operation",
        );
        return None;
    }
    Some(Operation::new(AdvanceStep::Until { to, since: label.to_owned() }))
}

impl StepAction for AdvanceStep {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn label(&self, _: LabelStyle) -> String {
        match self {
            Self::For(time) => format!("advance {}", humantime::format_duration(*time)),
            Self::Until { to, since } => format!("advance to {} since {since}", humantime::format_duration(*to)),
        }
    }

    fn advance(&self) -> Option<&AdvanceStep> {
        Some(self)
    }

    fn is_by_user(&self) -> bool {
        false
    }

    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> PerformFuture<'a> {
        Box::pin(async move { driver.wait(self.duration(driver)?).await })
    }
}
