//! Reduces timelines to what a Deployment and another workload have in common: the description of
//! the workload lists what is not compared ([`ComparisonExclusions`]).
//!
//! It is applied to both the golden timeline and the subject's, so that neither shows what is not
//! compared.

use std::sync::Arc;

use lockstep_workload::{ComparisonExclusions, Workload};

use super::model::{DecisionAction, KeyValue, Timeline, TimelineEvents};
use super::order as orders;

/// Replaces `status.replicas` if a workload does not report it.
const NOT_REPORTED: &str = "-";

impl Timeline {
    /// Removes everything that is not compared for this workload.
    #[must_use]
    pub fn comparable_with(mut self, workload: &Workload) -> Self {
        let ComparisonExclusions { details, creation, order, events, .. } = &workload.uncompared;
        let is_shared = |keys: &[String], field: &KeyValue| !keys.contains(&field.key);
        for step in &mut self.steps {
            step.decisions.retain_mut(|decision| {
                let had = !decision.details.is_empty();
                decision.details.retain(|field| is_shared(details, field));
                // If nothing else was written, the decision is omitted.
                let emptied = had && decision.details.is_empty();
                !emptied || !matches!(decision.action, DecisionAction::Annotated | DecisionAction::Changed)
            });
            if *creation {
                step.decisions = orders::merge_initial_resizes(std::mem::take(&mut step.decisions));
            }
            if *order {
                step.decisions = orders::net_effect(std::mem::take(&mut step.decisions));
            }
            for state in step.checkpoint.iter_mut().map(Arc::make_mut) {
                if state.is_replica_set() {
                    state.fields.retain(|field| is_shared(details, field));
                } else {
                    state.fields.retain(|field| match is_condition(field) {
                        true => workload.claims_conditions(),
                        false => workload.claims_status(&field.key),
                    });
                    if !workload.claims_status("replicas") {
                        NOT_REPORTED.clone_into(&mut state.size);
                    }
                }
            }
        }
        if *events {
            self.events = TimelineEvents::NotCompared(format!("a {} has Events of its own", workload.kind));
        }
        self
    }
}

/// Whether this is a condition: only their keys begin with a capital, as in
/// `Available=True(MinimumReplicasAvailable)`.
fn is_condition(field: &KeyValue) -> bool {
    field.key.starts_with(|first: char| first.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::super::model::Invariant;
    use super::*;

    #[test]
    fn removes_only_what_is_not_compared() {
        let before = "\
given   x
        rs1 created 0  revision=1 desired=1 max=2
        rs1 0 -> 1
        rs1 annotated  max=3
        web revision=1
      = rs1 1/1 ready=1 available=1 revision=1 desired=1 max=3 pods=1 ReplicaFailure=True(FailedCreate)
      = web 1 updated=1 ready=1 available=1 generation=2/2 revision=1 Available=True(MinimumReplicasAvailable)
events
        Normal ScalingReplicaSet \"Scaled up replica set rs1 from 0 to 1\"  ×1
";
        let after = "\
given   x
        rs1 created 1  revision=1 desired=1
        web revision=1
      = rs1 1/1 ready=1 available=1 revision=1 desired=1 pods=1 ReplicaFailure=True(FailedCreate)
      = web 1 updated=1 ready=1 available=1 revision=1
";
        let timeline = |text: &str| Timeline::parse(text).unwrap();
        let shared = timeline(before).comparable_with(&"argo-rollouts".parse().unwrap());
        assert_eq!(shared.steps, timeline(after).steps);
        assert!(matches!(shared.events, TimelineEvents::NotCompared(_)));
        let described =
            serde_json::json!({"apiVersion": "a/v1", "kind": "X", "plural": "xs", "paths": {"/status": null}});
        let shared = timeline(before).comparable_with(&Workload::from_json(described).unwrap());
        assert_eq!(shared.steps[0].checkpoint[1].to_string(), "web - revision=1");
    }

    #[test]
    fn workload_can_exclude_each_invariant() {
        let names: Vec<&str> = Invariant::ALL.into_iter().map(Invariant::name).collect();
        let description = serde_json::json!({"apiVersion": "a/v1", "kind": "X", "plural": "xs",
            "uncompared": {"invariants": names}});
        let workload = Workload::from_json(description).unwrap();
        assert!(names.iter().all(|name| !workload.claims_invariant(name)));
    }
}
