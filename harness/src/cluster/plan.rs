//! What is wanted: which kind of cluster, of which version, without which controllers.

use std::fmt;
use std::str::FromStr;

use super::{containers, kind, own};
use crate::controllers::Controllers;

/// What to boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Where.
    pub site: Site,
    /// The version, as in `v1.36.3`.
    pub version: String,
    /// Controllers that the subject brings, and that the test environment's controllers therefore
    /// leaves out.
    pub without: Controllers,
}

/// Where a cluster stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Site {
    /// This process.
    Sim,
    /// Local processes.
    ControlPlane,
    /// Upstream's official images in containers.
    Containers(containers::Wish),
    /// A node container of kind's.
    Kind(kind::Wish),
    /// Where the user says.
    Kubeconfig(own::Wish),
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
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Sim, Self::ControlPlane, Self::Containers, Self::Kind, Self::Kubeconfig];

    /// As it is written.
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
        let known = || Self::ALL.map(Self::as_str).join(", ");
        Self::ALL.into_iter().find(|site| site.as_str() == text).ok_or_else(|| format!("use one of {}", known()))
    }
}

impl Site {
    /// Its name.
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

impl Plan {
    /// Local processes, and a test environment's controllers that leaves out the Deployment
    /// controller.
    pub fn new(version: &str) -> Self {
        Self { site: Site::ControlPlane, version: version.to_owned(), without: Controllers::default() }
    }

    /// The same somewhere else.
    #[must_use]
    pub fn at(mut self, site: Site) -> Self {
        self.site = site;
        self
    }

    /// Leave out just what the subject brings.
    #[must_use]
    pub fn without(mut self, controllers: Controllers) -> Self {
        self.without = controllers;
        self
    }

    /// What tells the clusters of one run apart, fit for a file's name.
    pub(super) fn key(&self) -> String {
        let of_site = match &self.site {
            Site::ControlPlane => String::new(),
            Site::Kubeconfig(wish) => format!("kubeconfig-{}-", plain(&wish.context)),
            site => format!("{}-", site.name()),
        };
        let key = of_site + &plain(&self.version);
        // The one that most cases want goes without saying.
        if self.without == Controllers::default() {
            return key;
        }
        self.without.iter().fold(key, |key, out| format!("{key}-no-{out}"))
    }
}

/// Fit for a file's name.
pub(super) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '.') { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_have_folders_of_their_own() {
        assert_eq!(Plan::new("v1.36.3").key(), "v1.36.3");
        let keys = ["deployment", "replicaset", "deployment,replicaset"]
            .map(|text| Plan::new("../v1").without(text.parse().unwrap()).key());
        assert_eq!(keys, [".._v1", ".._v1-no-replicaset", ".._v1-no-deployment-no-replicaset"]);
        assert_eq!(Plan::new("v1.36.3").at(Site::Kind(kind::Wish::default())).key(), "kind-v1.36.3");
        let own = own::Wish { files: Vec::new(), context: "me@a/b".to_owned(), unguarded: false };
        assert_eq!(Plan::new("v1.36.3").at(Site::Kubeconfig(own)).key(), "kubeconfig-me_a_b-v1.36.3");
    }

    #[test]
    fn sites_by_name() {
        assert_eq!("kind".parse(), Ok(SiteName::Kind));
        assert!("minikube".parse::<SiteName>().unwrap_err().contains("control-plane, containers, kind, kubeconfig"));
    }
}
