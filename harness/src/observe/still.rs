//! Waiting until nothing more will happen, in virtual time: no task of the process runs within half
//! a second.
//!
//! The runtime's clock is paused and goes on only when every task waits, so half a second in which
//! nobody wrote is no guess at how long a controller may think: it is what queues' back-off,
//! batching and latencies fit into. What takes longer (minReadySeconds, deadlines, grace) is for
//! the case's own `advance`. No probe is needed.

use std::time::Duration;

use super::settle::{Half, Rest, Scene, broken, discrepancy, wrong_state};
use super::{Kind, World};
use crate::clock;
use crate::recording::{Blame, Trouble};

/// How long nothing must happen.
const QUIET: Duration = Duration::from_millis(500);
/// How often it is looked whether something did: what happens late in a silence costs a whole one
/// anew, and no more.
const LOOK: Duration = Duration::from_millis(50);

/// Wait until the namespace is at rest. `written` are the harness's own last writes, to be seen
/// first.
pub async fn settle(world: &World, scene: &Scene<'_>, written: &[(Kind, u64)]) -> Rest {
    let since = clock::instant();
    let mut rounds = 0;
    let mut was_right = false;
    loop {
        if let Some(trouble) = broken(world, scene) {
            return Rest { unsettled: Some(trouble), rounds };
        }
        // A subject that waits before it goes on, or that has yet to learn what happened, does so
        // once that time is over: only a silence that begins then counts.
        let waits = || (scene.acts_later)() || (scene.kept)() > 0;
        let waited = waits();
        let quiet = || (world.activity(scene.namespace), (scene.writes)());
        let still = silence(&quiet).await && !waited && !waits();
        rounds += 1;
        let heard = written.iter().all(|(kind, version)| world.has_seen(*kind, *version));
        let still = still && heard;
        let stuck = discrepancy(world, scene);
        was_right |= stuck.is_none();
        if still && stuck.is_none() && ((scene.under_way)() == 0 || scene.subject != Half::Whole) {
            return Rest { unsettled: broken(world, scene), rounds };
        }
        if since.elapsed() < scene.budget {
            continue;
        }
        let budget = scene.budget;
        let kept = (scene.kept)();
        let unsettled = match stuck {
            _ if kept > 0 => super::settle::still_keeps(kept, budget),
            Some(trouble) if still || !was_right => wrong_state(&trouble, scene),
            _ if !still => Trouble::new(Blame::Subject, format!("never became quiet: still at it after {budget:?}")),
            Some(trouble) => wrong_state(&trouble, scene),
            None => Trouble::new(Blame::Subject, format!("a request had no answer after {budget:?}")),
        };
        return Rest { unsettled: Some(unsettled), rounds };
    }
}

/// In the middle of a step: wait until everybody but the one that is held has done what there is to
/// do.
pub async fn arrive(world: &World, scene: &Scene<'_>, written: &[(Kind, u64)]) -> Option<Trouble> {
    let since = clock::instant();
    loop {
        let still = silence(&|| world.activity(scene.namespace)).await;
        let heard = written.iter().all(|(kind, version)| world.has_seen(*kind, *version));
        if heard && still {
            return broken(world, scene);
        }
        if since.elapsed() >= scene.budget {
            let why = format!("the namespace did not settle in the middle of a step within {:?}", scene.budget);
            return Some(Trouble::new(Blame::Environment, why));
        }
    }
}

/// Wait until nothing has happened for so long, or something has.
async fn silence<T: PartialEq>(happened: &impl Fn() -> T) -> bool {
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
    use super::*;
    use crate::case::model::Terminations;
    use crate::clock::Instant;
    use crate::controllers::Controllers;

    /// How long settling took, where the subject waits for so long because it was told to, and the
    /// interceptor keeps events back for so long.
    async fn settled_after(told: Duration, lag: Duration) -> Duration {
        let (world, under_test, since) = (World::default(), Controllers::default(), clock::instant());
        world.follow("ns");
        let waits = move |since: Instant| since.elapsed() <= told && !told.is_zero();
        let scene = Scene {
            namespace: "ns",
            terminations: Terminations::default(),
            unbound: false,
            under_test: &under_test,
            subject: Half::Whole,
            exited: &|| None,
            writes: &|| 0,
            answers: &|| 0,
            under_way: &|| 0,
            kept: &move || u64::from(since.elapsed() < lag),
            acts_later: &move || waits(since),
            budget: Duration::from_secs(20),
        };
        assert_eq!(settle(&world, &scene, &[]).await.unsettled, None);
        since.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn the_silence_that_counts_begins_when_nobody_waits_any_more() {
        assert_eq!(settled_after(Duration::ZERO, Duration::ZERO).await, QUIET);
        let told = Duration::from_secs(1);
        let took = settled_after(told, Duration::ZERO).await;
        assert!(took >= told + QUIET && took <= told + 2 * QUIET, "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_namespace_settles_after_the_subject_has_received_late_events() {
        let lag = Duration::from_secs(1);
        let took = settled_after(Duration::ZERO, lag).await;
        assert!(took >= lag + QUIET && took <= lag + 2 * QUIET, "{took:?}");
    }
}
