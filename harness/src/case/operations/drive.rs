//! What an operation may ask of the driver that performs it.

use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;

use crate::case::model::{Cascade, Naming, PatchKind, PodOperation, Pods, Target};

/// An operation on its way.
pub type Performing<'a> = BoxFuture<'a, Result<(), DriveError>>;

/// Why a step could not be made.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The API server or kubectl's own rules refused the operation.
    #[error("{0}")]
    Refused(String),
    /// There is nothing to do it to: no such pod, no such revision.
    #[error("{0}")]
    Impossible(String),
    /// The cluster's node cannot do it.
    #[error("{0}")]
    Environment(String),
    /// The API server did not answer as a server does.
    #[error("the API server failed: {0}")]
    Server(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// The requests and waits that operations are made of. The driver implements it for the namespace
/// of one case; this side knows no client and no clock, which is what keeps an operation's file
/// pure.
pub trait Drive: Send + Sync {
    /// Apply a manifest as `kubectl apply` does, with or without `--server-side`.
    fn apply<'a>(&'a self, manifest: &'a Value, server_side: bool) -> Performing<'a>;
    /// Patch an object, as this field manager.
    fn patch<'a>(
        &'a self,
        target: &'a Target,
        kind: PatchKind,
        patch: &'a Value,
        manager: &'static str,
    ) -> Performing<'a>;
    /// Delete an object.
    fn delete<'a>(&'a self, target: &'a Target, cascade: Cascade) -> Performing<'a>;
    /// Patch an object's scale subresource.
    fn scale<'a>(&'a self, target: &'a Target, replicas: i32) -> Performing<'a>;
    /// A Deployment as it is on the server now.
    fn deployment<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Value, DriveError>>;
    /// The ReplicaSets that a Deployment selects and controls, as they are on the server now.
    fn replica_sets<'a>(&'a self, deployment: &'a Value) -> BoxFuture<'a, Result<Vec<Value>, DriveError>>;
    /// Move all of these pods at once.
    fn move_pods<'a>(&'a self, operation: PodOperation, pods: &'a Pods) -> Performing<'a>;
    /// Give pods names and traits.
    fn name_pods<'a>(&'a self, naming: &'a Naming) -> Performing<'a>;
    /// Let time pass.
    fn wait<'a>(&'a self, time: Duration) -> Performing<'a>;
    /// The time that is left until so long after the step with this label began.
    ///
    /// # Errors
    /// That moment is gone, or no such step was made.
    fn until(&self, to: Duration, since: &str) -> Result<Duration, DriveError>;
    /// The time of day when the step began, as RFC 3339 has it.
    fn now(&self) -> String;
}
