//! How the informers fare: whether each has seen its kind once, and since when it fails to see
//! more.
//!
//! An informer is a list and the watch after it, of one kind. That one fails must be noticed
//! although all looks well from outside: a cache that stands still makes no errors. So a failure is
//! logged at once, and then the more seldom the longer it goes on; each informer shows in the
//! metrics when it last listed and when its watch last showed something; and the readiness probe
//! fails for an informer that has been failing for a minute.
//!
//! Borders: what is to be done about a failure is the reflector's to say. In here moments are
//! arguments.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::api::{RequestError, Resource};
use crate::clock::{self, Clock};
use crate::metrics::{InformerMetrics, Metrics};

/// How long an informer may fail before this process counts as not ready.
pub(crate) const TOLERATED: Duration = Duration::from_secs(60);
/// A watch that has lasted for so long works.
pub(super) const SHORT: Duration = Duration::from_secs(1);
/// After a warning the next one comes no sooner than this; then twice as long each time, up to
/// [`LONGEST_QUIET`].
const FIRST_QUIET: Duration = Duration::from_secs(10);
/// The longest time between two warnings; an informer that worked for so long is warned of at once.
const LONGEST_QUIET: Duration = Duration::from_secs(600);

/// All informers of one cache.
pub(crate) struct Informers {
    cache: &'static str,
    clock: Clock,
    metrics: Metrics,
    all: Mutex<BTreeMap<Resource, Arc<Informer>>>,
}

/// The informer of one kind.
pub(super) struct Informer {
    resource: Resource,
    clock: Clock,
    metrics: InformerMetrics,
    state: Mutex<State>,
}

/// What an informer tries to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    List,
    Watch,
}

#[derive(Debug, Default)]
struct State {
    /// Nobody needs this kind, because it may not be listed.
    is_waived: bool,
    is_synced: bool,
    /// Since when there was no success, and how many failures.
    failing: Option<(Instant, u32)>,
    /// When the watch that is open was answered.
    watching: Option<Instant>,
    /// When a failure ended.
    works: Option<Instant>,
    /// When the last warning was, and how long there is to be none after it.
    warned: Option<(Instant, Duration)>,
}

impl Informers {
    pub(super) fn new(cache: &'static str, clock: Clock, metrics: &Metrics) -> Self {
        Self { cache, clock, metrics: metrics.clone(), all: Mutex::default() }
    }

    /// The informer of a kind.
    pub(super) fn of(&self, resource: Resource) -> Arc<Informer> {
        let make = || {
            let metrics = self.metrics.informer(self.cache, resource.plural());
            Arc::new(Informer { resource, clock: self.clock, metrics, state: Mutex::default() })
        };
        lock(&self.all).entry(resource).or_insert_with(make).clone()
    }

    /// What is wrong, for people: each informer that has not seen its kind yet, or has been failing
    /// for a minute.
    pub(super) fn complaints(&self, now: Instant) -> Vec<String> {
        let all = lock(&self.all);
        let complaint = |informer: &Arc<Informer>| {
            let why = lock(&informer.state).complaint(now)?;
            Some(format!("{} of the {} cache: {why}", informer.resource.plural(), self.cache))
        };
        all.values().filter_map(complaint).collect()
    }
}

impl Informer {
    /// A list is complete.
    pub(super) fn listed(&self) {
        self.metrics.last_list.set(self.seconds());
        lock(&self.state).listed(clock::instant());
    }

    /// A watch was answered.
    pub(super) fn watches(&self) {
        lock(&self.state).watching = Some(clock::instant());
    }

    /// The watch showed an event or a bookmark, or ended in order.
    pub(super) fn shown(&self) {
        self.metrics.last_event.set(self.seconds());
        self.recovered();
    }

    /// The watch ended in order.
    pub(super) fn ended(&self) {
        self.recovered();
        lock(&self.state).watching = None;
    }

    fn recovered(&self) {
        if let Some((since, failures)) = lock(&self.state).recover(clock::instant()) {
            let (resource, took) = (self.resource.plural(), clock::instant().saturating_duration_since(since));
            tracing::info!(resource, failures, seconds = took.as_secs(), "Watching again.");
        }
    }

    /// A list or a watch failed.
    pub(super) fn failed(&self, verb: Verb, error: &RequestError) {
        match verb {
            Verb::List => self.metrics.failed_lists.inc(),
            Verb::Watch => self.metrics.failed_watches.inc(),
        };
        let (resource, now) = (self.resource.plural(), clock::instant());
        let (failures, since, is_loud) = lock(&self.state).fail(verb, now);
        let (error, seconds) = (error.message(), now.saturating_duration_since(since).as_secs());
        match verb {
            _ if !is_loud => tracing::debug!(resource, %error, failures, ?verb, "Still failing; trying again."),
            Verb::List => tracing::warn!(resource, %error, failures, seconds, "Cannot list; trying again."),
            Verb::Watch => tracing::warn!(resource, %error, failures, seconds, "Cannot watch; trying again."),
        }
    }

    /// Nobody needs this kind any more: it may not be listed, and that has been said.
    pub(super) fn waive(&self) {
        lock(&self.state).is_waived = true;
    }

    /// The time of day as Prometheus has it.
    fn seconds(&self) -> f64 {
        self.clock.now().as_duration().as_secs_f64()
    }
}

impl State {
    fn listed(&mut self, now: Instant) {
        self.is_waived = false;
        // Before the first list it is lists that failed, and that is over. Later only the watch
        // tells.
        if !self.is_synced {
            self.is_synced = true;
            self.recover(now);
        }
    }

    /// Since when it failed and how often, if it did.
    fn recover(&mut self, now: Instant) -> Option<(Instant, u32)> {
        let failing = self.failing.take()?;
        self.works = Some(now);
        Some(failing)
    }

    /// How many failures there are in a row, since when, and whether that is worth a warning.
    fn fail(&mut self, verb: Verb, now: Instant) -> (u32, Instant, bool) {
        if let Some(began) = self.watching.take().filter(|_| verb == Verb::Watch)
            && now.saturating_duration_since(began) >= SHORT
        {
            self.recover(began);
        }
        if self.failing.is_none()
            && self.works.is_some_and(|works| now.saturating_duration_since(works) >= LONGEST_QUIET)
        {
            self.warned = None;
        }
        let (since, failures) = self.failing.map_or((now, 1), |(since, failures)| (since, failures.saturating_add(1)));
        self.failing = Some((since, failures));
        let quiet = match self.warned {
            None => FIRST_QUIET,
            Some((at, quiet)) if now.saturating_duration_since(at) >= quiet => (quiet * 2).min(LONGEST_QUIET),
            Some(_) => return (failures, since, false),
        };
        self.warned = Some((now, quiet));
        (failures, since, true)
    }

    fn complaint(&self, now: Instant) -> Option<String> {
        if self.is_waived {
            return None;
        }
        if !self.is_synced {
            return Some("its first list is not complete yet".to_owned());
        }
        let (since, failures) = self.failing?;
        let works = self.watching.is_some_and(|began| now.saturating_duration_since(began) >= SHORT);
        let fails = now.saturating_duration_since(since);
        (!works && fails >= TOLERATED)
            .then(|| format!("{failures} failures in a row for {} s; the log says which", fails.as_secs()))
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code panics while it holds the lock, so what is behind it is whole.
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// Seconds at which a failure is worth a warning, of those at which there is one.
    fn loud(state: &mut State, start: Instant, failures: impl IntoIterator<Item = u64>) -> Vec<u64> {
        failures.into_iter().filter(|at| state.fail(Verb::Watch, start + seconds(*at)).2).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_failure_is_loud_and_then_ever_fewer_are() {
        let (start, mut state) = (clock::instant(), State::default());
        assert_eq!(loud(&mut state, start, 0..2000), [0, 10, 30, 70, 150, 310, 630, 1230, 1830]);
        state.recover(start + seconds(2000));
        assert_eq!(loud(&mut state, start, [2001, 2430]), [2430], "one that comes and goes is not news each time");
        state.recover(start + seconds(2500));
        assert_eq!(loud(&mut state, start, [3100]), [3100], "one that had worked for long is");
    }

    #[tokio::test(start_paused = true)]
    async fn a_minute_of_failures_is_too_long() {
        let (start, mut state) = (clock::instant(), State::default());
        let after = |after: u64| start + seconds(after);
        assert!(state.complaint(start).is_some_and(|why| why.contains("first list")));
        state.fail(Verb::List, start);
        state.listed(after(5));
        assert_eq!(state.complaint(after(99)), None, "it has been listed");
        state.fail(Verb::Watch, after(100));
        state.listed(after(120));
        state.fail(Verb::Watch, after(121));
        assert_eq!(state.complaint(after(159)), None);
        let why = state.complaint(after(160)).unwrap();
        assert!(
            why.starts_with("2 failures in a row for 60 s"),
            "lists in between are no end of a watch's failures: {why}"
        );
        state.watching = Some(after(161));
        assert!(state.complaint(after(161)).is_some(), "a watch that is only answered may break at once");
        assert_eq!(state.complaint(after(162)), None);
        state.fail(Verb::Watch, after(170));
        assert_eq!(state.complaint(after(200)), None, "it worked for nine seconds, so it began to fail anew");
        assert!(state.complaint(after(230)).is_some());
        state.recover(after(231));
        assert_eq!(state.complaint(after(999)), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_kind_that_nobody_needs_is_no_complaint() {
        let (start, mut state) = (clock::instant(), State { is_waived: true, ..State::default() });
        assert_eq!(state.complaint(start), None);
        state.listed(start);
        state.fail(Verb::Watch, start);
        assert!(state.complaint(start + TOLERATED).is_some(), "now it may be listed, so it counts");
    }
}
