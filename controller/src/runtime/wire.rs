//! Objects as they come over the wire, and how each kind gets from there into the cache.
//!
//! Deployments and ReplicaSets are kept as they came, field managers left out; of a pod only the
//! facts that rules use are read at all, and more of them only where the ReplicaSet controller
//! runs. Each is brought into the form in which it is kept as soon as its own text has been read,
//! so that a page of a list never stands in memory as parsed JSON.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

use crate::api::{Change, Key, Parted, Resource};
use crate::model::any_json::AnyJson;
use crate::model::{Deployment, ModelError, Pod, PodWithTraits, ReplicaSet};

/// One kind of object, as it comes over the wire.
pub(super) trait Wire: DeserializeOwned + Clone + Send + 'static {
    const RESOURCE: Resource;
    /// What becomes of it.
    type Change;

    /// Where it belongs, and its version.
    fn place(&self) -> (Key, String);

    /// Reads it; only now can it turn out to be unreadable.
    fn read(self) -> Result<Self::Change, ModelError>;

    /// That it is gone.
    fn gone(key: Key) -> Self::Change;
}

/// An object that is kept as it came.
#[derive(Clone)]
pub(super) struct Raw<T> {
    key: Key,
    version: String,
    object: Result<Arc<T>, ModelError>,
}

/// What is kept as it came.
pub(super) trait Kept: Sized {
    /// Reads one.
    fn of(parted: Parted) -> Result<Self, ModelError>;
}

impl Kept for Deployment {
    fn of(Parted { raw, template }: Parted) -> Result<Self, ModelError> {
        Self::assemble(raw, template)
    }
}

impl Kept for ReplicaSet {
    fn of(Parted { raw, template }: Parted) -> Result<Self, ModelError> {
        Self::assemble(raw, template)
    }
}

impl<'de, T: Kept> Deserialize<'de> for Raw<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let AnyJson(parted) = AnyJson::<Parted>::deserialize(from)?;
        let text = |field| parted.raw["metadata"][field].as_str().unwrap_or_default();
        let (key, version) = (Key::new(text("namespace"), text("name")), text("resourceVersion").to_owned());
        Ok(Self { key, version, object: T::of(parted).map(Arc::new) })
    }
}

impl Wire for Raw<Deployment> {
    const RESOURCE: Resource = Resource::Deployments;
    type Change = Change;

    fn place(&self) -> (Key, String) {
        (self.key.clone(), self.version.clone())
    }

    fn read(self) -> Result<Change, ModelError> {
        Ok(Change::Deployment(self.key, Some(self.object?)))
    }

    fn gone(key: Key) -> Change {
        Change::Deployment(key, None)
    }
}

impl Wire for Raw<ReplicaSet> {
    const RESOURCE: Resource = Resource::ReplicaSets;
    type Change = Change;

    fn place(&self) -> (Key, String) {
        (self.key.clone(), self.version.clone())
    }

    fn read(self) -> Result<Change, ModelError> {
        Ok(Change::ReplicaSet(self.key, Some(self.object?)))
    }

    fn gone(key: Key) -> Change {
        Change::ReplicaSet(key, None)
    }
}

impl Wire for Pod {
    const RESOURCE: Resource = Resource::Pods;
    type Change = Change;

    fn place(&self) -> (Key, String) {
        (Key::new(&self.namespace, &self.name), self.resource_version.clone())
    }

    fn read(self) -> Result<Change, ModelError> {
        Ok(Change::Pod(Key::new(&self.namespace, &self.name), Some(Arc::new(self))))
    }

    fn gone(key: Key) -> Change {
        Change::Pod(key, None)
    }
}

impl Wire for PodWithTraits {
    const RESOURCE: Resource = Resource::Pods;
    type Change = Change;

    fn place(&self) -> (Key, String) {
        self.0.place()
    }

    fn read(self) -> Result<Change, ModelError> {
        self.0.read()
    }

    fn gone(key: Key) -> Change {
        Pod::gone(key)
    }
}
