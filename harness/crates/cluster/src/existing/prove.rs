//! Prove: the cluster's controllers under test are off, if its controller manager is visible. That
//! the subject cannot change the user's objects is proved when the tenancy begins.

use std::time::Duration;

use lockstep_recording::controllers::ControllerSet;

use super::{ExistingCluster, TenancyError};
use crate::ClusterError;
use crate::backend::Prove;
use crate::builtin_controllers::{self, BuiltinControllerStatus};

/// Whether the controller manager's command line turns every controller under test off; false if it
/// is not visible.
///
/// # Errors
/// When one is on.
pub(super) async fn prove(client: &kube::Client, without: &ControllerSet) -> Result<bool, ClusterError> {
    match builtin_controllers::inspect(client, without).await? {
        BuiltinControllerStatus::Off => Ok(true),
        BuiltinControllerStatus::Unseen => Ok(false),
        BuiltinControllerStatus::On { controller, pod, controllers } => {
            let controller = controller.to_string();
            Err(TenancyError::StockController { controller, pod, controllers }.into())
        }
    }
}

impl Prove for ExistingCluster {
    fn watches_nodes(&self) -> bool {
        true
    }

    /// If the controller manager's command line is not visible, it may be slow, or just changing
    /// its leader.
    fn quiet_period(&self) -> Duration {
        if self.occupancy.tenancy.controllers_confirmed_off() {
            Duration::from_millis(400)
        } else {
            Duration::from_secs(20)
        }
    }
}
