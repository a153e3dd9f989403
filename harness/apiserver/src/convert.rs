//! Objects of one store in the forms of several groups or versions.
//!
//! Events are core's in two groups ([`events`]), autoscalers v2's in two versions
//! ([`autoscalers`]). Custom resources have one form in all versions.

use serde_json::Value;

use super::kinds::Kind;
use super::{autoscalers, events};

/// An object of one kind as another that has the same storage.
pub(super) fn converted(body: Value, from: &Kind, to: &Kind) -> Value {
    match (from.is_new_event(), to.is_new_event()) {
        (true, false) => return events::to_core(body),
        (false, true) => return events::from_core(body),
        _ => {}
    }
    match (from.is_first_autoscaler(), to.is_first_autoscaler()) {
        (true, false) => autoscalers::from_first(&body),
        (false, true) => autoscalers::to_first(&body),
        _ => body,
    }
}
