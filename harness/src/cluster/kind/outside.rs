//! What a kind node's pods need from outside of it: the way to this machine, and images that only
//! this machine has.

use std::net::{IpAddr, SocketAddr};

use super::tool::Tool;
use super::{KindError, Node};
use crate::cluster::ClusterError;
use crate::cluster::engine::run;
use crate::output;

/// A way from pods to a port of this machine's. To be closed: it outlives the harness otherwise, as
/// long as the node does.
#[derive(Debug)]
pub struct Way {
    node: Node,
    to: SocketAddr,
}

impl Node {
    /// The address by which the node, and what runs on it, reaches this machine: its network's
    /// gateway.
    ///
    /// # Errors
    /// When the engine does not know the node or its network has no gateway.
    pub async fn host(&self) -> Result<IpAddr, ClusterError> {
        let format = "{{range .NetworkSettings.Networks}}{{.Gateway}} {{.IPv6Gateway}} {{end}}";
        let output = run(&self.engine, ["container", "inspect", "--format", format, &self.name]).await?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let gateway = said.split_whitespace().find_map(|word| word.parse().ok());
        let why = if output.status.success() {
            "its network has no gateway".to_owned()
        } else {
            output::reason(&output.stderr)
        };
        Ok(gateway.ok_or(KindError::NoWay { node: self.name.clone(), why })?)
    }

    /// Let pods through to a port of this machine's. What comes from a pod's own address would find
    /// no way back, so the node puts its own in its place. kind's usual network does that by
    /// itself; where the node cannot, nothing is lost by trying.
    pub async fn open_way(&self, to: SocketAddr) -> Way {
        let way = Way { node: self.clone(), to };
        way.rule("--insert").await;
        way
    }

    /// Put an image of the local engine's on the node. Says whether the engine has one; if not, the
    /// node has it or can pull it.
    ///
    /// # Errors
    /// When kind fails.
    pub async fn load(&self, image: &str) -> Result<bool, ClusterError> {
        let found = run(&self.engine, ["image", "inspect", "--format", "{{.Id}}", image]).await?;
        if found.status.success() {
            Tool::find().await?.load(&self.name, image).await?;
        }
        Ok(found.status.success())
    }
}

impl Way {
    /// Close it again.
    pub async fn close(self) {
        self.rule("--delete").await;
    }

    async fn rule(&self, verb: &str) {
        let (host, port) = (self.to.ip().to_string(), self.to.port().to_string());
        let program = if self.to.is_ipv4() { "iptables" } else { "ip6tables" };
        let words = ["exec", &self.node.name, program, "--wait", "--table", "nat", verb, "POSTROUTING"];
        let what = ["--destination", &host, "--protocol", "tcp", "--dport", &port, "--jump", "MASQUERADE"];
        let output = run(&self.node.engine, words.into_iter().chain(what)).await;
        let failed = match output {
            Ok(output) if output.status.success() => return,
            Ok(output) => output::reason(&output.stderr),
            Err(error) => error.to_string(),
        };
        tracing::debug!(node = self.node.name, verb, error = failed, "no masquerading for the interceptor");
    }
}
