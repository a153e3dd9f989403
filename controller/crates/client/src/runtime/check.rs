//! The first request to an API server.

use super::error::RunError;
use crate::api::{ApiServer, Resource};

/// Checks that the API server answers and serves Deployments and ReplicaSets.
pub async fn check(api: &ApiServer) -> Result<(), RunError> {
    let served = match api.discover().await {
        Ok(served) => served,
        Err(kube::Error::Api(status)) if status.code == 404 => return Err(RunError::NotServed),
        Err(source @ kube::Error::Api(_)) => {
            return Err(RunError::Refused { source: Box::new(source) });
        }
        Err(source) => {
            return Err(RunError::Unreachable { source: Box::new(source) });
        }
    };
    let needed = [Resource::Deployments.plural(), Resource::ReplicaSets.plural()];
    if needed.iter().all(|plural| served.iter().any(|name| name == plural)) { Ok(()) } else { Err(RunError::NotServed) }
}
