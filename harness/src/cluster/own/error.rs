//! What goes wrong with a cluster of the user's own, each with what to do about it.

use std::path::PathBuf;

/// The words on the command line and the user's kubeconfig do not name a cluster that the harness
/// can use. Bad usage, found before anything runs.
#[derive(Debug, thiserror::Error)]
pub enum OwnError {
    /// There is no file.
    #[error("no kubeconfig: {looked} does not exist; name one with --kubeconfig FILE")]
    NoFile {
        /// Where it was looked for.
        looked: String,
    },
    /// A file cannot be read, or is none.
    #[error("{}: {why}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The cluster was not named.
    #[error("--cluster kubeconfig needs the name of a context, because it changes that cluster: {hint}")]
    NotNamed {
        /// Which context is current, and what to type.
        hint: String,
    },
    /// No context was named, and none is current.
    #[error("the kubeconfig names no current context; {known}; choose one with --context NAME")]
    NoCurrent {
        /// Those that there are.
        known: String,
    },
    /// There is no such context.
    #[error("the kubeconfig has no context `{wanted}`; {known}")]
    UnknownContext {
        /// The one that was named.
        wanted: String,
        /// Those that there are.
        known: String,
    },
    /// The context cannot be used.
    #[error("context `{context}`: {why}")]
    Context {
        /// Its name.
        context: String,
        /// What is wrong with it, and what to do.
        why: String,
    },
}

/// The cluster is there, and not to be used, or not now. Nothing of the harness's stays on it.
#[derive(Debug, thiserror::Error)]
pub enum TenancyError {
    /// Nobody answers, or not to this user.
    #[error("the cluster of context `{context}` does not answer: {why}")]
    Unreachable {
        /// The context.
        context: String,
        /// What the client says.
        why: String,
    },
    /// It runs a controller under test itself.
    #[error(
        "the cluster's own {controller} controller is on: {pod} in kube-system runs with --controllers={controllers}; \
         start kube-controller-manager with --controllers={controllers},-{controller}, or use another cluster"
    )]
    StockController {
        /// Its short name.
        controller: String,
        /// The controller manager's pod.
        pod: String,
        /// The value of its flag.
        controllers: String,
    },
    /// Another harness works on it.
    #[error("{holder} is running lockstep on this cluster; wait until that run ends")]
    Held {
        /// Who.
        holder: String,
    },
    /// The name of the harness's namespace is taken.
    #[error("namespace {name} exists and was not made by lockstep: it has no label {label}; remove or rename it")]
    NameTaken {
        /// The namespace.
        name: &'static str,
        /// The label.
        label: String,
    },
    /// Something stays in the way for too long.
    #[error("{what} after {seconds} s: {why}")]
    Patience {
        /// What did not come about.
        what: String,
        /// How long it was waited for.
        seconds: u64,
        /// What is known of the reason.
        why: String,
    },
    /// A service account without rights has some.
    #[error(
        "this cluster lets every service account {what}, so the controller under test could change objects outside the test; look for a role binding of system:serviceaccounts or system:authenticated, and at the \
         server's --authorization-mode"
    )]
    Unconfined {
        /// What it may do.
        what: String,
    },
    /// Pods of cases could run on the user's own nodes.
    #[error(
        "this cluster lets {what}, so a controller under test could reach your nodes: turn on PodSecurity admission and ValidatingAdmissionPolicy (v1.30 or later), with credentials that may create policies, or accept the risk with --accept-unguarded-pods"
    )]
    Unguarded {
        /// What it lets whom do.
        what: String,
    },
}
