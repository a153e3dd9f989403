//! The table of operations: what one step of a case can do.
//!
//! An operation is one file, which it shares with those that differ little from it: its
//! [`OperationSpec`] (name, sentence, fields, schema, reader, examples) and what it is once it is
//! read, a `StepAction` of the model (label in timelines, labels for filters, effect on objects,
//! performance). The table is the source of the reader's messages, `cases/case.schema.json`, the
//! values of `label(…)` in filters and `docs/case-reference.md`. A new operation is a new file
//! here, a module below and an entry in [`ALL`].
//!
//! Operations are pure: to perform one, it calls a `Drive`, which the driver implements. Only an
//! operation that needs a new kind of request adds a method there.
//!
//! `target` reads which object a step means.

pub(crate) mod advance;
pub(crate) mod apply;
mod delete;
mod deployment;
mod patch;
mod pause;
pub(crate) mod pod_operations;
pub(crate) mod pods;
mod replicaset;
mod restart;
mod scale;
mod set;
mod subject;
pub(crate) mod target;
mod together;
mod undo;

use crate::step::OperationSpec;

/// All operations, in the order in which messages and the reference page list them.
pub(crate) static ALL: [&OperationSpec; 20] = {
    let [ready, unready, fail, succeed, terminate] = &pod_operations::SPECS;
    [
        &deployment::SPEC,
        &replicaset::SPEC,
        &apply::SPEC,
        &patch::SPEC,
        &delete::SPEC,
        &set::SPEC,
        &scale::SPEC,
        &pause::PAUSE,
        &pause::RESUME,
        &undo::SPEC,
        &restart::SPEC,
        ready,
        unready,
        fail,
        succeed,
        terminate,
        &pods::SPEC,
        &advance::SPEC,
        &together::SPEC,
        &subject::SPEC,
    ]
};

#[cfg(test)]
pub(crate) use {
    delete::DeleteStep, patch::PatchStep, pause::PauseStep, pod_operations::PodStep, restart::RestartStep,
    scale::ScaleStep, set::SetStep, undo::UndoStep,
};

#[cfg(test)]
mod tests;
