//! What a search found: how many programs were played, which could not be compared, and the causes
//! of a difference. Those of several shards are one search's: a cause is listed once.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::outcome::Outcome;

/// A search that ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Searched {
    /// The number of the shard, from 0.
    pub item: usize,
    /// The seed that it was given, of which each shard makes one of its own.
    pub seed: u64,
    /// How many programs were played.
    pub programs: usize,
    /// Why programs could not be compared, and how many.
    pub inconclusive: BTreeMap<String, usize>,
    /// By cause.
    pub found: BTreeMap<String, Cause>,
}

/// What is known of a cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cause {
    /// In how many programs it was seen.
    pub programs: usize,
    /// The case that shows it.
    pub file: String,
    /// Whether the controller that is compared with differs from itself there.
    pub is_chance: bool,
}

impl Searched {
    /// What it means for the exit code.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        match (self.found.values().any(|found| !found.is_chance), self.inconclusive.is_empty()) {
            (true, _) => Outcome::NonConformant,
            (false, true) => Outcome::Conformant,
            (false, false) => Outcome::Inconclusive,
        }
    }

    /// Both together. Of two cases for one cause the first stays.
    pub fn add(&mut self, other: &Self) {
        self.programs = self.programs.saturating_add(other.programs);
        for (why, programs) in &other.inconclusive {
            let all = self.inconclusive.entry(why.clone()).or_default();
            *all = all.saturating_add(*programs);
        }
        for (cause, found) in &other.found {
            match self.found.get_mut(cause) {
                // What varies in one shard may not have varied in the few seeds of another.
                Some(known) => {
                    known.programs = known.programs.saturating_add(found.programs);
                    known.is_chance |= found.is_chance;
                }
                None => drop(self.found.insert(cause.clone(), found.clone())),
            }
        }
    }

    /// The last lines of a search.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let programs = |number: usize| if number == 1 { "1 program".to_owned() } else { format!("{number} programs") };
        let mut lines = Vec::new();
        for (why, number) in &self.inconclusive {
            lines.push(format!("inconclusive    {}: {why}", programs(*number)));
        }
        for (cause, found) in &self.found {
            let word = if found.is_chance { "chance        " } else { "non-conformant" };
            lines.push(format!("{word}  {cause}  {}  {}", programs(found.programs), found.file));
        }
        let all = programs(self.programs);
        lines.push(match self.found.values().filter(|found| !found.is_chance).count() {
            0 => format!("no difference in {all}"),
            1 => format!("1 cause of a difference in {all}"),
            causes => format!("{causes} causes of a difference in {all}"),
        });
        lines
    }
}
