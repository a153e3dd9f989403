//! Decides whether a difference is by chance, and shrinks the program that shows it.

use lockstep_cluster::SiteName;
use lockstep_recording::Recording;
use lockstep_runner::run::Subscribers;
use lockstep_search::{PlayedProgram, Repeats, SearchFinding, Shrinking, SideComparison, compare, repeats};
use lockstep_subject::SubjectSpec;

use super::super::CliError;
use super::super::play_args::PlayArgs;
use super::program_runner::{ProgramRunner, SetupRunner};

/// The seeds that repeat a difference after seed 0. Later groups are played only if the earlier
/// ones do not show that it is chance: most chance shows with few seeds, and behaviour of one play
/// in ten shows with many.
const REPEAT_SEEDS: [&[u64]; 3] = [
    &[1, 2],
    &[3, 4, 5],
    &[6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29],
];
/// The seeds that repeat a smaller program.
const SHRINK_SEEDS: [&[u64]; 2] = [&[1], &[2, 3]];
/// The plays on another cluster, where seeds have no effect.
const CONFIRM_SEEDS: [&[u64]; 1] = [&[0, 0]];

/// Play a program with other seeds on both controllers to find out whether the difference is
/// chance.
pub(in crate::cli) async fn repeat(runner: &impl ProgramRunner, play: &PlayedProgram) -> Result<Repeats, CliError> {
    let once = play.sides.iter().map(|side| side.iter().cloned().collect());
    with_seeds(runner, play, once.collect(), &REPEAT_SEEDS).await
}

/// Whether the controllers differ in every play on another cluster, too.
pub(super) async fn confirm_on(
    play_args: &PlayArgs,
    on: SiteName,
    play: &PlayedProgram,
    specs: &[SubjectSpec],
) -> Result<bool, CliError> {
    let mut play_args = play_args.clone();
    play_args.cluster_args = play_args.cluster_args.with_cluster(on);
    play_args.check(std::slice::from_ref(&play.case), specs)?;
    let setup = play_args.setup(Subscribers::default());
    let runner = SetupRunner { setup: &setup, specs, is_over: &|| false };
    let repeats = with_seeds(&runner, play, no_plays(play), &CONFIRM_SEEDS).await;
    setup.close_programs().await;
    repeats.map(|repeats| repeats.plays > 0 && !repeats.is_chance())
}

/// Play with each group of seeds on both controllers until the difference is known to be chance.
/// `sides` are earlier plays that count, too.
async fn with_seeds(
    runner: &impl ProgramRunner,
    play: &PlayedProgram,
    mut sides: Vec<Vec<Recording>>,
    groups: &[&[u64]],
) -> Result<Repeats, CliError> {
    let mut known = compare_plays(play, &sides);
    for seeds in groups {
        let plays = runner.play(play.program.focus, std::slice::from_ref(&play.case), seeds).await?;
        for (all, more) in sides.iter_mut().zip(plays) {
            all.extend(more.into_iter().flatten().flatten());
        }
        known = compare_plays(play, &sides);
        if known.is_chance() {
            break;
        }
    }
    Ok(known)
}

fn no_plays(play: &PlayedProgram) -> Vec<Vec<Recording>> {
    vec![Vec::new(); play.sides.len()]
}

fn compare_plays(play: &PlayedProgram, sides: &[Vec<Recording>]) -> Repeats {
    match sides {
        [others, subjects] => repeats(&play.case, others, subjects),
        [subjects] => {
            let breaks =
                |subject: &&Recording| matches!(compare(&play.case, None, subject), SideComparison::Differs(_));
            Repeats { plays: subjects.len(), differs: subjects.iter().filter(breaks).count(), outcomes: 1 }
        }
        _ => Repeats { plays: 0, differs: 0, outcomes: 0 },
    }
}

/// Shrink a program to the smallest one that still differs by the same cause, and not by chance. If
/// shrinking ends with an error or an interrupt, that is returned with the smallest program so far.
pub(in crate::cli) async fn shrink(
    runner: &impl ProgramRunner,
    look: SearchFinding,
) -> (SearchFinding, Result<(), CliError>) {
    let mut shrinking = Shrinking::of(look);
    let ended = shrink_steps(runner, &mut shrinking).await;
    (shrinking.smallest(), ended)
}

async fn shrink_steps(runner: &impl ProgramRunner, shrinking: &mut Shrinking) -> Result<(), CliError> {
    while runner.can_continue() {
        let candidates = shrinking.next(runner.candidates().max(2));
        let Some(first) = candidates.first() else { break };
        let focus = first.focus;
        let (same, other): (Vec<_>, Vec<_>) = candidates.into_iter().partition(|program| program.focus == focus);
        let mut played = runner.once(focus, same).await?;
        if let Some(first) = other.first() {
            played.extend(runner.once(first.focus, other).await?);
        }
        if let Some(smaller) = first_with_same_cause(runner, shrinking, played).await? {
            shrinking.take(smaller);
        }
    }
    Ok(())
}

async fn first_with_same_cause(
    runner: &impl ProgramRunner,
    shrinking: &Shrinking,
    plays: Vec<PlayedProgram>,
) -> Result<Option<SearchFinding>, CliError> {
    for played in plays {
        if let Some(differing) = shrinking.is_same(&played)
            && !with_seeds(runner, &played, no_plays(&played), &SHRINK_SEEDS).await?.is_chance()
        {
            return Ok(Some(SearchFinding { run: played, differing }));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::sync::Arc;

    use lockstep_case::Case;
    use lockstep_recording::testing::scaled_to;
    use lockstep_search::{Areas, Focus, generate};
    use lockstep_support::outcome::InterruptCause;
    use lockstep_verdict::testing::case_of;

    use super::super::program_runner::Plays;
    use super::*;

    /// Returns the same recordings for every play, and notes the seeds.
    struct FixedPlays {
        sides: [Recording; 2],
        seeds: RefCell<Vec<u64>>,
    }

    impl ProgramRunner for FixedPlays {
        async fn play(&self, _: Focus, _: &[Arc<Case>], seeds: &[u64]) -> Result<Plays, CliError> {
            self.seeds.borrow_mut().extend(seeds);
            let side = |recording: &Recording| vec![seeds.iter().map(|_| Some(recording.clone())).collect()];
            Ok(self.sides.iter().map(side).collect())
        }

        fn candidates(&self) -> usize {
            1
        }

        fn can_continue(&self) -> bool {
            true
        }
    }

    #[tokio::test]
    async fn repeat_stops_once_two_seeds_show_chance() {
        let program = generate(Focus::Deployment, &Areas::only(&[]), &mut kube_apiserver_sim::SeededRng::new(1));
        let case = case_of(&scaled_to(11));
        for (size, is_chance, seeds) in [(11, true, vec![1, 2]), (13, false, (1..30).collect())] {
            let runner = FixedPlays { sides: [scaled_to(11), scaled_to(size)], seeds: RefCell::default() };
            let sides = runner.sides.iter().cloned().map(Some).collect();
            let played = PlayedProgram { program: program.clone(), case: Arc::clone(&case), sides };
            assert_eq!(repeat(&runner, &played).await.unwrap().is_chance(), is_chance);
            assert_eq!(runner.seeds.into_inner(), seeds);
        }
    }

    /// Fails every play with an interruption.
    struct InterruptedRunner;

    impl ProgramRunner for InterruptedRunner {
        async fn play(&self, _: Focus, _: &[Arc<Case>], _: &[u64]) -> Result<Plays, CliError> {
            Err(CliError::Interrupted(InterruptCause::Terminate))
        }

        fn candidates(&self) -> usize {
            1
        }

        fn can_continue(&self) -> bool {
            true
        }
    }

    #[tokio::test]
    async fn interrupted_shrink_returns_smallest_program_so_far() {
        let program = generate(Focus::Deployment, &Areas::only(&[]), &mut kube_apiserver_sim::SeededRng::new(1));
        let sides = vec![Some(scaled_to(11)), Some(scaled_to(13))];
        let played = PlayedProgram { program, case: case_of(&scaled_to(11)), sides };
        let SideComparison::Differs(differing) = played.answer() else { panic!("they differ") };
        let text = played.program.text("");
        let (small, ended) = shrink(&InterruptedRunner, SearchFinding { run: played, differing: *differing }).await;
        assert_eq!(small.run.program.text(""), text);
        assert!(matches!(ended, Err(CliError::Interrupted(_))));
    }
}
