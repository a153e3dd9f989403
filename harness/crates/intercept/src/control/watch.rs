//! Decides about the events of a watch: which pass, which are withheld and until when.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::task::Waker;
use std::time::Duration;

use hyper::body::Bytes;
use lockstep_support::clock::{self, Instant};

use super::super::command::{WatchAction, WatchCommand};
use super::{Control, EventDisposition, HeldEvent, State, WatchSlot, decrement};

/// How long a subject may take to reopen an ended watch: client-go waits one to two seconds.
const REOPEN_TIMEOUT: Duration = Duration::from_secs(5);

impl Control {
    /// Records that the interceptor has ended a watch after an event of this namespace.
    pub(crate) fn record_ended(&self, resource: &str, namespace: &str) {
        self.state().ended.insert(resource.to_owned(), (namespace.to_owned(), clock::instant()));
    }

    /// Whether the subject may still reopen a watch that the interceptor has ended: until then it
    /// cannot know what happened.
    pub fn may_reopen_watch(&self, namespace: &str) -> bool {
        let about = |(of, since): &(String, Instant)| of == namespace && since.elapsed() < REOPEN_TIMEOUT;
        self.state().ended.values().any(about)
    }

    /// The version for the next list of a kind, if that is to be an old one.
    pub(crate) fn list_version(&self, resource: &str) -> Option<u64> {
        self.state().watches.values().find_map(|slot| slot.list_version.filter(|_| slot.command.resource == resource))
    }

    /// Notes that a watch that begins with a list was refused in place of an old list.
    pub(crate) fn record_refused_watch(&self, resource: &str) {
        let mut state = self.state();
        let waiting = |slot: &&mut WatchSlot| slot.command.resource == resource && slot.list_version.is_some();
        state.watches.values_mut().filter(waiting).for_each(|slot| slot.has_refused_watch = true);
    }

    /// Ends the old version after a list: further lists are current.
    pub(crate) fn clear_list_version(&self, resource: &str) {
        let mut state = self.state();
        state
            .watches
            .values_mut()
            .filter(|slot| slot.command.resource == resource)
            .for_each(|slot| slot.list_version = None);
    }

    /// Returns an id for a new watch; counts one that the interceptor cannot read.
    pub(crate) fn open_watch(&self, resource: &str, readable: bool) -> u64 {
        let mut state = self.state();
        state.next += 1;
        state.ended.remove(resource);
        if !readable {
            *state.opaque.entry(resource.to_owned()).or_default() += 1;
        }
        state.next
    }

    /// Records the end of a watch that the interceptor could not read.
    pub(crate) fn close_opaque(&self, resource: &str) {
        let mut state = self.state();
        let left = state.opaque.get(resource).map_or(0, |open| open.saturating_sub(1));
        match left {
            0 => state.opaque.remove(resource),
            _ => state.opaque.insert(resource.to_owned(), left),
        };
    }

    /// Decides about an arrived event.
    pub(crate) fn event(&self, resource: &str, namespace: &str, version: Option<u64>) -> EventDisposition {
        let mut state = self.state();
        let mut disposition = EventDisposition::Pass;
        let State { watches, reached, .. } = &mut *state;
        for slot in watches.values_mut() {
            let command = &slot.command;
            if command.resource != resource || command.namespace != namespace {
                continue;
            }
            slot.event_count += 1;
            slot.versions.extend(version);
            let matches = slot.event_count == command.nth;
            match command.action {
                WatchAction::Hold | WatchAction::Lag(_) => disposition = EventDisposition::Keep,
                WatchAction::Repeat if matches && disposition == EventDisposition::Pass => {
                    disposition = EventDisposition::Twice;
                }
                WatchAction::Expire if matches && disposition == EventDisposition::Pass => {
                    disposition = EventDisposition::Last;
                }
                WatchAction::Old(back) if matches && disposition == EventDisposition::Pass => {
                    let first = slot.versions.len().saturating_sub(usize::try_from(back).unwrap_or(usize::MAX));
                    slot.list_version = slot.versions.get(first).map(|version| version - 1);
                    disposition = EventDisposition::Last;
                }
                WatchAction::Overtaken(others) if matches || slot.waiting.is_some() => {
                    let now = clock::instant();
                    slot.waiting.get_or_insert_with(|| reached.wait(namespace, others, now));
                    disposition = EventDisposition::Keep;
                }
                WatchAction::Repeat | WatchAction::Expire | WatchAction::Old(_) | WatchAction::Overtaken(_) => {}
            }
        }
        if disposition == EventDisposition::Keep {
            *state.held_events.entry(namespace.to_owned()).or_default() += 1;
        } else {
            self.reached(&mut state, namespace);
        }
        disposition
    }

    /// Moves events that may be delivered from `kept` to `ready`, in order. Returns when the next
    /// one is due, if only time decides; the waker is called when a command changes.
    pub(crate) fn release(
        &self,
        watch: u64,
        resource: &str,
        (kept, ready): (&mut VecDeque<HeldEvent>, &mut VecDeque<Bytes>),
        now: Instant,
        waker: &Waker,
    ) -> Option<Instant> {
        let mut state = self.state();
        let mut next = None;
        while let Some(first) = kept.front() {
            let mut due = Some(first.since);
            let mut overtaken = None;
            for WatchSlot { command, waiting, .. } in state.watches.values() {
                if command.resource == resource && command.namespace == first.namespace {
                    match command.action {
                        WatchAction::Hold => due = None,
                        WatchAction::Lag(lag) => due = due.map(|due| due.max(first.since + lag)),
                        WatchAction::Overtaken(_) => {
                            let Some(waiting) = waiting else { continue };
                            let (then, others) = state.reached.due(&first.namespace, waiting);
                            due = due.map(|due| due.max(then));
                            overtaken = Some(others);
                        }
                        WatchAction::Repeat | WatchAction::Expire | WatchAction::Old(_) => {}
                    }
                }
            }
            match due {
                Some(due) if due <= now => {
                    if let Some(others) = overtaken {
                        state.was_overtaken(&first.namespace, resource.to_owned(), others);
                        state.stop_waiting(resource, &first.namespace);
                    }
                    // Something else may be delayed as well, and this precedes it.
                    self.reached(&mut state, &first.namespace);
                }
                wait => {
                    next = wait;
                    break;
                }
            }
            if let Some(first) = kept.pop_front() {
                decrement(&mut state.held_events, &first.namespace);
                ready.push_back(first.event);
            }
        }
        if !kept.is_empty() {
            state.wakers.insert(watch, waker.clone());
        }
        next
    }

    /// Records the end of a watch; its withheld events are lost.
    pub(crate) fn close_watch(&self, watch: u64, resource: &str, lost: &VecDeque<HeldEvent>) {
        let mut state = self.state();
        state.wakers.remove(&watch);
        if !lost.is_empty() {
            *state.cut_short.entry(resource.to_owned()).or_default() += 1;
            // Make the next request for the kind be checked, even without an armed command.
            self.0.armed.fetch_add(1, Ordering::SeqCst);
        }
        lost.iter().for_each(|event| decrement(&mut state.held_events, &event.namespace));
    }
}

impl State {
    /// Records how many have overtaken something.
    pub(super) fn was_overtaken(&mut self, namespace: &str, stream: String, count: u32) {
        self.overtaken.entry(namespace.to_owned()).or_default().insert(stream, count);
    }

    /// Ends the wait of an overtaken event: it is delivered, and so are those behind it.
    fn stop_waiting(&mut self, resource: &str, namespace: &str) {
        let of = |command: &WatchCommand| command.resource == resource && command.namespace == namespace;
        self.watches.values_mut().filter(|slot| of(&slot.command)).for_each(|slot| slot.waiting = None);
    }
}
