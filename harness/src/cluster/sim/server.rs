//! The server as a function: a request and the time come in, an answer goes out. Nothing here waits, reads a clock or draws lots but from its seed.

use std::collections::BTreeMap;

use hyper::body::Bytes;
use hyper::{Method, StatusCode};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::chance::Chance;
use super::discovery;
use super::kinds::{Kind, served};
use super::problem::{Outcome, Problem};
use super::select::Selector;
use super::store::{Key, Object, Store};
use super::watch::Order;
use crate::route::{Route, Verb};

/// The form of nearly every answer.
pub(super) const JSON: &str = "application/json";

/// The API server's state.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) store: Store,
    pub(super) chance: Chance,
    /// Up to this version owners and dependents are in order.
    pub(super) collected: u64,
    /// What it was asked that it does not know, for whoever has to say that nothing follows from it.
    pub(super) beyond: Vec<String>,
}

/// A request, whole.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) query: BTreeMap<String, String>,
    pub(super) content_type: String,
    pub(super) accept: String,
    pub(super) body: Bytes,
}

/// What is answered.
#[derive(Debug)]
pub(super) enum Answer {
    /// All of it.
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

/// One request about one kind.
pub(super) struct Ask<'a> {
    pub(super) kind: &'static Kind,
    pub(super) route: &'a Route,
    pub(super) call: &'a Call,
    pub(super) now: Timestamp,
}

impl Server {
    /// A new cluster with its first namespaces.
    pub(super) fn new(seed: u64, now: Timestamp) -> Self {
        let mut server = Self { store: Store::default(), chance: Chance::new(seed), collected: 0, beyond: Vec::new() };
        for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
            let body = json!({"metadata": {"name": name}}).to_string();
            let call = Call {
                method: Method::POST,
                path: "/api/v1/namespaces".to_owned(),
                query: BTreeMap::new(),
                content_type: "application/json".to_owned(),
                accept: String::new(),
                body: body.into(),
            };
            server.answer(&call, now);
        }
        server
    }

    /// Answer a request.
    pub(super) fn answer(&mut self, call: &Call, now: Timestamp) -> Answer {
        match self.ask(call, now) {
            Ok(answer) => answer,
            Err(problem) => {
                if problem.unknown {
                    self.beyond.push(format!("{} {}: {}", call.method, call.path, problem.message));
                }
                whole(problem.code, &problem.status())
            }
        }
    }

    fn ask(&mut self, call: &Call, now: Timestamp) -> Outcome<Answer> {
        let query = if call.flag("watch") { Some("watch=true") } else { None };
        let route = Route::parse(&call.method, &call.path, query);
        if route.resource.is_empty() {
            return discovery::answer(&call.path, &call.accept);
        }
        let version =
            call.path.trim_start_matches('/').split('/').nth(if call.path.starts_with("/apis") { 2 } else { 1 });
        let Some(kind) = served(&route.group, &route.resource).filter(|_| version == Some("v1")) else {
            return Err(discovery::absent(&route));
        };
        if !call.accept.is_empty() && !plain(&call.accept) {
            return Err(Problem::beyond(format!(
                "answers in another form than plain JSON, as {} asks for",
                call.accept
            )));
        }
        let sub = route.subresource.as_str();
        if !sub.is_empty() && !kind.subresources.contains(&sub) {
            return Err(Problem::no_path());
        }
        let of_all = route.namespace.is_empty() && kind.namespaced;
        if of_all && !matches!(route.verb, Verb::List | Verb::Watch) {
            return Err(Problem::method_not_allowed());
        }
        let ask = Ask { kind, route: &route, call, now };
        match (route.verb, sub) {
            (Verb::Get, "scale") => self.scale(&ask),
            (Verb::Get, "" | "status") => self.get(&ask),
            (Verb::List, "") => self.list(&ask),
            (Verb::Watch, "") => self.watch(&ask),
            (Verb::Create, "") => self.create(&ask),
            (Verb::Create, "binding") => self.bind(&ask),
            (Verb::Update | Verb::Patch, "scale") => self.rescale(&ask),
            (Verb::Update | Verb::Patch, "finalize") => Err(Problem::beyond("finalizing a namespace from outside")),
            (Verb::Update | Verb::Patch, "" | "status") => self.change(&ask),
            (Verb::Delete, "") => self.delete(&ask),
            (Verb::DeleteCollection, "") => self.delete_all(&ask),
            _ => Err(Problem::method_not_allowed()),
        }
    }

    fn get(&mut self, ask: &Ask<'_>) -> Outcome<Answer> {
        let object = self.existing(ask)?;
        Ok(text(StatusCode::OK, object.text()))
    }

    pub(super) fn existing(&self, ask: &Ask<'_>) -> Outcome<std::sync::Arc<Object>> {
        let found = self.store.get(&ask.key()).cloned();
        found.ok_or_else(|| Problem::not_found(ask.kind, &ask.route.name))
    }

    fn list(&mut self, ask: &Ask<'_>) -> Outcome<Answer> {
        let selector = ask.selector()?;
        let latest = self.store.version();
        let wanted = ask.version()?;
        let exact = ask.call.param("resourceVersionMatch") == "Exact";
        if let Some(wanted) = wanted.filter(|wanted| *wanted > latest) {
            return Err(Problem::too_large(wanted, latest));
        }
        let mut from = None;
        let mut at = if exact { wanted.unwrap_or(latest) } else { latest };
        if let Some(place) = ask.call.query.get("continue").filter(|place| !place.is_empty()) {
            let (version, key) = read_place(place)?;
            (at, from) = (version, Some(key));
        }
        if at < self.store.forgotten() {
            return Err(Problem::expired("The resourceVersion for the provided list is too old.".to_owned()));
        }
        let mut objects = self.store.list_at(ask.kind, &ask.route.namespace, at);
        objects.retain(|object| selector.matches(&object.body));
        if let Some(from) = &from {
            objects.retain(|object| place(object) > *from);
        }
        let limit = ask.call.param("limit").parse::<usize>().unwrap_or(0);
        let left = if limit == 0 { 0 } else { objects.len().saturating_sub(limit) };
        objects.truncate(objects.len() - left);
        let mut meta = json!({"resourceVersion": at.to_string()});
        if left > 0 {
            let last = objects.last().map(|object| place(object)).unwrap_or_default();
            meta["continue"] = format!("{at}:{last}").into();
            if selector.is_empty() {
                meta["remainingItemCount"] = left.into();
            }
        }
        let (kind, version) = (ask.kind.kind, ask.kind.api_version());
        let start = format!("{{\"kind\":\"{kind}List\",\"apiVersion\":\"{version}\",\"metadata\":{meta},\"items\":[");
        let mut body = start.into_bytes();
        for (index, object) in objects.iter().enumerate() {
            if index > 0 {
                body.push(b',');
            }
            body.extend_from_slice(object.bare());
        }
        body.extend_from_slice(b"]}");
        Ok(text(StatusCode::OK, body))
    }
}

/// Whether who accepts this accepts plain JSON.
fn plain(accept: &str) -> bool {
    accept.split(',').map(str::trim).any(|form| {
        let mut words = form.split(';').map(str::trim);
        matches!(words.next(), Some("application/json" | "application/*" | "*/*"))
            && !words.any(|word| word.starts_with("as="))
    })
}

/// Where a list goes on: after this one.
fn place(object: &Object) -> String {
    format!("{}/{}", object.meta("namespace"), object.meta("name"))
}

fn read_place(text: &str) -> Outcome<(u64, String)> {
    let found = text.split_once(':').and_then(|(version, key)| Some((version.parse().ok()?, key.to_owned())));
    found.ok_or_else(|| Problem::bad_request("continue key is not valid".to_owned()))
}

impl Call {
    /// A parameter of the query, empty if it is not there.
    pub(super) fn param(&self, name: &str) -> &str {
        self.query.get(name).map_or("", String::as_str)
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        matches!(self.param(name), "true" | "1")
    }
}

impl Ask<'_> {
    pub(super) fn key(&self) -> Key {
        let namespace = if self.kind.namespaced { self.route.namespace.as_str() } else { "" };
        Key::new(self.kind, namespace, &self.route.name)
    }

    pub(super) fn selector(&self) -> Outcome<Selector> {
        let selector = Selector::of_query(self.call.param("labelSelector"), self.call.param("fieldSelector"))?;
        selector.check_fields(self.kind.plural, &self.kind.api_version(), self.kind.kind)?;
        Ok(selector)
    }

    /// The version that the query names; none for "" and for "0", which means any.
    pub(super) fn version(&self) -> Outcome<Option<u64>> {
        match self.call.param("resourceVersion") {
            "" | "0" => Ok(None),
            text => text.parse().map(Some).map_err(|_| {
                let error =
                    super::field::FieldError::invalid("resourceVersion", text, "strconv.ParseUint: parsing failed");
                Problem::invalid("", "", "", &[error])
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
    crate::clock::to_rfc3339(time).into()
}

pub(super) fn whole(code: StatusCode, body: &Value) -> Answer {
    text(code, body.to_string().into_bytes())
}

pub(super) fn text(code: StatusCode, body: Vec<u8>) -> Answer {
    Answer::Whole { code, body: body.into(), warnings: Vec::new(), form: JSON }
}
