//! Prove: the server reports its readiness. Which controllers its controller manager runs is known,
//! as the harness wrote its command line.

use crate::ready::{Launcher, wait_until_ready};
use crate::{ClusterAccess, ClusterError};

/// Waits until the server is ready, and grants the subject access.
pub(super) async fn prove(access: &ClusterAccess, launcher: &mut impl Launcher) -> Result<(), ClusterError> {
    wait_until_ready(access.admin_client().await?, launcher).await
}
