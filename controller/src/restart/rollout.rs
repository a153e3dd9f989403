//! How far the rollout of a workload is, by its status: what decides when the next one of its group
//! has its turn.
//!
//! Everything follows from the object, so a controller that starts anew, or that has lost the
//! answer to its write, sees the same. A status that is older than the template says nothing of it.
//!
//! A Deployment says itself when its rollout has failed (`ProgressDeadlineExceeded`). StatefulSets,
//! DaemonSets and a Deployment whose deadline is switched off do not; those have the controller's
//! own, from the last write of the template.
//!
//! Cases: `config-restart/one-at-a-time`, `config-restart/stopped-by-a-failed-one`.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::workload_kind::{Held, WorkloadKind};
use crate::model::names::{condition, reason};

/// The deadline of a Deployment that has none: the greatest that a number of 32 bits can be.
const NO_DEADLINE: i64 = i32::MAX as i64;

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// All pods are of the newest template and available.
    Available,
    /// Pods are being replaced.
    Rolling,
    /// Nothing is being replaced, and too few pods are available.
    Unavailable,
    /// The rollout has failed.
    Failed,
    /// It had failed, and the status is older than the last write, which may have changed the
    /// template or an annotation alone.
    Unsure,
}

/// What the status says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rollout {
    phase: Phase,
    /// Whether the phase turns into another once the controller's own deadline has passed, and into
    /// which.
    late: Option<Phase>,
}

impl Rollout {
    /// Reads it.
    pub(super) fn read(kind: WorkloadKind, raw: &Value, held: Option<Held>) -> Self {
        let (spec, status) = (&raw["spec"], &raw["status"]);
        let number = |of: &Value| of.as_i64().unwrap_or_default();
        let wanted = spec["replicas"].as_i64().unwrap_or(1);
        let is_observed = number(&status["observedGeneration"]) >= number(&raw["metadata"]["generation"]);
        let rolling = |late| Self { phase: Phase::Rolling, late };
        let is = |phase| Self { phase, late: None };
        let whether = |available: bool| is(if available { Phase::Available } else { Phase::Unavailable });
        match kind {
            WorkloadKind::Deployment => {
                let available = number(&status["availableReplicas"]) >= wanted;
                let updated = number(&status["updatedReplicas"]);
                let progress = progress(status);
                let late = (number(&spec["progressDeadlineSeconds"]) == NO_DEADLINE).then_some(Phase::Failed);
                match () {
                    () if held.is_some() => whether(available),
                    () if !is_observed && progress == Some(reason::TIMED_OUT) => is(Phase::Unsure),
                    () if !is_observed => rolling(late),
                    () if available && updated >= wanted && number(&status["replicas"]) == updated => whether(true),
                    () if progress == Some(reason::TIMED_OUT) => is(Phase::Failed),
                    // It was complete before, so it is not the template that it lacks pods for.
                    () if progress == Some(reason::NEW_REPLICA_SET_AVAILABLE) => whether(false),
                    () => rolling(late),
                }
            }
            WorkloadKind::StatefulSet => {
                let ready = status.get("availableReplicas").unwrap_or(&status["readyReplicas"]);
                let available = number(ready) >= wanted;
                let partition = number(&spec["updateStrategy"]["rollingUpdate"]["partition"]);
                let updated = number(&status["updatedReplicas"]) >= wanted - partition;
                let was_complete = status["currentRevision"] == status["updateRevision"];
                match () {
                    () if held.is_some() => whether(available),
                    () if is_observed && available && updated => whether(true),
                    () if is_observed && was_complete => rolling(Some(Phase::Unavailable)),
                    () => rolling(Some(Phase::Failed)),
                }
            }
            WorkloadKind::DaemonSet => {
                let wanted = number(&status["desiredNumberScheduled"]);
                let some = number(&status["numberAvailable"]);
                let updated = number(&status["updatedNumberScheduled"]) >= wanted;
                match () {
                    () if held.is_some() => whether(some >= wanted),
                    () if is_observed && some >= wanted && updated => whether(true),
                    // Some pods of the template are fine, so it is rather a node that is not.
                    () if is_observed && updated && some > 0 => rolling(Some(Phase::Unavailable)),
                    () => rolling(Some(Phase::Failed)),
                }
            }
            WorkloadKind::CronJob | WorkloadKind::Job | WorkloadKind::Rollout => is(Phase::Available),
        }
    }

    /// How far it is at a moment, and after how long that changes by itself; `began`: when the
    /// template was last written.
    pub(super) fn phase(
        &self,
        began: Option<Timestamp>,
        deadline: Duration,
        now: Timestamp,
    ) -> (Phase, Option<Duration>) {
        let Some(late) = self.late else { return (self.phase, None) };
        // Nothing is known of when it began, so nothing is known of a rollout.
        let Some(ends) = began.and_then(|began| began.checked_add(deadline).ok()) else {
            return (Phase::Unavailable, None);
        };
        match Duration::try_from(ends.duration_since(now)).ok().filter(|left| !left.is_zero()) {
            Some(left) => (self.phase, Some(left)),
            None => (late, None),
        }
    }
}

/// The reason of a Deployment's condition `Progressing`.
fn progress(status: &Value) -> Option<&str> {
    let conditions = status["conditions"].as_array().into_iter().flatten();
    conditions.filter(|of| of["type"] == condition::PROGRESSING).find_map(|of| of["reason"].as_str())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    use Phase::{Available, Failed, Rolling, Unavailable, Unsure};

    const DEADLINE: Duration = Duration::from_secs(600);

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// By what the kinds report, 10 s and an hour after the template was written.
    #[rstest]
    #[case::complete(WorkloadKind::Deployment, json!([2, 2, 2, 2, "NewReplicaSetAvailable"]), [Available, Available])]
    #[case::not_observed(WorkloadKind::Deployment, json!([1, 2, 2, 2, "NewReplicaSetAvailable"]), [Rolling, Rolling])]
    #[case::old_pods(WorkloadKind::Deployment, json!([2, 3, 2, 2, "ReplicaSetUpdated"]), [Rolling, Rolling])]
    #[case::not_available(WorkloadKind::Deployment, json!([2, 2, 2, 1, "ReplicaSetUpdated"]), [Rolling, Rolling])]
    #[case::failed(WorkloadKind::Deployment, json!([2, 3, 1, 2, "ProgressDeadlineExceeded"]), [Failed, Failed])]
    #[case::failed_before(WorkloadKind::Deployment, json!([1, 3, 1, 2, "ProgressDeadlineExceeded"]), [Unsure, Unsure])]
    #[case::lost_a_pod(WorkloadKind::Deployment, json!([2, 2, 2, 1, "NewReplicaSetAvailable"]), [Unavailable, Unavailable])]
    #[case::no_status(WorkloadKind::Deployment, json!([]), [Rolling, Rolling])]
    #[case::set(WorkloadKind::StatefulSet, json!([2, "b", 2, 2]), [Available, Available])]
    #[case::set_rolling(WorkloadKind::StatefulSet, json!([2, "b", 1, 2]), [Rolling, Failed])]
    #[case::set_not_ready(WorkloadKind::StatefulSet, json!([2, "b", 2, 1]), [Rolling, Failed])]
    #[case::set_lost_a_pod(WorkloadKind::StatefulSet, json!([2, "a", 2, 1]), [Rolling, Unavailable])]
    #[case::set_not_observed(WorkloadKind::StatefulSet, json!([1, "a", 2, 2]), [Rolling, Failed])]
    #[case::daemon(WorkloadKind::DaemonSet, json!([2, 2, 2, 2]), [Available, Available])]
    #[case::daemon_rolling(WorkloadKind::DaemonSet, json!([2, 2, 1, 1]), [Rolling, Failed])]
    #[case::daemon_none(WorkloadKind::DaemonSet, json!([2, 1, 1, 0]), [Rolling, Failed])]
    #[case::daemon_lost_a_node(WorkloadKind::DaemonSet, json!([2, 3, 3, 2]), [Rolling, Unavailable])]
    fn by_status(#[case] kind: WorkloadKind, #[case] of: Value, #[case] expected: [Phase; 2]) {
        let status = match kind {
            WorkloadKind::Deployment => {
                json!({"observedGeneration": of[0], "replicas": of[1], "updatedReplicas": of[2],
                "availableReplicas": of[3], "conditions": [{"type": "Progressing", "reason": of[4]}]})
            }
            WorkloadKind::StatefulSet => json!({"observedGeneration": of[0], "currentRevision": "a",
                "updateRevision": of[1], "updatedReplicas": of[2], "readyReplicas": of[3]}),
            _ => json!({"observedGeneration": of[0], "desiredNumberScheduled": of[1],
                "updatedNumberScheduled": of[2], "numberAvailable": of[3]}),
        };
        let raw = json!({"metadata": {"generation": 2}, "spec": {"replicas": 2}, "status": status});
        let rollout = Rollout::read(kind, &raw, None);
        let phases = [10, 3600].map(|now| rollout.phase(Some(at(0)), DEADLINE, at(now)).0);
        assert_eq!(phases, expected);
    }

    #[test]
    fn a_deadline_that_is_switched_off_is_the_controllers_own() {
        let raw = json!({"metadata": {"generation": 1}, "spec": {"progressDeadlineSeconds": i32::MAX}, "status": {}});
        let rollout = Rollout::read(WorkloadKind::Deployment, &raw, None);
        assert_eq!(rollout.phase(Some(at(0)), DEADLINE, at(10)), (Rolling, Some(Duration::from_secs(590))));
        assert_eq!(rollout.phase(Some(at(0)), DEADLINE, at(600)), (Failed, None));
        assert_eq!(rollout.phase(None, DEADLINE, at(600)), (Unavailable, None), "nothing is known of a rollout");
    }

    #[rstest]
    #[case::paused(WorkloadKind::Deployment, Held::Paused)]
    #[case::on_delete(WorkloadKind::StatefulSet, Held::OnDelete)]
    #[case::on_delete_daemons(WorkloadKind::DaemonSet, Held::OnDelete)]
    fn what_replaces_no_pods_has_no_rollout(#[case] kind: WorkloadKind, #[case] held: Held) {
        let phase = |available: i64| {
            let raw = json!({"metadata": {"generation": 9}, "spec": {"replicas": 2}, "status": {"updatedReplicas": 0,
                "availableReplicas": available, "numberAvailable": available, "desiredNumberScheduled": 2}});
            Rollout::read(kind, &raw, Some(held)).phase(None, DEADLINE, at(0)).0
        };
        assert_eq!([phase(2), phase(1)], [Available, Unavailable]);
    }
}
