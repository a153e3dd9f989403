//! The last lines of a run: how many cases came to what, and which were not conformant.

use std::time::Duration;

use super::paint::Paint;
use super::parts::first_line;
use super::played::PlaySummary;
use crate::outcome::Outcome;

/// How many words that differ stand in a line.
const NAMED: usize = 2;

/// `12 cases in 3.2 s: 10 conformant, 1 non-conformant, 1 inconclusive`.
#[must_use]
pub fn summary(outcomes: &[Outcome], took: Duration, colour: bool) -> String {
    let paint = Paint::new(colour);
    if outcomes.is_empty() {
        return paint.outcome(Outcome::NothingSelected, "no case selected");
    }
    let kinds = [
        Outcome::Conformant,
        Outcome::NonConformant,
        Outcome::Inconclusive,
        Outcome::Unblessed,
        Outcome::BadInput,
        Outcome::Internal,
    ];
    let count = |kind: Outcome| outcomes.iter().filter(|outcome| **outcome == kind).count();
    let parts = kinds.into_iter().filter(|kind| count(*kind) > 0);
    let parts: Vec<String> =
        parts.map(|kind| paint.outcome(kind, &format!("{} {}", count(kind), kind.name()))).collect();
    let s = if outcomes.len() == 1 { "" } else { "s" };
    format!("{} case{s} in {:.1} s: {}", outcomes.len(), took.as_secs_f64(), parts.join(", "))
}

/// What was not conformant, a line each, by case and, where there are several, by subject; what was
/// found in several plays alike stands there once. Nothing where all was conformant.
#[must_use]
pub fn not_conformant(plays: impl IntoIterator<Item = impl Into<PlaySummary>>, colour: bool) -> String {
    let paint = Paint::new(colour);
    let mut lines: Vec<(String, usize)> = Vec::new();
    let all: Vec<PlaySummary> = plays.into_iter().map(Into::into).collect();
    let several = all.windows(2).any(|pair| pair[0].subject.name != pair[1].subject.name);
    for play in all.iter().filter(|it| it.outcome != Outcome::Conformant) {
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

/// The first words that differ, and how many more do.
fn shortened(text: &str) -> String {
    let words: Vec<&str> = text.split(", ").collect();
    match words.len().checked_sub(NAMED) {
        Some(more) if more > 1 => format!("{}, and {more} more", words[..NAMED].join(", ")),
        _ => text.to_owned(),
    }
}
