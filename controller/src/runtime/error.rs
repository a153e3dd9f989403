//! What ends the controllers, or keeps them from beginning.

use thiserror::Error;

/// Why the controller stopped, or did not start.
#[derive(Debug, Error)]
pub enum RunError {
    /// No answer.
    #[error("cannot reach the API server: {source}; is it running, and does KUBECONFIG point at it?")]
    Unreachable {
        /// What went wrong.
        #[source]
        source: Box<kube::Error>,
    },
    /// An answer, and a refusal.
    #[error(
        "the API server refused the first list: {source}; the credentials must allow get, list and watch of deployments"
    )]
    Refused {
        /// What it said.
        #[source]
        source: Box<kube::Error>,
    },
    /// Deployments are not served.
    #[error("this API server does not serve apps/v1 deployments and replicasets; is it a Kubernetes API server?")]
    NotServed,
    /// A write of xing's profile failed, which ends it.
    #[error("Controller terminated: ConfigAgent encountered a fatal error: {0}")]
    Restart(String),
    /// What taking over is decided on could not be read.
    #[error("cannot read what is to be taken over: {0}")]
    Migration(String),
    /// A task ended that must not end.
    #[error("a task of the controller ended: {0}; this is a bug")]
    Task(String),
}
