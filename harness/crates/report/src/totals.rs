//! Totals of many judgements: conformant cases by area, and the requests of the subjects by verb.
//! Requests are reported, never judged.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_support::outcome::RunOutcome;
use lockstep_verdict::Judgement;

use super::paint::Paint;
use super::table::{distinct, pad};

/// Two small tables with a column per subject. Empty for a single case.
#[must_use]
pub fn totals(judgements: &[Judgement], colour: bool) -> String {
    let cases: BTreeSet<_> = judgements.iter().map(|judgement| judgement.case.as_str()).collect();
    if cases.len() < 2 {
        return String::new();
    }
    let paint = Paint::new(colour);
    let subjects = distinct(judgements.iter().map(|judgement| judgement.subject.name.as_str()));

    let mut areas: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for area in judgements.iter().map(|judgement| area(&judgement.case)) {
        areas.entry(area).or_insert_with(|| {
            let cell = |subject| {
                let outcomes: Vec<_> = judgements_of(judgements, subject)
                    .filter(|it| self::area(&it.case) == area)
                    .map(Judgement::outcome)
                    .collect();
                let conformant = outcomes.iter().filter(|outcome| **outcome == RunOutcome::Conformant).count();
                format!("{conformant} of {}", outcomes.len())
            };
            subjects.iter().copied().map(cell).collect()
        });
    }
    let mut verbs: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for verb in judgements.iter().flat_map(|judgement| judgement.metrics.requests.keys()) {
        verbs.entry(verb).or_insert_with(|| {
            let cell = |subject| {
                tally(
                    judgements_of(judgements, subject)
                        .map(|it| it.metrics.requests.get(verb).copied().unwrap_or_default()),
                )
            };
            subjects.iter().copied().map(cell).collect()
        });
    }
    let mut requests: Vec<_> = verbs.into_iter().collect();
    requests.push((
        "conflicts",
        subjects.iter().map(|it| tally(judgements_of(judgements, it).map(|one| one.metrics.conflicts))).collect(),
    ));
    requests.push((
        "other errors",
        subjects.iter().map(|it| tally(judgements_of(judgements, it).map(|one| one.metrics.errors))).collect(),
    ));

    let areas: Vec<_> = areas.into_iter().collect();
    format!(
        "{}\n{}",
        columns("conformant", &subjects, &areas, &paint),
        columns("requests (a case)", &subjects, &requests, &paint)
    )
}

fn judgements_of<'a>(all: &'a [Judgement], subject: &'a str) -> impl Iterator<Item = &'a Judgement> {
    all.iter().filter(move |judgement| judgement.subject.name == subject)
}

/// The folder of a case.
fn area(case: &str) -> &str {
    case.rsplit_once('/').map_or("", |(area, _)| area)
}

/// The sum, and the mean per case: `412 (3.1)`.
fn tally(numbers: impl Iterator<Item = u64>) -> String {
    let (sum, count) = numbers.fold((0_u64, 0_u64), |(sum, count), number| (sum + number, count + 1));
    // Rounded tenths. Numbers of requests are too small for the product to overflow.
    let tenths = (sum * 20 + count) / (count * 2).max(1);
    format!("{sum} ({}.{})", tenths / 10, tenths % 10)
}

fn columns(title: &str, subjects: &[&str], rows: &[(&str, Vec<String>)], paint: &Paint) -> String {
    let length = |text: &str| text.chars().count();
    let first = rows.iter().map(|(name, _)| length(name)).chain([length(title)]).max().unwrap_or_default();
    let wide: Vec<usize> = (0..)
        .zip(subjects)
        .map(|(at, subject)| {
            rows.iter().map(|(_, cells)| length(&cells[at])).chain([length(subject)]).max().unwrap_or_default()
        })
        .collect();
    let line = |name: &str, cells: &mut dyn Iterator<Item = &str>| {
        let cells: Vec<_> = cells.zip(&wide).map(|(cell, wide)| pad(cell, *wide)).collect();
        format!("{}  {}", pad(name, first), cells.join("  ")).trim_end().to_owned()
    };
    let mut out = vec![paint.strong(&line(title, &mut subjects.iter().copied()))];
    out.extend(rows.iter().map(|(name, cells)| line(name, &mut cells.iter().map(String::as_str))));
    out.join("\n") + "\n"
}
