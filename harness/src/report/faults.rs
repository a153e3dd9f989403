//! What became of a case's faults: counts by kind, and each failure.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::paint::Paint;
use super::played::of_code;
use crate::faults::{Kind, Point};
use crate::outcome::Outcome;
use crate::plain;
use crate::quote::quoted;
use crate::recording::Identity;
use crate::verdict::Withstood;

/// One case's faults.
#[derive(Debug, Clone)]
pub struct FaultsOfCase {
    /// Its number in the selection, from 0.
    pub item: usize,
    /// `area/name`.
    pub case: String,
    /// Who was tried.
    pub subject: Identity,
    /// What stands before and after a file's name in the command that repeats its fault.
    pub again: [String; 2],
    /// How many writes the case led to without a fault.
    pub writes: u32,
    /// How many points there are; more than were tried, perhaps.
    pub points: usize,
    /// What was tried, what came of it, and the file that repeats it.
    pub tried: Vec<(Point, Withstood, Option<String>)>,
}

/// How often each thing happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FaultCounts {
    /// Points tried, those that were not reached among them.
    pub tried: u32,
    /// Points whose place never came.
    pub not_reached: u32,
    /// Points that the subject did not withstand.
    pub failed: u32,
    /// Points of which nothing is known.
    #[serde(rename = "inconclusive")]
    pub unknown: u32,
}

/// One case's faults, in short: what [`faults_json`] writes, read again.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FaultsSummary {
    /// Its number in the selection, from 0.
    pub item: usize,
    /// `area/name`.
    pub case: String,
    /// Who was tried.
    pub subject: Identity,
    /// How many writes the case led to without a fault.
    pub writes: u32,
    /// How many points there are.
    pub points: usize,
    /// What came of all of them.
    #[serde(rename = "exitCode", deserialize_with = "of_code")]
    pub outcome: Outcome,
    /// Counts by kind of fault.
    pub kinds: BTreeMap<String, FaultCounts>,
    /// The points that were not withstood or of which nothing is known.
    pub failures: Vec<Failure>,
}

/// A point that was not withstood or of which nothing is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Where it is.
    pub point: String,
    /// The kind of fault.
    pub kind: String,
    /// `failed` or `inconclusive`.
    pub what: String,
    /// Why.
    pub why: Vec<String>,
    /// The file that repeats it.
    pub file: Option<String>,
}

impl From<&FaultsOfCase> for FaultsSummary {
    fn from(of: &FaultsOfCase) -> Self {
        let failure = |(point, withstood, file): &(Point, Withstood, Option<String>)| {
            let (what, why) = match withstood {
                Withstood::Yes | Withstood::NotReached => return None,
                Withstood::No(why) => ("failed", why.clone()),
                Withstood::Unknown(why) => ("inconclusive", vec![why.clone()]),
            };
            let (point, kind) = (point.to_string(), point.kind.to_string());
            Some(Failure { point, kind, what: what.to_owned(), why, file: file.clone() })
        };
        Self {
            item: of.item,
            case: of.case.clone(),
            subject: of.subject.clone(),
            writes: of.writes,
            points: of.points,
            outcome: of.outcome(),
            kinds: of.counts().into_iter().map(|(kind, counts)| (kind.to_string(), counts)).collect(),
            failures: of.tried.iter().filter_map(failure).collect(),
        }
    }
}

impl FaultsOfCase {
    /// Counts by kind of fault.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<Kind, FaultCounts> {
        let mut counts: BTreeMap<Kind, FaultCounts> = BTreeMap::new();
        for (point, withstood, _) in &self.tried {
            let counts = counts.entry(point.kind).or_default();
            counts.tried += 1;
            match withstood {
                Withstood::Yes => {}
                Withstood::No(_) => counts.failed += 1,
                Withstood::NotReached => counts.not_reached += 1,
                Withstood::Unknown(_) => counts.unknown += 1,
            }
        }
        counts
    }

    /// The outcome for the exit code.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        Outcome::of(self.tried.iter().map(|(_, withstood, _)| match withstood {
            Withstood::Yes | Withstood::NotReached => Outcome::Conformant,
            Withstood::No(_) => Outcome::NonConformant,
            Withstood::Unknown(_) => Outcome::Inconclusive,
        }))
    }
}

/// One line a case, and its failures below.
#[must_use]
pub fn faults(of: &FaultsOfCase, colour: bool) -> String {
    let paint = Paint::new(colour);
    let word = match of.outcome() {
        Outcome::NonConformant => "FAILED",
        Outcome::Inconclusive => "INCONCLUSIVE",
        _ => "withstood",
    };
    let mut text = paint.outcome(of.outcome(), &format!("{word:15}"));
    let _ = write!(
        text,
        " {} on {}: {} writes, {} of {} points tried",
        of.case,
        of.subject.name,
        of.writes,
        of.tried.len(),
        of.points
    );
    for (point, withstood, file) in &of.tried {
        let why = match withstood {
            Withstood::Yes | Withstood::NotReached => continue,
            Withstood::No(why) => why.join("\n      "),
            Withstood::Unknown(why) => format!("inconclusive: {why}"),
        };
        let _ = write!(text, "\n  {point}\n      {}", plain::text(&why));
        if let Some(file) = file {
            let [before, after] = &of.again;
            let _ = write!(text, "\n      repeat: {before} {}{after}", quoted(file));
        }
    }
    text
}

/// Counts by kind over many cases.
#[must_use]
pub fn faults_table<'a>(all: impl IntoIterator<Item = &'a FaultsSummary>) -> String {
    let mut sums: BTreeMap<(usize, &str), FaultCounts> = BTreeMap::new();
    for (kind, counts) in all.into_iter().flat_map(|of| &of.kinds) {
        let place = Kind::ALL.iter().position(|known| known.to_string() == *kind).unwrap_or(usize::MAX);
        let sum = sums.entry((place, kind)).or_default();
        sum.tried = sum.tried.saturating_add(counts.tried);
        sum.not_reached = sum.not_reached.saturating_add(counts.not_reached);
        sum.failed = sum.failed.saturating_add(counts.failed);
        sum.unknown = sum.unknown.saturating_add(counts.unknown);
    }
    let mut text =
        format!("{:14} {:>6} {:>8} {:>12} {:>12}", "fault", "tried", "failed", "not reached", "inconclusive");
    for ((_, kind), FaultCounts { tried, not_reached, failed, unknown }) in sums {
        let _ = write!(text, "\n{kind:14} {tried:>6} {failed:>8} {not_reached:>12} {unknown:>12}");
    }
    text
}

/// The points that were not withstood or of which nothing is known, a line each; empty where there
/// are none.
#[must_use]
pub fn not_withstood<'a>(all: impl IntoIterator<Item = &'a FaultsSummary>) -> String {
    let mut text = String::new();
    for of in all {
        for Failure { point, what, why, .. } in &of.failures {
            let why = why.first().and_then(|why| why.lines().next()).unwrap_or_default();
            let why = plain::text(why);
            let _ = write!(text, "\n  {what:13}  {} on {}: {point}: {why}", of.case, of.subject.name);
        }
    }
    if text.is_empty() { text } else { format!("failed:{text}") }
}

/// One line for machines.
#[must_use]
pub fn faults_json(of: &FaultsOfCase) -> String {
    let FaultsSummary { item, case, subject, writes, points, outcome, kinds, failures } = FaultsSummary::from(of);
    let value = json!({"item": item, "case": case, "subject": subject, "writes": writes, "points": points,
        "tried": of.tried.len(), "exitCode": outcome.code(), "kinds": kinds, "failures": failures});
    plain::json(&value.to_string()).into_owned()
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::faults::Where;

    fn of() -> FaultsOfCase {
        let point =
            |kind, nth| Point { kind, place: Where::Write { line: 6, resource: "replicasets".to_owned(), nth } };
        let why = vec!["step 1: invariant broken: one-template: rs3 has the template of rs2".to_owned()];
        let file = Some("out/a.yaml".to_owned());
        FaultsOfCase {
            item: 0,
            case: "rolling/rollover".to_owned(),
            subject: Identity::new("ours", "rollout-controller", "1"),
            again: ["cargo lockstep faults".to_owned(), " --subject ours".to_owned()],
            writes: 12,
            points: 99,
            tried: vec![
                (point(Kind::CrashAfter, 1), Withstood::No(why), file),
                (point(Kind::CrashAfter, 2), Withstood::Yes, None),
                (point(Kind::Lost, 9), Withstood::NotReached, None),
            ],
        }
    }

    #[test]
    fn for_people() {
        assert_snapshot!(faults(&of(), false), @r"
        FAILED          rolling/rollover on ours: 12 writes, 3 of 99 points tried
          crash-after at write 1 of replicasets, line 6
              step 1: invariant broken: one-template: rs3 has the template of rs2
              repeat: cargo lockstep faults out/a.yaml --subject ours
        ");
        assert_snapshot!(not_withstood(&[FaultsSummary::from(&of())]), @"
        failed:
          failed         rolling/rollover on ours: crash-after at write 1 of replicasets, line 6: step 1: invariant broken: one-template: rs3 has the template of rs2
        ");
        assert_snapshot!(faults_table(&[(&of()).into(), (&of()).into()]), @r"
        fault           tried   failed  not reached inconclusive
        crash-after         4        2            0            0
        lost                2        0            2            0
        ");
    }

    #[test]
    fn for_machines() {
        let value: serde_json::Value = serde_json::from_str(&faults_json(&of())).unwrap();
        assert_eq!((&value["kinds"]["crash-after"]["failed"], &value["exitCode"]), (&json!(1), &json!(1)));
        assert_eq!(value["failures"][0]["file"], "out/a.yaml");
        let read: FaultsSummary = serde_json::from_value(value).unwrap();
        assert_eq!(read, FaultsSummary::from(&of()));
    }
}
