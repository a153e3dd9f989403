//! Waits for the subject's pods, watches them, and describes their failures.
//!
//! Readiness is decided by the manifest's probes. A subject has failed when none of its pods runs
//! or is about to run: a controller with several replicas must survive the death of one.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetStatus};
use k8s_openapi::api::core::v1::{self, ContainerStatus, PodStatus};
use kube::api::{Api, ApiResource, DeleteParams, ListParams, LogParams, NotUsed, Object, Preconditions};
use kube::{Resource, ResourceExt};
use lockstep_support::clock;
use tokio::task::AbortHandle;

use crate::excerpt::{POD_LINES, excerpt};

/// The time limit for readiness: images are present or pulled, and caches are filled.
pub(super) const READY_TIMEOUT: Duration = Duration::from_secs(90);
/// The time limit for deletion. Most pods set their own; half a minute is the cluster's default.
const DELETE_TIMEOUT: Duration = Duration::from_secs(40);
const POLL_INTERVAL: Duration = Duration::from_millis(200);
const WATCH_INTERVAL: Duration = Duration::from_millis(500);
/// Waiting reasons that do not resolve themselves.
const NO_IMAGE: [&str; 4] = ["ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull"];
const CRASHES: &str = "CrashLoopBackOff";

/// A pod without its spec, which no reader here needs.
type SubjectPod = Object<NotUsed, PodStatus>;

/// The pods of one ReplicaSet.
#[derive(Clone)]
pub(crate) struct SubjectPods {
    pub(super) client: kube::Client,
    pub(super) namespace: String,
    /// The ReplicaSet's name.
    pub(super) name: String,
    /// The ReplicaSet's uid.
    pub(super) uid: String,
}

/// Why pods do not become ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PodProblem {
    /// The pod, or the ReplicaSet that has none.
    pub(super) pod: String,
    /// What it waits for, with an excerpt of its log.
    pub(super) why: String,
    /// Whether an image is not available.
    pub(super) image: bool,
}

/// Checks the pods periodically until it is dropped.
#[derive(Debug)]
pub(super) struct PodWatcher {
    down: Arc<Mutex<Option<String>>>,
    task: AbortHandle,
}

impl SubjectPods {
    /// Waits until this many are ready.
    pub(super) async fn wait_until_ready(&self, replicas: i64) -> Result<(), PodProblem> {
        let since = clock::instant();
        let sets: Api<Object<NotUsed, ReplicaSetStatus>> = self.api::<ReplicaSet, _>();
        loop {
            let set = sets.get(&self.name).await;
            let status = set.ok().and_then(|set| set.status).unwrap_or_default();
            if i64::from(status.ready_replicas.unwrap_or(0)) >= replicas {
                return Ok(());
            }
            let pods = self.list().await;
            let timed_out = since.elapsed() > READY_TIMEOUT;
            let hopeless = |pod: &&SubjectPod| timed_out && !is_ready(pod) || lacks_image(pod) || restarts(pod) > 2;
            if let Some(pod) = pods.iter().find(hopeless) {
                let why = format!("{}{}", describe_state(pod), self.last_words(pod).await);
                return Err(PodProblem { pod: format!("pod {}", pod.name_any()), why, image: lacks_image(pod) });
            }
            if timed_out {
                let refused =
                    status.conditions.unwrap_or_default().into_iter().find(|one| one.type_ == "ReplicaFailure");
                let why = refused.and_then(|one| one.message).unwrap_or_else(|| "it has no pods".to_owned());
                return Err(PodProblem { pod: format!("replicaset {}", self.name), why, image: false });
            }
            clock::pause(POLL_INTERVAL).await;
        }
    }

    /// Starts watching them.
    pub(super) fn watch(&self) -> PodWatcher {
        let down = Arc::new(Mutex::new(None));
        let (pods, result) = (self.clone(), Arc::clone(&down));
        let task = tokio::spawn(async move {
            loop {
                let found = match pods.try_list().await {
                    Ok(list) => pods.describe_failure(&list).await,
                    // A server that does not answer is reported elsewhere.
                    Err(_) => None,
                };
                *result.lock().unwrap_or_else(PoisonError::into_inner) = found;
                clock::pause(WATCH_INTERVAL).await;
            }
        });
        PodWatcher { down, task: task.abort_handle() }
    }

    /// Deletes them, and waits until none is left. Those that take too long are deleted without
    /// grace period.
    pub(super) async fn end(&self) {
        let since = clock::instant();
        let sets: Api<Object<NotUsed, ReplicaSetStatus>> = self.api::<ReplicaSet, _>();
        // It may be gone already, or is removed with everything else.
        sets.delete(&self.name, &DeleteParams::background()).await.ok();
        loop {
            let left = self.try_list().await;
            // A server that does not answer has not said that none is left.
            if left.as_ref().is_ok_and(Vec::is_empty) || since.elapsed() > DELETE_TIMEOUT + DELETE_TIMEOUT {
                return;
            }
            let left = left.unwrap_or_default();
            let api = self.pods();
            for pod in
                left.iter().filter(|pod| pod.metadata.deletion_timestamp.is_none() || since.elapsed() > DELETE_TIMEOUT)
            {
                let still = Preconditions { uid: pod.uid(), ..Preconditions::default() };
                let mut how = DeleteParams { preconditions: Some(still), ..DeleteParams::default() };
                if since.elapsed() > DELETE_TIMEOUT {
                    how = how.grace_period(0);
                }
                // It may be gone already.
                api.delete(&pod.name_any(), &how).await.ok();
            }
            clock::pause(POLL_INTERVAL).await;
        }
    }

    /// Why none of them works, if none does.
    async fn describe_failure(&self, pods: &[SubjectPod]) -> Option<String> {
        let first = pods.first()?;
        if !pods.iter().all(is_down) {
            return None;
        }
        let name = first.name_any();
        Some(format!("the subject ended: pod {name}: {}{}", describe_state(first), self.last_words(first).await))
    }

    fn pods(&self) -> Api<SubjectPod> {
        self.api::<v1::Pod, _>()
    }

    fn api<K: Resource<DynamicType = ()>, Status: Clone>(&self) -> Api<Object<NotUsed, Status>> {
        Api::namespaced_with(self.client.clone(), &self.namespace, &ApiResource::erase::<K>(&()))
    }

    async fn list(&self) -> Vec<SubjectPod> {
        self.try_list().await.unwrap_or_default()
    }

    async fn try_list(&self) -> kube::Result<Vec<SubjectPod>> {
        let api = self.pods();
        let mut pods = api.list(&ListParams::default()).await?.items;
        pods.retain(|pod| pod.owner_references().iter().any(|owner| owner.uid == self.uid));
        Ok(pods)
    }

    /// The output of their containers, each under its name.
    pub(crate) async fn logs(&self, how: &LogParams) -> String {
        let api: Api<v1::Pod> = Api::namespaced(self.client.clone(), &self.namespace);
        let mut output = String::new();
        for pod in self.list().await {
            for status in statuses(&pod) {
                let how = LogParams { container: Some(status.name.clone()), ..how.clone() };
                let name = pod.name_any();
                let log = api.logs(&name, &how).await.unwrap_or_else(|error| format!("no log: {error}\n"));
                output += &format!("=== pod {name}, container {}\n{log}", status.name);
            }
        }
        output
    }

    /// An excerpt of a failing pod's log, to follow a colon.
    async fn last_words(&self, pod: &SubjectPod) -> String {
        let Some(status) = statuses(pod).find(|status| !status.ready) else { return String::new() };
        let api: Api<v1::Pod> = Api::namespaced(self.client.clone(), &self.namespace);
        let running = status.state.as_ref().is_some_and(|state| state.running.is_some());
        let how = LogParams {
            container: Some(status.name.clone()),
            tail_lines: Some(POD_LINES),
            previous: !running && status.restart_count > 0,
            ..LogParams::default()
        };
        match api.logs(&pod.name_any(), &how).await {
            Ok(log) if !log.trim().is_empty() => {
                format!("; it printed:\n  {}", excerpt(&log).join("\n  "))
            }
            // A container that never started has no log.
            _ => String::new(),
        }
    }
}

impl PodWatcher {
    /// Why none of the pods works, if none does.
    pub(super) fn failure(&self) -> Option<String> {
        self.down.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for PodWatcher {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What a pod waits for, in the cluster's words.
fn describe_state(pod: &SubjectPod) -> String {
    let waiting = statuses(pod).filter(|status| !status.ready).find_map(describe_container);
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    let unbound = || {
        let unmet = |kind: &str| conditions?.iter().find(|one| one.type_ == kind && one.status == "False");
        let one = unmet("PodScheduled").or_else(|| unmet("Ready"))?;
        Some(join_reason(one.reason.as_deref(), one.message.as_deref()))
    };
    let phase = || pod.status.as_ref().map(|status| join_reason(status.phase.as_deref(), status.message.as_deref()));
    waiting.or_else(unbound).or_else(phase).unwrap_or_else(|| "it says nothing".to_owned())
}

/// The state of a container that is not ready.
fn describe_container(status: &ContainerStatus) -> Option<String> {
    let state = status.state.as_ref()?;
    let description = if let Some(waiting) = &state.waiting {
        join_reason(waiting.reason.as_deref(), waiting.message.as_deref())
    } else if let Some(ended) = &state.terminated {
        format!("{}, exit code {}", join_reason(ended.reason.as_deref(), ended.message.as_deref()), ended.exit_code)
    } else {
        "it runs and is not ready".to_owned()
    };
    Some(format!("container {}: {description}", status.name))
}

fn join_reason(reason: Option<&str>, message: Option<&str>) -> String {
    [reason, message].into_iter().flatten().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(": ")
}

fn is_ready(pod: &SubjectPod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|one| one.type_ == "Ready" && one.status == "True")
}

/// Whether a pod has failed: its containers have exited for good, or repeatedly.
fn is_down(pod: &SubjectPod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Failed" | "Succeeded")) || statuses(pod).any(|status| waits_for(status, &[CRASHES]))
}

fn lacks_image(pod: &SubjectPod) -> bool {
    statuses(pod).any(|status| waits_for(status, &NO_IMAGE))
}

/// The restart count of a container that waits before it starts again.
fn restarts(pod: &SubjectPod) -> i32 {
    let crashed = statuses(pod).filter(|status| waits_for(status, &[CRASHES]));
    crashed.map(|status| status.restart_count).max().unwrap_or(0)
}

fn waits_for(status: &ContainerStatus, reasons: &[&str]) -> bool {
    let waiting = status.state.as_ref().and_then(|state| state.waiting.as_ref());
    waiting.and_then(|waiting| waiting.reason.as_deref()).is_some_and(|reason| reasons.contains(&reason))
}

fn statuses(pod: &SubjectPod) -> impl Iterator<Item = &ContainerStatus> {
    let status = pod.status.as_ref();
    let first = status.and_then(|status| status.init_container_statuses.as_ref()).into_iter().flatten();
    first.chain(status.and_then(|status| status.container_statuses.as_ref()).into_iter().flatten())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "reads better at every call")]
    fn pod(status: Value) -> SubjectPod {
        serde_json::from_value(json!({"metadata": {"name": "p"}, "spec": {}, "status": status})).unwrap()
    }

    #[expect(clippy::needless_pass_by_value, reason = "reads better at every call")]
    fn with(state: Value, restarts: i32) -> SubjectPod {
        pod(json!({"phase": "Running", "containerStatuses": [{"name": "a", "ready": false, "restartCount": restarts,
            "image": "i", "imageID": "", "state": state}]}))
    }

    #[rstest]
    #[case(json!({"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}), "container a: ImagePullBackOff: no such image")]
    #[case(json!({"terminated": {"reason": "Error", "exitCode": 2}}), "container a: Error, exit code 2")]
    #[case(json!({"running": {}}), "container a: it runs and is not ready")]
    fn describes_state_of_container(#[case] state: Value, #[case] expected: &str) {
        assert_eq!(describe_state(&with(state, 0)), expected);
    }

    #[test]
    fn describes_state_of_pod_without_containers() {
        let conditions =
            json!([{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}]);
        assert_eq!(
            describe_state(&pod(json!({"phase": "Pending", "conditions": conditions}))),
            "Unschedulable: 0/1 nodes"
        );
        assert_eq!(describe_state(&pod(json!({"phase": "Failed", "message": "evicted"}))), "Failed: evicted");
    }

    #[test]
    fn recognises_missing_images_restarts_and_failed_pods() {
        let waiting = |reason: &str, restarts| with(json!({"waiting": {"reason": reason}}), restarts);
        assert!(lacks_image(&waiting("ErrImagePull", 0)) && !lacks_image(&waiting("ContainerCreating", 0)));
        assert_eq!((restarts(&waiting(CRASHES, 3)), restarts(&with(json!({"running": {}}), 3))), (3, 0));
        assert!(is_down(&waiting(CRASHES, 1)) && is_down(&pod(json!({"phase": "Failed"}))));
        assert!(!is_down(&waiting("ContainerCreating", 0)) && !is_down(&with(json!({"running": {}}), 9)));
        assert!(
            is_ready(&pod(json!({"conditions": [{"type": "Ready", "status": "True"}]}))) && !is_ready(&waiting("", 0))
        );
    }
}
