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

/// Wait until the namespace has settled. `own_writes` are the harness's own last writes, which the
/// watches must deliver first.
pub(crate) async fn settle(
    cache: &WatchCache,
    context: &SettleContext<'_>,
    own_writes: &[(WatchedKind, u64)],
) -> SettleOutcome {
    let since = clock::instant();
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
        let still = is_silent(&quiet).await && !waited && !waits();
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
            Some(trouble) if still || !was_right => wrong_state(&trouble, context),
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

    /// The trouble where the subject, or another client, writes every tenth of a second.
    async fn trouble_of_endless_writes(by_subject: bool) -> Trouble {
        let (cache, under_test, since) = (Arc::new(WatchCache::default()), ControllerSet::default(), clock::instant());
        cache.follow("ns");
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
    async fn writes_of_other_clients_are_not_the_subjects_fault() {
        let others = trouble_of_endless_writes(false).await;
        assert_eq!((others.blame, others.why.as_str()), (Blame::Environment, OTHERS_WRITE));
        let subject = trouble_of_endless_writes(true).await;
        assert_eq!(subject.blame, Blame::Subject);
        assert_eq!(subject.why, "never became quiet: 10 more writes after 20s");
    }
}
