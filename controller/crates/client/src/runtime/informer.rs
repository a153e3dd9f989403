//! The health of the informers: whether each is synced, and since when it fails.
//!
//! An informer lists and then watches one kind. Its failure must be noticed, because a cache that
//! stands still causes no errors. So the first failure is logged at once, and later ones at growing
//! intervals; metrics show when each informer last listed and when its watch last delivered an
//! event; and the readiness probe fails for an informer that has been failing for a minute.
//!
//! The reflector decides what to do about a failure. Times are arguments here.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::api::{RequestError, Resource};
use crate::clock::{self, Clock};
use crate::metrics::{InformerMetrics, Metrics};

/// How long an informer may fail before this process is not ready.
pub(crate) const FAILURE_TOLERANCE: Duration = Duration::from_secs(60);
/// A watch that has lasted this long works.
pub(super) const MIN_WATCH: Duration = Duration::from_secs(1);
/// Interval between the first two warnings; it doubles after each warning, up to
/// [`MAX_WARNING_INTERVAL`].
const FIRST_WARNING_INTERVAL: Duration = Duration::from_secs(10);
/// Longest interval between two warnings; after an informer has worked for this long, its next
/// failure is logged at once.
const MAX_WARNING_INTERVAL: Duration = Duration::from_secs(600);

/// The informers of one cache.
pub struct Informers {
    cache: &'static str,
    clock: Clock,
    metrics: Metrics,
    all: Mutex<BTreeMap<Resource, Arc<Informer>>>,
}

/// The informer of one kind.
pub struct Informer {
    resource: Resource,
    clock: Clock,
    metrics: InformerMetrics,
    state: Mutex<State>,
}

/// The request that an informer makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadVerb {
    List,
    Watch,
}

#[derive(Debug, Default)]
struct State {
    /// The kind may not be listed, so readiness does not depend on it.
    is_optional: bool,
    is_synced: bool,
    /// Since when it fails, and how often it has failed.
    failures: Option<(Instant, u32)>,
    /// When the open watch was answered.
    watch_started: Option<Instant>,
    /// When the last series of failures ended.
    recovered_at: Option<Instant>,
    /// When the last warning was logged, and the interval after it.
    last_warning: Option<(Instant, Duration)>,
}

impl Informers {
    /// The informers of this cache.
    pub fn new(cache: &'static str, clock: Clock, metrics: &Metrics) -> Self {
        Self { cache, clock, metrics: metrics.clone(), all: Mutex::default() }
    }

    /// The informer of a kind.
    pub fn of(&self, resource: Resource) -> Arc<Informer> {
        let make = || {
            let metrics = self.metrics.informer(self.cache, resource.plural());
            Arc::new(Informer { resource, clock: self.clock, metrics, state: Mutex::default() })
        };
        lock(&self.all).entry(resource).or_insert_with(make).clone()
    }

    /// Problems in words for operators: each informer that is not synced yet, or has been failing
    /// for a minute.
    pub fn problems(&self, now: Instant) -> Vec<String> {
        let all = lock(&self.all);
        let problem = |informer: &Arc<Informer>| {
            let why = lock(&informer.state).problem(now)?;
            Some(format!("{} of the {} cache: {why}", informer.resource.plural(), self.cache))
        };
        all.values().filter_map(problem).collect()
    }
}

impl Informer {
    /// Notes a complete list.
    pub(super) fn on_list(&self) {
        self.metrics.last_list.set(self.seconds());
        lock(&self.state).on_list(clock::instant());
    }

    /// Notes that a watch was answered.
    pub(super) fn on_watch_start(&self) {
        lock(&self.state).watch_started = Some(clock::instant());
    }

    /// Notes an event or a bookmark.
    pub(super) fn on_event(&self) {
        self.metrics.last_event.set(self.seconds());
        self.log_recovery();
    }

    /// Notes that the watch ended in order.
    pub(super) fn on_watch_end(&self) {
        self.log_recovery();
        lock(&self.state).watch_started = None;
    }

    fn log_recovery(&self) {
        if let Some((since, failures)) = lock(&self.state).recover(clock::instant()) {
            let (resource, took) = (self.resource.plural(), clock::instant().saturating_duration_since(since));
            tracing::info!(resource, failures, seconds = took.as_secs(), "Watching again.");
        }
    }

    /// Notes and logs the failure of a list or a watch.
    pub(super) fn on_failure(&self, verb: ReadVerb, error: &RequestError) {
        match verb {
            ReadVerb::List => self.metrics.failed_lists.inc(),
            ReadVerb::Watch => self.metrics.failed_watches.inc(),
        };
        let (resource, now) = (self.resource.plural(), clock::instant());
        let (failures, since, is_loud) = lock(&self.state).fail(verb, now);
        let (error, seconds) = (error.message(), now.saturating_duration_since(since).as_secs());
        match verb {
            _ if !is_loud => tracing::debug!(resource, %error, failures, ?verb, "Still failing; trying again."),
            ReadVerb::List => tracing::warn!(resource, %error, failures, seconds, "Cannot list; trying again."),
            ReadVerb::Watch => tracing::warn!(resource, %error, failures, seconds, "Cannot watch; trying again."),
        }
    }

    /// Stops reporting this kind as a problem: it may not be listed, which has been logged.
    pub fn make_optional(&self) {
        lock(&self.state).is_optional = true;
    }

    /// The Unix time in seconds.
    fn seconds(&self) -> f64 {
        self.clock.now().as_duration().as_secs_f64()
    }
}

impl State {
    fn on_list(&mut self, now: Instant) {
        self.is_optional = false;
        // Before the first complete list only lists can fail, so a list ends the series. Later only
        // the watch does.
        if !self.is_synced {
            self.is_synced = true;
            self.recover(now);
        }
    }

    /// Ends a series of failures; returns its start and length, if there was one.
    fn recover(&mut self, now: Instant) -> Option<(Instant, u32)> {
        let failing = self.failures.take()?;
        self.recovered_at = Some(now);
        Some(failing)
    }

    /// Counts a failure; returns the number of failures in a row, their start, and whether to log a
    /// warning.
    fn fail(&mut self, verb: ReadVerb, now: Instant) -> (u32, Instant, bool) {
        if let Some(began) = self.watch_started.take().filter(|_| verb == ReadVerb::Watch)
            && now.saturating_duration_since(began) >= MIN_WATCH
        {
            self.recover(began);
        }
        if self.failures.is_none()
            && self.recovered_at.is_some_and(|at| now.saturating_duration_since(at) >= MAX_WARNING_INTERVAL)
        {
            self.last_warning = None;
        }
        let (since, failures) = self.failures.map_or((now, 1), |(since, failures)| (since, failures.saturating_add(1)));
        self.failures = Some((since, failures));
        let interval = match self.last_warning {
            None => FIRST_WARNING_INTERVAL,
            Some((at, interval)) if now.saturating_duration_since(at) >= interval => {
                (interval * 2).min(MAX_WARNING_INTERVAL)
            }
            Some(_) => return (failures, since, false),
        };
        self.last_warning = Some((now, interval));
        (failures, since, true)
    }

    fn problem(&self, now: Instant) -> Option<String> {
        if self.is_optional {
            return None;
        }
        if !self.is_synced {
            return Some("its first list is not complete yet".to_owned());
        }
        let (since, failures) = self.failures?;
        let works = self.watch_started.is_some_and(|began| now.saturating_duration_since(began) >= MIN_WATCH);
        let fails = now.saturating_duration_since(since);
        (!works && fails >= FAILURE_TOLERANCE)
            .then(|| format!("{failures} failures in a row for {} s; the log says which", fails.as_secs()))
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code panics while it holds the lock, so the state is consistent.
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// The seconds at which a failure is logged as a warning, of those given.
    fn warnings(state: &mut State, start: Instant, failures: impl IntoIterator<Item = u64>) -> Vec<u64> {
        failures.into_iter().filter(|at| state.fail(ReadVerb::Watch, start + seconds(*at)).2).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn warnings_become_rarer_while_failures_go_on() {
        let (start, mut state) = (clock::instant(), State::default());
        assert_eq!(warnings(&mut state, start, 0..2000), [0, 10, 30, 70, 150, 310, 630, 1230, 1830]);
        state.recover(start + seconds(2000));
        assert_eq!(warnings(&mut state, start, [2001, 2430]), [2430], "one that comes and goes is not news each time");
        state.recover(start + seconds(2500));
        assert_eq!(warnings(&mut state, start, [3100]), [3100], "one that had worked for long is");
    }

    #[tokio::test(start_paused = true)]
    async fn minute_of_failures_is_a_problem() {
        let (start, mut state) = (clock::instant(), State::default());
        let after = |after: u64| start + seconds(after);
        assert!(state.problem(start).is_some_and(|why| why.contains("first list")));
        state.fail(ReadVerb::List, start);
        state.on_list(after(5));
        assert_eq!(state.problem(after(99)), None, "it has been listed");
        state.fail(ReadVerb::Watch, after(100));
        state.on_list(after(120));
        state.fail(ReadVerb::Watch, after(121));
        assert_eq!(state.problem(after(159)), None);
        let why = state.problem(after(160)).unwrap();
        assert!(
            why.starts_with("2 failures in a row for 60 s"),
            "lists in between do not end a watch's failures: {why}"
        );
        state.watch_started = Some(after(161));
        assert!(state.problem(after(161)).is_some(), "a watch that is only answered may break at once");
        assert_eq!(state.problem(after(162)), None);
        state.fail(ReadVerb::Watch, after(170));
        assert_eq!(state.problem(after(200)), None, "it worked for nine seconds, so its failure count restarted");
        assert!(state.problem(after(230)).is_some());
        state.recover(after(231));
        assert_eq!(state.problem(after(999)), None);
    }

    #[tokio::test(start_paused = true)]
    async fn optional_kind_is_not_a_problem_until_it_is_listed() {
        let (start, mut state) = (clock::instant(), State { is_optional: true, ..State::default() });
        assert_eq!(state.problem(start), None);
        state.on_list(start);
        state.fail(ReadVerb::Watch, start);
        assert!(state.problem(start + FAILURE_TOLERANCE).is_some(), "now it may be listed, so it counts");
    }
}
