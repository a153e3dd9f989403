//! Converts objects between the groups and versions that share one storage.
//!
//! Events are served by two groups ([`events`]), autoscalers in two versions ([`autoscalers`]). All
//! versions of a custom resource have the same fields.

use std::borrow::Cow;

use serde_json::Value;

use crate::types::kinds::ResourceKind;
use crate::{autoscalers, events};

/// Converts an object between kinds with the same storage.
pub(crate) fn convert_object(body: Value, from: &ResourceKind, to: &ResourceKind) -> Value {
    match conversion(from, to) {
        Some(convert) => convert(body),
        None => body,
    }
}

/// As [`convert_object`], but copies the object only if needed.
pub(crate) fn convert_borrowed<'a>(body: &'a Value, from: &ResourceKind, to: &ResourceKind) -> Cow<'a, Value> {
    match conversion(from, to) {
        Some(convert) => Cow::Owned(convert(body.clone())),
        None => Cow::Borrowed(body),
    }
}

/// The conversion between two kinds; `None` if they are equal.
fn conversion(from: &ResourceKind, to: &ResourceKind) -> Option<fn(Value) -> Value> {
    match (from.is_events_v1(), to.is_events_v1()) {
        (true, false) => return Some(events::to_core),
        (false, true) => return Some(events::from_core),
        _ => {}
    }
    match (from.is_v1_autoscaler(), to.is_v1_autoscaler()) {
        (true, false) => Some(|body| autoscalers::from_v1(&body)),
        (false, true) => Some(|body| autoscalers::to_v1(&body)),
        _ => None,
    }
}
