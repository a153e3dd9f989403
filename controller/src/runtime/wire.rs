//! Objects as they come over the wire, and how each kind gets from there into the cache.
//!
//! Deployments and ReplicaSets are kept as they came, field managers left out; of a pod only the facts that rules use are read at
//! all, and more of them only where the ReplicaSet controller runs.

use std::marker::PhantomData;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::triggers::Change;
use super::{Key, Resource};
use crate::model::{Deployment, ModelError, Pod, ReplicaSet, TraitedPod};

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
#[derive(Clone, Deserialize)]
#[serde(transparent)]
pub(super) struct Raw<T> {
    value: Value,
    #[serde(skip)]
    of: PhantomData<T>,
}

impl<T> Raw<T> {
    fn key(&self) -> (Key, String) {
        let text = |field| self.value["metadata"][field].as_str().unwrap_or_default();
        (Key::new(text("namespace"), text("name")), text("resourceVersion").to_owned())
    }

    /// Without the field managers, which nobody here uses, and which the server keeps where a write leaves them out.
    fn trimmed(mut self) -> Value {
        if let Some(metadata) = self.value.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
        self.value
    }
}

impl Wire for Raw<Deployment> {
    const RESOURCE: Resource = Resource::Deployments;
    type Change = Change;

    fn place(&self) -> (Key, String) {
        self.key()
    }

    fn read(self) -> Result<Change, ModelError> {
        let (key, _) = self.key();
        Ok(Change::Deployment(key, Some(Arc::new(Deployment::read(self.trimmed())?))))
    }

    fn gone(key: Key) -> Change {
        Change::Deployment(key, None)
    }
}

impl Wire for Raw<ReplicaSet> {
    const RESOURCE: Resource = Resource::ReplicaSets;
    type Change = Change;

    fn place(&self) -> (Key, String) {
        self.key()
    }

    fn read(self) -> Result<Change, ModelError> {
        let (key, _) = self.key();
        Ok(Change::ReplicaSet(key, Some(Arc::new(ReplicaSet::read(self.trimmed())?))))
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

impl Wire for TraitedPod {
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
