//! The last lines of a run: counts of outcomes, the cases that were not conformant, and the causes
//! that many failures have in common.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use lockstep_support::outcome::{InterruptCause, RunOutcome};
use lockstep_support::pluralize;

use super::failure_signature::first_line;
use super::paint::Paint;
use super::play_summary::PlaySummary;

/// The most differing words in a line.
const MOST_WORDS: usize = 2;

/// Why a run ended before every case was played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlyEnd {
    /// The error of the command.
    pub error: String,
    /// The signal, if one ended the run.
    pub interrupt: Option<InterruptCause>,
    /// The number of cases that were not played, if it is known.
    pub unplayed: Option<usize>,
    /// The exit code of the command.
    pub exit_code: u8,
}

impl EarlyEnd {
    /// `ended early, 3 cases not played`.
    #[must_use]
    pub(crate) fn title(&self) -> String {
        let how = self.interrupt.map_or_else(|| "ended early".to_owned(), |cause| format!("interrupted: {cause}"));
        let unplayed = self.unplayed.map(|cases| format!(", {} not played", pluralize(cases, "case")));
        how + &unplayed.unwrap_or_default()
    }
}

/// `12 cases in 3.2 s: 10 conformant, 1 non-conformant, 1 inconclusive`, and how often the subject
/// ended between two of them.
#[must_use]
pub fn summary(outcomes: &[RunOutcome], ended_between: usize, took: Duration, colour: bool) -> String {
    let paint = Paint::new(colour);
    if outcomes.is_empty() {
        return paint.outcome(RunOutcome::NothingSelected, "no case selected");
    }
    let kinds = [
        RunOutcome::Conformant,
        RunOutcome::NonConformant,
        RunOutcome::Inconclusive,
        RunOutcome::Unblessed,
        RunOutcome::BadInput,
        RunOutcome::Internal,
    ];
    let count = |kind: RunOutcome| outcomes.iter().filter(|outcome| **outcome == kind).count();
    let parts = kinds.into_iter().filter(|kind| count(*kind) > 0);
    let parts: Vec<String> =
        parts.map(|kind| paint.outcome(kind, &format!("{} {}", count(kind), kind.name()))).collect();
    let between = ends_between(ended_between)
        .map_or_else(String::new, |ended| format!("; {}", paint.outcome(RunOutcome::NonConformant, &ended)));
    format!("{} in {:.1} s: {}{between}", pluralize(outcomes.len(), "case"), took.as_secs_f64(), parts.join(", "))
}

/// How often a subject ended by itself between two cases, which no case shows; `None` if it did
/// not.
pub(crate) fn ends_between(times: usize) -> Option<String> {
    RunOutcome::of_ends_between(times).map(|outcome| {
        let often = if times == 1 { "once".to_owned() } else { format!("{times} times") };
        format!("the subject ended between two cases {often}, which is {}", outcome.name())
    })
}

/// A line for each case that was not conformant, with the subject if there are several. Equal lines
/// of several plays are merged. Empty if everything was conformant.
#[must_use]
pub fn list_not_conformant(plays: impl IntoIterator<Item = impl Into<PlaySummary>>, colour: bool) -> String {
    let paint = Paint::new(colour);
    let mut lines: Vec<(String, usize)> = Vec::new();
    let all: Vec<PlaySummary> = plays.into_iter().map(Into::into).collect();
    let several = all.windows(2).any(|pair| pair[0].subject.name != pair[1].subject.name);
    for play in all.iter().filter(|it| it.outcome != RunOutcome::Conformant) {
        let said = &play.headline;
        let why =
            said.split_once(": ").map_or_else(String::new, |(_, why)| format!(": {}", shortened(first_line(why))));
        let who = if several { format!(" on {}", play.subject.name) } else { String::new() };
        let word = paint.outcome(play.outcome, &format!("{:14}", play.outcome.name()));
        let line = format!("  {word}  {}{who}{why}", play.case);
        match lines.iter_mut().find(|(known, _)| *known == line) {
            Some((_, times)) => *times += 1,
            None => lines.push((line, 1)),
        }
    }
    if lines.is_empty() {
        return String::new();
    }
    let times = |times: usize| if times > 1 { format!(" ({times}×)") } else { String::new() };
    let lines: Vec<String> = lines.into_iter().map(|(line, number)| line + &times(number)).collect();
    format!("not conformant:\n{}", lines.join("\n"))
}

/// The first differing words, and the number of the others.
fn shortened(text: &str) -> String {
    let words: Vec<&str> = text.split(", ").collect();
    match words.len().checked_sub(MOST_WORDS) {
        Some(more) if more > 1 => format!("{}, and {more} more", words[..MOST_WORDS].join(", ")),
        _ => text.to_owned(),
    }
}

/// The least number of failed cases for which common causes are listed.
const LEAST_CASES: usize = 5;
/// The most parts that are listed.
const MOST_PARTS: usize = 6;

/// The most frequent parts of the first findings, each in more than one case. Empty if few cases
/// failed.
#[must_use]
pub fn common_causes(plays: impl IntoIterator<Item = impl Into<PlaySummary>>) -> String {
    let plays = plays.into_iter().map(Into::into);
    let failed: Vec<PlaySummary> = plays.filter(|it| it.outcome == RunOutcome::NonConformant).collect();
    let cases: BTreeSet<_> = failed.iter().map(|play| &play.case).collect();
    if cases.len() < LEAST_CASES {
        return String::new();
    }
    let mut counts: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for play in &failed {
        for part in &play.causes {
            counts.entry(part).or_default().insert(&play.case);
        }
    }
    let mut counts: Vec<_> = counts.into_iter().map(|(part, cases)| (cases.len(), part)).collect();
    counts.retain(|(number, _)| *number > 1);
    counts.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    if counts.is_empty() {
        return String::new();
    }
    let lines = counts.iter().take(MOST_PARTS).map(|(number, part)| format!("  {number:>5} cases  {part}"));
    let lines: Vec<String> = lines.collect();
    format!("what they have in common:\n{}", lines.join("\n"))
}
