//! What becomes of the events of a watch: which pass, which are kept and until when.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::task::Waker;
use std::time::Duration;

use hyper::body::Bytes;

use super::super::command::{WatchAct, WatchCommand};
use super::{Control, EventFate, Kept, State, WatchSlot, forget};
use crate::clock::{self, Instant};

/// How long a subject may take to open a watch again that has ended: client-go waits one to two
/// seconds before it does.
const OPENS_AGAIN: Duration = Duration::from_secs(5);

impl Control {
    /// The interceptor has ended a watch with an event about this namespace.
    pub(in crate::intercept) fn ended(&self, resource: &str, namespace: &str) {
        self.state().ended.insert(resource.to_owned(), (namespace.to_owned(), clock::instant()));
    }

    /// Whether the subject may still open a watch again that the interceptor has ended: until then
    /// it cannot know what happened.
    pub fn opens_later(&self, namespace: &str) -> bool {
        let about = |(of, since): &(String, Instant)| of == namespace && since.elapsed() < OPENS_AGAIN;
        self.state().ended.values().any(about)
    }

    /// The version at which a kind is to be listed next, if it is to be an old one.
    pub(in crate::intercept) fn older(&self, resource: &str) -> Option<u64> {
        self.state().watches.values().find_map(|slot| slot.older.filter(|_| slot.command.resource == resource))
    }

    /// A kind has been listed at an old version: lists are new again.
    pub(in crate::intercept) fn listed_older(&self, resource: &str) {
        let mut state = self.state();
        state.watches.values_mut().filter(|slot| slot.command.resource == resource).for_each(|slot| slot.older = None);
    }

    /// A number for a new watch; one that the interceptor cannot read is noted.
    pub(in crate::intercept) fn open_watch(&self, resource: &str, readable: bool) -> u64 {
        let mut state = self.state();
        state.next += 1;
        state.ended.remove(resource);
        if !readable {
            *state.opaque.entry(resource.to_owned()).or_default() += 1;
        }
        state.next
    }

    /// A watch that the interceptor could not read is over.
    pub(in crate::intercept) fn close_opaque(&self, resource: &str) {
        let mut state = self.state();
        let left = state.opaque.get(resource).map_or(0, |open| open.saturating_sub(1));
        match left {
            0 => state.opaque.remove(resource),
            _ => state.opaque.insert(resource.to_owned(), left),
        };
    }

    /// What becomes of an event that has just come.
    pub(in crate::intercept) fn event(&self, resource: &str, namespace: &str, version: Option<u64>) -> EventFate {
        let mut state = self.state();
        let mut fate = EventFate::Pass;
        let State { watches, reached, .. } = &mut *state;
        for slot in watches.values_mut() {
            let command = &slot.command;
            if command.resource != resource || command.namespace != namespace {
                continue;
            }
            slot.seen += 1;
            slot.versions.extend(version);
            let meant = slot.seen == command.nth;
            match command.act {
                WatchAct::Hold | WatchAct::Lag(_) => fate = EventFate::Keep,
                WatchAct::Repeat if meant && fate == EventFate::Pass => fate = EventFate::Twice,
                WatchAct::Expire if meant && fate == EventFate::Pass => fate = EventFate::Last,
                WatchAct::Old(back) if meant && fate == EventFate::Pass => {
                    let first = slot.versions.len().saturating_sub(usize::try_from(back).unwrap_or(usize::MAX));
                    slot.older = slot.versions.get(first).map(|version| version - 1);
                    fate = EventFate::Last;
                }
                WatchAct::Overtaken(others) if meant || slot.waiting.is_some() => {
                    let now = clock::instant();
                    slot.waiting.get_or_insert_with(|| reached.wait(namespace, others, now));
                    fate = EventFate::Keep;
                }
                WatchAct::Repeat | WatchAct::Expire | WatchAct::Old(_) | WatchAct::Overtaken(_) => {}
            }
        }
        if fate == EventFate::Keep {
            *state.kept.entry(namespace.to_owned()).or_default() += 1;
        } else {
            self.reached(&mut state, namespace);
        }
        fate
    }

    /// Take out of `kept` what may go now, in order. Says when the next may, if time alone decides;
    /// the waker is called when a command changes.
    pub(in crate::intercept) fn release(
        &self,
        watch: u64,
        resource: &str,
        (kept, ready): (&mut VecDeque<Kept>, &mut VecDeque<Bytes>),
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
                    match command.act {
                        WatchAct::Hold => due = None,
                        WatchAct::Lag(lag) => due = due.map(|due| due.max(first.since + lag)),
                        WatchAct::Overtaken(_) => {
                            let Some(waiting) = waiting else { continue };
                            let (then, others) = state.reached.due(&first.namespace, waiting);
                            due = due.map(|due| due.max(then));
                            overtaken = Some(others);
                        }
                        WatchAct::Repeat | WatchAct::Expire | WatchAct::Old(_) => {}
                    }
                }
            }
            match due {
                Some(due) if due <= now => {
                    if let Some(others) = overtaken {
                        state.was_overtaken(&first.namespace, resource.to_owned(), others);
                        state.wait_no_more(resource, &first.namespace);
                    }
                    // Something else may be late as well, and this comes before it.
                    self.reached(&mut state, &first.namespace);
                }
                wait => {
                    next = wait;
                    break;
                }
            }
            if let Some(first) = kept.pop_front() {
                forget(&mut state.kept, &first.namespace);
                ready.push_back(first.event);
            }
        }
        if !kept.is_empty() {
            state.wakers.insert(watch, waker.clone());
        }
        next
    }

    /// A watch is over; what it kept is lost.
    pub(in crate::intercept) fn close_watch(&self, watch: u64, resource: &str, kept: &VecDeque<Kept>) {
        let mut state = self.state();
        state.wakers.remove(&watch);
        if !kept.is_empty() {
            *state.cut_short.entry(resource.to_owned()).or_default() += 1;
            // The next request for the kind is looked at, whether or not a command is in force by
            // then.
            self.0.armed.fetch_add(1, Ordering::SeqCst);
        }
        kept.iter().for_each(|event| forget(&mut state.kept, &event.namespace));
    }
}

impl State {
    /// What was to be overtaken has been by so many.
    pub(super) fn was_overtaken(&mut self, namespace: &str, stream: String, others: u32) {
        self.overtaken.entry(namespace.to_owned()).or_default().insert(stream, others);
    }

    /// The event that was to be overtaken has been: it goes out, and so do those behind it.
    fn wait_no_more(&mut self, resource: &str, namespace: &str) {
        let of = |command: &WatchCommand| command.resource == resource && command.namespace == namespace;
        self.watches.values_mut().filter(|slot| of(&slot.command)).for_each(|slot| slot.waiting = None);
    }
}
