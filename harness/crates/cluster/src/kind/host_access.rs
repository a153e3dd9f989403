//! Gives a kind node's pods access to this machine's ports and images.

use std::net::{IpAddr, SocketAddr};

use lockstep_support::output;

use super::tool::KindTool;
use super::{KindError, KindNode};
use crate::ClusterError;
use crate::engine::run;

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
