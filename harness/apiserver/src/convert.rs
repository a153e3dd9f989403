//! Objects of one store in the forms of several groups or versions.
//!
//! Events are core's in two groups ([`events`]), autoscalers v2's in two versions
//! ([`autoscalers`]). Custom resources have one form in all versions.

use std::borrow::Cow;

use serde_json::Value;

use super::kinds::Kind;
use super::{autoscalers, events};

/// An object of one kind as another that has the same storage.
pub(super) fn converted(body: Value, from: &Kind, to: &Kind) -> Value {
    match conversion(from, to) {
        Some(convert) => convert(body),
        None => body,
    }
}

/// The same of an object that is kept: copied only where its form is another.
pub(super) fn converted_copy<'a>(body: &'a Value, from: &Kind, to: &Kind) -> Cow<'a, Value> {
    match conversion(from, to) {
        Some(convert) => Cow::Owned(convert(body.clone())),
        None => Cow::Borrowed(body),
    }
}

/// What turns the form of one kind into that of the other; `None` where both have one form.
fn conversion(from: &Kind, to: &Kind) -> Option<fn(Value) -> Value> {
    match (from.is_new_event(), to.is_new_event()) {
        (true, false) => return Some(events::to_core),
        (false, true) => return Some(events::from_core),
        _ => {}
    }
    match (from.is_first_autoscaler(), to.is_first_autoscaler()) {
        (true, false) => Some(|body| autoscalers::from_first(&body)),
        (false, true) => Some(|body| autoscalers::to_first(&body)),
        _ => None,
    }
}
