//! The case language for readers: `docs/case-reference.md`, written from the same lists as the JSON
//! schema.

use std::fmt::Write;

use super::field::Field;
use super::operations::{self, By, Form};
use super::step::BESIDES;
use super::{during, fault, file, kind, moved, naming, restart};

const HEAD: &str = "# Case reference

Every field of a case file and every operation of a step. Written by `lockstep schema --reference`; do not edit.
Fields in **bold** cannot be left out. Where a case has only one Deployment, operations need not name it.
";

/// The page, in Markdown.
#[must_use]
pub fn reference() -> String {
    let mut page = HEAD.to_owned();
    section(&mut page, "## Case", "One YAML file under `cases/<area>/`.", &file::FIELDS);
    section(
        &mut page,
        "### workload",
        "A kind that owns ReplicaSets, and where it has what a Deployment has: see [workloads](workloads.md).",
        &kind::FIELDS,
    );
    section(&mut page, "### restart", "For cases that judge a config-restart controller.", &restart::FIELDS);
    section(&mut page, "## Steps", "A step is a mapping with exactly one operation, and beside it:", &BESIDES);
    section(&mut page, "### expect", "Who lives on, once the step has settled: one of the two.", &naming::EXPECT);
    section(
        &mut page,
        "### during",
        "Steps between two requests of the subject's, at a decision or while a watch is held.",
        &during::FIELDS,
    );
    section(
        &mut page,
        "### fault",
        "What goes wrong while the subject reacts to the step: at a write, or in a watch.",
        &fault::FIELDS,
    );
    let groups = [
        (By::User, "What a user does, as kubectl does it"),
        (By::Nodes, "What the nodes do"),
        (By::Harness, "Time, grouping and the subject's process"),
    ];
    for (by, heading) in groups {
        page += &format!("\n## {heading}\n");
        operations::ALL.iter().filter(|form| form.by == by).for_each(|form| operation(&mut page, form));
    }
    page += "\n## Pods\n";
    section(&mut page, "### of", "Whose pods a step means; all that is said must be true of them.", &moved::OF_FIELDS);
    section(&mut page, "### traits", "What `pods` can say of a pod; what it does not say stays.", &naming::TRAITS);
    page
}

fn operation(page: &mut String, form: &Form) {
    *page += &format!("\n### {}\n\n{}\n", form.name, form.says);
    if !form.short.is_empty() {
        let or = if form.fields.is_empty() { "Takes" } else { "Takes a mapping, or" };
        *page += &format!("\n{or} {}.\n", form.short);
    }
    table(page, form.fields);
    *page += &format!("\n```yaml\n{}\n```\n", form.examples.join("\n"));
}

fn section(page: &mut String, heading: &str, says: &str, fields: &[Field]) {
    *page += &format!("\n{heading}\n\n{says}\n");
    table(page, fields);
}

fn table(page: &mut String, fields: &[Field]) {
    if fields.is_empty() {
        return;
    }
    *page += "\n| field | takes | |\n| --- | --- | --- |\n";
    for field in fields {
        let name = if field.required { format!("**`{}`**", field.name) } else { format!("`{}`", field.name) };
        // Writing to a text cannot fail.
        let _ = writeln!(page, "| {name} | {} | {} |", field.takes.words(), field.says);
    }
}
