//! A table of cases by subjects, with the first difference of those that failed.

use std::collections::BTreeMap;

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
            wrong.extend(judgement.decisive().map(|finding| format!("    {whose}{}", brief(finding))));
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
