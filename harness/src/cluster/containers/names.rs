//! What a cluster's containers, their network and the files in them are called. Pure.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use super::super::programs::Layout;

/// The folder of the harness's own files in every container.
pub(super) const INSIDE: &str = "/lockstep";
/// Certificates and keys.
pub(super) const PKI: &str = "pki";
/// The kubeconfig of the test environment's controllers, which knows the API server by its name.
pub(super) const ENVIRONMENT_KUBECONFIG: &str = "environment.kubeconfig";
/// The tokens that the API server knows.
pub(super) const TOKENS: &str = "tokens.csv";
/// Where the API server listens in its container.
pub(super) const API_PORT: u16 = 6443;

/// What each program reads, by its path in the cluster's folder and under [`INSIDE`].
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

/// The names of one cluster, which no other has.
#[derive(Debug, Clone)]
pub(super) struct Names {
    /// The network's, and the beginning of all others.
    pub(super) network: String,
}

impl Names {
    /// From something random.
    pub(super) fn new(token: &str) -> Self {
        Self { network: format!("lockstep-{}", &token[..token.len().min(10)]) }
    }

    /// The container of a program, which is also its name on the network.
    pub(super) fn container(&self, program: &str) -> String {
        format!("{}-{program}", self.network)
    }

    /// All containers.
    pub(super) fn containers(&self) -> Vec<String> {
        FILES.iter().map(|(program, _)| self.container(program)).collect()
    }

    /// Where the programs find their files and each other.
    pub(super) fn layout(&self) -> Layout {
        Layout {
            pki: inside(PKI),
            tokens: inside(TOKENS),
            kubeconfig: inside(ENVIRONMENT_KUBECONFIG),
            data: inside("etcd"),
            listen: Ipv4Addr::UNSPECIFIED,
            etcd_host: self.container("etcd"),
            etcd: 2379,
            peer: 2380,
            api: API_PORT,
        }
    }

    /// The API server as the test environment's controllers knows it.
    pub(super) fn server(&self) -> String {
        format!("https://{}:{API_PORT}", self.container("kube-apiserver"))
    }
}

/// The files that a program reads.
pub(super) fn files(program: &str) -> &'static [&'static str] {
    FILES.iter().find(|(name, _)| *name == program).map_or(&[], |(_, files)| files)
}

/// Where a file of the cluster's folder is in a container.
fn inside(file: &str) -> PathBuf {
    Path::new(INSIDE).join(file)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::cluster::programs::{etcd, kube_apiserver, kube_controller_manager};
    use crate::controllers::Controllers;

    #[test]
    fn names_are_a_clusters_own() {
        let names = Names::new("0123456789abcdef");
        assert_eq!(names.network, "lockstep-0123456789");
        assert_eq!(names.containers()[1], "lockstep-0123456789-kube-apiserver");
        // The longest name of a host on a network.
        assert!(names.containers().iter().all(|name| name.len() <= 63));
    }

    #[test]
    fn every_file_that_a_program_is_told_of_is_copied_to_it() {
        let layout = Names::new("0123456789").layout();
        for (program, arguments) in [
            ("etcd", etcd(&layout)),
            ("kube-apiserver", kube_apiserver(&layout)),
            ("kube-controller-manager", kube_controller_manager(&layout, &Controllers::default())),
        ] {
            let told = arguments.iter().filter_map(|argument| Some(argument.split_once("=/lockstep/")?.1));
            let told: BTreeSet<_> = told.filter(|file| *file != "etcd").collect();
            assert_eq!(told, files(program).iter().copied().collect(), "{program}");
        }
    }

    #[test]
    fn etcd_and_the_server_are_found_by_name() {
        let names = Names::new("0123456789");
        assert!(
            kube_apiserver(&names.layout()).contains(&"--etcd-servers=https://lockstep-0123456789-etcd:2379".into())
        );
        assert_eq!(names.server(), "https://lockstep-0123456789-kube-apiserver:6443");
    }
}
