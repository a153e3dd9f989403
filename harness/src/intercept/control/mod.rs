//! The interceptor's commands while they are in force: who waits, who is told, and what a watch may
//! pass on.
//!
//! With no command set, a request asks one atomic number and goes on. All else is under one lock
//! that is never held across a wait.
//!
//! `watch` has what becomes of the events of a watch.

mod watch;

use crate::clock::{self, Instant};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use hyper::body::Bytes;
use kube_apiserver_sim::notify::Notifier;
use tokio::sync::mpsc;

use super::command::{Command, Tally, WatchAct, WatchCommand};
use super::met::{Met, Order};
use super::overtaken::{Reached, Waiting};
use super::{Route, Verb};

/// The commands of one interceptor; clones share them.
#[derive(Debug, Clone)]
pub struct Control(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// How many commands are in force, and watches of `cut_short`.
    armed: AtomicUsize,
    /// How many of them are about watches.
    watching: AtomicUsize,
    state: Mutex<State>,
    changed: Notifier,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    requests: BTreeMap<u64, Slot>,
    watches: BTreeMap<u64, WatchSlot>,
    /// The watches that have something to wait for.
    wakers: BTreeMap<u64, Waker>,
    /// Events that are kept back, by namespace.
    kept: BTreeMap<String, u64>,
    /// Open watches that the interceptor cannot read, by resource.
    opaque: BTreeMap<String, u64>,
    /// Watches that ended while events were kept from them, by resource, and that nobody has made
    /// up for yet.
    cut_short: BTreeMap<String, u64>,
    /// Watches that the interceptor has ended, by resource, until the subject opens one again:
    /// about which namespace, and when.
    ended: BTreeMap<String, (String, Instant)>,
    /// What has reached the subject, counted while something is to be overtaken.
    reached: Reached,
    /// By namespace and stream: how many have overtaken what was to be overtaken.
    overtaken: BTreeMap<String, BTreeMap<String, u32>>,
}

#[derive(Debug)]
struct Slot {
    tally: Tally,
    met: mpsc::UnboundedSender<Met>,
}

#[derive(Debug)]
struct WatchSlot {
    command: WatchCommand,
    seen: u32,
    /// The versions of the events that came.
    versions: Vec<u64>,
    /// The version at which the next list is answered.
    older: Option<u64>,
    /// Since its event came, until enough others have.
    waiting: Option<Waiting>,
}

/// A command in force. Dropping it takes it back and lets go what it holds.
#[derive(Debug)]
pub struct Armed {
    control: Control,
    id: u64,
    met: mpsc::UnboundedReceiver<Met>,
}

/// A watch command in force. Dropping it takes it back: what was held goes out in order.
#[derive(Debug)]
pub struct ArmedWatch {
    control: Control,
    id: u64,
}

/// A request that is late.
#[derive(Debug)]
pub(super) struct Late {
    control: Control,
    namespace: String,
}

/// What becomes of one event of a watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventFate {
    Pass,
    Keep,
    Twice,
    Last,
}

/// An event that is kept back.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) namespace: String,
    pub(super) since: Instant,
    pub(super) event: Bytes,
}

impl Control {
    pub(super) fn new() -> Self {
        let shared = Shared {
            armed: AtomicUsize::new(0),
            watching: AtomicUsize::new(0),
            state: Mutex::default(),
            changed: Notifier::default(),
        };
        Self(Arc::new(shared))
    }

    /// Put a command about requests in force.
    pub fn arm(&self, command: Command) -> Armed {
        let (met, meetings) = mpsc::unbounded_channel();
        let mut state = self.state();
        state.next += 1;
        let id = state.next;
        let tally = Tally::new(command);
        // What overtakes it comes in watches.
        self.0.watching.fetch_add(usize::from(tally.is_overtaken()), Ordering::SeqCst);
        state.requests.insert(id, Slot { tally, met });
        self.0.armed.fetch_add(1, Ordering::SeqCst);
        Armed { control: self.clone(), id, met: meetings }
    }

    /// Put a command about a kind's watch in force; `None` where the subject's watch of it is in a
    /// form that the interceptor does not read.
    pub fn arm_watch(&self, command: WatchCommand) -> Option<ArmedWatch> {
        let mut state = self.state();
        if state.opaque.contains_key(&command.resource) {
            return None;
        }
        state.next += 1;
        let id = state.next;
        state.watches.insert(id, WatchSlot { command, seen: 0, versions: Vec::new(), older: None, waiting: None });
        self.0.watching.fetch_add(1, Ordering::SeqCst);
        self.0.armed.fetch_add(1, Ordering::SeqCst);
        Some(ArmedWatch { control: self.clone(), id })
    }

    /// How many events of a namespace are kept from the subject at this moment, and requests that
    /// are late.
    pub fn kept(&self, namespace: &str) -> u64 {
        self.state().kept.get(namespace).copied().unwrap_or(0)
    }

    /// An answer waits until so many others have reached the subject, or nothing more does.
    pub(super) async fn overtaken(&self, route: &Route, others: u32) {
        let namespace = route.namespace.as_str();
        let _late = self.late(namespace);
        let mut changes = self.0.changed.listen();
        let waiting = self.state().reached.wait(namespace, others, clock::instant());
        loop {
            let (due, others) = self.state().reached.due(namespace, &waiting);
            let now = clock::instant();
            if due <= now {
                let mut state = self.state();
                state.was_overtaken(namespace, answers(route), others);
                self.reached(&mut state, namespace);
                return;
            }
            tokio::select! {
                () = changes.changed() => {}
                () = clock::pause(due.saturating_duration_since(now)) => {}
            }
        }
    }

    /// How many have overtaken what was to be overtaken, by the stream of what has come: the plural
    /// of a watch's kind, or `answers to replicasets/` and so on.
    pub fn take_overtaken(&self, namespace: &str) -> BTreeMap<String, u32> {
        self.state().overtaken.remove(namespace).unwrap_or_default()
    }

    /// A request of a namespace is late until the guard is dropped.
    pub(super) fn late(&self, namespace: &str) -> Late {
        *self.state().kept.entry(namespace.to_owned()).or_default() += 1;
        Late { control: self.clone(), namespace: namespace.to_owned() }
    }

    /// Whether there is nothing to do.
    pub(super) fn is_idle(&self) -> bool {
        self.0.armed.load(Ordering::SeqCst) == 0
    }

    /// Whether watches pass as they come.
    pub(super) fn leaves_watches_alone(&self) -> bool {
        self.0.watching.load(Ordering::SeqCst) == 0
    }

    /// What a request is in for, now that it has arrived.
    pub(super) fn arrives(&self, route: &Route) -> Option<Order> {
        let mut state = self.state();
        state.requests.values_mut().find_map(|slot| {
            let act = slot.tally.arrives(route)?;
            Some(Order::new(act, &slot.met))
        })
    }

    /// What its answer is in for.
    pub(super) fn answered(&self, route: &Route, status: u16) -> Option<Order> {
        let mut state = self.state();
        let waits = |slot: &Slot| slot.tally.is_overtaken() && slot.tally.is_next(route);
        if route.verb.is_write() && !state.requests.values().any(waits) {
            self.reached(&mut state, &route.namespace);
        }
        // All of them count, whoever is the first to act.
        let mut orders = state.requests.values_mut().filter_map(|slot| {
            let act = slot.tally.answered(route, status)?;
            Some(Order::new(act, &slot.met))
        });
        let first = orders.next();
        orders.for_each(drop);
        first
    }

    /// A list or a watch of a kind that is held waits until it no longer is; says whether it did.
    pub(super) async fn await_kind(&self, route: &Route) -> bool {
        if !matches!(route.verb, Verb::List | Verb::Watch) {
            return false;
        }
        let mut changes = self.0.changed.listen();
        let mut waited = false;
        while self.holds(route) {
            waited = true;
            changes.changed().await;
        }
        waited
    }

    /// Whether a list or a watch of a kind is the first since a watch of it ended while events were
    /// kept from it. Those events are lost to a watch that goes on: it may have been sent later
    /// ones, about other namespaces, and asks for what came after them.
    pub(super) fn follows_a_loss(&self, route: &Route) -> bool {
        if !matches!(route.verb, Verb::List | Verb::Watch) {
            return false;
        }
        let mut state = self.state();
        let found = state.cut_short.contains_key(&route.resource);
        if found {
            forget(&mut state.cut_short, &route.resource);
            self.0.armed.fetch_sub(1, Ordering::SeqCst);
        }
        found
    }

    fn holds(&self, route: &Route) -> bool {
        self.state().watches.values().any(|slot| {
            let WatchCommand { namespace, resource, act, .. } = &slot.command;
            *act == WatchAct::Hold
                && *resource == route.resource
                && (route.namespace.is_empty() || *namespace == route.namespace)
        })
    }

    fn disarm(&self, id: u64) {
        let wakers = {
            let mut state = self.state();
            if state.watches.remove(&id).is_some() {
                self.0.watching.fetch_sub(1, Ordering::SeqCst);
            }
            if state.requests.remove(&id).is_some_and(|slot| slot.tally.is_overtaken()) {
                self.0.watching.fetch_sub(1, Ordering::SeqCst);
            }
            self.0.armed.fetch_sub(1, Ordering::SeqCst);
            std::mem::take(&mut state.wakers)
        };
        wakers.into_values().for_each(Waker::wake);
        self.0.changed.notify();
    }

    /// Something has reached the subject. Where anything waits to be overtaken, it is counted, and
    /// whoever waits looks again.
    fn reached(&self, state: &mut State, namespace: &str) {
        let of_watches = state.watches.values().any(|slot| matches!(slot.command.act, WatchAct::Overtaken(_)));
        if of_watches || state.requests.values().any(|slot| slot.tally.is_overtaken()) {
            state.reached.one_more(namespace, clock::instant());
            std::mem::take(&mut state.wakers).into_values().for_each(Waker::wake);
            self.0.changed.notify();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The stream of the answers to such writes.
fn answers(route: &Route) -> String {
    format!("answers to {}/{}", route.resource, route.subresource)
}

fn forget(kept: &mut BTreeMap<String, u64>, namespace: &str) {
    if let Some(count) = kept.get_mut(namespace) {
        *count -= 1;
        if *count == 0 {
            kept.remove(namespace);
        }
    }
}

impl Armed {
    /// The next request that the command is about, once it is there.
    pub async fn met(&mut self) -> Met {
        match self.met.recv().await {
            Some(met) => met,
            // The slot, which holds the other end, lives as long as this.
            None => std::future::pending().await,
        }
    }
}

impl Drop for Armed {
    fn drop(&mut self) {
        self.control.disarm(self.id);
    }
}

impl Drop for Late {
    fn drop(&mut self) {
        forget(&mut self.control.state().kept, &self.namespace);
    }
}

impl Drop for ArmedWatch {
    fn drop(&mut self) {
        self.control.disarm(self.id);
    }
}
