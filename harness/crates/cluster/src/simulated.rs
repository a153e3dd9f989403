//! `sim`: the simulated API server, in this process or as a program.
//!
//! In this process it runs in virtual time, without a socket. Each case has its own. It has no
//! files, processes or credentials, and only the subject and the test environment's controllers
//! have a client for it, so there is nothing to prove. It ends with its last clone.
//!
//! For subjects in other processes it serves HTTP in real time, as a program of its own
//! ([`SimulatedServer`]) on loopback, with TLS and its own tokens. Which controllers run beside the
//! server is decided where it is started, so all there is to prove is that the program has written
//! its address.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kube_apiserver_sim::{ApiServer, Latency, ListenHandle, ListenOptions, NOT_BEFORE_PATH, UNSUPPORTED_PATH};
use lockstep_recording::Identity;
use lockstep_recording::controllers::ControllerSet;
use lockstep_support::clock;
use tokio::task::AbortHandle;

use crate::backend::{ClusterFacts, Connect, Prove, Teardown};
use crate::certificates::Authority;
use crate::ready;
use crate::supervise::{self, Child, ProcessId, ProcessSpec};
use crate::supervised_cluster::{self, SupervisedCluster};
use crate::user_dir::{self, write_private_file};
use crate::{ClusterAccess, ClusterError, ClusterPlan, Credential, DEFAULT_VERSION, SiteName, access, programs};

/// A simulated server in this process, in virtual time.
#[derive(Debug, Clone)]
pub struct SimulatedCluster {
    facts: ClusterFacts,
    server: ApiServer,
}

impl SimulatedCluster {
    /// With seed 0 its latency is fixed, with any other seed it is random. Without the server's
    /// garbage collector the caller must bring one.
    pub(crate) fn start(seed: u64, without: ControllerSet, collects_garbage: bool) -> Self {
        use kube_apiserver_sim::ControllerMode::{Immediate, WithoutGarbageCollector};
        let controllers = if collects_garbage { Immediate } else { WithoutGarbageCollector };
        let latency = if seed == 0 { Latency::Fixed } else { Latency::Random };
        let server =
            ApiServer::builder().seed(seed).latency(latency).controllers(controllers).clock(clock::now).build();
        let facts = ClusterFacts {
            identity: Identity::new(SiteName::Sim, "simulated", DEFAULT_VERSION),
            access: memory_access(),
            dir: PathBuf::new(),
            programs: BTreeMap::new(),
            without,
        };
        Self { facts, server }
    }
}

/// The server has no address and requires no credentials.
fn memory_access() -> ClusterAccess {
    ClusterAccess {
        server: String::new(),
        server_name: None,
        ca_pem: String::new(),
        proxy: None,
        admin: Credential::Token(String::new()),
        subject_token: String::new(),
    }
}

impl Connect for SimulatedCluster {
    fn facts(&self) -> &ClusterFacts {
        &self.facts
    }

    async fn client(&self) -> Result<kube::Client, ClusterError> {
        Ok(self.server.without_managed_fields().client())
    }

    fn virtual_time_server(&self) -> Option<&ApiServer> {
        Some(&self.server)
    }
}

impl Prove for SimulatedCluster {}

impl Teardown for SimulatedCluster {
    fn is_owned(&self) -> bool {
        true
    }

    async fn end(self) {}
}

/// The role of the program; see `supervise::role`.
pub const ROLE: &str = "simulated-server";
/// The name of the program in process lists and logs, and in its certificate.
const PROGRAM: &str = "kube-apiserver";
/// The file into which the program writes its address and tokens.
const ACCESS_FILE: &str = "access.json";
/// The time limit for a start, on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Starts a server that ends with this process, or outlives it if it is detached.
pub(crate) async fn start_server(parent: &Path, plan: &ClusterPlan) -> Result<SupervisedCluster, ClusterError> {
    check_version(plan)?;
    let (dir, supervisor) = supervised_cluster::start_supervisor(parent)?;
    let program = supervise::own_executable().map_err(ClusterError::file(&dir))?;
    // The first argument describes the process in a process list.
    let args = vec!["--simulated-server".to_owned(), dir.display().to_string(), plan.without.to_string()];
    let (env, log) = (supervise::in_role(ROLE), programs::log(&dir, PROGRAM));
    let child = supervisor.spawn(ProcessSpec { name: PROGRAM.to_owned(), program, args, env, log })?;
    let access = match wait_for_access(&child, &dir).await {
        Ok(access) => access,
        Err(error) => {
            supervisor.shutdown().await;
            return Err(error);
        }
    };
    write_kubeconfig(&access, &dir)?;
    let mut facts = facts(access, &dir, &plan.without);
    facts.programs = BTreeMap::from([(child.name.clone(), ProcessId::of(child.pid))]);
    Ok(SupervisedCluster::owned(facts, supervisor))
}

/// Only one version is simulated.
fn check_version(plan: &ClusterPlan) -> Result<(), ClusterError> {
    if plan.version == DEFAULT_VERSION { Ok(()) } else { Err(ClusterError::UnsupportedVersion(plan.version.clone())) }
}

/// Waits until the program has written its address.
async fn wait_for_access(child: &Child, dir: &Path) -> Result<ClusterAccess, ClusterError> {
    let (log, since) = (programs::log(dir, PROGRAM), clock::instant());
    loop {
        if let Some(access) = read_access(dir) {
            return Ok(access);
        }
        let excerpt = || ready::excerpt(&std::fs::read_to_string(&log).unwrap_or_default(), dir);
        if let Some(exit) = child.exited() {
            return Err(ClusterError::Exited { program: PROGRAM.to_owned(), exit, excerpt: excerpt(), log });
        }
        if since.elapsed() > TIMEOUT {
            return Err(ClusterError::NotReady { seconds: TIMEOUT.as_secs(), excerpt: excerpt(), log });
        }
        clock::pause(POLL_INTERVAL).await;
    }
}

/// Reads the access that the program has written, once it has.
fn read_access(dir: &Path) -> Option<ClusterAccess> {
    serde_json::from_slice(&std::fs::read(dir.join(ACCESS_FILE)).ok()?).ok()
}

/// Writes the harness's kubeconfig, for kubectl.
fn write_kubeconfig(access: &ClusterAccess, dir: &Path) -> Result<(), ClusterError> {
    let Credential::Token(token) = &access.admin else { unreachable!("it has tokens of its own") };
    let kubeconfig = access::kubeconfig(&access.server, &access.ca_pem, token);
    write_private_file(&programs::admin_kubeconfig(dir), kubeconfig.as_bytes())
}

fn facts(access: ClusterAccess, dir: &Path, without: &ControllerSet) -> ClusterFacts {
    ClusterFacts {
        identity: Identity::new(SiteName::Sim, "simulated", DEFAULT_VERSION),
        access,
        dir: dir.to_owned(),
        programs: BTreeMap::new(),
        without: without.clone(),
    }
}

/// The requests so far that the server does not support.
pub(crate) async fn unsupported_requests(client: &kube::Client) -> Result<Vec<String>, ClusterError> {
    let request = hyper::Request::get(UNSUPPORTED_PATH).body(Vec::new()).expect("a constant request is well-formed");
    let answer = client.request(request).await;
    answer.map_err(ClusterError::request("asking the simulated server what it does not support"))
}

/// From now on gives objects of a namespace creation times not before `time`.
pub(crate) async fn create_not_before(
    client: &kube::Client,
    namespace: &str,
    time: jiff::Timestamp,
) -> Result<(), ClusterError> {
    let path = format!("{NOT_BEFORE_PATH}{namespace}/{}", time.as_second());
    let request = hyper::Request::put(path).body(Vec::new()).expect("names of namespaces are well-formed in a path");
    client.request(request).await.map_err(ClusterError::request("setting the simulated server's time"))
}

/// A simulated server that listens until it is dropped.
#[derive(Debug)]
pub struct SimulatedServer {
    access: ClusterAccess,
    server: ApiServer,
    _listening: ListenHandle,
    /// The cluster's controllers.
    controllers: AbortHandle,
}

impl SimulatedServer {
    /// Listens on loopback, with its own tokens and certificate.
    ///
    /// # Errors
    /// When there is no port, no random number or no certificate.
    pub fn start() -> Result<Self, ClusterError> {
        let authority = Authority::new("lockstep simulated server", clock::now())?;
        let tls = authority.server(PROGRAM)?.server_config().map_err(|error| ClusterError::Tls(error.to_string()))?;
        let (admin, subject) = (user_dir::random_token()?, user_dir::random_token()?);
        // Fixed latency: real time has real delays, and random ones would slow the case down.
        let server =
            ApiServer::builder().controllers(kube_apiserver_sim::ControllerMode::Background).clock(clock::now).build();
        let how = ListenOptions::loopback().token(&admin).token(&subject).tls(tls);
        let listening = server.listen(how).map_err(ClusterError::Port)?;
        let access = ClusterAccess {
            server: listening.url(),
            server_name: None,
            ca_pem: authority.pem(),
            proxy: None,
            admin: Credential::Token(admin),
            subject_token: subject,
        };
        let controllers = tokio::spawn(server.run_controllers()).abort_handle();
        Ok(Self { access, server, _listening: listening, controllers })
    }

    /// Writes the access for the process that started this program.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_access(&self, folder: &Path) -> Result<(), ClusterError> {
        write_private_file(
            &folder.join(ACCESS_FILE),
            &serde_json::to_vec(&self.access).expect("an access is plain data"),
        )
    }

    /// Its address and tokens.
    #[cfg(test)]
    pub(crate) fn access(&self) -> &ClusterAccess {
        &self.access
    }

    /// A client in this process, without the socket.
    pub fn client(&self) -> kube::Client {
        self.server.client()
    }
}

impl Drop for SimulatedServer {
    fn drop(&mut self) {
        self.controllers.abort();
    }
}
