//! Errors that stop the controllers, or prevent their start.

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
    /// The API server refused the first list.
    #[error(
        "the API server refused the first list: {source}; the credentials must allow get, list and watch of deployments"
    )]
    Refused {
        /// The server's answer.
        #[source]
        source: Box<kube::Error>,
    },
    /// Deployments are not served.
    #[error("this API server does not serve apps/v1 deployments and replicasets; is it a Kubernetes API server?")]
    NotServed,
    /// A write of xing's profile failed, which ends it.
    #[error("Controller terminated: ConfigAgent encountered a fatal error: {0}")]
    Restart(String),
    /// An object that a migration report needs could not be read.
    #[error("cannot read what is to be taken over: {0}")]
    Migration(String),
    /// A task ended that must not.
    #[error("a task of the controller ended: {0}; this is a bug")]
    Task(String),
}
