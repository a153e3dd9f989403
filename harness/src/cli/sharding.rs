//! `--shard K/N` and `--results FOLDER`: which part of a selection is played here, and where its
//! results go.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::again::Typed;
use super::out::note;
use super::reporter::ShardResults;
use super::{CliError, places};
use crate::campaign::{Header, Item, Shard, digest_of};
use crate::case::Case;
use crate::controllers::Controllers;
use crate::outcome::Outcome;
use crate::run::{Plan, Round, Setup};
use crate::subject::Spec;

/// The variable in which Kubernetes says which pod of an Indexed Job this is, from 0.
const INDEX: &str = "JOB_COMPLETION_INDEX";

/// Cases that are played on one kind of test environment, and what it is.
pub(super) type CasesOfEnvironment = (Setup, Controllers, Vec<Arc<Case>>);

/// A part of a campaign.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Campaign")]
pub(super) struct Sharding {
    /// Play only this part of the selection, such as 2/8: the second of eight.
    ///
    /// `job/8`: the part of this pod of a Kubernetes Indexed Job, by JOB_COMPLETION_INDEX.
    #[arg(long, value_name = "K/N", value_parser = shard)]
    shard: Option<Shard>,
    /// Write the results into this folder, for `lockstep merge`.
    ///
    /// One file, written when everything was played.
    #[arg(long, value_name = "FOLDER")]
    results: Option<PathBuf>,
}

/// What says which shard is played and how its results are shown, and does not decide what comes of
/// a play.
const NOT_OF_A_RUN: [&str; 13] = [
    "shard",
    "results",
    "jobs",
    "rerun_failed",
    "output",
    "timelines",
    "recordings",
    "html",
    "junit",
    "evidence",
    "legend",
    "out",
    "filter",
];

impl Sharding {
    /// The part that is played here.
    pub(super) fn shard(&self) -> Shard {
        self.shard.unwrap_or(Shard::WHOLE)
    }

    /// The outcome of these, of so many that were to be played here: a shard that has none has
    /// nothing to prove.
    pub(super) fn outcome(&self, outcomes: Vec<Outcome>, here: usize) -> Outcome {
        let is_empty = here == 0 && self.shard.is_some();
        if is_empty { Outcome::Conformant } else { Outcome::of(outcomes) }
    }

    /// What cannot be written, before anything runs.
    pub(super) fn check(&self) -> Result<(), CliError> {
        places::folder("--results", self.results.as_deref())
    }

    /// What is played on each set of controllers.
    pub(super) fn parts<'a>(
        &self,
        environments: &'a [CasesOfEnvironment],
        rounds: &'a [Round],
        output: bool,
    ) -> Vec<Plan<'a>> {
        let (shard, mut before) = (self.shard(), 0);
        let plan = |(_, _, cases): &'a CasesOfEnvironment| {
            let plan = Plan { cases, rounds, output, shard, before };
            before += cases.len() * rounds.len();
            plan
        };
        environments.iter().map(plan).collect()
    }

    /// Who writes the results of these items, of which some are played here; and a word where none
    /// is.
    pub(super) fn results(
        &self,
        typed: &Typed,
        all: Vec<Item>,
        is_here: impl Fn(&Item) -> bool,
    ) -> Option<ShardResults> {
        if !all.iter().any(&is_here) {
            note!("shard {} has none of {} plays", self.shard(), all.len());
        }
        let header = Header {
            shard: self.shard(),
            lockstep: env!("CARGO_PKG_VERSION").to_owned(),
            command: typed.name().to_owned(),
            command_line: typed.line(&["shard", "results"]),
            arguments: typed.flags(&NOT_OF_A_RUN),
            selected: 0,
            selection: String::new(),
            items: Vec::new(),
        };
        Some(ShardResults::new(self.results.clone()?, header.with_items(all, is_here)))
    }

    /// Who writes the results of a search, of which each shard is an item.
    pub(super) fn results_of_search(&self, typed: &Typed) -> Option<ShardResults> {
        let (number, count) = (self.shard().index() as usize - 1, self.shard().count());
        let items = (1..=count).zip(0..).map(|(index, item)| Item::new(item, format!("search {index} of {count}"), ""));
        self.results(typed, items.collect(), |item| item.number == number)
    }
}

/// All that was selected, in the order of a run without shards, and the numbers of what is played
/// here.
pub(super) fn items(parts: &[Plan<'_>], specs: &[Spec]) -> (Vec<Item>, BTreeSet<usize>) {
    let (mut items, mut here) = (Vec::new(), BTreeSet::new());
    for plan in parts {
        let digests: Vec<String> = plan.cases.iter().map(|case| digest_of(case)).collect();
        for (number, spec) in specs.iter().enumerate() {
            let first = first_item(plan, specs, number);
            here.extend(plan.here().map(|(play, ..)| first + play - plan.before));
            items.extend(plan.all().map(|(play, Round { time, seed }, case)| {
                let seed = seed.map_or_else(String::new, |seed| format!(", seed {seed}"));
                let time = if time == 1 { String::new() } else { format!(", time {time}") };
                let name = format!("{} on {spec}{seed}{time}", plan.cases[case].name);
                Item::new(first + play - plan.before, name, &digests[case])
            }));
        }
    }
    (items, here)
}

/// The number of a subject's first item of a plan: each plan is played by all subjects, one after
/// the other.
pub(super) fn first_item(plan: &Plan<'_>, specs: &[Spec], subject: usize) -> usize {
    plan.before * specs.len() + subject * plan.cases.len() * plan.rounds.len()
}

/// A shard, or that of the pod of an Indexed Job.
fn shard(text: &str) -> Result<Shard, String> {
    let Some(count) = text.strip_prefix("job/") else { return text.parse() };
    let index = std::env::var(INDEX);
    let index = index.ok().and_then(|index| index.parse::<u32>().ok()?.checked_add(1));
    let index = index.ok_or_else(|| format!("{INDEX} is not set to a number; is this a pod of an Indexed Job?"))?;
    format!("{index}/{count}").parse()
}
