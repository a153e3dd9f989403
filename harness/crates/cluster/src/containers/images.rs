//! The image names of a version. No I/O.

use super::ImageOptions;

/// Upstream's registry.
const REGISTRY: &str = "registry.k8s.io";

/// etcd's tag from this minor of Kubernetes on, newest first: the one that the newest kubeadm which
/// knows the minor installs (v1.33.13 and v1.36.3, in their lists of supported etcd versions).
/// Older minors use the tag of v1.30.
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

    /// The image of this program.
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
pub(super) fn split(image: &str) -> (&str, &str) {
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
    use rstest::rstest;

    use super::*;

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
        assert_eq!(split(image), (name, tag));
    }
}
