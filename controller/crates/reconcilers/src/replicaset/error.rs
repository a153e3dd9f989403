//! Errors of a sync of one ReplicaSet.

use controller_client::api::RequestError;
use rollout_model::ModelError;
use thiserror::Error;

use crate::claims::ClaimError;
use crate::sync_error::SyncError;

/// Why a sync failed. The ReplicaSet is synced again after a backoff.
#[derive(Debug, Error)]
pub enum ReplicaSetSyncError {
    /// What may end any sync.
    #[error(transparent)]
    Sync(#[from] SyncError),
    /// A live read shows that the ReplicaSet is being deleted or was replaced by another one.
    #[error("cannot adopt pods: {reason}")]
    NotAlive {
        /// The result of the live read.
        reason: String,
    },
    /// Pods could not be created or deleted. The status repeats this text.
    #[error("{0}")]
    Pods(String),
    /// An answer of the API server is not a valid object.
    #[error(transparent)]
    Model(#[from] ModelError),
}

impl From<RequestError> for ReplicaSetSyncError {
    fn from(error: RequestError) -> Self {
        Self::Sync(error.into())
    }
}

impl From<ClaimError> for ReplicaSetSyncError {
    fn from(error: ClaimError) -> Self {
        match error {
            ClaimError::NotAlive { reason } => Self::NotAlive { reason },
            ClaimError::Request(error) => error.into(),
        }
    }
}
