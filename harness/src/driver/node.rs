//! The nodes' half: pods that become ready, fail, or are gone.
//!
//! Which pod moves is a rule, so that the same case moves the same pods everywhere: those of the
//! newest ReplicaSet first (by first appearance), in it the oldest first.

use std::collections::BTreeMap;
use std::time::Duration;

use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use super::{DriveError, Driver, Stillness};
use crate::case::model::{Count, PodOperation, Pods};
use crate::clock;
use crate::observe::{Kind, Object, PodState, World};
use crate::pointer::At;

impl PodOperation {
    /// The states of pods that this can happen to.
    fn states(self) -> &'static [PodState] {
        match self {
            Self::Ready => &[PodState::Unready],
            Self::Unready => &[PodState::Ready],
            Self::Fail | Self::Succeed | Self::Name => &[PodState::Unready, PodState::Ready],
            Self::Terminate => &[PodState::Deleting],
        }
    }

    /// Whether `all` means those that come as well: pods that become ready or go are not followed
    /// by more of their kind for ever.
    pub fn repeats(self) -> bool {
        matches!(self, Self::Ready | Self::Terminate)
    }

    /// As a case writes it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Unready => "unready",
            Self::Fail => "fail",
            Self::Succeed => "succeed",
            Self::Terminate => "terminate",
            Self::Name => "pods",
        }
    }

    fn wanted(self) -> &'static str {
        match self {
            Self::Ready => "unready pod",
            Self::Unready => "ready pod",
            Self::Fail | Self::Succeed | Self::Name => "pod",
            Self::Terminate => "terminating pod",
        }
    }
}

/// The pods that a step can happen to now, in the order in which it would, and no more than so
/// many. `named` are the real names of those that the case knows by name.
pub fn next_pods(
    world: &World,
    namespace: &str,
    operation: PodOperation,
    choice: &Pods,
    named: &BTreeMap<String, String>,
    most: usize,
) -> Vec<Object> {
    let states = operation.states();
    if !choice.names.is_empty() {
        let real = choice.names.iter().filter_map(|name| named.get(name));
        let pods = real.filter_map(|name| world.get(Kind::Pod, namespace, name));
        let fits = |pod: &Object| PodState::of(pod).is_some_and(|state| states.contains(&state));
        return pods.filter(fits).take(most).collect();
    }
    if choice.deployment.is_none() && choice.revision.is_none() && choice.replica_set.is_none() {
        return world.next_pods(namespace, states, None, most);
    }
    let deployments = world.list(Kind::Deployment, namespace);
    let mut sets = world.list(Kind::ReplicaSet, namespace);
    let chosen = choice.replica_set.as_ref().map(|name| nth(&sets, name).map(|set| set.name));
    sets.retain(|rs| {
        let revision = rs.text("/metadata/annotations/deployment.kubernetes.io~1revision");
        let of = choice.deployment.as_ref().is_none_or(|wanted| {
            deployments.iter().any(|d| d.name == *wanted && rs.owner() == Some(d.text("/metadata/uid")))
        });
        let of = of && chosen.as_ref().is_none_or(|chosen| chosen.as_ref() == Some(&rs.name));
        of && choice.revision.is_none_or(|wanted| revision == wanted.to_string())
    });
    let sets: Vec<u64> = sets.iter().map(|rs| rs.first).collect();
    world.next_pods(namespace, states, Some(&sets), most)
}

/// The ReplicaSet of this name, or the second to appear for `rs2`.
pub(super) fn nth(sets: &[Object], name: &str) -> Option<Object> {
    if let Some(found) = sets.iter().find(|set| set.name == name) {
        return Some(found.clone());
    }
    let number: usize = name.strip_prefix("rs")?.parse().ok()?;
    let mut sets = sets.to_vec();
    sets.sort_by_key(|rs| rs.first);
    sets.into_iter().nth(number.wrapping_sub(1))
}

impl Driver {
    /// Move one pod, the next in order.
    ///
    /// # Errors
    /// [`DriveError::Impossible`] where there is none.
    pub async fn one_pod(&self, operation: PodOperation, choice: &Pods) -> Result<(), DriveError> {
        let next = next_pods(&self.world, &self.namespace, operation, choice, &self.named(), 1).into_iter().next();
        let pod =
            next.ok_or_else(|| DriveError::Impossible(format!("there is no {}{}", operation.wanted(), of(choice))))?;
        self.touch(operation, &pod, &clock::rfc3339()).await
    }

    /// Move all the pods at once, as one step; ready pods get one common transition time in the
    /// future, so that they become available at one instant where minReadySeconds is at least 1.
    pub(super) async fn pods(&self, operation: PodOperation, choice: &Pods) -> Result<(), DriveError> {
        let mut pods = next_pods(&self.world, &self.namespace, operation, choice, &self.named(), usize::MAX);
        if let Count::Exactly(wanted) = choice.count {
            let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
            if pods.len() < wanted {
                let (found, what) = (pods.len(), operation.wanted());
                return Err(DriveError::Impossible(format!("there are {found} {what}s{}, not {wanted}", of(choice))));
            }
            pods.truncate(wanted);
        }
        let delay = self.world.list(Kind::ReplicaSet, &self.namespace);
        let delay = delay.iter().map(|rs| rs.int("/spec/minReadySeconds")).max().unwrap_or(0);
        // All must be written before the first is available.
        let lead = if delay > 0 { LEAD.max(WRITE * u32::try_from(pods.len()).unwrap_or(u32::MAX)) } else { LEAD };
        let common = if choice.atomic { clock::now() + lead } else { clock::now() };
        let stamp = clock::to_rfc3339(common);
        for pod in &pods {
            self.touch(operation, pod, &stamp).await?;
        }
        if choice.atomic {
            let delay = Duration::from_secs(u64::try_from(delay).unwrap_or(0));
            clock::pause(delay + lead + Duration::from_millis(100)).await;
        }
        Ok(())
    }

    async fn touch(&self, operation: PodOperation, pod: &Object, now: &str) -> Result<(), DriveError> {
        if let Stillness::Real(_) = self.stillness {
            return self.open_gate(operation, pod, now).await;
        }
        if operation == PodOperation::Ready && pod.text("/spec/nodeName").is_empty() {
            // What runs has a node.
            self.bind(pod, &self.own_node()).await?;
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
            PodOperation::Terminate => return finish(&api, pod).await,
            PodOperation::Name => return Ok(()),
        };
        let answer = api.patch_status(&pod.name, &PatchParams::default(), &Patch::Merge(status)).await?;
        self.wrote(Kind::Pod, &answer);
        Ok(())
    }
}

/// How far ahead the common transition time of pods is that become ready at once.
const LEAD: Duration = Duration::from_secs(1);
/// How long the write of one pod may take, so that many are written in time.
const WRITE: Duration = Duration::from_millis(20);

/// What a kubelet does last: delete with no grace, so that the object goes.
pub(super) async fn finish(api: &Api<DynamicObject>, pod: &Object) -> Result<(), DriveError> {
    match api.delete(&pod.name, &DeleteParams::default().grace_period(0)).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn of(choice: &Pods) -> String {
    let revision = choice.revision.map(|revision| format!(" of revision {revision}"));
    let deployment = choice.deployment.as_ref().map(|name| format!(" of deployment/{name}"));
    let set = choice.replica_set.as_ref().map(|name| format!(" of replicaset/{name}"));
    let named = (!choice.names.is_empty()).then(|| format!(" called {}", choice.names.join(",")));
    [revision, deployment, set, named].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::Change;

    fn world() -> World {
        let world = World::default();
        world.follow("ns");
        let mut rv = 0;
        let mut add = |kind: Kind, name: &str, owner: &str, status: Value| {
            rv += 1;
            let revision = if name == "new" { "2" } else { "1" };
            let object = json!({
                "metadata": {"namespace": "ns", "name": name, "uid": name, "resourceVersion": rv.to_string(),
                    "annotations": {"deployment.kubernetes.io/revision": revision},
                    "ownerReferences": [{"uid": owner, "controller": true}]},
                "status": status,
            });
            world.deliver(kind, Change::Added, object);
        };
        let ready = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
        add(Kind::ReplicaSet, "old", "web", json!({}));
        add(Kind::Pod, "z-old-ready", "old", ready);
        add(Kind::Pod, "y-old", "old", json!({"phase": "Pending"}));
        add(Kind::ReplicaSet, "new", "web", json!({}));
        add(Kind::Pod, "x-new", "new", json!({"phase": "Pending"}));
        add(Kind::Pod, "a-new", "new", json!({"phase": "Pending"}));
        add(Kind::Pod, "failed", "new", json!({"phase": "Failed"}));
        world
    }

    fn names(operation: PodOperation, revision: Option<i64>) -> Vec<String> {
        let choice = Pods { revision, ..Pods::default() };
        let pods = next_pods(&world(), "ns", operation, &choice, &BTreeMap::new(), usize::MAX);
        pods.into_iter().map(|pod| pod.name).collect()
    }

    #[test]
    fn the_newest_replica_set_goes_first_and_in_it_the_oldest_pod() {
        assert_eq!(names(PodOperation::Ready, None), ["x-new", "a-new", "y-old"]);
    }

    #[test]
    fn a_revision_narrows_the_choice() {
        assert_eq!(names(PodOperation::Ready, Some(1)), ["y-old"]);
        assert_eq!(names(PodOperation::Ready, Some(3)), [] as [&str; 0]);
    }

    #[test]
    fn names_choose_and_so_does_a_replica_set() {
        let named = BTreeMap::from([("a".to_owned(), "x-new".to_owned()), ("b".to_owned(), "y-old".to_owned())]);
        let names = |choice: &Pods| {
            let pods = next_pods(&world(), "ns", PodOperation::Ready, choice, &named, usize::MAX);
            pods.into_iter().map(|pod| pod.name).collect::<Vec<_>>()
        };
        let both = Pods { names: vec!["b".to_owned(), "a".to_owned(), "c".to_owned()], ..Pods::default() };
        assert_eq!(names(&both), ["y-old", "x-new"]);
        for (set, expected) in [("old", "y-old"), ("rs1", "y-old")] {
            assert_eq!(names(&Pods { replica_set: Some(set.to_owned()), ..Pods::default() }), [expected]);
        }
        assert!(names(&Pods { replica_set: Some("rs3".to_owned()), ..Pods::default() }).is_empty());
    }

    #[test]
    fn only_pods_that_can_are_moved() {
        assert_eq!(names(PodOperation::Unready, None), ["z-old-ready"]);
        assert_eq!(names(PodOperation::Terminate, None), [] as [&str; 0]);
    }
}
