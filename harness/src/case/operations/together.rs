//! `together: [{…}, {…}]`: steps without settling between them.

use serde_json::{Value, json};

use super::{Action, By, Drive, DriveError, Form, Names, Operation, Performing, Written};
use crate::case::model::Step;
use crate::case::read;
use crate::case::schema::reference;
use crate::case::scope::Scope;
use crate::case::step::Reader;

pub(super) static FORM: Form = Form {
    name: "together",
    says: "Steps without settling between them; compared by net change.",
    by: By::Harness,
    short: "a list of two steps or more",
    fields: &[],
    schema,
    read,
    announce: Scope::look_through,
    refusable: false,
    inner: false,
    only_held: None,
    examples: &[
        "- together: [{scale: 5}, {set: {image: \"app:3\"}}]",
        "- together: [{restart: web}, {restart: web, refused: {message: within the past second}}]",
    ],
};

/// Steps that are made one after the other.
#[derive(Debug, PartialEq)]
pub(in crate::case) struct Together(pub(in crate::case) Vec<Step>);

fn schema(_: bool) -> Value {
    json!({"type": "array", "minItems": 2, "items": reference("innerStep")})
}

fn read(reader: &mut Reader<'_>, Written { value, .. }: &Written<'_>) -> Option<Operation> {
    let items = read::items(value, "`together`", reader.report)?;
    if items.len() < 2 {
        reader.report.add(value, "`together` takes two steps or more", "a single step needs no `together`");
        return None;
    }
    let steps: Vec<Step> = items.iter().filter_map(|step| reader.step(step, false)).collect();
    (steps.len() == items.len()).then(|| Operation::new(Together(steps)))
}

impl Action for Together {
    fn form(&self) -> &'static Form {
        &FORM
    }

    fn label(&self, names: Names) -> String {
        let steps: Vec<_> = self.0.iter().map(|step| step.operation.label(names)).collect();
        format!("together {}", steps.join(", "))
    }

    fn inner(&self) -> &[Step] {
        &self.0
    }

    fn by_user(&self) -> bool {
        self.0.iter().any(|step| step.operation.by_user())
    }

    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> Performing<'a> {
        Box::pin(async move {
            for step in &self.0 {
                match (step.operation.perform(driver).await, &step.refused) {
                    (Ok(()), Some(text)) => {
                        let why = format!(
                            "`{}` was accepted; the case says that it is refused with '{text}'",
                            step.operation.form().name
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
