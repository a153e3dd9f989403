//! The armed commands of the interceptor: which requests wait, who is notified, and what a watch
//! may deliver.
//!
//! Without an armed command, a request only reads an atomic counter. Everything else is under one
//! lock that is never held across an await.
//!
//! `watch` decides about the events of a watch.
//!
//! An event of a watch, or the answer to a write, can be delayed until a number of others have
//! reached the subject. That counts rather than measures time, so that each order of what a subject
//! learns can be tested. It counts events of other watches and answers to writes, of one namespace.
//! If fewer arrive, because the subject waits for exactly this one, it is delivered a while after
//! the last.

mod watch;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use hyper::body::Bytes;
use kube_apiserver_sim::notify::Notifier;
use lockstep_support::clock::{self, Instant};
use tokio::sync::mpsc;

use super::command::{ArmedCommand, CommandProgress, MatchedRequest, RequestCommand, WatchAction, WatchCommand};
use super::{RequestInfo, Verb};

/// The commands of an interceptor; clones share them.
#[derive(Debug, Clone)]
pub struct Control(Arc<ControlShared>);

#[derive(Debug)]
struct ControlShared {
    /// The number of armed commands, plus the watches in `cut_short`.
    armed: AtomicUsize,
    /// How many of them affect watches.
    watching: AtomicUsize,
    state: Mutex<State>,
    changed: Notifier,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    requests: BTreeMap<u64, RequestSlot>,
    watches: BTreeMap<u64, WatchSlot>,
    /// The wakers of watches that wait.
    wakers: BTreeMap<u64, Waker>,
    /// The number of withheld events, by namespace.
    held_events: BTreeMap<String, u64>,
    /// The number of open watches that the interceptor cannot read, by resource.
    opaque: BTreeMap<String, u64>,
    /// Watches that ended while their events were withheld, by resource, until the subject lists
    /// again.
    cut_short: BTreeMap<String, u64>,
    /// Watches that the interceptor has ended, by resource, until the subject opens one again: the
    /// namespace of the event, and when.
    ended: BTreeMap<String, (String, Instant)>,
    /// What has reached the subject, counted while something waits to be overtaken.
    reached: Deliveries,
    /// By namespace and stream: how many have overtaken the delayed event or answer.
    overtaken: BTreeMap<String, BTreeMap<String, u32>>,
}

#[derive(Debug)]
struct RequestSlot {
    progress: CommandProgress,
    sender: mpsc::UnboundedSender<MatchedRequest>,
}

#[derive(Debug)]
struct WatchSlot {
    command: WatchCommand,
    event_count: u32,
    /// The versions of the events so far.
    versions: Vec<u64>,
    /// The version at which the next list is answered.
    list_version: Option<u64>,
    /// Set while its event waits to be overtaken.
    waiting: Option<DelayedMessage>,
    /// Whether a list or a new watch of the held kind has waited.
    has_held_request: bool,
    /// Whether a list of the held kind has.
    has_held_list: bool,
    /// Whether a watch that begins with a list was refused since, in place of the old list.
    has_refused_watch: bool,
}

/// An armed command. Dropping it disarms the command and releases what it holds.
#[derive(Debug)]
pub struct CommandGuard {
    control: Control,
    id: u64,
    receiver: mpsc::UnboundedReceiver<MatchedRequest>,
}

/// An armed watch command. Dropping it disarms the command; withheld events are delivered in order.
#[derive(Debug)]
pub struct ArmedWatch {
    control: Control,
    id: u64,
}

/// A delayed request; counted until this is dropped.
#[derive(Debug)]
pub(super) struct LateRequest {
    control: Control,
    namespace: String,
}

/// What happens to an event of a watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventDisposition {
    Pass,
    Keep,
    Twice,
    Last,
}

/// A withheld event.
#[derive(Debug)]
pub(super) struct HeldEvent {
    pub(super) namespace: String,
    pub(super) since: Instant,
    pub(super) event: Bytes,
}

impl Control {
    pub(super) fn new() -> Self {
        let shared = ControlShared {
            armed: AtomicUsize::new(0),
            watching: AtomicUsize::new(0),
            state: Mutex::default(),
            changed: Notifier::default(),
        };
        Self(Arc::new(shared))
    }

    /// Arms a command for requests.
    pub fn arm(&self, command: RequestCommand) -> CommandGuard {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut state = self.state();
        state.next += 1;
        let id = state.next;
        let progress = CommandProgress::new(command);
        // Events of watches overtake it.
        self.0.watching.fetch_add(usize::from(progress.is_overtaken()), Ordering::SeqCst);
        state.requests.insert(id, RequestSlot { progress, sender });
        self.0.armed.fetch_add(1, Ordering::SeqCst);
        CommandGuard { control: self.clone(), id, receiver }
    }

    /// Arms a command for a kind's watch; `None` if the subject's watch has an encoding that the
    /// interceptor does not read.
    pub fn arm_watch(&self, command: WatchCommand) -> Option<ArmedWatch> {
        let mut state = self.state();
        if state.opaque.contains_key(&command.resource) {
            return None;
        }
        state.next += 1;
        let id = state.next;
        state.watches.insert(
            id,
            WatchSlot {
                command,
                event_count: 0,
                versions: Vec::new(),
                list_version: None,
                waiting: None,
                has_held_request: false,
                has_held_list: false,
                has_refused_watch: false,
            },
        );
        self.0.watching.fetch_add(1, Ordering::SeqCst);
        self.0.armed.fetch_add(1, Ordering::SeqCst);
        Some(ArmedWatch { control: self.clone(), id })
    }

    /// The number of withheld events and delayed requests of a namespace.
    pub fn held_count(&self, namespace: &str) -> u64 {
        self.state().held_events.get(namespace).copied().unwrap_or(0)
    }

    /// Delays an answer until this many others have reached the subject, or nothing more does.
    pub(super) async fn wait_to_be_overtaken(&self, route: &RequestInfo, count: u32) {
        let namespace = route.namespace.as_str();
        let _late = self.late(namespace);
        let mut changes = self.0.changed.listen();
        let waiting = self.state().reached.wait(namespace, count, clock::instant());
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

    /// How many have overtaken each delayed event or answer, by its stream: the plural of a watch's
    /// kind, or `answers to replicasets/` and so on.
    pub fn take_overtaken(&self, namespace: &str) -> BTreeMap<String, u32> {
        self.state().overtaken.remove(namespace).unwrap_or_default()
    }

    /// Counts a request of a namespace as delayed until the guard is dropped.
    pub(super) fn late(&self, namespace: &str) -> LateRequest {
        *self.state().held_events.entry(namespace.to_owned()).or_default() += 1;
        LateRequest { control: self.clone(), namespace: namespace.to_owned() }
    }

    /// Whether no command is armed.
    pub(super) fn is_idle(&self) -> bool {
        self.0.armed.load(Ordering::SeqCst) == 0
    }

    /// Whether no command affects watches.
    pub(super) fn passes_watches_through(&self) -> bool {
        self.0.watching.load(Ordering::SeqCst) == 0
    }

    /// The command that applies to an arrived request.
    pub(super) fn on_request(&self, route: &RequestInfo) -> Option<ArmedCommand> {
        let mut state = self.state();
        state.requests.values_mut().find_map(|slot| {
            let action = slot.progress.on_request(route)?;
            Some(ArmedCommand::new(action, &slot.sender))
        })
    }

    /// The command that applies to its answer.
    pub(super) fn on_response(&self, route: &RequestInfo, status: u16) -> Option<ArmedCommand> {
        let mut state = self.state();
        let waits = |slot: &RequestSlot| slot.progress.is_overtaken() && slot.progress.is_next(route);
        if route.verb.is_write() && !state.requests.values().any(waits) {
            self.reached(&mut state, &route.namespace);
        }
        // Every command counts the request, though only the first applies.
        let mut commands = state.requests.values_mut().filter_map(|slot| {
            let action = slot.progress.on_response(route, status)?;
            Some(ArmedCommand::new(action, &slot.sender))
        });
        let first = commands.next();
        commands.for_each(drop);
        first
    }

    /// Delays a list or a watch while its kind is held; returns whether it waited.
    pub(super) async fn wait_while_held(&self, route: &RequestInfo) -> bool {
        if !matches!(route.verb, Verb::List | Verb::Watch) {
            return false;
        }
        let mut changes = self.0.changed.listen();
        let mut waited = false;
        while self.hold(route) {
            waited = true;
            changes.changed().await;
        }
        waited
    }

    /// Whether a list or a watch is the first since a watch of its kind ended while events were
    /// withheld. A watch that continues would miss those events: it may have received later ones,
    /// of other namespaces, and asks for what follows them.
    pub(super) fn must_relist(&self, route: &RequestInfo) -> bool {
        if !matches!(route.verb, Verb::List | Verb::Watch) {
            return false;
        }
        let mut state = self.state();
        let found = state.cut_short.contains_key(&route.resource);
        if found {
            decrement(&mut state.cut_short, &route.resource);
            self.0.armed.fetch_sub(1, Ordering::SeqCst);
        }
        found
    }

    /// Whether a command holds this kind; it notes that the request waits.
    fn hold(&self, route: &RequestInfo) -> bool {
        let mut is_held = false;
        for slot in self.state().watches.values_mut() {
            let WatchCommand { namespace, resource, action, .. } = &slot.command;
            let holds = *action == WatchAction::Hold
                && *resource == route.resource
                && (route.namespace.is_empty() || *namespace == route.namespace);
            slot.has_held_request |= holds;
            slot.has_held_list |= holds && route.verb == Verb::List;
            is_held |= holds;
        }
        is_held
    }

    fn disarm(&self, id: u64) {
        let wakers = {
            let mut state = self.state();
            if state.watches.remove(&id).is_some() {
                self.0.watching.fetch_sub(1, Ordering::SeqCst);
            }
            if state.requests.remove(&id).is_some_and(|slot| slot.progress.is_overtaken()) {
                self.0.watching.fetch_sub(1, Ordering::SeqCst);
            }
            self.0.armed.fetch_sub(1, Ordering::SeqCst);
            std::mem::take(&mut state.wakers)
        };
        wakers.into_values().for_each(Waker::wake);
        self.0.changed.notify();
    }

    /// Counts something that has reached the subject, if anything waits to be overtaken, and wakes
    /// what waits.
    fn reached(&self, state: &mut State, namespace: &str) {
        let of_watches = state.watches.values().any(|slot| matches!(slot.command.action, WatchAction::Overtaken(_)));
        if of_watches || state.requests.values().any(|slot| slot.progress.is_overtaken()) {
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
fn answers(route: &RequestInfo) -> String {
    format!("answers to {}/{}", route.resource, route.subresource)
}

fn decrement(counts: &mut BTreeMap<String, u64>, namespace: &str) {
    if let Some(count) = counts.get_mut(namespace) {
        *count -= 1;
        if *count == 0 {
            counts.remove(namespace);
        }
    }
}

impl CommandGuard {
    /// Waits for the next request that the command applies to.
    pub async fn next(&mut self) -> MatchedRequest {
        match self.receiver.recv().await {
            Some(intercepted) => intercepted,
            // Cannot happen: the slot with the sender lives as long as this.
            None => std::future::pending().await,
        }
    }
}

impl Drop for CommandGuard {
    fn drop(&mut self) {
        self.control.disarm(self.id);
    }
}

impl Drop for LateRequest {
    fn drop(&mut self) {
        decrement(&mut self.control.state().held_events, &self.namespace);
    }
}

impl ArmedWatch {
    /// Whether the subject waits for an old list by watches that begin with one, which are refused,
    /// and has not fallen back to a list.
    pub fn has_refused_watch(&self) -> bool {
        let state = self.control.state();
        state.watches.get(&self.id).is_some_and(|slot| slot.has_refused_watch && slot.list_version.is_some())
    }

    /// Whether the subject has sent a list or a new watch of the held kind, which waits for the end
    /// of the hold.
    pub fn has_held_request(&self) -> bool {
        self.control.state().watches.get(&self.id).is_some_and(|slot| slot.has_held_request)
    }

    /// Whether the subject has sent a list of the held kind, which waits for the end of the hold.
    pub fn has_held_list(&self) -> bool {
        self.control.state().watches.get(&self.id).is_some_and(|slot| slot.has_held_list)
    }

    /// Whether its event has come.
    pub fn has_matched(&self) -> bool {
        let state = self.control.state();
        state.watches.get(&self.id).is_some_and(|slot| slot.event_count >= slot.command.nth)
    }
}

impl Drop for ArmedWatch {
    fn drop(&mut self) {
        self.control.disarm(self.id);
    }
}

/// How long after the last of the others no more are expected: longer than any controller takes to
/// react, shorter than a namespace takes to settle.
const QUIET: Duration = Duration::from_millis(250);

/// What has reached the subject, by namespace: the number, and the time of the last.
#[derive(Debug, Default)]
struct Deliveries(BTreeMap<String, (u64, Instant)>);

/// A delayed event or answer.
#[derive(Debug, Clone, Copy)]
struct DelayedMessage {
    /// How many others had arrived when the wait began, and when.
    since: (u64, Instant),
    /// How many others must precede it.
    required: u32,
}

impl Deliveries {
    /// Counts something that has reached the subject.
    fn one_more(&mut self, namespace: &str, now: Instant) {
        match self.0.get_mut(namespace) {
            Some((count, last)) => (*count, *last) = (*count + 1, now),
            None => drop(self.0.insert(namespace.to_owned(), (1, now))),
        }
    }

    /// Starts waiting for this many others.
    fn wait(&self, namespace: &str, required: u32, now: Instant) -> DelayedMessage {
        let count = self.0.get(namespace).map_or(0, |(count, _)| *count);
        DelayedMessage { since: (count, now), required }
    }

    /// When it may be delivered, and how many have overtaken it so far.
    fn due(&self, namespace: &str, waiting: &DelayedMessage) -> (Instant, u32) {
        let (began, since) = waiting.since;
        let (count, last) = self.0.get(namespace).copied().unwrap_or(waiting.since);
        let others = u32::try_from(count.saturating_sub(began)).unwrap_or(u32::MAX);
        if others >= waiting.required { (since, others) } else { (last.max(since) + QUIET, others) }
    }
}

#[cfg(test)]
mod tests {
    use lockstep_support::clock;

    use super::*;

    #[test]
    fn wait_ends_after_enough_others_or_silence() {
        let now = clock::instant();
        let mut reached = Deliveries::default();
        reached.one_more("ns", now);
        let waiting = reached.wait("ns", 2, now);
        assert_eq!(reached.due("ns", &waiting), (now + QUIET, 0));
        reached.one_more("other", now + QUIET);
        let later = now + Duration::from_millis(100);
        reached.one_more("ns", later);
        assert_eq!(reached.due("ns", &waiting), (later + QUIET, 1));
        reached.one_more("ns", later);
        assert_eq!(reached.due("ns", &waiting), (now, 2));
    }
}
