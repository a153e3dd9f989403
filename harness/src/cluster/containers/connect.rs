//! Connect: by the port that is published on 127.0.0.1, with tokens that the harness has made.

use crate::cluster::{Access, ClusterError, place::write_private, programs::admin_kubeconfig, ready::Secrets};

/// The way from this machine, written for kubectl too.
pub(super) fn connect(dir: &std::path::Path, secrets: &Secrets, port: u16) -> Result<Access, ClusterError> {
    let access = secrets.access(format!("https://127.0.0.1:{port}"));
    write_private(&admin_kubeconfig(dir), secrets.kubeconfig(&access.server).as_bytes())?;
    Ok(access)
}
