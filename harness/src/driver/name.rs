//! Pods that the case knows by name, and what it says of them: where they run, since when they are
//! ready, what their deletion costs.
//!
//! All of it is written as a scheduler, a kubelet or a user writes it. Times are offsets from one
//! moment that all pods of a step share, so that two that are to be equal are.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::attend::bind_held;
use super::{DriveError, Driver, PodOperation, next_pods};
use crate::case::model::{Naming, Phase, Place, Readiness, Traits};
use crate::clock;
use crate::observe::{Kind, Object};
use crate::pointer::At;

/// The annotation that a deletion cost is read from.
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

impl Driver {
    /// Give pods their names and traits.
    ///
    /// # Errors
    /// [`DriveError::Impossible`] where there are fewer pods than names.
    pub(super) async fn name(&self, naming: &Naming) -> Result<(), DriveError> {
        let now = clock::now();
        for (name, traits) in &naming.names {
            let pod = self.called(name, naming)?;
            self.give(&pod, traits, now).await?;
        }
        Ok(())
    }

    /// The real names of the pods that have been named since the last call, by the case's names.
    pub fn take_named(&self) -> BTreeMap<String, String> {
        std::mem::take(&mut self.named.lock().unwrap_or_else(std::sync::PoisonError::into_inner).new_names)
    }

    /// The real names of all pods that have been named.
    pub fn named(&self) -> BTreeMap<String, String> {
        self.named.lock().unwrap_or_else(std::sync::PoisonError::into_inner).all.clone()
    }

    /// The pod of this name, or the oldest without one, which then has it.
    fn called(&self, name: &str, naming: &Naming) -> Result<Object, DriveError> {
        let known = self.named();
        if let Some(real) = known.get(name) {
            let found = self.world.get(Kind::Pod, &self.namespace, real);
            return found.ok_or_else(|| DriveError::Impossible(format!("pod {name} is gone")));
        }
        let pods = next_pods(&self.world, &self.namespace, PodOperation::Name, &naming.of, &known, usize::MAX);
        let next = pods.into_iter().find(|pod| !known.values().any(|taken| *taken == pod.name));
        let pod = next.ok_or_else(|| DriveError::Impossible(format!("there is no pod left to be called {name}")))?;
        let mut named = self.named.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        named.all.insert(name.to_owned(), pod.name.clone());
        named.new_names.insert(name.to_owned(), pod.name.clone());
        Ok(pod)
    }

    async fn give(&self, pod: &Object, traits: &Traits, now: Timestamp) -> Result<(), DriveError> {
        if let Some(Place::On(node)) = &traits.node {
            self.bind(pod, &format!("lockstep-{node}")).await?;
        }
        let api = self.api("v1", "Pod");
        if let Some(cost) = &traits.deletion_cost {
            let patch = Patch::Merge(json!({"metadata": {"annotations": {DELETION_COST: cost}}}));
            self.wrote(Kind::Pod, &api.patch(&pod.name, &PatchParams::default(), &patch).await?);
        }
        if let Some(status) = status(pod, traits, now) {
            let patch = Patch::Merge(json!({"status": status}));
            self.wrote(Kind::Pod, &api.patch_status(&pod.name, &PatchParams::default(), &patch).await?);
        }
        Ok(())
    }

    /// Bind a pod to a node of the harness's, as a scheduler does.
    pub(super) async fn bind(&self, pod: &Object, node: &str) -> Result<(), DriveError> {
        let pods = kube::Api::namespaced(self.client.clone(), &self.namespace);
        bind_held(&self.nodes, &pods, pod, node).await?;
        // A binding's answer does not say which version of the pod it made.
        self.wrote(Kind::Pod, &self.api("v1", "Pod").get(&pod.name).await?);
        Ok(())
    }
}

/// The part of a pod's status that its traits speak of, if any of them does.
fn status(pod: &Object, traits: &Traits, now: Timestamp) -> Option<Value> {
    let Traits { phase, ready, restarts, sidecar_restarts, .. } = traits;
    if phase.is_none() && ready.is_none() && restarts.is_none() && sidecar_restarts.is_none() {
        return None;
    }
    let mut status = json!({"phase": phase.unwrap_or(Phase::Running).as_str()});
    if phase.is_some() || ready.is_some() {
        let is = matches!(ready, Some(Readiness::Since(_) | Readiness::SinceUnknown));
        let since = match ready {
            Some(Readiness::Since(seconds)) => now.checked_add(jiff::SignedDuration::from_secs(*seconds)).ok(),
            Some(Readiness::SinceUnknown) => None,
            Some(Readiness::No) | None => Some(now),
        };
        let condition = |kind: &str, is: bool| {
            let mut condition = json!({"type": kind, "status": if is { "True" } else { "False" }});
            if let Some(since) = since {
                condition["lastTransitionTime"] = clock::to_rfc3339(since).into();
            }
            condition
        };
        status["conditions"] = json!([condition("ContainersReady", is), condition("Ready", is)]);
    }
    let counted = |pointer: &str, restarts: i64, only: fn(&Value) -> bool| {
        let containers = pod.value.at(pointer).and_then(Value::as_array).into_iter().flatten();
        let one = |(at, container): (usize, &Value)| {
            let count = if at == 0 { restarts } else { 0 };
            json!({"name": container["name"], "image": container["image"], "imageID": "", "ready": true, "restartCount": count})
        };
        containers.filter(|container| only(container)).enumerate().map(one).collect::<Value>()
    };
    if let Some(restarts) = restarts {
        status["containerStatuses"] = counted("/spec/containers", *restarts, |_| true);
    }
    if let Some(restarts) = sidecar_restarts {
        let always = |container: &Value| container["restartPolicy"] == "Always";
        status["initContainerStatuses"] = counted("/spec/initContainers", *restarts, always);
    }
    Some(status)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn written(traits: &Traits) -> Option<Value> {
        let value = json!({"spec": {"containers": [{"name": "app", "image": "app:1"}, {"name": "b", "image": "b:1"}],
            "initContainers": [{"name": "init", "image": "i:1"}, {"name": "side", "image": "s:1", "restartPolicy": "Always"}]}});
        let pod = Object { name: "a".to_owned(), first: 1, value: Arc::new(value) };
        status(&pod, traits, "2026-11-21T12:00:00Z".parse().unwrap())
    }

    #[test]
    fn what_is_not_said_is_not_written() {
        let traits = Traits { deletion_cost: Some("5".to_owned()), node: Some(Place::Nowhere), ..Traits::default() };
        assert_eq!(written(&traits), None);
        let restarts = written(&Traits { restarts: Some(3), ..Traits::default() }).unwrap();
        assert!(restarts["conditions"].is_null() && restarts["phase"] == "Running", "{restarts}");
        let counts = restarts["containerStatuses"].as_array().unwrap();
        assert_eq!((counts[0]["restartCount"].as_i64(), counts[1]["restartCount"].as_i64()), (Some(3), Some(0)));
    }

    #[test]
    fn ready_times_are_offsets_from_one_moment() {
        let ready =
            |ready| written(&Traits { ready: Some(ready), ..Traits::default() }).unwrap()["conditions"][1].clone();
        assert_eq!(ready(Readiness::Since(-7200))["lastTransitionTime"], "2026-11-21T10:00:00Z");
        assert_eq!(ready(Readiness::Since(60))["lastTransitionTime"], "2026-11-21T12:01:00Z");
        let unknown = ready(Readiness::SinceUnknown);
        assert!(unknown["status"] == "True" && unknown["lastTransitionTime"].is_null(), "{unknown}");
        assert_eq!(ready(Readiness::No)["status"], "False");
    }

    #[test]
    fn only_sidecars_have_a_sidecars_restarts() {
        let status = written(&Traits { sidecar_restarts: Some(2), ..Traits::default() }).unwrap();
        let init = status["initContainerStatuses"].as_array().unwrap();
        assert!(init.len() == 1 && init[0]["name"] == "side" && init[0]["restartCount"] == 2, "{init:?}");
    }
}
