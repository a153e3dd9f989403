//! Keeps the cache in step with one kind of object: list once, then watch.
//!
//! A watch that ends goes on where it was; one whose place the server has forgotten (410) starts
//! over with a list. What a list no longer holds was deleted in between. Waits between attempts
//! grow to half a minute and do not jitter: a simulation must replay.
//!
//! A watch that is refused three times in a row may be refused for the place where it is to begin,
//! or for an event there that cannot be read. So a list goes before the next attempt, and before
//! each one after that: where there is a right to list and none to watch, the cache follows twice a
//! minute. A server that cannot be reached refuses nothing, and a watch goes on where it was.
//!
//! A watch that shows neither an event nor a bookmark for its time is begun anew. A server that
//! sends bookmarks sends one about each minute, so 90 s is that time once one has come so soon;
//! before, and where none ever does, it is a little more than the server keeps a watch open. That
//! is for what answers in the server's place, such as a proxy; of a connection that is dead
//! `connection` knows much sooner.
//!
//! Written here: kube-runtime's watcher begins a refused watch again at the same place, and waits
//! for a fixed time in silence, whatever the server's bookmarks say.

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, pin_mut};
use kube::api::WatchEvent;

use super::informer::{Informer, Informers, SHORT, Verb};
use super::wire::Wire;
use crate::api::{ApiServer, Key, Pages, RequestError, Resource};
use crate::clock;

const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// Longer than the server keeps a watch open; a watch that is silent for so long has lost its
/// connection.
const SILENCE: Duration = Duration::from_secs(295);
/// The same where bookmarks come, which is about each minute.
const SILENCE_WITH_BOOKMARKS: Duration = Duration::from_secs(90);
/// Refusals of a watch in a row after which a list goes before each further one.
const REFUSALS: u32 = 3;

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
    /// Where each informer says how it fares.
    fn informers(&self) -> &Informers;
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
    let mut reflector = Reflector::<W, S> {
        informer: sink.informers().of(W::RESOURCE),
        sink,
        known: BTreeSet::new(),
        wait: FIRST_WAIT,
        refusals: 0,
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
                reflector.informer.failed(Verb::List, &error);
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
    informer: Arc<Informer>,
    /// What the cache holds of this kind.
    known: BTreeSet<Key>,
    /// How long to wait after the next watch that ends before its time.
    wait: Duration,
    /// Watches in a row that were refused.
    refusals: u32,
    /// Whether this server sends bookmarks while a watch goes on.
    has_bookmarks: bool,
    wire: PhantomData<W>,
}

impl<W: Wire, S: Sink<W::Change>> Reflector<W, S> {
    /// Puts everything there is into the cache, takes everything else out; returns the version that
    /// this is true of.
    async fn list(&mut self) -> Result<String, RequestError> {
        let mut gone = self.known.clone();
        let mut pages = Pages::new(W::RESOURCE);
        loop {
            let list = pages.read::<W>(self.sink.api()).await?;
            for item in list.items {
                gone.remove(&item.place().0);
                self.put(item);
            }
            if list.metadata.next.is_empty() {
                for key in gone {
                    self.remove(key);
                }
                self.sink.listed(W::RESOURCE, &list.metadata.resource_version);
                self.informer.listed();
                return Ok(list.metadata.resource_version);
            }
        }
    }

    /// Follows all changes after a version until there is a need to list again.
    async fn watch(&mut self, version: &mut String) {
        loop {
            let (before, start) = (version.clone(), clock::instant());
            let is_refused = match self.watch_once(version).await {
                Ok(End::Closed) => {
                    self.informer.ended();
                    false
                }
                Ok(End::Expired) => return,
                Err(error) if error.is_expired() => return,
                Err(error) => {
                    self.informer.failed(Verb::Watch, &error);
                    error.is_answer()
                }
            };
            let (is_stuck, is_short) = (*version == before, clock::instant() - start < SHORT);
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
            if self.refusals >= REFUSALS {
                return;
            }
        }
    }

    async fn watch_once(&mut self, version: &mut String) -> Result<End, RequestError> {
        let failed =
            |source| RequestError::Server { what: format!("WATCH {}", W::RESOURCE.plural()), source: Box::new(source) };
        let events = self.sink.api().watch::<W>(W::RESOURCE, version).await?;
        pin_mut!(events);
        self.informer.watches();
        let began = clock::instant();
        loop {
            let silence = if self.has_bookmarks { SILENCE_WITH_BOOKMARKS } else { SILENCE };
            let event = match clock::within(silence, events.next()).await {
                None => {
                    let (resource, seconds) = (W::RESOURCE.plural(), silence.as_secs());
                    tracing::warn!(resource, seconds, "A watch shows nothing for too long; beginning it anew.");
                    return Ok(End::Closed);
                }
                Some(None) => return Ok(End::Closed),
                Some(Some(event)) => event?,
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
                WatchEvent::Bookmark(bookmark) => {
                    // One at the end of a watch, as the last word, is no promise of more.
                    self.has_bookmarks |= clock::instant() - began <= SILENCE_WITH_BOOKMARKS;
                    *version = bookmark.metadata.resource_version;
                }
                WatchEvent::Error(status) if status.code == 410 => return Ok(End::Expired),
                WatchEvent::Error(status) => return Err(failed(kube::Error::Api(status))),
            }
            self.informer.shown();
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
