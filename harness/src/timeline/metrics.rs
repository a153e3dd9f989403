//! What a run cost. Reported beside the verdict, never judged.

use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};

use crate::recording::{Entry, Recording};

/// The costs of one recording.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metrics {
    /// The subject's requests about the case's namespace, by verb; watches are counted once.
    pub requests: BTreeMap<String, u64>,
    /// Those that were answered with a conflict (409).
    pub conflicts: u64,
    /// Those that were answered with any other error, or not at all.
    pub errors: u64,
    /// What the server refused, 401 or 403, about the case's namespace or not: what was asked, and how often.
    pub refused: BTreeMap<String, u64>,
    /// From the first entry to the last, in milliseconds.
    pub wall: u64,
    /// The part of it that was spent waiting for the namespace to settle, in milliseconds.
    pub settling: u64,
}

impl Metrics {
    /// Count one recording.
    #[must_use]
    pub fn from_recording(recording: &Recording) -> Self {
        let mut metrics = Self::default();
        for entry in &recording.entries {
            let at = match entry {
                Entry::Request(request) => {
                    if request.is_refused() {
                        *metrics.refused.entry(request.to_string()).or_default() += 1;
                    }
                    if request.elsewhere.is_some() {
                        continue;
                    }
                    *metrics.requests.entry(request.verb.clone()).or_default() += 1;
                    match request.status {
                        409 => metrics.conflicts += 1,
                        0 | 400.. => metrics.errors += 1,
                        _ => {}
                    }
                    request.at
                }
                Entry::Settled(settling) => {
                    metrics.settling += settling.took;
                    settling.at
                }
                Entry::Edge(mark) => mark.at,
                Entry::Object(version) => version.at,
                Entry::Met(meeting) => meeting.at,
                Entry::Header(_) | Entry::Named(_) | Entry::Trouble(_) | Entry::Impossible(_) | Entry::End(_) => 0,
            };
            metrics.wall = metrics.wall.max(at);
        }
        metrics.wall = metrics.wall.max(recording.end.as_ref().map_or(0, |end| end.at));
        metrics
    }

    /// All requests.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.requests.values().sum()
    }

    /// Requests that write.
    #[must_use]
    pub fn writes(&self) -> u64 {
        let write = |verb: &str| matches!(verb, "create" | "update" | "patch" | "delete" | "deletecollection");
        self.requests.iter().filter(|(verb, _)| write(verb)).map(|(_, count)| count).sum()
    }
}

impl Display for Metrics {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:03} s", self.wall / 1000, self.wall % 1000)?;
        if self.total() > 0 {
            let verbs: Vec<String> = self.requests.iter().map(|(verb, count)| format!("{count} {verb}")).collect();
            write!(f, "; {} requests ({})", self.total(), verbs.join(", "))?;
            write!(f, ", {} conflicts", self.conflicts)?;
        }
        if self.errors > 0 {
            write!(f, ", {} errors", self.errors)?;
        }
        Ok(())
    }
}
