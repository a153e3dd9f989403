//! Start: the crew under a supervisor, where the feature `containers` is on.

use std::path::Path;

#[cfg(feature = "containers")]
use super::images::Images;
use super::{ContainersError, Wish};
#[cfg(feature = "containers")]
use crate::cluster::engine::{Engine, EngineError};
use crate::cluster::supervised::Supervised;
use crate::cluster::{ClusterError, Plan};

/// A control plane with its folder inside of `parent`.
#[cfg(feature = "containers")]
pub(in crate::cluster) async fn start(parent: &Path, plan: &Plan, wish: &Wish) -> Result<Supervised, ClusterError> {
    let (facts, supervisor) = super::crew::start(parent, plan, wish).await?;
    Ok(Supervised::own(facts, supervisor))
}

/// Refuse: this build has no containers.
#[cfg(not(feature = "containers"))]
pub(in crate::cluster) async fn start(_: &Path, _: &Plan, _: &Wish) -> Result<Supervised, ClusterError> {
    Err(ContainersError::NotBuilt.into())
}

/// Whether such a cluster can boot here at once: the engine answers and the images are there. If
/// not, what is missing.
///
/// # Errors
/// The reason, as a fragment of a sentence.
#[cfg(feature = "containers")]
pub fn available(version: &str, wish: &Wish) -> Result<(), String> {
    let engine = Engine::locate(Path::new("docker")).map_err(|error| error.to_string())?;
    ContainersError::unless_local(&engine).map_err(|error| error.to_string())?;
    let images = Images::new(version, wish);
    let words = [&["image", "inspect", "--format", "{{.Id}}"], images.all().as_slice()].concat();
    match engine.ask_now(&words) {
        Ok(_) => Ok(()),
        Err(EngineError::Failed { why, .. }) if why.contains("No such image") => Err(format!("{why}; pull it first")),
        Err(error) => Err(error.to_string()),
    }
}

/// Whether such a cluster can boot here: it cannot, because this build has no containers.
///
/// # Errors
/// Always.
#[cfg(not(feature = "containers"))]
pub fn available(_: &str, _: &Wish) -> Result<(), String> {
    Err(ContainersError::NotBuilt.to_string())
}

#[cfg(all(test, not(feature = "containers")))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn build_without_containers_says_how_to_get_them() {
        let wish = Wish::default();
        let plan = Plan::new("v1.36.3");
        let error = start(Path::new("/nowhere"), &plan, &wish).await.unwrap_err().to_string();
        assert!(
            error.contains("built without the feature `containers`; build it with cargo's default features"),
            "{error}"
        );
        assert_eq!(available("v1.36.3", &wish), Err(error));
    }
}
