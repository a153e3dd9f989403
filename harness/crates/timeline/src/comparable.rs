//! Reduces timelines to what a workload's controller claims to do as upstream does for Deployments.
//!
//! It is applied to both the golden timeline and the subject's, so that neither shows what is not
//! compared.

use std::sync::Arc;

use lockstep_workload::{Claim, Workload};

use super::model::{Decision, DecisionAction, KeyValue, State, Timeline, TimelineEvents, TimelineStep};
use super::order as orders;

/// Replaces a number of replicas that is not compared.
const NOT_COMPARED: &str = "-";

impl Timeline {
    /// Removes everything that this workload's controller does not claim.
    #[must_use]
    pub fn comparable_with(mut self, workload: &Workload) -> Self {
        let has = |claim| workload.has_claimed(claim);
        if !has(Claim::Sizes) {
            self.steps = join_parts(self.steps);
        }
        for step in &mut self.steps {
            step.decisions = std::mem::take(&mut step.decisions)
                .into_iter()
                .filter_map(|decision| claimed_part(decision, workload))
                .collect();
            if !has(Claim::InitialSize) {
                step.decisions = orders::merge_initial_resizes(std::mem::take(&mut step.decisions));
            }
            if !has(Claim::Order) {
                step.decisions = orders::net_effect(std::mem::take(&mut step.decisions));
            }
            // An old ReplicaSet may stay.
            step.checkpoint.retain(|state| has(Claim::History) || !has(Claim::Sizes) || !state.is_empty_set());
            step.checkpoint.iter_mut().map(Arc::make_mut).for_each(|state| reduce_state(state, workload));
        }
        if !has(Claim::Events) {
            self.events = TimelineEvents::NotCompared(format!("the controller of a {} claims none", workload.kind));
        }
        self
    }
}

/// Joins sub-steps with the step before: how many there are, and whether any, depends on the pods.
fn join_parts(steps: Vec<TimelineStep>) -> Vec<TimelineStep> {
    let mut joined: Vec<TimelineStep> = Vec::new();
    for mut step in steps {
        match joined.last_mut() {
            Some(last) if step.id.part > 0 => {
                last.injections.append(&mut step.injections);
                last.decisions.append(&mut step.decisions);
                last.breaches.append(&mut step.breaches);
                // A step that was not completed has none.
                if !step.checkpoint.is_empty() {
                    last.checkpoint = step.checkpoint;
                }
            }
            _ => joined.push(step),
        }
    }
    joined
}

/// What a workload's controller claims of a decision.
fn claimed_part(mut decision: Decision, workload: &Workload) -> Option<Decision> {
    let is_of_set = decision.is_of_replica_set();
    let had = !decision.details.is_empty();
    decision.details.retain(|field| match is_of_set {
        true => workload.claims_of_set(&field.key),
        false => workload.claims_own(&field.key),
    });
    let emptied = had && decision.details.is_empty();
    let (sizes, details) = (workload.has_claimed(Claim::Sizes), std::mem::take(&mut decision.details));
    let action = match decision.action {
        // If nothing else was written, the decision is omitted.
        DecisionAction::Annotated | DecisionAction::Changed if emptied => return None,
        DecisionAction::Deleted if is_of_set && !workload.has_claimed(Claim::History) => return None,
        DecisionAction::Adopted | DecisionAction::Released if !workload.has_claimed(Claim::Adoption) => return None,
        DecisionAction::Pods if !sizes => return None,
        DecisionAction::Resized { .. } if !sizes && details.is_empty() => return None,
        DecisionAction::Resized { .. } if !sizes => DecisionAction::Annotated,
        DecisionAction::Created(_) if is_of_set && !sizes => {
            let created = KeyValue { key: "created".to_owned(), value: "true".to_owned() };
            let details = std::iter::once(created).chain(details).collect();
            return Some(Decision { action: DecisionAction::Changed, details, ..decision });
        }
        action => action,
    };
    Some(Decision { action, details, ..decision })
}

/// Removes what a workload's controller does not claim of the state of an object.
fn reduce_state(state: &mut State, workload: &Workload) {
    if let Some((desired, actual)) = state.size.split_once('/') {
        let (sizes, pods) = (workload.has_claimed(Claim::Sizes), workload.claims_of_set("replicas"));
        let desired = if sizes { desired } else { NOT_COMPARED };
        let actual = if sizes && pods { actual } else { NOT_COMPARED };
        state.size = format!("{desired}/{actual}");
        // A ReplicaSet's condition is about its pods.
        state.fields.retain(|field| match field.is_condition() {
            true => workload.claims_of_set("pods"),
            false => workload.claims_of_set(&field.key),
        });
        return;
    }
    state.fields.retain(|field| match field.is_condition() {
        true => workload.claims_condition(&field.key),
        false => workload.claims_own(&field.key),
    });
    if !workload.claims_own("replicas") {
        NOT_COMPARED.clone_into(&mut state.size);
    }
    // The server counts a Deployment's annotations as a generation, and not a custom resource's.
    if !workload.is_deployment() {
        for field in state.fields.iter_mut().filter(|field| field.key == "generation") {
            let is_seen = field.value.split_once('/').is_some_and(|(observed, generation)| observed == generation);
            (if is_seen { "seen" } else { "unseen" }).clone_into(&mut field.value);
        }
    }
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
    fn generations_of_custom_resources_are_counted_otherwise() {
        let shared = |generation: &str, version: &str, kind: &str, plural: &str| {
            let text = format!("given   x\n      = web 1 generation={generation}\nevents  none\n");
            let description = serde_json::json!({"apiVersion": version, "kind": kind, "plural": plural});
            let workload = Workload::from_json(description).unwrap();
            Timeline::parse(&text).unwrap().comparable_with(&workload).steps[0].checkpoint[0].to_string()
        };
        assert_eq!(shared("2/2", "a/v1", "X", "xs"), shared("1/1", "a/v1", "X", "xs"));
        assert_eq!(shared("1/2", "a/v1", "X", "xs"), "web 1 generation=unseen");
        assert_eq!(shared("2/2", "apps/v1", "Deployment", "deployments"), "web 1 generation=2/2");
    }

    #[test]
    fn nothing_unclaimed_is_left() {
        let before = "\
given   x
        rs1 created 2  revision=1 desired=2 max=3
        web revision=1
      = rs1 2/2 ready=2 available=2 revision=1 desired=2 max=3 pods=2
      = web 2 updated=2 ready=2 available=2 generation=1/1 revision=1 Available=True(MinimumReplicasAvailable)
step 1  scale 2
      = rs1 2/2 ready=2 pods=2
      = web 2 updated=2
step 2.1  ready 1
        rs2 created 1  revision=2 desired=2 max=3 name=unusual
        rs1 2 -> 1  desired=1
        rs1 adopted
        rs1 annotated  history=1
        rs3 deleted
        web collisionCount=1
      = rs1 0/0 revision=1
      = rs2 2/2 ready=2 pods=2 ReplicaFailure=True(FailedCreate)
      = web 2 paused=true
events  none
";
        let after = "\
given   x
        rs1 created=true
      = rs1 -/-
      = web -
step 1  scale 2
        rs2 created=true
      = rs1 -/-
      = rs2 -/-
      = web -
";
        let description = serde_json::json!({"apiVersion": "a/v1", "kind": "X", "plural": "xs",
            "claims": ["replicasets.creation"]});
        let reduced = Timeline::parse(before).unwrap().comparable_with(&Workload::from_json(description).unwrap());
        assert_eq!(reduced.steps, Timeline::parse(after).unwrap().steps);
        assert!(matches!(reduced.events, TimelineEvents::NotCompared(_)));
    }

    #[test]
    fn workload_can_exclude_each_invariant() {
        // Which fields are the spec of another kind is not known.
        let all = Invariant::ALL.into_iter().filter(|invariant| *invariant != Invariant::Spec);
        let names: Vec<&str> = all.map(Invariant::name).collect();
        let description = serde_json::json!({"apiVersion": "a/v1", "kind": "X", "plural": "xs",
            "claims": ["replicasets.creation"]});
        let workload = Workload::from_json(description).unwrap();
        assert!(names.iter().all(|name| !workload.claims_invariant(name)));
        let all = serde_json::json!({"apiVersion": "a/v1", "kind": "X", "plural": "xs"});
        let workload = Workload::from_json(all).unwrap();
        assert!(names.iter().all(|name| workload.claims_invariant(name)));
    }
}
