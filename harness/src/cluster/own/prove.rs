//! Prove: the cluster's own controllers are off, as far as its controller manager can be seen. That
//! the subject reaches nothing of the user's is proved when the stay begins.

use std::time::Duration;

use super::{Own, TenancyError};
use crate::cluster::ClusterError;
use crate::cluster::questions::Prove;
use crate::cluster::stock::{self, Stock};
use crate::controllers::Controllers;

/// Whether the command line of the controller manager says that no controller under test is on;
/// false where it is not seen.
///
/// # Errors
/// When it says that one is on.
pub(super) async fn prove(client: &kube::Client, without: &Controllers) -> Result<bool, ClusterError> {
    match stock::look(client, without).await? {
        Stock::Off => Ok(true),
        Stock::Unseen => Ok(false),
        Stock::On { controller, pod, controllers } => {
            let controller = controller.to_string();
            Err(TenancyError::StockController { controller, pod, controllers }.into())
        }
    }
}

impl Prove for Own {
    fn watches_nodes(&self) -> bool {
        true
    }

    /// Where the controller manager's command line cannot be seen, it may be one that is slow, or
    /// that is just changing its leader.
    fn doubt(&self) -> Duration {
        if self.held.tenancy.seen_off() { Duration::from_millis(400) } else { Duration::from_secs(20) }
    }
}
