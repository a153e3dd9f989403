//! Pods that the case knows by name, and their traits: their node, since when they are ready, the
//! cost of their deletion.
//!
//! Each trait is written as a scheduler, a kubelet or a user would. Times are offsets from one
//! moment for all pods of a step, so equal offsets give equal times.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use lockstep_case::model::{NamedPodTraits, NodeBinding, PodNaming, PodPhase, Readiness};
use lockstep_support::clock;
use lockstep_support::pointer::JsonPointer;
use serde_json::{Value, json};

use super::kubelet::bind_held;
use super::{DriveError, Driver, PodOperation, drive_error, next_pods};
use crate::observe::{CachedObject, WatchedKind};

/// The annotation that a deletion cost is read from.
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

impl Driver {
    /// Give pods their names and traits.
    ///
    /// # Errors
    /// [`DriveError::Impossible`] if there are fewer pods than names.
    pub(super) async fn name(&self, naming: &PodNaming) -> Result<(), DriveError> {
        let now = clock::now();
        for (name, traits) in &naming.names {
            let pod = self.find_or_name(name, naming)?;
            self.apply_traits(&pod, traits, now).await?;
        }
        Ok(())
    }

    /// The pods named since the last call: their real names by the case's names.
    pub(crate) fn take_new_pod_names(&self) -> BTreeMap<String, String> {
        std::mem::take(&mut self.pod_names.lock().unwrap_or_else(std::sync::PoisonError::into_inner).new_names)
    }

    /// The real names of all named pods, by the case's names.
    pub(crate) fn pod_names(&self) -> BTreeMap<String, String> {
        self.pod_names.lock().unwrap_or_else(std::sync::PoisonError::into_inner).all.clone()
    }

    /// The pod of this name. If there is none, gives the name to the oldest pod without one.
    fn find_or_name(&self, name: &str, naming: &PodNaming) -> Result<CachedObject, DriveError> {
        let known = self.pod_names();
        if let Some(real) = known.get(name) {
            let found = self.cache.get(WatchedKind::Pod, &self.namespace, real);
            return found.ok_or_else(|| DriveError::Impossible(format!("pod {name} is gone")));
        }
        let pods = next_pods(&self.cache, &self.namespace, PodOperation::Name, &naming.of, &known, usize::MAX);
        let next = pods.into_iter().find(|pod| !known.values().any(|taken| *taken == pod.name));
        let pod = next.ok_or_else(|| DriveError::Impossible(format!("there is no pod left to be called {name}")))?;
        let mut names = self.pod_names.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        names.all.insert(name.to_owned(), pod.name.clone());
        names.new_names.insert(name.to_owned(), pod.name.clone());
        Ok(pod)
    }

    async fn apply_traits(
        &self,
        pod: &CachedObject,
        traits: &NamedPodTraits,
        now: Timestamp,
    ) -> Result<(), DriveError> {
        if let Some(NodeBinding::Node(node)) = &traits.node {
            self.bind(pod, &format!("lockstep-{node}")).await?;
        }
        let api = self.api("v1", "Pod");
        if let Some(cost) = &traits.deletion_cost {
            let patch = Patch::Merge(json!({"metadata": {"annotations": {DELETION_COST: cost}}}));
            self.record_write(
                WatchedKind::Pod,
                &api.patch(&pod.name, &PatchParams::default(), &patch).await.map_err(drive_error)?,
            );
        }
        if let Some(status) = status(pod, traits, now) {
            let patch = Patch::Merge(json!({"status": status}));
            self.record_write(
                WatchedKind::Pod,
                &api.patch_status(&pod.name, &PatchParams::default(), &patch).await.map_err(drive_error)?,
            );
        }
        Ok(())
    }

    /// Bind a pod to a node of the harness's, as a scheduler does.
    pub(super) async fn bind(&self, pod: &CachedObject, node: &str) -> Result<(), DriveError> {
        let pods = self.api("v1", "Pod");
        bind_held(&self.nodes, &pods, pod, node).await?;
        // The answer to a binding does not contain the pod's new version.
        self.record_write(WatchedKind::Pod, &pods.get(&pod.name).await.map_err(drive_error)?);
        Ok(())
    }
}

/// The status that these traits define, if they define any of it.
fn status(pod: &CachedObject, traits: &NamedPodTraits, now: Timestamp) -> Option<Value> {
    let NamedPodTraits { phase, ready, restarts, sidecar_restarts, .. } = traits;
    if phase.is_none() && ready.is_none() && restarts.is_none() && sidecar_restarts.is_none() {
        return None;
    }
    let mut status = json!({"phase": phase.unwrap_or(PodPhase::Running).as_str()});
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

    fn status_of(traits: &NamedPodTraits) -> Option<Value> {
        let value = json!({"spec": {"containers": [{"name": "app", "image": "app:1"}, {"name": "b", "image": "b:1"}],
            "initContainers": [{"name": "init", "image": "i:1"}, {"name": "side", "image": "s:1", "restartPolicy": "Always"}]}});
        let pod = CachedObject { name: "a".to_owned(), first: 1, value: Arc::new(value) };
        status(&pod, traits, "2026-11-21T12:00:00Z".parse().unwrap())
    }

    #[test]
    fn writes_only_the_traits_that_are_set() {
        let traits = NamedPodTraits {
            deletion_cost: Some("5".to_owned()),
            node: Some(NodeBinding::Unbound),
            ..NamedPodTraits::default()
        };
        assert_eq!(status_of(&traits), None);
        let restarts = status_of(&NamedPodTraits { restarts: Some(3), ..NamedPodTraits::default() }).unwrap();
        assert!(restarts["conditions"].is_null() && restarts["phase"] == "Running", "{restarts}");
        let counts = restarts["containerStatuses"].as_array().unwrap();
        assert_eq!((counts[0]["restartCount"].as_i64(), counts[1]["restartCount"].as_i64()), (Some(3), Some(0)));
    }

    #[test]
    fn ready_times_are_offsets_from_one_moment() {
        let ready = |ready| {
            status_of(&NamedPodTraits { ready: Some(ready), ..NamedPodTraits::default() }).unwrap()["conditions"][1]
                .clone()
        };
        assert_eq!(ready(Readiness::Since(-7200))["lastTransitionTime"], "2026-11-21T10:00:00Z");
        assert_eq!(ready(Readiness::Since(60))["lastTransitionTime"], "2026-11-21T12:01:00Z");
        let unknown = ready(Readiness::SinceUnknown);
        assert!(unknown["status"] == "True" && unknown["lastTransitionTime"].is_null(), "{unknown}");
        assert_eq!(ready(Readiness::No)["status"], "False");
    }

    #[test]
    fn only_sidecars_have_a_sidecars_restarts() {
        let status = status_of(&NamedPodTraits { sidecar_restarts: Some(2), ..NamedPodTraits::default() }).unwrap();
        let init = status["initContainerStatuses"].as_array().unwrap();
        assert!(init.len() == 1 && init[0]["name"] == "side" && init[0]["restartCount"] == 2, "{init:?}");
    }
}
