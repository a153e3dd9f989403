//! What the last lines of a run need to know of a play. A judgement has it, and so has the JSON
//! object of a judgement: the last lines of a run can be written from either.

use std::collections::BTreeSet;

use serde::{Deserialize, Deserializer};

use super::failure::headline;
use super::parts::parts;
use crate::fingerprint::fingerprint;
use crate::outcome::Outcome;
use crate::recording::Identity;
use crate::timeline::Golden;
use crate::verdict::Judgement;

/// A judged play, in short.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlaySummary {
    /// Its number in the selection, from 0.
    #[serde(default)]
    pub item: usize,
    /// `area/name`.
    pub case: String,
    /// Who was judged.
    pub subject: Named,
    /// Where.
    pub cluster: Named,
    /// What came of it.
    #[serde(rename = "exitCode", deserialize_with = "of_code")]
    pub outcome: Outcome,
    /// The outcome and what decided it, in a line.
    pub headline: String,
    /// The parts of the first finding, without what differs from case to case.
    pub causes: BTreeSet<String>,
    /// A fingerprint of what the subject did.
    pub timeline: String,
    /// The seed, where each round has its own.
    #[serde(default)]
    pub seed: Option<u64>,
    /// Which of several outcomes of upstream's it is.
    pub nearest: Option<Number>,
    /// How often upstream had each of several outcomes: `15 of 20`.
    #[serde(default)]
    pub upstream: Vec<String>,
}

/// A subject or a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Named {
    /// What it was called on the command line.
    pub name: String,
    /// The program and its version.
    pub version: String,
}

/// The number of one of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Number {
    /// From 1.
    pub number: usize,
}

impl PlaySummary {
    /// Of a play of a case of which this is golden.
    #[must_use]
    pub fn new(judgement: &Judgement, golden: Option<&Golden>, seed: Option<u64>) -> Self {
        let outcomes = golden.filter(|_| judgement.nearest.is_some()).into_iter().flat_map(Golden::outcomes);
        let seen = outcomes.map(|outcome| {
            let seen =
                outcome.provenance.as_ref().and_then(|from| Some(format!("{} of {}", from.seen?, from.recordings)));
            seen.unwrap_or_else(|| "?".to_owned())
        });
        Self { seed, upstream: seen.collect(), ..Self::from(judgement) }
    }
}

impl From<&Judgement> for PlaySummary {
    fn from(judgement: &Judgement) -> Self {
        let named = |identity: &Identity| Named { name: identity.name.clone(), version: identity.title() };
        Self {
            item: 0,
            case: judgement.case.clone(),
            subject: named(&judgement.subject),
            cluster: named(&judgement.cluster),
            outcome: judgement.outcome(),
            headline: headline(judgement),
            causes: parts(judgement),
            timeline: fingerprint(judgement.timeline.in_short().bytes()),
            seed: None,
            nearest: judgement.nearest.map(|nearest| Number { number: nearest.number }),
            upstream: Vec::new(),
        }
    }
}

/// An outcome by its exit code.
pub(super) fn of_code<'de, D: Deserializer<'de>>(from: D) -> Result<Outcome, D::Error> {
    let code = u8::deserialize(from)?;
    Outcome::of_code(code).ok_or_else(|| serde::de::Error::custom(format!("no play has the exit code {code}")))
}
