//! One watch of a live cluster, which continues until it is dropped.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, ListParams, Request, WatchEvent, WatchParams};
use kube::core::GroupVersionKind;
use lockstep_cluster::error_chain::chain_once;
use lockstep_cluster::{MAX_PAGES, ResponseTooLarge};
use lockstep_recording::ChangeType;
use lockstep_support::clock;
use lockstep_support::pointer::JsonPointer;
use serde_json::Value;
use tokio::sync::mpsc::Sender;

#[derive(Debug)]
pub(crate) enum WatchUpdate {
    /// All existing objects, at first and after a gap.
    Listed {
        kind: &'static str,
        objects: Vec<Value>,
        /// Why the objects had to be listed again, if so.
        gap: Option<String>,
    },
    Version {
        kind: &'static str,
        /// What happened to the object.
        change: ChangeType,
        object: Value,
    },
    /// The watch is open. Versions from before may still be on their way.
    Opened {
        kind: &'static str,
        /// The seconds after which the server ends it.
        length: u32,
    },
    /// Everything until now has arrived: the server has sent a bookmark, or has ended the watch
    /// when its time was over.
    Alive { kind: &'static str },
    /// The server does not answer, or refuses; the request is repeated.
    Lost { kind: &'static str, why: String },
}

/// The kinds, their groups, and their plurals.
const KINDS: [(&str, &str, &str); 4] = [
    ("Deployment", "apps", "deployments"),
    ("ReplicaSet", "apps", "replicasets"),
    ("Pod", "", "pods"),
    ("Event", "", "events"),
];
/// The kinds that are watched in all namespaces.
const WORKLOADS: &[(&str, &str, &str)] = KINDS.split_at(3).0;
/// The seconds after which the server ends a watch, so that a dead connection is noticed.
const WATCH: u32 = 240;
/// How much longer the end of a watch may take to arrive.
const GRACE: Duration = Duration::from_secs(10);
/// The number of objects in a page of a list.
const PAGE: u32 = 500;
/// The pause before a watch is opened again.
const PAUSE: Duration = Duration::from_millis(500);

pub(crate) struct LiveWatch {
    kind: &'static str,
    api: Api<DynamicObject>,
    labels: Option<String>,
    fields: Option<String>,
    /// The seconds after which the server ends it.
    length: u32,
    /// Removes the unused parts of each object as it arrives.
    slim: ObjectTrimmer,
}

/// Removes the unused parts of an object of this kind.
type ObjectTrimmer = fn(&str, &mut Value);

impl LiveWatch {
    /// All watches that are needed for the Deployment with this selector.
    pub(super) fn all(client: &Client, options: &CaptureOptions, selector: &str) -> Vec<Self> {
        let stream = |(kind, group, plural): (&'static str, &str, &str)| Self {
            kind,
            api: api(client, &options.namespace, (kind, group, plural)),
            // A ReplicaSet whose labels change would look deleted; there are few of them.
            labels: (kind == "Pod").then(|| selector.to_owned()),
            fields: (kind == "Deployment").then(|| format!("metadata.name={}", options.deployment)),
            length: WATCH,
            slim: |_, _| {},
        };
        KINDS.into_iter().map(stream).collect()
    }

    /// Watches of all Deployments, ReplicaSets and pods, in a namespace or in all; each is opened
    /// again after this many seconds.
    pub(crate) fn everywhere(client: &Client, namespace: Option<&str>, length: u32, slim: ObjectTrimmer) -> Vec<Self> {
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

    /// List, then watch, and repeat without end.
    pub(crate) async fn follow(self, to: Sender<WatchUpdate>) {
        let mut gap = None;
        loop {
            let (objects, from) = match self.list().await {
                Ok(listed) => listed,
                Err(why) => {
                    if to.send(WatchUpdate::Lost { kind: self.kind, why }).await.is_err() {
                        return;
                    }
                    clock::pause(PAUSE).await;
                    continue;
                }
            };
            let listed = WatchUpdate::Listed { kind: self.kind, objects, gap: gap.take() };
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
        for _ in 0..MAX_PAGES {
            let request = Request::new(self.api.resource_url()).list(&params).map_err(|error| error.to_string())?;
            let listed = self.api.clone().into_client().request(request).await;
            let mut list: Value = listed.map_err(|error| error_message(&error))?;
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
        Err(ResponseTooLarge::Pages.to_string())
    }

    /// Watch from a version on; returns why the server cannot continue from the last version.
    async fn watch(&self, mut from: String, to: &Sender<WatchUpdate>) -> String {
        let params = WatchParams {
            label_selector: self.labels.clone(),
            field_selector: self.fields.clone(),
            ..WatchParams::default()
        };
        let mut length = self.length;
        loop {
            let params = params.clone().timeout(length);
            let request =
                Request::new(self.api.resource_url()).watch(&params, &from).expect("a time-out below 295 s is allowed");
            let sent = clock::instant();
            let stream = match self.api.clone().into_client().request_events::<Value>(request).await {
                Ok(stream) => stream,
                Err(kube::Error::Api(status)) if status.code == 410 => return status.message.clone(),
                Err(error) => {
                    if to.send(WatchUpdate::Lost { kind: self.kind, why: error_message(&error) }).await.is_err() {
                        return String::new();
                    }
                    clock::pause(PAUSE).await;
                    continue;
                }
            };
            if to.send(WatchUpdate::Opened { kind: self.kind, length }).await.is_err() {
                return String::new();
            }
            let mut stream = stream.boxed();
            let time = Duration::from_secs(length.into());
            let mut end = std::pin::pin!(clock::sleep(time + GRACE));
            let mut is_whole = false;
            loop {
                let event = tokio::select! {
                    event = stream.try_next() => event,
                    () = &mut end => break,
                };
                let event = match event {
                    Ok(Some(event)) => event,
                    // Some connections that break look like this as well.
                    Ok(None) => {
                        is_whole = sent.elapsed() >= time;
                        break;
                    }
                    Err(error) => match ResponseTooLarge::find(&error) {
                        // A list may succeed where the watch cannot.
                        Some(why) => return why.to_string(),
                        None => break,
                    },
                };
                let (change, mut object) = match event {
                    WatchEvent::Added(object) => (ChangeType::Added, object),
                    WatchEvent::Modified(object) => (ChangeType::Modified, object),
                    WatchEvent::Deleted(object) => (ChangeType::Deleted, object),
                    WatchEvent::Bookmark(mark) => {
                        from = mark.metadata.resource_version;
                        if to.send(WatchUpdate::Alive { kind: self.kind }).await.is_err() {
                            return String::new();
                        }
                        continue;
                    }
                    WatchEvent::Error(status) if status.code == 410 => return status.message.clone(),
                    WatchEvent::Error(status) => {
                        let why = status.message.clone();
                        if to.send(WatchUpdate::Lost { kind: self.kind, why }).await.is_err() {
                            return String::new();
                        }
                        break;
                    }
                };
                if let Some(version) = object.at("/metadata/resourceVersion").and_then(Value::as_str) {
                    version.clone_into(&mut from);
                }
                (self.slim)(self.kind, &mut object);
                if to.send(WatchUpdate::Version { kind: self.kind, change, object }).await.is_err() {
                    return String::new();
                }
            }
            if is_whole && to.send(WatchUpdate::Alive { kind: self.kind }).await.is_err() {
                return String::new();
            }
            // Where something ends watches before their time, shorter ones show that nothing is
            // missing.
            length = if is_whole { self.length.min(length * 2) } else { (length / 2).max(1) };
            clock::pause(PAUSE).await;
        }
    }
}

/// The Deployment, if it exists.
pub(super) async fn deployment(client: &Client, options: &CaptureOptions) -> Result<Option<Value>, String> {
    let found = api(client, &options.namespace, KINDS[0])
        .get_opt(&options.deployment)
        .await
        .map_err(|error| error_message(&error))?;
    Ok(found.map(|object| serde_json::to_value(object).unwrap_or_default()))
}

/// The permissions for a capture that this user lacks: `watch pods`.
pub(super) async fn missing_rights(client: &Client, options: &CaptureOptions) -> Result<Vec<String>, String> {
    let (_, _, plural) = KINDS[0];
    let mut missing = match api(client, &options.namespace, KINDS[0]).get_opt(&options.deployment).await {
        Err(error) if is_refused(&error) => vec![format!("get {plural}")],
        Err(error) => return Err(error_message(&error)),
        Ok(_) => Vec::new(),
    };
    missing.extend(missing_of(client, Some(&options.namespace), &KINDS).await?);
    Ok(missing)
}

/// The permissions for watching workloads that this user lacks, in a namespace or in all.
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
            Err(error) => return Err(error_message(&error)),
        }
        // A permission to list does not imply one to watch, and a watch that is refused each time
        // would look like one without events.
        let request = Request::new(api.resource_url()).watch(&WatchParams::default().timeout(1), "0");
        let request = request.expect("a time-out below 295 s is allowed");
        match api.into_client().request_events::<Value>(request).await {
            Err(error) if is_refused(&error) => missing.push(format!("watch {plural}")),
            _ => {}
        }
    }
    Ok(missing)
}

/// Whether the server refuses this for lack of permission.
fn is_refused(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if matches!(status.code, 401 | 403))
}

/// The error, in the server's words if it has any.
pub(crate) fn error_message(error: &kube::Error) -> String {
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

/// What to record.
#[derive(Debug, Clone)]
pub struct CaptureOptions {
    /// The Deployment's namespace.
    pub namespace: String,
    /// Its name.
    pub deployment: String,
    /// For how long; `None`: until a rollout is complete.
    pub length: Option<Duration>,
    /// The name of the cluster on the command line: its context.
    pub cluster: String,
}
