//! From programs that are starting to a server that says it is ready, wherever they run.
//!
//! etcd and the API server start together; the controller manager starts as soon as the API server
//! answers anything, so that its own start overlaps with the API server's last second of
//! preparations.

use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::rbac::v1::{ClusterRoleBinding, RoleRef, Subject};
use kube::api::{Api, ObjectMeta, PostParams};

use super::access::kubeconfig;
use super::place::{self, write_private};
use super::programs::log;
use super::{Access, ClusterError, Credential, User, certificates};
use crate::clock;
use crate::output;
use crate::supervise::Exit;

/// The test environment's controllers.
pub(super) const ENVIRONMENT: &str = "kube-controller-manager";
/// Between two looks at a server that is starting.
const LOOK: Duration = Duration::from_millis(25);
/// A machine that is busy with something else may take this long.
const PATIENCE: Duration = Duration::from_secs(90);
/// The controller manager gives up on a server that is not healthy after ten seconds; then it is
/// started again.
const ENVIRONMENT_PATIENCE: Duration = Duration::from_secs(9);

/// The programs of one control plane, on their way up.
pub(super) trait Crew {
    /// Where their logs are.
    fn dir(&self) -> &Path;
    /// Start the test environment's controllers.
    async fn start_environment(&mut self) -> Result<(), ClusterError>;
    /// A program that has ended, and how.
    async fn ended(&self) -> Option<(String, Exit)>;
    /// The test environment's controllers has ended and is to be started again.
    async fn forget_environment(&mut self) -> Result<(), ClusterError>;
}

/// Ask until the answer is 200, and start the controller manager on the first answer of any kind.
/// Then let the subject in.
///
/// # Errors
/// [`ClusterError::Exited`] and [`ClusterError::NotReady`], each with what a log says, which is kept.
pub(super) async fn until_ready(client: kube::Client, crew: &mut impl Crew) -> Result<(), ClusterError> {
    let started = clock::instant();
    let mut environment = None;
    loop {
        let answer = client.request_text(readyz()).await;
        if environment.is_none() && matches!(answer, Ok(_) | Err(kube::Error::Api(_))) {
            // Before it starts, as its own patience begins somewhere in between.
            environment = Some(clock::instant());
            crew.start_environment().await?;
        }
        if let Some((program, exit)) = crew.ended().await {
            if program == ENVIRONMENT
                && environment.take().is_some_and(|started| started.elapsed() > ENVIRONMENT_PATIENCE)
            {
                crew.forget_environment().await?;
                continue;
            }
            let (log, excerpt) = keep_log(crew.dir(), &program);
            return Err(ClusterError::Exited { program, exit, log, excerpt });
        }
        if answer.is_ok() {
            return admit_subject(client).await;
        }
        if started.elapsed() > PATIENCE {
            let (log, excerpt) = keep_log(crew.dir(), "kube-apiserver");
            return Err(ClusterError::NotReady { seconds: PATIENCE.as_secs(), log, excerpt });
        }
        clock::pause(LOOK).await;
    }
}

/// What a control plane knows its users and itself by.
pub(super) struct Secrets {
    /// The CA's certificate, PEM.
    ca_pem: String,
    admin_token: String,
    subject_token: String,
}

impl Secrets {
    /// Make all of it, and write what the programs read of it: certificates into the folder `pki`,
    /// and the file `tokens`.
    pub(super) fn write(pki: &Path, tokens: &Path, names: &[String]) -> Result<Self, ClusterError> {
        let ca_pem = certificates::issue_control_plane(pki, names, clock::now())?;
        let (admin_token, subject_token) = (place::token()?, place::token()?);
        let (admin, subject) = (User::Admin.name(), User::Subject.name());
        let known = format!("{admin_token},{admin},1,system:masters\n{subject_token},{subject},2\n");
        write_private(tokens, known.as_bytes())?;
        Ok(Self { ca_pem, admin_token, subject_token })
    }

    /// The harness's kubeconfig file for the server at this address, YAML.
    pub(super) fn kubeconfig(&self, server: &str) -> String {
        kubeconfig(server, &self.ca_pem, &self.admin_token)
    }

    /// How to talk to the server at this address with them.
    pub(super) fn access(&self, server: String) -> Access {
        let Self { ca_pem, admin_token, subject_token } = self;
        Access {
            server,
            server_name: None,
            ca_pem: ca_pem.clone(),
            proxy: None,
            admin: Credential::Token(admin_token.clone()),
            subject_token: subject_token.clone(),
        }
    }
}

/// Keep a log although the cluster's folder goes, where the next failure of the same program
/// overwrites it.
fn keep_log(dir: &Path, program: &str) -> (PathBuf, String) {
    let log = log(dir, program);
    let text = String::from_utf8_lossy(&std::fs::read(&log).unwrap_or_default()).into_owned();
    let excerpt = output::excerpt(&text).join("\n");
    let kept = place::of_user().map(|folder| folder.join(format!("failed-{program}.log")));
    match kept {
        Ok(kept) if write_private(&kept, text.as_bytes()).is_ok() => (kept, excerpt),
        _ => (log, excerpt),
    }
}

fn readyz() -> hyper::Request<Vec<u8>> {
    hyper::Request::get("/readyz").body(Vec::new()).expect("a constant request is well-formed")
}

/// Bind the subject's user to `cluster-admin`: the server is thrown away, and rights are not what
/// is judged on it.
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
