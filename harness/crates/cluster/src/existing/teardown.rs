//! Teardown: ends the tenancy with its last clone. The cluster itself stays.

use std::sync::Arc;

use super::connection::ClusterConnection;
use super::lease::ClusterLease;
use super::{ExistingCluster, KubeconfigOptions, Occupancy, SweepReport, tenancy};
use crate::ClusterError;
use crate::backend::Teardown;
use crate::user_dir::user_temp_dir;

impl Teardown for ExistingCluster {
    fn is_owned(&self) -> bool {
        false
    }

    fn removes_own_objects(&self) -> bool {
        true
    }

    async fn wait_until_lost(&self) -> String {
        let mut changes = self.occupancy.tenancy.loss();
        match changes.wait_for(Option::is_some).await {
            Ok(why) => why.clone().unwrap_or_default(),
            Err(_) => std::future::pending().await,
        }
    }

    async fn end(self) {
        if let Some(Occupancy { tenancy, lock }) = Arc::into_inner(self.occupancy) {
            tenancy.end().await;
            // Only now: the next harness on this machine takes over this folder's lease at once.
            drop(lock);
        }
    }
}

/// Removes all objects of the harness from the cluster, and waits until they are gone.
///
/// # Errors
/// When another harness uses the cluster, or the cluster refuses a request.
pub async fn down(options: &KubeconfigOptions) -> Result<SweepReport, ClusterError> {
    let connection = ClusterConnection::open(&user_temp_dir()?, options).await?;
    let lease = ClusterLease::acquire(&connection.client, &connection.holder_id).await?;
    tenancy::release(&connection.client, lease).await
}
