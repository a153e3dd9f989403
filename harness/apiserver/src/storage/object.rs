//! An object at one version, and its encoded forms.
//!
//! Managers are kept separately from the body. They are half of the text of an object, and are
//! encoded as `managedFields` only for clients that read them.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde_json::Value;

use crate::fields::entries::Managers;
use crate::http::request::ManagedFieldsPolicy;
use crate::storage::keys::StoreKey;
use crate::types::decode::to_json_bytes;
use crate::types::kinds::ResourceKind;

/// An object at one version.
#[derive(Debug)]
pub(crate) struct StoredObject {
    pub(crate) kind: &'static ResourceKind,
    /// Without `kind` and `apiVersion`, which are in `kind`, and without `managedFields`.
    pub(crate) body: Value,
    pub(crate) managers: Managers,
    pub(crate) version: u64,
    /// The body as JSON.
    text: OnceLock<Bytes>,
    /// The body with `managedFields` as JSON, once a client has read it.
    text_with_managers: OnceLock<Bytes>,
}

impl StoredObject {
    pub(crate) fn new(kind: &'static ResourceKind, mut body: Value, managers: Managers, version: u64) -> Arc<Self> {
        body["metadata"]["resourceVersion"] = version.to_string().into();
        Self::of(kind, body, managers, version)
    }

    /// An object whose JSON is known.
    pub(crate) fn with_text(
        kind: &'static ResourceKind,
        body: Value,
        managers: Managers,
        version: u64,
        text: Bytes,
    ) -> Arc<Self> {
        Arc::new(Self {
            kind,
            body,
            managers,
            version,
            text: OnceLock::from(text),
            text_with_managers: OnceLock::new(),
        })
    }

    pub(crate) fn of(kind: &'static ResourceKind, body: Value, managers: Managers, version: u64) -> Arc<Self> {
        Arc::new(Self { kind, body, managers, version, text: OnceLock::new(), text_with_managers: OnceLock::new() })
    }

    /// The body as JSON, without its type and `managedFields`.
    pub(crate) fn untyped_text_without_managers(&self) -> &Bytes {
        // Boxed to release spare capacity, as the text is kept.
        self.text.get_or_init(|| Bytes::from(to_json_bytes(&self.body).into_boxed_slice()))
    }

    /// The body as JSON, without its type.
    pub(crate) fn untyped_text(&self, managed_fields: ManagedFieldsPolicy) -> &Bytes {
        if managed_fields == ManagedFieldsPolicy::Omit || self.managers.is_none() {
            return self.untyped_text_without_managers();
        }
        self.text_with_managers.get_or_init(|| Bytes::from(to_json_bytes(&self.with_managers()).into_boxed_slice()))
    }

    /// The body as JSON, with its type.
    pub(crate) fn text(&self, managed_fields: ManagedFieldsPolicy) -> Vec<u8> {
        let mut text = Vec::with_capacity(self.untyped_text(managed_fields).len() + 64);
        self.write(&mut text, managed_fields);
        text
    }

    /// Appends the body with its type.
    pub(crate) fn write(&self, text: &mut Vec<u8>, managed_fields: ManagedFieldsPolicy) {
        for part in ["{\"kind\":\"", self.kind.kind, "\",\"apiVersion\":\"", &self.kind.api_version(), "\","] {
            text.extend_from_slice(part.as_bytes());
        }
        text.extend_from_slice(&self.untyped_text(managed_fields)[1..]);
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
