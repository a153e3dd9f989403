//! Where a subject's process looks for its cluster: a kubeconfig, a home folder, and on request
//! what a pod finds.
//!
//! Programs read `$KUBECONFIG`, or only `$HOME/.kube/config`, or only a pod's service account. The
//! first two are always there. The home folder is the subject's own, and everything else in it is
//! linked to the user's, so that caches and tool chains below the home folder are found. The
//! service account's files belong at a path that only root may create, so they are mounted there
//! for the subject alone (`supervise::mounted`).
//!
//! Borders: writes files below one folder, 0600 in 0700; whoever made the folder removes it.

use std::net::SocketAddr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::private;

/// Where kubectl and its kin look below a home folder.
const KUBE: &str = ".kube";

/// A home folder of the subject's own.
#[derive(Debug)]
pub(super) struct Home {
    /// `HOME`.
    pub(super) folder: PathBuf,
    /// `KUBECONFIG`: the file `.kube/config` of this home folder.
    pub(super) kubeconfig: PathBuf,
}

/// The interceptor, for a client that has no kubeconfig.
pub struct Listener {
    /// `https://ADDRESS:PORT`.
    pub url: String,
    /// Who vouches for it, PEM.
    pub ca_pem: String,
}

/// What the kubelet gives a pod to reach the API server with. Not to be printed: it holds a token.
pub struct ServiceAccount {
    /// Where the API server listens.
    pub address: SocketAddr,
    /// Who vouches for it, PEM.
    pub ca_pem: String,
    /// Who the subject is.
    pub token: String,
    /// The namespace that the pod would run in.
    pub namespace: String,
}

impl Home {
    /// Make it in a folder; `real` is the user's, whose other entries are linked.
    pub(super) fn furnish(folder: &Path, kubeconfig: &str, real: Option<&Path>) -> std::io::Result<Self> {
        let home = folder.join("home");
        let own = home.join(KUBE);
        private::folder(&own)?;
        let entries = real.and_then(|real| std::fs::read_dir(real).ok()).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_name() != KUBE) {
            // There already when the subject is started again.
            symlink(entry.path(), home.join(entry.file_name())).ok();
        }
        let path = own.join("config");
        private::write(&path, kubeconfig.as_bytes())?;
        Ok(Self { folder: home, kubeconfig: path })
    }
}

impl ServiceAccount {
    /// Where client libraries look for the files; the path is part of Kubernetes' API.
    pub const AT: &'static str = "/var/run/secrets/kubernetes.io/serviceaccount";

    /// The variables that a pod has.
    pub(super) fn variables(&self) -> [(String, String); 3] {
        let port = self.address.port().to_string();
        let host = self.address.ip().to_string();
        [("HOST", host), ("PORT", port.clone()), ("PORT_HTTPS", port)]
            .map(|(name, value)| (format!("KUBERNETES_SERVICE_{name}"), value))
    }

    /// Write the files beside the home folder; returns their folder.
    pub(super) fn furnish(&self, home: &Path) -> std::io::Result<PathBuf> {
        let folder = home.with_file_name("serviceaccount");
        let files = [("token", &self.token), ("ca.crt", &self.ca_pem), ("namespace", &self.namespace)];
        files.iter().try_for_each(|(name, text)| private::write(&folder.join(name), text.as_bytes()))?;
        Ok(folder)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path) -> u32 {
        path.symlink_metadata().unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_home_of_its_own_has_the_kubeconfig_and_links_to_the_rest() {
        let (folder, real) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::create_dir_all(real.path().join(".kube/cache")).unwrap();
        std::fs::write(real.path().join(".kube/config"), "the user's own").unwrap();
        std::fs::create_dir_all(real.path().join(".cargo/bin")).unwrap();
        let place = folder.path().join("probe");
        for text in ["first", "again"] {
            let home = Home::furnish(&place, text, Some(real.path())).unwrap();
            assert_eq!(home.kubeconfig, home.folder.join(".kube/config"));
            assert_eq!(std::fs::read_to_string(&home.kubeconfig).unwrap(), text);
            assert!(home.folder.join(".cargo/bin").is_dir() && !home.folder.join(".kube/cache").exists());
            assert_eq!((mode(&home.kubeconfig), mode(&home.folder), mode(&place)), (0o600, 0o700, 0o700));
        }
        std::fs::remove_dir_all(&place).unwrap();
        assert!(real.path().join(".cargo/bin").is_dir());
        assert_eq!(std::fs::read_to_string(real.path().join(".kube/config")).unwrap(), "the user's own");
    }

    #[test]
    fn a_service_account_is_what_a_pod_finds() {
        let folder = tempfile::tempdir().unwrap();
        let (ca_pem, token, namespace) = ("PEM".to_owned(), "secret".to_owned(), "default".to_owned());
        let account = ServiceAccount { address: ([127, 0, 0, 1], 6443).into(), ca_pem, token, namespace };
        let variables = account.variables().map(|(name, value)| format!("{name}={value}"));
        let [host, port, https] = variables;
        assert_eq!(host, "KUBERNETES_SERVICE_HOST=127.0.0.1");
        assert_eq!([port, https], ["KUBERNETES_SERVICE_PORT=6443", "KUBERNETES_SERVICE_PORT_HTTPS=6443"]);
        let files = account.furnish(&folder.path().join("home")).unwrap();
        let read = ["token", "ca.crt", "namespace"].map(|name| std::fs::read_to_string(files.join(name)).unwrap());
        assert_eq!(read, ["secret", "PEM", "default"]);
        assert_eq!((mode(&files.join("token")), mode(&files)), (0o600, 0o700));
    }
}
