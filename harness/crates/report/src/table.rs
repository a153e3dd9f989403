//! Tables with a column for each subject: the cases, with the first difference of those that
//! failed; and totals, which are conformant cases by area and requests by verb. Requests are
//! reported, never judged.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_support::outcome::RunOutcome;
use lockstep_verdict::Judgement;

use super::failure::brief;
use super::paint::Paint;

/// A table of all judgements: a row per case and a column per subject, in order of first
/// appearance, with the first finding below each row.
#[must_use]
pub fn table(judgements: &[Judgement], colour: bool) -> String {
    let paint = Paint::new(colour);
    let cases = distinct(judgements.iter().map(|judgement| judgement.case.as_str()));
    let subjects = distinct(judgements.iter().map(|judgement| judgement.subject.name.as_str()));
    let cells: BTreeMap<(&str, &str), &Judgement> =
        judgements.iter().map(|it| ((it.case.as_str(), it.subject.name.as_str()), it)).collect();

    let first = width(cases.iter().copied().chain(["case"]));
    let widths: Vec<usize> = subjects.iter().map(|subject| width([*subject, "non-conformant"])).collect();
    let mut heads = pad("case", first);
    for (subject, wide) in subjects.iter().zip(&widths) {
        heads += &format!("  {}", pad(subject, *wide));
    }
    let mut out = vec![paint.strong(heads.trim_end())];
    for case in cases {
        let mut line = pad(case, first);
        let mut wrong = Vec::new();
        for (subject, wide) in subjects.iter().zip(&widths) {
            let Some(judgement) = cells.get(&(case, *subject)) else {
                line += &format!("  {}", pad("-", *wide));
                continue;
            };
            line += &format!("  {}", paint.outcome(judgement.outcome(), &pad(judgement.outcome().name(), *wide)));
            let whose = if subjects.len() > 1 { format!("{subject}: ") } else { String::new() };
            wrong.extend(judgement.headline().map(|finding| format!("    {whose}{}", brief(finding))));
        }
        out.push(line.trim_end().to_owned());
        out.extend(wrong.iter().map(|line| paint.faint(line)));
    }
    out.join("\n") + "\n"
}

pub(super) fn distinct<'a>(all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut distinct = Vec::new();
    for text in all {
        if !distinct.contains(&text) {
            distinct.push(text);
        }
    }
    distinct
}

fn width<'a>(all: impl IntoIterator<Item = &'a str>) -> usize {
    all.into_iter().map(|text| text.chars().count()).max().unwrap_or(0)
}

/// Pads a text with blanks to this width.
pub(super) fn pad(text: &str, wide: usize) -> String {
    let missing = wide.saturating_sub(text.chars().count());
    format!("{text}{}", " ".repeat(missing))
}

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
