//! `kubeconfig`: a cluster of the user's own, which was there before and stays.
//!
//! ```text
//! --yes-this-cluster ──► file: context, server, CA ──► stock: is its Deployment controller off?      (nothing is written)
//!                                                          └─► lease ──► sweep ──► rights ──► Cluster
//! ```
//!
//! * `file` reads the user's kubeconfig as kubectl does. The harness acts with the user's own credentials; the interceptor goes to the same
//!   server by the subject's token, so what the interceptor cannot do is refused before anything runs.
//! * `lease` keeps two harnesses apart, be they on two machines. `sweep` removes everything that carries the harness's label and this
//!   installation's id: what was left by a run that was killed before the first case, and all of it in the end. What carries the
//!   label alone is listed and stays.
//! * `rights` gives the controller under test an account that can read the whole cluster's Deployments, ReplicaSets and pods, and
//!   write in the harness's own namespaces only. The server says so itself before the account is used.
//! * `guard` keeps pods off the user's nodes, whoever creates them, and has the server prove it before anything runs.
//! * The harness makes namespaces, nodes that no kubelet runs, two roles, a binding and two admission policies, each labelled
//!   `app.kubernetes.io/managed-by=lockstep` and `lockstep/installation=ID`; it touches nothing else. The nodes carry no label that a DaemonSet selects and a taint
//!   that pods do not tolerate, and have room for none; a DaemonSet that selects nothing and tolerates everything gets a pod for each
//!   of them all the same, which never starts and goes with the node: `daemons` warns of it.
//!
//! That nobody looks after Deployments is proved by the probe, as everywhere. Where the controller manager cannot be seen, it is given
//! longer to betray itself: see [`Cluster::doubt`].

mod daemons;
mod error;
mod file;
mod guard;
mod lease;
mod rights;
mod sweep;
mod tenancy;

use std::path::{Path, PathBuf};

use kube::config::Kubeconfig;

pub use error::{OwnError, TenancyError};
pub use file::{files, read};
pub use sweep::Swept;
pub use tenancy::Tenancy;

use super::access::client_of;
use super::boot::Booted;
use super::exclusive::lock;
use super::installation::installation;
use super::ours::INSTALLATION;
use super::place::{make_private, of_user, token, write_private};
use super::stock::{self, Stock};
use super::{Access, Cluster, ClusterError, Credential, Guard, Plan, SiteName};
use crate::fingerprint::fingerprint;
use crate::recording::Identity;
use file::Target;
use lease::Lease;
use tenancy::Stay;

/// Which cluster the user named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// The files of the kubeconfig: see [`files`].
    pub files: Vec<PathBuf>,
    /// The context, in the user's own words on the command line.
    pub context: String,
    /// Whether the user accepts that the server cannot keep pods of cases off the cluster's own nodes.
    pub unguarded: bool,
}

/// Whether a context can be used, as far as the kubeconfig itself says; `None` never can.
///
/// # Errors
/// See [`OwnError`].
pub fn check(config: &Kubeconfig, context: Option<&str>) -> Result<(), OwnError> {
    file::choose(config, context)?.authorities(context.unwrap_or_default()).map(drop)
}

/// The label of everything that this installation makes on a cluster that outlives the run.
pub fn label() -> (&'static str, &'static str) {
    (INSTALLATION, installation())
}

/// Begin a stay on the cluster: nobody else's harness is on it, nothing of an earlier one is left, and the subject has an account.
///
/// # Errors
/// Nothing of the harness's is on the cluster then, as far as the cluster can be reached.
pub(super) async fn boot_in(parent: &Path, plan: &Plan, wish: &Wish) -> Result<Booted, ClusterError> {
    let door = Door::open(parent, wish).await?;
    let version = door.client.apiserver_version().await;
    let version = version.map_err(|error| unreachable(wish, &error))?.git_version;
    let stock = stock::look(&door.client, &plan.without).await?;
    if let Stock::On { controller, pod, controllers } = stock {
        let controller = controller.to_string();
        return Err(TenancyError::StockController { controller, pod, controllers }.into());
    }
    daemons::warn(&door.client).await;
    let lease = Lease::take(&door.client, &door.place).await?;
    let access = |subject_token: String| Access {
        server: door.target.server.clone(),
        server_name: door.target.server_name.clone(),
        ca_pem: door.ca_pem.clone(),
        admin: Credential::Kubeconfig { files: wish.files.clone(), context: wish.context.clone() },
        subject_token,
    };
    let stay = Stay { under_test: &plan.without, seen_off: stock == Stock::Off, unguarded: wish.unguarded };
    let tenancy = Tenancy::begin(&door.client, lease, &stay, &access).await?;
    let cluster = Cluster {
        identity: Identity::new(SiteName::Kubeconfig, crate::cluster::APISERVER, version),
        access: access(tenancy.subject_token().to_owned()),
        dir: door.dir,
        programs: std::collections::BTreeMap::new(),
        supervisor: None,
        kind: None,
        without: plan.without.clone(),
        sim: None,
        served: None,
        owned: None,
        alone: Some(door.alone.into()),
        tenancy: Some(tenancy.into()),
    };
    Ok(Booted { cluster, supervisor: None })
}

/// Remove everything of the harness's from the cluster, and wait until it is gone.
///
/// # Errors
/// When another harness is at work there, or the cluster does not do as it is told.
pub async fn down(wish: &Wish) -> Result<Swept, ClusterError> {
    let door = Door::open(&of_user()?, wish).await?;
    let lease = Lease::take(&door.client, &door.place).await?;
    tenancy::leave(&door.client, lease).await
}

/// All that is needed before the cluster is touched; on this machine the next harness waits here.
struct Door {
    target: Target,
    ca_pem: String,
    client: kube::Client,
    dir: PathBuf,
    place: String,
    alone: Guard,
}

impl Door {
    async fn open(parent: &Path, wish: &Wish) -> Result<Self, ClusterError> {
        let config = read(&wish.files)?;
        let target = file::choose(&config, Some(&wish.context))?;
        let ca_pem = target.authorities(&wish.context)?;
        let client = client_of(config, Some(&wish.context)).await?;
        let dir = parent.join(format!("own-{}", fingerprint(target.server.bytes())));
        make_private(&dir)?;
        let alone = lock(dir.join("lock")).await?;
        let place = place(&dir.join("place"))?;
        Ok(Self { target, ca_pem, client, dir, place, alone })
    }
}

/// A name for this folder's turn at the cluster: whoever has the folder's lock and finds its own name on the lease finds a dead
/// harness's.
fn place(path: &Path) -> Result<String, ClusterError> {
    if let Some(known) = std::fs::read_to_string(path).ok().filter(|known| !known.is_empty()) {
        return Ok(known);
    }
    let mut name = token()?;
    name.truncate(16);
    write_private(path, name.as_bytes())?;
    Ok(name)
}

fn unreachable(wish: &Wish, error: &dyn std::error::Error) -> ClusterError {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let mut said: Vec<String> = causes.map(ToString::to_string).collect();
    // Each layer tends to repeat the one inside of it.
    said.dedup_by(|inner, outer| outer.contains(inner.as_str()));
    TenancyError::Unreachable { context: wish.context.clone(), why: said.join(": ") }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_keeps_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        let name = place(&one).unwrap();
        assert_eq!((place(&one).unwrap(), name.len()), (name.clone(), 16));
        assert_ne!(place(&two).unwrap(), name);
    }
}
