//! What a Deployment's timeline and a workload's can share: the workload says itself what it leaves
//! out ([`Uncompared`]).
//!
//! Applied to both sides, the golden timeline and the subject's, so that neither shows what is not
//! compared.

use std::sync::Arc;

use super::model::{Action, Events, Field, Timeline};
use super::order as orders;
use crate::workload::{Uncompared, Workload};

/// What stands for `status.replicas` where a workload reports none.
const UNCLAIMED: &str = "-";

impl Timeline {
    /// The same without what is not compared of this workload.
    #[must_use]
    pub fn shared_with(mut self, workload: &Workload) -> Self {
        let Uncompared { details, creation, order, events, .. } = &workload.uncompared;
        let is_shared = |keys: &[String], field: &Field| !keys.contains(&field.key);
        for step in &mut self.steps {
            step.decisions.retain_mut(|decision| {
                let had = !decision.details.is_empty();
                decision.details.retain(|field| is_shared(details, field));
                // Where nothing else was written, nothing is left of it.
                let emptied = had && decision.details.is_empty();
                !emptied || !matches!(decision.action, Action::Annotated | Action::Changed)
            });
            if *creation {
                step.decisions = orders::sized_at_creation(std::mem::take(&mut step.decisions));
            }
            if *order {
                step.decisions = orders::net(std::mem::take(&mut step.decisions));
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
                        UNCLAIMED.clone_into(&mut state.size);
                    }
                }
            }
        }
        if *events {
            self.events = Events::NotCompared(format!("a {} has Events of its own", workload.kind));
        }
        self
    }
}

/// `Available=True(MinimumReplicasAvailable)`: the only fields whose keys begin with a capital.
fn is_condition(field: &Field) -> bool {
    field.key.starts_with(|first: char| first.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::super::model::Invariant;
    use super::*;

    #[test]
    fn what_is_not_compared_is_left_out_and_nothing_else() {
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
        let shared = timeline(before).shared_with(&"argo-rollouts".parse().unwrap());
        assert_eq!(shared.steps, timeline(after).steps);
        assert!(matches!(shared.events, Events::NotCompared(_)));
        let described =
            serde_json::json!({"apiVersion": "a/v1", "kind": "X", "plural": "xs", "paths": {"/status": null}});
        let shared = timeline(before).shared_with(&Workload::from_json(described).unwrap());
        assert_eq!(shared.steps[0].checkpoint[1].to_string(), "web - revision=1");
    }

    #[test]
    fn a_workload_can_leave_out_each_invariant() {
        let names: Vec<&str> = Invariant::ALL.into_iter().map(Invariant::name).collect();
        let description = serde_json::json!({"apiVersion": "a/v1", "kind": "X", "plural": "xs",
            "uncompared": {"invariants": names}});
        let workload = Workload::from_json(description).unwrap();
        assert!(names.iter().all(|name| !workload.claims_invariant(name)));
    }
}
