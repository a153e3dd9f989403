//! Waits until nothing more will happen before the next step, which is proved rather than timed.
//!
//! A namespace has settled when all of the following hold: the watches have delivered the harness's
//! own writes, the equations hold, and the probe has travelled through both controllers twice while
//! the namespace was silent and no request of the subject about it was in flight. A short silence,
//! as long as the subject usually takes, comes before the first flip, so that few flips are wasted
//! on a subject that still acts. The probe does not travel through a subject that only restarts
//! workloads; there, an answer to a read breaks the silence too.
//!
//! If the budget is spent first, the order of the checks decides who is to blame: a test
//! environment that does not answer is never the subject's failure; a subject that keeps writing,
//! leaves an equation false, or does not follow the probe while the test environment does, is never
//! the test environment's.

use std::time::Duration;

use kube_apiserver_sim::notify::Subscription;
use lockstep_case::model::Terminations;
use lockstep_recording::controllers::{Controller, ControllerSet};
use lockstep_recording::{Blame, Trouble};
use lockstep_support::clock;

use super::{EquationScope, Probe, WatchCache, WatchedKind};
use crate::observe::probe::{ANSWER, Reach};

/// Silent rounds that prove that a namespace has settled: with one, 1 measured run of 216 was
/// wrong; with two, none of 419.
const ROUNDS: u32 = 2;
/// Rounds to wait for when a history deletion is still due.
const ROUNDS_WITH_HISTORY: u32 = 6;

/// How long a subject may take to follow the probe while one of its requests is held.
const MOST_WHILE_HELD: Duration = Duration::from_secs(3);

/// What settling depends on besides the cache.
pub(crate) struct SettleContext<'a> {
    /// The case's namespace.
    pub namespace: &'a str,
    /// Who finishes deletions.
    pub terminations: Terminations,
    /// Whether the case leaves pods without a node.
    pub unbound: bool,
    /// The controllers that the subject brings.
    pub under_test: &'a ControllerSet,
    /// What to expect of the subject.
    pub subject: SubjectActivity,
    /// Why the subject no longer runs, if it has ended.
    pub exited: &'a (dyn Fn() -> Option<Trouble> + Sync),
    /// The number of the subject's successful writes in the namespace so far.
    pub writes: &'a (dyn Fn() -> u64 + Sync),
    /// The number of successful writes in the namespace of the controller beside the subject.
    pub writes_beside: &'a (dyn Fn() -> u64 + Sync),
    /// The number of the subject's requests about the namespace that were answered so far,
    /// including reads.
    pub answers: &'a (dyn Fn() -> u64 + Sync),
    /// The number of requests about the namespace, of the subject and of the controller beside it,
    /// that have no answer yet.
    pub in_flight: &'a (dyn Fn() -> u64 + Sync),
    /// How many requests and events about the namespace the interceptor withholds at the moment.
    pub withheld: &'a (dyn Fn() -> u64 + Sync),
    /// Whether the subject may still wait before it goes on: it was asked to retry a request later
    /// (`Retry-After`), or it has not opened a watch again that the interceptor has ended.
    pub acts_later: &'a (dyn Fn() -> bool + Sync),
    /// The least silence before the first flip of the probe, however soon the subject answers it.
    pub silence: Duration,
    /// When to give up.
    pub budget: Duration,
}

/// The least time for a flip of the probe, however little of the budget is left: the environment
/// has as long to show that it is alive, and the subject is blamed if only the environment does.
const LEAST_FLIP: Duration = Duration::from_secs(5);

/// Why a namespace does not settle if neither the subject nor the controller beside it writes.
pub(super) const OTHERS_WRITE: &str = "a client other than the subject keeps writing in the case's namespace";

/// How much of the subject's part can be expected to settle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SubjectActivity {
    /// The subject runs with a current view, so its equations must hold.
    Full,
    /// It runs with a stale view: the probe travels, but its equations may be false.
    Stale,
    /// It was stopped on purpose.
    Stopped,
}

/// The result of settling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SettleOutcome {
    /// Why the namespace did not settle, if it did not.
    pub unsettled: Option<Trouble>,
    /// The number of probe rounds.
    pub rounds: u32,
}

/// Wait until the namespace has settled. `own_writes` are the harness's own last writes, which the
/// watches must deliver first.
pub(crate) async fn settle(
    cache: &WatchCache,
    probe: &Probe,
    context: &SettleContext<'_>,
    own_writes: &[(WatchedKind, u64)],
) -> SettleOutcome {
    let since = clock::instant();
    let left = || context.budget.saturating_sub(since.elapsed());
    let mut rounds = 0;
    let mut silent = 0;
    let mut stuck = None;
    // Whether all equations held at some check: then what is wrong at the end need not be the
    // reason.
    let mut was_right = false;
    let mut changes = cache.listen();
    while !left().is_zero() {
        // Marked before the check, so that a change during it wakes this task at once.
        changes.mark_seen();
        if let Some(trouble) = failure(cache, context) {
            return SettleOutcome { unsettled: Some(trouble), rounds };
        }
        let has_seen_writes =
            || cache.gap().is_some() || own_writes.iter().all(|(kind, rv)| cache.has_seen(*kind, *rv));
        if !cache.until(left(), has_seen_writes).await {
            break;
        }
        stuck = discrepancy(cache, context);
        was_right |= stuck.is_none();
        if stuck.is_some() {
            silent = 0;
            tokio::time::timeout(left().min(Duration::from_millis(250)), changes.changed()).await.ok();
            continue;
        }
        // A subject that waits before it goes on acts after that time: only a silence that begins
        // then counts.
        let waits = (context.acts_later)();
        let quiet = || (cache.activity(context.namespace), (context.writes)(), read(context));
        if silent == 0
            && context.subject == SubjectActivity::Full
            && !is_silent_for(&mut changes, &quiet, probe.silence().max(context.silence).min(left())).await
        {
            continue;
        }
        let before = quiet();
        let reach = match context.subject {
            SubjectActivity::Full | SubjectActivity::Stale => {
                probe.flip(left().max(LEAST_FLIP), &|| (context.exited)().is_some()).await
            }
            SubjectActivity::Stopped if probe.reach_of_environment(left()).await == Reach::Environment => {
                Reach::Subject
            }
            SubjectActivity::Stopped => Reach::Nowhere,
        };
        rounds += 1;
        match reach {
            Reach::Subject => {}
            Reach::Environment => {
                stuck = Some(probe.discrepancy());
                break;
            }
            Reach::Nowhere => {
                let unsettled =
                    failure(cache, context).or_else(|| Some(environment_trouble(&probe.dead_environment())));
                return SettleOutcome { unsettled, rounds };
            }
        }
        // A pending request is not a silence, however far the probe has got meanwhile.
        let waits = waits || (context.acts_later)();
        let still = !waits && quiet() == before && (context.in_flight)() + (context.withheld)() == 0;
        silent = if still { silent + 1 } else { 0 };
        let wanted = if context.subject == SubjectActivity::Full && cache.history_pending(context.namespace) {
            ROUNDS_WITH_HISTORY
        } else {
            ROUNDS
        };
        if silent >= wanted && discrepancy(cache, context).is_none() {
            return SettleOutcome { unsettled: failure(cache, context), rounds };
        }
    }
    let mut trouble = blame_for_timeout(cache, probe, context, (stuck, was_right)).await;
    trouble.probe_unserved = trouble.blame == Blame::Subject && !probe.is_taken_up();
    SettleOutcome { unsettled: Some(trouble), rounds }
}

/// The number of the subject's reads, where the probe does not travel through it: it may read one
/// kind after the other before it writes.
fn read(context: &SettleContext<'_>) -> u64 {
    let travels = [Controller::Deployment, Controller::ReplicaSet].into_iter().any(|half| context.under_test.has(half));
    if travels { 0 } else { (context.answers)() }
}

/// Wait until nothing has happened for this long; false if something has.
async fn is_silent_for<T: PartialEq>(changes: &mut Subscription, happened: &impl Fn() -> T, length: Duration) -> bool {
    let (before, since) = (happened(), clock::instant());
    loop {
        let left = length.saturating_sub(since.elapsed());
        if left.is_zero() {
            return true;
        }
        // The change may be in another namespace, such as the probe's.
        tokio::time::timeout(left, changes.changed()).await.ok();
        if happened() != before {
            return false;
        }
    }
}

/// Who is to blame when the budget is spent. `stuck` is what was wrong then. An equation that never
/// held is named even if the subject still tries, so that a longer budget does not give another
/// reason.
async fn blame_for_timeout(
    cache: &WatchCache,
    probe: &Probe,
    context: &SettleContext<'_>,
    stuck: (Option<Trouble>, bool),
) -> Trouble {
    if let Some(trouble) = failure(cache, context) {
        return trouble;
    }
    let (writes, activity) = ((context.writes)(), cache.activity(context.namespace));
    let writes_beside = (context.writes_beside)();
    if probe.reach_of_environment(ANSWER).await == Reach::Nowhere {
        return environment_trouble(&probe.dead_environment());
    }
    clock::pause(Duration::from_millis(500)).await;
    let more = (context.writes)() - writes;
    let more_beside = (context.writes_beside)() - writes_beside;
    let budget = context.budget;
    let (stuck, was_right) = stuck;
    // This may be the reason why equations do not hold.
    let withheld = (context.withheld)();
    if withheld > 0 {
        return still_withheld(withheld, budget);
    }
    if let Some(never_right) = stuck.as_ref().filter(|it| it.blame == Blame::Subject && !was_right) {
        return wrong_state(never_right, context);
    }
    if let Some(trouble) = endless_writes([more, more_beside], budget) {
        return trouble;
    }
    if cache.activity(context.namespace) != activity {
        return environment_trouble(OTHERS_WRITE);
    }
    match stuck {
        Some(trouble) if trouble.blame == Blame::Subject => wrong_state(&trouble, context),
        Some(Trouble { why, .. }) => environment_trouble(&format!("{why} (after {budget:?})")),
        None => environment_trouble("the namespace did not become quiet within the budget; raise --budget"),
    }
}

/// The trouble about writes after the budget: of the subject, and of the controller beside it.
pub(super) fn endless_writes([more, more_beside]: [u64; 2], budget: Duration) -> Option<Trouble> {
    if more > 0 {
        let beside =
            if more_beside > 0 { format!(", and {more_beside} of the controller beside it") } else { String::new() };
        return Some(subject_trouble(format!("never became quiet: {more} more writes after {budget:?}{beside}")));
    }
    (more_beside > 0).then(|| {
        environment_trouble(&format!(
            "the controller beside the subject never became quiet: {more_beside} more writes after {budget:?}"
        ))
    })
}

/// The trouble about a false equation when the budget is spent: the subject did nothing, or did
/// something wrong.
pub(super) fn wrong_state(Trouble { blame, why, about, .. }: &Trouble, context: &SettleContext<'_>) -> Trouble {
    let how = if (context.writes)() == 0 { Trouble::DID_NOTHING } else { Trouble::WRONG_STATE };
    Trouble::new(*blame, format!("{how}: {why} (after {:?})", context.budget)).about(*about)
}

/// The trouble about a budget that is spent while the interceptor withholds messages.
pub(super) fn still_withheld(withheld: u64, budget: Duration) -> Trouble {
    environment_trouble(&format!(
        "the interceptor still keeps {withheld} of the subject's requests or events back, as the case says (after {budget:?}); \
         raise --budget, or let the case say less"
    ))
}

pub(super) fn failure(cache: &WatchCache, context: &SettleContext<'_>) -> Option<Trouble> {
    if let Some(why) = cache.gap() {
        return Some(environment_trouble(&why));
    }
    (context.exited)()
}

/// The first violation among the equations that can be expected to hold.
pub(super) fn discrepancy(cache: &WatchCache, context: &SettleContext<'_>) -> Option<Trouble> {
    match context.subject {
        SubjectActivity::Full => unmet_equation(cache, context),
        SubjectActivity::Stale | SubjectActivity::Stopped => environment_unmet_equation(cache, context),
    }
}

/// In the middle of a step: wait until the test environment's controllers have settled and the
/// subject has received all `own_writes`. A flip that travels through the subject arrives after
/// what was sent before; the second proves that the reaction to the first has arrived too. A
/// subject that does one thing at a time, and is blocked, cannot answer and need not.
pub(crate) async fn wait_until_received(
    cache: &WatchCache,
    probe: &Probe,
    context: &SettleContext<'_>,
    own_writes: &[(WatchedKind, u64)],
) -> Option<Trouble> {
    let has_seen_writes = || cache.gap().is_some() || own_writes.iter().all(|(kind, rv)| cache.has_seen(*kind, *rv));
    let rests = || has_seen_writes() && environment_unmet_equation(cache, context).is_none();
    if !cache.until(context.budget, rests).await {
        return failure(cache, context)
            .or_else(|| environment_unmet_equation(cache, context))
            .or_else(|| Some(environment_trouble(&probe.dead_environment())));
    }
    for _ in 0..ROUNDS {
        match probe.flip(MOST_WHILE_HELD.min(context.budget), &|| (context.exited)().is_some()).await {
            Reach::Subject => {}
            Reach::Environment => break,
            Reach::Nowhere => {
                return failure(cache, context).or_else(|| Some(environment_trouble(&probe.dead_environment())));
            }
        }
    }
    failure(cache, context)
}

fn unmet_equation(cache: &WatchCache, context: &SettleContext<'_>) -> Option<Trouble> {
    let SettleContext { terminations, unbound, under_test, .. } = *context;
    cache.first_unmet(context.namespace, EquationScope { terminations, unbound, under_test })
}

/// The first violation that the test environment is to blame for.
fn environment_unmet_equation(cache: &WatchCache, context: &SettleContext<'_>) -> Option<Trouble> {
    unmet_equation(cache, context).filter(|trouble| trouble.blame == Blame::Environment)
}

pub(super) fn environment_trouble(why: &str) -> Trouble {
    Trouble::new(Blame::Environment, why)
}

fn subject_trouble(why: String) -> Trouble {
    Trouble::new(Blame::Subject, why)
}

#[cfg(test)]
mod tests {
    use lockstep_recording::ChangeType;
    use serde_json::json;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_changes_in_the_same_namespace_break_a_silence() {
        let cache = WatchCache::default();
        ["ns", "elsewhere"].into_iter().for_each(|namespace| cache.follow(namespace));
        let pod = |namespace: &str, rv: u64| {
            let metadata = json!({"namespace": namespace, "name": "p", "resourceVersion": rv.to_string()});
            cache.deliver(WatchedKind::Pod, ChangeType::Modified, json!({"metadata": metadata}));
        };
        let (happened, length) = (|| cache.activity("ns"), Duration::from_millis(100));
        let silence = async |namespace: &str, rv: u64| {
            let (mut changes, since) = (cache.listen(), clock::instant());
            let later = async {
                clock::pause(Duration::from_millis(40)).await;
                pod(namespace, rv);
            };
            let (silent, ()) = futures::join!(is_silent_for(&mut changes, &happened, length), later);
            (silent, since.elapsed())
        };
        assert!(!silence("ns", 1).await.0);
        let (silent, took) = silence("elsewhere", 2).await;
        assert!(silent && took >= length, "{took:?}");
    }
}
