//! Start: attaches to the user's cluster, and begins a tenancy.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use lockstep_recording::Identity;

use super::connection::ClusterConnection;
use super::lease::ClusterLease;
use super::tenancy::{Tenancy, TenancyOptions};
use super::{ExistingCluster, KubeconfigOptions, Occupancy, connect, daemons, prove};
use crate::facts::ClusterFacts;
use crate::{ClusterError, ClusterPlan, SiteName, programs};

impl ExistingCluster {
    /// Begins a tenancy: no other harness uses the cluster, nothing of an earlier run is left, and
    /// the subject has an account.
    ///
    /// # Errors
    /// No objects of the harness are left on the cluster in that case, as far as the cluster can be
    /// reached.
    pub(crate) async fn start(
        parent: &Path,
        plan: &ClusterPlan,
        options: &KubeconfigOptions,
    ) -> Result<Self, ClusterError> {
        let connection = ClusterConnection::open(parent, options).await?;
        let version = connect::connect(&connection.client, options).await?;
        let controllers_confirmed_off = prove::prove(&connection.client, &plan.without).await?;
        daemons::warn_about_matching(&connection.client).await;
        let lease = ClusterLease::acquire(&connection.client, &connection.holder_id).await?;
        let stay = TenancyOptions {
            under_test: &plan.without,
            controllers_confirmed_off,
            accept_unguarded_pods: options.accept_unguarded_pods,
        };
        let tenancy =
            Tenancy::begin(&connection.client, lease, &stay, &|token| connection.access(options, token)).await?;
        let facts = ClusterFacts {
            identity: Identity::new(SiteName::Kubeconfig, programs::APISERVER, version),
            access: connection.access(options, tenancy.subject_token().to_owned()),
            dir: connection.dir,
            programs: BTreeMap::new(),
            without: plan.without.clone(),
        };
        Ok(Self { facts, occupancy: Arc::new(Occupancy { tenancy, lock: connection.lock }) })
    }
}
