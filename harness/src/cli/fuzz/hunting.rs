//! The steps of a search that need plays: is it chance, how small does it get.

use super::super::CliError;
use super::super::place::Place;
use super::stage::{OnSetup, Stage};
use crate::cluster::SiteName;
use crate::recording::Recording;
use crate::run::Events;
use crate::search::{Answer, Look, Played, Repeats, Shrinking, differ, repeats};
use crate::subject::Spec;

/// With these seeds a difference is played again, with 0 it was played already. The later ones
/// follow only where the first do not show that it is chance: most of what is chance shows with
/// few, and what one of two controllers does in one play of ten shows with many.
const SEEDS: [&[u64]; 3] = [
    &[1, 2],
    &[3, 4, 5],
    &[6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29],
];
/// With these a smaller program is.
const FEW: [&[u64]; 2] = [&[1], &[2, 3]];
/// On another cluster, where a seed means nothing, it is played so often.
const AGAIN: [&[u64]; 1] = [&[0, 0]];

/// Play a program with other seeds on both sides: is it the controller, or chance?
pub(in crate::cli) async fn repeated(stage: &impl Stage, played: &Played) -> Result<Repeats, CliError> {
    let once = played.sides.iter().map(|side| side.iter().cloned().collect());
    with_seeds(stage, played, once.collect(), &SEEDS).await
}

/// Whether the controllers differ on another cluster as well, each time that they are played there.
pub(super) async fn confirmed(place: &Place, on: SiteName, played: &Played, specs: &[Spec]) -> Result<bool, CliError> {
    let mut place = place.clone();
    place.site = place.site.on(on);
    place.check(std::slice::from_ref(&played.case), specs)?;
    let setup = place.setup(Events::default());
    let stage = OnSetup { setup: &setup, specs, is_over: &|| false };
    let repeats = with_seeds(&stage, played, none(played), &AGAIN).await;
    setup.close_programs().await;
    repeats.map(|repeats| repeats.plays > 0 && !repeats.is_chance())
}

/// Play with each group of seeds on both sides, until it is known to be chance. `sides` are plays
/// that count already.
async fn with_seeds(
    stage: &impl Stage,
    played: &Played,
    mut sides: Vec<Vec<Recording>>,
    groups: &[&[u64]],
) -> Result<Repeats, CliError> {
    let mut known = compared(played, &sides);
    for seeds in groups {
        let plays = stage.play(played.program.about, std::slice::from_ref(&played.case), seeds).await?;
        for (all, more) in sides.iter_mut().zip(plays) {
            all.extend(more.into_iter().flatten().flatten());
        }
        known = compared(played, &sides);
        if known.is_chance() {
            break;
        }
    }
    Ok(known)
}

/// No plays yet.
fn none(played: &Played) -> Vec<Vec<Recording>> {
    vec![Vec::new(); played.sides.len()]
}

fn compared(played: &Played, sides: &[Vec<Recording>]) -> Repeats {
    match sides {
        [others, subjects] => repeats(&played.case, others, subjects),
        [subjects] => {
            let breaks = |subject: &&Recording| matches!(differ(&played.case, None, subject), Answer::Differs(_));
            Repeats { plays: subjects.len(), differs: subjects.iter().filter(breaks).count(), outcomes: 1 }
        }
        _ => Repeats { plays: 0, differs: 0, outcomes: 0 },
    }
}

/// The smallest program that still differs by the same cause, and not by chance; where it could not
/// be made any smaller because of an error or an interrupt, that as well.
pub(in crate::cli) async fn shrunk(stage: &impl Stage, look: Look) -> (Look, Result<(), CliError>) {
    let mut shrinking = Shrinking::of(look);
    let ended = shrink(stage, &mut shrinking).await;
    (shrinking.smallest(), ended)
}

async fn shrink(stage: &impl Stage, shrinking: &mut Shrinking) -> Result<(), CliError> {
    while stage.goes_on() {
        let candidates = shrinking.next(stage.lanes().max(2));
        let Some(first) = candidates.first() else { break };
        let about = first.about;
        let (same, other): (Vec<_>, Vec<_>) = candidates.into_iter().partition(|program| program.about == about);
        let mut played = stage.once(about, same).await?;
        if let Some(first) = other.first() {
            played.extend(stage.once(first.about, other).await?);
        }
        if let Some(smaller) = first_same(stage, shrinking, played).await? {
            shrinking.take(smaller);
        }
    }
    Ok(())
}

async fn first_same(stage: &impl Stage, shrinking: &Shrinking, played: Vec<Played>) -> Result<Option<Look>, CliError> {
    for played in played {
        if let Some(differing) = shrinking.is_same(&played)
            && !with_seeds(stage, &played, none(&played), &FEW).await?.is_chance()
        {
            return Ok(Some(Look { played, differing }));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::sync::Arc;

    use super::super::stage::Plays;
    use super::*;
    use crate::case::Case;
    use crate::outcome::Cause;
    use crate::search::{About, Areas, generate};
    use crate::timeline::fixture::scaled_to;
    use crate::verdict::fixture::case_of;

    /// Somebody whose sides always do the same, and who notes the seeds.
    struct Always {
        sides: [Recording; 2],
        seeds: RefCell<Vec<u64>>,
    }

    impl Stage for Always {
        async fn play(&self, _: About, _: &[Arc<Case>], seeds: &[u64]) -> Result<Plays, CliError> {
            self.seeds.borrow_mut().extend(seeds);
            let side = |recording: &Recording| vec![seeds.iter().map(|_| Some(recording.clone())).collect()];
            Ok(self.sides.iter().map(side).collect())
        }

        fn lanes(&self) -> usize {
            1
        }

        fn goes_on(&self) -> bool {
            true
        }
    }

    #[tokio::test]
    async fn what_two_seeds_show_to_be_chance_is_not_played_with_more() {
        let program = generate(About::Deployment, &Areas::only(&[]), &mut kube_apiserver_sim::Chance::new(1));
        let case = case_of(&scaled_to(11));
        for (size, is_chance, seeds) in [(11, true, vec![1, 2]), (13, false, (1..30).collect())] {
            let stage = Always { sides: [scaled_to(11), scaled_to(size)], seeds: RefCell::default() };
            let sides = stage.sides.iter().cloned().map(Some).collect();
            let played = Played { program: program.clone(), case: Arc::clone(&case), sides };
            assert_eq!(repeated(&stage, &played).await.unwrap().is_chance(), is_chance);
            assert_eq!(stage.seeds.into_inner(), seeds);
        }
    }

    /// Somebody who is interrupted.
    struct Interrupted;

    impl Stage for Interrupted {
        async fn play(&self, _: About, _: &[Arc<Case>], _: &[u64]) -> Result<Plays, CliError> {
            Err(CliError::Interrupted(Cause::Terminate))
        }

        fn lanes(&self) -> usize {
            1
        }

        fn goes_on(&self) -> bool {
            true
        }
    }

    #[tokio::test]
    async fn an_interrupt_leaves_what_was_the_smallest_so_far() {
        let program = generate(About::Deployment, &Areas::only(&[]), &mut kube_apiserver_sim::Chance::new(1));
        let sides = vec![Some(scaled_to(11)), Some(scaled_to(13))];
        let played = Played { program, case: case_of(&scaled_to(11)), sides };
        let Answer::Differs(differing) = played.answer() else { panic!("they differ") };
        let text = played.program.text("");
        let (small, ended) = shrunk(&Interrupted, Look { played, differing: *differing }).await;
        assert_eq!(small.played.program.text(""), text);
        assert!(matches!(ended, Err(CliError::Interrupted(_))));
    }
}
