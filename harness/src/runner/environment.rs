//! A cluster, watched.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::clock;
use crate::cluster::kind::Images;
use crate::cluster::{Cluster, ClusterError};
use crate::controllers::Controllers;
use crate::driver::nodes::Nodes;
use crate::intercept::InterceptorError;
use crate::observe::namespace::remove_leftovers;
use crate::observe::{self, ObserveError, Watches, World};
use crate::outcome::Cause;
use crate::recording::Identity;
use crate::subject::virtual_time::Virtual;
use crate::subject::{ClusterControllers, SubjectError};
use crate::supervise::{ProcessId, SuperviseError, Supervisor};
use crate::workload::{self, Claims, DefinitionError, Workload};

/// A cluster, its watches, and a folder for the subjects' files. Everything is the harness's own
/// and gone with it.
pub struct Environment {
    pub(super) cluster: Cluster,
    pub(super) client: kube::Client,
    pub(super) world: Arc<World>,
    pub(super) nodes: Arc<Nodes>,
    /// Where pods can run for real, if they can.
    pub(super) images: Option<Arc<Images>>,
    /// `None` where no subject can be a process.
    pub(super) supervisor: Option<Supervisor>,
    /// What a program in virtual time needs, where time is.
    pub(super) virtual_time: Option<Virtual>,
    /// Whose the controllers of a simulated cluster are.
    pub(super) cluster_controllers: ClusterControllers,
    /// What Deployments are on it, if not Deployments.
    pub(super) workload: Option<Workload>,
    pub(super) folder: PathBuf,
    _watches: Watches,
    _temporary: Option<TempDir>,
    /// Says that the server was ended because it did not answer.
    silent: Arc<AtomicBool>,
    /// Looks whether it does.
    _watchdog: Option<JoinSet<()>>,
}

/// Between two looks whether the server answers.
const LOOK: Duration = Duration::from_secs(2);
/// A server that has not said its version by then is taken to hang.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a test environment could not be set up. Unless it is the subject's own absence, all of it is
/// the test environment's: inconclusive.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// The cluster.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The watches, the probe or the proof.
    #[error(transparent)]
    Observe(#[from] ObserveError),
    /// The interceptor.
    #[error(transparent)]
    Interceptor(#[from] InterceptorError),
    /// The subject could not be started.
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// The keeper of child processes.
    #[error(transparent)]
    Supervise(#[from] SuperviseError),
    /// The kind that stands in for Deployments.
    #[error(transparent)]
    Workload(#[from] DefinitionError),
    /// A simulated cluster's thread.
    #[error("the simulation stopped: {0}; this is a defect of lockstep")]
    Simulation(String),
    /// Somebody wants it to end.
    #[error("interrupted ({0})")]
    Interrupted(Cause),
    /// A custom resource that a case brings.
    #[error("cannot create the CustomResourceDefinition {name}: {why}")]
    CustomResource {
        /// Its name.
        name: String,
        /// What the server says.
        why: String,
    },
    /// A file of custom resources.
    #[error("cannot read the CustomResourceDefinitions of the case: {0}")]
    CustomResourceFile(String),
    /// A temporary folder.
    #[error("cannot make a temporary folder: {0}")]
    Folder(#[from] std::io::Error),
}

impl Environment {
    /// Watch a cluster.
    ///
    /// # Errors
    /// When it cannot be listed.
    pub async fn open(cluster: Cluster) -> Result<Self, EnvironmentError> {
        Self::open_with(cluster, None).await
    }

    /// The same where Deployments are of another kind.
    ///
    /// # Errors
    /// When it cannot be listed, or the kind cannot be defined.
    pub async fn open_with(cluster: Cluster, workload: Option<Workload>) -> Result<Self, EnvironmentError> {
        let mut client = cluster.client().await?;
        if let Some(workload) = &workload {
            workload::define(&client, workload).await?;
            client = workload::client(client, Arc::new(workload.clone()));
        }
        let claims = workload.as_ref().map_or_else(Claims::default, Workload::claims);
        let world = Arc::new(World::claiming(claims));
        let watches = match cluster.in_virtual_time().filter(|_| workload.is_none()) {
            Some(server) => observe::open_inside(server, &world),
            None => observe::open(&client, &world).await?,
        };
        // In virtual time nobody has a file: there is nothing to be left behind.
        let virtual_time = cluster.in_virtual_time().is_some();
        let temporary = (!virtual_time).then(|| tempfile::Builder::new().prefix("lockstep-subject-").tempdir());
        let temporary = temporary.transpose()?;
        let folder = temporary.as_ref().map_or_else(PathBuf::new, |temporary| temporary.path().to_owned());
        let supervisor = if virtual_time { None } else { Some(Supervisor::start(&folder, true)?) };
        let nodes = Nodes::new(client.clone(), cluster.watches_nodes());
        let silent = Arc::default();
        let own = cluster.belongs_here() && !virtual_time;
        let watchdog = own
            .then(|| JoinSet::from_iter([watch_over(cluster.programs().clone(), client.clone(), Arc::clone(&silent))]));
        let images = cluster.node().cloned().map(|node| Arc::new(Images::new(node)));
        Ok(Self {
            cluster,
            client,
            world,
            nodes,
            images,
            supervisor,
            virtual_time: None,
            cluster_controllers: ClusterControllers::default(),
            workload,
            folder,
            _watches: watches,
            _temporary: temporary,
            silent,
            _watchdog: watchdog,
        })
    }

    /// Why nothing more can come of its cluster, if it has ended.
    pub(super) fn ended(&self) -> Option<String> {
        if self.silent.load(Ordering::Relaxed) {
            let seconds = PATIENCE.as_secs();
            return Some(format!("the cluster's kube-apiserver did not answer for {seconds} s and was ended"));
        }
        self.cluster.ended()
    }

    /// The same for subjects that are programs in virtual time.
    #[must_use]
    pub fn with_programs(self, virtual_time: Virtual) -> Self {
        Self { virtual_time: Some(virtual_time), ..self }
    }

    /// The same with these controllers on a simulated cluster.
    #[must_use]
    pub fn with_cluster_controllers(self, cluster_controllers: ClusterControllers) -> Self {
        Self { cluster_controllers, ..self }
    }

    /// The cluster's name and version.
    pub fn identity(&self) -> &Identity {
        self.cluster.identity()
    }

    /// What the subject's controller claims of a Deployment.
    pub(super) fn claims(&self) -> Claims {
        self.workload.as_ref().map_or_else(Claims::default, Workload::claims)
    }

    /// What its cluster leaves to the subject.
    pub fn under_test(&self) -> &Controllers {
        self.cluster.without()
    }

    /// Keep what the cluster itself has logged, where it goes with the cluster otherwise; returns
    /// the folder.
    pub async fn keep_logs(&self) -> Option<PathBuf> {
        self.cluster.keep_logs().await
    }

    /// Returns once the cluster is no longer the harness's to use, and says why; never where it is
    /// the harness's own.
    pub async fn lost(&self) -> String {
        self.cluster.lost().await
    }

    /// The same after an interruption, when nobody has tidied up behind a case: what is left of it
    /// on a cluster that stays goes too. Whoever has no time for all of it drops it in the middle:
    /// a cluster that is being removed, and programs that are told to end, do without.
    pub async fn abandon(self: Arc<Self>) {
        let Some(this) = Arc::into_inner(self) else { return };
        if !this.cluster.belongs_here() && !this.cluster.sweeps() {
            // Alone on the cluster, or another harness is by now, and has done it.
            let alone = this.cluster.exclusive().await;
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

    /// End the subjects' processes, then the cluster if it is this process's own, or what the
    /// harness has on it. Does nothing while somebody else uses it.
    pub async fn close(self: Arc<Self>) {
        let Some(this) = Arc::into_inner(self) else { return };
        if let Some(supervisor) = this.supervisor {
            supervisor.shutdown().await;
        }
        if this.cluster.sweeps() {
            // Dropped, so that nobody keeps alive what is being removed.
            drop(this.nodes);
        } else {
            this.nodes.remove().await;
        }
        this.cluster.end().await;
    }
}

/// End a cluster of the harness's own whose server hangs: whatever waits for an answer then fails
/// at once.
async fn watch_over(programs: BTreeMap<String, ProcessId>, client: kube::Client, silent: Arc<AtomicBool>) {
    while programs.values().all(ProcessId::is_alive) {
        clock::pause(LOOK).await;
        if tokio::time::timeout(PATIENCE, client.apiserver_version()).await.is_err() {
            silent.store(true, Ordering::Relaxed);
            programs.values().for_each(ProcessId::kill_group);
            return;
        }
    }
}
