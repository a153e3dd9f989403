//! `kind`: a real node with a kubelet in a container, and on it a control plane whose Deployment controller is off.
//!
//! ```text
//! flags, --kind-config ──► config (merged, pure) ──► tool (kind, docker) ──► proof ──► Cluster
//!                              └ fingerprint: kept on the cluster, so that only its like is used again
//! ```
//!
//! * `config` adds to the user's configuration what turns the controllers under test off. A patch that fits nothing is
//!   dropped by kind without a word, so `proof` reads the controller manager's command line before anything else is believed;
//!   the probe, in another room, proves the same from outside.
//! * `tool` is the one place that starts `kind` and the container engine.
//! * A cluster of this name that is there already is used if its fingerprint is the wanted one, and left as it was found. One
//!   that is made here goes at the end, however the harness ends, unless it is to be kept.
//! * `images` and `outside` are for pods that run for real: their images, and for a subject that runs as pods the way to the interceptor.
//!
//! The harness's own kubeconfig is kept apart: nothing is written to the user's.

mod config;
mod error;
mod images;
mod outside;
mod proof;
mod tool;

use std::path::{Path, PathBuf};

use kube::Api;
use kube::api::PostParams;
use serde::{Deserialize, Serialize};

pub use error::KindError;
pub use images::Images;
pub use outside::Way;

use super::boot::Booted;
use super::environment::variable;
use super::exclusive::lock;
use super::place::{make_private, write_private};
use super::{Cluster, ClusterError, Plan, SiteName, accounts, programs};
use crate::recording::Identity;
use crate::supervise::Supervisor;
use config::Config;
use tool::Tool;

/// The name of a cluster that nobody gave one.
const NAME: &str = "lockstep";
/// The ConfigMap in kube-system that says what a cluster was made from.
const MARK: &str = "lockstep";

/// What the user wishes of a kind cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wish {
    /// Its name; `lockstep` where none is given.
    pub name: Option<String>,
    /// The node image; kind's own for the version where none is given.
    pub image: Option<String>,
    /// A kind configuration, v1alpha4, that the harness's own is merged into.
    pub config: Option<PathBuf>,
    /// Leave it running.
    pub keep: bool,
}

impl Wish {
    /// What the environment says: `LOCKSTEP_NODE_IMAGE` and `LOCKSTEP_KIND_CONFIG`.
    pub fn of_environment() -> Self {
        Self {
            image: variable("LOCKSTEP_NODE_IMAGE"),
            config: variable("LOCKSTEP_KIND_CONFIG").map(PathBuf::from),
            ..Self::default()
        }
    }
}

/// Whether the programs are there, as far as one can tell without starting one; if not, what is missing.
///
/// # Errors
/// What is missing, and what to do.
pub fn available() -> Result<(), String> {
    Tool::on_path().map(drop).map_err(|error| error.to_string())
}

/// The node of a kind cluster that runs pods for real.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its name as a Node and as a container.
    pub name: String,
    /// The container engine's program.
    pub engine: PathBuf,
}

/// Make the cluster that is wished for, or take the one that is there.
///
/// # Errors
/// [`ClusterError::Kind`]; a cluster that was being made is gone then, and its logs are kept.
pub(super) async fn boot_in(parent: &Path, plan: &Plan, wish: &Wish) -> Result<Booted, ClusterError> {
    let name = wish.name.as_deref().unwrap_or(NAME);
    let config = Config::merge(wish.config.as_deref(), &plan.without)?;
    let image = wish.image.clone().unwrap_or_else(|| format!("kindest/node:{}", plan.version));
    let fingerprint = config.fingerprint(&image);
    let tool = Tool::find().await?;
    let dir = parent.join(format!("kind-{name}"));
    make_private(&dir)?;
    // Two runs that use one cluster by turns: the second must not find it half made, or lose it on the way.
    let alone = lock(dir.join("lock")).await?;
    let found = tool.clusters().await?.iter().any(|found| found == name);
    let supervisor = if found { None } else { Some(tool.create(&dir, name, &image, &config).await?) };
    let made = attach(&tool, &dir, plan, name, &fingerprint, supervisor.as_ref()).await;
    match (made, supervisor) {
        (Ok(mut cluster), supervisor) => {
            cluster.alone = Some(alone.into());
            // One that is to stay is nobody's to end, and the folder with its kubeconfig stays with it.
            let supervisor = match supervisor {
                Some(supervisor) if wish.keep => supervisor.keep().map(|()| None)?,
                supervisor => supervisor,
            };
            cluster.supervisor = supervisor.as_ref().map(Supervisor::process);
            Ok(Booted { cluster, supervisor })
        }
        (Err(error), Some(supervisor)) => {
            let logs = tool.keep_logs(name).await;
            supervisor.shutdown().await;
            Err(KindError::NotRight { name: name.to_owned(), why: Box::new(error), logs }.into())
        }
        (Err(error), None) => {
            if !programs::admin_kubeconfig(&dir).exists() {
                // Never used: it holds nothing but the lock. Should it stay, it does no harm.
                std::fs::remove_dir_all(&dir).ok();
            }
            Err(error)
        }
    }
}

/// Delete the cluster of this name if it is one of ours. Says whether there was one.
///
/// # Errors
/// [`KindError::NameTaken`] for somebody else's.
pub async fn down(name: Option<&str>) -> Result<bool, ClusterError> {
    let name = name.unwrap_or(NAME);
    let tool = Tool::find().await?;
    if !tool.clusters().await?.iter().any(|found| found == name) {
        return Ok(false);
    }
    let client = client(&tool.kubeconfig(name).await?).await?;
    if mark(&client).await?.is_none() {
        return Err(KindError::NameTaken { name: name.to_owned(), why: "was not made by lockstep" }.into());
    }
    let dir = super::place::of_user()?.join(format!("kind-{name}"));
    make_private(&dir)?;
    let _alone = lock(dir.join("lock")).await?;
    tool.delete(name).await?;
    std::fs::remove_dir_all(&dir).map_err(ClusterError::file(dir))?;
    Ok(true)
}

/// Keep the logs of a cluster's node; returns the folder, if that worked.
pub async fn keep_logs(node: &Node) -> Option<PathBuf> {
    Tool::find().await.ok()?.keep_logs(node.name.strip_suffix("-control-plane")?).await
}

/// Prove that the cluster is what it should be, and get ready to talk to it.
async fn attach(
    tool: &Tool,
    dir: &Path,
    plan: &Plan,
    name: &str,
    fingerprint: &str,
    made_here: Option<&Supervisor>,
) -> Result<Cluster, ClusterError> {
    let kubeconfig = tool.kubeconfig(name).await?;
    let client = client(&kubeconfig).await?;
    if made_here.is_none() {
        let why = match mark(&client).await? {
            Some(found) if found == fingerprint => None,
            Some(_) => Some("was made from another configuration or node image"),
            None => Some("was not made by lockstep"),
        };
        if let Some(why) = why {
            return Err(KindError::NameTaken { name: name.to_owned(), why }.into());
        }
    }
    write_private(&programs::admin_kubeconfig(dir), kubeconfig.as_bytes())?;
    proof::controllers_off(&client, &plan.without).await?;
    let node = proof::node_ready(&client).await?;
    if made_here.is_some() {
        leave_mark(&client, fingerprint).await?;
    }
    let version = client.apiserver_version().await.map_err(ClusterError::request("asking for the version"))?;
    Ok(Cluster {
        identity: Identity::new(SiteName::Kind, crate::cluster::APISERVER, version.git_version),
        access: accounts::admit(&client, &kubeconfig).await?,
        dir: dir.to_owned(),
        programs: std::collections::BTreeMap::new(),
        supervisor: None,
        kind: Some(Node { name: node, engine: tool.engine().to_owned() }),
        without: plan.without.clone(),
        sim: None,
        served: None,
        owned: None,
        alone: None,
        tenancy: None,
    })
}

/// A client by a kubeconfig of kind's, which has a certificate.
async fn client(kubeconfig: &str) -> Result<kube::Client, ClusterError> {
    accounts::client_of(kubeconfig).await
}

/// What the cluster says that it was made from.
async fn mark(client: &kube::Client) -> Result<Option<String>, ClusterError> {
    let marks: Api<k8s_openapi::api::core::v1::ConfigMap> = Api::namespaced(client.clone(), "kube-system");
    let mark = marks.get_opt(MARK).await.map_err(ClusterError::request("reading the cluster's mark"))?;
    Ok(mark.and_then(|mark| mark.data?.remove("fingerprint")))
}

async fn leave_mark(client: &kube::Client, fingerprint: &str) -> Result<(), ClusterError> {
    let mark = serde_json::json!({"metadata": {"name": MARK}, "data": {"fingerprint": fingerprint}});
    let mark = serde_json::from_value(mark).expect("a literal of the right shape");
    let marks: Api<k8s_openapi::api::core::v1::ConfigMap> = Api::namespaced(client.clone(), "kube-system");
    marks.create(&PostParams::default(), &mark).await.map_err(ClusterError::request("marking the cluster"))?;
    Ok(())
}
