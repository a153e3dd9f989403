//! Images for pods that run on a kubelet, although no registry has them: every image name in a case
//! becomes a tag of the pause image, which each node has.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1;
use kube::Api;
use lockstep_support::output;
use tokio::sync::Mutex;

use super::{KindError, KindNode};
use crate::ClusterError;
use crate::engine::run;

/// The images that were tagged on a node.
#[derive(Debug)]
pub struct NodeImages {
    node: KindNode,
    provided: Mutex<BTreeSet<String>>,
}

impl NodeImages {
    /// Starts without images.
    pub fn new(node: KindNode) -> Self {
        Self { node, provided: Mutex::default() }
    }

    /// The node's name.
    pub fn node(&self) -> &str {
        &self.node.name
    }

    /// Makes sure that the node can start this image.
    ///
    /// # Errors
    /// When the node has no pause image, or its container runtime refuses the name.
    pub async fn provide(&self, client: &kube::Client, image: &str) -> Result<(), ClusterError> {
        let mut provided = self.provided.lock().await;
        if provided.contains(image) {
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
        provided.insert(image.to_owned());
        Ok(())
    }
}

/// The full name of an image in a container runtime: with registry, folder and tag.
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
    fn full_name_has_registry_folder_and_tag() {
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
