//! The errors that the syncs of both rollout controllers have in common.

use controller_client::api::{RequestError, Resource};
use thiserror::Error;

use crate::decisions::rollouts::StaleCache;

/// Why any sync may end early.
#[derive(Debug, Error)]
pub enum SyncError {
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
}

impl SyncError {
    /// Whether the next sync is likely to succeed: the caches only have to catch up.
    pub(crate) fn is_outdated(&self) -> bool {
        matches!(self, Self::Stale { .. } | Self::OutOfDate { .. })
    }
}

impl From<StaleCache<Resource>> for SyncError {
    fn from(stale: StaleCache<Resource>) -> Self {
        let StaleCache { resource, written_version, read_version } = stale;
        Self::Stale { resource: resource.plural(), observed_version: read_version, written_version }
    }
}

impl From<RequestError> for SyncError {
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
