//! Connect: on loopback, with tokens that the harness has made.

use crate::cluster::place::write_private;
use crate::cluster::programs::Layout;
use crate::cluster::ready::Secrets;
use crate::cluster::{Access, ClusterError};

/// Make certificates and tokens, and write the kubeconfig that the harness and the test
/// environment's controllers share.
pub(super) fn connect(layout: &Layout) -> Result<Access, ClusterError> {
    let secrets = Secrets::write(&layout.pki, &layout.tokens, &[])?;
    let access = secrets.access(format!("https://{}:{}", layout.listen, layout.api));
    write_private(&layout.kubeconfig, secrets.kubeconfig(&access.server).as_bytes())?;
    Ok(access)
}
