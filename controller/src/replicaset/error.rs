//! What can go wrong with one ReplicaSet.

use thiserror::Error;

use crate::api::RequestError;
use crate::model::ModelError;

/// Why a sync did not come to its end. The ReplicaSet is looked at again after a while.
#[derive(Debug, Error)]
pub enum ApplyError {
    /// A cache has not yet seen what this controller itself has written.
    #[error(
        "the watch of {resource} is at version {read}, and {wrote} was written; looking again when it has caught up"
    )]
    Stale {
        /// Which watch.
        resource: &'static str,
        /// Where it is.
        read: u64,
        /// Where it must come to.
        wrote: u64,
    },
    /// An object has changed since it was observed.
    #[error("{what} has changed since it was observed")]
    OutOfDate {
        /// The write.
        what: String,
    },
    /// The ReplicaSet, looked at live, is going, or is not the same any more.
    #[error("cannot adopt pods: {reason}")]
    NotAlive {
        /// What a live look showed.
        reason: String,
    },
    /// Pods could not be made or deleted; in the words that the status repeats.
    #[error("{0}")]
    Pods(String),
    /// The API server did not answer in time.
    #[error("no answer to {what} within {seconds} s; the API server may be overloaded or cut off")]
    NoAnswer {
        /// The request.
        what: String,
        /// How long the answer was waited for.
        seconds: u64,
    },
    /// The answer is too large to be read.
    #[error("{0}")]
    Unread(String),
    /// The API server refused a request, or could not be reached.
    #[error("{what} failed: {source}")]
    Request {
        /// The request.
        what: String,
        /// The answer.
        #[source]
        source: Box<kube::Error>,
    },
    /// What the API server answered cannot be read.
    #[error(transparent)]
    Model(#[from] ModelError),
}

impl From<RequestError> for ApplyError {
    fn from(error: RequestError) -> Self {
        let conflict = error.is_conflict();
        match error {
            RequestError::Server { what, .. } if conflict => Self::OutOfDate { what },
            RequestError::Server { what, source } => Self::Request { what, source },
            RequestError::NoAnswer { what, seconds } => Self::NoAnswer { what, seconds },
            RequestError::TooLarge { .. } | RequestError::TooManyPages { .. } => Self::Unread(error.message()),
        }
    }
}
