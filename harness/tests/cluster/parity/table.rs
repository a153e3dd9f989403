//! Counts how often each cell of verb, kind and outcome was reached.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::kinds::{KINDS, RBAC};
use super::step::{Answer, Step};
use super::unsupported::UNSUPPORTED_VERBS;

/// Counts.
#[derive(Debug, Default)]
pub(crate) struct Table {
    cells: BTreeMap<(String, String, String), u64>,
}

/// The possible outcomes of each verb, for every kind that has it.
const REACHABLE: [(&str, &[&str]); 37] = [
    ("get", &["ok", "NotFound"]),
    ("list", &["ok", "BadRequest"]),
    ("list-page", &["ok", "BadRequest"]),
    ("list-at", &["ok", "Invalid"]),
    ("watch", &["ok"]),
    ("watch-initial", &["ok"]),
    ("watch-old", &["ok"]),
    ("watch-odd", &["422", "400"]),
    ("create", &["ok", "Invalid", "BadRequest", "AlreadyExists", "Forbidden"]),
    ("create-strict", &["ok", "BadRequest"]),
    ("generate", &["ok", "Invalid"]),
    ("replace", &["ok", "Invalid", "BadRequest", "Conflict", "NotFound"]),
    ("json-patch", &["ok", "Invalid", "NotFound"]),
    ("merge-patch", &["ok", "Invalid", "NotFound"]),
    ("strategic-patch", &["ok", "Invalid", "NotFound"]),
    ("apply", &["ok", "Conflict"]),
    ("delete", &["ok", "NotFound", "Conflict", "Invalid", "BadRequest"]),
    ("deletecollection", &["ok", "BadRequest", "Invalid"]),
    ("replace-status", &["ok", "BadRequest", "NotFound"]),
    ("json-patch-status", &["ok", "NotFound"]),
    ("merge-patch-status", &["ok", "NotFound"]),
    ("strategic-patch-status", &["ok", "NotFound"]),
    ("get-scale", &["ok", "NotFound"]),
    ("replace-scale", &["ok", "Invalid", "BadRequest", "NotFound"]),
    ("json-patch-scale", &["ok", "Invalid", "NotFound"]),
    ("merge-patch-scale", &["ok", "Invalid", "NotFound"]),
    ("strategic-patch-scale", &["ok", "Invalid", "NotFound"]),
    ("apply-scale", &["ok", "Conflict", "NotFound"]),
    ("bind", &["ok", "Conflict", "NotFound"]),
    ("evict", &["ok", "TooManyRequests", "BadRequest", "Conflict", "NotFound"]),
    ("dry-create", &["ok", "Invalid", "AlreadyExists"]),
    ("dry-replace", &["ok", "NotFound"]),
    ("dry-patch", &["ok", "NotFound"]),
    ("dry-delete", &["ok", "NotFound"]),
    ("dry-deletecollection", &["ok"]),
    ("dry-part", &["ok", "NotFound"]),
    ("refused", &["unsupported"]),
];

impl Table {
    pub(crate) fn count(&mut self, step: &Step, real: &Answer, sim: &Answer) {
        // An unsupported request does not count as agreement.
        let outcome = if sim.outcome() == "unsupported" { sim.outcome() } else { real.outcome() };
        *self.cells.entry((step.verb.clone(), step.kind.clone(), outcome.clone())).or_default() += 1;
        if UNSUPPORTED_VERBS.contains(&step.verb.as_str()) {
            // Unsupported verbs are the same for all kinds, so each verb is one cell; so is each
            // kind.
            *self.cells.entry(("refused".to_owned(), step.kind.clone(), outcome)).or_default() += 1;
        }
    }

    /// Whether this response reaches one of these cells.
    pub(crate) fn is_among(cells: &BTreeSet<String>, step: &Step, sim: &Answer) -> bool {
        let (verb, kind, outcome) = (&step.verb, &step.kind, sim.outcome());
        let unsupported = outcome == "unsupported" && UNSUPPORTED_VERBS.contains(&verb.as_str());
        cells.contains(&format!("{verb} {kind} {outcome}"))
            || (unsupported
                && (cells.contains(&format!("{verb} unsupported"))
                    || cells.contains(&format!("refused {kind} unsupported"))))
    }

    /// The reachable cells that were not reached.
    pub(crate) fn empty(&self) -> BTreeSet<String> {
        let any = |verb: &str| self.cells.keys().any(|(of, _, outcome)| of == verb && outcome == "unsupported");
        let never = UNSUPPORTED_VERBS.iter().filter(|verb| !any(verb)).map(|verb| format!("{verb} unsupported"));
        let mut empty: BTreeSet<String> = never.collect();
        for kind in KINDS {
            for (verb, outcomes) in REACHABLE {
                let has = match verb {
                    "bind" | "evict" => kind.kind == "Pod",
                    // Namespaces cannot be deleted as a collection.
                    "deletecollection" => kind.kind != "Namespace",
                    "dry-deletecollection" => kind.kind != "Namespace",
                    // Kinds with subresources.
                    "dry-part" => kind.status || kind.scale,
                    verb if verb.ends_with("-scale") => kind.scale,
                    verb if verb.ends_with("-status") => kind.status,
                    _ => true,
                };
                // A custom resource has no strategic merge patches.
                let has = has && !(kind.custom() && verb.starts_with("strategic-patch"));
                for outcome in outcomes.iter().filter(|_| has) {
                    // A PUT creates these.
                    let made = matches!(verb, "replace" | "dry-replace")
                        && *outcome == "NotFound"
                        && (kind.version == RBAC || matches!(kind.kind, "Event" | "Lease" | "Service" | "LimitRange"));
                    // So does a PUT of a Service's status, which the simulated server does not
                    // support.
                    let made = made || (verb, kind.kind, *outcome) == ("replace-status", "Service", "NotFound");
                    // Only namespaced objects are refused while their namespace is deleted, and
                    // only those have their own pages.
                    let outside = !kind.namespaced && (*outcome == "Forbidden" || verb == "list-page");
                    let cell = (verb.to_owned(), kind.kind.to_owned(), (*outcome).to_owned());
                    // Our bodies lack the fields that admission set.
                    let replaces = matches!(verb, "replace" | "dry-replace") && *outcome == "ok";
                    // Our bodies lack a Job's generated selector.
                    let whole = replaces && matches!(kind.kind, "Pod" | "Job");
                    // A scale is validated like the object.
                    let whole = whole || kind.custom() && verb == "dry-part";
                    if !made && !whole && !outside && !self.cells.contains_key(&cell) {
                        empty.insert(format!("{verb} {} {outcome}", kind.kind));
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
