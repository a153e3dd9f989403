//! Waiting until nothing more will happen before the next step: proved, not timed.
//!
//! Settled means: the world has come back through the watches, the equations hold, and the probe
//! has travelled through both halves twice while the namespace was silent and no request of the
//! subject's about it was under way. A short silence, as long as the subject usually takes, comes
//! before the first of the two, so that few flips are wasted on a subject that still acts. The
//! probe does not travel through a subject that only restarts workloads: there an answer to a read
//! breaks the silence, too. When the budget is spent first, somebody is to blame, and the order of
//! the questions matters: a test environment that does not answer is never the subject's failure; a
//! subject that keeps writing, leaves an equation false, or does not follow the probe while the
//! test environment does, is never the test environment's.

use kube_apiserver_sim::notify::Listener;
use std::time::Duration;

use super::{Kind, Probe, Question, World};
use crate::case::model::Terminations;
use crate::clock;
use crate::controllers::{Controller, Controllers};
use crate::observe::probe::Reach;
use crate::recording::{Blame, Trouble};

/// Silent rounds that prove rest: with one, 1 measured run of 216 was wrong; with two, none of 419.
const ROUNDS: u32 = 2;
/// Rounds granted when a history deletion is still due.
const ROUNDS_WITH_HISTORY: u32 = 6;

/// How long a subject with a request of its own held may take to follow the probe.
const ANSWER: Duration = Duration::from_secs(3);

/// What settling looks at besides the world.
pub struct Scene<'a> {
    /// The case's namespace.
    pub namespace: &'a str,
    /// Who finishes deletions.
    pub terminations: Terminations,
    /// Whether pods wait for the case to give them a node.
    pub unbound: bool,
    /// What the subject brings.
    pub under_test: &'a Controllers,
    /// What can be asked of the subject.
    pub subject: Half,
    /// Why the subject is no longer running, if it is not.
    pub exited: &'a (dyn Fn() -> Option<Trouble> + Sync),
    /// Successful writes that the subject has made in the namespace so far.
    pub writes: &'a (dyn Fn() -> u64 + Sync),
    /// Requests of the subject's about the namespace that were answered so far, reads among them.
    pub answers: &'a (dyn Fn() -> u64 + Sync),
    /// Requests of the subject's about the namespace that have no answer yet.
    pub under_way: &'a (dyn Fn() -> u64 + Sync),
    /// What the interceptor keeps from the subject or the server at this moment, about the
    /// namespace.
    pub kept: &'a (dyn Fn() -> u64 + Sync),
    /// Whether the subject may still wait before it goes on: it was told when to try a request
    /// again (`Retry-After`), or the interceptor has ended a watch that it has not opened again.
    pub acts_later: &'a (dyn Fn() -> bool + Sync),
    /// When to give up.
    pub budget: Duration,
}

/// How much of the subject's half can be expected to come to rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    /// All of it.
    Whole,
    /// It runs, but does not know all that happened: the probe travels, its equations may be false.
    Blind,
    /// It was stopped on purpose.
    Off,
}

/// How a wait ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rest {
    /// Nothing, or who is to blame.
    pub unsettled: Option<Trouble>,
    /// Probe rounds made.
    pub rounds: u32,
}

/// Wait until the namespace is at rest. `written` are the harness's own last writes, to be seen
/// first.
pub async fn settle(world: &World, probe: &Probe, scene: &Scene<'_>, written: &[(Kind, u64)]) -> Rest {
    let since = clock::instant();
    let left = || scene.budget.saturating_sub(since.elapsed());
    let mut rounds = 0;
    let mut silent = 0;
    let mut stuck = None;
    // Whether everything was right at some look: then what is wrong in the end need not be why it
    // does not settle.
    let mut was_right = false;
    let mut changes = world.listen();
    while !left().is_zero() {
        // Marked before the look, so that what comes during it wakes at once.
        changes.mark_seen();
        if let Some(trouble) = broken(world, scene) {
            return Rest { unsettled: Some(trouble), rounds };
        }
        let heard = || world.gap().is_some() || written.iter().all(|(kind, rv)| world.has_seen(*kind, *rv));
        if !world.until(left(), heard).await {
            break;
        }
        stuck = discrepancy(world, scene);
        was_right |= stuck.is_none();
        if stuck.is_some() {
            silent = 0;
            tokio::time::timeout(left().min(Duration::from_millis(250)), changes.changed()).await.ok();
            continue;
        }
        // A subject that waits before it goes on does so once that time is over: only a silence
        // that begins then counts.
        let waits = (scene.acts_later)();
        let quiet = || (world.activity(scene.namespace), (scene.writes)(), read(scene));
        if silent == 0
            && scene.subject == Half::Whole
            && !hushed(&mut changes, &quiet, probe.silence().min(left())).await
        {
            continue;
        }
        let before = quiet();
        let reach = match scene.subject {
            Half::Whole | Half::Blind => probe.flip(left(), &|| (scene.exited)().is_some()).await,
            Half::Off if probe.reach_of_environment(left()).await == Reach::Environment => Reach::Subject,
            Half::Off => Reach::Nowhere,
        };
        rounds += 1;
        match reach {
            Reach::Subject => {}
            Reach::Environment => {
                stuck = Some(probe.discrepancy());
                break;
            }
            Reach::Nowhere => {
                let unsettled = broken(world, scene).or_else(|| Some(environment(&probe.dead_environment())));
                return Rest { unsettled, rounds };
            }
        }
        // A request that waits for its answer is no silence, however far the probe's have got
        // meanwhile.
        let waits = waits || (scene.acts_later)();
        let still = !waits && quiet() == before && (scene.under_way)() + (scene.kept)() == 0;
        silent = if still { silent + 1 } else { 0 };
        let wanted = if scene.subject == Half::Whole && world.history_pending(scene.namespace) {
            ROUNDS_WITH_HISTORY
        } else {
            ROUNDS
        };
        if silent >= wanted && discrepancy(world, scene).is_none() {
            return Rest { unsettled: broken(world, scene), rounds };
        }
    }
    let mut trouble = blame(world, probe, scene, (stuck, was_right)).await;
    trouble.probe_unserved = trouble.blame == Blame::Subject && !probe.is_taken_up();
    Rest { unsettled: Some(trouble), rounds }
}

/// What the subject has read, where the probe does not travel through it: it may look at one kind
/// after the other before it writes.
fn read(scene: &Scene<'_>) -> u64 {
    let travels = [Controller::Deployment, Controller::ReplicaSet].into_iter().any(|half| scene.under_test.has(half));
    if travels { 0 } else { (scene.answers)() }
}

/// Wait until nothing has happened for so long, or something has.
async fn hushed<T: PartialEq>(changes: &mut Listener, happened: &impl Fn() -> T, length: Duration) -> bool {
    let (before, since) = (happened(), clock::instant());
    loop {
        let left = length.saturating_sub(since.elapsed());
        if left.is_zero() {
            return true;
        }
        // News may be about another namespace, the probe's own among them.
        tokio::time::timeout(left, changes.changed()).await.ok();
        if happened() != before {
            return false;
        }
    }
}

/// The budget is spent: who is to blame. `stuck` is what was not right when it was. What never was
/// right is named however long the subject goes on trying, so that a longer budget does not give
/// another reason.
async fn blame(world: &World, probe: &Probe, scene: &Scene<'_>, stuck: (Option<Trouble>, bool)) -> Trouble {
    if let Some(trouble) = broken(world, scene) {
        return trouble;
    }
    let (writes, activity) = ((scene.writes)(), world.activity(scene.namespace));
    if probe.reach_of_environment(Duration::from_secs(5)).await == Reach::Nowhere {
        return environment(&probe.dead_environment());
    }
    clock::pause(Duration::from_millis(500)).await;
    let more = (scene.writes)() - writes;
    let budget = scene.budget;
    let (stuck, was_right) = stuck;
    // Whatever is not right may be so because of that.
    let kept = (scene.kept)();
    if kept > 0 {
        return still_keeps(kept, budget);
    }
    if let Some(never_right) = stuck.as_ref().filter(|it| it.blame == Blame::Subject && !was_right) {
        return wrong_state(never_right, scene);
    }
    if more > 0 {
        return subject(format!("never became quiet: {more} more writes after {budget:?}"));
    }
    if world.activity(scene.namespace) != activity {
        return environment("somebody other than the subject keeps writing in the case's namespace");
    }
    match stuck {
        Some(trouble) if trouble.blame == Blame::Subject => wrong_state(&trouble, scene),
        Some(Trouble { why, .. }) => environment(&format!("{why} (after {budget:?})")),
        None => environment("the namespace did not become quiet within the budget; raise --budget"),
    }
}

/// What is not right when the budget is spent, and whether the subject did anything about it.
pub(super) fn wrong_state(Trouble { blame, why, .. }: &Trouble, scene: &Scene<'_>) -> Trouble {
    let how = if (scene.writes)() == 0 { Trouble::DID_NOTHING } else { Trouble::WRONG_STATE };
    Trouble::new(*blame, format!("{how}: {why} (after {:?})", scene.budget))
}

/// The interceptor keeps so many back although the budget is spent.
pub(super) fn still_keeps(kept: u64, budget: Duration) -> Trouble {
    environment(&format!(
        "the interceptor still keeps {kept} of the subject's requests or events back, as the case says (after {budget:?}); \
         raise --budget, or let the case say less"
    ))
}

pub(super) fn broken(world: &World, scene: &Scene<'_>) -> Option<Trouble> {
    if let Some(why) = world.gap() {
        return Some(environment(&why));
    }
    (scene.exited)()
}

/// What is not right, of what can be expected to be.
pub(super) fn discrepancy(world: &World, scene: &Scene<'_>) -> Option<Trouble> {
    match scene.subject {
        Half::Whole => unmet(world, scene),
        Half::Blind | Half::Off => unmet_by_environment(world, scene),
    }
}

/// In the middle of a step: wait until the test environment's controllers has settled and the
/// subject has received all that is `written`. A flip that travels through the subject follows what
/// it was sent before; the second proves that the first's echo has arrived too. A subject that does
/// one thing at a time, and is kept from it, cannot answer, and need not.
pub async fn arrive(world: &World, probe: &Probe, scene: &Scene<'_>, written: &[(Kind, u64)]) -> Option<Trouble> {
    let heard = || world.gap().is_some() || written.iter().all(|(kind, rv)| world.has_seen(*kind, *rv));
    let rests = || heard() && unmet_by_environment(world, scene).is_none();
    if !world.until(scene.budget, rests).await {
        return broken(world, scene)
            .or_else(|| unmet_by_environment(world, scene))
            .or_else(|| Some(environment(&probe.dead_environment())));
    }
    for _ in 0..ROUNDS {
        match probe.flip(ANSWER.min(scene.budget), &|| (scene.exited)().is_some()).await {
            Reach::Subject => {}
            Reach::Environment => break,
            Reach::Nowhere => return broken(world, scene).or_else(|| Some(environment(&probe.dead_environment()))),
        }
    }
    broken(world, scene)
}

fn unmet(world: &World, scene: &Scene<'_>) -> Option<Trouble> {
    let Scene { terminations, unbound, under_test, .. } = *scene;
    world.unmet(scene.namespace, Question { terminations, unbound, under_test })
}

/// The first of the test environment's equations that does not hold.
fn unmet_by_environment(world: &World, scene: &Scene<'_>) -> Option<Trouble> {
    unmet(world, scene).filter(|trouble| trouble.blame == Blame::Environment)
}

fn environment(why: &str) -> Trouble {
    Trouble::new(Blame::Environment, why)
}

fn subject(why: String) -> Trouble {
    Trouble::new(Blame::Subject, why)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::recording::Change;

    #[tokio::test(start_paused = true)]
    async fn a_silence_is_broken_by_what_happens_and_not_by_what_happens_elsewhere() {
        let world = World::default();
        ["ns", "elsewhere"].into_iter().for_each(|namespace| world.follow(namespace));
        let pod = |namespace: &str, rv: u64| {
            let metadata = json!({"namespace": namespace, "name": "p", "resourceVersion": rv.to_string()});
            world.deliver(Kind::Pod, Change::Modified, json!({"metadata": metadata}));
        };
        let (happened, length) = (|| world.activity("ns"), Duration::from_millis(100));
        let silence = async |namespace: &str, rv: u64| {
            let (mut changes, since) = (world.listen(), clock::instant());
            let later = async {
                clock::pause(Duration::from_millis(40)).await;
                pod(namespace, rv);
            };
            let (hushed, ()) = futures::join!(hushed(&mut changes, &happened, length), later);
            (hushed, since.elapsed())
        };
        assert!(!silence("ns", 1).await.0);
        let (hushed, took) = silence("elsewhere", 2).await;
        assert!(hushed && took >= length, "{took:?}");
    }
}
