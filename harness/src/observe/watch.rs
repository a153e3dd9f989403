//! One watch a kind over the whole cluster, without a gap.
//!
//! A watch that the server closes is opened again at the last resourceVersion seen, so nothing is lost. A
//! watch that the server refuses to continue (410) may have lost events: that is said, never papered over by
//! listing again.

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use kube::Resource as _;
use kube::api::{Api, ApiResource, DynamicObject, ListParams, Request, WatchEvent, WatchParams};
use kube::core::GroupVersionKind;
use serde_json::Value;
use tokio::task::JoinSet;

use super::{Kind, ObserveError, World};
use crate::clock;
use crate::pointer::At;
use crate::recording::Change;

/// The running watches; dropping it ends them.
#[derive(Debug)]
pub struct Watches {
    _tasks: JoinSet<()>,
}

/// Watch every kind from now on. What is there already is nobody's concern: the harness makes its namespaces after this, so one
/// object of a list is enough to learn where to begin.
///
/// # Errors
/// When a first list fails.
pub async fn open(client: &kube::Client, world: &Arc<World>) -> Result<Watches, ObserveError> {
    let mut tasks = JoinSet::new();
    for kind in Kind::ALL {
        let resource = resource(kind);
        let path = DynamicObject::url_path(&resource, None);
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        let list = api.list(&ListParams::default().limit(1)).await;
        let list = list.map_err(|source| ObserveError::List { kind, source: Box::new(source) })?;
        let from = list.metadata.resource_version.clone().unwrap_or_default();
        world.progress(kind, from.parse().unwrap_or(0));
        let (client, world) = (client.clone(), Arc::clone(world));
        tasks.spawn(async move { follow(&client, &path, kind, from, &world).await });
    }
    Ok(Watches { _tasks: tasks })
}

/// The API resource behind a kind.
pub(super) fn resource(kind: Kind) -> ApiResource {
    let group = match kind {
        Kind::Deployment | Kind::ReplicaSet | Kind::StatefulSet | Kind::DaemonSet => "apps",
        Kind::Pod | Kind::Event => "",
    };
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", &kind.to_string()))
}

async fn follow(client: &kube::Client, path: &str, kind: Kind, mut from: String, world: &World) {
    let params = WatchParams::default().timeout(290);
    loop {
        let request = Request::new(path).watch(&params, &from).expect("a time-out of 290 s is allowed");
        // Objects stay as they came: a recording holds them whole.
        let stream = match client.request_events::<Value>(request).await {
            Ok(stream) => stream,
            Err(kube::Error::Api(status)) if status.code == 410 => {
                return world.lose(format!("the watch of {kind}s could not go on from {from}: {status}"));
            }
            Err(error) => {
                tracing::debug!(%kind, %error, "watch not opened; trying again");
                clock::pause(Duration::from_millis(50)).await;
                continue;
            }
        };
        let mut stream = stream.boxed();
        while let Ok(Some(event)) = stream.try_next().await {
            let (change, object) = match event {
                WatchEvent::Added(object) => (Change::Added, object),
                WatchEvent::Modified(object) => (Change::Modified, object),
                WatchEvent::Deleted(object) => (Change::Deleted, object),
                WatchEvent::Bookmark(mark) => {
                    from = mark.metadata.resource_version;
                    world.progress(kind, from.parse().unwrap_or(0));
                    continue;
                }
                WatchEvent::Error(status) if status.code == 410 => {
                    return world.lose(format!("the watch of {kind}s was cut off at {from}: {status}"));
                }
                WatchEvent::Error(status) => {
                    tracing::debug!(%kind, %status, "watch ended; opening it again");
                    clock::pause(Duration::from_millis(50)).await;
                    break;
                }
            };
            if let Some(version) = object.at("/metadata/resourceVersion").and_then(Value::as_str) {
                version.clone_into(&mut from);
            }
            world.deliver(kind, change, object);
        }
    }
}
