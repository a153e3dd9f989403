//! Teardown: dropping the last clone ends the cluster.

use super::SimulatedCluster;
use crate::backend::Teardown;

impl Teardown for SimulatedCluster {
    fn is_owned(&self) -> bool {
        true
    }

    async fn end(self) {}
}
