//! A small Deployment controller on kube-rs. It is independent of the harness and of the project's
//! own controller.
//!
//! ```text
//! cargo build --manifest-path harness/tests/subjects/rust/Cargo.toml
//! lockstep run cases/rolling --cluster sim --subject "command:harness/tests/subjects/rust/target/debug/deployment-controller"
//! ```
//!
//! * `main` starts it, maps changes to Deployments, and retries after failures.
//! * `rollout` decides the next action, and `scale` the size of each ReplicaSet.
//! * `replica_sets` finds, creates, annotates, resizes and deletes them.
//! * `status` computes the status.
//!
//! The Deployment comes from the controller's store. Its ReplicaSets and pods are read from the
//! server in each reconciliation, so a decision is never older than the change that led to it. The
//! controller neither adopts nor releases ReplicaSets, and does not support rollback by annotation.

mod reconcile;
mod replica_sets;
mod rollout;
mod scale;
mod status;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::controller::{Action, Config, Controller};
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::watcher;
use kube::{Api, Client, ResourceExt};
use rollout::Rollout;

/// The first delay after a failure; each further failure doubles it.
const FIRST_DELAY: Duration = Duration::from_millis(5);
/// The number of doublings.
const DOUBLINGS: u32 = 12;

struct Context {
    client: Client,
    /// The number of consecutive failures by Deployment.
    failures: Mutex<BTreeMap<(String, String), u32>>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let client = Client::try_default().await?; // $KUBECONFIG, ~/.kube/config, or a pod's service account
    let all = watcher::Config::default;
    let controller = Controller::new(Api::<Deployment>::all(client.clone()), all());
    let store = controller.store();
    controller
        .owns(Api::<ReplicaSet>::all(client.clone()), all())
        .watches(Api::<Pod>::all(client.clone()), all(), move |pod| blocked_deployments(&pod, &store))
        .with_config(Config::default().concurrency(5))
        .shutdown_on_signal()
        .run(reconcile, retry, Arc::new(Context { client, failures: Mutex::default() }))
        .for_each(|_| async {})
        .await;
    Ok(())
}

/// The Deployments that may wait for a pod's end: with strategy Recreate no new pod starts before
/// the last old one has ended.
fn blocked_deployments(pod: &Pod, deployments: &Store<Deployment>) -> Vec<ObjectRef<Deployment>> {
    let waits = |deployment: &&Arc<Deployment>| {
        let Some(spec) = &deployment.spec else { return false };
        let mut labels = spec.selector.match_labels.iter().flatten();
        deployment.namespace() == pod.namespace()
            && spec.strategy.as_ref().is_some_and(|strategy| strategy.type_.as_deref() == Some("Recreate"))
            && labels.all(|(key, value)| pod.labels().get(key) == Some(value))
    };
    deployments.state().iter().filter(waits).map(|deployment| ObjectRef::from_obj(&**deployment)).collect()
}

async fn reconcile(deployment: Arc<Deployment>, context: Arc<Context>) -> Result<Action, kube::Error> {
    let again = Rollout::new(context.client.clone(), &deployment).reconcile().await?;
    context.failures().remove(&key(&deployment));
    Ok(again.map_or_else(Action::await_change, Action::requeue))
}

/// Retries after a refused write, mostly because of a stale store, with an increasing delay.
fn retry(deployment: Arc<Deployment>, error: &kube::Error, context: Arc<Context>) -> Action {
    eprintln!("{}: {error}", deployment.name_any());
    let mut failures = context.failures();
    let times = failures.entry(key(&deployment)).or_default();
    let pause = FIRST_DELAY * 2u32.pow(DOUBLINGS.min(*times));
    *times += 1;
    Action::requeue(pause)
}

fn key(deployment: &Deployment) -> (String, String) {
    (deployment.namespace().unwrap_or_default(), deployment.name_any())
}

impl Context {
    fn failures(&self) -> MutexGuard<'_, BTreeMap<(String, String), u32>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
