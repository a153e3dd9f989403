//! The way to the user's cluster, up to its first request: the context, its server, and this
//! machine's lock.

use std::path::{Path, PathBuf};

use super::Connection;
use super::Wish;
use super::file::{self, Target};
use crate::cluster::access::LIMIT;
use crate::cluster::lock::{Guard, lock};
use crate::cluster::place::{make_private, token, write_private};
use crate::cluster::proxy::Proxy;
use crate::cluster::{Access, ClusterError, Credential};
use crate::fingerprint::fingerprint;

/// All that is needed before the cluster is touched; on this machine the next harness waits here.
pub(super) struct Door {
    target: Target,
    ca_pem: String,
    proxy: Option<Proxy>,
    pub(super) client: kube::Client,
    pub(super) dir: PathBuf,
    pub(super) place: String,
    pub(super) alone: Guard,
}

impl Door {
    pub(super) async fn open(parent: &Path, wish: &Wish) -> Result<Self, ClusterError> {
        let config = file::read(&wish.files)?;
        let target = file::choose(&config, Some(&wish.context))?;
        let ca_pem = target.authorities(&wish.context)?;
        let connection = Connection::new(&config, Some(&wish.context))?;
        let (client, proxy) = (connection.client(LIMIT)?, connection.proxy);
        let dir = parent.join(format!("own-{}", fingerprint(target.server.bytes())));
        make_private(&dir)?;
        let alone = lock(dir.join("lock")).await?;
        let place = place(&dir.join("place"))?;
        Ok(Self { target, ca_pem, proxy, client, dir, place, alone })
    }

    /// How to talk to the server: the harness as the user does, the subject by its token.
    pub(super) fn access(&self, wish: &Wish, subject_token: String) -> Access {
        Access {
            server: self.target.server.clone(),
            server_name: self.target.server_name.clone(),
            ca_pem: self.ca_pem.clone(),
            proxy: self.proxy.clone(),
            admin: Credential::Kubeconfig { files: wish.files.clone(), context: wish.context.clone() },
            subject_token,
        }
    }
}

/// A name for this folder's turn at the cluster: whoever has the folder's lock and finds its own
/// name on the lease finds a dead harness's.
fn place(path: &Path) -> Result<String, ClusterError> {
    if let Some(known) = std::fs::read_to_string(path).ok().filter(|known| !known.is_empty()) {
        return Ok(known);
    }
    let mut name = token()?;
    name.truncate(16);
    write_private(path, name.as_bytes())?;
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_keeps_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        let name = place(&one).unwrap();
        assert_eq!((place(&one).unwrap(), name.len()), (name.clone(), 16));
        assert_ne!(place(&two).unwrap(), name);
    }
}
