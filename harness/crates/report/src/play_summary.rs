//! The summary of a play, for the last lines of a run. It is made from a judgement or read from the
//! JSON object of one.

use std::collections::BTreeSet;

use lockstep_recording::Identity;
use lockstep_support::fingerprint::fingerprint;
use lockstep_support::outcome::RunOutcome;
use lockstep_timeline::GoldenOutcomes;
use lockstep_verdict::Judgement;
use serde::{Deserialize, Deserializer};

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
    /// The subject.
    pub subject: NamedVersion,
    /// The cluster.
    pub cluster: NamedVersion,
    /// The outcome.
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
        }
    }
}

/// Deserializes an outcome from its exit code.
pub(super) fn deserialize_outcome<'de, D: Deserializer<'de>>(from: D) -> Result<RunOutcome, D::Error> {
    let code = u8::deserialize(from)?;
    RunOutcome::from_code(code).ok_or_else(|| serde::de::Error::custom(format!("no play has the exit code {code}")))
}
