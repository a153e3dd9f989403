//! The kubelets' part: pods that become ready, fail, or terminate; and what kubelets do unasked,
//! beside the case: start new pods and, where terminations are automatic, finish deletions.
//!
//! A rule decides which pod is next, so that a case affects the same pods everywhere: those of the
//! newest ReplicaSet first (by first appearance), and of these the oldest first.
//!
//! Unless the case binds its pods, held pods are bound to nodes of the harness's own in turn, and
//! real ones to the cluster's own node, whose kubelet also finishes their deletions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use lockstep_case::model::{Bindings, CountSpec, PodOperation, PodSelection, Terminations};
use lockstep_support::clock;
use lockstep_support::pointer::JsonPointer;
use serde_json::{Value, json};

use super::nodes::HarnessNodes;
use super::{DriveError, Driver, PodBackend, drive_error};
use crate::observe::{CachedObject, PodState, WatchCache, WatchedKind};

/// The states of pods to which an operation can happen.
fn states(operation: PodOperation) -> &'static [PodState] {
    match operation {
        PodOperation::Ready => &[PodState::Unready],
        PodOperation::Unready => &[PodState::Ready],
        PodOperation::Fail | PodOperation::Succeed | PodOperation::Name => &[PodState::Unready, PodState::Ready],
        PodOperation::Terminate => &[PodState::Deleting],
    }
}

/// The pods to which an operation can happen now, in its order, at most this many. `pod_names` has
/// the real names of the pods that the case knows by name.
pub(crate) fn next_pods(
    cache: &WatchCache,
    namespace: &str,
    operation: PodOperation,
    choice: &PodSelection,
    pod_names: &BTreeMap<String, String>,
    most: usize,
) -> Vec<CachedObject> {
    let states = states(operation);
    if !choice.names.is_empty() {
        let real = choice.names.iter().filter_map(|name| pod_names.get(name));
        let pods = real.filter_map(|name| cache.get(WatchedKind::Pod, namespace, name));
        let fits = |pod: &CachedObject| PodState::of(pod).is_some_and(|state| states.contains(&state));
        return pods.filter(fits).take(most).collect();
    }
    if choice.deployment.is_none() && choice.revision.is_none() && choice.replica_set.is_none() {
        return cache.next_pods(namespace, states, None, most);
    }
    let deployments = cache.list(WatchedKind::Deployment, namespace);
    let mut sets = cache.list(WatchedKind::ReplicaSet, namespace);
    let chosen = choice.replica_set.as_ref().map(|name| nth_replica_set(&sets, name).map(|set| set.name));
    sets.retain(|rs| {
        let revision = rs.text("/metadata/annotations/deployment.kubernetes.io~1revision");
        let of = choice.deployment.as_ref().is_none_or(|wanted| {
            deployments.iter().any(|d| d.name == *wanted && rs.owner() == Some(d.text("/metadata/uid")))
        });
        let of = of && chosen.as_ref().is_none_or(|chosen| chosen.as_ref() == Some(&rs.name));
        of && choice.revision.is_none_or(|wanted| revision == wanted.to_string())
    });
    let sets: Vec<u64> = sets.iter().map(|rs| rs.first).collect();
    cache.next_pods(namespace, states, Some(&sets), most)
}

/// The ReplicaSet of this name; for `rs2` the second to appear.
pub(super) fn nth_replica_set(sets: &[CachedObject], name: &str) -> Option<CachedObject> {
    if let Some(found) = sets.iter().find(|set| set.name == name) {
        return Some(found.clone());
    }
    let number: usize = name.strip_prefix("rs")?.parse().ok()?;
    let mut sets = sets.to_vec();
    sets.sort_by_key(|rs| rs.first);
    sets.into_iter().nth(number.wrapping_sub(1))
}

impl Driver {
    /// Change one pod, the next in order.
    ///
    /// # Errors
    /// [`DriveError::Impossible`] if there is none.
    pub(crate) async fn move_one_pod(&self, operation: PodOperation, choice: &PodSelection) -> Result<(), DriveError> {
        let next = next_pods(&self.cache, &self.namespace, operation, choice, &self.pod_names(), 1).into_iter().next();
        let pod = next.ok_or_else(|| {
            DriveError::Impossible(format!("there is no {}{}", operation.candidate_text(), describe_choice(choice)))
        })?;
        self.move_pod(operation, &pod, &clock::rfc3339()).await
    }

    /// Change all pods at once, as one step. Pods that become ready get a common transition time in
    /// the future, so that they become available at the same instant where minReadySeconds is at
    /// least 1.
    pub(super) async fn move_pods_together(
        &self,
        operation: PodOperation,
        choice: &PodSelection,
    ) -> Result<(), DriveError> {
        let mut pods = next_pods(&self.cache, &self.namespace, operation, choice, &self.pod_names(), usize::MAX);
        if let CountSpec::Exactly(wanted) = choice.count {
            let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
            if pods.len() < wanted {
                let (found, what) = (pods.len(), operation.candidate_text());
                return Err(DriveError::Impossible(format!(
                    "there are {found} {what}s{}, not {wanted}",
                    describe_choice(choice)
                )));
            }
            pods.truncate(wanted);
        }
        let delay = self.cache.list(WatchedKind::ReplicaSet, &self.namespace);
        let delay = delay.iter().map(|rs| rs.int("/spec/minReadySeconds")).max().unwrap_or(0);
        // All must be written before the first becomes available.
        let lead = if delay > 0 { LEAD.max(WRITE * u32::try_from(pods.len()).unwrap_or(u32::MAX)) } else { LEAD };
        let common = if choice.atomic { clock::now() + lead } else { clock::now() };
        let stamp = clock::to_rfc3339(common);
        for pod in &pods {
            self.move_pod(operation, pod, &stamp).await?;
        }
        if choice.atomic {
            let delay = Duration::from_secs(u64::try_from(delay).unwrap_or(0));
            clock::pause(delay + lead + Duration::from_millis(100)).await;
        }
        Ok(())
    }

    async fn move_pod(&self, operation: PodOperation, pod: &CachedObject, now: &str) -> Result<(), DriveError> {
        if let PodBackend::Real(_) = self.pod_backend {
            return self.open_gate(operation, pod, now).await;
        }
        if operation == PodOperation::Ready && pod.text("/spec/nodeName").is_empty() {
            // A running pod has a node.
            self.bind(pod, &self.unused_node()).await?;
        }
        let api = self.api("v1", "Pod");
        let condition = |kind: &str, ready: bool| {
            let was = pod.value.at("/status/conditions").and_then(Value::as_array).into_iter().flatten();
            let status = if ready { "True" } else { "False" };
            match was.into_iter().find(|c| c["type"] == kind && c["status"] == status) {
                Some(same) => same.clone(),
                None => json!({"type": kind, "status": status, "lastTransitionTime": now}),
            }
        };
        let status = |phase: &str, ready: bool| {
            json!({"status": {"phase": phase, "conditions": [
                condition("PodScheduled", true), condition("Initialized", true),
                condition("ContainersReady", ready), condition("Ready", ready),
            ]}})
        };
        let status = match operation {
            PodOperation::Ready => status("Running", true),
            PodOperation::Unready => status("Running", false),
            PodOperation::Fail => status("Failed", false),
            PodOperation::Succeed => status("Succeeded", false),
            PodOperation::Terminate => return finish_deletion(&api, pod).await,
            PodOperation::Name => return Ok(()),
        };
        let answer =
            api.patch_status(&pod.name, &PatchParams::default(), &Patch::Merge(status)).await.map_err(drive_error)?;
        self.record_write(WatchedKind::Pod, &answer);
        Ok(())
    }
}

/// How far in the future the common transition time lies.
const LEAD: Duration = Duration::from_secs(1);
/// The time to allow for the write of one pod, so that all are written in time.
const WRITE: Duration = Duration::from_millis(20);

/// The last thing that a kubelet does: delete without a grace period, so that the object is
/// removed.
async fn finish_deletion(api: &Api<DynamicObject>, pod: &CachedObject) -> Result<(), DriveError> {
    match api.delete(&pod.name, &DeleteParams::default().grace_period(0)).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(drive_error(error)),
    }
}

fn describe_choice(choice: &PodSelection) -> String {
    let revision = choice.revision.map(|revision| format!(" of revision {revision}"));
    let deployment = choice.deployment.as_ref().map(|name| format!(" of deployment/{name}"));
    let set = choice.replica_set.as_ref().map(|name| format!(" of replicaset/{name}"));
    let pod_names = (!choice.names.is_empty()).then(|| format!(" called {}", choice.names.join(",")));
    [revision, deployment, set, pod_names].into_iter().flatten().collect()
}

/// What to do for the pods of a namespace.
pub(crate) struct KubeletDuties {
    /// The case's namespace.
    pub namespace: String,
    /// The names of the case's nodes; empty: a node for each pod.
    pub nodes: Vec<String>,
    /// Who binds pods to nodes.
    pub bindings: Bindings,
    /// Who finishes deletions.
    pub terminations: Terminations,
    /// Whether a kubelet runs the pods.
    pub pod_backend: PodBackend,
}

/// Bind and finish the namespace's pods until dropped.
pub(crate) async fn act_as_kubelet(cache: Arc<WatchCache>, nodes: Arc<HarnessNodes>, duties: KubeletDuties) {
    let KubeletDuties { namespace, nodes: names, bindings, terminations, pod_backend } = duties;
    let real = match &pod_backend {
        PodBackend::Held => None,
        PodBackend::Real(images) => Some(images.node()),
    };
    let pods = Api::namespaced_with(nodes.client.clone(), &namespace, &ApiResource::erase::<Pod>(&()));
    let (mut bound, mut finished) = (BTreeSet::new(), BTreeSet::new());
    let mut changes = cache.listen();
    loop {
        for pod in &cache.pods_awaiting_kubelet(&namespace) {
            let uid = pod.text("/metadata/uid").to_owned();
            let waits = pod.alive() && pod.text("/spec/nodeName").is_empty();
            if waits && bindings == Bindings::Auto && !bound.contains(&uid) {
                let done = match (real, names.len()) {
                    (Some(node), _) => bind(&pods, pod, node).await,
                    (None, 0) => bind_held(&nodes, &pods, pod, &format!("lockstep-{}", bound.len() + 1)).await,
                    (None, some) => {
                        let name = format!("lockstep-{}", names[bound.len() % some]);
                        bind_held(&nodes, &pods, pod, &name).await
                    }
                };
                match done {
                    Ok(()) => {
                        bound.insert(uid);
                    }
                    Err(error) => tracing::debug!(pod = pod.name, %error, "pod not bound; trying again"),
                }
            } else if pod.deleting()
                && real.is_none()
                && terminations == Terminations::Auto
                && !finished.contains(&uid)
                && finish_deletion(&pods, pod).await.is_ok()
            {
                finished.insert(uid);
            }
        }
        // A failed attempt is repeated, even without another change.
        tokio::time::timeout(Duration::from_millis(500), changes.changed()).await.ok();
    }
}

/// Bind a pod to a node of the harness's own, which is created if necessary.
pub(super) async fn bind_held(
    nodes: &Arc<HarnessNodes>,
    pods: &Api<DynamicObject>,
    pod: &CachedObject,
    node: &str,
) -> Result<(), DriveError> {
    nodes.ensure(node).await?;
    bind(pods, pod, node).await
}

async fn bind(pods: &Api<DynamicObject>, pod: &CachedObject, node: &str) -> Result<(), DriveError> {
    let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod.name},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node}});
    let none = PostParams::default();
    match pods.create_subresource::<_, Value>("binding", &pod.name, &none, &binding).await {
        Ok(_) => Ok(()),
        // The pod was deleted or bound in the meantime.
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        Err(error) => Err(drive_error(error)),
    }
}

#[cfg(test)]
mod tests {
    use lockstep_recording::ChangeType;

    use super::*;

    fn cache() -> WatchCache {
        let cache = WatchCache::default();
        cache.follow("ns");
        let mut rv = 0;
        let mut add = |kind: WatchedKind, name: &str, owner: &str, status: Value| {
            rv += 1;
            let revision = if name == "new" { "2" } else { "1" };
            let object = json!({
                "metadata": {"namespace": "ns", "name": name, "uid": name, "resourceVersion": rv.to_string(),
                    "annotations": {"deployment.kubernetes.io/revision": revision},
                    "ownerReferences": [{"uid": owner, "controller": true}]},
                "status": status,
            });
            cache.deliver(kind, ChangeType::Added, object);
        };
        let ready = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
        add(WatchedKind::ReplicaSet, "old", "web", json!({}));
        add(WatchedKind::Pod, "z-old-ready", "old", ready);
        add(WatchedKind::Pod, "y-old", "old", json!({"phase": "Pending"}));
        add(WatchedKind::ReplicaSet, "new", "web", json!({}));
        add(WatchedKind::Pod, "x-new", "new", json!({"phase": "Pending"}));
        add(WatchedKind::Pod, "a-new", "new", json!({"phase": "Pending"}));
        add(WatchedKind::Pod, "failed", "new", json!({"phase": "Failed"}));
        cache
    }

    fn names(operation: PodOperation, revision: Option<i64>) -> Vec<String> {
        let choice = PodSelection { revision, ..PodSelection::default() };
        let pods = next_pods(&cache(), "ns", operation, &choice, &BTreeMap::new(), usize::MAX);
        pods.into_iter().map(|pod| pod.name).collect()
    }

    #[test]
    fn chooses_the_newest_replica_set_first_and_of_it_the_oldest_pod() {
        assert_eq!(names(PodOperation::Ready, None), ["x-new", "a-new", "y-old"]);
    }

    #[test]
    fn a_revision_narrows_the_choice() {
        assert_eq!(names(PodOperation::Ready, Some(1)), ["y-old"]);
        assert_eq!(names(PodOperation::Ready, Some(3)), [] as [&str; 0]);
    }

    #[test]
    fn names_and_replica_sets_narrow_the_choice() {
        let pod_names = BTreeMap::from([("a".to_owned(), "x-new".to_owned()), ("b".to_owned(), "y-old".to_owned())]);
        let names = |choice: &PodSelection| {
            let pods = next_pods(&cache(), "ns", PodOperation::Ready, choice, &pod_names, usize::MAX);
            pods.into_iter().map(|pod| pod.name).collect::<Vec<_>>()
        };
        let both =
            PodSelection { names: vec!["b".to_owned(), "a".to_owned(), "c".to_owned()], ..PodSelection::default() };
        assert_eq!(names(&both), ["y-old", "x-new"]);
        for (set, expected) in [("old", "y-old"), ("rs1", "y-old")] {
            assert_eq!(
                names(&PodSelection { replica_set: Some(set.to_owned()), ..PodSelection::default() }),
                [expected]
            );
        }
        assert!(names(&PodSelection { replica_set: Some("rs3".to_owned()), ..PodSelection::default() }).is_empty());
    }

    #[test]
    fn moves_only_pods_in_a_suitable_state() {
        assert_eq!(names(PodOperation::Unready, None), ["z-old-ready"]);
        assert_eq!(names(PodOperation::Terminate, None), [] as [&str; 0]);
    }
}
