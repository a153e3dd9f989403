//! The server as a function: a request and the time come in, an answer goes out. Nothing here waits
//! or reads a clock, and random numbers come from the seed.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::{Method, StatusCode};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::call::Call;
use super::chance::Chance;
use super::kinds::{Kind, Kinds};
use super::media::{self, Form, Offered};
use super::object::{ManagedFields, Object, written};
use super::problem::{Outcome, Problem};
use super::store::{Key, Store};
use super::stored::Entry;
use super::watch::Order;
use super::{discovery, options, quota, reviews, yaml};
use crate::route::{Route, Verb};

/// The media types of patches.
const PATCHES: [&str; 4] = [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];

/// Those of custom resources.
const CUSTOM_PATCHES: [&str; 3] =
    ["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"];

/// Parts of objects that the real server has and this one does not.
const LEFT_OUT: [(&str, &str); 10] = [
    ("pods", "log"),
    ("pods", "exec"),
    ("pods", "attach"),
    ("pods", "portforward"),
    ("pods", "proxy"),
    ("pods", "ephemeralcontainers"),
    ("pods", "resize"),
    ("services", "proxy"),
    ("nodes", "proxy"),
    ("serviceaccounts", "token"),
];

/// The media type of nearly every answer.
pub(super) const JSON: &str = "application/json";

/// The API server's state.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) store: Store,
    pub(super) chance: Chance,
    /// The garbage collector has seen the changes up to this version.
    pub(super) collected: u64,
    /// Namespaces had their service accounts at this version.
    pub(super) accounted: u64,
    /// How far quotas are counted.
    pub(super) quotas: quota::Progress,
    /// The requests that it does not support, each with the reason.
    pub(super) unsupported: Vec<String>,
    /// The warnings of the current request.
    pub(super) warnings: Vec<String>,
    /// Whether the current request is a dry run.
    pub(super) dry: bool,
    /// What it serves.
    pub(super) kinds: Kinds,
    /// Definitions of custom resources have been followed up to this version.
    pub(super) defined: u64,
    /// Whether one of them is being deleted.
    pub(super) deleting_definitions: bool,
    /// By namespace: the least creation time of new objects.
    pub(super) not_before: BTreeMap<String, Timestamp>,
}

/// An answer.
#[derive(Debug)]
pub(super) enum Answer {
    /// A complete body.
    Whole {
        code: StatusCode,
        body: Bytes,
        warnings: Vec<String>,
        /// The body's media type.
        form: &'static str,
    },
    /// A watch begins.
    Watch(Order),
}

/// A request about a kind that is served.
pub(super) struct Ask<'a> {
    pub(super) kind: &'static Kind,
    pub(super) route: &'a Route,
    pub(super) call: &'a Call,
    pub(super) now: Timestamp,
}

impl Server {
    /// A cluster with these objects and its initial namespaces.
    pub(super) fn new(seed: u64, now: Timestamp, mut objects: Vec<Entry>) -> Self {
        let mut server = Self {
            store: Store::default(),
            chance: Chance::new(seed),
            collected: 0,
            accounted: 0,
            quotas: quota::Progress::starting(now),
            unsupported: Vec::new(),
            warnings: Vec::new(),
            dry: false,
            not_before: BTreeMap::new(),
            kinds: Kinds::default(),
            defined: 0,
            deleting_definitions: false,
        };
        // In the order of their versions, so that each keeps its own.
        objects.sort_by_key(|entry| entry.version.unwrap_or(u64::MAX));
        for entry in objects {
            server.restore(entry, now);
        }
        server.establish(now);
        // What was before is not known.
        server.store.forget(server.store.version());
        // A namespace that is among the objects stays as it is.
        for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
            let body = json!({"metadata": {"name": name}}).to_string();
            let call = Call {
                method: Method::POST,
                path: "/api/v1/namespaces".to_owned(),
                query: BTreeMap::new(),
                content_type: "application/json".to_owned(),
                accept: String::new(),
                user_agent: "kube-apiserver/v1.36".to_owned(),
                body: body.into(),
                written: None,
                managed: ManagedFields::Shown,
            };
            server.answer(&call, now);
        }
        server
    }

    /// Answer a request.
    pub(super) fn answer(&mut self, call: &Call, now: Timestamp) -> Answer {
        self.warnings.clear();
        let plain = self.without_protobuf(call);
        let asked = plain.as_ref().unwrap_or(call);
        let dressed = self.ask_in_json(asked, now).and_then(|answer| match answer {
            Answer::Whole { form: JSON, .. } => {
                let about = self.kind_of(asked);
                Form::of(asked, offered(&asked.path))?.dress(answer, &self.kinds, about, now)
            }
            _ => Ok(answer),
        });
        let mut answer = dressed.unwrap_or_else(|problem| {
            if problem.unsupported {
                self.unsupported.push(format!("{} {}: {}", call.method, call.path, problem.message));
            }
            let status = whole(problem.code, &problem.status());
            let form = Form::of_error(&call.accept);
            form.dress(status, &self.kinds, None, now).expect("a Status has a form in every coding")
        });
        // The controllers that run next are not part of the dry run.
        self.dry = false;
        self.establish(now);
        if let Answer::Whole { warnings, .. } = &mut answer {
            warnings.append(&mut self.warnings);
        }
        answer
    }

    fn ask_in_json(&mut self, call: &Call, now: Timestamp) -> Outcome<Answer> {
        match yaml::as_json(call)? {
            Some(call) => self.ask(&call, now),
            None => self.ask(call, now),
        }
    }

    pub(super) fn ask(&mut self, call: &Call, now: Timestamp) -> Outcome<Answer> {
        let route = Route::of_decoded(&call.method, &call.path, call.flag("watch"));
        if call.path.starts_with("/api") && call.path.trim_end_matches('/').contains("//") {
            return Err(Problem::no_path());
        }
        if call.method == Method::HEAD && !discovery::is_health(&call.path) {
            return Err(Problem::method_not_allowed());
        }
        if route.resource.is_empty() {
            return discovery::answer(&self.kinds, &call.path, &call.accept);
        }
        if let Some(review) = reviews::asked(&call.path) {
            return self.review(review, call, now);
        }
        let Some(kind) = self.kinds.served(&route.group, version(&call.path), &route.resource) else {
            return discovery::absent(&route);
        };
        if kind.custom.is_none() && LEFT_OUT.contains(&(kind.plural, route.subresource.as_str())) {
            return Err(Problem::unsupported(format!("{}/{}", kind.plural, route.subresource)));
        }
        if route.verb == Verb::Patch && kind.custom.is_some() && !CUSTOM_PATCHES.contains(&call.form()) {
            return Err(Problem::media_type(&CUSTOM_PATCHES.join(", ")));
        }
        let sub = route.subresource.as_str();
        let is_served = sub.is_empty() || kind.subresources.contains(&sub);
        if !is_served && kind.custom.is_some() && route.verb == Verb::Get {
            return Err(Problem::not_found(kind, &route.name));
        }
        let named = !route.name.is_empty();
        let of_all = route.namespace.is_empty() && kind.namespaced;
        // Upstream: `UpdateResource` asks for the name before the form of the answer.
        if kind.custom.is_some() && !named && !of_all && matches!(route.verb, Verb::Update | Verb::Patch) {
            return Err(Problem::bad_request("name must be provided".to_owned()));
        }
        Form::check(call, offered(&call.path))?;
        if !is_served {
            return Err(Problem::no_path());
        }
        if of_all && named {
            return Err(Problem::no_path());
        }
        if of_all && !matches!(route.verb, Verb::List | Verb::Watch) {
            return Err(Problem::method_not_allowed());
        }
        if route.verb != Verb::Watch {
            options::time_out(call)?;
        }
        names(&route)?;
        let ask = Ask { kind, route: &route, call, now };
        // A deletion has the option in its body.
        self.dry =
            matches!(route.verb, Verb::Create | Verb::Update | Verb::Patch) && !options::dry_run(call).is_empty();
        if route.verb == Verb::Patch && named && !PATCHES.contains(&call.form()) && kind.custom.is_none() {
            return Err(Problem::no_patch_form());
        }
        if !kind.has_protobuf() && call.is_protobuf() && matches!(sub, "" | "status") && route.verb != Verb::Delete {
            return Err(Problem::unsupported(format!("a {} in protobuf", kind.kind)));
        }
        if !matches!(route.verb, Verb::Get | Verb::List | Verb::Watch) {
            call.check_body()?;
        }
        match (route.verb, sub) {
            (Verb::Create, "") if named && kind.custom.is_none() => Err(Problem::method_not_allowed()),
            (Verb::Update | Verb::Patch, _) if !named => Err(Problem::method_not_allowed()),
            // Namespaces cannot be deleted as a collection.
            (Verb::DeleteCollection, _) if kind.built_in() == "Namespace" => Err(Problem::method_not_allowed()),
            (Verb::Get, "scale") => self.scale(&ask),
            (Verb::Get, "" | "status") => self.get(&ask),
            // Only a collection is watched, and objects by their paths under `/watch`.
            (Verb::Watch, "" | "status") if named => self.get(&ask),
            (Verb::List, "") => self.list(&ask),
            (Verb::Watch, "") => self.watch(&ask),
            (Verb::Create, "") => self.create(&ask),
            (Verb::Create, "binding") if named => self.bind(&ask),
            (Verb::Create, "eviction") if named => self.evict(&ask),
            (Verb::Update | Verb::Patch, "scale") => self.rescale(&ask),
            (Verb::Update | Verb::Patch, "finalize") => {
                Err(Problem::unsupported("finalizing a namespace from outside"))
            }
            (Verb::Update | Verb::Patch, "" | "status") => self.change(&ask),
            (Verb::Delete, "") => self.delete(&ask),
            (Verb::DeleteCollection, "") => self.delete_all(&ask),
            _ => Err(Problem::method_not_allowed()),
        }
    }

    /// The request without the media types that its kind is not written in, if it asks for one.
    fn without_protobuf(&self, call: &Call) -> Option<Call> {
        if !call.accept.contains("protobuf") {
            return None;
        }
        let kind = self.kind_of(call)?;
        if kind.has_protobuf() {
            return None;
        }
        // Metadata alone has a form in protobuf whatever the kind.
        let kept = |form: &&str| !form.contains("protobuf") || form.contains("as=PartialObjectMetadata");
        let left: Vec<&str> = call.accept.split(',').filter(kept).collect();
        // A definition has a form in protobuf upstream: a client that takes nothing else gets JSON.
        let none = if kind.custom.is_some() { media::NO_FORM } else { JSON };
        let accept = if left.is_empty() { none.to_owned() } else { left.join(",") };
        Some(Call { accept, ..call.clone() })
    }

    /// The kind that a request is about.
    fn kind_of(&self, call: &Call) -> Option<&'static Kind> {
        let route = Route::of_decoded(&call.method, &call.path, false);
        self.kinds.served(&route.group, version(&call.path), &route.resource)
    }

    fn get(&mut self, ask: &Ask<'_>) -> Outcome<Answer> {
        let wanted = ask.version().map_err(Problem::plain_internal)?;
        if let Some(wanted) = wanted.filter(|wanted| *wanted > self.store.version()) {
            return Err(self.too_large(ask.kind, wanted));
        }
        let object = self.existing(ask)?.at(ask.kind);
        Ok(text(StatusCode::OK, object.text(ask.call.managed)))
    }

    /// The refusal of a version of the future. A watch cache asks the client to come again; Events
    /// have none.
    pub(super) fn too_large(&self, kind: &Kind, wanted: u64) -> Problem {
        let problem = Problem::too_large(wanted, self.store.version());
        if kind.has_bookmarks() { problem.again_after(1) } else { problem }
    }

    /// The version that a read asks for, if it is of the future and upstream waits for it.
    pub(super) fn awaited(&self, call: &Call) -> Option<u64> {
        let wanted =
            call.param("resourceVersion").parse::<u64>().ok().filter(|wanted| *wanted > self.store.version())?;
        let route = Route::of_decoded(&call.method, &call.path, call.flag("watch"));
        let reads = match route.verb {
            Verb::Get | Verb::List => true,
            Verb::Watch => call.flag("sendInitialEvents"),
            _ => false,
        };
        (reads && self.kind_of(call)?.has_bookmarks()).then_some(wanted)
    }

    /// The object that a request names, in the form in which requests are decided.
    pub(super) fn existing(&self, ask: &Ask<'_>) -> Outcome<std::sync::Arc<Object>> {
        let found = self.store.get(&ask.key()).cloned();
        let found = found.ok_or_else(|| Problem::not_found(ask.kind, &ask.route.name))?;
        Ok(found.at(ask.kind.inner()))
    }
}

/// The forms of the answers of a path: what is written to a pod's subresources has no table.
fn offered(path: &str) -> Offered {
    let plain = ["/binding", "/eviction"].iter().any(|end| path.trim_end_matches('/').ends_with(end));
    if plain && path.contains("/pods/") { Offered::NoTable } else { Offered::Everything }
}

/// Refuses names that no key in etcd can have. Upstream: `IsValidPathSegmentName`.
fn names(route: &Route) -> Outcome<()> {
    if matches!(route.namespace.as_str(), "." | "..") {
        return Err(Problem::unsupported(format!("the namespace {:?}", route.namespace)));
    }
    let name = route.name.as_str();
    let why = match name {
        "." | ".." => format!("may not be '{name}'"),
        _ if name.contains('%') => "may not contain '%'".to_owned(),
        _ => return Ok(()),
    };
    Err(Problem::bad_request(format!("Name parameter invalid: {name:?}: {why}")))
}

/// The version in a path.
fn version(path: &str) -> &str {
    let nth = if path.starts_with("/apis") { 2 } else { 1 };
    path.trim_start_matches('/').split('/').nth(nth).unwrap_or_default()
}

impl Ask<'_> {
    pub(super) fn key(&self) -> Key {
        let namespace = if self.kind.namespaced { self.route.namespace.as_str() } else { "" };
        Key::new(self.kind, namespace, &self.route.name)
    }

    /// The resourceVersion of the query; `None` for "" and for "0", which means any.
    ///
    /// # Errors
    /// When it is not a number.
    pub(super) fn version(&self) -> Result<Option<u64>, String> {
        match self.call.param("resourceVersion") {
            "" | "0" => Ok(None),
            text => text.parse().map(Some).map_err(|_| {
                let why = format!("strconv.ParseUint: parsing \"{text}\": invalid syntax");
                super::field::FieldError::invalid("resourceVersion", text, why).to_string()
            }),
        }
    }

    /// The time as metadata has it.
    pub(super) fn stamp(&self) -> Value {
        stamp(self.now)
    }
}

/// A time as metadata has it.
pub(super) fn stamp(time: Timestamp) -> Value {
    crate::clock::rfc3339(time).into()
}

pub(super) fn whole(code: StatusCode, body: &Value) -> Answer {
    text(code, written(body))
}

pub(super) fn text(code: StatusCode, body: Vec<u8>) -> Answer {
    Answer::Whole { code, body: body.into(), warnings: Vec::new(), form: JSON }
}
