//! An object at one version, and the texts in which it leaves.
//!
//! Its managers stand beside its body. They are half of an object's text, and are written as
//! `managedFields` only for a client that reads those.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde_json::Value;

use super::convert;
use super::defaults;
use super::kinds::{AUTOSCALER, Kind};
use super::managed::Managers;
use super::store::Key;

/// An object at one version.
#[derive(Debug)]
pub(super) struct Object {
    pub(super) kind: &'static Kind,
    /// Without `kind` and `apiVersion`, which are in `kind`, and without `managedFields`.
    pub(super) body: Value,
    pub(super) managers: Managers,
    pub(super) version: u64,
    /// The body as JSON.
    text: OnceLock<Bytes>,
    /// The same with `managedFields`, once a client has read it so.
    whole: OnceLock<Bytes>,
}

/// Whether a client reads `managedFields`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum ManagedFields {
    #[default]
    Shown,
    LeftOut,
}

impl Object {
    pub(super) fn new(kind: &'static Kind, mut body: Value, managers: Managers, version: u64) -> Arc<Self> {
        body["metadata"]["resourceVersion"] = version.to_string().into();
        Self::of(kind, body, managers, version)
    }

    /// One whose text is known.
    pub(super) fn read(kind: &'static Kind, body: Value, managers: Managers, version: u64, text: Bytes) -> Arc<Self> {
        Arc::new(Self { kind, body, managers, version, text: OnceLock::from(text), whole: OnceLock::new() })
    }

    fn of(kind: &'static Kind, body: Value, managers: Managers, version: u64) -> Arc<Self> {
        Arc::new(Self { kind, body, managers, version, text: OnceLock::new(), whole: OnceLock::new() })
    }

    /// The same object as a version of its kind, by the schema of which it is read anew; an Event
    /// or an autoscaler in its other form.
    pub(super) fn at(self: &Arc<Self>, kind: &'static Kind) -> Arc<Self> {
        if kind.built_in() != AUTOSCALER {
            return self.as_said(kind);
        }
        // It is stored as it was said, and what is read from etcd gets defaults once more.
        let mut body = self.body.clone();
        defaults::fill(self.kind, &mut body);
        Self::of(self.kind, body, self.managers.clone(), self.version).as_said(kind)
    }

    /// The same, without the defaults of what is read.
    fn as_said(self: &Arc<Self>, kind: &'static Kind) -> Arc<Self> {
        if std::ptr::eq(kind, self.kind) {
            return Arc::clone(self);
        }
        let body = match kind.custom {
            None => convert::converted(self.body.clone(), self.kind, kind),
            Some(custom) => {
                let mut body = custom.decode(&self.body).map_or_else(|_| self.body.clone(), |decoded| decoded.value);
                custom.fill(&mut body);
                body
            }
        };
        Self::of(kind, body, self.managers.clone(), self.version)
    }

    /// The body as JSON, without its type and `managedFields`.
    pub(super) fn bare(&self) -> &Bytes {
        // In a box, because it is kept: what is written grows by doubling.
        self.text.get_or_init(|| Bytes::from(written(&self.body).into_boxed_slice()))
    }

    /// The body as JSON, without its type.
    pub(super) fn untyped_text(&self, managed: ManagedFields) -> &Bytes {
        if managed == ManagedFields::LeftOut || self.managers.is_none() {
            return self.bare();
        }
        self.whole.get_or_init(|| Bytes::from(written(&self.with_managers()).into_boxed_slice()))
    }

    /// The body as JSON, with its type.
    pub(super) fn text(&self, managed: ManagedFields) -> Vec<u8> {
        let mut text = Vec::with_capacity(self.untyped_text(managed).len() + 64);
        self.write(&mut text, managed);
        text
    }

    /// Add the body with its type.
    pub(super) fn write(&self, text: &mut Vec<u8>, managed: ManagedFields) {
        for part in ["{\"kind\":\"", self.kind.kind, "\",\"apiVersion\":\"", &self.kind.api_version(), "\","] {
            text.extend_from_slice(part.as_bytes());
        }
        text.extend_from_slice(&self.untyped_text(managed)[1..]);
    }

    /// The body with `managedFields`.
    pub(super) fn with_managers(&self) -> Value {
        self.add_managers(self.body.clone())
    }

    /// An object of its kind with its `managedFields`. What a patch has made of it may have no
    /// metadata to put them into.
    pub(super) fn add_managers(&self, mut object: Value) -> Value {
        let meta = object.get_mut("metadata").and_then(Value::as_object_mut);
        if let (Some(managers), Some(meta)) = (&self.managers, meta) {
            meta.insert("managedFields".to_owned(), managers.to_json());
        }
        object
    }

    /// The body with its type.
    pub(super) fn typed_body(&self) -> Value {
        let mut body = self.body.clone();
        body["kind"] = self.kind.kind.into();
        body["apiVersion"] = self.kind.api_version().into();
        body
    }

    /// The body with its type and `managedFields`.
    pub(super) fn typed(&self) -> Value {
        self.add_managers(self.typed_body())
    }

    pub(super) fn key(&self) -> Key {
        Key::new(self.kind, self.meta("namespace"), self.meta("name"))
    }

    /// A string of its metadata, empty if absent.
    pub(super) fn meta(&self, name: &str) -> &str {
        self.body["metadata"][name].as_str().unwrap_or_default()
    }

    /// Whether its deletion has begun.
    pub(super) fn deleting(&self) -> bool {
        !self.body["metadata"]["deletionTimestamp"].is_null()
    }

    pub(super) fn finalizers(&self) -> impl Iterator<Item = &str> {
        self.body["metadata"]["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str)
    }
}

/// A value as JSON. Its `Display` writes the same, sign by sign through a formatter.
pub(super) fn written(value: &Value) -> Vec<u8> {
    serde_json::to_vec(value).expect("the keys of a JSON value are strings")
}
