//! The errors of kind clusters, each with a remedy.

use std::path::PathBuf;

use crate::EngineError;

/// Why a kind cluster cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KindError {
    /// A program is not installed.
    #[error("no {program} on PATH; {remedy}")]
    Missing {
        /// The program.
        program: String,
        /// How to install it.
        remedy: &'static str,
    },
    /// The container engine cannot be used.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The user's configuration is invalid.
    #[error("cannot use the kind configuration {}: {why}", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A cluster of this name exists that cannot be used.
    #[error(
        "kind cluster `{name}` exists already and {why}; choose another name with --kind-name, \
         or remove it with `kind delete cluster --name {name}`"
    )]
    NameTaken {
        /// The name.
        name: String,
        /// Why it cannot be used.
        why: &'static str,
    },
    /// The node image is not available.
    #[error(
        "node image {image} is not available: {why}; name one that is local or can be pulled with LOCKSTEP_NODE_IMAGE"
    )]
    Image {
        /// The image.
        image: String,
        /// The engine's message.
        why: String,
    },
    /// Pods on the node cannot reach this machine.
    #[error("node {node} cannot reach this machine: {why}")]
    HostUnreachable {
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
        /// Its message.
        why: String,
    },
    /// kind could not create the cluster; its remains have been removed.
    #[error("kind could not make cluster `{name}`{}:\n{lines}", logs_at(logs.as_ref()))]
    Create {
        /// The cluster.
        name: String,
        /// Where the node's logs are.
        logs: Option<PathBuf>,
        /// Why programs on its node exited, and the errors in kind's output.
        lines: String,
    },
    /// The cluster was created but is not as required; it has been removed.
    #[error("{why}{}", logs_at(logs.as_ref()))]
    Unusable {
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
        /// The time limit.
        seconds: u64,
        /// The message of its Ready condition.
        why: String,
    },
    /// The controller manager's command line turns on a controller under test.
    #[error(
        "the stock {on} controller is on: {pod} runs with --controllers={controllers}; \
         the kubeadm patch that turns it off was overridden; look for `controllers` in the file of LOCKSTEP_KIND_CONFIG"
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
