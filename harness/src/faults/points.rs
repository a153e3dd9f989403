//! The points at which something can go wrong in a case.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use crate::case::Case;
use crate::case::model::{Life, Step};
use crate::controllers::Controller;
use crate::recording::{Entry, Recording, Request};

/// How long a watch that lags is behind, as a case writes it: longer than any reaction, shorter
/// than any budget.
const LAG: &str = "300ms";
/// What a controller writes that is counted. How often a status is written is not the same from run
/// to run on a real cluster, so some of those points never come.
pub const fn written_by(controller: Controller) -> &'static [&'static str] {
    match controller {
        Controller::Deployment => &["replicasets", "deployments", "deployments/status"],
        Controller::ReplicaSet => &["pods", "replicasets/status"],
        Controller::ConfigRestart => &["deployments", "statefulsets", "daemonsets"],
    }
}

/// The kinds that a controller watches.
pub const fn watched_by(controller: Controller) -> &'static [&'static str] {
    match controller {
        Controller::Deployment => &["deployments", "replicasets", "pods"],
        Controller::ReplicaSet => &["replicasets", "pods"],
        Controller::ConfigRestart => &["deployments", "statefulsets", "daemonsets", "configmaps", "secrets"],
    }
}

/// A way for things to go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The subject is killed before the server has seen the write.
    CrashBefore,
    /// The subject is killed after the server has acted and before it knows.
    CrashAfter,
    /// The write is refused with this HTTP status.
    Refuse(u16),
    /// The server acts, and its answer is lost.
    Lost,
    /// A kind's watch lags.
    Lag,
}

impl Kind {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 9] = [
        Self::CrashBefore,
        Self::CrashAfter,
        Self::Refuse(409),
        Self::Refuse(422),
        Self::Refuse(429),
        Self::Refuse(500),
        Self::Refuse(503),
        Self::Lost,
        Self::Lag,
    ];

    /// The kinds that a word means: `crash`, `crash-before`, `refuse`, `refuse-409`, `lost`, `lag`.
    pub fn meant(word: &str) -> Vec<Self> {
        let named = |kind: &Self| {
            let name = kind.to_string();
            name == word || name.split_once('-').is_some_and(|(family, _)| family == word)
        };
        Self::ALL.into_iter().filter(named).collect()
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CrashBefore => f.pad("crash-before"),
            Self::CrashAfter => f.pad("crash-after"),
            Self::Refuse(code) => f.pad(&format!("refuse-{code}")),
            Self::Lost => f.pad("lost"),
            Self::Lag => f.pad("lag"),
        }
    }
}

impl FromStr for Kind {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|kind| kind.to_string() == text).ok_or(())
    }
}

/// One point.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    /// What goes wrong.
    pub kind: Kind,
    /// Where.
    pub place: Where,
}

/// Where a point lies.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Where {
    /// At the nth write of a resource after the step that stands on this line.
    Write {
        /// The step's line in the case file.
        line: usize,
        /// `replicasets`, `deployments/status`, …
        resource: String,
        /// From 1.
        nth: u32,
    },
    /// In a kind's watch, through all of the case.
    Watch(String),
}

impl Point {
    /// What a case says about it.
    pub(super) fn fault(&self) -> String {
        match &self.place {
            Where::Watch(resource) => format!("{{watch: {resource}, action: {{lag: {LAG}}}}}"),
            Where::Write { resource, nth, .. } => {
                let (side, action) = match self.kind {
                    Kind::CrashBefore => ("before", "crash".to_owned()),
                    Kind::CrashAfter => ("after", "crash".to_owned()),
                    Kind::Refuse(code) => ("before", format!("{{refuse: {code}}}")),
                    Kind::Lost | Kind::Lag => ("after", "drop".to_owned()),
                };
                format!("{{write: {nth}, of: {resource}, side: {side}, action: {action}}}")
            }
        }
    }

    /// A file name that says it all: `crash-after-write-3-of-replicasets-line-6`.
    pub fn file_name(&self) -> String {
        match &self.place {
            Where::Watch(resource) => format!("{}-of-{resource}", self.kind),
            Where::Write { line, resource, nth } => {
                format!("{}-write-{nth}-of-{}-line-{line}", self.kind, resource.replace('/', "-"))
            }
        }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Where::Watch(resource) => write!(f, "{} of {resource}", self.kind),
            Where::Write { line, resource, nth } => {
                write!(f, "{} at write {nth} of {resource}, line {line}", self.kind)
            }
        }
    }
}

/// How many writes each step led to, by line and resource; Events aside.
pub fn writes(recording: &Recording) -> BTreeMap<(usize, String), u32> {
    let counted: BTreeSet<&str> = recording.header.under_test.iter().flat_map(written_by).copied().collect();
    let mut writes: BTreeMap<(usize, String), u32> = BTreeMap::new();
    let mut line = None;
    for entry in &recording.entries {
        match entry {
            Entry::Step(mark) => line = Some(mark.line),
            Entry::Request(request) => {
                if let (Some(line), Some(resource)) = (line, written(request, &counted)) {
                    *writes.entry((line, resource)).or_default() += 1;
                }
            }
            _ => {}
        }
    }
    writes
}

/// What a request wrote, if it succeeded and is counted.
fn written(request: &Request, counted: &BTreeSet<&str>) -> Option<String> {
    let Request { verb, resource, subresource, status, .. } = request;
    let write = matches!(verb.as_str(), "create" | "update" | "patch" | "delete");
    let name = if subresource.is_empty() { resource.clone() } else { format!("{resource}/{subresource}") };
    (write && (200..300).contains(status) && counted.contains(name.as_str())).then_some(name)
}

/// Every point of a case that went through once.
pub fn points(case: &Case, recording: &Recording) -> Vec<Point> {
    let free: Vec<usize> = steps_with_a_middle(case).map(|step| step.line).collect();
    let writes = writes(recording).into_iter().filter(|((line, _), _)| free.contains(line));
    let places = writes.flat_map(|((line, resource), count)| {
        (1..=count).map(move |nth| Where::Write { line, resource: resource.clone(), nth })
    });
    let at_writes = places.flat_map(|place| {
        let kinds = Kind::ALL.into_iter().filter(|kind| *kind != Kind::Lag);
        kinds.map(move |kind| Point { kind, place: place.clone() })
    });
    let watched: BTreeSet<&str> = recording.header.under_test.iter().flat_map(watched_by).copied().collect();
    let watches =
        watched.into_iter().map(|resource| Point { kind: Kind::Lag, place: Where::Watch(resource.to_owned()) });
    at_writes.chain(watches).collect()
}

/// The steps that say nothing about their middle yet, while there is a subject to meet.
pub fn steps_with_a_middle(case: &Case) -> impl Iterator<Item = &Step> {
    let mut off = false;
    case.given.iter().chain(&case.steps).filter(move |step| {
        if let Some(life) = step.operation.life() {
            off = life == Life::Stop;
            return false;
        }
        !off && step.during.is_none() && step.fault.is_none()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::parse;
    use crate::timeline::fixture::Film;

    const CASE: &str = "description: x\ngiven:\n  - deployment: {name: web, image: x}\nsteps:\n  - scale: 3\n  - subject: stop\n  - scale: 4\n  - subject: start\n";

    #[test]
    fn every_write_that_succeeded_is_a_point_for_each_way_to_fail() {
        let case = parse("a/b.yaml", "a/b", CASE).unwrap();
        let film = Film::new().at_line(5).request("update", "replicasets", 200).request("update", "replicasets", 409);
        let film = film.request("create", "events", 201).at_line(7).request("update", "replicasets", 200);
        let recording = film.end();
        assert_eq!(writes(&recording)[&(5, "replicasets".to_owned())], 1);
        let all = points(&case, &recording);
        let at_writes = all.iter().filter(|point| matches!(point.place, Where::Write { .. }));
        assert_eq!(at_writes.count(), 8, "none while no subject runs");
        assert_eq!(all.len(), 11);
        assert_eq!(all[1].to_string(), "crash-after at write 1 of replicasets, line 5");
        assert_eq!(all[1].file_name(), "crash-after-write-1-of-replicasets-line-5");
    }

    #[test]
    fn words_mean_kinds() {
        assert_eq!(Kind::meant("crash"), [Kind::CrashBefore, Kind::CrashAfter]);
        assert_eq!(Kind::meant("refuse").len(), 5);
        assert_eq!((Kind::meant("refuse-409"), Kind::meant("lost")), (vec![Kind::Refuse(409)], vec![Kind::Lost]));
        assert!(Kind::meant("explode").is_empty());
        assert!(Kind::ALL.iter().all(|kind| kind.to_string().parse() == Ok(*kind)));
    }
}
