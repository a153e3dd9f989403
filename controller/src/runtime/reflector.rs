//! Keeps the cache in step with one kind of object: list once, then watch.
//!
//! A watch that ends goes on where it was; one whose place the server has forgotten (410) starts over with a list. What a list no
//! longer holds was deleted in between. Waits between attempts grow to half a minute and do not jitter: a simulation must replay.

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, pin_mut};
use kube::api::WatchEvent;

use super::wire::Wire;
use super::{ApiServer, Key, RequestError, Resource};
use crate::clock;

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

/// Who is kept in step.
pub(super) trait Sink<C>: Send + Sync + 'static {
    /// Where it watches.
    fn api(&self) -> &ApiServer;
    /// Something came, changed or went.
    fn take(&self, change: C);
    /// A kind was listed at a version.
    fn listed(&self, resource: Resource, version: &str);
    /// A watch has come to a version.
    fn reached(&self, resource: Resource, version: &str);
    /// A kind cannot be listed; it is tried again.
    fn cannot_list(&self, _resource: Resource, _error: &RequestError) {}
}

/// Runs for ever; calls `synced` when the first list is in the cache.
pub(super) async fn reflect<W: Wire, S: Sink<W::Change>>(sink: Arc<S>, synced: impl FnOnce()) {
    let mut reflector = Reflector::<W, S> { sink, known: BTreeSet::new(), wire: PhantomData };
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
                tracing::warn!(resource = W::RESOURCE.plural(), error = %error.message(), "Cannot list; trying again.");
                reflector.sink.cannot_list(W::RESOURCE, &error);
                pause(&mut wait).await;
            }
        }
    }
}

async fn pause(wait: &mut Duration) {
    clock::sleep(*wait).await;
    *wait = (*wait * 2).min(LONGEST_WAIT);
}

struct Reflector<W, S> {
    sink: Arc<S>,
    /// What the cache holds of this kind.
    known: BTreeSet<Key>,
    wire: PhantomData<W>,
}

impl<W: Wire, S: Sink<W::Change>> Reflector<W, S> {
    /// Puts everything there is into the cache, takes everything else out; returns the version that this is true of.
    async fn list(&mut self) -> Result<String, RequestError> {
        let mut gone = self.known.clone();
        let mut page = None;
        loop {
            let list = self.sink.api().list::<W>(W::RESOURCE, page).await?;
            for item in list.items {
                gone.remove(&item.place().0);
                self.put(item);
            }
            if list.metadata.next.is_empty() {
                for key in gone {
                    self.remove(key);
                }
                self.sink.listed(W::RESOURCE, &list.metadata.resource_version);
                return Ok(list.metadata.resource_version);
            }
            page = Some(list.metadata.next);
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
                    tracing::debug!(resource = W::RESOURCE.plural(), error = %error.message(), "A watch broke.");
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
        let failed =
            |source| RequestError::Server { what: format!("WATCH {}", W::RESOURCE.plural()), source: Box::new(source) };
        let events = self.sink.api().watch::<W>(W::RESOURCE, version).await?;
        pin_mut!(events);
        loop {
            let event = match clock::within(SILENCE, events.next()).await {
                None | Some(None) => return Ok(End::Closed),
                Some(Some(event)) => event.map_err(failed)?,
            };
            match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    *version = object.place().1;
                    self.put(object);
                }
                WatchEvent::Deleted(object) => {
                    let (key, last) = object.place();
                    *version = last;
                    self.remove(key);
                }
                WatchEvent::Bookmark(bookmark) => *version = bookmark.metadata.resource_version,
                WatchEvent::Error(status) if status.code == 410 => return Ok(End::Expired),
                WatchEvent::Error(status) => return Err(failed(kube::Error::Api(status))),
            }
            self.sink.reached(W::RESOURCE, version);
        }
    }

    fn put(&mut self, object: W) {
        let (key, _) = object.place();
        match object.read() {
            Ok(change) => {
                self.known.insert(key);
                self.sink.take(change);
            }
            Err(error) => tracing::error!(%error, object = %key, "An object cannot be read and is left alone."),
        }
    }

    fn remove(&mut self, key: Key) {
        self.known.remove(&key);
        self.sink.take(W::gone(key));
    }
}
