//! Errors of a sync of one Deployment.

use controller_client::api::RequestError;
use thiserror::Error;

use crate::claims::ClaimError;
use crate::decisions::rollouts::deployment::PlanError;
use crate::sync_error::SyncError;

/// Why a plan was not applied completely. The Deployment is synced again after a backoff.
#[derive(Debug, Error)]
pub enum DeploymentSyncError {
    /// What may end any sync.
    #[error(transparent)]
    Sync(#[from] SyncError),
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
    /// The plan ends with an error.
    #[error(transparent)]
    DeploymentPlan(#[from] PlanError),
}

impl From<RequestError> for DeploymentSyncError {
    fn from(error: RequestError) -> Self {
        if error.is_namespace_terminating() { Self::NamespaceTerminating } else { Self::Sync(error.into()) }
    }
}

impl From<ClaimError> for DeploymentSyncError {
    fn from(error: ClaimError) -> Self {
        match error {
            ClaimError::NotAlive { reason } => Self::NotAlive { reason },
            ClaimError::Request(error) => error.into(),
        }
    }
}
