//! Reports handovers: the points of a case at which one subject took over from another, the
//! differences with both timelines, and sums by the two subjects.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use lockstep_recording::{Blame, Trouble};
use lockstep_support::outcome::RunOutcome;
use lockstep_support::sanitize::{self, quote};
use lockstep_timeline::Timeline;
use lockstep_verdict::FaultOutcome;
use serde_json::{Value, json};

use super::paint::Paint;
use super::side_by_side::{TitledTimeline, side_by_side};

/// The handovers of one case, from one subject to another.
#[derive(Debug, Clone)]
pub struct CaseHandovers {
    /// `area/name`.
    pub case: String,
    /// The subject that begins, and the one that takes over.
    pub subjects: [String; 2],
    /// The number of writes of the first.
    pub writes: u32,
    /// The number of points, of which not all may have been tried.
    pub points: usize,
    /// Why none was tried: a subject alone does not get through the case.
    pub left_out: Option<Trouble>,
    /// The tried points.
    pub tried: Vec<TriedHandover>,
    /// What the two are known to decide differently in this case.
    pub known_changes: Vec<String>,
    /// Whether one of the two alone ends in several ways.
    pub by_chance: bool,
}

/// A handover that was tried.
#[derive(Debug, Clone)]
pub struct TriedHandover {
    /// The point, or that the case declares its handovers itself.
    pub place: String,
    /// The result.
    pub outcome: FaultOutcome,
    /// What to show of it, if it changed something.
    pub difference: Option<Box<HandoverDifference>>,
}

/// The smallest case that shows what a handover changed.
#[derive(Debug, Clone)]
pub struct HandoverDifference {
    /// The timeline with the second subject alone, and the one with the handover.
    pub timelines: [Timeline; 2],
    /// The file of the case, if one was written, and the command that repeats it.
    pub file: Option<[String; 2]>,
}

/// Sums of many cases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct HandoverTotals {
    cases: usize,
    left_out: usize,
    /// Those of all cases, of which not all may have been tried.
    points: usize,
    handovers: usize,
    /// The case ended within what the two subjects differ in without a handover.
    within: usize,
    /// It ended as with neither, in a case that the two are known to decide differently.
    known_changes: usize,
    differences: usize,
    not_reached: usize,
    inconclusive: usize,
}

impl CaseHandovers {
    /// The outcome for the exit code. A case that a subject alone does not get through shows
    /// nothing about a handover.
    #[must_use]
    pub fn outcome(&self) -> RunOutcome {
        if self.left_out.as_ref().is_some_and(|trouble| trouble.blame == Blame::Environment) {
            return RunOutcome::Inconclusive;
        }
        let tried = self.tried.iter().map(|tried| RunOutcome::from(&tried.outcome));
        RunOutcome::most_severe(tried.chain([RunOutcome::Conformant]))
    }

    fn totals(&self) -> HandoverTotals {
        let count = |of: fn(&FaultOutcome) -> bool| self.tried.iter().filter(|tried| of(&tried.outcome)).count();
        HandoverTotals {
            cases: 1,
            left_out: usize::from(self.left_out.is_some()),
            points: self.points,
            handovers: self.tried.len(),
            within: count(|outcome| *outcome == FaultOutcome::SubjectsDiffer),
            known_changes: count(|outcome| matches!(outcome, FaultOutcome::KnownChange(_))),
            differences: count(|outcome| matches!(outcome, FaultOutcome::Failed(_))),
            not_reached: count(|outcome| *outcome == FaultOutcome::NotReached),
            inconclusive: count(|outcome| matches!(outcome, FaultOutcome::Unknown(_))),
        }
    }

    /// The points that changed something or are inconclusive, with the reasons.
    fn failures(&self) -> impl Iterator<Item = (&TriedHandover, String)> {
        self.tried.iter().filter_map(|tried| match &tried.outcome {
            FaultOutcome::Failed(why) => Some((tried, why.join("\n      "))),
            FaultOutcome::Unknown(why) => Some((tried, format!("inconclusive: {why}"))),
            FaultOutcome::KnownChange(why) => Some((tried, format!("known: {}", why.join("\n      ")))),
            FaultOutcome::Tolerated | FaultOutcome::SubjectsDiffer | FaultOutcome::NotReached => None,
        })
    }

    /// Whether the two differ in this case, with a handover or without.
    fn differs(&self) -> bool {
        let totals = self.totals();
        totals.left_out + totals.within + totals.known_changes + totals.differences > 0
    }
}

/// A line for the case; below it what the handovers changed, the first with both timelines.
#[must_use]
pub fn handovers(of: &CaseHandovers, width: usize, colour: bool) -> String {
    let paint = Paint::new(colour);
    let outcome = of.outcome();
    let word = match outcome {
        RunOutcome::NonConformant => "FAILED",
        RunOutcome::Inconclusive => "INCONCLUSIVE",
        _ if of.left_out.is_some() => "left out",
        _ => "withstood",
    };
    let [from, to] = &of.subjects;
    let (case, writes, tried) = (&of.case, of.writes, of.tried.len());
    let mut text = paint.outcome(outcome, &format!("{word:15}"));
    let _ = match &of.left_out {
        Some(trouble) => write!(text, " {case} from {from} to {to}: {}", sanitize::text(&trouble.why)),
        None => write!(text, " {case} from {from} to {to}: {writes} writes, {tried} of {} points tried", of.points),
    };
    for (tried, why) in of.failures() {
        let _ = write!(text, "\n  {}\n      {}", tried.place, sanitize::text(&why));
        let Some(difference) = &tried.difference else { continue };
        if let Some([file, repeat]) = &difference.file {
            let _ = write!(text, "\n      repeat: {repeat} {}", quote(file));
        }
        let [alone, played] = &difference.timelines;
        let titles = [format!("{to} alone"), format!("{from}, then {to}")];
        let both = side_by_side(
            TitledTimeline { title: &titles[0], timeline: alone },
            TitledTimeline { title: &titles[1], timeline: played },
            width,
            colour,
        );
        let _ = write!(text, "\n\n{both}\n");
    }
    for behaviour in of.known_changes.iter().filter(|_| of.differs()) {
        let _ = write!(text, "\n  known change: {behaviour}");
    }
    text
}

/// Sums by the two subjects, in the order in which they were played.
fn sums(all: &[CaseHandovers]) -> Vec<(&[String; 2], HandoverTotals)> {
    let mut sums: Vec<(&[String; 2], HandoverTotals)> = Vec::new();
    for of in all {
        let at = sums.iter().position(|(subjects, _)| *subjects == &of.subjects).unwrap_or_else(|| {
            sums.push((&of.subjects, HandoverTotals::default()));
            sums.len() - 1
        });
        let (sum, more) = (&mut sums[at].1, of.totals());
        sum.cases += more.cases;
        sum.left_out += more.left_out;
        sum.points += more.points;
        sum.handovers += more.handovers;
        sum.within += more.within;
        sum.known_changes += more.known_changes;
        sum.differences += more.differences;
        sum.not_reached += more.not_reached;
        sum.inconclusive += more.inconclusive;
    }
    sums
}

/// The reason of cases that differ although no known change concerns them.
const UNEXPLAINED: &str = "not known";
/// The reason of those that only end as either, if a subject differs from itself.
const BY_CHANCE: &str = "left to chance: one of the two alone ends in several ways";

const COLUMNS: [&str; 11] = [
    "from",
    "to",
    "cases",
    "left out",
    "points",
    "handovers",
    "ended as either",
    "known",
    "differences",
    "not reached",
    "inconclusive",
];

/// The columns of a row.
fn columns(([from, to], sum): &(&[String; 2], HandoverTotals)) -> [String; COLUMNS.len()] {
    let HandoverTotals {
        cases,
        left_out,
        points,
        handovers,
        within,
        known_changes,
        differences,
        not_reached,
        inconclusive,
    } = sum;
    let numbers = [cases, left_out, points, handovers, within, known_changes, differences, not_reached, inconclusive];
    let numbers = numbers.map(ToString::to_string);
    let mut numbers = numbers.into_iter();
    std::array::from_fn(|column| match column {
        0 => from.clone(),
        1 => to.clone(),
        _ => numbers.next().unwrap_or_default(),
    })
}

/// A table of sums by the two subjects.
#[must_use]
pub fn handovers_table(all: &[CaseHandovers]) -> String {
    let rows: Vec<[String; COLUMNS.len()]> =
        [COLUMNS.map(ToOwned::to_owned)].into_iter().chain(sums(all).iter().map(columns)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths: [usize; COLUMNS.len()] = std::array::from_fn(width);
    let line = |row: &[String; COLUMNS.len()]| {
        let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, width))| match column {
            0 | 1 => format!("{cell:width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The table for a page; below it the cases that were left out or ended otherwise without a
/// handover, each difference, and what versions are known to decide differently in these cases.
#[must_use]
pub fn handovers_markdown(all: &[CaseHandovers]) -> String {
    let row = |cells: &[String; COLUMNS.len()]| format!("| {} |\n", cells.join(" | "));
    let mut text = row(&COLUMNS.map(ToOwned::to_owned));
    text += &row(&COLUMNS.map(|_| "---".to_owned()));
    sums(all).iter().for_each(|sum| text += &row(&columns(sum)));
    text += &list(
        "Left out, because one of the two alone does not get through the case:",
        all.iter().filter(|of| of.left_out.is_some()),
    );
    text += &list(
        "Ended as with the first alone, or partly so, because the two differ without a handover:",
        all.iter().filter(|of| of.totals().within > 0),
    );
    text += &differences(all);
    text + &reasons(all)
}

/// A list of cases with the pairs of subjects, if there are any.
fn list<'a>(title: &str, of: impl Iterator<Item = &'a CaseHandovers>) -> String {
    let mut cases: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for CaseHandovers { case, subjects: [from, to], .. } in of {
        cases.entry(case).or_default().push(format!("{from} → {to}"));
    }
    if cases.is_empty() {
        return String::new();
    }
    let lines = cases.into_iter().map(|(case, pairs)| format!("* `{case}`: {}\n", pairs.join(", ")));
    format!("\n{title}\n\n{}", lines.collect::<String>())
}

/// A row for each case and pair of subjects with differences, known or not.
fn differences(all: &[CaseHandovers]) -> String {
    let mut rows: BTreeMap<(&str, &[String; 2]), String> = BTreeMap::new();
    for of in all {
        let count = of.failures().count();
        let Some((tried, why)) = of.failures().next() else { continue };
        let why = why.lines().next().unwrap_or_default().replace('|', "\\|").replace('`', "");
        let CaseHandovers { case, subjects, .. } = of;
        let row = format!("| `{case}` | {} | {count} | {}: `{why}` |\n", subjects.join(" | "), tried.place);
        rows.insert((case, subjects), row);
    }
    if rows.is_empty() {
        return String::new();
    }
    let heads =
        "| case | from | to | points | the first of them, and what it changed |\n| --- | --- | --- | --- | --- |\n";
    format!("\n{heads}{}", rows.into_values().collect::<String>())
}

/// The known changes that these differences show, and a row for the cases without one.
fn reasons(all: &[CaseHandovers]) -> String {
    let mut rows: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for of in all.iter().filter(|of| of.differs()) {
        let is_explained = of.by_chance && of.failures().next().is_none();
        let other = if is_explained { BY_CHANCE } else { UNEXPLAINED };
        let other = of.known_changes.is_empty().then_some(other);
        for reason in of.known_changes.iter().map(String::as_str).chain(other) {
            rows.entry(reason).or_default().insert(&of.case);
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let row = |(reason, cases): (&str, BTreeSet<&str>)| {
        let cases: Vec<String> = cases.into_iter().map(|case| format!("`{case}`")).collect();
        format!("| {reason} | {} |\n", cases.join(", "))
    };
    let rows: String = rows.into_iter().map(row).collect();
    format!("\n| why the two differ | cases |\n| --- | --- |\n{rows}")
}

/// The handovers of a case as one line of JSON.
#[must_use]
pub fn handovers_json(of: &CaseHandovers) -> String {
    let failures: Vec<Value> = of
        .tried
        .iter()
        .filter_map(|tried| {
            let (what, why) = match &tried.outcome {
                FaultOutcome::Failed(why) => ("failed", why.clone()),
                FaultOutcome::KnownChange(why) => ("known", why.clone()),
                FaultOutcome::Unknown(why) => ("inconclusive", vec![why.clone()]),
                _ => return None,
            };
            let file = tried.difference.as_ref().and_then(|difference| difference.file.as_ref()).map(|[file, _]| file);
            Some(json!({"point": tried.place, "what": what, "why": why, "file": file}))
        })
        .collect();
    let HandoverTotals { handovers, within, known_changes, differences, not_reached, inconclusive, .. } = of.totals();
    let value = json!({"case": of.case, "from": of.subjects[0], "to": of.subjects[1], "writes": of.writes,
        "points": of.points, "leftOut": of.left_out.as_ref().map(|trouble| &trouble.why), "tried": handovers, "endedAsEither": within,
        "known": known_changes, "knownChanges": of.known_changes, "differences": differences, "notReached": not_reached, "inconclusive": inconclusive,
        "exitCode": of.outcome().code(), "failures": failures});
    sanitize::json(&value.to_string()).into_owned()
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn of(outcomes: Vec<FaultOutcome>) -> CaseHandovers {
        let tried = |(nth, outcome): (u32, FaultOutcome)| {
            let text = "given   x\n        rs1 created 3\nstep 1  scale 5\n        rs1 3 -> 5\n";
            let alone = Timeline::parse(text).unwrap();
            let played = Timeline::parse(&text.replace("rs1 3 -> 5", "rs2 created 5")).unwrap();
            let file = Some(["out/a.yaml".to_owned(), "lockstep handover --from a --to b".to_owned()]);
            let difference = matches!(outcome, FaultOutcome::Failed(_))
                .then(|| Box::new(HandoverDifference { timelines: [alone, played], file }));
            let place = format!("handover-after at write {nth} of replicasets, line 6");
            TriedHandover { place, outcome, difference }
        };
        CaseHandovers {
            case: "rolling/rollover".to_owned(),
            subjects: ["upstream:v1.29.15".to_owned(), "upstream:v1.33.13".to_owned()],
            writes: 12,
            points: 24,
            left_out: None,
            tried: (1..).zip(outcomes).map(tried).collect(),
            known_changes: Vec::new(),
            by_chance: false,
        }
    }

    fn all() -> Vec<CaseHandovers> {
        let why = vec!["besides: rs2 created revision=2".to_owned()];
        let failed = of(vec![FaultOutcome::Tolerated, FaultOutcome::Failed(why), FaultOutcome::SubjectsDiffer]);
        let trouble = Trouble::new(Blame::Subject, "upstream:v1.29.15 alone: it never settles");
        let left_out = CaseHandovers { left_out: Some(trouble), points: 0, ..of(vec![]) };
        let known_changes = CaseHandovers {
            case: "history/undo-keeps-order".to_owned(),
            known_changes: vec!["the ReplicaSet of the lowest revision leaves the history".to_owned()],
            ..of(vec![FaultOutcome::KnownChange(vec!["never: web/rs1 deleted".to_owned()])])
        };
        vec![failed, left_out, known_changes]
    }

    #[test]
    fn case_that_a_subject_alone_ends_in_several_ways_is_explained() {
        let text = |outcome| handovers_markdown(&[CaseHandovers { by_chance: true, ..of(vec![outcome]) }]);
        let explained = "| left to chance: one of the two alone ends in several ways | `rolling/rollover` |";
        assert!(text(FaultOutcome::SubjectsDiffer).contains(explained));
        let different = text(FaultOutcome::Failed(vec!["besides: rs2 created revision=2".to_owned()]));
        assert!(!different.contains(explained) && different.contains("| not known | `rolling/rollover` |"));
    }

    #[test]
    fn difference_is_shown_with_both_timelines() {
        let [failed, left_out, known_changes] = all().try_into().unwrap();
        assert_snapshot!(handovers(&failed, 80, false));
        assert_snapshot!(handovers(&known_changes, 80, false));
        assert_snapshot!(handovers(&left_out, 80, false), @"left out        rolling/rollover from upstream:v1.29.15 to upstream:v1.33.13: upstream:v1.29.15 alone: it never settles");
        assert_eq!((failed.outcome(), left_out.outcome()), (RunOutcome::NonConformant, RunOutcome::Conformant));
        assert_eq!(known_changes.outcome(), RunOutcome::Conformant);
    }

    #[test]
    fn table_sums_by_pair_of_subjects() {
        assert_snapshot!(handovers_table(&all()));
        assert_snapshot!(handovers_markdown(&all()));
        let value: Value = serde_json::from_str(&handovers_json(&all()[0])).unwrap();
        assert_eq!((&value["differences"], &value["exitCode"]), (&json!(1), &json!(1)));
        assert_eq!(value["failures"][0]["file"], "out/a.yaml");
    }
}
