//! Converts objects between the groups and versions that share one storage.
//!
//! Events are served by two groups (`events`), autoscalers in two versions (`autoscaling`). The
//! versions of a custom resource differ in the fields that their schemas declare.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use crate::registry::kinds::strategy_of;
use crate::registry::prepare;
use crate::storage::object::StoredObject;
use crate::types::kinds::{Kinds, ResourceKind};

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
    if from.stored_as.is_some_and(|stored| stored.is(to)) {
        return strategy_of(from).stored_conversion().map(|conversion| conversion.to_stored);
    }
    let is_stored = to.stored_as.is_some_and(|stored| stored.is(from));
    strategy_of(to).stored_conversion().filter(|_| is_stored).map(|conversion| conversion.from_stored)
}

impl StoredObject {
    /// The object at another version of its kind: a custom resource is decoded again by the schema
    /// of that version, and an Event or an autoscaler is converted.
    pub(crate) fn as_kind(self: &Arc<Self>, kind: &'static ResourceKind, kinds: &Kinds) -> Arc<Self> {
        if kind.custom.is_some() {
            return self.as_custom_kind(kind, kinds);
        }
        if !strategy_of(kind).is_stored_without_defaults() {
            return self.convert_to(kind);
        }
        let mut body = self.body.clone();
        prepare::set_defaults(self.kind, &mut body);
        Self::of(self.kind, body, self.managers.clone(), self.version).convert_to(kind)
    }

    /// Converts the object without setting defaults.
    fn convert_to(self: &Arc<Self>, kind: &'static ResourceKind) -> Arc<Self> {
        if kind.is(self.kind) {
            return Arc::clone(self);
        }
        let body = convert_object(self.body.clone(), self.kind, kind);
        Self::of(kind, body, self.managers.clone(), self.version)
    }

    /// Decodes a custom resource by its stored version, as it is defined now and with its defaults,
    /// and then by the version of the request.
    fn as_custom_kind(self: &Arc<Self>, kind: &'static ResourceKind, kinds: &Kinds) -> Arc<Self> {
        let stored = kinds.current_version(kind, self.kind.version);
        if kind.is(self.kind) && stored.is_none_or(|stored| stored.is(kind)) {
            return Arc::clone(self);
        }
        let mut body = self.body.clone();
        if let Some(custom) = stored.filter(|stored| !stored.is(self.kind)).and_then(|stored| stored.custom) {
            body = custom.pruned(body);
            custom.fill(&mut body);
        }
        if let Some(custom) = kind.custom.filter(|_| stored.is_none_or(|stored| !stored.is(kind))) {
            body = custom.pruned(body);
        }
        Self::of(kind, body, self.managers.clone(), self.version)
    }
}
