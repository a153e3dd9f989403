//! What an operation may request from the driver that performs it, and what the requests consist
//! of.

use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;

use super::pods::{PodNaming, PodOperation, PodSelection};

/// An object by kind and name: `deployment/web`, `replicaset/rs2` (the Deployment's second
/// ReplicaSet by first appearance), `pod/rs2.1` (its first pod that is alive), `pod/a` (a pod that
/// the case has named).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Singular, lower case: `deployment`, `replicaset`, `configmap`, `secret`, `pod`.
    pub kind: String,
    /// As the case writes it: `web`, `rs2`, `rs2.1`.
    pub name: String,
}

/// The content type of a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PatchKind {
    /// `application/strategic-merge-patch+json`.
    #[default]
    Strategic,
    /// `application/merge-patch+json`.
    Merge,
    /// `application/json-patch+json`.
    Json,
}

/// What happens to the dependents of a deleted object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cascade {
    /// The garbage collector deletes them after it.
    #[default]
    Background,
    /// They are deleted before it.
    Foreground,
    /// They stay, without an owner.
    Orphan,
}

/// The future of an operation that is being performed.
pub type PerformFuture<'a> = BoxFuture<'a, Result<(), DriveError>>;

/// Why an operation could not be performed.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The API server, or a check of kubectl's, refused the operation.
    #[error("{0}")]
    Refused(String),
    /// The target does not exist: no such pod, no such revision.
    #[error("{0}")]
    Impossible(String),
    /// The cluster's node does not support the operation.
    #[error("{0}")]
    Environment(String),
    /// The API server failed.
    #[error("the API server failed: {0}")]
    Server(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// The requests and waits that operations consist of. The driver implements it for the namespace of
/// one case; operations know no client and no clock, so they stay pure.
pub trait Drive: Send + Sync {
    /// Applies a manifest as `kubectl apply` does, with or without `--server-side`.
    fn apply<'a>(&'a self, manifest: &'a Value, server_side: bool) -> PerformFuture<'a>;
    /// Patches an object as this field manager.
    fn patch<'a>(
        &'a self,
        target: &'a Target,
        kind: PatchKind,
        patch: &'a Value,
        manager: &'static str,
    ) -> PerformFuture<'a>;
    /// Deletes an object.
    fn delete<'a>(&'a self, target: &'a Target, cascade: Cascade) -> PerformFuture<'a>;
    /// Patches the scale subresource of an object.
    fn scale<'a>(&'a self, target: &'a Target, replicas: i32) -> PerformFuture<'a>;
    /// Reads the current Deployment from the server.
    fn deployment<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Value, DriveError>>;
    /// Reads the current ReplicaSets that a Deployment selects and controls.
    fn replica_sets<'a>(&'a self, deployment: &'a Value) -> BoxFuture<'a, Result<Vec<Value>, DriveError>>;
    /// Moves all of these pods at once.
    fn move_pods<'a>(&'a self, operation: PodOperation, pods: &'a PodSelection) -> PerformFuture<'a>;
    /// Names pods and sets their traits.
    fn name_pods<'a>(&'a self, naming: &'a PodNaming) -> PerformFuture<'a>;
    /// Lets this much time pass on the clock of the cluster.
    fn wait<'a>(&'a self, time: Duration) -> PerformFuture<'a>;
    /// The time until this long after the labelled step began.
    ///
    /// # Errors
    /// The moment has passed, or no such step was performed.
    fn time_until(&self, to: Duration, since: &str) -> Result<Duration, DriveError>;
    /// The time of day when the step began, as RFC 3339.
    fn now(&self) -> String;
}
