//! One watch of a live cluster, which goes on until it is dropped.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, ListParams, Request, WatchEvent, WatchParams};
use kube::core::GroupVersionKind;
use serde_json::Value;
use tokio::sync::mpsc::Sender;

use super::wish::Wish;
use crate::causes::chain_once;
use crate::clock;
use crate::cluster::{PAGES, TooMuch};
use crate::pointer::At;
use crate::recording::Change;

/// What a watch brings.
#[derive(Debug)]
pub(crate) enum News {
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
    /// Nothing new, but the watch goes on.
    Heard {
        /// Of which kind.
        kind: &'static str,
    },
    /// The server does not answer, or refuses; it is asked again.
    Lost {
        /// Of which kind.
        kind: &'static str,
        /// What it says.
        why: String,
    },
}

/// The kinds, their groups, and what their paths call them.
const KINDS: [(&str, &str, &str); 4] = [
    ("Deployment", "apps", "deployments"),
    ("ReplicaSet", "apps", "replicasets"),
    ("Pod", "", "pods"),
    ("Event", "", "events"),
];
/// Those of them that are watched everywhere.
const WORKLOADS: &[(&str, &str, &str)] = KINDS.split_at(3).0;
/// The server ends a watch after so many seconds, so that a connection that is dead without a word
/// is noticed.
const WATCH: u32 = 240;
/// How much longer that may take on its way.
const GRACE: Duration = Duration::from_secs(10);
/// How many objects are listed at once.
const PAGE: u32 = 500;
/// How long to wait before a watch is opened again.
const PAUSE: Duration = Duration::from_millis(500);

/// One watch to be.
pub(crate) struct Stream {
    kind: &'static str,
    api: Api<DynamicObject>,
    labels: Option<String>,
    fields: Option<String>,
    /// After how many seconds the server ends it.
    length: u32,
    /// What is taken out of each object as it comes.
    slim: Slim,
}

/// Takes out of an object of a kind what is of no use.
type Slim = fn(&str, &mut Value);

impl Stream {
    /// All that are needed for the Deployment of this selector.
    pub(super) fn all(client: &Client, wish: &Wish, selector: &str) -> Vec<Self> {
        let stream = |(kind, group, plural): (&'static str, &str, &str)| Self {
            kind,
            api: api(client, &wish.namespace, (kind, group, plural)),
            // A ReplicaSet whose labels are changed would look like one that was deleted; there are
            // few of them.
            labels: (kind == "Pod").then(|| selector.to_owned()),
            fields: (kind == "Deployment").then(|| format!("metadata.name={}", wish.deployment)),
            length: WATCH,
            slim: |_, _| {},
        };
        KINDS.into_iter().map(stream).collect()
    }

    /// All Deployments, ReplicaSets and pods of a namespace, or of all; each watch is opened anew
    /// after so many seconds.
    pub(crate) fn everywhere(client: &Client, namespace: Option<&str>, length: u32, slim: Slim) -> Vec<Self> {
        let stream = |kind: (&'static str, &str, &str)| Self {
            kind: kind.0,
            api: api_in(client, namespace, kind),
            labels: None,
            fields: None,
            length,
            slim,
        };
        WORKLOADS.iter().copied().map(stream).collect()
    }

    /// List, then watch, and so on for ever.
    pub(crate) async fn follow(self, to: Sender<News>) {
        let mut gap = None;
        loop {
            let (objects, from) = match self.list().await {
                Ok(listed) => listed,
                Err(why) => {
                    if to.send(News::Lost { kind: self.kind, why }).await.is_err() {
                        return;
                    }
                    clock::pause(PAUSE).await;
                    continue;
                }
            };
            let listed = News::Listed { kind: self.kind, objects, gap: gap.take() };
            if to.send(listed).await.is_err() {
                return;
            }
            gap = Some(self.watch(from, &to).await);
        }
    }

    async fn list(&self) -> Result<(Vec<Value>, String), String> {
        let mut params = ListParams {
            label_selector: self.labels.clone(),
            field_selector: self.fields.clone(),
            limit: Some(PAGE),
            ..ListParams::default()
        };
        let mut objects = Vec::new();
        for _ in 0..PAGES {
            let request = Request::new(self.api.resource_url()).list(&params).map_err(|error| error.to_string())?;
            let listed = self.api.clone().into_client().request(request).await;
            let mut list: Value = listed.map_err(|error| said(&error))?;
            let from = list.at("/metadata/resourceVersion").and_then(Value::as_str);
            let from = from.ok_or("a list without a version")?.to_owned();
            if let Some(Value::Array(mut items)) = list.get_mut("items").map(Value::take) {
                items.iter_mut().for_each(|item| (self.slim)(self.kind, item));
                objects.extend(items);
            }
            match list.at("/metadata/continue").and_then(Value::as_str).filter(|token| !token.is_empty()) {
                Some(token) => params.continue_token = Some(token.to_owned()),
                None => return Ok((objects, from)),
            }
        }
        Err(TooMuch::Pages.to_string())
    }

    /// Watch from a version on; returns why the server cannot go on from where this got to.
    async fn watch(&self, mut from: String, to: &Sender<News>) -> String {
        let params = WatchParams {
            label_selector: self.labels.clone(),
            field_selector: self.fields.clone(),
            ..WatchParams::default()
        };
        let params = params.timeout(self.length);
        loop {
            let request =
                Request::new(self.api.resource_url()).watch(&params, &from).expect("a time-out below 295 s is allowed");
            let stream = match self.api.clone().into_client().request_events::<Value>(request).await {
                Ok(stream) => stream,
                Err(kube::Error::Api(status)) if status.code == 410 => return status.message.clone(),
                Err(error) => {
                    if to.send(News::Lost { kind: self.kind, why: said(&error) }).await.is_err() {
                        return String::new();
                    }
                    clock::pause(PAUSE).await;
                    continue;
                }
            };
            if to.send(News::Heard { kind: self.kind }).await.is_err() {
                return String::new();
            }
            let mut stream = stream.boxed();
            let mut end = std::pin::pin!(clock::sleep(Duration::from_secs(self.length.into()) + GRACE));
            loop {
                let event = tokio::select! {
                    event = stream.try_next() => event,
                    () = &mut end => break,
                };
                let event = match event {
                    Ok(Some(event)) => event,
                    Ok(None) => break,
                    Err(error) => match TooMuch::of(&error) {
                        // A list may go on where the watch cannot.
                        Some(why) => return why.to_string(),
                        None => break,
                    },
                };
                let (change, mut object) = match event {
                    WatchEvent::Added(object) => (Change::Added, object),
                    WatchEvent::Modified(object) => (Change::Modified, object),
                    WatchEvent::Deleted(object) => (Change::Deleted, object),
                    WatchEvent::Bookmark(mark) => {
                        from = mark.metadata.resource_version;
                        if to.send(News::Heard { kind: self.kind }).await.is_err() {
                            return String::new();
                        }
                        continue;
                    }
                    WatchEvent::Error(status) if status.code == 410 => return status.message.clone(),
                    WatchEvent::Error(_) => break,
                };
                if let Some(version) = object.at("/metadata/resourceVersion").and_then(Value::as_str) {
                    version.clone_into(&mut from);
                }
                (self.slim)(self.kind, &mut object);
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
    let found = api(client, &wish.namespace, KINDS[0]).get_opt(&wish.deployment).await.map_err(|error| said(&error))?;
    Ok(found.map(|object| serde_json::to_value(object).unwrap_or_default()))
}

/// What this user may not do of what is needed to capture: `watch pods`.
pub(super) async fn missing_rights(client: &Client, wish: &Wish) -> Result<Vec<String>, String> {
    let (_, _, plural) = KINDS[0];
    let mut missing = match api(client, &wish.namespace, KINDS[0]).get_opt(&wish.deployment).await {
        Err(error) if is_refused(&error) => vec![format!("get {plural}")],
        Err(error) => return Err(said(&error)),
        Ok(_) => Vec::new(),
    };
    missing.extend(missing_of(client, Some(&wish.namespace), &KINDS).await?);
    Ok(missing)
}

/// The same of what is watched everywhere, in a namespace or in all.
pub(crate) async fn missing_workload_rights(client: &Client, namespace: Option<&str>) -> Result<Vec<String>, String> {
    missing_of(client, namespace, WORKLOADS).await
}

async fn missing_of(
    client: &Client,
    namespace: Option<&str>,
    kinds: &[(&'static str, &str, &str)],
) -> Result<Vec<String>, String> {
    let mut missing = Vec::new();
    for kind in kinds.iter().copied() {
        let (api, (_, _, plural)) = (api_in(client, namespace, kind), kind);
        match api.list(&ListParams::default().limit(1)).await {
            Ok(_) => {}
            Err(error) if is_refused(&error) => missing.push(format!("list {plural}")),
            Err(error) => return Err(said(&error)),
        }
        // A right to list is none to watch, and a watch that is refused each time would look like
        // one that brings nothing.
        let request = Request::new(api.resource_url()).watch(&WatchParams::default().timeout(1), "0");
        let request = request.expect("a time-out below 295 s is allowed");
        match api.into_client().request_events::<Value>(request).await {
            Err(error) if is_refused(&error) => missing.push(format!("watch {plural}")),
            _ => {}
        }
    }
    Ok(missing)
}

/// Whether the server refuses this to this user.
fn is_refused(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if matches!(status.code, 401 | 403))
}

/// What went wrong, in the server's words where it has some.
pub(crate) fn said(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => chain_once(other),
    }
}

fn api(client: &Client, namespace: &str, kind: (&str, &str, &str)) -> Api<DynamicObject> {
    api_in(client, Some(namespace), kind)
}

fn api_in(client: &Client, namespace: Option<&str>, (kind, group, plural): (&str, &str, &str)) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", kind), plural);
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}
