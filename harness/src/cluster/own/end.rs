//! End: the stay, with the last clone of it. The cluster itself stays.

use std::sync::Arc;

use super::door::Door;
use super::lease::Lease;
use super::{Held, Own, Swept, Wish, tenancy};
use crate::cluster::ClusterError;
use crate::cluster::place::of_user;
use crate::cluster::questions::End;

impl End for Own {
    fn belongs_here(&self) -> bool {
        false
    }

    fn sweeps(&self) -> bool {
        true
    }

    async fn lost(&self) -> String {
        let mut changes = self.held.tenancy.lost();
        match changes.wait_for(Option::is_some).await {
            Ok(why) => why.clone().unwrap_or_default(),
            Err(_) => std::future::pending().await,
        }
    }

    async fn end(self) {
        if let Some(Held { tenancy, alone }) = Arc::into_inner(self.held) {
            tenancy.end().await;
            // Not before: the next harness on this machine takes the lease of this folder at once.
            drop(alone);
        }
    }
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
