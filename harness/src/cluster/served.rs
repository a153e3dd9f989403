//! The simulated server where somebody else is to reach it: over HTTP, in the machine's own time.
//!
//! Within this process ([`boot`]) it is there for subjects that are processes of their own. As a program of its own it stands until
//! `lockstep cluster down`: [`stand_in`] starts this executable anew, that calls [`Served::start`], and says in a file where it listens.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kube_apiserver_sim::{ApiServer, Listen, Listening, UNSUPPORTED_PATH};
use tokio::task::AbortHandle;

use super::boot::Booted;
use super::place::{self, write_private};
use super::{Access, Authority, Cluster, ClusterError, Credential, DEFAULT_VERSION, Plan, SiteName, access, programs};
use crate::clock;
use crate::controllers::Controllers;
use crate::recording::Identity;
use crate::supervise::{ProcessId, Spec, Supervisor, interrupt};

/// What the program is called in lists and logs.
const PROGRAM: &str = "kube-apiserver";
/// Where the program says how to reach it.
const SAID: &str = "access.json";
/// A machine that is busy with something else may take this long.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(10);

/// A simulated server that listens; the last that drops it ends it.
#[derive(Debug)]
pub struct Served {
    access: Access,
    server: ApiServer,
    _listening: Listening,
    /// The cluster's own controllers.
    controllers: AbortHandle,
}

impl Served {
    /// Listen on loopback, with tokens and a certificate of its own.
    ///
    /// # Errors
    /// No port, no random numbers, no certificate.
    pub fn start() -> Result<Self, ClusterError> {
        let authority = Authority::new("lockstep simulated server", clock::now())?;
        let tls = authority.server(PROGRAM)?.server_config().map_err(|error| ClusterError::Tls(error.to_string()))?;
        let (admin, subject) = (place::token()?, place::token()?);
        // Fixed latency: in real time there are real delays, and random ones would cost time.
        let server =
            ApiServer::builder().controllers(kube_apiserver_sim::Controllers::Background).clock(clock::now).build();
        let how = Listen::loopback().token(&admin).token(&subject).tls(tls);
        let listening = server.listen(how).map_err(ClusterError::Port)?;
        let access = Access {
            server: listening.url(),
            server_name: None,
            ca_pem: authority.pem(),
            admin: Credential::Token(admin),
            subject_token: subject,
        };
        let controllers = tokio::spawn(server.run_controllers()).abort_handle();
        Ok(Self { access, server, _listening: listening, controllers })
    }

    /// Tell whoever started this program how to reach it.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn say(&self, folder: &Path) -> Result<(), ClusterError> {
        write_private(&folder.join(SAID), &serde_json::to_vec(&self.access).expect("an access is plain data"))
    }

    /// The server itself.
    pub(super) fn server(&self) -> &ApiServer {
        &self.server
    }

    /// A client in this process, past the socket.
    pub fn client(&self) -> kube::Client {
        self.server.client()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.controllers.abort();
    }
}

/// One in this process, for as long as somebody holds the cluster.
pub(super) fn boot(parent: &Path, plan: &Plan) -> Result<Cluster, ClusterError> {
    check(plan)?;
    let served = Served::start()?;
    let folder = tempfile::Builder::new().prefix("served-").tempdir_in(parent).map_err(ClusterError::file(parent))?;
    interrupt::removes(folder.path());
    let mut cluster = cluster(served.access.clone(), folder.path(), &plan.without);
    cluster.served = Some(Arc::new((served, folder)));
    Ok(cluster)
}

/// One that outlives this process.
pub(super) async fn stand_in(parent: &Path, plan: &Plan) -> Result<Booted, ClusterError> {
    check(plan)?;
    let dir = place::fresh(parent)?;
    let supervisor = Supervisor::start(&dir, true).inspect_err(|_| {
        // Nobody is left to do it; and what remains is an empty folder for temporary files.
        let _ = std::fs::remove_dir_all(&dir);
    })?;
    let me = std::env::current_exe().map_err(ClusterError::file(&dir))?;
    let words = ["cluster".to_owned(), "serve".to_owned(), dir.display().to_string(), plan.without.to_string()];
    let (args, log, env) = (words.to_vec(), programs::log(&dir, PROGRAM), BTreeMap::new());
    let child = supervisor.spawn(Spec { name: PROGRAM.to_owned(), program: me, args, env, log: log.clone() })?;
    let since = clock::instant();
    let access = loop {
        if let Ok(said) = std::fs::read(dir.join(SAID))
            && let Ok(access) = serde_json::from_slice::<Access>(&said)
        {
            break access;
        }
        let tail = || std::fs::read_to_string(&log).unwrap_or_default();
        if let Some(exit) = child.exited() {
            let error = ClusterError::Exited { program: PROGRAM.to_owned(), exit, log: log.clone(), tail: tail() };
            supervisor.shutdown().await;
            return Err(error);
        }
        if since.elapsed() > PATIENCE {
            let error = ClusterError::NotReady { seconds: PATIENCE.as_secs(), log: log.clone(), tail: tail() };
            supervisor.shutdown().await;
            return Err(error);
        }
        clock::pause(LOOK).await;
    };
    let Credential::Token(token) = &access.admin else { unreachable!("it has tokens of its own") };
    let kubeconfig = access::kubeconfig(&access.server, &access.ca_pem, token);
    write_private(&programs::admin_kubeconfig(&dir), kubeconfig.as_bytes())?;
    let mut cluster = cluster(access, &dir, &plan.without);
    cluster.programs = BTreeMap::from([(child.name.clone(), ProcessId::of(child.pid))]);
    cluster.supervisor = Some(supervisor.process());
    Ok(Booted { cluster, supervisor: Some(supervisor) })
}

/// The requests that a simulated server does not support, wherever it runs; none of a real server.
pub(super) async fn unsupported(cluster: &Cluster) -> Result<Vec<String>, ClusterError> {
    match (&cluster.sim, &cluster.served) {
        (Some(sim), _) => Ok(sim.unsupported()),
        (None, Some(served)) => Ok(served.0.server.unsupported()),
        (None, None) if cluster.identity.name == SiteName::Sim.as_str() => {
            let request =
                hyper::Request::get(UNSUPPORTED_PATH).body(Vec::new()).expect("a constant request is well-formed");
            let answer = cluster.client().await?.request(request).await;
            answer.map_err(ClusterError::request("asking the simulated server what it does not support"))
        }
        (None, None) => Ok(Vec::new()),
    }
}

/// There is one version to simulate.
fn check(plan: &Plan) -> Result<(), ClusterError> {
    if plan.version == DEFAULT_VERSION { Ok(()) } else { Err(ClusterError::Unlike(plan.version.clone())) }
}

fn cluster(access: Access, dir: &Path, without: &Controllers) -> Cluster {
    Cluster {
        identity: Identity::new(SiteName::Sim, "simulated", DEFAULT_VERSION),
        access,
        dir: dir.to_owned(),
        programs: BTreeMap::new(),
        supervisor: None,
        without: without.clone(),
        kind: None,
        sim: None,
        served: None,
        owned: None,
        alone: None,
        tenancy: None,
    }
}
