//! Waits until starting programs have become a ready server, on every backend.
//!
//! etcd and the API server start together; the controller manager starts as soon as the API server
//! answers at all, so that its start overlaps with the API server's last second of preparation.

use std::path::{Path, PathBuf};
use std::time::Duration;

use lockstep_support::{clock, output, private_fs};

use super::access::kubeconfig;
use super::accounts::bind_subject_to_cluster_admin;
use super::programs::log;
use super::user_dir::{self, write_private_file};
use super::{ClusterAccess, ClusterError, Credential, TokenUser, certificates};
use crate::supervise::Exit;

/// The program of the test environment's controllers.
pub(super) const CONTROLLER_MANAGER: &str = "kube-controller-manager";
/// The time between two readiness checks.
const POLL_INTERVAL: Duration = Duration::from_millis(25);
/// The time limit, on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(90);
/// The controller manager gives up after ten seconds without a healthy server; then it is started
/// again.
const CONTROLLER_MANAGER_TIMEOUT: Duration = Duration::from_secs(9);

/// Starts the programs of one control plane.
pub(super) trait Launcher {
    /// The folder with the logs.
    fn dir(&self) -> &Path;
    /// Starts the test environment's controllers.
    async fn start_controllers(&mut self) -> Result<(), ClusterError>;
    /// A program that has exited, and how.
    async fn find_exited(&self) -> Option<(String, Exit)>;
    /// Forgets the exited controller manager, which will be started again.
    async fn forget_controllers(&mut self) -> Result<(), ClusterError>;
}

/// Polls until the answer is 200, and starts the controller manager on the first answer of any
/// kind. Then grants the subject access.
///
/// # Errors
/// [`ClusterError::Exited`] and [`ClusterError::NotReady`], each with an excerpt of a log, which is
/// saved.
pub(super) async fn wait_until_ready(client: kube::Client, launcher: &mut impl Launcher) -> Result<(), ClusterError> {
    let started = clock::instant();
    let mut environment = None;
    loop {
        let answer = client.request_text(readyz()).await;
        if environment.is_none() && matches!(answer, Ok(_) | Err(kube::Error::Api(_))) {
            // Measure from before the start, as its own time limit begins during it.
            environment = Some(clock::instant());
            launcher.start_controllers().await?;
        }
        if let Some((program, exit)) = launcher.find_exited().await {
            if program == CONTROLLER_MANAGER
                && environment.take().is_some_and(|started| started.elapsed() > CONTROLLER_MANAGER_TIMEOUT)
            {
                launcher.forget_controllers().await?;
                continue;
            }
            let (log, excerpt) = keep_log(launcher.dir(), &program);
            return Err(ClusterError::Exited { program, exit, log, excerpt });
        }
        if answer.is_ok() {
            return bind_subject_to_cluster_admin(client).await;
        }
        if started.elapsed() > TIMEOUT {
            let (log, excerpt) = keep_log(launcher.dir(), "kube-apiserver");
            return Err(ClusterError::NotReady { seconds: TIMEOUT.as_secs(), log, excerpt });
        }
        clock::pause(POLL_INTERVAL).await;
    }
}

/// The certificates and tokens of a control plane.
pub(super) struct ControlPlaneSecrets {
    /// The CA's certificate, PEM.
    ca_pem: String,
    admin_token: String,
    subject_token: String,
}

impl ControlPlaneSecrets {
    /// Creates all of it, and writes what the programs read: certificates into the folder `pki`,
    /// and the file `tokens`.
    pub(super) fn write(pki: &Path, tokens: &Path, names: &[String]) -> Result<Self, ClusterError> {
        let ca_pem = certificates::issue_control_plane(pki, names, clock::now())?;
        let (admin_token, subject_token) = (user_dir::random_token()?, user_dir::random_token()?);
        let (admin, subject) = (TokenUser::Admin.name(), TokenUser::Subject.name());
        let users = format!("{admin_token},{admin},1,system:masters\n{subject_token},{subject},2\n");
        write_private_file(tokens, users.as_bytes())?;
        Ok(Self { ca_pem, admin_token, subject_token })
    }

    /// The harness's kubeconfig file for the server at this address, YAML.
    pub(super) fn kubeconfig(&self, server: &str) -> String {
        kubeconfig(server, &self.ca_pem, &self.admin_token)
    }

    /// The access to the server at this address with these secrets.
    pub(super) fn access(&self, server: String) -> ClusterAccess {
        let Self { ca_pem, admin_token, subject_token } = self;
        ClusterAccess {
            server,
            server_name: None,
            ca_pem: ca_pem.clone(),
            proxy: None,
            admin: Credential::Token(admin_token.clone()),
            subject_token: subject_token.clone(),
        }
    }
}

/// Saves a log before the cluster's folder is removed; the next failure of the same program
/// overwrites it.
fn keep_log(dir: &Path, program: &str) -> (PathBuf, String) {
    let log = log(dir, program);
    let text = String::from_utf8_lossy(&std::fs::read(&log).unwrap_or_default()).into_owned();
    let excerpt = excerpt(&text, dir);
    let saved = user_dir::user_temp_dir().map(|folder| folder.join(format!("failed-{program}.log")));
    match saved {
        Ok(saved) if write_private_file(&saved, text.as_bytes()).is_ok() => (saved, excerpt),
        _ => (log, excerpt),
    }
}

/// An excerpt of what a program has printed, and whether the disk of its folder is full.
pub(crate) fn excerpt(text: &str, dir: &Path) -> String {
    output::excerpt(text).into_iter().chain(private_fs::describe_full_disk(dir)).collect::<Vec<_>>().join("\n")
}

fn readyz() -> hyper::Request<Vec<u8>> {
    hyper::Request::get("/readyz").body(Vec::new()).expect("a constant request is well-formed")
}
