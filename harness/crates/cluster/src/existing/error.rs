//! The errors of a user's cluster, each with a remedy.

use std::path::PathBuf;

/// The command line and the kubeconfig do not select a cluster that the harness can use. This is a
/// usage error, found before anything runs.
#[derive(Debug, thiserror::Error)]
pub enum ContextError {
    /// There is no kubeconfig file.
    #[error("no kubeconfig: {paths} does not exist; name one with --kubeconfig FILE")]
    NoFile {
        /// The paths that were tried.
        paths: String,
    },
    /// A file cannot be read, or is not a kubeconfig.
    #[error("{}: {why}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// No context was named.
    #[error("--cluster kubeconfig needs the name of a context, because it changes that cluster: {hint}")]
    NotNamed {
        /// The current context, and the flag to add.
        hint: String,
    },
    /// No context was named, and the kubeconfig has no current one.
    #[error("the kubeconfig names no current context; {available}; choose one with --context NAME")]
    NoCurrent {
        /// The available contexts.
        available: String,
    },
    /// The named context does not exist.
    #[error("the kubeconfig has no context `{name}`; {available}")]
    UnknownContext {
        /// The named context.
        name: String,
        /// The available contexts.
        available: String,
    },
    /// The context cannot be used.
    #[error("context `{context}`: {why}")]
    Context {
        /// The context's name.
        context: String,
        /// What is wrong with it, and a remedy.
        why: String,
    },
}

/// The cluster answers, but cannot be used, or not now. No objects of the harness stay on it.
#[derive(Debug, thiserror::Error)]
pub enum TenancyError {
    /// The server does not answer, or refuses this user.
    #[error("the cluster of context `{context}` does not answer: {why}")]
    Unreachable {
        /// The context.
        context: String,
        /// The client's error.
        why: String,
    },
    /// The cluster itself runs a controller under test.
    #[error(
        "the cluster's own {controller} controller is on: {pod} in kube-system runs with --controllers={controllers}; \
         start kube-controller-manager with --controllers={controllers},-{controller}, or use another cluster"
    )]
    StockController {
        /// The controller's short name.
        controller: String,
        /// The controller manager's pod.
        pod: String,
        /// The value of its flag.
        controllers: String,
    },
    /// Another harness uses the cluster.
    #[error("{holder} is running lockstep on this cluster; wait until that run ends")]
    InUse {
        /// The process and host of that harness.
        holder: String,
    },
    /// A foreign namespace has the name of the harness's namespace.
    #[error("namespace {name} exists and was not made by lockstep: it has no label {label}; remove or rename it")]
    NameTaken {
        /// The namespace.
        name: &'static str,
        /// The label that it lacks.
        label: String,
    },
    /// A condition is not met within its time limit.
    #[error("{condition} after {seconds} s: {why}")]
    TimedOut {
        /// The condition.
        condition: String,
        /// The time limit.
        seconds: u64,
        /// The presumed reason.
        why: String,
    },
    /// A service account without roles has permissions.
    #[error(
        "this cluster lets every service account {permission}, so the controller under test could change objects outside the test; look for a role binding of system:serviceaccounts or system:authenticated, and at the \
         server's --authorization-mode"
    )]
    Unconfined {
        /// What it can do.
        permission: String,
    },
    /// Pods of cases could run on the user's nodes.
    #[error(
        "this cluster lets {permission}, so a controller under test could reach your nodes: turn on PodSecurity admission and ValidatingAdmissionPolicy (v1.30 or later), with credentials that may create policies, or accept the risk with --accept-unguarded-pods"
    )]
    Unguarded {
        /// Who can do what.
        permission: String,
    },
}
