//! The environment in which a subject's process looks for its cluster: a kubeconfig, a home folder,
//! and on request the files of a pod.
//!
//! Programs read `$KUBECONFIG`, or only `$HOME/.kube/config`, or only a pod's service account. The
//! first two always exist. The home folder is the subject's own, with links to all other entries of
//! the user's, so that caches and tool chains in it are found. The service account's files belong
//! at a path that only root may create, so they are mounted there for the subject alone
//! (`supervise::with_mount`).
//!
//! Boundaries: writes files below one folder, with modes 0600 and 0700; the folder's owner removes
//! it.

use std::net::SocketAddr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use lockstep_support::private_fs;

/// The folder of kubectl's configuration in a home folder.
const KUBE: &str = ".kube";

/// A home folder for the subject.
#[derive(Debug)]
pub(super) struct SubjectHome {
    /// `HOME`.
    pub(super) folder: PathBuf,
    /// `KUBECONFIG`: the file `.kube/config` of this home folder.
    pub(super) kubeconfig: PathBuf,
}

/// The interceptor's address, for a client without a kubeconfig.
pub struct InterceptorEndpoint {
    /// `https://ADDRESS:PORT`.
    pub url: String,
    /// Its CA, PEM.
    pub ca_pem: String,
}

/// The service account that the kubelet gives to a pod. It has no Debug output, as it holds a
/// token.
pub struct ServiceAccount {
    /// The address of the API server.
    pub address: SocketAddr,
    /// Its CA, PEM.
    pub ca_pem: String,
    /// The subject's token.
    pub token: String,
    /// The namespace that the pod would run in.
    pub namespace: String,
}

impl SubjectHome {
    /// Creates it in a folder; `real` is the user's, whose other entries are linked.
    pub(super) fn create(folder: &Path, kubeconfig: &str, real: Option<&Path>) -> std::io::Result<Self> {
        let home = folder.join("home");
        let own = home.join(KUBE);
        private_fs::create_dir(&own)?;
        let entries = real.and_then(|real| std::fs::read_dir(real).ok()).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_name() != KUBE) {
            // The link exists when the subject is started again.
            symlink(entry.path(), home.join(entry.file_name())).ok();
        }
        let path = own.join("config");
        private_fs::write(&path, kubeconfig.as_bytes())?;
        Ok(Self { folder: home, kubeconfig: path })
    }
}

impl ServiceAccount {
    /// The folder of the files; the path is part of Kubernetes' API.
    pub const PATH: &'static str = "/var/run/secrets/kubernetes.io/serviceaccount";

    /// The environment variables of a pod.
    pub(super) fn variables(&self) -> [(String, String); 3] {
        let port = self.address.port().to_string();
        let host = self.address.ip().to_string();
        [("HOST", host), ("PORT", port.clone()), ("PORT_HTTPS", port)]
            .map(|(name, value)| (format!("KUBERNETES_SERVICE_{name}"), value))
    }

    /// Writes the files beside the home folder; returns their folder.
    pub(super) fn create(&self, home: &Path) -> std::io::Result<PathBuf> {
        let folder = home.with_file_name("serviceaccount");
        let files = [("token", &self.token), ("ca.crt", &self.ca_pem), ("namespace", &self.namespace)];
        files.iter().try_for_each(|(name, text)| private_fs::write(&folder.join(name), text.as_bytes()))?;
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
    fn home_has_kubeconfig_and_links_to_other_entries() {
        let (folder, real) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::create_dir_all(real.path().join(".kube/cache")).unwrap();
        std::fs::write(real.path().join(".kube/config"), "the user's own").unwrap();
        std::fs::create_dir_all(real.path().join(".cargo/bin")).unwrap();
        let place = folder.path().join("probe");
        for text in ["first", "again"] {
            let home = SubjectHome::create(&place, text, Some(real.path())).unwrap();
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
    fn service_account_has_variables_and_files_of_a_pod() {
        let folder = tempfile::tempdir().unwrap();
        let (ca_pem, token, namespace) = ("PEM".to_owned(), "secret".to_owned(), "default".to_owned());
        let account = ServiceAccount { address: ([127, 0, 0, 1], 6443).into(), ca_pem, token, namespace };
        let variables = account.variables().map(|(name, value)| format!("{name}={value}"));
        let [host, port, https] = variables;
        assert_eq!(host, "KUBERNETES_SERVICE_HOST=127.0.0.1");
        assert_eq!([port, https], ["KUBERNETES_SERVICE_PORT=6443", "KUBERNETES_SERVICE_PORT_HTTPS=6443"]);
        let files = account.create(&folder.path().join("home")).unwrap();
        let read = ["token", "ca.crt", "namespace"].map(|name| std::fs::read_to_string(files.join(name)).unwrap());
        assert_eq!(read, ["secret", "PEM", "default"]);
        assert_eq!((mode(&files.join("token")), mode(&files)), (0o600, 0o700));
    }
}
