//! The table of operations: what one step of a case can do.
//!
//! Each operation is one file: its [`Form`] (name, sentence, fields, schema, reader, examples) and
//! its [`Action`] (label in timelines, words for filters, what it changes, how it is performed).
//! From the table come the reader's messages, `cases/case.schema.json`, the words of `label(…)` in
//! filters and `docs/case-reference.md`. A new operation is one new file here, and its name in
//! [`ALL`] and among the modules below.
//!
//! All of it is pure, performing too: an operation asks a [`Drive`] for requests, and the driver is
//! the one that makes them. Only an operation that needs a new kind of request adds a method there.
//!
//! * `change` is what `set` and `rollout` commands have in common.
//! * `form` and `action` are what an operation says of itself, `drive` what it may ask for.
//! * [`Operation`] is an action whose type does not matter.

mod action;
mod change;
mod drive;
mod form;

pub(in crate::case) mod advance;
pub(in crate::case) mod apply;
mod delete;
mod deployment;
mod fail;
mod patch;
mod pause;
pub(in crate::case) mod pods;
mod ready;
mod replicaset;
mod restart;
mod resume;
mod scale;
mod set;
mod subject;
mod succeed;
mod terminate;
mod together;
mod undo;
mod unready;

use std::collections::BTreeSet;

pub use action::{Action, Change, Names, Operation};
pub use advance::Advance;
pub use drive::{Drive, DriveError, Performing};
pub use form::Form;
pub(in crate::case) use form::{By, Written};

use super::model::Case;

/// Every operation, in the order in which messages and the reference name them.
pub(in crate::case) static ALL: [&Form; 20] = [
    &deployment::FORM,
    &replicaset::FORM,
    &apply::FORM,
    &patch::FORM,
    &delete::FORM,
    &set::FORM,
    &scale::FORM,
    &pause::FORM,
    &resume::FORM,
    &undo::FORM,
    &restart::FORM,
    &ready::FORM,
    &unready::FORM,
    &fail::FORM,
    &succeed::FORM,
    &terminate::FORM,
    &pods::FORM,
    &advance::FORM,
    &together::FORM,
    &subject::FORM,
];

/// The names of all operations.
pub(in crate::case) fn names() -> Vec<&'static str> {
    ALL.iter().map(|form| form.name).collect()
}

/// What a step does, as a timeline shows it.
pub fn label(case: &Case, operation: &Operation) -> String {
    let changes = case.given.iter().chain(&case.steps).map(|step| step.operation.change());
    let made = changes.filter_map(|change| match change {
        Change::Object(manifest) if manifest["kind"] == "Deployment" => manifest["metadata"]["name"].as_str(),
        _ => None,
    });
    let only = made.collect::<BTreeSet<_>>().len() < 2;
    operation.label(Names { only })
}

#[cfg(test)]
pub(in crate::case) use {
    delete::Delete, patch::Patch, pause::Pause, ready::Ready, restart::Restart, resume::Resume, scale::Scale, set::Set,
    terminate::Terminate, undo::Undo,
};

#[cfg(test)]
mod tests;
