//! A small API server in this process: it stores, versions, refuses and shows changes, and a test may answer in its place.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::StreamExt;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// One write: `VERB path`, and the body.
pub(crate) type Write = (String, Value);
/// What a test answers in the server's place: status and body.
pub(crate) type Answer = Option<(u16, Value)>;
type Interfere = Box<dyn FnMut(&str, &Value) -> Answer + Send>;
type Watcher = (String, mpsc::UnboundedSender<Value>);

#[derive(Default)]
struct State {
    version: u64,
    /// Objects by path, such as `replicasets/web-1`.
    objects: BTreeMap<String, Value>,
    watchers: Vec<Watcher>,
    writes: Vec<Write>,
    reads: Vec<String>,
    interfere: Option<Interfere>,
}

/// The server; clones are the same one.
#[derive(Clone, Default)]
pub(crate) struct Server(Arc<Mutex<State>>);

impl Server {
    /// A client of it.
    pub(crate) fn client(&self) -> Client {
        let server = self.clone();
        Client::new(tower::service_fn(move |request| answer(server.clone(), request)), "default")
    }

    /// Lets a test answer writes and single reads in the server's place.
    pub(crate) fn interfere(&self, with: impl FnMut(&str, &Value) -> Answer + Send + 'static) {
        self.0.lock().unwrap().interfere = Some(Box::new(with));
    }

    /// Puts an object there, as a user would, and shows it to watchers.
    pub(crate) fn put(&self, kind: &str, object: Value) {
        self.0.lock().unwrap().put(kind, object);
    }

    /// Takes an object away and shows that to watchers.
    pub(crate) fn remove(&self, path: &str) {
        self.0.lock().unwrap().remove(path);
    }

    /// Ends all watches, each with a last event if there is one.
    pub(crate) fn cut_watches(&self, last: Option<&Value>) {
        for (_, sender) in self.0.lock().unwrap().watchers.drain(..) {
            if let Some(last) = last {
                let _ = sender.send(last.clone());
            }
        }
    }

    /// Writes so far.
    pub(crate) fn writes(&self) -> Vec<Write> {
        self.0.lock().unwrap().writes.clone()
    }

    /// `VERB path` of the writes so far, events left out.
    pub(crate) fn verbs(&self) -> Vec<String> {
        let writes = self.writes().into_iter().map(|(verb, _)| verb);
        writes.filter(|verb| !verb.contains(" events")).collect()
    }

    /// Lists and watches so far.
    pub(crate) fn reads(&self) -> Vec<String> {
        self.0.lock().unwrap().reads.clone()
    }

    /// An object.
    pub(crate) fn get(&self, path: &str) -> Value {
        self.0.lock().unwrap().objects.get(path).cloned().unwrap_or(Value::Null)
    }

    /// All objects of a kind.
    pub(crate) fn all(&self, kind: &str) -> Vec<Value> {
        self.0.lock().unwrap().list(kind)
    }
}

impl State {
    fn list(&self, kind: &str) -> Vec<Value> {
        let of_kind = |path: &&String| path.split_once('/').is_some_and(|(of, _)| of == kind);
        self.objects.keys().filter(of_kind).map(|path| self.objects[path].clone()).collect()
    }

    fn put(&mut self, kind: &str, mut object: Value) -> Value {
        self.version += 1;
        let meta = &mut object["metadata"];
        meta["namespace"] = "default".into();
        meta["resourceVersion"] = self.version.to_string().into();
        if meta["uid"].is_null() {
            meta["uid"] = format!("uid-{}", self.version).into();
        }
        if meta["creationTimestamp"].is_null() {
            meta["creationTimestamp"] = "2026-01-01T00:00:00Z".into();
        }
        let path = format!("{kind}/{}", meta["name"].as_str().unwrap());
        let event = if self.objects.insert(path, object.clone()).is_some() { "MODIFIED" } else { "ADDED" };
        self.show(kind, event, &object);
        object
    }

    fn remove(&mut self, path: &str) {
        if let Some(mut object) = self.objects.remove(path) {
            self.version += 1;
            object["metadata"]["resourceVersion"] = self.version.to_string().into();
            self.show(path.split_once('/').unwrap().0, "DELETED", &object);
        }
    }

    fn show(&mut self, kind: &str, event: &str, object: &Value) {
        let line = json!({"type": event, "object": object});
        self.watchers.retain(|(of, sender)| of != kind || sender.send(line.clone()).is_ok());
    }

    fn write(&mut self, method: &str, kind: &str, rest: &str, body: Value) -> (u16, Value) {
        let path = format!("{kind}/{}", rest.trim_end_matches("/status"));
        let current = self.objects.get(&path).cloned();
        match (method, current) {
            ("POST", _) => {
                let path = format!("{kind}/{}", body["metadata"]["name"].as_str().unwrap());
                if self.objects.contains_key(&path) {
                    failure(409, "AlreadyExists", "it exists")
                } else {
                    (201, self.put(kind, body))
                }
            }
            (_, None) => failure(404, "NotFound", "no such object"),
            ("GET", Some(current)) => (200, current),
            ("DELETE", Some(current)) => {
                self.remove(&path);
                (200, current)
            }
            ("PUT", Some(current)) if body["metadata"]["resourceVersion"] != current["metadata"]["resourceVersion"] => {
                failure(409, "Conflict", "the object has been modified")
            }
            // A write that changes nothing makes no new version.
            ("PUT", Some(current)) if body == current => (200, current),
            ("PUT", Some(_)) => (200, self.put(kind, body)),
            (_, Some(mut current)) => {
                if let Some(owners) = body["metadata"]["ownerReferences"].as_array() {
                    let released = owners[0]["$patch"] == "delete";
                    current["metadata"]["ownerReferences"] = if released { json!([]) } else { json!(owners) };
                } else {
                    current["count"] = body["count"].clone();
                }
                (200, self.put(kind, current))
            }
        }
    }
}

/// A refusal.
pub(crate) fn failure(code: u16, reason: &str, message: &str) -> (u16, Value) {
    (code, json!({"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message}))
}

type AnswerBody = UnsyncBoxBody<Bytes, Infallible>;

async fn answer(server: Server, request: Request<Body>) -> Result<Response<AnswerBody>, Infallible> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let method = parts.method.as_str();
    let path = parts.uri.path().trim_start_matches("/apis/apps/v1/").trim_start_matches("/api/v1/");
    let mut state = server.0.lock().unwrap();
    let Some((kind, rest)) = path.trim_start_matches("namespaces/default/").split_once('/').or(Some((path, ""))) else {
        unreachable!("every path has a first part")
    };
    let kind = kind.trim_start_matches("namespaces/default/").to_owned();
    let is_collection = !path.starts_with("namespaces/");
    if is_collection {
        let watch = parts.uri.query().unwrap_or_default().contains("watch=true");
        state.reads.push(format!("{} {kind}", if watch { "WATCH" } else { "LIST" }));
        if watch {
            let (sender, receiver) = mpsc::unbounded_channel::<Value>();
            state.watchers.push((kind, sender));
            let lines = futures::stream::unfold(receiver, async |mut receiver| {
                let line = receiver.recv().await?;
                Some((Ok(http_body::Frame::data(Bytes::from(format!("{line}\n")))), receiver))
            });
            return Ok(Response::new(StreamBody::new(lines.boxed()).boxed_unsync()));
        }
        let list = json!({"metadata": {"resourceVersion": state.version.to_string()}, "items": state.list(&kind)});
        return Ok(respond(200, &list));
    }
    let name = if rest.is_empty() { String::new() } else { format!("/{rest}") };
    let verb = format!("{method} {kind}{name}");
    if method != "GET" {
        state.writes.push((verb.clone(), body.clone()));
    }
    let mut interfere = state.interfere.take();
    let answer = interfere.as_mut().and_then(|interfere| interfere(&verb, &body));
    state.interfere = interfere;
    let (code, answer) = answer.unwrap_or_else(|| state.write(method, &kind, rest, body));
    Ok(respond(code, &answer))
}

fn respond(code: u16, body: &Value) -> Response<AnswerBody> {
    let body = Full::new(Bytes::from(body.to_string())).boxed_unsync();
    Response::builder().status(code).body(body).unwrap()
}
