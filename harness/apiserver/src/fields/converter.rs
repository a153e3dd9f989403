//! The conversion of objects to another version of their kind, and the changes of a write in it.

use serde_json::Value;

use crate::fields::path::FieldSet;
use crate::fields::typed::{Atom, FieldComparison};
use crate::types::kinds::ResourceKind;

/// Converts between the written version of a kind and another one.
#[derive(Debug, Clone)]
pub(crate) struct VersionConverter {
    /// The type of the other version.
    pub(crate) root: Atom<'static>,
    pub(crate) api_version: String,
    /// The fields that the server resets after a write in the other version.
    pub(crate) reset: &'static [&'static [&'static str]],
    /// The written version of the kind.
    pub(crate) from: &'static ResourceKind,
    /// The other version of the kind.
    pub(crate) to: &'static ResourceKind,
    /// Converts an object from one version to another.
    pub(crate) convert: fn(Value, &ResourceKind, &ResourceKind) -> Value,
}

/// The changes of a write in one version.
#[derive(Debug)]
pub(crate) struct FieldChanges {
    /// New fields, and fields with a new value.
    pub(crate) assigned: FieldSet,
    pub(crate) removed: FieldSet,
}

impl FieldChanges {
    pub(crate) fn of(compared: &FieldComparison, reset: &[&[&str]]) -> Self {
        // Reset fields do not count.
        let reset = FieldSet::of_fields(reset);
        let assigned = compared.modified.union(&compared.added).recursive_difference(&reset);
        Self { assigned, removed: compared.removed.recursive_difference(&reset) }
    }
}

impl VersionConverter {
    pub(crate) fn convert_to(&self, object: &Value) -> Value {
        (self.convert)(object.clone(), self.from, self.to)
    }

    pub(crate) fn convert_from(&self, object: &Value) -> Value {
        (self.convert)(object.clone(), self.to, self.from)
    }
}
