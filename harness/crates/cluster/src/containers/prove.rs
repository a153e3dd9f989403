//! Prove: the server reports its readiness and version. Which controllers its controller manager
//! runs is known, as the harness wrote its command line.

use crate::ready::{Launcher, wait_until_ready};
use crate::{ClusterAccess, ClusterError};

/// Waits until the server is ready, grants the subject access, and asks for the version, which may
/// differ from the image's tag.
pub(super) async fn prove(access: &ClusterAccess, launcher: &mut impl Launcher) -> Result<String, ClusterError> {
    let client = access.admin_client().await?;
    wait_until_ready(client.clone(), launcher).await?;
    let version = client.apiserver_version().await.map_err(ClusterError::request("asking for the version"))?;
    Ok(version.git_version)
}
