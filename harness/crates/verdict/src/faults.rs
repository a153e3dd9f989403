//! Enumerates the faults that can happen between a subject and its server in one case.
//!
//! A run without faults shows how many writes each step leads to. Each write with each way in which
//! it can fail is a point; so is each kind whose watch may lag. A point becomes a case file of its
//! own: the case's text with one more line at the step. That file is run, so it also reproduces a
//! failure.
//!
//! [`points`] lists the points and [`sample`] selects some of them by a seed; [`inject`] writes the
//! file, and [`add_recovery_time`] gives the subject time to recover at the end.
//!
//! Pure. `fault_outcome` decides whether a subject withstood a fault.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use lockstep_case::Case;
use lockstep_case::model::{ProcessAction, Step};
use lockstep_recording::controllers::Controller;
use lockstep_recording::{Recording, RecordingEntry, SubjectRequest};
use lockstep_support::fingerprint::fingerprint;

/// How far a lagging watch is behind, as a case writes it: longer than any reaction, shorter than
/// any budget.
const LAG: &str = "300ms";

/// The writes of a controller that are counted. On a real cluster the number of status writes
/// varies from run to run, so some of those points are never reached.
pub const fn written_by(controller: Controller) -> &'static [&'static str] {
    match controller {
        Controller::Deployment => &["replicasets", "deployments", "deployments/status"],
        Controller::ReplicaSet => &["pods", "replicasets/status"],
        Controller::ConfigRestart => &["deployments", "statefulsets", "daemonsets"],
    }
}

/// The resources that a controller watches.
pub const fn watched_by(controller: Controller) -> &'static [&'static str] {
    match controller {
        Controller::Deployment => &["deployments", "replicasets", "pods"],
        Controller::ReplicaSet => &["replicasets", "pods"],
        Controller::ConfigRestart => &["deployments", "statefulsets", "daemonsets", "configmaps", "secrets"],
    }
}

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// The subject is killed before the server receives the write.
    CrashBefore,
    /// The subject is killed after the server has acted and before it gets the answer.
    CrashAfter,
    /// The write is refused with this HTTP status.
    Refuse(u16),
    /// The server acts, and its answer is lost.
    Lost,
    /// A kind's watch lags.
    Lag,
    /// An action that only cases declare, such as `delay`.
    Declared(&'static str),
    /// Another subject takes over at the write.
    Handover {
        /// Whether the server has acted by then.
        after: bool,
        /// Whether the first subject takes over again at the next step.
        back: bool,
    },
}

impl FaultKind {
    /// All kinds that concern one subject, in the order of reports.
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

    /// The handovers, with the first subject taking over again at the next step or not.
    #[must_use]
    pub const fn handovers(back: bool) -> [Self; 2] {
        [Self::Handover { after: false, back }, Self::Handover { after: true, back }]
    }

    /// The kinds that a word selects: `crash`, `crash-before`, `refuse`, `refuse-409`, `lost`,
    /// `lag`.
    pub fn matching(word: &str) -> Vec<Self> {
        let named = |kind: &Self| {
            let name = kind.to_string();
            name == word || name.split_once('-').is_some_and(|(family, _)| family == word)
        };
        Self::ALL.into_iter().filter(named).collect()
    }

    /// The fault at the nth write of a resource, as a case writes it.
    pub fn at_write(self, nth: u32, resource: &str) -> String {
        let (is_after, action) = match self {
            Self::CrashBefore => (false, "crash"),
            Self::CrashAfter => (true, "crash"),
            Self::Refuse(code) => return at_write(nth, resource, false, &format!("{{refuse: {code}}}")),
            Self::Lost | Self::Lag => (true, "drop"),
            Self::Declared(action) => (true, action),
            Self::Handover { after, back: false } => (after, "handover"),
            Self::Handover { after, back: true } => (after, "{handover: back}"),
        };
        at_write(nth, resource, is_after, action)
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CrashBefore => f.pad("crash-before"),
            Self::CrashAfter => f.pad("crash-after"),
            Self::Refuse(code) => f.pad(&format!("refuse-{code}")),
            Self::Lost => f.pad("lost"),
            Self::Lag => f.pad("lag"),
            Self::Declared(action) => f.pad(action),
            Self::Handover { after, back } => {
                let (side, back) = (if *after { "after" } else { "before" }, if *back { "-and-back" } else { "" });
                f.pad(&format!("handover-{side}{back}"))
            }
        }
    }
}

impl FromStr for FaultKind {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let handovers = [false, true].into_iter().flat_map(Self::handovers);
        Self::ALL.into_iter().chain(handovers).find(|kind| kind.to_string() == text).ok_or(())
    }
}

/// A fault at one place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    /// What fails.
    pub kind: FaultKind,
    /// Where it fails.
    pub location: PointLocation,
}

/// The place of a fault.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum PointLocation {
    /// At the nth write of a resource after the step on this line.
    Write {
        /// The step's line in the case file.
        line: usize,
        /// `replicasets`, `deployments/status`, …
        resource: String,
        /// From 1.
        nth: u32,
    },
    /// In a watch, throughout the case.
    Watch(String),
}

/// A fault at the nth write of a resource, as a case writes it.
pub fn at_write(nth: u32, resource: &str, is_after: bool, action: &str) -> String {
    let side = if is_after { "after" } else { "before" };
    format!("{{write: {nth}, of: {resource}, side: {side}, action: {action}}}")
}

/// A fault in the watch of a resource, as a case writes it: at its nth event, or at all of them.
pub fn in_watch(resource: &str, event: Option<u32>, action: &str) -> String {
    let event = event.map_or_else(String::new, |nth| format!("event: {nth}, "));
    format!("{{watch: {resource}, {event}action: {action}}}")
}

impl Point {
    /// The fault as a case writes it.
    fn fault(&self) -> String {
        match &self.location {
            PointLocation::Watch(resource) => in_watch(resource, None, &format!("{{lag: {LAG}}}")),
            PointLocation::Write { resource, nth, .. } => self.kind.at_write(*nth, resource),
        }
    }

    /// The line of the step, if the fault is at a write.
    #[must_use]
    pub const fn line(&self) -> Option<usize> {
        match self.location {
            PointLocation::Write { line, .. } => Some(line),
            PointLocation::Watch(_) => None,
        }
    }

    /// A descriptive file name: `crash-after-write-3-of-replicasets-line-6`.
    pub fn file_name(&self) -> String {
        match &self.location {
            PointLocation::Watch(resource) => format!("{}-of-{resource}", self.kind),
            PointLocation::Write { line, resource, nth } => {
                format!("{}-write-{nth}-of-{}-line-{line}", self.kind, resource.replace('/', "-"))
            }
        }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.location {
            PointLocation::Watch(resource) => write!(f, "{} of {resource}", self.kind),
            PointLocation::Write { line, resource, nth } => {
                write!(f, "{} at write {nth} of {resource}, line {line}", self.kind)
            }
        }
    }
}

/// How many writes each step led to, by line and resource, without Events.
pub fn writes(recording: &Recording) -> BTreeMap<(usize, String), u32> {
    let resources: BTreeSet<&str> = recording.header.under_test.iter().flat_map(written_by).copied().collect();
    let mut writes: BTreeMap<(usize, String), u32> = BTreeMap::new();
    let mut line = None;
    for entry in &recording.entries {
        match entry {
            RecordingEntry::Step(mark) => line = Some(mark.line),
            RecordingEntry::Request(request) => {
                if let (Some(line), Some(resource)) = (line, counted_write(request, &resources)) {
                    *writes.entry((line, resource)).or_default() += 1;
                }
            }
            _ => {}
        }
    }
    writes
}

/// The resource that a request wrote, if it succeeded and is counted.
fn counted_write(request: &SubjectRequest, resources: &BTreeSet<&str>) -> Option<String> {
    let SubjectRequest { resource, subresource, .. } = request;
    let name = if subresource.is_empty() { resource.clone() } else { format!("{resource}/{subresource}") };
    (request.is_successful_write() && resources.contains(name.as_str())).then_some(name)
}

/// All points of a case at which faults of these kinds can happen, from a run without faults.
pub fn points(case: &Case, recording: &Recording, kinds: &[FaultKind]) -> Vec<Point> {
    let free: Vec<usize> = interruptible_steps(case).map(|step| step.line).collect();
    let writes = writes(recording).into_iter().filter(|((line, _), _)| free.contains(line));
    let locations = writes.flat_map(|((line, resource), count)| {
        (1..=count).map(move |nth| PointLocation::Write { line, resource: resource.clone(), nth })
    });
    let at_writes = locations.flat_map(|location| {
        let kinds = kinds.iter().filter(|kind| **kind != FaultKind::Lag);
        kinds.map(move |kind| Point { kind: *kind, location: location.clone() })
    });
    let watched: BTreeSet<&str> = recording.header.under_test.iter().flat_map(watched_by).copied().collect();
    let watches = watched
        .into_iter()
        .filter(|_| kinds.contains(&FaultKind::Lag))
        .map(|resource| Point { kind: FaultKind::Lag, location: PointLocation::Watch(resource.to_owned()) });
    at_writes.chain(watches).collect()
}

/// The steps without a fault or change in their middle, during which the subject runs.
pub fn interruptible_steps(case: &Case) -> impl Iterator<Item = &Step> {
    let mut off = false;
    case.given.iter().chain(&case.steps).filter(move |step| {
        if let Some(life) = step.operation.process_action() {
            off = life == ProcessAction::Stop;
            return false;
        }
        !off && step.during.is_none() && step.fault.is_none()
    })
}

/// Selects at most `most` of a case's points, taking one of each kind in turn. Seed and case decide
/// which kind is first and which points of a kind are selected, so that a few points of each of
/// many cases cover all kinds.
pub fn sample(points: Vec<Point>, case: &str, most: Option<usize>, seed: u64) -> Vec<Point> {
    let most = most.unwrap_or(points.len());
    if points.len() <= most {
        return points;
    }
    let order = |of: &dyn fmt::Display| fingerprint(format!("{seed} {case} {of}").bytes());
    let mut kinds: BTreeMap<(String, FaultKind), Vec<(String, Point)>> = BTreeMap::new();
    for point in points {
        let kind = (order(&point.kind), point.kind);
        kinds.entry(kind).or_default().push((order(&point), point));
    }
    // In descending order, as points are taken from the end.
    kinds.values_mut().for_each(|of_kind| of_kind.sort_by(|a, b| b.cmp(a)));
    let mut chosen = Vec::new();
    while chosen.len() < most {
        for of_kind in kinds.values_mut() {
            if chosen.len() < most {
                chosen.extend(of_kind.pop().map(|(_, point)| point));
            }
        }
    }
    chosen.sort();
    chosen
}

/// The text of the case with this fault; `None` if the step is written in a way that leaves no
/// place for another line.
pub fn inject(case: &Case, point: &Point) -> Option<String> {
    let fault = point.fault();
    let lines: Vec<usize> = match &point.location {
        PointLocation::Write { line, .. } => vec![*line],
        PointLocation::Watch(_) => interruptible_steps(case).map(|step| step.line).collect(),
    };
    let at = lines.into_iter().map(|line| (line, fault.clone())).collect();
    let command = if matches!(point.kind, FaultKind::Handover { .. }) { "handover" } else { "faults" };
    Some(format!("# {point}. Written by `lockstep {command}`.\n{}", with_faults(case, &at)?))
}

/// The text of the case with these faults, by the lines of their steps; `None` as for [`inject`].
pub fn with_faults(case: &Case, at: &BTreeMap<usize, String>) -> Option<String> {
    let mut text = String::new();
    for (number, line) in (1..).zip(case.runnable_source().lines()) {
        match at.get(&number) {
            Some(fault) => text += &with_fault(line, fault)?,
            None => {
                text += line;
                text.push('\n');
            }
        }
    }
    Some(text)
}

/// For example `  - scale: 3` with the fault before the operation.
fn with_fault(line: &str, fault: &str) -> Option<String> {
    let indent = line.len() - line.trim_start().len();
    let step = line.trim_start().strip_prefix('-')?;
    let gap = 1 + step.len() - step.trim_start().len();
    let step = step.trim_start();
    let dash = &line[..indent];
    match step.strip_prefix('{') {
        Some(inner) => Some(format!("{dash}- {{fault: {fault}, {inner}\n")),
        None if step.is_empty() || step.starts_with('#') => None,
        None => {
            let dash_gap = " ".repeat(gap - 1);
            Some(format!("{dash}-{dash_gap}fault: {fault}\n{dash} {dash_gap}{step}\n"))
        }
    }
}

/// The text of the case without this one of its `steps`, if it can go: the lines from its dash up
/// to the next step, or to the end of the list.
pub fn without_step(case: &Case, index: usize) -> Option<String> {
    let lines: Vec<&str> = case.runnable_source().lines().collect();
    let first = case.steps.get(index)?.line.checked_sub(1)?;
    lines.get(first)?.trim_start().strip_prefix('-')?;
    let end = match case.steps.get(index + 1) {
        Some(next) => next.line - 1,
        None => first + 1 + lines.iter().skip(first + 1).take_while(|line| goes_on(line)).count(),
    };
    (first < end).then(|| lines[..first].iter().chain(&lines[end..]).map(|line| format!("{line}\n")).collect())
}

/// Whether a line belongs to the list of steps that began above it: the list ends with the text, or
/// where the next field of the case begins.
fn goes_on(line: &str) -> bool {
    line.is_empty() || line.starts_with([' ', '#', '-'])
}

/// As a case writes it: longer than any window plus the time between two attempts.
const RECOVERY_TIME: &str = "- advance: 2m";

/// The text of the case with some time after its last step, and nothing else changed.
///
/// A config-restart controller waits for a window before it restarts anything, and starts over if
/// it is killed. A case may end sooner when nothing fails, and would report a late restart as
/// missing.
pub fn add_recovery_time(case: &Case) -> Option<String> {
    let last = case.steps.last()?.line;
    let lines: Vec<&str> = case.runnable_source().lines().collect();
    let first = lines.get(last - 1)?;
    let indent = &first[..first.len() - first.trim_start().len()];
    let end = last + lines.iter().skip(last).take_while(|line| goes_on(line)).count();
    let (steps, rest) = lines.split_at(end);
    let added = format!("{indent}{RECOVERY_TIME}");
    Some(steps.iter().chain([&added.as_str()]).chain(rest).map(|line| format!("{line}\n")).collect())
}

#[cfg(test)]
mod tests {
    use lockstep_case::model::{AdvanceStep, Operation};
    use lockstep_case::parse;
    use lockstep_recording::testing::RecordingBuilder;
    use rstest::rstest;

    use super::*;

    const CASE: &str = "description: x\ngiven:\n  - deployment: {name: web, image: x}\nsteps:\n  - scale: 3\n  - subject: stop\n  - scale: 4\n  - subject: start\n";

    #[test]
    fn each_successful_write_is_a_point_for_each_kind_of_fault() {
        let case = parse("a/b.yaml", "a/b", CASE).unwrap();
        let builder = RecordingBuilder::new().at_line(5).request("update", "replicasets", 200).request(
            "update",
            "replicasets",
            409,
        );
        let builder = builder.request("create", "events", 201).at_line(7).request("update", "replicasets", 200);
        let recording = builder.end();
        assert_eq!(writes(&recording)[&(5, "replicasets".to_owned())], 1);
        let all = points(&case, &recording, &FaultKind::ALL);
        let at_writes = all.iter().filter(|point| matches!(point.location, PointLocation::Write { .. }));
        assert_eq!(at_writes.count(), 8, "none while no subject runs");
        assert_eq!(all.len(), 11);
        assert_eq!(all[1].to_string(), "crash-after at write 1 of replicasets, line 5");
        assert_eq!(all[1].file_name(), "crash-after-write-1-of-replicasets-line-5");
    }

    #[test]
    fn words_select_fault_kinds() {
        assert_eq!(FaultKind::matching("crash"), [FaultKind::CrashBefore, FaultKind::CrashAfter]);
        assert_eq!(FaultKind::matching("refuse").len(), 5);
        assert_eq!(
            (FaultKind::matching("refuse-409"), FaultKind::matching("lost")),
            (vec![FaultKind::Refuse(409)], vec![FaultKind::Lost])
        );
        assert!(FaultKind::matching("explode").is_empty());
        let handovers = [false, true].into_iter().flat_map(FaultKind::handovers);
        assert!(FaultKind::ALL.into_iter().chain(handovers).all(|kind| kind.to_string().parse() == Ok(kind)));
    }

    fn all() -> Vec<Point> {
        let location = |nth| PointLocation::Write { line: 5, resource: "replicasets".to_owned(), nth };
        let kinds = [FaultKind::CrashBefore, FaultKind::Lost];
        let mut all: Vec<_> =
            (1..=20).flat_map(|nth| kinds.map(|kind| Point { kind, location: location(nth) })).collect();
        all.push(Point { kind: FaultKind::Lag, location: PointLocation::Watch("pods".to_owned()) });
        all
    }

    #[test]
    fn sample_is_deterministic_and_balanced() {
        let some = sample(all(), "a/b", Some(9), 7);
        assert_eq!(some, sample(all(), "a/b", Some(9), 7));
        assert_ne!(some, sample(all(), "a/b", Some(9), 8));
        assert_ne!(some, sample(all(), "a/c", Some(9), 7));
        let of = |kind| some.iter().filter(|point| point.kind == kind).count();
        assert_eq!((of(FaultKind::CrashBefore), of(FaultKind::Lost), of(FaultKind::Lag)), (4, 4, 1));
    }

    #[test]
    fn small_sets_are_not_sampled() {
        assert_eq!(sample(all(), "a/b", None, 1), all());
        assert_eq!(sample(all(), "a/b", Some(100), 1).len(), 41);
    }

    #[test]
    fn single_points_of_many_cases_cover_every_kind() {
        let kind = |case: u32| sample(all(), &case.to_string(), Some(1), 1)[0].kind;
        let kinds: BTreeSet<_> = (0..30).map(kind).collect();
        assert_eq!(kinds.len(), 3);
    }

    const TWO_STYLES: &str = "description: x\ngiven:\n  - deployment:\n      name: web\n      image: x\nsteps:\n  - {scale: 3}\n  -   scale: 4 # more\n";

    fn case(text: &str) -> Case {
        parse("a/b.yaml", "a/b", text).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn injected_fault_parses_and_changes_nothing_else() {
        let plain = case(TWO_STYLES);
        for (line, at, nth) in [(3, 0, 1), (7, 1, 1), (8, 2, 1), (3, 0, 2), (8, 2, 2)] {
            let location = PointLocation::Write { line, resource: "replicasets".to_owned(), nth };
            let kind = if nth == 1 { FaultKind::CrashAfter } else { FaultKind::Handover { after: true, back: true } };
            let text = inject(&plain, &Point { kind, location }).unwrap();
            let injected = case(&text);
            let steps = |case: &Case| case.given.iter().chain(&case.steps).cloned().collect::<Vec<_>>();
            for (index, (before, after)) in steps(&plain).iter().zip(steps(&injected)).enumerate() {
                assert_eq!(before.operation, after.operation);
                assert_eq!(after.fault.is_some(), index == at, "{text}");
            }
        }
    }

    #[test]
    fn a_watch_lags_at_every_step() {
        let point = Point { kind: FaultKind::Lag, location: PointLocation::Watch("replicasets".to_owned()) };
        let injected = case(&inject(&case(TWO_STYLES), &point).unwrap());
        assert!(injected.given.iter().chain(&injected.steps).all(|step| step.fault.is_some()));
    }

    #[test]
    fn step_goes_with_its_lines() {
        let text = "description: x\ngiven:\n  - deployment: {name: web, image: x}\nsteps:\n  - scale: 3\n  - scale:\n      replicas: 4\n  - scale: 5\nrules:\n  finally: [\"pods.size() == 3\"]\n";
        let plain = case(text);
        for left in [[1, 2], [0, 2], [0, 1]].into_iter().enumerate() {
            let without = case(&without_step(&plain, left.0).unwrap());
            let expected: Vec<_> = left.1.iter().map(|at| plain.steps[*at].operation.clone()).collect();
            let found: Vec<_> = without.steps.iter().map(|step| step.operation.clone()).collect();
            assert_eq!((found, without.rules.len()), (expected, plain.rules.len()));
        }
    }

    const GIVEN: &str = "description: x\ngiven:\n  - deployment: {name: web, image: x}\n";

    #[rstest]
    #[case::at_the_end("steps:\n  - scale: 3\n")]
    #[case::before_rules("steps:\n  - scale: 3\nrules:\n  finally: [\"pods.size() == 3\"]\n")]
    #[case::after_a_long_step(
        "steps:\n- scale: 4\n- patch:\n    target: deployment/web\n    patch:\n      metadata: {labels: {a: b}}\n\n# c\nnodes: [n1]\n"
    )]
    fn adds_one_step_and_changes_nothing_else(#[case] text: &str) {
        let read = |text: &str| parse("a/b.yaml", "a/b", text).unwrap_or_else(|error| panic!("{error}"));
        let plain = read(&format!("{GIVEN}{text}"));
        let longer = read(&add_recovery_time(&plain).unwrap());
        let (last, before) = longer.steps.split_last().unwrap();
        assert_eq!((before, &longer.rules.len()), (plain.steps.as_slice(), &plain.rules.len()));
        assert_eq!(last.operation, Operation::new(AdvanceStep::For(std::time::Duration::from_secs(120))));
    }
}
