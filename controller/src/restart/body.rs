//! The one request of a restart: a JSON merge patch that carries what is remembered and the trigger
//! together, so that no crash can come between them.
//!
//! Case: `config-restart/s37-own-write-seen-late@safe`.

use serde_json::{Value, json};

use super::pending::Note;
use super::plan::Write;
use super::state::{write_applied, write_restarts};
use crate::model::names::restart as names;

/// The patch.
pub(super) fn patch(write: &Write) -> Value {
    let Write { applied, restart, note } = write;
    let mut patch = json!({"metadata": {"annotations": {names::CHECKSUMS: write_applied(applied)}}});
    if let Some(restart) = restart {
        patch["spec"]["template"]["metadata"]["annotations"][names::TRIGGER] = restart.trigger.clone().into();
        if let Some(times) = restart.restarts.as_ref().filter(|times| !times.is_empty()) {
            patch["metadata"]["annotations"][names::RESTARTS] = write_restarts(times).into();
        }
    }
    match note {
        Note::Keep => {}
        Note::Clear => patch["metadata"]["annotations"][names::PENDING] = Value::Null,
        Note::Set(text) => patch["metadata"]["annotations"][names::PENDING] = text.clone().into(),
    }
    patch
}
