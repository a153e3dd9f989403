//! The names of a cluster's containers, of their network and of the files in them. No I/O.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use super::super::programs::Layout;

/// The folder of the harness's files in every container.
pub(super) const CONTAINER_DIR: &str = "/lockstep";
/// Certificates and keys.
pub(super) const PKI: &str = "pki";
/// The kubeconfig of the test environment's controllers, in which the API server has its name on
/// the network.
pub(super) const ENVIRONMENT_KUBECONFIG: &str = "environment.kubeconfig";
/// The API server's token file.
pub(super) const TOKENS: &str = "tokens.csv";
/// The API server's port in its container.
pub(super) const API_PORT: u16 = 6443;

/// The files that each program reads, by their paths in the cluster's folder and under
/// [`CONTAINER_DIR`].
const FILES: [(&str, &[&str]); 3] = [
    ("etcd", &["pki/ca.crt", "pki/etcd.crt", "pki/etcd.key"]),
    (
        "kube-apiserver",
        &[
            "pki/ca.crt",
            "pki/etcd-client.crt",
            "pki/etcd-client.key",
            "pki/kube-apiserver.crt",
            "pki/kube-apiserver.key",
            "pki/service-account.key",
            "pki/service-account.pub",
            TOKENS,
        ],
    ),
    ("kube-controller-manager", &[ENVIRONMENT_KUBECONFIG]),
];

/// The names of one cluster, unique to it.
#[derive(Debug, Clone)]
pub(super) struct ContainerNames {
    /// The network's name, and the prefix of all others.
    pub(super) network: String,
}

impl ContainerNames {
    /// Derives the names from a random token.
    pub(super) fn new(token: &str) -> Self {
        Self { network: format!("lockstep-{}", &token[..token.len().min(10)]) }
    }

    /// The name of a program's container, which is also its host name on the network.
    pub(super) fn container(&self, program: &str) -> String {
        format!("{}-{program}", self.network)
    }

    /// The names of all containers.
    pub(super) fn containers(&self) -> Vec<String> {
        FILES.iter().map(|(program, _)| self.container(program)).collect()
    }

    /// The paths and addresses that the programs use.
    pub(super) fn layout(&self) -> Layout {
        Layout {
            pki: container_path(PKI),
            tokens: container_path(TOKENS),
            kubeconfig: container_path(ENVIRONMENT_KUBECONFIG),
            data: container_path("etcd"),
            listen: Ipv4Addr::UNSPECIFIED,
            etcd_host: self.container("etcd"),
            etcd: 2379,
            peer: 2380,
            api: API_PORT,
        }
    }

    /// The API server's address on the network.
    pub(super) fn server(&self) -> String {
        format!("https://{}:{API_PORT}", self.container("kube-apiserver"))
    }
}

/// The files that a program reads.
pub(super) fn program_files(program: &str) -> &'static [&'static str] {
    FILES.iter().find(|(name, _)| *name == program).map_or(&[], |(_, files)| files)
}

/// The path in a container of a file of the cluster's folder.
fn container_path(file: &str) -> PathBuf {
    Path::new(CONTAINER_DIR).join(file)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use lockstep_recording::controllers::ControllerSet;

    use super::*;
    use crate::programs::{etcd, kube_apiserver, kube_controller_manager};

    #[test]
    fn names_derive_from_token_and_fit_host_names() {
        let names = ContainerNames::new("0123456789abcdef");
        assert_eq!(names.network, "lockstep-0123456789");
        assert_eq!(names.containers()[1], "lockstep-0123456789-kube-apiserver");
        // The maximum length of a host name.
        assert!(names.containers().iter().all(|name| name.len() <= 63));
    }

    #[test]
    fn every_file_named_in_a_programs_flags_is_copied() {
        let layout = ContainerNames::new("0123456789").layout();
        for (program, arguments) in [
            ("etcd", etcd(&layout)),
            ("kube-apiserver", kube_apiserver(&layout)),
            ("kube-controller-manager", kube_controller_manager(&layout, &ControllerSet::default())),
        ] {
            let paths = arguments.iter().filter_map(|argument| Some(argument.split_once("=/lockstep/")?.1));
            let paths: BTreeSet<_> = paths.filter(|file| *file != "etcd").collect();
            assert_eq!(paths, program_files(program).iter().copied().collect(), "{program}");
        }
    }

    #[test]
    fn programs_address_each_other_by_container_name() {
        let names = ContainerNames::new("0123456789");
        assert!(
            kube_apiserver(&names.layout()).contains(&"--etcd-servers=https://lockstep-0123456789-etcd:2379".into())
        );
        assert_eq!(names.server(), "https://lockstep-0123456789-kube-apiserver:6443");
    }
}
