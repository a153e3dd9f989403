//! From nothing to a server that says it is ready.
//!
//! etcd and the API server start together; the controller manager starts as soon as the API server
//! answers anything, so that its own start overlaps with the API server's last second of preparations.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::rbac::v1::{ClusterRoleBinding, RoleRef, Subject};
use kube::api::{Api, ObjectMeta, PostParams};

use super::place::{self, write_private};
use super::programs::{self, Layout};
use super::{Access, Binaries, Cluster, ClusterError, User, binaries, certificates, ports};
use crate::clock;
use crate::recording::Identity;
use crate::supervise::{Child, ProcessId, Spec, Supervisor};

/// How often somebody may take a port away before the program binds it.
const ATTEMPTS: u32 = 5;
/// Between two looks at a server that is starting.
const LOOK: Duration = Duration::from_millis(25);
/// A machine that is busy with something else may take this long.
const PATIENCE: Duration = Duration::from_secs(90);
/// The controller manager gives up on a server that is not healthy after ten seconds; then it is started again.
const LAB_PATIENCE: Duration = Duration::from_secs(9);
/// The lab's half.
const LAB: &str = "kube-controller-manager";
/// How much of a log goes into an error.
const TAIL: usize = 12;

/// What to boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The version, as in `v1.36.3`.
    pub version: String,
    /// Controllers that the subject brings, by upstream's short names, and that the lab's half therefore leaves out.
    pub without: BTreeSet<String>,
}

impl Plan {
    /// The lab's half whole, which never has the Deployment controller.
    pub fn new(version: &str) -> Self {
        Self { version: version.to_owned(), without: BTreeSet::new() }
    }

    /// Leave out what the subject brings.
    #[must_use]
    pub fn without<S: Into<String>>(mut self, controllers: impl IntoIterator<Item = S>) -> Self {
        self.without.extend(controllers.into_iter().map(Into::into));
        self
    }
}

/// Boot a control plane that belongs to this process: it ends when the last [`Cluster`] is dropped, or with this process.
pub async fn boot(plan: &Plan) -> Result<Cluster, ClusterError> {
    let (mut cluster, supervisor) = boot_in(&place::of_user()?, plan).await?;
    cluster.owned = Some(Arc::new(supervisor));
    Ok(cluster)
}

/// Boot a control plane in a new folder inside of `parent`; it is the supervisor's to end.
pub(super) async fn boot_in(parent: &Path, plan: &Plan) -> Result<(Cluster, Supervisor), ClusterError> {
    let version = plan.version.clone();
    let binaries = tokio::task::spawn_blocking(move || binaries(&version)).await??;
    let dir = place::fresh(parent)?;
    let supervisor = Supervisor::start(&dir, true).inspect_err(|_| {
        // Nobody is left to do it; and what remains is an empty folder for temporary files.
        let _ = std::fs::remove_dir_all(&dir);
    })?;
    let mut attempt = 1;
    loop {
        let mut starting = Starting::new(&supervisor, &binaries, &dir)?;
        match starting.run(plan).await {
            Ok(cluster) => return Ok((cluster, supervisor)),
            Err(_) if attempt < ATTEMPTS && starting.lost_a_port() => attempt += 1,
            Err(error) => {
                supervisor.shutdown().await;
                return Err(error);
            }
        }
        starting.clear().await;
    }
}

/// One attempt.
struct Starting<'a> {
    supervisor: &'a Supervisor,
    binaries: &'a Binaries,
    layout: Layout,
    children: Vec<Child>,
}

impl<'a> Starting<'a> {
    fn new(supervisor: &'a Supervisor, binaries: &'a Binaries, dir: &Path) -> Result<Self, ClusterError> {
        let [api, etcd, peer] = ports::free()?;
        let layout = Layout { dir: dir.to_owned(), api, etcd, peer };
        Ok(Self { supervisor, binaries, layout, children: Vec::new() })
    }

    async fn run(&mut self, plan: &Plan) -> Result<Cluster, ClusterError> {
        let access = self.write_files()?;
        self.start("etcd", programs::etcd(&self.layout))?;
        self.start("kube-apiserver", programs::kube_apiserver(&self.layout))?;
        let client = access.admin_client()?;
        self.until_ready(&client, plan).await?;
        admit_subject(client).await?;
        Ok(Cluster {
            identity: Identity {
                name: "control-plane".to_owned(),
                version: format!("kube-apiserver {}", self.binaries.version),
            },
            access,
            dir: self.layout.dir.clone(),
            programs: self.children.iter().map(|child| (child.name.clone(), ProcessId::of(child.pid))).collect(),
            supervisor: self.supervisor.process(),
            owned: None,
        })
    }

    /// Everything that the programs read.
    fn write_files(&self) -> Result<Access, ClusterError> {
        let ca_pem = certificates::write_all(&self.layout.pki(), clock::now())?;
        let (admin_token, subject_token) = (place::token()?, place::token()?);
        let tokens = format!(
            "{admin_token},{},1,system:masters\n{subject_token},{},2\n",
            User::Admin.name(),
            User::Subject.name()
        );
        write_private(&self.layout.tokens(), tokens.as_bytes())?;
        let access = Access { server: self.layout.server(), ca_pem, admin_token, subject_token };
        write_private(&self.layout.kubeconfig(), access.kubeconfig(User::Admin).as_bytes())?;
        Ok(access)
    }

    fn start(&mut self, name: &str, args: Vec<String>) -> Result<(), ClusterError> {
        self.children.push(self.supervisor.spawn(Spec {
            name: name.to_owned(),
            program: self.binaries.program(name),
            args,
            env: BTreeMap::new(),
            log: programs::log(&self.layout.dir, name),
        })?);
        Ok(())
    }

    /// Ask until the answer is 200, and start the controller manager on the first answer of any kind.
    async fn until_ready(&mut self, client: &kube::Client, plan: &Plan) -> Result<(), ClusterError> {
        let started = clock::instant();
        let mut lab = None;
        loop {
            let answer = client.request_text(readyz()).await;
            if lab.is_none() && matches!(answer, Ok(_) | Err(kube::Error::Api(_))) {
                self.start(LAB, programs::kube_controller_manager(&self.layout, &plan.without))?;
                lab = Some(clock::instant());
            }
            if let Some((child, exit)) = self.children.iter().find_map(|child| Some((child, child.exited()?))) {
                if child.name == LAB && lab.take().is_some_and(|started| started.elapsed() > LAB_PATIENCE) {
                    self.children.retain(|child| child.name != LAB);
                    continue;
                }
                let (log, tail) = self.keep_log(&child.name);
                return Err(ClusterError::Exited { program: child.name.clone(), exit, log, tail });
            }
            if answer.is_ok() {
                return Ok(());
            }
            if started.elapsed() > PATIENCE {
                let (log, tail) = self.keep_log("kube-apiserver");
                return Err(ClusterError::NotReady { seconds: PATIENCE.as_secs(), log, tail });
            }
            clock::pause(LOOK).await;
        }
    }

    /// Keep a log although the cluster's folder goes, where the next failure of the same program overwrites it.
    fn keep_log(&self, program: &str) -> (PathBuf, String) {
        let log = programs::log(&self.layout.dir, program);
        let text = String::from_utf8_lossy(&std::fs::read(&log).unwrap_or_default()).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        let tail = lines[lines.len().saturating_sub(TAIL)..].join("\n");
        let kept = place::of_user().map(|folder| folder.join(format!("failed-{program}.log")));
        match kept {
            Ok(kept) if write_private(&kept, text.as_bytes()).is_ok() => (kept, tail),
            _ => (log, tail),
        }
    }

    /// Whether somebody took a port between our look and the program's `bind`.
    fn lost_a_port(&self) -> bool {
        self.children.iter().any(|child| {
            std::fs::read(programs::log(&self.layout.dir, &child.name))
                .is_ok_and(|log| String::from_utf8_lossy(&log).contains("address already in use"))
        })
    }

    /// Before the next attempt: nothing of this one may run or lie about.
    async fn clear(self) {
        for child in &self.children {
            child.kill();
            child.wait_exit().await;
            // A file that is not there needs no removing.
            let _ = std::fs::remove_file(programs::log(&self.layout.dir, &child.name));
        }
        let _ = std::fs::remove_dir_all(self.layout.data());
    }
}

fn readyz() -> hyper::Request<Vec<u8>> {
    hyper::Request::get("/readyz").body(Vec::new()).expect("a constant request is well-formed")
}

/// Bind the subject's user to `cluster-admin`: the server is thrown away, and rights are not what is judged on it.
async fn admit_subject(client: kube::Client) -> Result<(), ClusterError> {
    let group = "rbac.authorization.k8s.io".to_owned();
    let binding = ClusterRoleBinding {
        metadata: ObjectMeta { name: Some(User::Subject.name().to_owned()), ..ObjectMeta::default() },
        role_ref: RoleRef {
            api_group: Some(group.clone()),
            kind: "ClusterRole".to_owned(),
            name: "cluster-admin".to_owned(),
        },
        subjects: Some(vec![Subject {
            api_group: Some(group),
            kind: "User".to_owned(),
            name: User::Subject.name().to_owned(),
            namespace: None,
        }]),
    };
    let created = Api::<ClusterRoleBinding>::all(client).create(&PostParams::default(), &binding).await;
    created.map_err(|source| ClusterError::Request { what: "binding the subject's user", source: Box::new(source) })?;
    Ok(())
}
