//! Errors of a sync of one ReplicaSet.

use controller_client::api::RequestError;
use rollout_model::ModelError;
use thiserror::Error;

/// Why a sync failed. The ReplicaSet is synced again after a backoff.
#[derive(Debug, Error)]
pub enum ReplicaSetSyncError {
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
    /// An object has changed since it was observed.
    #[error("{request} has changed since it was observed")]
    OutOfDate {
        /// The refused write.
        request: String,
    },
    /// A live read shows that the ReplicaSet is being deleted or was replaced by another one.
    #[error("cannot adopt pods: {reason}")]
    NotAlive {
        /// The result of the live read.
        reason: String,
    },
    /// Pods could not be created or deleted. The status repeats this text.
    #[error("{0}")]
    Pods(String),
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
    /// An answer of the API server is not a valid object.
    #[error(transparent)]
    Model(#[from] ModelError),
}

impl From<RequestError> for ReplicaSetSyncError {
    fn from(error: RequestError) -> Self {
        let conflict = error.is_conflict();
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
