//! Prove: the server says that it is ready, and of which version it is. What its controller manager
//! runs is on the command line that the harness has written.

use crate::cluster::{
    Access, ClusterError,
    ready::{Crew, until_ready},
};

/// Wait until the server is ready, let the subject in, and ask for the version: an image's tag need
/// not be it.
pub(super) async fn prove(access: &Access, crew: &mut impl Crew) -> Result<String, ClusterError> {
    let client = access.admin_client().await?;
    until_ready(client.clone(), crew).await?;
    let version = client.apiserver_version().await.map_err(ClusterError::request("asking for the version"))?;
    Ok(version.git_version)
}
