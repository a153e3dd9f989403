//! The use of a user's cluster, from the lease to the removal of the last object.

use std::fmt;

use kube::Api;
use kube::api::DeleteParams;
use lockstep_recording::controllers::ControllerSet;
use tokio::sync::watch;

use super::lease::{ClusterLease, NAMESPACE};
use super::rights::{Rights, check_confined};
use super::sweep::{self, SweepReport};
use super::{TenancyError, pod_guard};
use crate::outage::repeat_while_unreachable;
use crate::ownership::ignore_missing;
use crate::{ClusterAccess, ClusterError};

/// The use of a user's cluster by this harness.
pub(super) struct Tenancy {
    client: kube::Client,
    /// A client with the subject's token, for asking what it may do.
    subject: kube::Client,
    rights: Rights,
    lease: ClusterLease,
    /// Whether the controller manager's command line turns the controllers under test off.
    controllers_confirmed_off: bool,
}

/// The conditions of a tenancy.
pub(super) struct TenancyOptions<'a> {
    /// The controllers that the subject brings.
    pub(super) under_test: &'a ControllerSet,
    /// Whether the controller manager's command line turns the controllers under test off.
    pub(super) controllers_confirmed_off: bool,
    /// Whether the user accepts that pods may run on the cluster's own nodes.
    pub(super) accept_unguarded_pods: bool,
}

/// Omits the account's token, which does not belong in logs.
impl fmt::Debug for Tenancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tenancy").field("lease", &self.lease).finish_non_exhaustive()
    }
}

impl Tenancy {
    /// Removes the remains of an earlier run of this installation, creates the account of a subject
    /// that brings these controllers, and checks that it cannot change the user's objects. On
    /// error, nothing is left behind.
    pub(super) async fn begin(
        client: &kube::Client,
        lease: ClusterLease,
        options: &TenancyOptions<'_>,
        access: &dyn Fn(String) -> ClusterAccess,
    ) -> Result<Self, ClusterError> {
        let setup = async {
            let swept = sweep::sweep(client).await?;
            if !swept.is_empty() {
                tracing::warn!("removed what an earlier run has left: {swept}");
            }
            if let Some(foreign) = swept.foreign() {
                tracing::warn!("{foreign}");
            }
            pod_guard::create_policies(client).await?;
            let rights = Rights::create(client, options.under_test).await?;
            let subject = access(rights.token.clone()).subject_client()?;
            check_confined(&subject).await?;
            match pod_guard::find_unguarded(client, &subject, &rights, options.under_test).await? {
                None => {}
                Some(what) if options.accept_unguarded_pods => {
                    tracing::warn!("this cluster lets {what}, which --accept-unguarded-pods accepts");
                }
                Some(what) => return Err(TenancyError::Unguarded { permission: what }.into()),
            }
            Ok((rights, subject))
        };
        let controllers_confirmed_off = options.controllers_confirmed_off;
        match setup.await {
            Ok((rights, subject)) => {
                Ok(Self { client: client.clone(), subject, rights, lease, controllers_confirmed_off })
            }
            Err(error) => {
                // Return the first error.
                if let Err(second) = release(client, lease).await {
                    tracing::warn!("not everything of the harness's could be removed: {second}");
                }
                Err(error)
            }
        }
    }

    /// Lets the subject write in one of the harness's namespaces.
    pub(super) async fn grant_namespace_access(&self, namespace: &str) -> Result<(), ClusterError> {
        self.rights.grant(&self.client, &self.subject, namespace).await
    }

    pub(super) fn subject_token(&self) -> &str {
        &self.rights.token
    }

    pub(super) fn controllers_confirmed_off(&self) -> bool {
        self.controllers_confirmed_off
    }

    /// Receives the reason when this harness loses the cluster.
    pub(super) fn loss(&self) -> watch::Receiver<Option<String>> {
        self.lease.loss()
    }

    /// Removes everything, unless another harness has taken over the cluster: then that one cleans
    /// up.
    pub(super) async fn end(self) {
        if self.lease.loss().borrow().is_some() {
            return;
        }
        if let Err(error) = release(&self.client, self.lease).await {
            tracing::warn!(
                "not everything of the harness's could be removed from the cluster: {error}; \
                 `lockstep cluster down` with the same words tries again"
            );
        }
    }
}

/// Removes all objects of the harness, the namespace with the lease last, and waits until they are
/// gone.
pub(super) async fn release(client: &kube::Client, lease: ClusterLease) -> Result<SweepReport, ClusterError> {
    let mut swept = repeat_while_unreachable(async || sweep::sweep(client).await).await?;
    if lease.namespace_existed {
        swept.add("namespace", NAMESPACE);
    }
    drop(lease);
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(client.clone());
    repeat_while_unreachable(async || {
        ignore_missing(namespaces.delete(NAMESPACE, &DeleteParams::background()).await)
            .map_err(ClusterError::request("removing the harness's namespace"))?;
        sweep::wait_until_gone(client).await
    })
    .await?;
    Ok(swept)
}
