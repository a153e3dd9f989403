//! Making the steps: what a user does with kubectl and what nodes do with pods.
//!
//! The driver knows the case and the API server, not the subject, and judges nothing: an operation
//! that cannot be made is an error that says why, and whose fault that is. Every write's
//! resourceVersion is kept, so that settling can wait for it to come back through the watches and
//! the judge can tell the driver's writes from the subject's.
//!
//! Each operation says itself how it is performed (`case::operations`); `drive` is what it may ask
//! for here. `kubectl` is the user's half, `node` the nodes'; [`attend`](mod@attend) is what nodes
//! do unasked between steps: bind new pods and, where terminations are automatic, finish deletions.
//! `name` is for pods that the case knows by name; `namespace` fills in the case's namespace;
//! `nodes` are those that held pods are bound to; `real` is for pods that a kubelet runs.

mod apply;
pub mod attend;
pub mod between;
mod drive;
mod kubectl;
mod name;
mod namespace;
mod node;
pub mod nodes;
mod real;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::api::{Api, ApiResource, DynamicObject};
use kube::core::GroupVersionKind;

use crate::case::model::Operation;
pub use crate::case::model::{DriveError, PodOperation, label};
use crate::clock;
use crate::cluster::Cluster;
use crate::observe::{Kind, World};
pub use node::next_pods;
pub use real::Stillness;

impl From<kube::Error> for DriveError {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if (400..500).contains(&status.code) => Self::Refused(status.message.clone()),
            kube::Error::Api(status) if status.code == 501 => {
                Self::Environment(format!("{}; play this case on --cluster control-plane", status.message))
            }
            // Its own words, without the whole of its answer around them.
            kube::Error::Api(status) if !status.message.is_empty() => Self::Server(status.message.clone().into()),
            error => Self::Server(error.into()),
        }
    }
}

/// Makes the steps of one case in one namespace.
pub struct Driver {
    client: kube::Client,
    world: Arc<World>,
    namespace: String,
    stillness: Stillness,
    nodes: Arc<nodes::Nodes>,
    /// How many pods have got a node because the case made them ready.
    bound: AtomicU32,
    written: Mutex<Vec<(Kind, u64)>>,
    named: Mutex<Named>,
    /// When the steps that carry a label began.
    labels: Mutex<BTreeMap<String, clock::Instant>>,
    cluster: Cluster,
    /// What it was told last.
    told_time: Mutex<Option<jiff::Timestamp>>,
}

/// The real names of pods by the case's names: all of them, and those that nobody has asked for
/// yet.
#[derive(Debug, Default)]
struct Named {
    all: BTreeMap<String, String>,
    new_names: BTreeMap<String, String>,
}

impl Driver {
    /// A driver for a namespace that exists.
    pub fn new(
        cluster: Cluster,
        world: Arc<World>,
        nodes: Arc<nodes::Nodes>,
        namespace: &str,
        stillness: Stillness,
    ) -> Self {
        Self {
            client: nodes.client.clone(),
            world,
            namespace: namespace.to_owned(),
            stillness,
            nodes,
            bound: AtomicU32::default(),
            written: Mutex::default(),
            named: Mutex::default(),
            labels: Mutex::default(),
            cluster,
            told_time: Mutex::default(),
        }
    }

    /// The name of a node that no other pod of the case's is on.
    fn own_node(&self) -> String {
        format!("lockstep-own-{}", self.bound.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Make one step that is not about choosing pods.
    ///
    /// # Errors
    /// See [`DriveError`].
    pub async fn perform(&self, operation: &Operation) -> Result<(), DriveError> {
        operation.perform(self).await
    }

    /// A step begins that may carry a label.
    pub fn label(&self, label: Option<&str>) {
        let mut labels = self.labels.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        labels.extend(label.map(|label| (label.to_owned(), clock::instant())));
    }

    /// The time until so long after a labelled step began, however long settling has taken since.
    fn until(&self, to: Duration, since: &str) -> Result<Duration, DriveError> {
        let began = self.labels.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get(since).copied();
        let began =
            began.ok_or_else(|| DriveError::Environment(format!("no step with the label {since} was made yet")))?;
        to.checked_sub(began.elapsed()).ok_or_else(|| {
            DriveError::Environment(format!(
                "{:?} have passed since {since} already; this cluster is too slow for it",
                began.elapsed()
            ))
        })
    }

    /// An object as it is on the server now, if it is there.
    pub async fn look(&self, resource: &str, name: &str) -> Option<serde_json::Value> {
        let kind = if resource == "deployments" { "Deployment" } else { "ReplicaSet" };
        let found = self.api("apps/v1", kind).get_opt(name).await.ok()??;
        serde_json::to_value(found).ok()
    }

    /// The resourceVersions written since the last call.
    pub fn take_written(&self) -> Vec<(Kind, u64)> {
        std::mem::take(&mut *self.written.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// Before a step that may create a ReplicaSet: let the server's clock pass the second in which
    /// the last one was created. Creation times have a resolution of one second, and a tie would be
    /// broken by the hash in the name. A simulated server in real time is told the time instead, as
    /// waiting for it was a third of most cases.
    pub async fn new_second(&self) {
        let newest = self.world.last_created(&self.namespace).and_then(|time| time.parse().ok());
        let Some(newest): Option<jiff::Timestamp> = newest else {
            return;
        };
        let Ok(next) = jiff::Timestamp::from_second(newest.as_second() + 1) else { return };
        // A server that does not answer shows in the step.
        if self.cluster.create_not_before(&self.client, &self.namespace, next).await.unwrap_or(false) {
            *self.told_time.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(next);
            return;
        }
        let wait = next.as_millisecond() - clock::now().as_millisecond();
        if let Ok(wait @ 1..=1500) = u64::try_from(wait) {
            clock::pause(Duration::from_millis(wait + 2)).await;
        }
    }

    /// The time of day, as the server has it.
    fn time_of_day(&self) -> String {
        let told = *self.told_time.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        clock::to_rfc3339(told.map_or_else(clock::now, |told| told.max(clock::now())))
    }

    /// Before pods become ready in simulated time, where minReadySeconds counts from there: let a
    /// second begin. Pods that became ready in the same second become available at once, so the
    /// milliseconds that the subject took before would tell which.
    pub async fn next_second(&self) {
        let within = clock::now().as_millisecond().rem_euclid(1000).unsigned_abs();
        clock::pause(Duration::from_millis(1000 - within)).await;
    }

    /// Remember what a write answered.
    fn wrote(&self, kind: Kind, object: &DynamicObject) {
        let rv = object.metadata.resource_version.as_deref().and_then(|rv| rv.parse().ok());
        if let Some(rv) = rv {
            self.world.own(rv);
            self.written.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((kind, rv));
        }
    }

    /// The API of a kind, in the case's namespace.
    fn api(&self, api_version: &str, kind: &str) -> Api<DynamicObject> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
    }

    fn deployments(&self) -> Api<DynamicObject> {
        self.api("apps/v1", "Deployment")
    }
}
