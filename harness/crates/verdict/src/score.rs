//! The score of a controller with a description: by area of its claims, how many cases are
//! conformant and which are not.
//!
//! A case that is not conformant counts once, in the area of the finding that heads its report:
//! what follows from it is not counted. A conformant case counts in each area that it is about.

use std::collections::BTreeSet;

use lockstep_case::filter::labels;
use lockstep_recording::TroubleTopic;
use lockstep_support::outcome::{RunOutcome, Verdict};
use lockstep_timeline::{Decision, DecisionAction, KeyValue, State, Timeline, TimelineEvents, TimelineLine};
use lockstep_workload::vocabulary::{Sign, area_of, areas, is_needed_by};
use lockstep_workload::{ClaimedShare, Workload};

use super::compare::Difference;
use super::judgement::{FindingKind, Judgement, VerdictFinding};

/// The score so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Score {
    /// The described kind.
    pub kind: String,
    /// A row for each area.
    pub rows: Vec<AreaScore>,
    /// How many cases were conformant or not.
    pub verdicts: usize,
    /// How many cases were inconclusive, or have nothing to compare with.
    pub inconclusive: usize,
}

/// The score in one area.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AreaScore {
    /// Its name.
    pub area: &'static str,
    /// What is claimed of it.
    pub claimed: ClaimedShare,
    /// The conformant cases that are about it.
    pub conformant: BTreeSet<String>,
    /// The cases whose report is headed by a finding in it.
    pub broken: BTreeSet<String>,
}

const REPLICA_SETS: &str = "replicasets";
const STATUS: &str = "status";
const EVENTS: &str = "events";

impl Score {
    /// The score of a workload of which no case was judged yet.
    #[must_use]
    pub fn new(workload: &Workload) -> Self {
        let row = |area| AreaScore {
            area,
            claimed: workload.claimed_of(area),
            conformant: BTreeSet::new(),
            broken: BTreeSet::new(),
        };
        Self { kind: workload.kind.clone(), rows: areas().map(row).collect(), verdicts: 0, inconclusive: 0 }
    }

    /// Adds a judgement.
    pub fn add(&mut self, judgement: &Judgement) {
        self.add_case(&judgement.case, scored_verdict(judgement), &scored_areas(judgement));
    }

    /// Adds a case with this verdict that counts in these areas.
    pub fn add_case(&mut self, case: &str, verdict: Verdict, areas: &[impl AsRef<str>]) {
        match verdict {
            Verdict::Inconclusive => self.inconclusive += 1,
            Verdict::Conformant | Verdict::NonConformant => self.verdicts += 1,
        }
        let counts = |row: &&mut AreaScore| areas.iter().any(|area| area.as_ref() == row.area);
        for row in self.rows.iter_mut().filter(counts) {
            match verdict {
                Verdict::Conformant if row.claimed != ClaimedShare::Nothing => row.conformant.insert(case.to_owned()),
                Verdict::NonConformant => row.broken.insert(case.to_owned()),
                Verdict::Conformant | Verdict::Inconclusive => continue,
            };
        }
    }
}

/// The verdict that counts: a case without a golden timeline of its own says nothing of what is
/// claimed.
#[must_use]
pub fn scored_verdict(judgement: &Judgement) -> Verdict {
    match judgement.outcome() {
        RunOutcome::Unblessed => Verdict::Inconclusive,
        _ => judgement.verdict,
    }
}

/// The areas in which a case counts: those that a conformant one is about, and that of the finding
/// that heads the report of one that is not.
#[must_use]
pub fn scored_areas(judgement: &Judgement) -> Vec<&'static str> {
    match (judgement.verdict, judgement.headline()) {
        (Verdict::Conformant, _) => {
            let labels = labels(&judgement.definition);
            let shown = shown_areas(&judgement.timeline);
            let is_about = |area: &&'static str| {
                shown.contains(area)
                    || [REPLICA_SETS, "bounds", "invariants"].contains(area)
                    || *area == "rules" && !judgement.definition.rules.is_empty()
                    || is_needed_by(area, judgement.definition.area())
                    || labels.iter().any(|label| is_needed_by(area, label))
            };
            areas().filter(is_about).collect()
        }
        (Verdict::NonConformant, Some(finding)) => vec![area_of_finding(finding)],
        _ => Vec::new(),
    }
}

/// The areas of which a timeline shows something.
fn shown_areas(timeline: &Timeline) -> BTreeSet<&'static str> {
    let mut shown = BTreeSet::new();
    for step in &timeline.steps {
        for decision in &step.decisions {
            shown.extend((decision.action == DecisionAction::Deleted).then_some("history"));
            shown.extend(decision.details.iter().map(|field| area_of_detail(decision, field)));
        }
        for state in &step.checkpoint {
            shown.extend(state.fields.iter().map(|field| area_of_field(state, field)));
            shown.extend((!state.is_replica_set() && state.size != "-").then_some(STATUS));
        }
    }
    if matches!(&timeline.events, TimelineEvents::All(all) if !all.is_empty()) {
        shown.insert(EVENTS);
    }
    shown
}

fn area_of_detail(decision: &Decision, field: &KeyValue) -> &'static str {
    area_of(if decision.is_of_replica_set() { Sign::Set(&field.key) } else { Sign::Own(&field.key) })
}

fn area_of_field(state: &State, field: &KeyValue) -> &'static str {
    area_of(match (state.is_replica_set(), field.is_condition()) {
        (true, _) => Sign::Set(&field.key),
        (false, true) => Sign::Condition(&field.key),
        (false, false) => Sign::Own(&field.key),
    })
}

fn area_of_finding(finding: &VerdictFinding) -> &'static str {
    match &finding.kind {
        FindingKind::Breach(breach) => area_of(Sign::Invariant(breach.invariant.name())),
        FindingKind::Divergence(difference) | FindingKind::WrittenBeside(difference, _) => {
            area_of_difference(difference)
        }
        FindingKind::Unexpected(_) | FindingKind::Rule(_) => "rules",
        FindingKind::Unsettled(trouble) | FindingKind::Trouble(trouble) => match trouble.about {
            TroubleTopic::Events => EVENTS,
            TroubleTopic::DeploymentStatus => STATUS,
            TroubleTopic::ReplicaSetStatus | TroubleTopic::Other => REPLICA_SETS,
        },
        FindingKind::Unearned(area, _) => area,
        FindingKind::OtherRun(_) | FindingKind::BothIdle => REPLICA_SETS,
    }
}

/// The area of the first line that differs, by the first word that does.
fn area_of_difference(difference: &Difference) -> &'static str {
    match (difference.expected_line(), difference.actual_line()) {
        (Some(TimelineLine::Decision(one)), Some(TimelineLine::Decision(two)))
            if (&one.object, one.action) == (&two.object, two.action) =>
        {
            differing(&one.details, &two.details).map_or(REPLICA_SETS, |field| area_of_detail(one, field))
        }
        (Some(TimelineLine::State(one)), Some(TimelineLine::State(two))) if one.object == two.object => {
            match differing(&one.fields, &two.fields) {
                _ if one.size != two.size && one.is_replica_set() => REPLICA_SETS,
                _ if one.size != two.size => STATUS,
                field => field.map_or(REPLICA_SETS, |field| area_of_field(one, field)),
            }
        }
        // A line that one side has alone: what it is about.
        (one, two) => match two.filter(|_| difference.is_inserted()).or(one).or(two) {
            Some(TimelineLine::Decision(decision)) => area_of_decision(decision),
            Some(TimelineLine::Event(_) | TimelineLine::Heading(_)) => EVENTS,
            _ => REPLICA_SETS,
        },
    }
}

fn area_of_decision(decision: &Decision) -> &'static str {
    match decision.action {
        DecisionAction::Deleted => "history",
        DecisionAction::Annotated | DecisionAction::Changed => {
            decision.details.first().map_or(REPLICA_SETS, |field| area_of_detail(decision, field))
        }
        _ => REPLICA_SETS,
    }
}

/// The first field that only one side has, or that has two values.
fn differing<'a>(one: &'a [KeyValue], two: &'a [KeyValue]) -> Option<&'a KeyValue> {
    one.iter().find(|field| !two.contains(field)).or_else(|| two.iter().find(|field| !one.contains(field)))
}

#[cfg(test)]
mod tests {
    use lockstep_recording::testing::{RecordingBuilder, deployment, owned_set, ready, revision, scaled, with_patch};
    use lockstep_recording::{Blame, Recording, Trouble};
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::judge;

    fn workload(more: &Value) -> Workload {
        let mut description = json!({"apiVersion": "apps/v1", "kind": "Deployment", "plural": "deployments"});
        description.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Workload::from_json(description).unwrap()
    }

    /// A rollout whose ReplicaSet is scaled to this size.
    fn scaled_to(size: i32, workload: &Workload) -> RecordingBuilder {
        let web = with_patch(&deployment("web", 10, "app:1"), &revision(1));
        let set = with_patch(&owned_set(&web, "1", "app:1", 10), &json!({"status": ready(10)}));
        let builder = RecordingBuilder::rolled_out(10).user_step(1, "scale 12").driver_write(&scaled(&web, 12));
        builder.with_workload(workload).subject_write(&scaled(&set, size))
    }

    /// The rows in which something was counted: area, conformant, not.
    fn rows(score: &Score) -> Vec<(&str, usize, usize)> {
        let counted = score.rows.iter().filter(|row| row.conformant.len() + row.broken.len() > 0);
        counted.map(|row| (row.area, row.conformant.len(), row.broken.len())).collect()
    }

    fn scored(recording: &Recording, workload: &Workload) -> Score {
        let golden = Timeline::from_recording(&scaled_to(12, workload).settled().end());
        let mut score = Score::new(workload);
        score.add(&judge(recording, Some(&golden)));
        score
    }

    #[test]
    fn conformant_case_counts_in_each_area_that_it_shows() {
        let workload = workload(&json!({"unclaimed": ["events", "pause", "annotations"]}));
        let score = scored(&scaled_to(12, &workload).settled().end(), &workload);
        let areas: Vec<&str> = rows(&score).into_iter().map(|(area, ..)| area).collect();
        assert_eq!(areas, ["replicasets", "revisions", "status", "conditions", "bounds", "invariants"]);
        assert_eq!((score.verdicts, score.inconclusive), (1, 0));
    }

    #[test]
    fn case_that_is_not_conformant_counts_once() {
        let workload = workload(&json!({}));
        assert_eq!(rows(&scored(&scaled_to(13, &workload).settled().end(), &workload)), [("replicasets", 0, 1)]);
        let broken_bound = scaled_to(20, &workload).settled().end();
        assert_eq!(rows(&scored(&broken_bound, &workload)), [("bounds", 0, 1)]);
        let topics = [
            (TroubleTopic::DeploymentStatus, "status"),
            (TroubleTopic::Events, "events"),
            (TroubleTopic::ReplicaSetStatus, "replicasets"),
            (TroubleTopic::Other, "replicasets"),
        ];
        for (about, area) in topics {
            // The words are those of another area: they do not count.
            let trouble = Trouble::new(Blame::Subject, "published no Event, has status.replicas 10").about(about);
            let unsettled = scaled_to(12, &workload).unsettled_by(trouble).end();
            assert_eq!(rows(&scored(&unsettled, &workload)), [(area, 0, 1)]);
        }
        let broken = scaled_to(12, &workload).unsettled(Blame::Environment, "etcd").end();
        let score = scored(&broken, &workload);
        assert_eq!((rows(&score), score.verdicts, score.inconclusive), (vec![], 0, 1));
    }

    #[test]
    fn case_without_a_golden_timeline_does_not_count_as_conformant() {
        let workload = workload(&json!({}));
        let mut score = Score::new(&workload);
        score.add(&judge(&scaled_to(12, &workload).settled().end(), None));
        assert_eq!((rows(&score), score.verdicts, score.inconclusive), (vec![], 0, 1));
    }

    #[test]
    fn sizes_that_are_not_claimed_are_not_judged() {
        let workload = workload(&json!({"claims": ["replicasets.creation"]}));
        let score = scored(&scaled_to(20, &workload).settled().end(), &workload);
        assert_eq!(rows(&score), [("replicasets", 1, 0)]);
        let impossible = scaled_to(12, &workload).settled().node_step(2, 1, "ready 1").impossible("no pod").aborted();
        let golden =
            Timeline::from_recording(&scaled_to(12, &workload).settled().node_step(2, 1, "ready 1").settled().end());
        let judgement = judge(&impossible, Some(&golden));
        assert_eq!(judgement.verdict, Verdict::Inconclusive, "{:?}", judgement.findings);
    }
}
