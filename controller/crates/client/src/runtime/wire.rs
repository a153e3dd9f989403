//! How each watched kind is parsed for the cache.
//!
//! Deployments and ReplicaSets are kept whole, without managed fields; of a pod only the facts that
//! rules use are parsed, and more of them only if the ReplicaSet controller runs. Each object gets
//! its final form as soon as its own text is parsed, so that a page of a list is never in memory as
//! parsed JSON.

use std::sync::Arc;

use rollout_model::any_json::AnyJson;
use rollout_model::{Deployment, ModelError, Pod, PodWithTraits, ReplicaSet};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

use crate::api::{CacheUpdate, NamespacedName, Resource, SplitManifest};

/// An object of one kind as the API server sends it.
pub trait WireObject: DeserializeOwned + Clone + Send + 'static {
    /// The resource that is watched.
    const RESOURCE: Resource;
    /// The update that it results in.
    type Update;

    /// The object's key and version.
    fn key_and_version(&self) -> (NamespacedName, String);

    /// Converts it into an update; fails if it is malformed.
    fn into_update(self) -> Result<Self::Update, ModelError>;

    /// The update for a deleted object.
    fn deletion(key: NamespacedName) -> Self::Update;
}

/// An object that is kept whole.
#[derive(Clone)]
pub struct RawObject<T> {
    key: NamespacedName,
    version: String,
    object: Result<Arc<T>, ModelError>,
}

/// A kind that is kept whole.
pub(super) trait FromManifest: Sized {
    fn of(split: SplitManifest) -> Result<Self, ModelError>;
}

impl FromManifest for Deployment {
    fn of(SplitManifest { raw, template }: SplitManifest) -> Result<Self, ModelError> {
        Self::assemble(raw, template)
    }
}

impl FromManifest for ReplicaSet {
    fn of(SplitManifest { raw, template }: SplitManifest) -> Result<Self, ModelError> {
        Self::assemble(raw, template)
    }
}

impl<'de, T: FromManifest> Deserialize<'de> for RawObject<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let AnyJson(split) = AnyJson::<SplitManifest>::deserialize(from)?;
        let text = |field| split.raw["metadata"][field].as_str().unwrap_or_default();
        let (key, version) = (NamespacedName::new(text("namespace"), text("name")), text("resourceVersion").to_owned());
        Ok(Self { key, version, object: T::of(split).map(Arc::new) })
    }
}

impl WireObject for RawObject<Deployment> {
    const RESOURCE: Resource = Resource::Deployments;
    type Update = CacheUpdate;

    fn key_and_version(&self) -> (NamespacedName, String) {
        (self.key.clone(), self.version.clone())
    }

    fn into_update(self) -> Result<CacheUpdate, ModelError> {
        Ok(CacheUpdate::Deployment(self.key, Some(self.object?)))
    }

    fn deletion(key: NamespacedName) -> CacheUpdate {
        CacheUpdate::Deployment(key, None)
    }
}

impl WireObject for RawObject<ReplicaSet> {
    const RESOURCE: Resource = Resource::ReplicaSets;
    type Update = CacheUpdate;

    fn key_and_version(&self) -> (NamespacedName, String) {
        (self.key.clone(), self.version.clone())
    }

    fn into_update(self) -> Result<CacheUpdate, ModelError> {
        Ok(CacheUpdate::ReplicaSet(self.key, Some(self.object?)))
    }

    fn deletion(key: NamespacedName) -> CacheUpdate {
        CacheUpdate::ReplicaSet(key, None)
    }
}

impl WireObject for Pod {
    const RESOURCE: Resource = Resource::Pods;
    type Update = CacheUpdate;

    fn key_and_version(&self) -> (NamespacedName, String) {
        (NamespacedName::new(&self.namespace, &self.name), self.resource_version.clone())
    }

    fn into_update(self) -> Result<CacheUpdate, ModelError> {
        Ok(CacheUpdate::Pod(NamespacedName::new(&self.namespace, &self.name), Some(Arc::new(self))))
    }

    fn deletion(key: NamespacedName) -> CacheUpdate {
        CacheUpdate::Pod(key, None)
    }
}

impl WireObject for PodWithTraits {
    const RESOURCE: Resource = Resource::Pods;
    type Update = CacheUpdate;

    fn key_and_version(&self) -> (NamespacedName, String) {
        self.0.key_and_version()
    }

    fn into_update(self) -> Result<CacheUpdate, ModelError> {
        self.0.into_update()
    }

    fn deletion(key: NamespacedName) -> CacheUpdate {
        Pod::deletion(key)
    }
}
