//! Connect: on loopback, with the harness's tokens.

use crate::programs::Layout;
use crate::ready::ControlPlaneSecrets;
use crate::user_dir::write_private_file;
use crate::{ClusterAccess, ClusterError};

/// Creates certificates and tokens, and writes the kubeconfig that the harness and the test
/// environment's controllers share.
pub(super) fn connect(layout: &Layout) -> Result<ClusterAccess, ClusterError> {
    let secrets = ControlPlaneSecrets::write(&layout.pki, &layout.tokens, &[])?;
    let access = secrets.access(format!("https://{}:{}", layout.listen, layout.api));
    write_private_file(&layout.kubeconfig, secrets.kubeconfig(&access.server).as_bytes())?;
    Ok(access)
}
