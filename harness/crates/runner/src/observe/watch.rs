//! One watch for each kind over the whole cluster, without gaps. A kind that a case brings is
//! watched from the time it is served.
//!
//! A watch that the server closes is opened again at the last resourceVersion, so nothing is lost.
//! A watch that the server refuses to continue (410) may have lost events, which is recorded as a
//! gap, and not hidden by listing again.
//!
//! A server sends no bookmarks for Events, which it does not cache: if none happens for ten
//! minutes, the server has forgotten the version at which the last watch stood. So a watch that has
//! delivered nothing at all continues from a list, if the list proves that there was nothing to
//! deliver.
//!
//! A server in this process is followed without requests and serialisation, with the same events.

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use kube::api::{Api, ApiResource, DynamicObject, ListParams, Request, WatchEvent, WatchParams};
use kube::core::GroupVersionKind;
use kube_apiserver_sim::{ApiServer, EventType};
use lockstep_cluster::{MAX_PAGES, ResponseTooLarge};
use lockstep_recording::ChangeType;
use lockstep_support::clock;
use lockstep_support::pointer::JsonPointer;
use serde_json::Value;
use tokio::task::JoinSet;

use super::object::StrippedObject;
use super::{ObserveError, WatchCache, WatchedKind};

/// The running watches, which end when this is dropped.
#[derive(Debug)]
pub(crate) struct WatchTasks {
    _tasks: JoinSet<()>,
}

/// Watch every kind that all servers have. Existing objects do not matter: the harness creates its
/// namespaces after this, so a list of one object suffices to learn the current version.
///
/// # Errors
/// A first list fails.
pub(crate) async fn open(client: &kube::Client, cache: &Arc<WatchCache>) -> Result<WatchTasks, ObserveError> {
    open_kinds(client, cache, WatchedKind::ALL.into_iter().filter(|kind| kind.is_built_in())).await
}

/// Also watch these kinds, which a case has brought.
///
/// # Errors
/// A first list fails.
pub(crate) async fn open_kinds(
    client: &kube::Client,
    cache: &Arc<WatchCache>,
    kinds: impl Iterator<Item = WatchedKind>,
) -> Result<WatchTasks, ObserveError> {
    let mut tasks = JoinSet::new();
    for kind in kinds {
        let resource = resource(kind);
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        let list = api.list(&ListParams::default().limit(1)).await;
        let list = list.map_err(|source| ObserveError::List { kind, source: Box::new(source) })?;
        let from = list.metadata.resource_version.clone().unwrap_or_default();
        cache.progress(kind, from.parse().unwrap_or(0));
        let cache = Arc::clone(cache);
        tasks.spawn(async move { follow(&api, kind, from, &cache).await });
    }
    Ok(WatchTasks { _tasks: tasks })
}

/// Watch every kind that all servers have in a server of this process: objects come as values, and
/// no request is sent.
pub(crate) fn open_in_process(server: &ApiServer, cache: &Arc<WatchCache>) -> WatchTasks {
    let mut tasks = JoinSet::new();
    for kind in WatchedKind::ALL.into_iter().filter(|kind| kind.is_built_in()) {
        cache.progress(kind, server.resource_version());
        let ApiResource { plural, group, .. } = resource(kind);
        let resource = if group.is_empty() { plural } else { format!("{plural}.{group}") };
        let mut changes = server.follow(&resource).expect("each server has the built-in kinds");
        let cache = Arc::clone(cache);
        tasks.spawn(async move {
            while let Some(seen) = changes.next().await {
                let change = match seen.event_type {
                    EventType::Added => ChangeType::Added,
                    EventType::Modified => ChangeType::Modified,
                    EventType::Deleted => ChangeType::Deleted,
                };
                cache.deliver_with_text(kind, change, seen.object, Some(seen.text));
            }
            cache.record_gap(format!("the server has forgotten changes of {kind}s before they were seen"));
        });
    }
    WatchTasks { _tasks: tasks }
}

pub(super) fn resource(kind: WatchedKind) -> ApiResource {
    let (group, version) = match kind {
        WatchedKind::Deployment | WatchedKind::ReplicaSet | WatchedKind::StatefulSet | WatchedKind::DaemonSet => {
            ("apps", "v1")
        }
        WatchedKind::CronJob | WatchedKind::Job => ("batch", "v1"),
        WatchedKind::Pod | WatchedKind::Event => ("", "v1"),
        WatchedKind::Rollout => ("argoproj.io", "v1alpha1"),
    };
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &kind.to_string()))
}

async fn follow(api: &Api<DynamicObject>, kind: WatchedKind, mut from: String, cache: &WatchCache) {
    let client = api.clone().into_client();
    let params = WatchParams::default().timeout(290);
    loop {
        let began = from.clone();
        let request = Request::new(api.resource_url()).watch(&params, &from).expect("a time-out of 290 s is allowed");
        // Otherwise objects stay as they are: a recording contains them whole.
        let stream = match client.request_events::<StrippedObject>(request).await {
            Ok(stream) => stream,
            Err(kube::Error::Api(status)) if status.code == 410 => {
                return cache.record_gap(format!("the watch of {kind}s could not go on from {from}: {status}"));
            }
            Err(error) => {
                tracing::debug!(%kind, %error, "watch not opened; trying again");
                clock::pause(Duration::from_millis(50)).await;
                continue;
            }
        };
        let mut stream = stream.boxed();
        loop {
            let event = match stream.try_next().await {
                Ok(Some(event)) => event,
                Ok(None) => break,
                Err(error) => match ResponseTooLarge::find(&error) {
                    Some(why) => return cache.record_gap(format!("the watch of {kind}s was cut off at {from}: {why}")),
                    None => {
                        tracing::debug!(%kind, %error, "watch broken off; opening it again");
                        break;
                    }
                },
            };
            let (change, StrippedObject(object)) = match event {
                WatchEvent::Added(object) => (ChangeType::Added, object),
                WatchEvent::Modified(object) => (ChangeType::Modified, object),
                WatchEvent::Deleted(object) => (ChangeType::Deleted, object),
                WatchEvent::Bookmark(mark) => {
                    from = mark.metadata.resource_version;
                    cache.progress(kind, from.parse().unwrap_or(0));
                    continue;
                }
                WatchEvent::Error(status) if status.code == 410 => {
                    return cache.record_gap(format!("the watch of {kind}s was cut off at {from}: {status}"));
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
            cache.deliver(kind, change, object);
        }
        if from != began {
            continue;
        }
        // An event that cannot be read would come again at once.
        clock::pause(Duration::from_millis(50)).await;
        if let Some(later) = nothing_since(api, &from).await {
            from = later;
            cache.progress(kind, from.parse().unwrap_or(0));
        }
    }
}

/// The latest version among these; 0 if there are none.
pub(super) fn newest(objects: &[DynamicObject]) -> u64 {
    let versions = objects.iter().filter_map(|object| object.metadata.resource_version.as_ref()?.parse().ok());
    versions.max().unwrap_or(0)
}

/// A later version from which a watch may continue, if no current object is newer than `from`;
/// `None` if one is, or if that cannot be determined. Objects that were created and deleted in
/// between go unnoticed; an Event stays for an hour.
async fn nothing_since(api: &Api<DynamicObject>, from: &str) -> Option<String> {
    let from: u64 = from.parse().ok()?;
    let mut page = ListParams::default().limit(500);
    for _ in 0..MAX_PAGES {
        let list = api.list(&page).await.ok()?;
        if newest(&list.items) > from {
            return None;
        }
        match list.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page = page.continue_token(&token),
            None => return list.metadata.resource_version,
        }
    }
    None
}

/// Wait until the watches have delivered the Deployments and ReplicaSets of a namespace as the
/// server has them now, or newer. Returns whether they did within the budget.
///
/// # Errors
/// The server cannot be read.
pub(crate) async fn catch_up(
    cache: &WatchCache,
    client: &kube::Client,
    namespace: &str,
    budget: Duration,
) -> Result<bool, kube::Error> {
    for kind in [WatchedKind::Deployment, WatchedKind::ReplicaSet] {
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource(kind));
        let list = api.list(&ListParams::default()).await?;
        let latest = newest(&list.items);
        if !cache.until(budget, || cache.gap().is_some() || cache.has_seen(kind, latest)).await {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use kube::api::PostParams;
    use kube_apiserver_sim::ControllerMode;
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::observe::pulse::template;

    const ALMOST_FIVE_MINUTES: Duration = Duration::from_secs(280);

    /// Create an object; returns its version.
    async fn write(client: &kube::Client, kind: WatchedKind, number: u32) -> u64 {
        let name = format!("x{number}");
        let object = match kind {
            WatchedKind::Event => json!({"metadata": {"name": name}, "type": "Normal", "reason": "r", "message": "m",
                "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"}}),
            _ => json!({"metadata": {"name": name},
                "spec": {"selector": {"matchLabels": {"app": name}}, "template": template(&name)}}),
        };
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &resource(kind));
        let made = api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
        made.metadata.resource_version.unwrap().parse().unwrap()
    }

    /// A server forgets versions after five to ten minutes. During an hour of changes to
    /// ReplicaSets a watch of Events receives nothing, not even bookmarks; Events that happen now
    /// and then are delivered.
    #[rstest]
    #[case::none(&[])]
    #[case::at_first(&[0])]
    #[case::now_and_then(&[3, 4, 9])]
    #[tokio::test(start_paused = true)]
    async fn watch_without_events_survives_compaction(#[case] events: &[u32]) {
        let server = ApiServer::builder().controllers(ControllerMode::Off).build();
        let (client, cache) = (server.client(), Arc::new(WatchCache::default()));
        cache.follow("default");
        let watches = open(&client, &cache).await.unwrap();
        for number in 0..12 {
            if events.contains(&number) {
                write(&client, WatchedKind::Event, number).await;
            }
            clock::sleep(ALMOST_FIVE_MINUTES).await;
            server.forget(write(&client, WatchedKind::ReplicaSet, number).await - 3);
        }
        clock::sleep(ALMOST_FIVE_MINUTES).await;
        assert_eq!(cache.gap(), None);
        assert_eq!(cache.list(WatchedKind::ReplicaSet, "default").len(), 12);
        assert_eq!(cache.list(WatchedKind::Event, "default").len(), events.len());
        drop(watches);
    }
}
