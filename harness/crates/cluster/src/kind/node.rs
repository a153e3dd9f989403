//! The node of a kind cluster, and what its pods need of this machine: their images, although no
//! registry has them, and a network path.
//!
//! Every image name in a case becomes a tag of the pause image, which each node has.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, ApiResource, DynamicObject};
use lockstep_support::output;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::Mutex;

use super::KindError;
use super::tool::KindTool;
use crate::ClusterError;
use crate::engine::run;

/// The node of a kind cluster, whose kubelet runs pods.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindNode {
    /// Its name as a Node object and as a container.
    pub name: String,
    /// The container engine's program.
    pub engine: PathBuf,
}

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
        let nodes: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::erase::<Node>(&()));
        let node = nodes.get(&self.node.name).await;
        let node = node.map_err(ClusterError::request("reading the node"))?;
        let pause = pause_image(&node).ok_or_else(|| KindError::Image {
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

/// The name of the pause image that the node has.
fn pause_image(node: &DynamicObject) -> Option<&str> {
    let images = node.data.pointer("/status/images")?.as_array()?;
    let mut names = images.iter().filter_map(|image| image["names"].as_array()).flatten().filter_map(Value::as_str);
    names.find(|name| name.contains("/pause:"))
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

/// A NAT rule on the node that lets pods reach a port of this machine. Remove it explicitly:
/// otherwise it stays as long as the node.
#[derive(Debug)]
pub struct MasqueradeRule {
    node: KindNode,
    destination: SocketAddr,
}

impl KindNode {
    /// The address by which the node and its pods reach this machine: the gateway of the node's
    /// network.
    ///
    /// # Errors
    /// When the engine does not know the node, or its network has no gateway.
    pub async fn host_address(&self) -> Result<IpAddr, ClusterError> {
        let format = "{{range .NetworkSettings.Networks}}{{.Gateway}} {{.IPv6Gateway}} {{end}}";
        let output = run(&self.engine, ["container", "inspect", "--format", format, &self.name]).await?;
        let addresses = String::from_utf8_lossy(&output.stdout).into_owned();
        let gateway = addresses.split_whitespace().find_map(|word| word.parse().ok());
        let why = if output.status.success() {
            "its network has no gateway".to_owned()
        } else {
            output::reason(&output.stderr)
        };
        Ok(gateway.ok_or(KindError::HostUnreachable { node: self.name.clone(), why })?)
    }

    /// Lets pods reach a port of this machine. Replies to a pod's own address would not find their
    /// way back, so the node substitutes its own address. kind's usual network does that itself;
    /// where the node cannot add the rule, nothing is lost.
    pub async fn add_masquerade_rule(&self, destination: SocketAddr) -> MasqueradeRule {
        let masquerade = MasqueradeRule { node: self.clone(), destination };
        masquerade.change("--insert").await;
        masquerade
    }

    /// Loads an image of the local engine onto the node. Returns whether the engine has it; if not,
    /// the node has it or can pull it.
    ///
    /// # Errors
    /// When kind fails.
    pub async fn load_image(&self, image: &str) -> Result<bool, ClusterError> {
        let found = run(&self.engine, ["image", "inspect", "--format", "{{.Id}}", image]).await?;
        if found.status.success() {
            KindTool::find().await?.load_image(&self.name, image).await?;
        }
        Ok(found.status.success())
    }
}

impl MasqueradeRule {
    /// Removes the rule.
    pub async fn remove(self) {
        self.change("--delete").await;
    }

    async fn change(&self, verb: &str) {
        let (host, port) = (self.destination.ip().to_string(), self.destination.port().to_string());
        let program = if self.destination.is_ipv4() { "iptables" } else { "ip6tables" };
        let words = ["exec", &self.node.name, program, "--wait", "--table", "nat", verb, "POSTROUTING"];
        let rule = ["--destination", &host, "--protocol", "tcp", "--dport", &port, "--jump", "MASQUERADE"];
        let output = run(&self.node.engine, words.into_iter().chain(rule)).await;
        let failed = match output {
            Ok(output) if output.status.success() => return,
            Ok(output) => output::reason(&output.stderr),
            Err(error) => error.to_string(),
        };
        tracing::debug!(node = self.node.name, verb, error = failed, "no masquerading for the interceptor");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
