//! A cluster and its watches.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lockstep_cluster::kind::NodeImages;
use lockstep_cluster::supervise::{ProcessId, SuperviseError, Supervisor};
use lockstep_cluster::{Cluster, ClusterError};
use lockstep_intercept::InterceptorError;
use lockstep_recording::Identity;
use lockstep_recording::controllers::ControllerSet;
use lockstep_subject::virtual_time::VirtualTime;
use lockstep_subject::{ClusterControllers, SubjectError};
use lockstep_support::outcome::InterruptCause;
use lockstep_workload::{Claims, Workload};
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::driver::nodes::HarnessNodes;
use crate::observe::namespace::remove_leftovers;
use crate::observe::{self, ObserveError, WatchCache, WatchTasks};
use crate::stalls::{StallLog, watch_over};
use crate::workload::{self, DefinitionError};

/// A cluster, its watches, and a folder for the subjects' files. A cluster that the harness has
/// booted ends with it.
pub struct Environment {
    pub(super) cluster: Cluster,
    pub(super) client: kube::Client,
    pub(super) cache: Arc<WatchCache>,
    pub(super) nodes: Arc<HarnessNodes>,
    /// Where pods can run for real, if they can.
    pub(super) images: Option<Arc<NodeImages>>,
    /// `None` where subjects cannot be processes.
    pub(super) supervisor: Option<Supervisor>,
    /// What a program in virtual time needs; `None` in real time.
    pub(super) virtual_time: Option<VirtualTime>,
    /// Which controllers a simulated cluster runs besides the subject.
    pub(super) cluster_controllers: ClusterControllers,
    /// The kind that stands in for Deployments, if another one does.
    pub(super) workload: Option<Workload>,
    pub(super) folder: PathBuf,
    _watches: WatchTasks,
    _temporary: Option<TempDir>,
    /// When the server did not answer, or the harness did not run.
    pub(super) stalls: Arc<StallLog>,
    /// Set when the server was ended because it did not answer.
    silent: Arc<AtomicBool>,
    /// Checks whether the server answers.
    _watchdog: Option<JoinSet<()>>,
}

/// A server that has answered no request by then is considered hung.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a test environment could not be set up. All of these make a result inconclusive, except when
/// the subject itself is missing.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// Starting or using the cluster failed.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// A watch, the probe or the proof failed.
    #[error(transparent)]
    Observe(#[from] ObserveError),
    /// The interceptor failed.
    #[error(transparent)]
    Interceptor(#[from] InterceptorError),
    /// The subject could not be started.
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// The supervisor of child processes failed.
    #[error(transparent)]
    Supervise(#[from] SuperviseError),
    /// The kind that stands in for Deployments.
    #[error(transparent)]
    Workload(#[from] DefinitionError),
    /// The thread of a simulated cluster stopped.
    #[error("the simulation stopped: {0}; this is a defect of lockstep")]
    Simulation(String),
    /// The user or a signal interrupted the run.
    #[error("interrupted ({0})")]
    Interrupted(InterruptCause),
    /// A custom resource definition of a case could not be created.
    #[error("cannot create the CustomResourceDefinition {name}: {why}")]
    CustomResource {
        /// Its name.
        name: String,
        /// What the server answered.
        why: String,
    },
    /// A file of custom resource definitions could not be read.
    #[error("cannot read the CustomResourceDefinitions of the case: {0}")]
    CustomResourceFile(String),
    /// A temporary folder could not be created.
    #[error("cannot make a temporary folder: {0}")]
    Folder(#[from] std::io::Error),
}

impl Environment {
    /// Open a cluster and watch it.
    ///
    /// # Errors
    /// The cluster cannot be listed.
    pub async fn open(cluster: Cluster) -> Result<Self, EnvironmentError> {
        Self::open_with(cluster, None).await
    }

    /// Open a cluster on which another kind stands in for Deployments.
    ///
    /// # Errors
    /// The cluster cannot be listed, or the kind cannot be defined.
    pub(crate) async fn open_with(cluster: Cluster, workload: Option<Workload>) -> Result<Self, EnvironmentError> {
        let mut client = cluster.client().await?;
        if let Some(workload) = &workload {
            workload::define(&client, workload).await?;
            client = workload::client(client, Arc::new(workload.clone()));
        }
        let claims = workload.as_ref().map_or_else(Claims::default, Workload::claims);
        let cache = Arc::new(WatchCache::with_claims(claims));
        let watches = match cluster.virtual_time_server().filter(|_| workload.is_none()) {
            Some(server) => observe::open_in_process(server, &cache),
            None => observe::open(&client, &cache).await?,
        };
        // In virtual time there are no files, so nothing can be left behind.
        let virtual_time = cluster.virtual_time_server().is_some();
        let temporary = (!virtual_time).then(|| tempfile::Builder::new().prefix("lockstep-subject-").tempdir());
        let temporary = temporary.transpose()?;
        let folder = temporary.as_ref().map_or_else(PathBuf::new, |temporary| temporary.path().to_owned());
        let supervisor = if virtual_time { None } else { Some(Supervisor::start(&folder, true)?) };
        // An orphan of a subject would act beside the next one.
        supervisor.iter().try_for_each(Supervisor::end_orphans)?;
        let nodes = HarnessNodes::new(client.clone(), cluster.watches_nodes());
        let (stalls, silent) = (Arc::<StallLog>::default(), Arc::<AtomicBool>::default());
        let watchdog = (!virtual_time).then(|| {
            let own = cluster.is_owned().then(|| cluster.programs().clone());
            let (client, stalls, silent) = (client.clone(), Arc::clone(&stalls), Arc::clone(&silent));
            JoinSet::from_iter([async move {
                watch_over(&client, &stalls, |silence| end_if_hung(own.as_ref(), silence, &silent)).await;
            }])
        });
        let images = cluster.node().cloned().map(|node| Arc::new(NodeImages::new(node)));
        Ok(Self {
            cluster,
            client,
            cache,
            nodes,
            images,
            supervisor,
            virtual_time: None,
            cluster_controllers: ClusterControllers::default(),
            workload,
            folder,
            _watches: watches,
            _temporary: temporary,
            stalls,
            silent,
            _watchdog: watchdog,
        })
    }

    /// Why the cluster can no longer be used, if it has ended.
    pub(super) fn ended(&self) -> Option<String> {
        if self.silent.load(Ordering::Relaxed) {
            let seconds = PATIENCE.as_secs();
            return Some(format!("the cluster's kube-apiserver did not answer for {seconds} s and was ended"));
        }
        self.cluster.describe_ended_program()
    }

    /// The environment, for subjects that are programs in virtual time.
    #[must_use]
    pub(crate) fn with_programs(self, virtual_time: VirtualTime) -> Self {
        Self { virtual_time: Some(virtual_time), ..self }
    }

    /// The environment, with these controllers on its simulated cluster.
    #[must_use]
    pub(crate) fn with_cluster_controllers(self, cluster_controllers: ClusterControllers) -> Self {
        Self { cluster_controllers, ..self }
    }

    /// The cluster's name and version.
    pub(crate) fn identity(&self) -> &Identity {
        self.cluster.identity()
    }

    /// Which statuses and events the subject's controller claims to write for a Deployment.
    pub(super) fn claims(&self) -> Claims {
        self.workload.as_ref().map_or_else(Claims::default, Workload::claims)
    }

    /// The controllers that the cluster leaves to the subject.
    pub(crate) fn under_test(&self) -> &ControllerSet {
        self.cluster.without()
    }

    /// Keep the logs of the cluster, which are otherwise deleted with it; returns their folder.
    pub(crate) async fn keep_logs(&self) -> Option<PathBuf> {
        self.cluster.keep_logs().await
    }

    /// Returns with a reason once the harness may not use the cluster any longer; never returns for
    /// a cluster of the harness's own.
    pub(crate) async fn lost(&self) -> String {
        self.cluster.wait_until_lost().await
    }

    /// Close after an interruption, when the case has not cleaned up: on a cluster that stays, also
    /// removes what the case has left. A caller without time for all of this may drop the future: a
    /// cluster that is being removed, and programs that were asked to end, finish without it.
    pub(crate) async fn abandon(self: Arc<Self>) {
        let Some(this) = Arc::into_inner(self) else { return };
        if !this.cluster.is_owned() && !this.cluster.removes_own_objects() {
            // We either hold the cluster alone, or another harness does by now and has cleaned up.
            let alone = this.cluster.lock_for_subject().await;
            if let Err(error) = remove_leftovers(&this.client).await {
                tracing::warn!(%error, "what the interrupted case has left was not removed");
            }
            drop(alone);
            this.nodes.remove().await;
        }
        let supervisor = this.supervisor.map(Supervisor::shutdown);
        tokio::join!(futures::future::OptionFuture::from(supervisor), async {
            drop(this.nodes);
            this.cluster.end().await;
        });
    }

    /// End the subjects' processes, then remove the cluster if this process owns it, or what the
    /// harness has created on it. Does nothing while the environment is shared.
    pub async fn close(self: Arc<Self>) {
        let Some(this) = Arc::into_inner(self) else { return };
        if let Some(supervisor) = this.supervisor {
            supervisor.shutdown().await;
        }
        if this.cluster.removes_own_objects() {
            // Dropped, so that its leases are not renewed while the cluster is being removed.
            drop(this.nodes);
        } else {
            this.nodes.remove().await;
        }
        this.cluster.end().await;
    }
}

/// End a cluster of the harness's own whose server hangs, so that pending requests fail at once.
/// Returns whether there is still a server to watch.
fn end_if_hung(own: Option<&BTreeMap<String, ProcessId>>, silence: Duration, silent: &AtomicBool) -> bool {
    let Some(programs) = own else { return true };
    if silence > PATIENCE {
        silent.store(true, Ordering::Relaxed);
        programs.values().for_each(ProcessId::kill_group);
        return false;
    }
    programs.values().all(ProcessId::is_alive)
}
