//! Reads from a workload's status how far its rollout is, which decides when the next workload of
//! its group may restart.
//!
//! Everything follows from the object, so a controller that restarts, or that lost the response to
//! its write, comes to the same result. A status that is older than the template says nothing about
//! that template.
//!
//! A Deployment reports a failed rollout itself (`ProgressDeadlineExceeded`). StatefulSets,
//! DaemonSets and a Deployment whose deadline is switched off do not. For those, this controller's
//! own deadline counts from the last write of the template.
//!
//! Cases: `config-restart/safe/one-at-a-time`, `config-restart/safe/stopped-by-a-failed-one`.

use std::time::Duration;

use jiff::Timestamp;
use rollout_model::names::{condition, reason};
use serde_json::Value;

use crate::names::{Deferral, WorkloadKind};

/// The `progressDeadlineSeconds` that switches a Deployment's deadline off, as upstream defines it.
const NO_DEADLINE: i64 = i32::MAX as i64;

/// The progress of a rollout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RolloutPhase {
    /// All pods are of the newest template and available.
    Available,
    /// Pods are being replaced.
    Rolling,
    /// No pods are being replaced, and too few are available.
    Unavailable,
    /// The rollout has failed.
    Failed,
    /// The last observed rollout had failed, and the status is older than the last write, which may
    /// have changed the template or only an annotation.
    Unsure,
}

/// The rollout as the workload's status reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RolloutStatus {
    phase: RolloutPhase,
    /// The phase after the controller's own deadline, if that deadline applies.
    phase_after_deadline: Option<RolloutPhase>,
}

impl RolloutStatus {
    pub(crate) fn read(kind: WorkloadKind, raw: &Value, deferral: Option<Deferral>) -> Self {
        let (spec, status) = (&raw["spec"], &raw["status"]);
        let number = |of: &Value| of.as_i64().unwrap_or_default();
        let desired = spec["replicas"].as_i64().unwrap_or(1);
        let is_observed = number(&status["observedGeneration"]) >= number(&raw["metadata"]["generation"]);
        let rolling = |phase_after_deadline| Self { phase: RolloutPhase::Rolling, phase_after_deadline };
        let without_deadline = |phase| Self { phase, phase_after_deadline: None };
        let by_availability = |available: bool| {
            without_deadline(if available { RolloutPhase::Available } else { RolloutPhase::Unavailable })
        };
        match kind {
            WorkloadKind::Deployment => {
                let available = number(&status["availableReplicas"]) >= desired;
                let updated = number(&status["updatedReplicas"]);
                let progress = progress(status);
                let phase_after_deadline =
                    (number(&spec["progressDeadlineSeconds"]) == NO_DEADLINE).then_some(RolloutPhase::Failed);
                match () {
                    () if deferral.is_some() => by_availability(available),
                    () if !is_observed && progress == Some(reason::TIMED_OUT) => without_deadline(RolloutPhase::Unsure),
                    () if !is_observed => rolling(phase_after_deadline),
                    () if available && updated >= desired && number(&status["replicas"]) == updated => {
                        by_availability(true)
                    }
                    () if progress == Some(reason::TIMED_OUT) => without_deadline(RolloutPhase::Failed),
                    // The rollout had completed before, so the missing pods are not the template's
                    // fault.
                    () if progress == Some(reason::NEW_REPLICA_SET_AVAILABLE) => by_availability(false),
                    () => rolling(phase_after_deadline),
                }
            }
            WorkloadKind::StatefulSet => {
                let ready = status.get("availableReplicas").unwrap_or(&status["readyReplicas"]);
                let available = number(ready) >= desired;
                let partition = number(&spec["updateStrategy"]["rollingUpdate"]["partition"]);
                let updated = number(&status["updatedReplicas"]) >= desired - partition;
                let was_complete = status["currentRevision"] == status["updateRevision"];
                match () {
                    () if deferral.is_some() => by_availability(available),
                    () if is_observed && available && updated => by_availability(true),
                    () if is_observed && was_complete => rolling(Some(RolloutPhase::Unavailable)),
                    () => rolling(Some(RolloutPhase::Failed)),
                }
            }
            WorkloadKind::DaemonSet => {
                let desired = number(&status["desiredNumberScheduled"]);
                let available_count = number(&status["numberAvailable"]);
                let updated = number(&status["updatedNumberScheduled"]) >= desired;
                match () {
                    () if deferral.is_some() => by_availability(available_count >= desired),
                    () if is_observed && available_count >= desired && updated => by_availability(true),
                    // Some pods of the template are available, so the cause is more likely a node.
                    () if is_observed && updated && available_count > 0 => rolling(Some(RolloutPhase::Unavailable)),
                    () => rolling(Some(RolloutPhase::Failed)),
                }
            }
            WorkloadKind::CronJob | WorkloadKind::Job | WorkloadKind::Rollout => {
                without_deadline(RolloutPhase::Available)
            }
        }
    }

    /// The phase at a time, and after how long the deadline changes it. `began` is when the
    /// template was last written.
    pub(crate) fn phase(
        &self,
        began: Option<Timestamp>,
        deadline: Duration,
        now: Timestamp,
    ) -> (RolloutPhase, Option<Duration>) {
        let Some(phase_after_deadline) = self.phase_after_deadline else { return (self.phase, None) };
        // Without a start time there is no sign of a rollout.
        let Some(ends) = began.and_then(|began| began.checked_add(deadline).ok()) else {
            return (RolloutPhase::Unavailable, None);
        };
        match Duration::try_from(ends.duration_since(now)).ok().filter(|left| !left.is_zero()) {
            Some(left) => (self.phase, Some(left)),
            None => (phase_after_deadline, None),
        }
    }
}

fn progress(status: &Value) -> Option<&str> {
    let conditions = status["conditions"].as_array().into_iter().flatten();
    conditions.filter(|of| of["type"] == condition::PROGRESSING).find_map(|of| of["reason"].as_str())
}

#[cfg(test)]
mod tests {
    use RolloutPhase::{Available, Failed, Rolling, Unavailable, Unsure};
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    const DEADLINE: Duration = Duration::from_secs(600);

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// The phase by what each kind reports, 10 s and an hour after the template was written.
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
    fn status_gives_the_phase_before_and_after_the_deadline(
        #[case] kind: WorkloadKind,
        #[case] of: Value,
        #[case] expected: [RolloutPhase; 2],
    ) {
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
        let rollout = RolloutStatus::read(kind, &raw, None);
        let phases = [10, 3600].map(|now| rollout.phase(Some(at(0)), DEADLINE, at(now)).0);
        assert_eq!(phases, expected);
    }

    #[test]
    fn own_deadline_replaces_one_that_is_switched_off() {
        let raw = json!({"metadata": {"generation": 1}, "spec": {"progressDeadlineSeconds": i32::MAX}, "status": {}});
        let rollout = RolloutStatus::read(WorkloadKind::Deployment, &raw, None);
        assert_eq!(rollout.phase(Some(at(0)), DEADLINE, at(10)), (Rolling, Some(Duration::from_secs(590))));
        assert_eq!(rollout.phase(Some(at(0)), DEADLINE, at(600)), (Failed, None));
        assert_eq!(rollout.phase(None, DEADLINE, at(600)), (Unavailable, None), "nothing is known of a rollout");
    }

    #[rstest]
    #[case::paused(WorkloadKind::Deployment, Deferral::Paused)]
    #[case::on_delete(WorkloadKind::StatefulSet, Deferral::OnDelete)]
    #[case::on_delete_daemons(WorkloadKind::DaemonSet, Deferral::OnDelete)]
    fn held_rollout_is_only_available_or_unavailable(#[case] kind: WorkloadKind, #[case] deferral: Deferral) {
        let phase = |available: i64| {
            let raw = json!({"metadata": {"generation": 9}, "spec": {"replicas": 2}, "status": {"updatedReplicas": 0,
                "availableReplicas": available, "numberAvailable": available, "desiredNumberScheduled": 2}});
            RolloutStatus::read(kind, &raw, Some(deferral)).phase(None, DEADLINE, at(0)).0
        };
        assert_eq!([phase(2), phase(1)], [Available, Unavailable]);
    }
}
