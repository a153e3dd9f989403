//! The summary of a play, for the last lines of a run. It is made from a judgement or read from the
//! JSON object of one. [`PlayTally`] compares several plays of a case: whether they have the same
//! timeline, and which of upstream's outcomes they reached.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_recording::Identity;
use lockstep_support::fingerprint::fingerprint;
use lockstep_support::outcome::{RunOutcome, Verdict};
use lockstep_support::pluralize;
use lockstep_timeline::GoldenOutcomes;
use lockstep_verdict::{Judgement, scored_areas, scored_verdict};
use lockstep_workload::Workload;
use serde::{Deserialize, Deserializer, Serialize};

use super::failure::headline;
use super::failure_signature::failure_signature;

/// The summary of a judged play.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlaySummary {
    /// Its number in the selection, from 0.
    #[serde(default)]
    pub item: usize,
    /// `area/name`.
    pub case: String,
    /// The subject, with the version that it reports.
    pub subject: NamedVersion,
    /// The cluster, with the version of its server.
    pub cluster: NamedVersion,
    /// In files the exit code that it stands for.
    #[serde(rename = "exitCode", deserialize_with = "deserialize_outcome")]
    pub outcome: RunOutcome,
    /// The outcome and its reason in one line.
    pub headline: String,
    /// The signature of the first finding.
    pub causes: BTreeSet<String>,
    /// The fingerprint of the timeline.
    pub timeline: String,
    /// The seed, if each round has its own.
    #[serde(default)]
    pub seed: Option<u64>,
    /// Which of upstream's outcomes the subject reached, if there are several.
    pub nearest: Option<OutcomeNumber>,
    /// How often upstream had each of several outcomes, such as `15 of 20`.
    #[serde(default)]
    pub upstream: Vec<String>,
    /// Where it counts in the score of its workload, if it was played on one.
    #[serde(default)]
    pub score: Option<Box<PlayScore>>,
}

/// Where a play counts in the score of a described kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlayScore {
    /// The description.
    pub workload: Workload,
    /// The verdict of the play.
    pub verdict: Verdict,
    /// The areas of the case, whose scores it counts in.
    pub areas: Vec<String>,
}

/// A subject or a cluster, with its version.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct NamedVersion {
    /// The name on the command line.
    pub name: String,
    /// The program and its version.
    pub version: String,
}

/// The number of an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct OutcomeNumber {
    /// The number, from 1.
    pub number: usize,
}

impl PlaySummary {
    /// The summary of a play of a case with these golden timelines.
    #[must_use]
    pub fn new(judgement: &Judgement, golden: Option<&GoldenOutcomes>, seed: Option<u64>) -> Self {
        let outcomes = golden.filter(|_| judgement.nearest.is_some()).into_iter().flat_map(GoldenOutcomes::outcomes);
        let counts = outcomes.map(|outcome| {
            let count = outcome
                .provenance
                .as_ref()
                .and_then(|from| Some(format!("{} of {}", from.times_seen?, from.recordings)));
            count.unwrap_or_else(|| "?".to_owned())
        });
        Self { seed, upstream: counts.collect(), ..Self::from(judgement) }
    }
}

impl From<&Judgement> for PlaySummary {
    fn from(judgement: &Judgement) -> Self {
        let with_version =
            |identity: &Identity| NamedVersion { name: identity.name.clone(), version: identity.title() };
        Self {
            item: 0,
            case: judgement.case.clone(),
            subject: with_version(&judgement.subject),
            cluster: with_version(&judgement.cluster),
            outcome: judgement.outcome(),
            headline: headline(judgement),
            causes: failure_signature(judgement),
            timeline: fingerprint(judgement.timeline.to_abridged_text().bytes()),
            seed: None,
            nearest: judgement.nearest.map(|nearest| OutcomeNumber { number: nearest.number }),
            upstream: Vec::new(),
            score: None,
        }
    }
}

impl PlayScore {
    /// Where a play on this workload counts.
    #[must_use]
    pub fn new(judgement: &Judgement, workload: &Workload) -> Self {
        let areas = scored_areas(judgement).into_iter().map(ToOwned::to_owned).collect();
        Self { workload: workload.clone(), verdict: scored_verdict(judgement), areas }
    }
}

/// Deserializes an outcome from its exit code.
pub(super) fn deserialize_outcome<'de, D: Deserializer<'de>>(from: D) -> Result<RunOutcome, D::Error> {
    let code = u8::deserialize(from)?;
    RunOutcome::from_code(code).ok_or_else(|| serde::de::Error::custom(format!("no play has the exit code {code}")))
}

/// Counts of plays by subject and case.
#[derive(Debug, Default)]
pub struct PlayTally {
    outcomes: BTreeMap<(String, String), Vec<OutcomeCount>>,
    timelines: BTreeMap<PlayKey, DistinctTimelines>,
}

/// The key of plays that should have the same timeline: subject, case, and seed if there is one.
type PlayKey = (String, String, Option<u64>);

/// The distinct timelines of plays with one key.
#[derive(Debug, Default)]
struct DistinctTimelines {
    plays: u32,
    /// The fingerprints of the timelines.
    distinct: BTreeSet<String>,
}

/// How often one outcome was reached, by the subject and by upstream.
#[derive(Debug, Clone)]
struct OutcomeCount {
    reached: u32,
    upstream: String,
}

impl PlayTally {
    /// Count a play.
    pub fn take(&mut self, play: &PlaySummary) {
        let key = (play.subject.name.clone(), play.case.clone());
        let timelines = self.timelines.entry((key.0.clone(), key.1.clone(), play.seed)).or_default();
        timelines.plays += 1;
        timelines.distinct.insert(play.timeline.clone());
        let Some(nearest) = play.nearest.filter(|_| !play.upstream.is_empty()) else { return };
        let counts = self.outcomes.entry(key).or_insert_with(|| {
            play.upstream.iter().map(|seen| OutcomeCount { reached: 0, upstream: seen.clone() }).collect()
        });
        let count = nearest.number.checked_sub(1).and_then(|at| counts.get_mut(at));
        if let (RunOutcome::Conformant, Some(count)) = (play.outcome, count) {
            count.reached += 1;
        }
    }

    /// A line for each case and outcome, and for each case whose plays differ.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = self.repeated();
        for ((subject, case), counts) in &self.outcomes {
            let of_case = self.timelines.iter().filter(|((by, name, _), _)| (by, name) == (subject, case));
            let plays: u32 = of_case.map(|(_, timelines)| timelines.plays).sum();
            // One play has one outcome, which is printed with it.
            if plays < 2 {
                continue;
            }
            for (number, OutcomeCount { reached, upstream }) in (1..).zip(counts) {
                lines.push(format!(
                    "{case}, outcome {number}: {subject} in {reached} of {plays}, upstream in {upstream}"
                ));
            }
        }
        lines
    }

    /// The lines for cases that were played several times.
    fn repeated(&self) -> Vec<String> {
        let several = || self.timelines.iter().filter(|(_, timelines)| timelines.plays > 1);
        let cases = several().map(|((_, case, _), _)| case).collect::<BTreeSet<_>>().len();
        let plays: u32 = several().map(|(_, timelines)| timelines.plays).sum();
        if cases == 0 {
            return Vec::new();
        }
        let differ = several().filter(|(_, timelines)| timelines.distinct.len() > 1);
        let mut lines: Vec<String> = differ
            .map(|((subject, case, seed), DistinctTimelines { plays, distinct })| {
                let seed = seed.map_or_else(String::new, |seed| format!(" with seed {seed}"));
                format!("{case}: {} different timelines in {plays} plays of {subject}{seed}", distinct.len())
            })
            .collect();
        let same = match lines.len() {
            0 => "each gave one timeline".to_owned(),
            differ => format!("all but {differ} gave one timeline"),
        };
        lines.push(format!("{} in {plays} plays: {same}", pluralize(cases, "case")));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(timelines: &[(&str, u32, &[&str])]) -> PlayTally {
        let mut tally = PlayTally::default();
        for (case, plays, distinct) in timelines {
            let distinct = distinct.iter().map(|&one| one.to_owned()).collect();
            let key = ("ours".to_owned(), (*case).to_owned(), None);
            tally.timelines.insert(key, DistinctTimelines { plays: *plays, distinct });
        }
        tally
    }

    #[test]
    fn case_with_different_timelines_is_named() {
        let all = tally(&[("a", 3, &["x"]), ("b", 3, &["x", "y"])]);
        let said = ["b: 2 different timelines in 3 plays of ours", "2 cases in 6 plays: all but 1 gave one timeline"];
        assert_eq!(all.lines(), said);
    }

    #[test]
    fn outcomes_are_counted_only_of_several_plays() {
        let counts = |plays| {
            let mut all = tally(&[("a", plays, &["x"])]);
            let seen = |reached, upstream: &str| OutcomeCount { reached, upstream: upstream.to_owned() };
            let counts = vec![seen(plays, "54 of 60"), seen(0, "6 of 60")];
            all.outcomes.insert(("ours".to_owned(), "a".to_owned()), counts);
            all.lines()
        };
        assert_eq!(counts(1), Vec::<String>::new());
        let lines =
            ["a, outcome 1: ours in 5 of 5, upstream in 54 of 60", "a, outcome 2: ours in 0 of 5, upstream in 6 of 60"];
        assert_eq!(counts(5)[1..], lines);
    }

    #[test]
    fn single_play_is_not_compared() {
        assert_eq!(tally(&[("a", 1, &["x"])]).lines(), Vec::<String>::new());
        let twice = tally(&[("a", 2, &["x"])]);
        assert_eq!(twice.lines(), ["1 case in 2 plays: each gave one timeline"]);
    }
}
