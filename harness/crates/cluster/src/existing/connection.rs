//! Prepares the connection to the user's cluster, before its first request: the context, its
//! server, and this machine's lock.

use std::path::{Path, PathBuf};

use lockstep_support::fingerprint::fingerprint;

use super::kubeconfig::{self, ServerEndpoint};
use super::{KubeconfigOptions, ResolvedContext};
use crate::access::CONNECT_TIMEOUT;
use crate::lock::{FileLock, lock};
use crate::proxy::ForwardProxy;
use crate::user_dir::{make_private_dir, random_token, write_private_file};
use crate::{ClusterAccess, ClusterError, Credential};

/// What is needed before the first request; another harness on this machine waits for the lock.
pub(super) struct ClusterConnection {
    target: ServerEndpoint,
    ca_pem: String,
    proxy: Option<ForwardProxy>,
    pub(super) client: kube::Client,
    pub(super) dir: PathBuf,
    pub(super) holder_id: String,
    pub(super) lock: FileLock,
}

impl ClusterConnection {
    pub(super) async fn open(parent: &Path, options: &KubeconfigOptions) -> Result<Self, ClusterError> {
        let config = kubeconfig::read(&options.files)?;
        let target = kubeconfig::resolve(&config, Some(&options.context))?;
        let ca_pem = target.authorities(&options.context)?;
        let connection = ResolvedContext::new(&config, Some(&options.context))?;
        let (client, proxy) = (connection.client(CONNECT_TIMEOUT)?, connection.proxy);
        let dir = parent.join(format!("own-{}", fingerprint(target.server.bytes())));
        make_private_dir(&dir)?;
        let lock = lock(dir.join("lock")).await?;
        let holder_id = holder_id(&dir.join("place"))?;
        Ok(Self { target, ca_pem, proxy, client, dir, holder_id, lock })
    }

    /// The access: the harness with the user's credentials, the subject with its token.
    pub(super) fn access(&self, options: &KubeconfigOptions, subject_token: String) -> ClusterAccess {
        ClusterAccess {
            server: self.target.server.clone(),
            server_name: self.target.server_name.clone(),
            ca_pem: self.ca_pem.clone(),
            proxy: self.proxy.clone(),
            admin: Credential::Kubeconfig { files: options.files.clone(), context: options.context.clone() },
            subject_token,
        }
    }
}

/// The id of this folder in the lease. If we hold the folder's lock and the lease names this
/// folder, the previous holder has died.
fn holder_id(path: &Path) -> Result<String, ClusterError> {
    if let Some(id) = std::fs::read_to_string(path).ok().filter(|id| !id.is_empty()) {
        return Ok(id);
    }
    let mut name = random_token()?;
    name.truncate(16);
    write_private_file(path, name.as_bytes())?;
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_keeps_its_holder_id() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        let name = holder_id(&one).unwrap();
        assert_eq!((holder_id(&one).unwrap(), name.len()), (name.clone(), 16));
        assert_ne!(holder_id(&two).unwrap(), name);
    }
}
