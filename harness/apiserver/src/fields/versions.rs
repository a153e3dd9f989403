//! Compares objects in other versions of a kind, in which managers own fields.
//!
//! A set refers to the fields of the version that its manager wrote. To find the changes of a write
//! in another version, the old and the new object are converted to that version and compared there;
//! so a field that exists in one version only is also taken from its manager.
//!
//! Upstream: `merge.Updater`, whose `Converter` is `managedfields/internal`'s `versionConverter`.

use std::borrow::Cow;

use serde_json::Value;

use crate::fields::entries::ManagedFields;
use crate::fields::field_manager::FieldManager;
use crate::fields::typed::Atom;

pub(crate) use crate::fields::converter::{FieldChanges, VersionConverter};

impl FieldManager {
    fn converter(&self, api_version: &str) -> Option<&VersionConverter> {
        self.converters.iter().find(|converter| converter.api_version == api_version)
    }

    /// The type of a version; the manager's own type if there is no converter.
    pub(crate) fn root_of(&self, api_version: &str) -> Atom<'static> {
        self.converter(api_version).map_or(self.root, |converter| converter.root)
    }

    /// Converts an object to another version.
    pub(crate) fn convert_to<'a>(&self, api_version: &str, object: &'a Value) -> Cow<'a, Value> {
        self.converter(api_version).map_or(Cow::Borrowed(object), |converter| Cow::Owned(converter.convert_to(object)))
    }

    /// Converts an object back from another version.
    pub(crate) fn convert_from(&self, api_version: &str, object: Value) -> Value {
        match self.converter(api_version) {
            Some(converter) => converter.convert_from(&object),
            None => object,
        }
    }

    /// Whether managers own fields in a version to which an object cannot be converted.
    pub(crate) fn loses_duplicates(&self, managed: &ManagedFields, objects: [&Value; 2]) -> bool {
        let versions = managed.versions();
        let mut converters = versions.iter().filter_map(|version| self.converter(version));
        converters
            .any(|converter| objects.iter().any(|object| converter.root.has_duplicates(&converter.convert_to(object))))
    }

    /// The changes of a write in a version.
    pub(crate) fn changes_in(&self, api_version: &str, live: &Value, new: &Value) -> FieldChanges {
        match self.converter(api_version) {
            None => {
                let mut compared = self.root.compare(live, new, self.reset);
                compared.modified.add(&self.rewritten);
                FieldChanges::of(&compared, self.reset)
            }
            Some(converter) => FieldChanges::of(
                &converter.root.compare(&converter.convert_to(live), &converter.convert_to(new), converter.reset),
                converter.reset,
            ),
        }
    }
}
