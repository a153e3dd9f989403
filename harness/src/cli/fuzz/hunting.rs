//! The steps of a search that need plays: is it chance, how small does it get.

use super::super::CliError;
use super::super::place::Place;
use super::stage::{OnSetup, Stage};
use crate::cluster::SiteName;
use crate::recording::Recording;
use crate::run::Events;
use crate::search::{Answer, Look, Played, Repeats, Shrinking, differ, repeats};
use crate::subject::Spec;

/// With these seeds a difference is played again.
const SEEDS: [u64; 6] = [0, 1, 2, 3, 4, 5];
/// With these a smaller program is.
const FEW: [u64; 3] = [1, 2, 3];
/// On another cluster, where a seed means nothing, it is played so often.
const AGAIN: [u64; 2] = [0, 0];

/// Play a program with other seeds on both sides: is it the controller, or chance?
pub(in crate::cli) async fn repeated(stage: &impl Stage, played: &Played) -> Result<Repeats, CliError> {
    with_seeds(stage, played, &SEEDS).await
}

/// Whether the controllers differ on another cluster as well, each time that they are played there.
pub(super) async fn confirmed(place: &Place, on: SiteName, played: &Played, specs: &[Spec]) -> Result<bool, CliError> {
    let mut place = place.clone();
    place.site = place.site.on(on);
    place.check(std::slice::from_ref(&played.case), specs)?;
    let setup = place.setup(Events::default());
    let stage = OnSetup { setup: &setup, specs, is_over: &|| false };
    let repeats = with_seeds(&stage, played, &AGAIN).await;
    setup.close_programs().await;
    repeats.map(|repeats| repeats.plays > 0 && !repeats.is_chance())
}

async fn with_seeds(stage: &impl Stage, played: &Played, seeds: &[u64]) -> Result<Repeats, CliError> {
    let plays = stage.play(played.program.about, std::slice::from_ref(&played.case), seeds).await?;
    let mut sides = plays.into_iter().map(|side| side.into_iter().flatten().flatten().collect::<Vec<Recording>>());
    Ok(match (sides.next(), sides.next()) {
        (Some(others), Some(subjects)) => repeats(&played.case, &others, &subjects),
        (Some(subjects), None) => {
            let breaks = |subject: &&Recording| matches!(differ(&played.case, None, subject), Answer::Differs(_));
            Repeats { plays: subjects.len(), differs: subjects.iter().filter(breaks).count(), outcomes: 1 }
        }
        (None, _) => Repeats { plays: 0, differs: 0, outcomes: 0 },
    })
}

/// The smallest program that still differs by the same cause, and not by chance.
pub(in crate::cli) async fn shrunk(stage: &impl Stage, look: Look) -> Result<Look, CliError> {
    let mut shrinking = Shrinking::of(look);
    while stage.goes_on() {
        let candidates = shrinking.next(stage.lanes().max(2));
        let Some(first) = candidates.first() else { break };
        let about = first.about;
        let (same, other): (Vec<_>, Vec<_>) = candidates.into_iter().partition(|program| program.about == about);
        let mut played = stage.once(about, same).await?;
        if let Some(first) = other.first() {
            played.extend(stage.once(first.about, other).await?);
        }
        if let Some(smaller) = first_same(stage, &shrinking, played).await? {
            shrinking.take(smaller);
        }
    }
    Ok(shrinking.smallest())
}

async fn first_same(stage: &impl Stage, shrinking: &Shrinking, played: Vec<Played>) -> Result<Option<Look>, CliError> {
    for played in played {
        if let Some(differing) = shrinking.is_same(&played)
            && !with_seeds(stage, &played, &FEW).await?.is_chance()
        {
            return Ok(Some(Look { played, differing }));
        }
    }
    Ok(None)
}
