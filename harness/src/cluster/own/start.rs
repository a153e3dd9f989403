//! Start: attach to the user's cluster, and begin a stay on it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::door::Door;
use super::lease::Lease;
use super::tenancy::{Stay, Tenancy};
use super::{Held, Own, Wish, connect, daemons, prove};
use crate::cluster::facts::Facts;
use crate::cluster::{ClusterError, Plan, SiteName, programs};
use crate::recording::Identity;

impl Own {
    /// Begin a stay on the cluster: nobody else's harness is on it, nothing of an earlier one is
    /// left, and the subject has an account.
    ///
    /// # Errors
    /// Nothing of the harness's is on the cluster then, as far as the cluster can be reached.
    pub(in crate::cluster) async fn start(parent: &Path, plan: &Plan, wish: &Wish) -> Result<Self, ClusterError> {
        let door = Door::open(parent, wish).await?;
        let version = connect::connect(&door.client, wish).await?;
        let seen_off = prove::prove(&door.client, &plan.without).await?;
        daemons::warn(&door.client).await;
        let lease = Lease::take(&door.client, &door.place).await?;
        let stay = Stay { under_test: &plan.without, seen_off, unguarded: wish.unguarded };
        let tenancy = Tenancy::begin(&door.client, lease, &stay, &|token| door.access(wish, token)).await?;
        let facts = Facts {
            identity: Identity::new(SiteName::Kubeconfig, programs::APISERVER, version),
            access: door.access(wish, tenancy.subject_token().to_owned()),
            dir: door.dir,
            programs: BTreeMap::new(),
            without: plan.without.clone(),
        };
        Ok(Self { facts, held: Arc::new(Held { tenancy, alone: door.alone }) })
    }
}
