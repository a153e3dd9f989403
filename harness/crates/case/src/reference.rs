//! Generates `docs/case-reference.md` from the lists of fields that the JSON schema is generated
//! from, too.

use std::fmt::Write;

use super::field::FieldSpec;
use super::operations::{self, pod_operations, pods};
use super::step::{Actor, EXPECT_FIELDS, MODIFIERS, OperationSpec};
use super::{during, fault, file, restart, workload_field};

const HEAD: &str = "# Case reference

Every field of a case file and every operation of a step. Written by `lockstep schema --reference`; do not edit.
Fields in **bold** cannot be left out. Where a case has only one Deployment, operations need not name it.
";

/// Returns the page as Markdown.
#[must_use]
pub fn reference() -> String {
    let mut page = HEAD.to_owned();
    add_section(&mut page, "## Case", "One YAML file under `cases/<area>/`.", &file::FIELDS);
    add_section(
        &mut page,
        "### workload",
        "A kind that owns ReplicaSets, and where it has what a Deployment has: see [workloads](workloads.md).",
        &workload_field::FIELDS,
    );
    add_section(&mut page, "### restart", "For cases that judge a config-restart controller.", &restart::FIELDS);
    add_section(&mut page, "## Steps", "A step is a mapping with exactly one operation, and beside it:", &MODIFIERS);
    add_section(&mut page, "### expect", "Who lives on, once the step has settled: one of the two.", &EXPECT_FIELDS);
    add_section(
        &mut page,
        "### during",
        "Steps between two requests of the subject's, at a decision or while a watch is held.",
        &during::FIELDS,
    );
    add_section(
        &mut page,
        "### fault",
        "What goes wrong while the subject reacts to the step: at a write, or in a watch.",
        &fault::FIELDS,
    );
    let groups = [
        (Actor::User, "What a user does, as kubectl does it"),
        (Actor::Nodes, "What the nodes do"),
        (Actor::Harness, "Time, grouping and the subject's process"),
    ];
    for (by, heading) in groups {
        page += &format!("\n## {heading}\n");
        operations::ALL.iter().filter(|form| form.actor == by).for_each(|form| add_operation(&mut page, form));
    }
    page += "\n## Pods\n";
    add_section(
        &mut page,
        "### of",
        "Whose pods a step means; all that is said must be true of them.",
        &pod_operations::OF_FIELDS,
    );
    add_section(&mut page, "### traits", "What `pods` can say of a pod; what it does not say stays.", &pods::TRAITS);
    page
}

fn add_operation(page: &mut String, form: &OperationSpec) {
    *page += &format!("\n### {}\n\n{}\n", form.name, form.description);
    if !form.shorthand.is_empty() {
        let or = if form.fields.is_empty() { "Takes" } else { "Takes a mapping, or" };
        *page += &format!("\n{or} {}.\n", form.shorthand);
    }
    add_table(page, form.fields);
    *page += &format!("\n```yaml\n{}\n```\n", form.examples.join("\n"));
}

fn add_section(page: &mut String, heading: &str, description: &str, fields: &[FieldSpec]) {
    *page += &format!("\n{heading}\n\n{description}\n");
    add_table(page, fields);
}

fn add_table(page: &mut String, fields: &[FieldSpec]) {
    if fields.is_empty() {
        return;
    }
    *page += "\n| field | takes | |\n| --- | --- | --- |\n";
    for field in fields {
        let name = if field.required { format!("**`{}`**", field.name) } else { format!("`{}`", field.name) };
        // Writing to a string cannot fail.
        let _ = writeln!(page, "| {name} | {} | {} |", field.field_type.words(), field.description);
    }
}
