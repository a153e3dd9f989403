//! Differences in wording between versions of upstream, which occur in *every* case, whatever is
//! decided.
//!
//! Golden timelines are recorded from one version of kube-controller-manager. Other versions are
//! compared with the same timelines, translated to *their* wording: a status field that a version
//! does not know is not expected of it, and an Event is expected in its own words. Each
//! [`WordingChange`] is one small rewriting of a timeline. It concerns how something is reported,
//! never what is decided: if a decision differs, the case has a timeline of that version's own
//! (`verdict::golden`).
//!
//! Pure. A wording change is trusted because recordings of earlier versions agree with the
//! timelines that it rewrote.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use lockstep_recording::Identity;
use lockstep_recording::controllers::{Controller, ControllerSet};

use crate::{DecisionAction, EventLine, Timeline, TimelineEvents};

/// The version from which golden timelines are recorded.
pub const DEFAULT_VERSION: &str = "v1.36.3";

/// A minor version of Kubernetes, such as v1.36.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Minor(u32);

impl Minor {
    /// The minor v1.`number`.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The minor of the version in a text, such as `kube-controller-manager v1.33.13`.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        minor(text)?.parse().ok()
    }

    /// Whether it is the minor of the default timelines.
    #[must_use]
    pub fn is_default(self) -> bool {
        Self::of(DEFAULT_VERSION) == Some(self)
    }
}

impl fmt::Display for Minor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v1.{}", self.0)
    }
}

impl FromStr for Minor {
    type Err = String;

    /// Parses `v1.33`, and also `v1.33.13`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number =
            text.strip_prefix("v1.").and_then(|rest| rest.split('.').next()).and_then(|minor| minor.parse().ok());
        number.map(Self).ok_or_else(|| format!("`{text}` is not a version of Kubernetes; use one such as v1.33"))
    }
}

/// A version of a distribution as the version of upstream that it is built from: `v1.33.4` of
/// `v1.33.4+k3s1` and of `v1.33.4-gke.100`.
#[must_use]
pub fn without_build(version: &str) -> &str {
    version.split(['+', '-']).next().unwrap_or_default()
}

/// Whether a text is a version such as `v1.36.3`.
pub fn is_version(text: &str) -> bool {
    let numbers = text.strip_prefix("v1.").map(|rest| rest.split('.').collect::<Vec<_>>());
    numbers.is_some_and(|numbers| {
        let [minor, patch] = numbers.as_slice() else { return false };
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits(minor) && digits(patch.split('-').next().unwrap_or_default())
    })
}

/// The minor in a text: `v1.33` of `kube-apiserver v1.33.13` and of `k3s v1.33.4+k3s1`.
pub fn minor(text: &str) -> Option<String> {
    let version = text.split([' ', ',']).map(without_build).find(|word| is_version(word))?;
    version.rsplit_once('.').map(|(minor, _patch)| minor.to_owned())
}

/// A change in what upstream reports in every case.
pub struct WordingChange {
    /// The first minor with the change.
    pub since: Minor,
    /// What has changed, as a sentence.
    pub description: &'static str,
    rewrite: fn(&mut Timeline, &ControllerSet),
}

impl fmt::Debug for WordingChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "since {}: {}", self.since, self.description)
    }
}

/// The first and the last version of upstream from which timelines are recorded.
pub const RECORDED_RANGE: (Minor, Minor) = (Minor(15), Minor(37));

/// All wording changes, the newest first: each rewrites the result of the one before.
pub(crate) const WORDING_CHANGES: [WordingChange; 3] = [
    WordingChange {
        since: Minor(35),
        description: "status.terminatingReplicas counts the pods that are being deleted",
        rewrite: drop_terminating,
    },
    WordingChange {
        since: Minor(32),
        description: "a ScalingReplicaSet event says \"from 3 to 5\", and \"from 0 to 3\" of a new ReplicaSet",
        rewrite: sizes_as_to_from,
    },
    WordingChange {
        since: Minor(25),
        description: "a ScalingReplicaSet event says what the size was before: \"to 5 from 3\"; of a new ReplicaSet \"to 3\" alone",
        rewrite: sizes_as_to,
    },
];

/// The wording changes after version `older` and up to `newer`, the oldest first.
pub fn wording_changes_between(older: Minor, newer: Minor) -> impl Iterator<Item = &'static WordingChange> {
    WORDING_CHANGES.iter().rev().filter(move |fact| older < fact.since && fact.since <= newer)
}

/// The sort key of versions such as v1.9.11 and v1.36.3: minor and patch; v1.37.0-rc.1 comes before
/// v1.37.0.
pub fn sort_key(version: &str) -> (u32, u32, bool, &str) {
    let mut numbers = version.strip_prefix("v1.").unwrap_or_default().splitn(2, '.');
    let minor = numbers.next().and_then(|minor| minor.parse().ok()).unwrap_or_default();
    let patch = numbers.next().unwrap_or_default();
    let digits = patch.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(patch.len());
    let (patch, rest) = patch.split_at(digits);
    (minor, patch.parse().unwrap_or_default(), rest.is_empty(), rest)
}

/// The timeline as controllers of this minor report it, if the subject brings them.
#[must_use]
pub fn as_reported_by(mut timeline: Timeline, minor: Minor, under_test: &ControllerSet) -> Timeline {
    let mut facts = WORDING_CHANGES.iter().filter(|fact| minor < fact.since).peekable();
    if let (Some(_), Some(from)) = (facts.peek(), &mut timeline.provenance) {
        from.controller = format!("{}, with the words of {minor}", from.controller);
    }
    for fact in facts {
        (fact.rewrite)(&mut timeline, under_test);
    }
    timeline
}

/// The version whose wording a subject uses: upstream uses that of its own version, all others the
/// default's.
#[must_use]
pub fn wording_of(subject: &Identity) -> Minor {
    let own = (subject.program == "kube-controller-manager").then(|| Minor::of(&subject.version)).flatten();
    own.or_else(|| Minor::of(DEFAULT_VERSION)).expect("the default version has a minor")
}

/// Whether a timeline was recorded from controllers of another version than the default. It then
/// replaces its case's own rules as well, which describe the default version.
#[must_use]
pub fn is_overlay(timeline: &Timeline) -> bool {
    let from = timeline.provenance.as_ref().filter(|from| from.controller.starts_with("kube-controller-manager "));
    from.and_then(|from| Minor::of(&from.controller)).is_some_and(|minor| !minor.is_default())
}

/// Each controller writes the status of its own kind, and a Deployment's is the sum of its
/// ReplicaSets': if either controller is older, the field is missing (replicaset/recreate).
fn drop_terminating(timeline: &mut Timeline, under_test: &ControllerSet) {
    for state in timeline.steps.iter_mut().flat_map(|step| &mut step.checkpoint).map(Arc::make_mut) {
        if !state.is_replica_set() || under_test.has(Controller::ReplicaSet) {
            state.fields.retain(|field| field.key != "terminating");
        }
    }
}

fn sizes_as_to_from(timeline: &mut Timeline, under_test: &ControllerSet) {
    let created = count_creations(timeline);
    reword(timeline, under_test, |scaled| {
        let Some((from, to)) = scaled.sizes.strip_prefix("from ").and_then(|sizes| sizes.split_once(" to ")) else {
            return vec![(scaled.sizes.clone(), scaled.count)];
        };
        let made = created.get(&(scaled.set.clone(), to.to_owned())).copied().filter(|_| from == "0");
        let made = made.unwrap_or_default().min(scaled.count);
        vec![(format!("to {to}"), made), (format!("to {to} from {from}"), scaled.count - made)]
    });
}

/// How often each ReplicaSet was created with each size, by its name in Events. A recreated
/// ReplicaSet has the old name, so its Events count for the last one of that name
/// (pause/replicaset-deleted).
fn count_creations(timeline: &Timeline) -> BTreeMap<(String, String), u64> {
    let lines = if let TimelineEvents::All(all) = &timeline.events { all.as_slice() } else { &[] };
    let known: BTreeSet<String> = lines.iter().filter_map(|line| Some(parse_scaling_event(line)?.1.set)).collect();
    let decisions = timeline.steps.iter().flat_map(|step| &step.decisions);
    let mut sizes: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut counts: BTreeMap<(String, String), u64> = BTreeMap::new();
    for decision in decisions {
        let DecisionAction::Created(size) = decision.action else { continue };
        let deployment = decision.object.split_once('/').map_or("", |(deployment, _)| deployment);
        sizes.entry(deployment).or_default().push(size.to_string());
        if known.contains(&decision.object) {
            for size in sizes.remove(deployment).unwrap_or_default() {
                *counts.entry((decision.object.clone(), size)).or_default() += 1;
            }
        }
    }
    counts
}

fn sizes_as_to(timeline: &mut Timeline, under_test: &ControllerSet) {
    reword(timeline, under_test, |scaled| {
        let to = scaled.sizes.split(" from ").next().unwrap_or_default();
        vec![(to.to_owned(), scaled.count)]
    });
}

/// The parts of a ScalingReplicaSet event.
struct ScalingEvent {
    /// The ReplicaSet.
    set: String,
    /// `from 3 to 5`, or another wording.
    sizes: String,
    count: u64,
}

/// Rewrites the sizes of all ScalingReplicaSet events, and adds up events that become equal.
fn reword(timeline: &mut Timeline, under_test: &ControllerSet, words: impl Fn(&ScalingEvent) -> Vec<(String, u64)>) {
    let TimelineEvents::All(all) = &timeline.events else { return };
    if !under_test.has(Controller::Deployment) {
        return;
    }
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for line in all {
        match parse_scaling_event(line) {
            Some((head, scaled)) => {
                for (sizes, count) in words(&scaled).into_iter().filter(|(_, count)| *count > 0) {
                    *counts.entry(format!("{head}{} {sizes}\"", scaled.set)).or_default() += count;
                }
            }
            None => *counts.entry(line.text.clone()).or_default() += line.count,
        }
    }
    timeline.events = TimelineEvents::few(counts.into_iter().map(|(text, count)| EventLine { text, count }).collect());
}

/// The text before the ReplicaSet's name, and the parts.
fn parse_scaling_event(line: &EventLine) -> Option<(&str, ScalingEvent)> {
    let text = line.text.strip_suffix('"')?;
    let at = text.find("ScalingReplicaSet \"Scaled ")?;
    let name = at + text.get(at..)?.find(" replica set ")? + " replica set ".len();
    let (set, sizes) = text.get(name..)?.split_once(' ')?;
    Some((&text[..name], ScalingEvent { set: set.to_owned(), sizes: sizes.to_owned(), count: line.count }))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const THREE: &str = include_str!("../../../cases/recreate/three.timeline");
    const BEFORE: &str = "events
        Normal ScalingReplicaSet \"Scaled down replica set rs1 from 3 to 0\"  ×1
        Normal ScalingReplicaSet \"Scaled up replica set rs1 from 0 to 3\"  ×3
        Normal ScalingReplicaSet \"Scaled up replica set rs1 from 2 to 3\"  ×1
        web Normal ScalingReplicaSet \"Scaled up replica set web/rs1 from 0 to 3\"  ×1
        Normal DeploymentRollback \"Rolled back deployment \\\"web\\\" to revision 1\"  ×1
";

    fn translate(text: &str, minor: u32, under_test: &str) -> String {
        let timeline = Timeline::parse(text).unwrap();
        as_reported_by(timeline, Minor(minor), &under_test.parse().unwrap()).to_string()
    }

    #[test]
    fn wording_changes_are_sorted_newest_first() {
        assert!(WORDING_CHANGES.is_sorted_by_key(|fact| std::cmp::Reverse(fact.since)));
        assert_eq!(translate(THREE, 36, "deployment,replicaset"), THREE);
    }

    #[rstest]
    #[case::today(35, &["from 3 to 0\"  ×1", "rs1 from 0 to 3\"  ×3", "from 2 to 3\"  ×1", "web/rs1 from 0 to 3\"  ×1"])]
    #[case::once_made(31, &["to 0 from 3\"  ×1", " rs1 to 3\"  ×2", " rs1 to 3 from 0\"  ×1", "to 3 from 2\"  ×1", "web/rs1 to 3\"  ×1"])]
    #[case::no_before(15, &["to 0\"  ×1", " rs1 to 3\"  ×4", "web/rs1 to 3\"  ×1"])]
    fn events_are_in_wording_of_version(#[case] minor: u32, #[case] lines: &[&str]) {
        let made = "given   x\n        rs1 created 3\n        web/rs1 created 3\nstep 1  y\n        rs1 created 3\n";
        let said = translate(&format!("{made}{BEFORE}"), minor, "deployment");
        for line in lines.iter().chain(&["to revision 1\"  ×1"]) {
            assert!(said.contains(line), "no {line} in\n{said}");
        }
        assert_eq!(said.matches('×').count(), lines.len() + 1, "{said}");
        assert_eq!(translate(&format!("{made}{BEFORE}"), minor, "replicaset").matches(" from 0 to 3").count(), 2);
    }

    #[test]
    fn recreated_replica_set_keeps_its_old_name() {
        let made = "given   x\n        rs1 created 2\nstep 1  y\n        rs2 created 2\n";
        let events = "events\n        Normal ScalingReplicaSet \"Scaled up replica set rs2 from 0 to 2\"  ×2\n";
        let said = translate(&format!("{made}{events}"), 31, "deployment");
        assert!(said.contains("replica set rs2 to 2\"  ×2") && !said.contains("from 0"), "{said}");
    }

    #[test]
    fn terminating_replicas_need_both_controllers() {
        let text = "given   x\n      = rs1 0/0 ready=0 terminating=3 pods=0 terminatingPods=3\n      = web 0 ready=0 terminating=3 generation=1/1\n";
        let left = |under_test: &str| translate(text, 34, under_test).matches(" terminating=3").count();
        assert_eq!((left("deployment"), left("replicaset"), left("deployment,replicaset")), (1, 0, 0));
        assert!(translate(text, 34, "deployment,replicaset").contains("terminatingPods=3"));
    }

    #[test]
    fn too_many_events_are_not_compared() {
        let line =
            |n: u32| format!("        Normal ScalingReplicaSet \"Scaled up replica set rs{n} from 0 to 3\"  ×2\n");
        let made = |n: u32| format!("        rs{n} created 3\n");
        let all = |one: &dyn Fn(u32) -> String| (1..6).map(one).collect::<String>();
        let text = format!("given   x\n{}events\n{}", all(&made), all(&line));
        assert!(!translate(&text, 32, "deployment").contains("not compared"));
        assert!(translate(&text, 31, "deployment").contains("events  not compared: ten or more"));
    }

    #[test]
    fn parses_minors() {
        assert_eq!("v1.33".parse(), Ok(Minor(33)));
        assert_eq!(Minor::of("kube-controller-manager v1.15.5"), Some(Minor(15)));
        assert_eq!((Minor::of("rollout-controller 0.1.0"), Minor(36).is_default()), (None, true));
        assert!("1.33".parse::<Minor>().unwrap_err().contains("such as v1.33"));
    }

    #[test]
    fn versions_are_ordered_by_number() {
        let mut all = ["v1.36.3", "v1.9.11", "v1.36.10", "v1.36.10-rc.1", "v1.15.5"];
        all.sort_by_key(|version| sort_key(version));
        assert_eq!(all, ["v1.9.11", "v1.15.5", "v1.36.3", "v1.36.10-rc.1", "v1.36.10"]);
        let since =
            |older, newer| wording_changes_between(Minor(older), Minor(newer)).map(|it| it.since.0).collect::<Vec<_>>();
        assert_eq!((since(15, 33), since(33, 37), since(35, 36)), (vec![25, 32], vec![35], vec![]));
    }

    #[test]
    fn minors() {
        assert_eq!(minor("kube-apiserver v1.33.13, real pods").as_deref(), Some("v1.33"));
        assert_eq!(minor("v1.36.3").as_deref(), Some("v1.36"));
        for built_elsewhere in ["v1.33.4+k3s1", "v1.33.4-gke.100", "v1.33.4-eks-1a2b3c", "v1.33.0-rc.1"] {
            assert_eq!(minor(built_elsewhere).as_deref(), Some("v1.33"), "{built_elsewhere}");
        }
        assert_eq!(minor("something else"), None);
    }
}
