//! `together: [{…}, {…}]`: steps without settling between them.

use serde_json::{Value, json};

use crate::field::reference;
use crate::model::{Drive, DriveError, LabelStyle, Operation, PerformFuture, Step, StepAction};
use crate::read;
use crate::step::{Actor, NameDeclaration, OperationNode, OperationSpec, StepReader};

pub(super) static SPEC: OperationSpec = OperationSpec {
    name: "together",
    description: "Steps without settling between them; compared by net change.",
    actor: Actor::Harness,
    shorthand: "a list of two steps or more",
    fields: &[],
    schema,
    read,
    declaration: NameDeclaration::NestedSteps,
    is_refusable: false,
    is_nestable: false,
    examples: &[
        "- together: [{scale: 5}, {set: {image: \"app:3\"}}]",
        "- together: [{restart: web}, {restart: web, refused: {message: within the past second}}]",
    ],
};

/// Steps that run one after the other without settling.
#[derive(Debug, PartialEq)]
pub(crate) struct TogetherStep(pub(crate) Vec<Step>);

fn schema(_: bool) -> Value {
    json!({"type": "array", "minItems": 2, "items": reference("innerStep")})
}

fn read(reader: &mut StepReader<'_>, OperationNode { value, .. }: &OperationNode<'_>) -> Option<Operation> {
    let items = read::items(value, "`together`", reader.report)?;
    if items.len() < 2 {
        reader.report.add(value, "`together` takes two steps or more", "a single step needs no `together`");
        return None;
    }
    let steps: Vec<Step> = items.iter().filter_map(|step| reader.step(step, false)).collect();
    (steps.len() == items.len()).then(|| Operation::new(TogetherStep(steps)))
}

impl StepAction for TogetherStep {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn label(&self, names: LabelStyle) -> String {
        let steps: Vec<_> = self.0.iter().map(|step| step.operation.label(names)).collect();
        format!("together {}", steps.join(", "))
    }

    fn nested_steps(&self) -> &[Step] {
        &self.0
    }

    fn is_by_user(&self) -> bool {
        self.0.iter().any(|step| step.operation.is_by_user())
    }

    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> PerformFuture<'a> {
        Box::pin(async move {
            for step in &self.0 {
                match (step.operation.perform(driver).await, &step.refused) {
                    (Ok(()), Some(text)) => {
                        let why = format!(
                            "`{}` was accepted; the case says that it is refused with '{text}'",
                            step.operation.name()
                        );
                        return Err(DriveError::Environment(why));
                    }
                    (Err(error), _) if !step.expects(&error) => return Err(error),
                    _ => {}
                }
            }
            Ok(())
        })
    }
}
