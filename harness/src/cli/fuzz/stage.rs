//! Where a search plays its programs.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::super::CliError;
use crate::case::Case;
use crate::recording::Recording;
use crate::run::{Plan, Round, Setup};
use crate::search::{About, Played, Program};
use crate::subject::Spec;

/// What was played: by side, by case, by seed.
pub(in crate::cli) type Plays = Vec<Vec<Vec<Option<Recording>>>>;

/// Somebody who plays cases on both sides.
pub(in crate::cli) trait Stage {
    /// Play each case with each seed, on the other side first.
    async fn play(&self, about: About, cases: &[Arc<Case>], seeds: &[u64]) -> Result<Plays, CliError>;

    /// How many programs it plays side by side.
    fn lanes(&self) -> usize;

    /// Whether a program may be made smaller now, or the search is to end.
    fn goes_on(&self) -> bool;

    /// Play programs once. A seed of 0 has fixed delays, so that two plays differ by little else
    /// than what is decided.
    async fn once(&self, about: About, programs: Vec<Program>) -> Result<Vec<Played>, CliError> {
        let valid = programs.into_iter().filter_map(|program| Some((program.case()?, program)));
        let (cases, programs): (Vec<_>, Vec<_>) = valid.unzip();
        let mut sides: Vec<_> = self.play(about, &cases, &[0]).await?.into_iter().map(Vec::into_iter).collect();
        let played = cases.into_iter().zip(programs).map(|(case, program)| {
            let sides = sides.iter_mut().map(|side| side.next().and_then(|plays| plays.into_iter().next().flatten()));
            Played { program, case, sides: sides.collect() }
        });
        Ok(played.collect())
    }
}

/// Subjects on simulated clusters.
pub(super) struct OnSetup<'a> {
    /// Where they are played.
    pub(super) setup: &'a Setup,
    /// The controller to compare with, if any, and the subject.
    pub(super) specs: &'a [Spec],
    /// Whether the search is to end.
    pub(super) is_over: &'a dyn Fn() -> bool,
}

impl Stage for OnSetup<'_> {
    async fn play(&self, about: About, cases: &[Arc<Case>], seeds: &[u64]) -> Result<Plays, CliError> {
        let rounds = seeds.iter().zip(1..).map(|(seed, time)| Round { time, seed: Some(*seed) });
        let rounds: Vec<Round> = rounds.collect();
        let controllers = about.controllers();
        let most = cases.len() * rounds.len();
        let sides = self.setup.with_each_kept(&controllers, self.specs, most, async |_, player| {
            let mut played = BTreeMap::new();
            let plan = Plan { rounds: &rounds, ..Plan::once(cases) };
            let playing = self.setup.play_each(player, plan, async |it| {
                played.insert((it.number, it.round.time), it.recording);
                Ok::<_, CliError>(ControlFlow::Continue(()))
            });
            playing.await?;
            Ok::<_, CliError>(played)
        });
        let by_case = |mut played: BTreeMap<(usize, u32), Recording>| {
            let of = |case: usize| rounds.iter().map(|round| played.remove(&(case, round.time))).collect();
            (0..cases.len()).map(of).collect()
        };
        Ok(sides.await?.into_iter().map(by_case).collect())
    }

    fn lanes(&self) -> usize {
        // A subject over HTTP is started anew each time: let it be worth it.
        let all_virtual = self.specs.iter().all(|spec| self.setup.is_virtual(spec));
        if all_virtual { self.setup.lanes.get() } else { 32 }
    }

    fn goes_on(&self) -> bool {
        !(self.is_over)()
    }
}
