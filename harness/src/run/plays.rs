//! The cases of a plan, played by one subject.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, stream};

use super::event::Event;
use super::setup::{RunError, Setup};
use crate::campaign::Shard;
use crate::case::Case;
use crate::clock;
use crate::recording::Recording;
use crate::runner::Player;

/// What is to be played.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// The cases.
    pub cases: &'a [Arc<Case>],
    /// How often; each round goes through all cases.
    pub rounds: &'a [Round],
    /// Whether what the subject prints is read after each case.
    pub output: bool,
    /// Which of these plays are played here.
    pub shard: Shard,
    /// How many plays of the selection come before the first of these.
    pub before: usize,
}

/// One time through all the cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round {
    /// Which time it is, from 1.
    pub time: u32,
    /// The seed of its simulated clusters, where each round has its own.
    pub seed: Option<u64>,
}

impl<'a> Plan<'a> {
    /// Each of these cases once.
    #[must_use]
    pub const fn once(cases: &'a [Arc<Case>]) -> Self {
        Self { cases, rounds: &[Round { time: 1, seed: None }], output: false, shard: Shard::WHOLE, before: 0 }
    }

    /// All plays: the number of each in the selection, its round, and the number of its case.
    pub fn all(self) -> impl Iterator<Item = (usize, Round, usize)> + use<'a> {
        let all = self.rounds.iter().flat_map(move |round| (0..self.cases.len()).map(move |case| (*round, case)));
        all.zip(self.before..).map(|((round, case), item)| (item, round, case))
    }

    /// Those that are played here. Where the number of cases would give a shard the same cases in
    /// each round, rounds begin with different shards.
    pub fn here(self) -> impl Iterator<Item = (usize, Round, usize)> + use<'a> {
        let cases = self.cases.len().max(1);
        let repeats = cases.is_multiple_of(self.shard.count() as usize);
        let turn = move |item: usize| if repeats { (item - self.before) / cases } else { 0 };
        self.all().filter(move |(item, ..)| self.shard.has(item + turn(*item)))
    }
}

/// One case, played.
#[derive(Debug)]
pub struct Played<'a> {
    /// Its number in the selection, from 0.
    pub item: usize,
    /// The round.
    pub round: Round,
    /// The number of the case in the plan, from 0.
    pub number: usize,
    /// The case.
    pub case: &'a Arc<Case>,
    /// What was seen.
    pub recording: Recording,
    /// How long it took.
    pub took: Duration,
    /// What the subject printed since it was started, where the plan wants it and the subject
    /// prints.
    pub output: Option<String>,
}

impl Setup {
    /// Play each case of the plan, as many side by side as the player has lanes, and take each
    /// recording as it is complete, until `take` breaks off.
    ///
    /// # Errors
    /// What keeps a case from being played, and whatever `take` says.
    pub async fn play_each<E: From<RunError>>(
        &self,
        player: &Player,
        plan: Plan<'_>,
        mut take: impl AsyncFnMut(Played<'_>) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        let plays = stream::iter(plan.here()).map(async |(item, round, number)| {
            let case = &plan.cases[number];
            let turn = player.turn(case).await;
            let mut began = clock::instant();
            self.events.emit(&Event::CaseStarted { case })?;
            let (mut recording, mut output) = turn.play_with_output(case, round.seed, plan.output).await?;
            if let Some(alone) = turn.alone().await {
                began = clock::instant();
                (recording, output) = alone.play_with_output(case, round.seed, plan.output).await?;
            }
            let took = began.elapsed();
            self.events.emit(&Event::CasePlayed { case })?;
            Ok::<_, RunError>(Played { item, round, number, case, recording, took, output })
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
