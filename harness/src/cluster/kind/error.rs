//! What goes wrong with kind, each with what to do about it.

use std::path::PathBuf;

use crate::cluster::EngineError;

/// Why there is no kind cluster.
#[derive(Debug, thiserror::Error)]
pub enum KindError {
    /// A program is not there.
    #[error("no {program} on PATH; {remedy}")]
    Missing {
        /// Which.
        program: String,
        /// How to get it.
        remedy: &'static str,
    },
    /// The container engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The user's configuration is not one.
    #[error("cannot use the kind configuration {}: {why}", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// There is a cluster of this name that cannot be used.
    #[error(
        "kind cluster `{name}` exists already and {why}; choose another name with --kind-name, \
         or remove it with `kind delete cluster --name {name}`"
    )]
    NameTaken {
        /// The name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The node image cannot be had.
    #[error(
        "node image {image} is not available: {why}; name one that is local or can be pulled with --node-image or LOCKSTEP_NODE_IMAGE"
    )]
    Image {
        /// The image.
        image: String,
        /// What the engine says.
        why: String,
    },
    /// What runs on the node cannot reach this machine.
    #[error("node {node} cannot reach this machine: {why}")]
    NoWay {
        /// The node.
        node: String,
        /// What is missing.
        why: String,
    },
    /// A program failed.
    #[error("`{command}` failed: {why}")]
    Failed {
        /// The command.
        command: String,
        /// What it said.
        why: String,
    },
    /// kind could not make the cluster; what it left has been removed.
    #[error("kind could not make cluster `{name}`{}:\n{lines}", logs_at(logs.as_ref()))]
    Create {
        /// The cluster.
        name: String,
        /// Where the node's logs are.
        logs: Option<PathBuf>,
        /// Why programs on its node ended, and the errors in kind's output.
        lines: String,
    },
    /// The cluster was made, and is not what it should be; it has been removed.
    #[error("{why}{}", logs_at(logs.as_ref()))]
    NotRight {
        /// The cluster.
        name: String,
        /// What is wrong.
        why: String,
        /// Where the node's logs are.
        logs: Option<PathBuf>,
    },
    /// The node does not become ready.
    #[error("node {node} of the kind cluster was not ready after {seconds} s: {why}")]
    Node {
        /// The node.
        node: String,
        /// How long it was waited for.
        seconds: u64,
        /// What it says itself.
        why: String,
    },
    /// Something stands in the controller manager's command line that must not.
    #[error(
        "the stock {on} controller is on: {pod} runs with --controllers={controllers}; \
         the kubeadm patch that turns it off was overridden; look for `controllers` in --kind-config"
    )]
    StockController {
        /// The controller that is on.
        on: String,
        /// The controller manager's pod.
        pod: String,
        /// The value of its flag.
        controllers: String,
    },
}

fn logs_at(logs: Option<&PathBuf>) -> String {
    logs.map(|logs| format!(" (its node's logs are in {})", logs.display())).unwrap_or_default()
}
