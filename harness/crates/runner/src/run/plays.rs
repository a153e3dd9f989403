//! Plays the cases of a plan with one subject.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, stream};
use lockstep_case::Case;
use lockstep_recording::Recording;
use lockstep_report::campaign::Shard;
use lockstep_support::clock;

use super::event::RunEvent;
use super::setup::{PlayError, Setup};
use crate::Executor;

/// The plays to make.
#[derive(Debug, Clone, Copy)]
pub struct PlayPlan<'a> {
    /// The cases.
    pub cases: &'a [Arc<Case>],
    /// The rounds; each plays all cases.
    pub rounds: &'a [PlayRound],
    /// Whether to read the output of the subject after each case.
    pub output: bool,
    /// The shard of the plays that runs here.
    pub shard: Shard,
    /// The number of plays of the selection before the first play of this plan.
    pub before: usize,
}

/// One pass through all cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlayRound {
    /// The number of the repetition, from 1.
    pub time: u32,
    /// The seed of its simulated clusters, if each round has its own.
    pub seed: Option<u64>,
}

impl<'a> PlayPlan<'a> {
    /// A plan that plays each case once.
    #[must_use]
    pub const fn once(cases: &'a [Arc<Case>]) -> Self {
        Self { cases, rounds: &[PlayRound { time: 1, seed: None }], output: false, shard: Shard::SINGLE, before: 0 }
    }

    /// All plays of all shards: the number in the selection, the round, and the index of the case.
    pub fn all(self) -> impl Iterator<Item = (usize, PlayRound, usize)> + use<'a> {
        let all = self.rounds.iter().flat_map(move |round| (0..self.cases.len()).map(move |case| (*round, case)));
        all.zip(self.before..).map(|((round, case), item)| (item, round, case))
    }

    /// The plays of this shard. If the number of cases would give a shard the same cases in each
    /// round, each round begins with a different shard.
    pub fn of_shard(self) -> impl Iterator<Item = (usize, PlayRound, usize)> + use<'a> {
        let cases = self.cases.len().max(1);
        let is_multiple = cases.is_multiple_of(self.shard.count() as usize);
        let offset = move |item: usize| if is_multiple { (item - self.before) / cases } else { 0 };
        self.all().filter(move |(item, ..)| self.shard.has(item + offset(*item)))
    }
}

/// A completed play.
#[derive(Debug)]
pub struct CompletedPlay<'a> {
    /// The number of the play in the selection, from 0.
    pub item: usize,
    /// The round.
    pub round: PlayRound,
    /// The index of the case in the plan.
    pub number: usize,
    /// The case.
    pub case: &'a Arc<Case>,
    /// The recording.
    pub recording: Recording,
    /// The duration.
    pub took: Duration,
    /// The output of the subject since it was started, if the plan asks for it and the subject
    /// prints.
    pub output: Option<String>,
}

impl Setup {
    /// Play the cases of the plan, as many in parallel as the player has lanes. Pass each play to
    /// `take` as soon as it is complete, until `take` returns `Break`.
    ///
    /// # Errors
    /// A case cannot be played, or `take` fails.
    pub async fn play_each<E: From<PlayError>>(
        &self,
        player: &Executor,
        plan: PlayPlan<'_>,
        mut take: impl AsyncFnMut(CompletedPlay<'_>) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        let plays = stream::iter(plan.of_shard()).map(async |(item, round, number)| {
            let case = &plan.cases[number];
            let turn = player.acquire_slot(case).await;
            let mut began = clock::instant();
            self.events.emit(&RunEvent::CaseStarted { case })?;
            let (mut recording, mut output) = turn.play_with_output(case, round.seed, plan.output).await?;
            if let Some(alone) = turn.alone().await {
                began = clock::instant();
                (recording, output) = alone.play_with_output(case, round.seed, plan.output).await?;
            }
            let took = began.elapsed();
            self.events.emit(&RunEvent::CasePlayed { case })?;
            Ok::<_, PlayError>(CompletedPlay { item, round, number, case, recording, took, output })
        });
        let mut plays = plays.buffer_unordered(player.lanes());
        while let Some(played) = plays.next().await {
            if take(played?).await?.is_break() {
                break;
            }
        }
        Ok(())
    }
}
