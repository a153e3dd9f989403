//! What upstream's controllers of other versions tell differently in *every* case, whatever they
//! decide.
//!
//! Timelines are recorded with one version of kube-controller-manager. Another one is held against
//! the same timelines, as *it* would have told them: a status field that it does not know is not
//! expected of it, an Event is expected in its words. Each such [`Fact`] is one small rewriting of
//! a timeline. Facts are about how a thing is told, never about what is decided: where a decision
//! differs, the case has a timeline of that version's own ([`crate::golden`]).
//!
//! Pure. A fact is believed because the recordings of the versions before it agree with the
//! timelines that it rewrote.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::controllers::{Controller, Controllers};
use crate::recording::Identity;
use crate::timeline::{Action, EventLine, Events, Timeline};

/// The version that golden timelines come from.
pub const DEFAULT_VERSION: &str = "v1.36.3";

/// A minor of Kubernetes, such as v1.36.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Minor(u32);

impl Minor {
    /// The minor v1.`number`.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The minor of the version that a text names, as in `kube-controller-manager v1.33.13`.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        minor(text)?.parse().ok()
    }

    /// The one that the default timelines come from.
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

    /// `v1.33`, and `v1.33.13` as well.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number =
            text.strip_prefix("v1.").and_then(|rest| rest.split('.').next()).and_then(|minor| minor.parse().ok());
        number.map(Self).ok_or_else(|| format!("`{text}` is not a version of Kubernetes; use one such as v1.33"))
    }
}

/// Whether the text has the form of a version, as in `v1.36.3`.
pub fn is_version(text: &str) -> bool {
    let numbers = text.strip_prefix("v1.").map(|rest| rest.split('.').collect::<Vec<_>>());
    numbers.is_some_and(|numbers| {
        let [minor, patch] = numbers.as_slice() else { return false };
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits(minor) && digits(patch.split('-').next().unwrap_or_default())
    })
}

/// The minor that a text names, as in `v1.33` of `kube-apiserver v1.33.13`.
pub fn minor(text: &str) -> Option<String> {
    let version = text.split([' ', ',']).find(|word| is_version(word))?;
    version.rsplit_once('.').map(|(minor, _patch)| minor.to_owned())
}

/// Something that is told in every case, since some minor.
pub struct Fact {
    /// The first minor that does.
    pub since: Minor,
    /// What is so since then, in one sentence.
    pub says: &'static str,
    before: fn(&mut Timeline, &Controllers),
}

impl fmt::Debug for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "since {}: {}", self.since, self.says)
    }
}

/// The first and the last version of upstream of which timelines are recorded.
pub const RECORDED: (Minor, Minor) = (Minor(15), Minor(37));

/// All facts, the newest first: each rewrites what the one before it has left.
pub const FACTS: [Fact; 3] = [
    Fact {
        since: Minor(35),
        says: "status.terminatingReplicas counts the pods that are being deleted",
        before: without_terminating,
    },
    Fact {
        since: Minor(32),
        says: "a ScalingReplicaSet event says \"from 3 to 5\", and \"from 0 to 3\" of a new ReplicaSet",
        before: to_from,
    },
    Fact {
        since: Minor(25),
        says: "a ScalingReplicaSet event says what the size was before: \"to 5 from 3\"; of a new ReplicaSet \"to 3\" alone",
        before: to_alone,
    },
];

/// What is told in every case since a version after `older`, and no later than `newer`; the oldest
/// first.
pub fn facts_between(older: Minor, newer: Minor) -> impl Iterator<Item = &'static Fact> {
    FACTS.iter().rev().filter(move |fact| older < fact.since && fact.since <= newer)
}

/// What orders versions such as v1.9.11 and v1.36.3: minor and patch; v1.37.0-rc.1 comes before
/// v1.37.0.
pub fn order(version: &str) -> (u32, u32, bool, &str) {
    let mut numbers = version.strip_prefix("v1.").unwrap_or_default().splitn(2, '.');
    let minor = numbers.next().and_then(|minor| minor.parse().ok()).unwrap_or_default();
    let patch = numbers.next().unwrap_or_default();
    let digits = patch.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(patch.len());
    let (patch, rest) = patch.split_at(digits);
    (minor, patch.parse().unwrap_or_default(), rest.is_empty(), rest)
}

/// The timeline as the controllers of this minor tell it, where they are what the subject brings.
#[must_use]
pub fn as_told_by(mut timeline: Timeline, minor: Minor, under_test: &Controllers) -> Timeline {
    let mut facts = FACTS.iter().filter(|fact| minor < fact.since).peekable();
    if let (Some(_), Some(from)) = (facts.peek(), &mut timeline.provenance) {
        from.controller = format!("{}, with the words of {minor}", from.controller);
    }
    for fact in facts {
        (fact.before)(&mut timeline, under_test);
    }
    timeline
}

/// Whose words a subject uses: upstream's its own version's, all others the default version's.
#[must_use]
pub fn words_of(subject: &Identity) -> Minor {
    let own = (subject.program == "kube-controller-manager").then(|| Minor::of(&subject.version)).flatten();
    own.or_else(|| Minor::of(DEFAULT_VERSION)).expect("the default version has a minor")
}

/// Whether a timeline was recorded from controllers of another version than the default. It then
/// speaks for its case's own rules as well, which say what the default version does.
#[must_use]
pub fn is_overlay(timeline: &Timeline) -> bool {
    let from = timeline.provenance.as_ref().filter(|from| from.controller.starts_with("kube-controller-manager "));
    from.and_then(|from| Minor::of(&from.controller)).is_some_and(|minor| !minor.is_default())
}

/// Each controller writes the status of its own kind, and a Deployment's is the sum of its
/// ReplicaSets': without one of the two there is none (replicaset/recreate).
fn without_terminating(timeline: &mut Timeline, under_test: &Controllers) {
    for state in timeline.steps.iter_mut().flat_map(|step| &mut step.checkpoint).map(Arc::make_mut) {
        if !state.is_replica_set() || under_test.has(Controller::ReplicaSet) {
            state.fields.retain(|field| field.key != "terminating");
        }
    }
}

fn to_from(timeline: &mut Timeline, under_test: &Controllers) {
    let created = creations(timeline);
    reword(timeline, under_test, |scaled| {
        let Some((from, to)) = scaled.sizes.strip_prefix("from ").and_then(|sizes| sizes.split_once(" to ")) else {
            return vec![(scaled.sizes.clone(), scaled.count)];
        };
        let made = created.get(&(scaled.set.clone(), to.to_owned())).copied().filter(|_| from == "0");
        let made = made.unwrap_or_default().min(scaled.count);
        vec![(format!("to {to}"), made), (format!("to {to} from {from}"), scaled.count - made)]
    });
}

/// How often each ReplicaSet was created with each size, by the name that events know it by. One
/// that is made again has its old name, so its events are told of the last that had it
/// (pause/replicaset-deleted).
fn creations(timeline: &Timeline) -> BTreeMap<(String, String), u64> {
    let lines = if let Events::All(all) = &timeline.events { all.as_slice() } else { &[] };
    let known: BTreeSet<String> = lines.iter().filter_map(|line| Some(scaled(line)?.1.set)).collect();
    let decisions = timeline.steps.iter().flat_map(|step| &step.decisions);
    let mut sizes: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut counts: BTreeMap<(String, String), u64> = BTreeMap::new();
    for decision in decisions {
        let Action::Created(size) = decision.action else { continue };
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

fn to_alone(timeline: &mut Timeline, under_test: &Controllers) {
    reword(timeline, under_test, |scaled| {
        let to = scaled.sizes.split(" from ").next().unwrap_or_default();
        vec![(to.to_owned(), scaled.count)]
    });
}

/// A ScalingReplicaSet event in parts.
struct Scaled {
    /// Which ReplicaSet.
    set: String,
    /// `from 3 to 5`, or in other words.
    sizes: String,
    /// How often.
    count: u64,
}

/// Put the sizes of all ScalingReplicaSet events into other words; those that then say the same are
/// one.
fn reword(timeline: &mut Timeline, under_test: &Controllers, words: impl Fn(&Scaled) -> Vec<(String, u64)>) {
    let Events::All(all) = &timeline.events else { return };
    if !under_test.has(Controller::Deployment) {
        return;
    }
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for line in all {
        match scaled(line) {
            Some((head, scaled)) => {
                for (sizes, count) in words(&scaled).into_iter().filter(|(_, count)| *count > 0) {
                    *counts.entry(format!("{head}{} {sizes}\"", scaled.set)).or_default() += count;
                }
            }
            None => *counts.entry(line.text.clone()).or_default() += line.count,
        }
    }
    timeline.events = Events::few(counts.into_iter().map(|(text, count)| EventLine { text, count }).collect());
}

/// What stands before the ReplicaSet's name, and the parts.
fn scaled(line: &EventLine) -> Option<(&str, Scaled)> {
    let text = line.text.strip_suffix('"')?;
    let at = text.find("ScalingReplicaSet \"Scaled ")?;
    let name = at + text.get(at..)?.find(" replica set ")? + " replica set ".len();
    let (set, sizes) = text.get(name..)?.split_once(' ')?;
    Some((&text[..name], Scaled { set: set.to_owned(), sizes: sizes.to_owned(), count: line.count }))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const THREE: &str = include_str!("../../cases/recreate/three.timeline");
    const BEFORE: &str = "events
        Normal ScalingReplicaSet \"Scaled down replica set rs1 from 3 to 0\"  ×1
        Normal ScalingReplicaSet \"Scaled up replica set rs1 from 0 to 3\"  ×3
        Normal ScalingReplicaSet \"Scaled up replica set rs1 from 2 to 3\"  ×1
        web Normal ScalingReplicaSet \"Scaled up replica set web/rs1 from 0 to 3\"  ×1
        Normal DeploymentRollback \"Rolled back deployment \\\"web\\\" to revision 1\"  ×1
";

    fn told(text: &str, minor: u32, under_test: &str) -> String {
        let timeline = Timeline::parse(text).unwrap();
        as_told_by(timeline, Minor(minor), &under_test.parse().unwrap()).to_string()
    }

    #[test]
    fn facts_stand_newest_first() {
        assert!(FACTS.is_sorted_by_key(|fact| std::cmp::Reverse(fact.since)));
        assert_eq!(told(THREE, 36, "deployment,replicaset"), THREE);
    }

    #[rstest]
    #[case::today(35, &["from 3 to 0\"  ×1", "rs1 from 0 to 3\"  ×3", "from 2 to 3\"  ×1", "web/rs1 from 0 to 3\"  ×1"])]
    #[case::once_made(31, &["to 0 from 3\"  ×1", " rs1 to 3\"  ×2", " rs1 to 3 from 0\"  ×1", "to 3 from 2\"  ×1", "web/rs1 to 3\"  ×1"])]
    #[case::no_before(15, &["to 0\"  ×1", " rs1 to 3\"  ×4", "web/rs1 to 3\"  ×1"])]
    fn events_in_the_words_of_the_time(#[case] minor: u32, #[case] lines: &[&str]) {
        let made = "given   x\n        rs1 created 3\n        web/rs1 created 3\nstep 1  y\n        rs1 created 3\n";
        let said = told(&format!("{made}{BEFORE}"), minor, "deployment");
        for line in lines.iter().chain(&["to revision 1\"  ×1"]) {
            assert!(said.contains(line), "no {line} in\n{said}");
        }
        assert_eq!(said.matches('×').count(), lines.len() + 1, "{said}");
        assert_eq!(told(&format!("{made}{BEFORE}"), minor, "replicaset").matches(" from 0 to 3").count(), 2);
    }

    #[test]
    fn one_that_is_made_again_has_its_old_name() {
        let made = "given   x\n        rs1 created 2\nstep 1  y\n        rs2 created 2\n";
        let events = "events\n        Normal ScalingReplicaSet \"Scaled up replica set rs2 from 0 to 2\"  ×2\n";
        let said = told(&format!("{made}{events}"), 31, "deployment");
        assert!(said.contains("replica set rs2 to 2\"  ×2") && !said.contains("from 0"), "{said}");
    }

    #[test]
    fn what_is_being_deleted_is_counted_by_two() {
        let text = "given   x\n      = rs1 0/0 ready=0 terminating=3 pods=0 terminatingPods=3\n      = web 0 ready=0 terminating=3 generation=1/1\n";
        let left = |under_test: &str| told(text, 34, under_test).matches(" terminating=3").count();
        assert_eq!((left("deployment"), left("replicaset"), left("deployment,replicaset")), (1, 0, 0));
        assert!(told(text, 34, "deployment,replicaset").contains("terminatingPods=3"));
    }

    #[test]
    fn more_events_than_repeat_are_not_compared() {
        let line =
            |n: u32| format!("        Normal ScalingReplicaSet \"Scaled up replica set rs{n} from 0 to 3\"  ×2\n");
        let made = |n: u32| format!("        rs{n} created 3\n");
        let all = |one: &dyn Fn(u32) -> String| (1..6).map(one).collect::<String>();
        let text = format!("given   x\n{}events\n{}", all(&made), all(&line));
        assert!(!told(&text, 32, "deployment").contains("not compared"));
        assert!(told(&text, 31, "deployment").contains("events  not compared: ten or more"));
    }

    #[test]
    fn minors_by_name() {
        assert_eq!("v1.33".parse(), Ok(Minor(33)));
        assert_eq!(Minor::of("kube-controller-manager v1.15.5"), Some(Minor(15)));
        assert_eq!((Minor::of("rollout-controller 0.1.0"), Minor(36).is_default()), (None, true));
        assert!("1.33".parse::<Minor>().unwrap_err().contains("such as v1.33"));
    }

    #[test]
    fn versions_are_ordered_by_number_and_facts_lie_between_two() {
        let mut all = ["v1.36.3", "v1.9.11", "v1.36.10", "v1.36.10-rc.1", "v1.15.5"];
        all.sort_by_key(|version| order(version));
        assert_eq!(all, ["v1.9.11", "v1.15.5", "v1.36.3", "v1.36.10-rc.1", "v1.36.10"]);
        let since = |older, newer| facts_between(Minor(older), Minor(newer)).map(|it| it.since.0).collect::<Vec<_>>();
        assert_eq!((since(15, 33), since(33, 37), since(35, 36)), (vec![25, 32], vec![35], vec![]));
    }

    #[test]
    fn minors() {
        assert_eq!(minor("kube-apiserver v1.33.13, real pods").as_deref(), Some("v1.33"));
        assert_eq!(minor("v1.36.3").as_deref(), Some("v1.36"));
        assert_eq!(minor("something else"), None);
    }
}
