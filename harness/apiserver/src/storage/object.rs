//! An object at one version: decoded, or packed as text.
//!
//! Managers are kept separately from the body. They would be half of the text of an object, and are
//! encoded as `managedFields` only for clients that read them.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use serde_json::Value;

use crate::fields::entries::Managers;
use crate::http::request::ManagedFieldsPolicy;
use crate::storage::keys::StoreKey;
use crate::storage::lazy_json::{BodyText, LazyJson};
use crate::types::kinds::ResourceKind;

/// An object at one version.
#[derive(Debug)]
pub(crate) struct StoredObject {
    pub(crate) kind: &'static ResourceKind,
    /// Without `kind` and `apiVersion`, which are in `kind`, and without `managedFields`.
    pub(crate) body: LazyJson,
    pub(crate) managers: Managers,
    managers_text: OnceLock<Vec<u8>>,
    pub(crate) version: u64,
}

/// An object at one version as text. Its managers share the sets of fields with other versions,
/// and take less memory than their text.
#[derive(Debug)]
pub(crate) struct PackedObject {
    kind: &'static ResourceKind,
    body: BodyText,
    managers: Managers,
    version: u64,
    /// What a reader still has of it.
    read: Mutex<Weak<StoredObject>>,
}

/// An object as the store and the log hold it.
#[derive(Debug, Clone)]
pub(crate) enum StoredVersion {
    Decoded(Arc<StoredObject>),
    Packed(Arc<PackedObject>),
}

impl StoredVersion {
    /// The object. That of a packed one is its readers', and is decoded when it is read.
    pub(crate) fn object(&self) -> Arc<StoredObject> {
        match self {
            Self::Decoded(object) => Arc::clone(object),
            Self::Packed(packed) => packed.object(),
        }
    }

    /// Keeps the body as text only; returns its length.
    pub(crate) fn pack(&mut self) -> usize {
        if let Self::Decoded(object) = self {
            *self = Self::Packed(Arc::new(PackedObject {
                kind: object.kind,
                body: object.body.text().clone(),
                managers: object.managers.clone(),
                version: object.version,
                read: Mutex::default(),
            }));
        }
        match self {
            Self::Packed(packed) => packed.body.bytes.len(),
            Self::Decoded(_) => 0,
        }
    }

    pub(crate) fn version(&self) -> u64 {
        match self {
            Self::Decoded(object) => object.version,
            Self::Packed(packed) => packed.version,
        }
    }
}

impl PackedObject {
    /// The object. While a reader has it, others get the same one, so that it is decoded once.
    fn object(&self) -> Arc<StoredObject> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.upgrade().unwrap_or_else(|| {
            let (body, managers) = (LazyJson::of_text(self.body.clone()), self.managers.clone());
            let object = StoredObject::of_body(self.kind, body, managers, self.version);
            *read = Arc::downgrade(&object);
            object
        })
    }
}

impl StoredObject {
    pub(crate) fn new(kind: &'static ResourceKind, mut body: Value, managers: Managers, version: u64) -> Arc<Self> {
        body["metadata"]["resourceVersion"] = version.to_string().into();
        Self::of(kind, body, managers, version)
    }

    pub(crate) fn of(kind: &'static ResourceKind, body: Value, managers: Managers, version: u64) -> Arc<Self> {
        Self::of_body(kind, LazyJson::of_value(body), managers, version)
    }

    fn of_body(kind: &'static ResourceKind, body: LazyJson, managers: Managers, version: u64) -> Arc<Self> {
        Arc::new(Self { kind, body, managers, managers_text: OnceLock::new(), version })
    }

    /// The value of `managedFields`; empty if there are none.
    fn managers_text(&self) -> &[u8] {
        self.managers_text.get_or_init(|| self.managers.as_ref().map_or_else(Vec::new, |managers| managers.to_text()))
    }

    /// The body as JSON, with its type.
    pub(crate) fn text(&self, managed_fields: ManagedFieldsPolicy) -> Vec<u8> {
        let mut text = Vec::new();
        self.write(&mut text, managed_fields);
        text
    }

    /// Appends the body with its type.
    pub(crate) fn write(&self, text: &mut Vec<u8>, managed_fields: ManagedFieldsPolicy) {
        for part in ["{\"kind\":\"", self.kind.kind, "\",\"apiVersion\":\"", &self.kind.api_version(), "\","] {
            text.extend_from_slice(part.as_bytes());
        }
        self.write_parts(text, managed_fields, 1);
    }

    /// Appends the body without its type.
    pub(crate) fn write_untyped(&self, text: &mut Vec<u8>, managed_fields: ManagedFieldsPolicy) {
        self.write_parts(text, managed_fields, 0);
    }

    fn write_parts(&self, text: &mut Vec<u8>, managed_fields: ManagedFieldsPolicy, from: usize) {
        let body = self.body.text();
        let managers = if managed_fields == ManagedFieldsPolicy::Omit { &[] } else { self.managers_text() };
        text.reserve(body.bytes.len() + managers.len() + 32);
        match body.managers_at.filter(|_| !managers.is_empty()) {
            None => text.extend_from_slice(&body.bytes[from..]),
            Some(at) => {
                let (before, after) = (&body.bytes[from..at], &body.bytes[at..]);
                for part in [before, b"\"managedFields\":", managers, b",", after] {
                    text.extend_from_slice(part);
                }
            }
        }
    }

    /// The body with `managedFields`.
    pub(crate) fn with_managers(&self) -> Value {
        self.add_managers(self.body.clone())
    }

    /// Adds `managedFields` to an object. A patched object may lack the metadata for them.
    pub(crate) fn add_managers(&self, mut object: Value) -> Value {
        let meta = object.get_mut("metadata").and_then(Value::as_object_mut);
        if let (Some(managers), Some(meta)) = (&self.managers, meta) {
            meta.insert("managedFields".to_owned(), managers.to_json());
        }
        object
    }

    /// The body with its type.
    pub(crate) fn typed_body(&self) -> Value {
        let mut body = self.body.clone();
        body["kind"] = self.kind.kind.into();
        body["apiVersion"] = self.kind.api_version().into();
        body
    }

    /// The body with its type and `managedFields`.
    pub(crate) fn typed(&self) -> Value {
        self.add_managers(self.typed_body())
    }

    pub(crate) fn key(&self) -> StoreKey {
        StoreKey::new(self.kind, self.meta("namespace"), self.meta("name"))
    }

    /// A string field of its metadata, empty if absent.
    pub(crate) fn meta(&self, name: &str) -> &str {
        self.body["metadata"][name].as_str().unwrap_or_default()
    }

    /// Whether it is being deleted.
    pub(crate) fn is_deleting(&self) -> bool {
        !self.body["metadata"]["deletionTimestamp"].is_null()
    }

    pub(crate) fn finalizers(&self) -> impl Iterator<Item = &str> {
        self.body["metadata"]["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str)
    }
}

/// The finalizer that keeps an object until its dependents are deleted.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";

/// The finalizer that keeps an object until no dependent refers to it.
pub(crate) const ORPHAN: &str = "orphan";
