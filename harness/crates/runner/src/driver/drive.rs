//! The driver's interface for operations.

use std::time::Duration;

use futures::future::BoxFuture;
use lockstep_case::model::{
    Cascade, Drive, DriveError, PatchKind, PerformFuture, PodNaming, PodOperation, PodSelection, Target,
};
use lockstep_support::clock;
use serde_json::Value;

use super::Driver;
use crate::driver::drive_error;

impl Drive for Driver {
    fn apply<'a>(&'a self, manifest: &'a Value, server_side: bool) -> PerformFuture<'a> {
        Box::pin(self.apply(manifest, server_side))
    }

    fn patch<'a>(
        &'a self,
        target: &'a Target,
        kind: PatchKind,
        patch: &'a Value,
        manager: &'static str,
    ) -> PerformFuture<'a> {
        Box::pin(self.patch(target, kind, patch, manager))
    }

    fn delete<'a>(&'a self, target: &'a Target, cascade: Cascade) -> PerformFuture<'a> {
        Box::pin(self.delete(target, cascade))
    }

    fn scale<'a>(&'a self, target: &'a Target, replicas: i32) -> PerformFuture<'a> {
        Box::pin(self.scale(target, replicas))
    }

    fn deployment<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Value, DriveError>> {
        Box::pin(async move {
            let found = self.deployments().get(name).await.map_err(drive_error)?;
            serde_json::to_value(found).map_err(|error| DriveError::Server(error.into()))
        })
    }

    fn replica_sets<'a>(&'a self, deployment: &'a Value) -> BoxFuture<'a, Result<Vec<Value>, DriveError>> {
        Box::pin(self.replica_sets(deployment))
    }

    fn move_pods<'a>(&'a self, operation: PodOperation, pods: &'a PodSelection) -> PerformFuture<'a> {
        Box::pin(self.move_pods_together(operation, pods))
    }

    fn name_pods<'a>(&'a self, naming: &'a PodNaming) -> PerformFuture<'a> {
        Box::pin(self.name(naming))
    }

    fn wait<'a>(&'a self, time: Duration) -> PerformFuture<'a> {
        Box::pin(async move {
            clock::pause(time).await;
            Ok(())
        })
    }

    fn time_until(&self, to: Duration, since: &str) -> Result<Duration, DriveError> {
        self.until(to, since)
    }

    fn now(&self) -> String {
        self.time_of_day()
    }
}
