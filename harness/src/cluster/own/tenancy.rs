//! A stay on somebody's cluster, from the lease to the last thing removed.

use std::fmt;

use kube::Api;
use kube::api::DeleteParams;
use tokio::sync::watch;

use super::TenancyError;
use super::guard;
use super::lease::{Lease, NAMESPACE};
use super::rights::{Rights, prove_confined};
use super::sweep::{self, Swept};
use crate::cluster::ours::gone;
use crate::cluster::{Access, ClusterError};
use crate::controllers::Controllers;

/// A stay on somebody's cluster.
pub(super) struct Tenancy {
    client: kube::Client,
    /// As the subject, for asking what it may do.
    subject: kube::Client,
    rights: Rights,
    lease: Lease,
    /// Whether the command line of the cluster's controller manager says that it runs no
    /// Deployments.
    seen_off: bool,
}

/// How the cluster is used.
pub(super) struct Stay<'a> {
    /// The controllers that the subject brings.
    pub(super) under_test: &'a Controllers,
    /// Whether the command line of the cluster's controller manager says that it runs no
    /// Deployments.
    pub(super) seen_off: bool,
    /// Whether the user accepts that pods may reach the cluster's own nodes.
    pub(super) unguarded: bool,
}

/// The account's token does not belong in logs.
impl fmt::Debug for Tenancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tenancy").field("lease", &self.lease).finish_non_exhaustive()
    }
}

impl Tenancy {
    /// Clean up after an earlier run of this installation's, make the account of a subject that
    /// brings these controllers, and prove that it reaches nothing of the user's. With an error,
    /// nothing is left.
    pub(super) async fn begin(
        client: &kube::Client,
        lease: Lease,
        stay: &Stay<'_>,
        access: &dyn Fn(String) -> Access,
    ) -> Result<Self, ClusterError> {
        let moved_in = async {
            let swept = sweep::sweep(client).await?;
            if !swept.is_empty() {
                tracing::warn!("removed what an earlier run has left: {swept}");
            }
            if let Some(left) = swept.left() {
                tracing::warn!("{left}");
            }
            guard::lay(client).await?;
            let rights = Rights::make(client, stay.under_test).await?;
            let subject = access(rights.token.clone()).subject_client()?;
            prove_confined(&subject).await?;
            match guard::proved(client, &subject, &rights, stay.under_test).await? {
                None => {}
                Some(what) if stay.unguarded => {
                    tracing::warn!("this cluster lets {what}, which --accept-unguarded-pods accepts");
                }
                Some(what) => return Err(TenancyError::Unguarded { what }.into()),
            }
            Ok((rights, subject))
        };
        let seen_off = stay.seen_off;
        match moved_in.await {
            Ok((rights, subject)) => Ok(Self { client: client.clone(), subject, rights, lease, seen_off }),
            Err(error) => {
                // The first error is the one that counts.
                if let Err(second) = leave(client, lease).await {
                    tracing::warn!("not everything of the harness's could be removed: {second}");
                }
                Err(error)
            }
        }
    }

    /// Let the subject write in a namespace of the harness's.
    pub(super) async fn admit(&self, namespace: &str) -> Result<(), ClusterError> {
        self.rights.admit(&self.client, &self.subject, namespace).await
    }

    pub(super) fn subject_token(&self) -> &str {
        &self.rights.token
    }

    pub(super) fn seen_off(&self) -> bool {
        self.seen_off
    }

    /// Tells why the cluster is no longer this harness's to use, once that is so.
    pub(super) fn lost(&self) -> watch::Receiver<Option<String>> {
        self.lease.lost()
    }

    /// Remove everything, unless the cluster is somebody else's by now: then it has removed, or
    /// will remove, what was here.
    pub(super) async fn end(self) {
        if self.lease.lost().borrow().is_some() {
            return;
        }
        if let Err(error) = leave(&self.client, self.lease).await {
            tracing::warn!(
                "not everything of the harness's could be removed from the cluster: {error}; \
                 `lockstep cluster down` with the same words tries again"
            );
        }
    }
}

/// Remove everything of the harness's, the namespace with the lease in it last, and wait until all
/// of it is gone.
pub(super) async fn leave(client: &kube::Client, lease: Lease) -> Result<Swept, ClusterError> {
    let mut swept = sweep::sweep(client).await?;
    if lease.found {
        swept.add("namespace", NAMESPACE);
    }
    drop(lease);
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(client.clone());
    gone(namespaces.delete(NAMESPACE, &DeleteParams::background()).await)
        .map_err(ClusterError::request("removing the harness's namespace"))?;
    sweep::until_gone(client).await?;
    Ok(swept)
}
