//! What can go wrong with one Deployment.

use thiserror::Error;

use crate::api::RequestError;
use crate::model::ModelError;

/// Why a Deployment cannot be planned further.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlanError {
    /// The strategy is none that this controller knows.
    #[error("unexpected deployment strategy type: {0:?}; set spec.strategy.type to RollingUpdate or Recreate")]
    Strategy(String),
    /// A part of it has no meaning.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// Why a plan could not be carried out to its end. The Deployment is looked at again after a while.
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
    /// An object has changed since it was observed: the ordinary consequence of a cache that lags,
    /// and no one's fault.
    #[error("{what} has changed since it was observed")]
    OutOfDate {
        /// The write.
        what: String,
    },
    /// The namespace is going away, so nothing can be made in it any more.
    #[error("the namespace is being deleted")]
    NamespaceTerminating,
    /// The name of a new ReplicaSet is taken; the next one will have another.
    #[error("replica set {name} exists already")]
    Collision {
        /// The name.
        name: String,
    },
    /// The Deployment, looked at live, is going, or is not the same any more.
    #[error("{reason}, so nothing more is done for what it was")]
    NotAlive {
        /// What a live look showed.
        reason: String,
    },
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
    /// The plan itself ends in an error.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

impl From<RequestError> for ApplyError {
    fn from(error: RequestError) -> Self {
        let conflict = error.is_conflict();
        if error.is_namespace_terminating() {
            return Self::NamespaceTerminating;
        }
        match error {
            RequestError::Server { what, .. } if conflict => Self::OutOfDate { what },
            RequestError::Server { what, source } => Self::Request { what, source },
            RequestError::NoAnswer { what, seconds } => Self::NoAnswer { what, seconds },
            RequestError::TooLarge { .. } | RequestError::TooManyPages { .. } => Self::Unread(error.message()),
        }
    }
}
