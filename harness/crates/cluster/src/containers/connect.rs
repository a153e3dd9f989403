//! Connect: through the port that is published on 127.0.0.1, with the harness's tokens.

use crate::programs::admin_kubeconfig;
use crate::ready::ControlPlaneSecrets;
use crate::user_dir::write_private_file;
use crate::{ClusterAccess, ClusterError};

/// The access from this machine; also writes a kubeconfig for kubectl.
pub(super) fn connect(
    dir: &std::path::Path,
    secrets: &ControlPlaneSecrets,
    port: u16,
) -> Result<ClusterAccess, ClusterError> {
    let access = secrets.access(format!("https://127.0.0.1:{port}"));
    write_private_file(&admin_kubeconfig(dir), secrets.kubeconfig(&access.server).as_bytes())?;
    Ok(access)
}
