//! Keeps a cache up to date with one kind: list once, then watch.
//!
//! A watch that ends resumes at its version; if the server no longer has that version (410), the
//! reflector lists again, at once unless the last list was for the same reason and led to nothing.
//! An object that a list no longer contains was deleted. Waits between attempts grow to half a
//! minute and have no jitter, because a simulation must replay.
//!
//! A watch may be refused because of the version where it starts, or because of an event there that
//! cannot be parsed. So after three refusals in a row the reflector lists before each further
//! attempt: with the right to list and without that to watch, the cache is updated twice a minute.
//! A server that cannot be reached has refused nothing, and the watch resumes.
//!
//! A watch that delivers neither events nor bookmarks for too long is restarted. A server that
//! sends bookmarks sends one about every minute, so after the first early bookmark the limit is 90
//! s; before that, and without bookmarks, it is slightly longer than the server keeps a watch open.
//! This covers intermediaries such as proxies; a dead connection is detected much sooner
//! (`connect`).
//!
//! kube-runtime's watcher is not used: it resumes a refused watch at the same version, and its
//! silence limit is fixed, whatever the server's bookmarks.

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, pin_mut};
use kube::api::WatchEvent;

use super::informer::{Informer, Informers, MIN_WATCH, ReadVerb};
use super::wire::WireObject;
use crate::api::{ApiServer, ListPager, NamespacedName, RequestError, Resource};
use crate::clock;

const FIRST_WAIT: Duration = Duration::from_millis(100);
const MAX_WAIT: Duration = Duration::from_secs(30);
/// Longer than the server keeps a watch open: after such a silence the connection is lost.
const MAX_SILENCE: Duration = Duration::from_secs(295);
/// The same for a server that sends bookmarks, about one each minute.
const MAX_SILENCE_WITH_BOOKMARKS: Duration = Duration::from_secs(90);
/// Refusals of a watch in a row after which a list precedes each further attempt.
const MAX_REFUSALS: u32 = 3;

/// What a reflector feeds.
pub trait WatchSink<C>: Send + Sync + 'static {
    /// The client of its watches.
    fn api(&self) -> &ApiServer;
    /// Health of the informers.
    fn informers(&self) -> &Informers;
    /// Applies the update that an object's event results in.
    fn apply(&self, update: C);
    /// A list of a kind is complete, at a version.
    fn on_listed(&self, resource: Resource, version: &str);
    /// A watch has reached a version.
    fn on_version(&self, resource: Resource, version: &str);
    /// A kind cannot be listed; the reflector retries.
    fn on_list_error(&self, _resource: Resource, _error: &RequestError) {}
}

/// Never returns; calls `synced` when the first list is in the cache.
pub async fn reflect<W: WireObject, S: WatchSink<W::Update>>(sink: Arc<S>, synced: impl FnOnce()) {
    let mut reflector = Reflector::<W, S> {
        informer: sink.informers().of(W::RESOURCE),
        sink,
        cached_keys: BTreeSet::new(),
        wait: FIRST_WAIT,
        refusals: 0,
        has_expired: false,
        has_bookmarks: false,
        wire: PhantomData,
    };
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
                reflector.informer.on_failure(ReadVerb::List, &error);
                reflector.sink.on_list_error(W::RESOURCE, &error);
                pause(&mut wait).await;
            }
        }
    }
}

async fn pause(wait: &mut Duration) {
    clock::sleep(*wait).await;
    *wait = (*wait * 2).min(MAX_WAIT);
}

struct Reflector<W, S> {
    sink: Arc<S>,
    informer: Arc<Informer>,
    /// The keys of this kind that the cache contains.
    cached_keys: BTreeSet<NamespacedName>,
    /// The wait after the next watch that ends early.
    wait: Duration,
    /// Refused watches in a row.
    refusals: u32,
    /// Whether the last watch ended because the server no longer had its version.
    has_expired: bool,
    /// Whether this server sends bookmarks during a watch.
    has_bookmarks: bool,
    wire: PhantomData<W>,
}

impl<W: WireObject, S: WatchSink<W::Update>> Reflector<W, S> {
    /// Updates the cache to a new list, and removes what it does not contain; returns the list's
    /// version.
    async fn list(&mut self) -> Result<String, RequestError> {
        let mut gone = self.cached_keys.clone();
        let mut pages = ListPager::new(W::RESOURCE);
        loop {
            let list = pages.next_page::<W>(self.sink.api()).await?;
            for item in list.items {
                gone.remove(&item.key_and_version().0);
                self.put(item);
            }
            if list.metadata.continue_token.is_empty() {
                for key in gone {
                    self.remove(key);
                }
                self.sink.on_listed(W::RESOURCE, &list.metadata.resource_version);
                self.informer.on_list();
                return Ok(list.metadata.resource_version);
            }
        }
    }

    /// Follows all changes after a version until a new list is needed.
    async fn watch(&mut self, version: &mut String) {
        loop {
            let (before, start) = (version.clone(), clock::instant());
            let result = self.watch_once(version).await;
            let (is_stuck, is_short) = (*version == before, clock::instant() - start < MIN_WATCH);
            let is_refused = match result {
                Ok(()) => {
                    self.informer.on_watch_end();
                    false
                }
                Err(error) if error.is_expired() => {
                    // The list before this watch did not help. More of them, one directly after the
                    // other, would load the server without end.
                    if self.has_expired && is_stuck && is_short {
                        self.informer.on_failure(ReadVerb::Watch, &error);
                        pause(&mut self.wait).await;
                    } else {
                        self.wait = FIRST_WAIT;
                    }
                    self.has_expired = true;
                    return;
                }
                Err(error) => {
                    self.informer.on_failure(ReadVerb::Watch, &error);
                    error.is_answer()
                }
            };
            self.has_expired &= is_stuck && is_short;
            if is_refused && is_stuck {
                self.refusals = self.refusals.saturating_add(1);
            } else if !is_stuck || !is_short {
                self.refusals = 0;
            }
            if is_stuck && (is_short || is_refused) {
                pause(&mut self.wait).await;
            } else {
                self.wait = FIRST_WAIT;
            }
            if self.refusals >= MAX_REFUSALS {
                return;
            }
        }
    }

    /// Follows changes until the watch ends in order, so that it can resume, or fails.
    async fn watch_once(&mut self, version: &mut String) -> Result<(), RequestError> {
        let failed = |source| RequestError::Server {
            request: format!("WATCH {}", W::RESOURCE.plural()),
            source: Box::new(source),
        };
        let events = self.sink.api().watch::<W>(W::RESOURCE, version).await?;
        pin_mut!(events);
        self.informer.on_watch_start();
        let began = clock::instant();
        loop {
            let silence = if self.has_bookmarks { MAX_SILENCE_WITH_BOOKMARKS } else { MAX_SILENCE };
            let event = match clock::within(silence, events.next()).await {
                None => {
                    let (resource, seconds) = (W::RESOURCE.plural(), silence.as_secs());
                    tracing::warn!(resource, seconds, "A watch has been silent for too long; restarting it.");
                    return Ok(());
                }
                Some(None) => return Ok(()),
                Some(Some(event)) => event?,
            };
            match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    *version = object.key_and_version().1;
                    self.put(object);
                }
                WatchEvent::Deleted(object) => {
                    let (key, last) = object.key_and_version();
                    *version = last;
                    self.remove(key);
                }
                WatchEvent::Bookmark(bookmark) => {
                    // One at the end of a watch does not mean that there are more.
                    self.has_bookmarks |= clock::instant() - began <= MAX_SILENCE_WITH_BOOKMARKS;
                    *version = bookmark.metadata.resource_version;
                }
                WatchEvent::Error(status) => return Err(failed(kube::Error::Api(status))),
            }
            self.informer.on_event();
            self.sink.on_version(W::RESOURCE, version);
        }
    }

    fn put(&mut self, object: W) {
        let (key, _) = object.key_and_version();
        match object.into_update() {
            Ok(change) => {
                self.cached_keys.insert(key);
                self.sink.apply(change);
            }
            Err(error) => tracing::error!(%error, object = %key, "An object cannot be read and is left alone."),
        }
    }

    fn remove(&mut self, key: NamespacedName) {
        self.cached_keys.remove(&key);
        self.sink.apply(W::deletion(key));
    }
}
