//! Keeps the cache in step with one kind of object: list once, then watch.
//!
//! A watch that ends goes on where it was; one whose place the server has forgotten (410) starts over with a list. What a list no
//! longer holds was deleted in between. Waits between attempts grow to half a minute and do not jitter: a simulation must replay.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, pin_mut};
use kube::api::WatchEvent;
use serde_json::Value;

use super::triggers::Change;
use super::worker::Controller;
use super::{Key, RequestError, Resource};
use crate::clock;
use crate::model::{Deployment, ModelError, Pod, ReplicaSet};

const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// Longer than the server keeps a watch open; a watch that is silent for so long has lost its connection.
const SILENCE: Duration = Duration::from_secs(295);
/// A watch that ends sooner, and has shown nothing, is not followed by the next at once.
const SHORT: Duration = Duration::from_secs(1);

/// Why a watch ended.
enum End {
    /// In order; its place is still good.
    Closed,
    /// The server has forgotten its place.
    Expired,
}

/// Runs for ever; calls `synced` when the first list is in the cache.
pub(super) async fn reflect(controller: Arc<Controller>, resource: Resource, synced: impl FnOnce()) {
    let mut reflector = Reflector { controller, resource, known: BTreeSet::new() };
    let mut synced = Some(synced);
    let mut wait = FIRST_WAIT;
    loop {
        match reflector.list().await {
            Ok(mut version) => {
                if let Some(synced) = synced.take() {
                    synced();
                }
                wait = FIRST_WAIT;
                reflector.watch(&mut version).await;
            }
            Err(error) => {
                tracing::warn!(resource = resource.plural(), error = %error.message(), "Cannot list; trying again.");
                pause(&mut wait).await;
            }
        }
    }
}

async fn pause(wait: &mut Duration) {
    clock::sleep(*wait).await;
    *wait = (*wait * 2).min(LONGEST_WAIT);
}

struct Reflector {
    controller: Arc<Controller>,
    resource: Resource,
    /// What the cache holds of this kind.
    known: BTreeSet<Key>,
}

impl Reflector {
    /// Puts everything there is into the cache, takes everything else out; returns the version that this is true of.
    async fn list(&mut self) -> Result<String, RequestError> {
        let mut gone = self.known.clone();
        let mut page = None;
        loop {
            let mut list = self.controller.api.list(self.resource, page).await?;
            let version = text(&list, "/metadata/resourceVersion");
            let next = text(&list, "/metadata/continue");
            if let Some(Value::Array(items)) = list.get_mut("items").map(Value::take) {
                for item in items {
                    if let Some(key) = self.put(item) {
                        gone.remove(&key);
                    }
                }
            }
            if next.is_empty() {
                for key in gone {
                    self.remove(key);
                }
                return Ok(version);
            }
            page = Some(next);
        }
    }

    /// Follows all changes after a version until the server has forgotten that version.
    async fn watch(&mut self, version: &mut String) {
        let mut wait = FIRST_WAIT;
        loop {
            let (before, start) = (version.clone(), clock::instant());
            match self.watch_once(version).await {
                Ok(End::Closed) => {}
                Ok(End::Expired) => return,
                Err(error) if error.is_expired() => return,
                Err(error) => {
                    tracing::debug!(resource = self.resource.plural(), error = %error.message(), "A watch broke.");
                }
            }
            if *version == before && clock::instant() - start < SHORT {
                pause(&mut wait).await;
            } else {
                wait = FIRST_WAIT;
            }
        }
    }

    async fn watch_once(&mut self, version: &mut String) -> Result<End, RequestError> {
        let events = self.controller.api.watch(self.resource, version).await?;
        pin_mut!(events);
        loop {
            let event = match clock::within(SILENCE, events.next()).await {
                None | Some(None) => return Ok(End::Closed),
                Some(Some(Ok(event))) => event,
                Some(Some(Err(source))) => {
                    let what = format!("WATCH {}", self.resource.plural());
                    return Err(RequestError::Server { what, source: Box::new(source) });
                }
            };
            match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    *version = text(&object, "/metadata/resourceVersion");
                    self.put(object);
                }
                WatchEvent::Deleted(object) => {
                    *version = text(&object, "/metadata/resourceVersion");
                    self.remove(key_of(&object));
                }
                WatchEvent::Bookmark(bookmark) => *version = bookmark.metadata.resource_version,
                WatchEvent::Error(status) if status.code == 410 => return Ok(End::Expired),
                WatchEvent::Error(status) => {
                    let what = format!("WATCH {}", self.resource.plural());
                    return Err(RequestError::Server { what, source: Box::new(kube::Error::Api(status)) });
                }
            }
        }
    }

    fn put(&mut self, object: Value) -> Option<Key> {
        let key = key_of(&object);
        match read(self.resource, &key, object) {
            Ok(change) => {
                self.known.insert(key.clone());
                self.controller.take(change);
                Some(key)
            }
            Err(error) => {
                tracing::error!(%error, object = %key, "An object cannot be read and is left alone.");
                None
            }
        }
    }

    fn remove(&mut self, key: Key) {
        self.known.remove(&key);
        self.controller.take(match self.resource {
            Resource::Deployments => Change::Deployment(key, None),
            Resource::ReplicaSets => Change::ReplicaSet(key, None),
            Resource::Pods | Resource::Events => Change::Pod(key, None),
        });
    }
}

/// Reads an object and lets go of what nobody uses: for pods nearly all, for the others the field managers, which the server
/// keeps for itself when a write leaves them out.
fn read(resource: Resource, key: &Key, mut object: Value) -> Result<Change, ModelError> {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    let key = key.clone();
    Ok(match resource {
        Resource::Deployments => Change::Deployment(key, Some(Arc::new(Deployment::read(object)?))),
        Resource::ReplicaSets => Change::ReplicaSet(key, Some(Arc::new(ReplicaSet::read(object)?))),
        Resource::Pods | Resource::Events => Change::Pod(key, Some(Pod::read(&object)?)),
    })
}

fn key_of(object: &Value) -> Key {
    Key { namespace: text(object, "/metadata/namespace"), name: text(object, "/metadata/name") }
}

fn text(object: &Value, pointer: &str) -> String {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}
