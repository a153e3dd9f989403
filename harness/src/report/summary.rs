//! The last lines of a run: how many cases came to what, and which were not conformant.

use std::time::Duration;

use super::failure::headline;
use super::paint::Paint;
use crate::outcome::Outcome;
use crate::verdict::Judgement;

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

/// What was not conformant, by case and subject, a line each; what was found in several plays alike stands there once. Nothing where all was
/// conformant.
#[must_use]
pub fn not_conformant<'a>(judgements: impl IntoIterator<Item = &'a Judgement>, colour: bool) -> String {
    let paint = Paint::new(colour);
    let mut lines: Vec<(String, usize)> = Vec::new();
    for judgement in judgements.into_iter().filter(|it| it.outcome() != Outcome::Conformant) {
        let said = headline(judgement);
        let why = said.split_once(": ").map_or_else(String::new, |(_, why)| format!(": {}", first_line(why)));
        let word = paint.outcome(judgement.outcome(), &format!("{:14}", judgement.outcome().name()));
        let line = format!("  {word}  {} on {}{why}", judgement.case, judgement.subject.name);
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

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
