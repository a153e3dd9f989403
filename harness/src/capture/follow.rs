//! One watch of a live cluster, which goes on until it is dropped.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, ListParams, Request, WatchEvent, WatchParams};
use kube::core::GroupVersionKind;
use serde_json::Value;
use tokio::sync::mpsc::Sender;

use super::wish::Wish;
use crate::clock;
use crate::pointer::At;
use crate::recording::Change;

/// What a watch brings.
#[derive(Debug)]
pub(super) enum News {
    /// All that is there, at first and after a gap.
    Listed {
        /// Of which kind.
        kind: &'static str,
        /// The objects.
        objects: Vec<Value>,
        /// Why it had to be listed again, if it had.
        gap: Option<String>,
    },
    /// One version.
    Seen {
        /// Of which kind.
        kind: &'static str,
        /// What became of it.
        change: Change,
        /// The object.
        object: Value,
    },
}

/// The kinds, their groups, and what their paths call them.
const KINDS: [(&str, &str, &str); 4] = [
    ("Deployment", "apps", "deployments"),
    ("ReplicaSet", "apps", "replicasets"),
    ("Pod", "", "pods"),
    ("Event", "", "events"),
];
/// The server ends a watch after so many seconds, so that a connection that is dead without a word is noticed.
const WATCH: u32 = 240;
/// How long to wait before a watch is opened again.
const PAUSE: Duration = Duration::from_millis(500);

/// One watch to be.
pub(super) struct Stream {
    kind: &'static str,
    api: Api<DynamicObject>,
    labels: Option<String>,
    fields: Option<String>,
}

impl Stream {
    /// All that are needed for the Deployment of this selector.
    pub(super) fn all(client: &Client, wish: &Wish, selector: &str) -> Vec<Self> {
        let stream = |(kind, group, plural): (&'static str, &str, &str)| Self {
            kind,
            api: api(client, &wish.namespace, (kind, group, plural)),
            labels: matches!(kind, "ReplicaSet" | "Pod").then(|| selector.to_owned()),
            fields: (kind == "Deployment").then(|| format!("metadata.name={}", wish.deployment)),
        };
        KINDS.into_iter().map(stream).collect()
    }

    /// List, then watch, and so on for ever.
    pub(super) async fn follow(self, to: Sender<News>) {
        let mut gap = None;
        loop {
            let Some((objects, from)) = self.list().await else {
                clock::pause(PAUSE).await;
                continue;
            };
            let listed = News::Listed { kind: self.kind, objects, gap: gap.take() };
            if to.send(listed).await.is_err() {
                return;
            }
            gap = Some(self.watch(from, &to).await);
        }
    }

    async fn list(&self) -> Option<(Vec<Value>, String)> {
        let params = ListParams {
            label_selector: self.labels.clone(),
            field_selector: self.fields.clone(),
            ..ListParams::default()
        };
        let request = Request::new(self.api.resource_url()).list(&params).ok()?;
        let list: Value = self.api.clone().into_client().request(request).await.ok()?;
        let from = list.at("/metadata/resourceVersion")?.as_str()?.to_owned();
        Some((list.at("/items")?.as_array()?.clone(), from))
    }

    /// Watch from a version on; returns why the server cannot go on from where this got to.
    async fn watch(&self, mut from: String, to: &Sender<News>) -> String {
        let params = WatchParams {
            label_selector: self.labels.clone(),
            field_selector: self.fields.clone(),
            ..WatchParams::default()
        };
        let params = params.timeout(WATCH);
        loop {
            let request =
                Request::new(self.api.resource_url()).watch(&params, &from).expect("a time-out below 295 s is allowed");
            let stream = match self.api.clone().into_client().request_events::<Value>(request).await {
                Ok(stream) => stream,
                Err(kube::Error::Api(status)) if status.code == 410 => return status.message.clone(),
                Err(_) => {
                    clock::pause(PAUSE).await;
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
                        continue;
                    }
                    WatchEvent::Error(status) if status.code == 410 => return status.message.clone(),
                    WatchEvent::Error(_) => break,
                };
                if let Some(version) = object.at("/metadata/resourceVersion").and_then(Value::as_str) {
                    version.clone_into(&mut from);
                }
                if to.send(News::Seen { kind: self.kind, change, object }).await.is_err() {
                    return String::new();
                }
            }
            clock::pause(PAUSE).await;
        }
    }
}

/// The Deployment, if it is there.
pub(super) async fn deployment(client: &Client, wish: &Wish) -> Result<Option<Value>, String> {
    let found =
        api(client, &wish.namespace, KINDS[0]).get_opt(&wish.deployment).await.map_err(|error| error.to_string())?;
    Ok(found.map(|object| serde_json::to_value(object).unwrap_or_default()))
}

/// The kinds that this user may not list, by their plural names.
pub(super) async fn missing_rights(client: &Client, namespace: &str) -> Result<Vec<String>, String> {
    let mut missing = Vec::new();
    for kind in KINDS {
        match api(client, namespace, kind).list(&ListParams::default().limit(1)).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if matches!(status.code, 401 | 403) => missing.push(kind.2.to_owned()),
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(missing)
}

fn api(client: &Client, namespace: &str, (kind, group, plural): (&str, &str, &str)) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", kind), plural);
    Api::namespaced_with(client.clone(), namespace, &resource)
}
