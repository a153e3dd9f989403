//! Errors of a sync of one Deployment.

use controller_client::api::RequestError;
use thiserror::Error;

use crate::decisions::rollouts::deployment::PlanError;

/// Why a plan was not applied completely. The Deployment is synced again after a backoff.
#[derive(Debug, Error)]
pub enum DeploymentSyncError {
    /// A cache is older than this controller's own last write.
    #[error(
        "the watch of {resource} is at version {observed_version}, and {written_version} was written; looking again when it has caught up"
    )]
    Stale {
        /// The watched resource.
        resource: &'static str,
        /// The resourceVersion that the watch has reached.
        observed_version: u64,
        /// The resourceVersion that it must reach.
        written_version: u64,
    },
    /// An object has changed since it was observed. A cache that lags makes this common; it is not
    /// a defect.
    #[error("{request} has changed since it was observed")]
    OutOfDate {
        /// The refused write.
        request: String,
    },
    /// The namespace is being deleted, so nothing can be created in it.
    #[error("the namespace is being deleted")]
    NamespaceTerminating,
    /// Another object has the name of the new ReplicaSet; the next sync uses another name.
    #[error("replica set {name} exists already")]
    Collision {
        /// The name that is taken.
        name: String,
    },
    /// A live read shows that the Deployment is being deleted or was replaced by another one.
    #[error("{reason}, so nothing more is done for what it was")]
    NotAlive {
        /// The result of the live read.
        reason: String,
    },
    /// The API server did not answer in time.
    #[error("no answer to {request} within {seconds} s; the API server may be overloaded or cut off")]
    NoAnswer {
        /// The request.
        request: String,
        /// The timeout.
        seconds: u64,
    },
    /// The answer is too large to read.
    #[error("{0}")]
    UnreadableAnswer(String),
    /// The API server refused a request or could not be reached.
    #[error("{request} failed: {source}")]
    Request {
        /// The request.
        request: String,
        /// The answer.
        #[source]
        source: Box<kube::Error>,
    },
    /// The plan ends with an error.
    #[error(transparent)]
    DeploymentPlan(#[from] PlanError),
}

impl From<RequestError> for DeploymentSyncError {
    fn from(error: RequestError) -> Self {
        let conflict = error.is_conflict();
        if error.is_namespace_terminating() {
            return Self::NamespaceTerminating;
        }
        match error {
            RequestError::Server { request, .. } if conflict => Self::OutOfDate { request },
            RequestError::Server { request, source } => Self::Request { request, source },
            RequestError::NoAnswer { request, seconds } => Self::NoAnswer { request, seconds },
            RequestError::TooLarge { .. } | RequestError::TooManyPages { .. } => {
                Self::UnreadableAnswer(error.message())
            }
        }
    }
}
