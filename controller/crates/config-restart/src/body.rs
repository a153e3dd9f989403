//! The request of a restart: one JSON merge patch with the checksums and the trigger, so that no
//! crash can come between them.
//!
//! Case: `config-restart/safe-and-xing/s37-own-write-seen-late@safe`.

use rollout_model::names::restart as names;
use serde_json::{Value, json};

use super::annotation_codec::{write_checksums, write_restarts};
use super::pending::PendingAnnotation;
use super::plan::WorkloadWrite;

/// The merge patch that carries a write out.
pub fn patch(write: &WorkloadWrite) -> Value {
    let WorkloadWrite { checksums, restart, pending } = write;
    let mut patch = json!({"metadata": {"annotations": {names::CHECKSUMS: write_checksums(checksums)}}});
    if let Some(restart) = restart {
        patch["spec"]["template"]["metadata"]["annotations"][names::TRIGGER] = restart.trigger.clone().into();
        if let Some(times) = restart.restarts.as_ref().filter(|times| !times.is_empty()) {
            patch["metadata"]["annotations"][names::RESTARTS] = write_restarts(times).into();
        }
    }
    match pending {
        PendingAnnotation::Keep => {}
        PendingAnnotation::Clear => patch["metadata"]["annotations"][names::PENDING] = Value::Null,
        PendingAnnotation::Set(text) => patch["metadata"]["annotations"][names::PENDING] = text.clone().into(),
    }
    patch
}
