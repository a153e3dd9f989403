//! Records a Deployment of a live cluster while something happens to it.
//!
//! It lists and watches, and never writes, so it can run beside a production controller. Four
//! watches (the Deployment, ReplicaSets and pods by its selector, Events) resume at their last
//! version after closed connections and restarts of the API server. If a server no longer has that
//! version, the objects are listed again, and the recording has a gap. Secrets are never read.
//!
//! * `follow` is one watch; `journal` collects the updates, and is pure; `anonymous` removes names
//!   and values.
//! * The result is an ordinary recording without steps: the initial objects, a
//!   [`Settling`](lockstep_recording::Settling), then every version ordered by resourceVersion.
//!   `infer` makes steps of it.
//!
//! Nothing here knows what a rollout should look like, except when it is complete, which ends the
//! capture.

mod anonymous;
mod follow;
mod journal;

use std::path::Path;
use std::time::Duration;

pub use anonymous::anonymous;
pub use follow::CaptureOptions;
pub(crate) use follow::{LiveWatch, WatchUpdate, error_message, missing_workload_rights};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::Client;
use kube::core::Selector;
use lockstep_cluster::existing::{ContextError, ResolvedContext, files, read};
use lockstep_cluster::supervise::Interrupt;
use lockstep_recording::{FORMAT, FileName, Header, Identity, Recording, SubjectKind};
use lockstep_support::clock;
use lockstep_support::pointer::JsonPointer;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use self::follow::missing_rights;
pub use self::journal::Journal;

/// Why nothing could be recorded.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The kubeconfig cannot be used.
    #[error(transparent)]
    Kubeconfig(#[from] ContextError),
    /// The server does not answer.
    #[error("the cluster does not answer: {0}")]
    Unreachable(String),
    /// The user lacks a permission.
    #[error(
        "this user may not {0}; capture needs get of deployments, and list and watch of deployments, replicasets, pods and events"
    )]
    Rights(String),
    /// The Deployment does not exist.
    #[error("there is no deployment {name} in namespace {namespace}")]
    NoDeployment {
        /// Its name.
        name: String,
        /// Its namespace.
        namespace: String,
    },
    /// Its selector cannot be expressed as a label selector.
    #[error("the selector of deployment {0} is empty; it cannot be captured")]
    Selector(String),
}

/// A client for a context of the user's kubeconfig (the current one by default), with the name and
/// the namespace of that context. In a pod without a kubeconfig it is the pod's own cluster.
///
/// # Errors
/// There is no kubeconfig, or it lacks this context.
pub fn connect(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<(Client, String, String), CaptureError> {
    let variable = std::env::var_os("KUBECONFIG");
    let is_in_pod = std::env::var_os("KUBERNETES_SERVICE_HOST").is_some();
    let connection = if is_in_pod && kubeconfig.is_none() && context.is_none() && variable.is_none() {
        ResolvedContext::in_cluster()?
    } else {
        let home = std::env::home_dir();
        ResolvedContext::new(&read(&files(kubeconfig, variable.as_deref(), home.as_deref())?)?, context)?
    };
    let namespace = connection.namespace().to_owned();
    Ok((connection.client(LIMIT)?, connection.context, namespace))
}

/// How long a server may take to accept a connection. kubelet restarts a pod that is silent for
/// longer, without a reason.
const LIMIT: Duration = Duration::from_secs(10);

/// Record as long as the options say, or until interrupted; returns what was recorded so far.
///
/// # Errors
/// See [`CaptureError`]; after the first lists, errors become part of the recording.
pub async fn capture(
    client: &Client,
    options: &CaptureOptions,
    interrupt: &Interrupt,
) -> Result<Recording, CaptureError> {
    let unreachable = |error: kube::Error| CaptureError::Unreachable(error_message(&error));
    let version = client.apiserver_version().await.map_err(unreachable)?.git_version;
    let selector = selector(client, options).await?;
    let began = clock::instant();
    let started = clock::rfc3339();
    let (sender, mut seen) = mpsc::channel(1024);
    let mut watches = JoinSet::new();
    for stream in LiveWatch::all(client, options, &selector) {
        watches.spawn(stream.follow(sender.clone()));
    }
    let mut journal = Journal::new(&options.deployment);
    let stop = async {
        match options.length {
            Some(length) => clock::sleep(length).await,
            None => std::future::pending().await,
        }
    };
    let mut stop = std::pin::pin!(stop);
    let mut raised = std::pin::pin!(interrupt.wait());
    loop {
        // The last status and Events of a complete rollout may not have arrived yet.
        let rest = async {
            if options.length.is_none() && journal.is_complete() {
                clock::sleep(REST).await;
            } else {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            Some(news) = seen.recv() => journal.take(news, clock::millis_since(began)),
            () = rest => break,
            () = &mut stop => break,
            _ = &mut raised => break,
        }
    }
    watches.shutdown().await;
    let header = Header {
        format: FORMAT,
        case: format!("captured/{}", FileName::of(&options.deployment)),
        path: String::new(),
        source: String::new(),
        controllers: Default::default(),
        under_test: [].into_iter().collect(),
        namespace: options.namespace.clone(),
        subject: journal.controller(&options.cluster, &version),
        kind: SubjectKind::Cluster,
        cluster: Identity::new(&options.cluster, "kube-apiserver", version),
        cluster_controllers: None,
        beside: None,
        workload: None,
        real_pods: true,
        unevaluated: Vec::new(),
        seed: None,
        started,
    };
    Ok(journal.finish(header, clock::millis_since(began)))
}

/// How long nothing must happen after a rollout is complete.
const REST: Duration = Duration::from_secs(5);

/// Check the user's permissions, then return the Deployment's selector in the syntax of a list
/// request.
async fn selector(client: &Client, options: &CaptureOptions) -> Result<String, CaptureError> {
    let missing = missing_rights(client, options).await.map_err(CaptureError::Unreachable)?;
    if !missing.is_empty() {
        return Err(CaptureError::Rights(format!("{} in namespace {}", missing.join(", "), options.namespace)));
    }
    let deployment = follow::deployment(client, options).await.map_err(CaptureError::Unreachable)?;
    let Some(deployment) = deployment else {
        return Err(CaptureError::NoDeployment {
            name: options.deployment.clone(),
            namespace: options.namespace.clone(),
        });
    };
    let selector = deployment.at("/spec/selector").cloned().unwrap_or_default();
    let selector = serde_json::from_value::<LabelSelector>(selector).ok().and_then(|one| Selector::try_from(one).ok());
    let selector = selector.filter(|selector| !selector.selects_all());
    Ok(selector.ok_or_else(|| CaptureError::Selector(options.deployment.clone()))?.to_string())
}

#[cfg(test)]
mod tests;
