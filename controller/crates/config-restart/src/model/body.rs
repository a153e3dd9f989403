//! The request of a restart: one JSON merge patch with the checksums and the trigger, so that no
//! crash can come between them. The trigger is the value in the pod template that replaces its
//! pods.
//!
//! Case: `config-restart/safe-and-xing/s37-own-write-seen-late@safe`.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ring::digest::{Context, SHA256};
use rollout_model::names::restart as names;
use serde_json::{Value, json};

use crate::model::annotation_codec::AppliedChecksums;
use crate::model::annotation_codec::{write_checksums, write_restarts};
use crate::model::checksum::short_hex;
use crate::model::pending::PendingAnnotation;
use crate::model::plan::WorkloadWrite;

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

/// xing's trigger: the time in UTC in the layout of Go's `time.Stamp`. It has no year, and two
/// restarts within one second have the same trigger (section 1.4).
pub(crate) fn timestamp_trigger(now: Timestamp) -> String {
    now.to_zoned(TimeZone::UTC).strftime("%b %e %H:%M:%S").to_string()
}

/// Derives the trigger from the template's current trigger and from the data that the pods will
/// have. Two controllers with the same view, and one that repeats a write after a lost response,
/// write the same value and start one rollout. The value always differs from the current one.
pub(crate) fn derive_trigger(before: Option<&str>, checksums: &AppliedChecksums) -> String {
    let mut context = Context::new(&SHA256);
    let mut add = |text: &str| {
        context.update(&text.len().to_be_bytes());
        context.update(text.as_bytes());
    };
    add(before.unwrap_or_default());
    for (name, checksum) in checksums {
        add(name);
        add(checksum);
    }
    short_hex(context.finish().as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamp_has_the_format_of_gos_stamp() {
        assert_eq!(timestamp_trigger("2026-03-04T05:06:07.9Z".parse().unwrap()), "Mar  4 05:06:07");
        assert_eq!(timestamp_trigger("2026-11-21T15:04:05Z".parse().unwrap()), "Nov 21 15:04:05");
    }

    /// Scenario 58: two instances without leader election.
    #[test]
    fn trigger_is_deterministic_and_always_differs_from_the_last() {
        let one: AppliedChecksums = [("configmap/ns/c".to_owned(), "1".to_owned())].into();
        let two: AppliedChecksums = [("configmap/ns/c".to_owned(), "2".to_owned())].into();
        let first = derive_trigger(None, &one);
        assert_eq!(first, derive_trigger(None, &one));
        assert_ne!(first, derive_trigger(None, &two));
        assert_ne!(derive_trigger(Some(&first), &one), first);
    }
}
