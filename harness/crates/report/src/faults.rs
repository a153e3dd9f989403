//! Reports the faults of a case: counts by kind, and each failure.

use std::collections::BTreeMap;
use std::fmt::Write;

use lockstep_recording::Identity;
use lockstep_support::outcome::RunOutcome;
use lockstep_support::pluralize;
use lockstep_support::sanitize;
use lockstep_support::sanitize::quote;
use lockstep_verdict::FaultOutcome;
use lockstep_verdict::faults::{FaultKind, Point};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::paint::Paint;
use super::play_summary::deserialize_outcome;

/// The faults of one case, with their results.
#[derive(Debug, Clone)]
pub struct CaseFaults {
    /// Its number in the selection, from 0.
    pub item: usize,
    /// `area/name`.
    pub case: String,
    /// The subject.
    pub subject: Identity,
    /// The parts of the rerun command before and after the name of the case file.
    pub rerun: [String; 2],
    /// The number of writes without faults.
    pub writes: u32,
    /// The number of points, of which not all may have been tried.
    pub points: usize,
    /// The tried points, each with its result and the file that reproduces it.
    pub tried: Vec<(Point, FaultOutcome, Option<String>)>,
}

/// The results of fault points by count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FaultCounts {
    /// The number of points tried, including those not reached.
    pub tried: u32,
    /// The number of points whose write or event never came.
    pub not_reached: u32,
    /// The number of points that the subject did not withstand.
    pub failed: u32,
    /// The number of inconclusive points.
    #[serde(rename = "inconclusive")]
    pub unknown: u32,
}

/// The summary of the faults of one case, as [`faults_json`] writes it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FaultsSummary {
    /// Its number in the selection, from 0.
    pub item: usize,
    /// `area/name`.
    pub case: String,
    /// The subject.
    pub subject: Identity,
    /// The number of writes without faults.
    pub writes: u32,
    /// The number of points.
    pub points: usize,
    /// The outcome of all points.
    #[serde(rename = "exitCode", deserialize_with = "deserialize_outcome")]
    pub outcome: RunOutcome,
    /// Counts by kind of fault.
    pub kinds: BTreeMap<String, FaultCounts>,
    /// The points that failed or are inconclusive.
    pub failures: Vec<FaultFailure>,
}

/// A point that failed or is inconclusive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultFailure {
    /// The location of the point.
    pub point: String,
    /// The kind of fault.
    pub kind: String,
    /// `failed` or `inconclusive`.
    #[serde(rename = "what")]
    pub result: String,
    /// The reasons.
    pub why: Vec<String>,
    /// The file that reproduces it.
    pub file: Option<String>,
}

impl From<&CaseFaults> for FaultsSummary {
    fn from(of: &CaseFaults) -> Self {
        let failure = |(point, withstood, file): &(Point, FaultOutcome, Option<String>)| {
            let (result, why) = match withstood {
                FaultOutcome::Failed(why) => ("failed", why.clone()),
                FaultOutcome::Unknown(why) => ("inconclusive", vec![why.clone()]),
                _ => return None,
            };
            let (point, kind) = (point.to_string(), point.kind.to_string());
            Some(FaultFailure { point, kind, result: result.to_owned(), why, file: file.clone() })
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

impl CaseFaults {
    #[must_use]
    pub(crate) fn counts(&self) -> BTreeMap<FaultKind, FaultCounts> {
        let mut counts: BTreeMap<FaultKind, FaultCounts> = BTreeMap::new();
        for (point, withstood, _) in &self.tried {
            let counts = counts.entry(point.kind).or_default();
            counts.tried += 1;
            match withstood {
                FaultOutcome::Failed(_) => counts.failed += 1,
                FaultOutcome::NotReached => counts.not_reached += 1,
                FaultOutcome::Unknown(_) => counts.unknown += 1,
                _ => {}
            }
        }
        counts
    }

    /// The outcome for the exit code. A case of which nothing was tried counts for nothing among
    /// others; the command reports a run that has only such cases.
    #[must_use]
    pub fn outcome(&self) -> RunOutcome {
        let tried = self.tried.iter().map(|(_, withstood, _)| withstood.into());
        RunOutcome::most_severe(tried.chain([RunOutcome::Conformant]))
    }
}

impl FaultsSummary {
    /// The number of points that were tried.
    #[must_use]
    pub(crate) fn tried(&self) -> usize {
        self.kinds.values().map(|counts| counts.tried as usize).sum()
    }
}

/// A line for the case, with its failures below.
#[must_use]
pub fn faults(of: &CaseFaults, colour: bool) -> String {
    let paint = Paint::new(colour);
    let (outcome, word) = match of.outcome() {
        _ if of.tried.is_empty() => (RunOutcome::NothingSelected, "not tried"),
        outcome @ RunOutcome::NonConformant => (outcome, "FAILED"),
        outcome @ RunOutcome::Inconclusive => (outcome, "INCONCLUSIVE"),
        outcome => (outcome, "withstood"),
    };
    let mut text = paint.outcome(outcome, &format!("{word:15}"));
    let _ = write!(
        text,
        " {} on {}: {}, {} of {} tried",
        of.case,
        of.subject.name,
        pluralize(usize::try_from(of.writes).unwrap_or(usize::MAX), "write"),
        of.tried.len(),
        pluralize(of.points, "point")
    );
    for (point, withstood, file) in &of.tried {
        let why = match withstood {
            FaultOutcome::Failed(why) => why.join("\n      "),
            FaultOutcome::Unknown(why) => format!("inconclusive: {why}"),
            _ => continue,
        };
        let _ = write!(text, "\n  {point}\n      {}", sanitize::text(&why));
        if let Some(file) = file {
            let [before, after] = &of.rerun;
            let _ = write!(text, "\n      repeat: {before} {}{after}", quote(file));
        }
    }
    text
}

/// A table of counts by kind over many cases.
#[must_use]
pub fn faults_table<'a>(all: impl IntoIterator<Item = &'a FaultsSummary>) -> String {
    let mut sums: BTreeMap<(usize, &str), FaultCounts> = BTreeMap::new();
    for (kind, counts) in all.into_iter().flat_map(|of| &of.kinds) {
        let place = FaultKind::ALL.iter().position(|known| known.to_string() == *kind).unwrap_or(usize::MAX);
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

/// A line for each point that failed or is inconclusive; empty if there are none.
#[must_use]
pub fn list_failed_points<'a>(all: impl IntoIterator<Item = &'a FaultsSummary>) -> String {
    let mut text = String::new();
    for of in all {
        for FaultFailure { point, result, why, .. } in &of.failures {
            let why = why.first().and_then(|why| why.lines().next()).unwrap_or_default();
            let why = sanitize::text(why);
            let _ = write!(text, "\n  {result:13}  {} on {}: {point}: {why}", of.case, of.subject.name);
        }
    }
    if text.is_empty() { text } else { format!("failed:{text}") }
}

/// The faults of a case as one line of JSON.
#[must_use]
pub fn faults_json(of: &CaseFaults) -> String {
    let FaultsSummary { item, case, subject, writes, points, outcome, kinds, failures } = FaultsSummary::from(of);
    let value = json!({"item": item, "case": case, "subject": subject, "writes": writes, "points": points,
        "tried": of.tried.len(), "exitCode": outcome.code(), "kinds": kinds, "failures": failures});
    sanitize::json(&value.to_string()).into_owned()
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use lockstep_verdict::faults::PointLocation;

    use super::*;

    fn of() -> CaseFaults {
        let point = |kind, nth| Point {
            kind,
            location: PointLocation::Write { line: 6, resource: "replicasets".to_owned(), nth },
        };
        let why = vec!["step 1: invariant broken: one-template: rs3 has the template of rs2".to_owned()];
        let file = Some("out/a.yaml".to_owned());
        CaseFaults {
            item: 0,
            case: "rolling/rollover".to_owned(),
            subject: Identity::new("ours", "rollout-controller", "1"),
            rerun: ["cargo lockstep faults".to_owned(), " --subject ours".to_owned()],
            writes: 12,
            points: 99,
            tried: vec![
                (point(FaultKind::CrashAfter, 1), FaultOutcome::Failed(why), file),
                (point(FaultKind::CrashAfter, 2), FaultOutcome::Tolerated, None),
                (point(FaultKind::Lost, 9), FaultOutcome::NotReached, None),
            ],
        }
    }

    #[test]
    fn text_lists_failures_with_rerun_command() {
        assert_snapshot!(faults(&of(), false), @r"
        FAILED          rolling/rollover on ours: 12 writes, 3 of 99 points tried
          crash-after at write 1 of replicasets, line 6
              step 1: invariant broken: one-template: rs3 has the template of rs2
              repeat: cargo lockstep faults out/a.yaml --subject ours
        ");
        assert_snapshot!(list_failed_points(&[FaultsSummary::from(&of())]), @"
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
    fn json_is_read_back_as_summary() {
        let value: serde_json::Value = serde_json::from_str(&faults_json(&of())).unwrap();
        assert_eq!((&value["kinds"]["crash-after"]["failed"], &value["exitCode"]), (&json!(1), &json!(1)));
        assert_eq!(value["failures"][0]["file"], "out/a.yaml");
        let read: FaultsSummary = serde_json::from_value(value).unwrap();
        assert_eq!(read, FaultsSummary::from(&of()));
    }
}
