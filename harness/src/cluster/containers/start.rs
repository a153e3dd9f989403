//! Start: the crew under a supervisor.

use std::path::Path;

use super::Wish;
use super::images::Images;
use crate::cluster::engine::{last_line, remedy};
use crate::cluster::supervised::Supervised;
use crate::cluster::{ClusterError, Plan};

/// A control plane with its folder inside of `parent`.
pub(in crate::cluster) async fn start(parent: &Path, plan: &Plan, wish: &Wish) -> Result<Supervised, ClusterError> {
    let (facts, supervisor) = super::crew::start(parent, plan, wish).await?;
    Ok(Supervised::own(facts, supervisor))
}

/// Whether such a cluster can boot here at once: the engine answers and the images are there. If not, what is missing.
///
/// # Errors
/// The reason, as a fragment of a sentence.
pub fn available(version: &str, wish: &Wish) -> Result<(), String> {
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
