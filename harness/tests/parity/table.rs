//! How often each cell of verb, kind and outcome was reached.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::bodies::KINDS;
use super::step::{Answer, Step};

/// Counts.
#[derive(Debug, Default)]
pub(crate) struct Table {
    cells: BTreeMap<(String, String, String), u64>,
}

/// What each verb can come to, for every kind that has it.
const REACHABLE: [(&str, &[&str]); 16] = [
    ("get", &["ok", "NotFound"]),
    ("list", &["ok", "BadRequest"]),
    ("watch", &["ok"]),
    ("create", &["ok", "Invalid", "BadRequest", "AlreadyExists"]),
    ("replace", &["ok", "Invalid", "BadRequest", "Conflict", "NotFound"]),
    ("json-patch", &["ok", "Invalid", "NotFound"]),
    ("merge-patch", &["ok", "Invalid", "NotFound"]),
    ("strategic-patch", &["ok", "Invalid", "NotFound"]),
    ("delete", &["ok", "NotFound", "Conflict", "Invalid", "BadRequest"]),
    ("deletecollection", &["ok", "BadRequest", "Invalid"]),
    ("replace-status", &["ok", "BadRequest", "NotFound"]),
    ("patch-status", &["ok", "NotFound"]),
    ("get-scale", &["ok", "NotFound"]),
    ("replace-scale", &["ok", "Invalid", "BadRequest", "NotFound"]),
    ("patch-scale", &["ok", "Invalid", "NotFound"]),
    ("bind", &["ok", "Conflict", "NotFound"]),
];

impl Table {
    pub(crate) fn count(&mut self, step: &Step, real: &Answer, sim: &Answer) {
        // What this server does not know is no agreement, whatever the other says.
        let outcome = if sim.outcome() == "beyond" { sim.outcome() } else { real.outcome() };
        *self.cells.entry((step.verb.clone(), step.kind.clone(), outcome)).or_default() += 1;
    }

    /// The cells that can be reached and were not.
    pub(crate) fn empty(&self) -> Vec<String> {
        let mut empty = Vec::new();
        for kind in KINDS {
            for (verb, outcomes) in REACHABLE {
                let has = match verb {
                    "bind" => kind.kind == "Pod",
                    // Namespaces go one by one.
                    "deletecollection" => kind.kind != "Namespace",
                    verb if verb.ends_with("-scale") => kind.scale,
                    verb if verb.ends_with("-status") => kind.status,
                    _ => true,
                };
                for outcome in outcomes.iter().filter(|_| has) {
                    // A PUT makes these.
                    let made = verb == "replace" && *outcome == "NotFound" && matches!(kind.kind, "Event" | "Lease");
                    let cell = (verb.to_owned(), kind.kind.to_owned(), (*outcome).to_owned());
                    // What admission put into its spec is in no body of ours.
                    let whole = verb == "replace" && *outcome == "ok" && kind.kind == "Pod";
                    if !made && !whole && !self.cells.contains_key(&cell) {
                        empty.push(format!("{verb} {} {outcome}", kind.kind));
                    }
                }
            }
        }
        empty
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcomes: BTreeSet<&str> = self.cells.keys().map(|(_, _, outcome)| outcome.as_str()).collect();
        let rows: BTreeSet<(&str, &str)> =
            self.cells.keys().map(|(verb, kind, _)| (verb.as_str(), kind.as_str())).collect();
        write!(f, "{:17}{:16}", "verb", "kind")?;
        for outcome in &outcomes {
            write!(f, "{outcome:>width$}", width = outcome.len() + 2)?;
        }
        for (verb, kind) in rows {
            write!(f, "\n{verb:17}{kind:16}")?;
            for outcome in &outcomes {
                let key = (verb.to_owned(), kind.to_owned(), (*outcome).to_owned());
                let count = self.cells.get(&key).map_or_else(|| "·".to_owned(), u64::to_string);
                write!(f, "{count:>width$}", width = outcome.len() + 2)?;
            }
        }
        Ok(())
    }
}
