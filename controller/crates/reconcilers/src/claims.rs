//! Adopts and releases objects for an owner.
//!
//! Upstream: `ClaimObject` and `RecheckDeletionTimestamp`.

use std::collections::BTreeSet;

use controller_client::api::{ApiServer, RequestError, Resource, WriteResponse};
use rollout_model::Meta;
use serde_json::Value;

use crate::decisions::rollouts::OwnershipChange;

/// An owner, and the kind of the objects that it claims.
pub(crate) struct Claimant<'a> {
    pub(crate) api: &'a ApiServer,
    pub(crate) meta: &'a Meta,
    pub(crate) resource: Resource,
    /// The kind in owner references.
    pub(crate) kind: &'static str,
    /// The kind in messages.
    pub(crate) kind_text: &'static str,
    pub(crate) claimed: Resource,
    /// Records a write by the resourceVersion that the server returned.
    pub(crate) record_write: &'a (dyn Fn(&OwnershipChange, &str) + Sync),
}

/// Why a claim failed.
#[derive(Debug)]
pub(crate) enum ClaimError {
    /// A live read shows that the owner is being deleted or was replaced by another one, or it
    /// could not be read.
    NotAlive { reason: String },
    /// The request failed.
    Request(RequestError),
}

impl Claimant<'_> {
    /// Applies all claims, even if some fail. Returns the names of objects that were deleted before
    /// they were adopted.
    ///
    /// # Errors
    /// The first failure.
    pub(crate) async fn apply(&self, claims: &[OwnershipChange]) -> Result<BTreeSet<String>, ClaimError> {
        let (mut lost, mut result, mut alive) = (BTreeSet::new(), Ok(()), None);
        for claim in claims {
            let outcome = match claim {
                OwnershipChange::Adopt { name, .. } => {
                    if alive.is_none() {
                        alive = Some(self.confirm_alive().await);
                    }
                    match &alive {
                        Some(Err(reason)) => Err(ClaimError::NotAlive { reason: reason.clone() }),
                        _ => match self.patch(name, claim).await {
                            Err(error) if error.is_not_found() => {
                                lost.insert(name.clone());
                                Ok(())
                            }
                            other => other.map_err(ClaimError::Request),
                        },
                    }
                }
                OwnershipChange::Release { name, .. } => match self.patch(name, claim).await {
                    // Deleted, or not owned by this owner any more: nothing to release.
                    Err(error) if error.is_not_found() || error.is_invalid() => Ok(()),
                    other => other.map_err(ClaimError::Request),
                },
            };
            result = result.and(outcome);
        }
        result.map(|()| lost)
    }

    async fn patch(&self, name: &str, claim: &OwnershipChange) -> Result<(), RequestError> {
        let patch = claim.patch(self.kind, self.meta);
        let answer: WriteResponse = self.api.patch_as(self.claimed, &self.meta.namespace, name, &patch).await?;
        (self.record_write)(claim, &answer.metadata.resource_version);
        Ok(())
    }

    /// Reads the owner from the API server, so that one whose deletion the cache has not seen
    /// adopts nothing (issue 42639).
    async fn confirm_alive(&self) -> Result<(), String> {
        let Meta { namespace, name, uid: observed_uid, .. } = self.meta;
        let fresh = self.api.get(self.resource, namespace, name).await.map_err(|error| error.message())?;
        let text = |pointer| fresh.pointer(pointer).and_then(Value::as_str);
        let (uid, kind, path) = (text("/metadata/uid").unwrap_or_default(), self.kind_text, self.meta.path());
        if uid != observed_uid {
            return Err(format!("{kind} {path} has been recreated, with UID {uid}"));
        }
        match text("/metadata/deletionTimestamp") {
            Some(time) => Err(format!("{kind} {path} is being deleted since {time}")),
            None => Ok(()),
        }
    }
}
