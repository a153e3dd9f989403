//! Settling in virtual time: nothing happens for half a second while every task of the process
//! waits.
//!
//! The runtime's clock is paused and advances only when every task waits, so half a second without
//! writes does not depend on how fast a controller computes: it is longer than the back-off,
//! batching and latencies of queues. What takes longer (minReadySeconds, deadlines, grace periods)
//! is for the case's own `advance`. No probe is needed.

use std::time::Duration;

use lockstep_recording::{Blame, Trouble};
use lockstep_support::clock;

use super::settle::{
    OTHERS_WRITE, SettleContext, SettleOutcome, SubjectActivity, discrepancy, endless_writes, environment_trouble,
    failure, still_withheld, wrong_state,
};
use super::{WatchCache, WatchedKind};

/// The length of the silence.
const QUIET: Duration = Duration::from_millis(500);
/// The time between two checks: a change late in a silence costs one more silence.
const LOOK: Duration = Duration::from_millis(50);
/// The most writes in one settling, and for each pod that is wanted.
const MOST_WRITES: u64 = 2_000;
const WRITES_OF_A_POD: u64 = 20;

/// Wait until the namespace has settled. `own_writes` are the harness's own last writes, which the
/// watches must deliver first.
pub(crate) async fn settle(
    cache: &WatchCache,
    context: &SettleContext<'_>,
    own_writes: &[(WatchedKind, u64)],
) -> SettleOutcome {
    let since = clock::instant();
    let first = (context.writes)();
    let mut rounds = 0;
    let mut was_right = false;
    loop {
        if let Some(trouble) = failure(cache, context) {
            return SettleOutcome { unsettled: Some(trouble), rounds };
        }
        // A subject that waits before it goes on, or that has not yet received all events, acts
        // after that: only a silence that begins then counts.
        let waits = || (context.acts_later)() || (context.withheld)() > 0;
        let waited = waits();
        let quiet = || (cache.activity(context.namespace), (context.writes)());
        let is_silent = tokio::select! {
            biased;
            is_silent = is_silent(&quiet) => is_silent,
            writes = too_many_writes(cache, context, first) => {
                let why = format!("never became quiet: {writes} writes in {:?} of virtual time", since.elapsed());
                return SettleOutcome { unsettled: Some(Trouble::new(Blame::Subject, why)), rounds };
            }
        };
        let still = is_silent && !waited && !waits();
        rounds += 1;
        let has_seen_writes = own_writes.iter().all(|(kind, version)| cache.has_seen(*kind, *version));
        let still = still && has_seen_writes;
        let stuck = discrepancy(cache, context);
        was_right |= stuck.is_none();
        if still && stuck.is_none() && ((context.in_flight)() == 0 || context.subject != SubjectActivity::Full) {
            return SettleOutcome { unsettled: failure(cache, context), rounds };
        }
        if since.elapsed() < context.budget {
            continue;
        }
        let budget = context.budget;
        let withheld = (context.withheld)();
        let unsettled = match stuck {
            _ if withheld > 0 => still_withheld(withheld, budget),
            // What the cluster's controllers have not done yet may follow from endless writes.
            Some(trouble) if still || !was_right && trouble.blame == Blame::Subject => wrong_state(&trouble, context),
            _ if !still => {
                let writes = || [(context.writes)(), (context.writes_beside)()];
                let before = writes();
                clock::pause(2 * QUIET).await;
                let [more, more_beside] = writes();
                endless_writes([more - before[0], more_beside - before[1]], budget)
                    .unwrap_or_else(|| environment_trouble(OTHERS_WRITE))
            }
            Some(trouble) => wrong_state(&trouble, context),
            None => Trouble::new(Blame::Subject, format!("a request had no answer after {budget:?}")),
        };
        return SettleOutcome { unsettled: Some(unsettled), rounds };
    }
}

/// Wait until the subject has made more writes than can be right. The clock stands still while a
/// subject writes without waiting, so the budget does not end that.
async fn too_many_writes(cache: &WatchCache, context: &SettleContext<'_>, first: u64) -> u64 {
    let mut changes = cache.listen();
    loop {
        changes.changed().await;
        let writes = (context.writes)() - first;
        if writes >= MOST_WRITES && writes >= MOST_WRITES + WRITES_OF_A_POD * wanted_pods(cache, context.namespace) {
            return writes;
        }
    }
}

/// How many pods the case wants. A subject decides the sizes of a Deployment's ReplicaSets.
fn wanted_pods(cache: &WatchCache, namespace: &str) -> u64 {
    let deployments = cache.list(WatchedKind::Deployment, namespace);
    let sized = if deployments.is_empty() { cache.list(WatchedKind::ReplicaSet, namespace) } else { deployments };
    sized.iter().map(|one| u64::try_from(one.int("/spec/replicas")).unwrap_or(0)).sum()
}

/// In the middle of a step: wait until all controllers but the blocked one have nothing left to do.
pub(crate) async fn wait_until_received(
    cache: &WatchCache,
    context: &SettleContext<'_>,
    own_writes: &[(WatchedKind, u64)],
) -> Option<Trouble> {
    let since = clock::instant();
    loop {
        let still = is_silent(&|| cache.activity(context.namespace)).await;
        let has_seen_writes = own_writes.iter().all(|(kind, version)| cache.has_seen(*kind, *version));
        if has_seen_writes && still {
            return failure(cache, context);
        }
        if since.elapsed() >= context.budget {
            let why = format!("the namespace did not settle in the middle of a step within {:?}", context.budget);
            return Some(Trouble::new(Blame::Environment, why));
        }
    }
}

/// Wait until nothing has happened for this long; false if something has.
async fn is_silent<T: PartialEq>(happened: &impl Fn() -> T) -> bool {
    let (before, since) = (happened(), clock::instant());
    while since.elapsed() < QUIET {
        clock::pause(LOOK).await;
        if happened() != before {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use lockstep_case::model::Terminations;
    use lockstep_recording::ChangeType;
    use lockstep_recording::controllers::ControllerSet;
    use lockstep_support::clock::Instant;
    use serde_json::json;

    use super::*;

    /// A namespace in which no client writes or waits.
    fn context(under_test: &ControllerSet) -> SettleContext<'_> {
        SettleContext {
            namespace: "ns",
            terminations: Terminations::default(),
            unbound: false,
            under_test,
            subject: SubjectActivity::Full,
            exited: &|| None,
            writes: &|| 0,
            writes_beside: &|| 0,
            answers: &|| 0,
            in_flight: &|| 0,
            withheld: &|| 0,
            acts_later: &|| false,
            silence: Duration::ZERO,
            budget: Duration::from_secs(20),
        }
    }

    /// How long settling takes if the subject waits for `retry_after` and the interceptor withholds
    /// events for `lag`.
    async fn settled_after(retry_after: Duration, lag: Duration) -> Duration {
        let (cache, under_test, since) = (WatchCache::default(), ControllerSet::default(), clock::instant());
        cache.follow("ns");
        let waits = move |since: Instant| since.elapsed() <= retry_after && !retry_after.is_zero();
        let context = SettleContext {
            withheld: &move || u64::from(since.elapsed() < lag),
            acts_later: &move || waits(since),
            ..context(&under_test)
        };
        assert_eq!(settle(&cache, &context, &[]).await.unsettled, None);
        since.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn silence_counts_only_after_the_subject_stops_waiting() {
        assert_eq!(settled_after(Duration::ZERO, Duration::ZERO).await, QUIET);
        let retry_after = Duration::from_secs(1);
        let took = settled_after(retry_after, Duration::ZERO).await;
        assert!(took >= retry_after + QUIET && took <= retry_after + 2 * QUIET, "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_namespace_settles_after_the_subject_has_received_late_events() {
        let lag = Duration::from_secs(1);
        let took = settled_after(Duration::ZERO, lag).await;
        assert!(took >= lag + QUIET && took <= lag + 2 * QUIET, "{took:?}");
    }

    /// The trouble where the subject, or another client, writes ten times a second; with `lags`
    /// the cluster's ReplicaSet controller is behind as well.
    async fn trouble_of_endless_writes(by_subject: bool, lags: bool) -> Trouble {
        let (cache, under_test, since) = (Arc::new(WatchCache::default()), ControllerSet::default(), clock::instant());
        cache.follow("ns");
        if lags {
            let rs = json!({"metadata": {"namespace": "ns", "name": "rs", "resourceVersion": "1"},
                "status": {"replicas": 1}});
            cache.deliver(WatchedKind::ReplicaSet, ChangeType::Added, rs);
        }
        let writer = Arc::clone(&cache);
        let writing = tokio::spawn(async move {
            for version in 1_u64.. {
                let meta = json!({"namespace": "ns", "name": "a", "resourceVersion": version.to_string()});
                writer.deliver(WatchedKind::Deployment, ChangeType::Modified, json!({"metadata": meta}));
                clock::pause(Duration::from_millis(100)).await;
            }
        });
        let tenths = move || u64::try_from(since.elapsed().as_millis()).unwrap_or(0) / 100;
        let context = SettleContext { writes: &move || if by_subject { tenths() } else { 0 }, ..context(&under_test) };
        let unsettled = settle(&cache, &context, &[]).await.unsettled;
        writing.abort();
        unsettled.expect("it never settles")
    }

    #[tokio::test(start_paused = true)]
    async fn subject_that_writes_without_waiting_is_stopped() {
        let (cache, under_test, writes) =
            (Arc::new(WatchCache::default()), ControllerSet::default(), AtomicU64::new(0));
        cache.follow("ns");
        let context = SettleContext { writes: &|| writes.load(Ordering::Relaxed), ..context(&under_test) };
        let writing = async {
            loop {
                let version = 1 + writes.fetch_add(1, Ordering::Relaxed);
                let meta = json!({"namespace": "ns", "name": "a", "resourceVersion": version.to_string()});
                cache.deliver(WatchedKind::Deployment, ChangeType::Modified, json!({"metadata": meta}));
                tokio::task::yield_now().await;
            }
        };
        let settled = tokio::select! {
            biased;
            settled = settle(&cache, &context, &[]) => settled,
            () = writing => return,
        };
        let trouble = settled.unsettled.expect("it never settles");
        assert_eq!(
            (trouble.blame, trouble.why.as_str()),
            (Blame::Subject, "never became quiet: 2000 writes in 0ns of virtual time")
        );
    }

    #[tokio::test(start_paused = true)]
    async fn writes_of_other_clients_are_not_the_subjects_fault() {
        let others = trouble_of_endless_writes(false, false).await;
        assert_eq!((others.blame, others.why.as_str()), (Blame::Environment, OTHERS_WRITE));
        for lags in [false, true] {
            let subject = trouble_of_endless_writes(true, lags).await;
            assert_eq!(subject.blame, Blame::Subject);
            assert_eq!(subject.why, "never became quiet: 10 more writes after 20s");
        }
    }
}
