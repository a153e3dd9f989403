//! Prove: the server says that it is ready. What its controller manager runs is on the command line
//! that the harness has written.

use crate::cluster::ready::{Crew, until_ready};
use crate::cluster::{Access, ClusterError};

/// Wait until the server is ready, and let the subject in.
pub(super) async fn prove(access: &Access, crew: &mut impl Crew) -> Result<(), ClusterError> {
    until_ready(access.admin_client().await?, crew).await
}
