//! The images of a version: their names. Pure.

use super::Wish;

/// Where upstream publishes.
const REGISTRY: &str = "registry.k8s.io";

/// etcd's tag from this minor of Kubernetes on, newest first: the one that the newest kubeadm which
/// knows the minor installs (v1.33.13 and v1.36.3, in their lists of supported etcd versions).
/// Older minors take what v1.30 does.
const ETCD: [(u32, &str); 2] = [(34, "3.6.8-0"), (0, "3.5.24-0")];

/// One image for each program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Images {
    etcd: String,
    kube_apiserver: String,
    kube_controller_manager: String,
}

impl Images {
    /// Those of a version such as `v1.36.3`, as wished for.
    pub(super) fn new(version: &str, wish: &Wish) -> Self {
        let registry = wish.registry.as_deref().unwrap_or(REGISTRY).trim_end_matches('/');
        let of = |program: &str, tag: &str| format!("{registry}/{program}:{tag}");
        Self {
            etcd: wish.etcd.clone().unwrap_or_else(|| of("etcd", etcd_tag(version))),
            kube_apiserver: of("kube-apiserver", version),
            kube_controller_manager: of("kube-controller-manager", version),
        }
    }

    /// The image that has this program.
    pub(super) fn of(&self, program: &str) -> &str {
        match program {
            "etcd" => &self.etcd,
            "kube-apiserver" => &self.kube_apiserver,
            _ => &self.kube_controller_manager,
        }
    }

    /// All three.
    pub(super) fn all(&self) -> [&str; 3] {
        [&self.etcd, &self.kube_apiserver, &self.kube_controller_manager]
    }
}

/// An image's name in the two parts that testcontainers joins with a colon, which suits a digest
/// too.
pub(super) fn split(image: &str) -> (&str, &str) {
    match image.rsplit_once(':') {
        // After the last colon stands a port if a folder follows.
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
    fn etcd_by_minor(#[case] version: &str, #[case] tag: &str) {
        assert_eq!(etcd_tag(version), tag);
    }

    #[test]
    fn upstreams_names() {
        let images = Images::new("v1.36.3", &Wish::default());
        assert_eq!(
            images.all(),
            [
                "registry.k8s.io/etcd:3.6.8-0",
                "registry.k8s.io/kube-apiserver:v1.36.3",
                "registry.k8s.io/kube-controller-manager:v1.36.3",
            ]
        );
        assert_eq!(["etcd", "kube-apiserver", "kube-controller-manager"].map(|name| images.of(name)), images.all());
    }

    #[test]
    fn a_mirror_and_an_etcd_of_ones_own() {
        let wish = Wish { registry: Some("mirror.example:5000/k8s/".to_owned()), etcd: Some("etcd:mine".to_owned()) };
        let images = Images::new("v1.33.13", &wish);
        assert_eq!(images.of("kube-apiserver"), "mirror.example:5000/k8s/kube-apiserver:v1.33.13");
        assert_eq!(images.of("etcd"), "etcd:mine");
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
