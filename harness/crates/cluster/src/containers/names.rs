//! The names of a cluster's containers, of their images, of their network and of the files in them.
//! No I/O.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use super::super::programs::Layout;
use super::ImageOptions;

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

/// Upstream's registry.
const REGISTRY: &str = "registry.k8s.io";

/// etcd's tag from this minor of Kubernetes on, newest first: the one that the newest kubeadm which
/// knows the minor installs (v1.33.13 and v1.36.3, in their lists of supported etcd versions).
/// Minors that the list does not name use the last tag.
const ETCD: [(u32, &str); 2] = [(34, "3.6.8-0"), (0, "3.5.24-0")];

/// The image of each program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ControlPlaneImages {
    etcd: String,
    kube_apiserver: String,
    kube_controller_manager: String,
}

impl ControlPlaneImages {
    /// The images of a version such as `v1.36.3`, from the registry of the options.
    pub(super) fn new(version: &str, options: &ImageOptions) -> Self {
        let registry = options.registry.as_deref().unwrap_or(REGISTRY).trim_end_matches('/');
        let of = |program: &str, tag: &str| format!("{registry}/{program}:{tag}");
        Self {
            etcd: options.etcd.clone().unwrap_or_else(|| of("etcd", etcd_tag(version))),
            kube_apiserver: of("kube-apiserver", version),
            kube_controller_manager: of("kube-controller-manager", version),
        }
    }

    pub(super) fn image_for(&self, program: &str) -> &str {
        match program {
            "etcd" => &self.etcd,
            "kube-apiserver" => &self.kube_apiserver,
            _ => &self.kube_controller_manager,
        }
    }

    pub(super) fn all(&self) -> [&str; 3] {
        [&self.etcd, &self.kube_apiserver, &self.kube_controller_manager]
    }
}

/// Splits an image name into the two parts that testcontainers joins with a colon. Works for a
/// digest too.
pub(super) fn split_image_name(image: &str) -> (&str, &str) {
    match image.rsplit_once(':') {
        // A port, not a tag, follows the last colon if there is a slash after it.
        Some((name, tag)) if !tag.contains('/') => (name, tag),
        _ => (image, "latest"),
    }
}

/// etcd's tag for a version of Kubernetes.
fn etcd_tag(version: &str) -> &'static str {
    let minor = version.split('.').nth(1).and_then(|minor| minor.parse().ok()).unwrap_or(u32::MAX);
    ETCD.into_iter().find(|(from, _)| minor >= *from).map_or(ETCD[0].1, |(_, tag)| tag)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use lockstep_recording::controllers::ControllerSet;
    use rstest::rstest;

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

    #[rstest]
    #[case("v1.29.6", "3.5.24-0")]
    #[case("v1.33.13", "3.5.24-0")]
    #[case("v1.34.0", "3.6.8-0")]
    #[case("v1.36.3", "3.6.8-0")]
    #[case("v1.40.0-alpha.1", "3.6.8-0")]
    #[case("nonsense", "3.6.8-0")]
    fn etcd_tag_follows_kubernetes_minor(#[case] version: &str, #[case] tag: &str) {
        assert_eq!(etcd_tag(version), tag);
    }

    #[test]
    fn default_images_have_upstream_names() {
        let images = ControlPlaneImages::new("v1.36.3", &ImageOptions::default());
        assert_eq!(
            images.all(),
            [
                "registry.k8s.io/etcd:3.6.8-0",
                "registry.k8s.io/kube-apiserver:v1.36.3",
                "registry.k8s.io/kube-controller-manager:v1.36.3",
            ]
        );
        assert_eq!(
            ["etcd", "kube-apiserver", "kube-controller-manager"].map(|name| images.image_for(name)),
            images.all()
        );
    }

    #[test]
    fn options_select_registry_and_etcd_image() {
        let options =
            ImageOptions { registry: Some("mirror.example:5000/k8s/".to_owned()), etcd: Some("etcd:mine".to_owned()) };
        let images = ControlPlaneImages::new("v1.33.13", &options);
        assert_eq!(images.image_for("kube-apiserver"), "mirror.example:5000/k8s/kube-apiserver:v1.33.13");
        assert_eq!(images.image_for("etcd"), "etcd:mine");
    }
    #[rstest]
    #[case("registry.k8s.io/etcd:3.6.8-0", "registry.k8s.io/etcd", "3.6.8-0")]
    #[case("mirror.example:5000/etcd", "mirror.example:5000/etcd", "latest")]
    #[case("etcd", "etcd", "latest")]
    #[case("etcd@sha256:0123", "etcd@sha256", "0123")]
    fn image_name_has_two_parts(#[case] image: &str, #[case] name: &str, #[case] tag: &str) {
        assert_eq!(split_image_name(image), (name, tag));
    }
}
