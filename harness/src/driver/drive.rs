//! The driver as operations see it.

use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;

use super::Driver;
use crate::case::model::{Cascade, Drive, DriveError, Naming, PatchKind, Performing, PodOperation, Pods, Target};
use crate::clock;
use crate::observe::Kind;

impl Drive for Driver {
    fn apply<'a>(&'a self, manifest: &'a Value) -> Performing<'a> {
        Box::pin(self.apply(manifest))
    }

    fn patch<'a>(&'a self, target: &'a Target, kind: PatchKind, patch: &'a Value) -> Performing<'a> {
        Box::pin(self.patch(target, kind, patch))
    }

    fn delete<'a>(&'a self, target: &'a Target, cascade: Cascade) -> Performing<'a> {
        Box::pin(self.delete(target, cascade))
    }

    fn scale<'a>(&'a self, target: &'a Target, replicas: i32) -> Performing<'a> {
        Box::pin(self.scale(target, replicas))
    }

    fn deployment<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Value, DriveError>> {
        Box::pin(async move {
            let found = self.deployments().get(name).await?;
            serde_json::to_value(found).map_err(|error| DriveError::Server(error.into()))
        })
    }

    fn change<'a>(&'a self, deployment: &'a str, patch: Value) -> Performing<'a> {
        Box::pin(self.strategic(deployment, patch))
    }

    fn replica_sets_of(&self, uid: Option<&str>) -> Vec<Value> {
        let sets = self.world.list(Kind::ReplicaSet, &self.namespace).into_iter();
        sets.filter(|set| set.owner() == uid).map(|set| Value::clone(&set.value)).collect()
    }

    fn move_pods<'a>(&'a self, operation: PodOperation, pods: &'a Pods) -> Performing<'a> {
        Box::pin(self.pods(operation, pods))
    }

    fn name_pods<'a>(&'a self, naming: &'a Naming) -> Performing<'a> {
        Box::pin(self.name(naming))
    }

    fn wait<'a>(&'a self, time: Duration) -> Performing<'a> {
        Box::pin(async move {
            clock::pause(time).await;
            Ok(())
        })
    }

    fn until(&self, to: Duration, since: &str) -> Result<Duration, DriveError> {
        self.until(to, since)
    }

    fn now(&self) -> String {
        clock::rfc3339()
    }
}
