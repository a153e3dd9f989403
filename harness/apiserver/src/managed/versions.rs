//! The versions of one kind, in each of which managers may have sets.
//!
//! A set holds the fields of the version that its manager wrote. To know what a write changes in
//! another version, the object before and after it is converted to that one and compared there; a
//! field that no version but one has is so taken from its manager, too.
//!
//! Upstream: `merge.Updater`, whose `Converter` is `managedfields/internal`'s `versionConverter`.

use std::borrow::Cow;

use serde_json::Value;

use super::Writer;
use super::entries::Managed;
use super::path::Set;
use super::typed::{Atom, Comparison};
use crate::convert::converted;
use crate::kinds::Kind;

/// Another version of the kind that is written.
#[derive(Debug, Clone)]
pub(crate) struct Form {
    /// The type.
    pub(crate) root: Atom<'static>,
    pub(crate) api_version: String,
    /// The fields that the server resets after a write in this version.
    pub(crate) reset: &'static [&'static [&'static str]],
    /// The kind as it is written.
    pub(crate) own: &'static Kind,
    /// The kind at this version.
    pub(crate) other: &'static Kind,
}

/// What a write changes, in one version.
#[derive(Debug)]
pub(super) struct Changed {
    /// What is new or has another value.
    pub(super) taken: Set,
    pub(super) removed: Set,
}

impl Changed {
    fn of(compared: &Comparison, reset: &[&[&str]]) -> Self {
        // What is reset does not count.
        let reset = Set::of_fields(reset);
        let taken = compared.modified.union(&compared.added).recursive_difference(&reset);
        Self { taken, removed: compared.removed.recursive_difference(&reset) }
    }
}

impl Form {
    fn there(&self, object: &Value) -> Value {
        converted(object.clone(), self.own, self.other)
    }

    fn back(&self, object: &Value) -> Value {
        converted(object.clone(), self.other, self.own)
    }
}

impl Writer {
    fn other(&self, api_version: &str) -> Option<&Form> {
        self.others.iter().find(|form| form.api_version == api_version)
    }

    /// The type of a version; that of the writer's own where it is no other's.
    pub(super) fn root_of(&self, api_version: &str) -> Atom<'static> {
        self.other(api_version).map_or(self.root, |form| form.root)
    }

    /// An object of the writer's version in another one.
    pub(super) fn there<'a>(&self, api_version: &str, object: &'a Value) -> Cow<'a, Value> {
        self.other(api_version).map_or(Cow::Borrowed(object), |form| Cow::Owned(form.there(object)))
    }

    /// An object of another version in the writer's.
    pub(super) fn back(&self, api_version: &str, object: Value) -> Value {
        match self.other(api_version) {
            Some(form) => form.back(&object),
            None => object,
        }
    }

    /// Whether managers have sets of another version and an object cannot be converted to it.
    pub(super) fn loses(&self, managed: &Managed, objects: [&Value; 2]) -> bool {
        let versions = managed.versions();
        let mut forms = versions.iter().filter_map(|version| self.other(version));
        forms.any(|form| objects.iter().any(|object| form.root.has_duplicates(&form.there(object))))
    }

    /// What a write changes, in a version.
    pub(super) fn changed_at(&self, api_version: &str, live: &Value, new: &Value) -> Changed {
        match self.other(api_version) {
            None => Changed::of(&self.root.compare(live, new, self.reset), self.reset),
            Some(form) => Changed::of(&form.root.compare(&form.there(live), &form.there(new), form.reset), form.reset),
        }
    }
}
