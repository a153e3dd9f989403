//! Images for pods that run for real, where no registry has them: every name that a case gives an
//! image stands for the pause image that each node has anyway.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1;
use kube::Api;
use tokio::sync::Mutex;

use super::{KindError, Node};
use crate::cluster::ClusterError;
use crate::cluster::engine::run;
use crate::output;

/// The images that one node was given.
#[derive(Debug)]
pub struct Images {
    node: Node,
    given: Mutex<BTreeSet<String>>,
}

impl Images {
    /// None yet.
    pub fn new(node: Node) -> Self {
        Self { node, given: Mutex::default() }
    }

    /// The node's name.
    pub fn node(&self) -> &str {
        &self.node.name
    }

    /// See to it that the node can start this image.
    ///
    /// # Errors
    /// When the node has no pause image, or its container runtime refuses the name.
    pub async fn provide(&self, client: &kube::Client, image: &str) -> Result<(), ClusterError> {
        let mut given = self.given.lock().await;
        if given.contains(image) {
            return Ok(());
        }
        let node = Api::<v1::Node>::all(client.clone()).get(&self.node.name).await;
        let node = node.map_err(ClusterError::request("reading the node"))?;
        let has = node.status.and_then(|status| status.images).unwrap_or_default();
        let mut names = has.iter().flat_map(|image| image.names.iter().flatten());
        let pause = names.find(|name| name.contains("/pause:")).ok_or_else(|| KindError::Image {
            image: "pause".to_owned(),
            why: format!("node {} has none", self.node.name),
        })?;
        let full = full_name(image);
        let words = ["exec", &self.node.name, "ctr", "-n", "k8s.io", "images", "tag", "--force", pause, &full];
        let output = run(&self.node.engine, words).await?;
        if !output.status.success() {
            return Err(KindError::Image { image: image.to_owned(), why: output::reason(&output.stderr) }.into());
        }
        given.insert(image.to_owned());
        Ok(())
    }
}

/// The name by which a container runtime knows an image: with its registry, its folder and its tag.
fn full_name(image: &str) -> String {
    let (first, rest) = image.split_once('/').unwrap_or(("", image));
    let is_registry = first.contains(['.', ':']) || first == "localhost";
    let name = match first {
        "" => format!("docker.io/library/{rest}"),
        _ if is_registry => image.to_owned(),
        _ => format!("docker.io/{image}"),
    };
    let tagged = name.rsplit('/').next().is_some_and(|last| last.contains([':', '@']));
    if tagged { name } else { name + ":latest" }
}

#[cfg(test)]
mod tests {
    use super::full_name;

    #[test]
    fn names_in_full() {
        for (short, full) in [
            ("app:1", "docker.io/library/app:1"),
            ("app", "docker.io/library/app:latest"),
            ("team/app:1", "docker.io/team/app:1"),
            ("localhost/app:1", "localhost/app:1"),
            ("registry.example:5000/a/b", "registry.example:5000/a/b:latest"),
        ] {
            assert_eq!(full_name(short), full);
        }
    }
}
