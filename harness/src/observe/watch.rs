//! One watch a kind over the whole cluster, without a gap. A kind that a case brings is watched
//! from when it is served.
//!
//! A watch that the server closes is opened again at the last resourceVersion seen, so nothing is
//! lost. A watch that the server refuses to continue (410) may have lost events: that is said,
//! never papered over by listing again.
//!
//! A server sends no bookmarks for Events, which it does not cache: where none happens for ten
//! minutes it has forgotten the place at which the last watch stood. So a watch that has shown
//! nothing at all goes on from a list, if that proves that there was nothing to show.
//!
//! A server in this process is followed instead: the same events, without requests and text.

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use kube::api::{Api, ApiResource, DynamicObject, ListParams, Request, WatchEvent, WatchParams};
use kube::core::GroupVersionKind;
use kube_apiserver_sim::{ApiServer, What};
use serde_json::Value;
use tokio::task::JoinSet;

use super::bare::Bare;
use super::{Kind, ObserveError, World};
use crate::clock;
use crate::cluster::{PAGES, TooMuch};
use crate::pointer::At;
use crate::recording::Change;

/// The running watches; dropping it ends them.
#[derive(Debug)]
pub struct Watches {
    _tasks: JoinSet<()>,
}

/// Watch every kind that each server has from now on. Objects that exist already do not matter: the
/// harness makes its namespaces after this, so one object of a list is enough to learn where to
/// begin.
///
/// # Errors
/// When a first list fails.
pub async fn open(client: &kube::Client, world: &Arc<World>) -> Result<Watches, ObserveError> {
    open_those(client, world, Kind::ALL.into_iter().filter(|kind| kind.is_built_in())).await
}

/// Watch these kinds, too, which a case has brought.
///
/// # Errors
/// When a first list fails.
pub async fn open_those(
    client: &kube::Client,
    world: &Arc<World>,
    kinds: impl Iterator<Item = Kind>,
) -> Result<Watches, ObserveError> {
    let mut tasks = JoinSet::new();
    for kind in kinds {
        let resource = resource(kind);
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        let list = api.list(&ListParams::default().limit(1)).await;
        let list = list.map_err(|source| ObserveError::List { kind, source: Box::new(source) })?;
        let from = list.metadata.resource_version.clone().unwrap_or_default();
        world.progress(kind, from.parse().unwrap_or(0));
        let world = Arc::clone(world);
        tasks.spawn(async move { follow(&api, kind, from, &world).await });
    }
    Ok(Watches { _tasks: tasks })
}

/// Watch every kind that each server has in a server of this process, from now on: objects come as
/// values, and nothing is asked for.
pub fn open_inside(server: &ApiServer, world: &Arc<World>) -> Watches {
    let mut tasks = JoinSet::new();
    for kind in Kind::ALL.into_iter().filter(|kind| kind.is_built_in()) {
        world.progress(kind, server.resource_version());
        let ApiResource { plural, group, .. } = resource(kind);
        let resource = if group.is_empty() { plural } else { format!("{plural}.{group}") };
        let mut changes = server.follow(&resource).expect("each server has the built-in kinds");
        let world = Arc::clone(world);
        tasks.spawn(async move {
            while let Some(seen) = changes.next().await {
                let change = match seen.what {
                    What::Added => Change::Added,
                    What::Modified => Change::Modified,
                    What::Deleted => Change::Deleted,
                };
                world.deliver_with_text(kind, change, seen.object, Some(seen.text));
            }
            world.lose(format!("the server has forgotten changes of {kind}s before they were seen"));
        });
    }
    Watches { _tasks: tasks }
}

/// The API resource behind a kind.
pub(super) fn resource(kind: Kind) -> ApiResource {
    let (group, version) = match kind {
        Kind::Deployment | Kind::ReplicaSet | Kind::StatefulSet | Kind::DaemonSet => ("apps", "v1"),
        Kind::CronJob | Kind::Job => ("batch", "v1"),
        Kind::Pod | Kind::Event => ("", "v1"),
        Kind::Rollout => ("argoproj.io", "v1alpha1"),
    };
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &kind.to_string()))
}

async fn follow(api: &Api<DynamicObject>, kind: Kind, mut from: String, world: &World) {
    let client = api.clone().into_client();
    let params = WatchParams::default().timeout(290);
    loop {
        let began = from.clone();
        let request = Request::new(api.resource_url()).watch(&params, &from).expect("a time-out of 290 s is allowed");
        // Otherwise objects stay as they came: a recording holds them whole.
        let stream = match client.request_events::<Bare>(request).await {
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
        loop {
            let event = match stream.try_next().await {
                Ok(Some(event)) => event,
                Ok(None) => break,
                Err(error) => match TooMuch::of(&error) {
                    Some(why) => return world.lose(format!("the watch of {kind}s was cut off at {from}: {why}")),
                    None => break,
                },
            };
            let (change, Bare(object)) = match event {
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
        if from == began
            && let Some(later) = nothing_since(api, &from).await
        {
            from = later;
            world.progress(kind, from.parse().unwrap_or(0));
        }
    }
}

/// The latest version among these; 0 if there are none.
pub(super) fn newest(objects: &[DynamicObject]) -> u64 {
    let versions = objects.iter().filter_map(|object| object.metadata.resource_version.as_ref()?.parse().ok());
    versions.max().unwrap_or(0)
}

/// A later place from which a watch may go on, as nothing that is there now is newer than this one;
/// `None` if something is, or if it cannot be said. What came and went in between is not known of;
/// an Event stays for an hour.
async fn nothing_since(api: &Api<DynamicObject>, from: &str) -> Option<String> {
    let from: u64 = from.parse().ok()?;
    let mut page = ListParams::default().limit(500);
    for _ in 0..PAGES {
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

#[cfg(test)]
mod tests {
    use kube::api::PostParams;
    use rstest::rstest;
    use serde_json::json;

    use super::super::pulse::template;
    use super::*;
    use kube_apiserver_sim::Controllers;

    const ALMOST_FIVE_MINUTES: Duration = Duration::from_secs(280);

    /// Its version.
    async fn write(client: &kube::Client, kind: Kind, number: u32) -> u64 {
        let name = format!("x{number}");
        let object = match kind {
            Kind::Event => json!({"metadata": {"name": name}, "type": "Normal", "reason": "r", "message": "m",
                "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"}}),
            _ => json!({"metadata": {"name": name},
                "spec": {"selector": {"matchLabels": {"app": name}}, "template": template(&name)}}),
        };
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &resource(kind));
        let made = api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
        made.metadata.resource_version.unwrap().parse().unwrap()
    }

    /// A server forgets what is five to ten minutes old. In an hour of ReplicaSets a watch of
    /// Events is told nothing, not even its place; and where one of them happens now and then, it
    /// is shown.
    #[rstest]
    #[case::none(&[])]
    #[case::at_first(&[0])]
    #[case::now_and_then(&[3, 4, 9])]
    #[tokio::test(start_paused = true)]
    async fn a_watch_outlives_silence(#[case] events: &[u32]) {
        let server = ApiServer::builder().controllers(Controllers::Off).build();
        let (client, world) = (server.client(), Arc::new(World::default()));
        world.follow("default");
        let watches = open(&client, &world).await.unwrap();
        for number in 0..12 {
            if events.contains(&number) {
                write(&client, Kind::Event, number).await;
            }
            clock::sleep(ALMOST_FIVE_MINUTES).await;
            server.forget(write(&client, Kind::ReplicaSet, number).await - 3);
        }
        clock::sleep(ALMOST_FIVE_MINUTES).await;
        assert_eq!(world.gap(), None);
        assert_eq!(world.list(Kind::ReplicaSet, "default").len(), 12);
        assert_eq!(world.list(Kind::Event, "default").len(), events.len());
        drop(watches);
    }
}
