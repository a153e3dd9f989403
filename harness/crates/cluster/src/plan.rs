//! Describes the requested cluster: site with its options, version, and excluded controllers.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use lockstep_recording::controllers::ControllerSet;

/// The cluster to boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterPlan {
    /// Where to boot it.
    pub site: Site,
    /// The Kubernetes version, such as `v1.36.3`.
    pub version: String,
    /// The controllers that the subject brings, and that the test environment therefore does not
    /// run.
    pub without: ControllerSet,
}

/// Where a cluster runs, with its options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Site {
    /// A simulated server.
    Sim,
    /// Local processes.
    ControlPlane,
    /// Upstream's official images in containers.
    Containers(ImageOptions),
    /// A kind cluster.
    Kind(KindOptions),
    /// The user's cluster.
    Kubeconfig(KubeconfigOptions),
}

/// The options of a cluster in containers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImageOptions {
    /// The registry, with a folder if there is one, that has kube-apiserver,
    /// kube-controller-manager and etcd; `None` for upstream's.
    pub registry: Option<String>,
    /// The full name of etcd's image; `None` for the one of the version's kubeadm.
    pub etcd: Option<String>,
}

impl ImageOptions {
    /// The options from `LOCKSTEP_IMAGE_REGISTRY` and `LOCKSTEP_ETCD_IMAGE`.
    pub fn from_env() -> Self {
        Self { registry: variable("LOCKSTEP_IMAGE_REGISTRY"), etcd: variable("LOCKSTEP_ETCD_IMAGE") }
    }
}

/// The options of a kind cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KindOptions {
    /// Its name; `lockstep` by default.
    pub name: Option<String>,
    /// The node image; by default kind's for the version.
    pub image: Option<String>,
    /// A kind configuration, v1alpha4, which the harness extends.
    pub config: Option<PathBuf>,
    /// Keep it running after the run.
    pub keep: bool,
}

impl KindOptions {
    /// The options from `LOCKSTEP_NODE_IMAGE` and `LOCKSTEP_KIND_CONFIG`.
    pub fn from_env() -> Self {
        Self {
            image: variable("LOCKSTEP_NODE_IMAGE"),
            config: variable("LOCKSTEP_KIND_CONFIG").map(PathBuf::from),
            ..Self::default()
        }
    }
}

/// The user's cluster, as selected on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KubeconfigOptions {
    /// The files of the kubeconfig; see [`files`](crate::existing::files).
    pub files: Vec<PathBuf>,
    /// The context's name.
    pub context: String,
    /// Whether the user accepts that pods of cases may run on the cluster's own nodes.
    pub accept_unguarded_pods: bool,
}

/// The name of a site, as on the command line and in a trial's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SiteName {
    /// `sim`
    Sim,
    /// `control-plane`
    ControlPlane,
    /// `containers`
    Containers,
    /// `kind`
    Kind,
    /// `kubeconfig`
    Kubeconfig,
}

impl SiteName {
    /// Every site.
    pub const ALL: [Self; 5] = [Self::Sim, Self::ControlPlane, Self::Containers, Self::Kind, Self::Kubeconfig];

    /// The name as written on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            Self::ControlPlane => "control-plane",
            Self::Containers => "containers",
            Self::Kind => "kind",
            Self::Kubeconfig => "kubeconfig",
        }
    }
}

impl fmt::Display for SiteName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for SiteName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let names = || Self::ALL.map(Self::as_str).join(", ");
        Self::ALL.into_iter().find(|site| site.as_str() == text).ok_or_else(|| format!("use one of {}", names()))
    }
}

impl Site {
    /// The site's name.
    pub fn name(&self) -> SiteName {
        match self {
            Self::Sim => SiteName::Sim,
            Self::ControlPlane => SiteName::ControlPlane,
            Self::Containers(_) => SiteName::Containers,
            Self::Kind(_) => SiteName::Kind,
            Self::Kubeconfig(_) => SiteName::Kubeconfig,
        }
    }
}

impl ClusterPlan {
    /// A control plane of local processes, without the Deployment controller.
    pub fn new(version: &str) -> Self {
        Self { site: Site::ControlPlane, version: version.to_owned(), without: ControllerSet::default() }
    }

    /// Boots it on another site.
    #[must_use]
    pub fn at(mut self, site: Site) -> Self {
        self.site = site;
        self
    }

    /// Excludes these controllers, which the subject brings.
    #[must_use]
    pub fn without(mut self, controllers: ControllerSet) -> Self {
        self.without = controllers;
        self
    }

    /// Distinguishes the clusters of one run; suitable for a file name.
    pub(super) fn key(&self) -> String {
        let of_site = match &self.site {
            Site::ControlPlane => String::new(),
            Site::Kubeconfig(options) => format!("kubeconfig-{}-", sanitize_file_name(&options.context)),
            site => format!("{}-", site.name()),
        };
        let key = of_site + &sanitize_file_name(&self.version);
        // The default exclusion has no suffix.
        if self.without == ControllerSet::default() {
            return key;
        }
        self.without.iter().fold(key, |key, out| format!("{key}-no-{out}"))
    }
}

/// Replaces characters that do not suit a file name.
pub(super) fn sanitize_file_name(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '.') { c } else { '_' }).collect()
}

/// The value of an environment variable; an empty one counts as unset.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_plans_have_different_keys() {
        assert_eq!(ClusterPlan::new("v1.36.3").key(), "v1.36.3");
        let keys = ["deployment", "replicaset", "deployment,replicaset"]
            .map(|text| ClusterPlan::new("../v1").without(text.parse().unwrap()).key());
        assert_eq!(keys, [".._v1", ".._v1-no-replicaset", ".._v1-no-deployment-no-replicaset"]);
        assert_eq!(ClusterPlan::new("v1.36.3").at(Site::Kind(KindOptions::default())).key(), "kind-v1.36.3");
        let options =
            KubeconfigOptions { files: Vec::new(), context: "me@a/b".to_owned(), accept_unguarded_pods: false };
        assert_eq!(ClusterPlan::new("v1.36.3").at(Site::Kubeconfig(options)).key(), "kubeconfig-me_a_b-v1.36.3");
    }

    #[test]
    fn site_names_parse() {
        assert_eq!("kind".parse(), Ok(SiteName::Kind));
        assert!("minikube".parse::<SiteName>().unwrap_err().contains("control-plane, containers, kind, kubeconfig"));
    }
}
