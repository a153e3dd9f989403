//! Start: the crew under a supervisor, where this was built with containers; attach in any build.

use std::path::Path;

#[cfg(not(feature = "containers"))]
use super::ContainersError;
use super::{Containers, Wish};
use crate::cluster::facts::Facts;
use crate::cluster::keeper::Keeper;
use crate::cluster::{ClusterError, Plan};
use crate::supervise::ProcessId;

impl Containers {
    /// A control plane with its folder inside of `parent`.
    #[cfg(feature = "containers")]
    pub(in crate::cluster) async fn start(parent: &Path, plan: &Plan, wish: &Wish) -> Result<Self, ClusterError> {
        let (facts, supervisor) = super::crew::start(parent, plan, wish).await?;
        Ok(Self { facts, keeper: Keeper::own(supervisor) })
    }

    /// Say that this was built without.
    #[cfg(not(feature = "containers"))]
    pub(in crate::cluster) async fn start(_parent: &Path, _plan: &Plan, _wish: &Wish) -> Result<Self, ClusterError> {
        Err(ContainersError::NotBuilt.into())
    }

    /// One that another process started.
    pub(in crate::cluster) fn attach(facts: Facts, supervisor: ProcessId) -> Self {
        Self { facts, keeper: Keeper::elsewhere(supervisor) }
    }
}

/// Whether such a cluster can boot here at once: the engine answers and the images are there. If not, what is missing.
///
/// # Errors
/// The reason, as a fragment of a sentence.
#[cfg(feature = "containers")]
pub fn available(version: &str, wish: &Wish) -> Result<(), String> {
    use super::images::Images;
    use crate::cluster::engine::{last_line, remedy};
    let mut ask = std::process::Command::new("docker");
    ask.args(["image", "inspect", "--format", "{{.Id}}"]).args(Images::new(version, wish).all());
    let answer = ask.output().map_err(|error| format!("no container engine: docker: {error}"))?;
    if answer.status.success() {
        return Ok(());
    }
    let why = last_line(&answer.stderr);
    if why.contains("No such image") {
        return Err(format!("{why}; pull it first"));
    }
    Err(format!("{why}; {}", remedy(&why)))
}

/// Whether such a cluster can boot here: it cannot, as this was built without.
///
/// # Errors
/// Always.
#[cfg(not(feature = "containers"))]
pub fn available(_version: &str, _wish: &Wish) -> Result<(), String> {
    Err(ContainersError::NotBuilt.to_string())
}
