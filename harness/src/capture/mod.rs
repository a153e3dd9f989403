//! Recording a Deployment of a live cluster while something happens to it.
//!
//! Lists and watches, and never writes: it works beside a production controller. Four watches (the
//! Deployment, ReplicaSets and pods by its selector, Events) go on through closed connections and
//! restarts of the API server at the version they had reached. Where a server no longer has that
//! version, the objects are listed again, and the recording says that it has a gap. Secrets are
//! never read.
//!
//! * `follow` is one watch; `journal` gathers what they bring, and is pure; `anonymous` takes names
//!   and values out but for those of `vocabulary`.
//! * What comes of it is an ordinary recording without steps: the objects that were there, a
//!   [`Settling`](crate::recording::Settling), then every version in the order of resourceVersions.
//!   `infer` makes steps of it.
//!
//! The border: nothing here knows what a rollout should look like, but for when one is complete, so
//! that it can stop.

mod anonymous;
mod follow;
mod journal;
mod vocabulary;
mod wish;

use std::path::Path;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::Client;
use kube::core::Selector;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

pub use anonymous::anonymous;
pub(crate) use follow::{News, Stream, missing_workload_rights, said};
pub use wish::Wish;

use self::follow::missing_rights;
pub(crate) use self::journal::Journal;
use crate::clock;
use crate::cluster::own::{Connection, OwnError, files, read};
use crate::pointer::At;
use crate::recording::{FORMAT, FileName, Header, Identity, Recording, SubjectKind};
use crate::supervise::Interrupt;

/// Why nothing could be recorded.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The kubeconfig is of no use.
    #[error(transparent)]
    Kubeconfig(#[from] OwnError),
    /// The server does not answer.
    #[error("the cluster does not answer: {0}")]
    Unreachable(String),
    /// This user may not read what is needed.
    #[error(
        "this user may not {0}; capture needs get of deployments, and list and watch of deployments, replicasets, pods and events"
    )]
    Rights(String),
    /// There is no such Deployment.
    #[error("there is no deployment {name} in namespace {namespace}")]
    NoDeployment {
        /// Its name.
        name: String,
        /// Where.
        namespace: String,
    },
    /// It has a selector that cannot be written as a label selector.
    #[error("the selector of deployment {0} is empty; it cannot be captured")]
    Selector(String),
}

/// A client for a context of the user's kubeconfig (the current one if none is named) and that
/// context's name and namespace. In a pod without a kubeconfig it is the pod's own cluster.
///
/// # Errors
/// There is no kubeconfig, or none with this context.
pub fn connect(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<(Client, String, String), CaptureError> {
    let variable = std::env::var_os("KUBECONFIG");
    let is_in_pod = std::env::var_os("KUBERNETES_SERVICE_HOST").is_some();
    let connection = if is_in_pod && kubeconfig.is_none() && context.is_none() && variable.is_none() {
        Connection::in_cluster()?
    } else {
        let home = std::env::home_dir();
        Connection::new(&read(&files(kubeconfig, variable.as_deref(), home.as_deref())?)?, context)?
    };
    let namespace = connection.namespace().to_owned();
    Ok((connection.client(LIMIT)?, connection.context, namespace))
}

/// How long a server may take to take a connection. kubelet restarts a pod that is silent for
/// longer, and nothing would say why.
const LIMIT: Duration = Duration::from_secs(10);

/// Record until the wish is fulfilled, or until interrupted: then what there is.
///
/// # Errors
/// See [`CaptureError`]; once the first lists are there, troubles stand in the recording.
pub async fn capture(client: &Client, wish: &Wish, interrupt: &Interrupt) -> Result<Recording, CaptureError> {
    let unreachable = |error: kube::Error| CaptureError::Unreachable(said(&error));
    let version = client.apiserver_version().await.map_err(unreachable)?.git_version;
    let selector = selector(client, wish).await?;
    let began = clock::instant();
    let started = clock::rfc3339();
    let (sender, mut seen) = mpsc::channel(1024);
    let mut watches = JoinSet::new();
    for stream in Stream::all(client, wish, &selector) {
        watches.spawn(stream.follow(sender.clone()));
    }
    let mut journal = Journal::new(&wish.deployment);
    let stop = async {
        match wish.length {
            Some(length) => clock::sleep(length).await,
            None => std::future::pending().await,
        }
    };
    let mut stop = std::pin::pin!(stop);
    let mut raised = std::pin::pin!(interrupt.raised());
    loop {
        // Once complete, the last status and Events are still on their way.
        let rest = async {
            if wish.length.is_none() && journal.is_complete() {
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
        case: format!("captured/{}", FileName::of(&wish.deployment)),
        path: String::new(),
        source: String::new(),
        judged: Default::default(),
        under_test: [].into_iter().collect(),
        namespace: wish.namespace.clone(),
        subject: journal.controller(&wish.cluster, &version),
        kind: SubjectKind::Cluster,
        cluster: Identity::new(&wish.cluster, "kube-apiserver", version),
        cluster_controllers: None,
        workload: None,
        real_pods: true,
        unevaluated: Vec::new(),
        seed: None,
        started,
    };
    Ok(journal.finish(header, clock::millis_since(began)))
}

/// For how long nothing must happen after a rollout is complete.
const REST: Duration = Duration::from_secs(5);

/// The Deployment's selector in the words of a list, after a look at the rights.
async fn selector(client: &Client, wish: &Wish) -> Result<String, CaptureError> {
    let missing = missing_rights(client, wish).await.map_err(CaptureError::Unreachable)?;
    if !missing.is_empty() {
        return Err(CaptureError::Rights(format!("{} in namespace {}", missing.join(", "), wish.namespace)));
    }
    let deployment = follow::deployment(client, wish).await.map_err(CaptureError::Unreachable)?;
    let Some(deployment) = deployment else {
        return Err(CaptureError::NoDeployment { name: wish.deployment.clone(), namespace: wish.namespace.clone() });
    };
    let selector = deployment.at("/spec/selector").cloned().unwrap_or_default();
    let selector = serde_json::from_value::<LabelSelector>(selector).ok().and_then(|one| Selector::try_from(one).ok());
    let selector = selector.filter(|selector| !selector.selects_all());
    Ok(selector.ok_or_else(|| CaptureError::Selector(wish.deployment.clone()))?.to_string())
}

#[cfg(test)]
mod tests;
