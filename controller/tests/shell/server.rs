//! A small API server in this process: it stores, versions, refuses and shows changes, and a test may answer in its place.
//!
//! It grants what the manifests in `deploy/` grant, and nothing else: a request that they forget fails here as in a cluster.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::StreamExt;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use kube::Client;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;

use crate::rights::Rights;

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
    paths: Vec<String>,
    /// What clients speak.
    versions: Vec<http::Version>,
    refuses_lists: bool,
    /// Kinds whose watches are shown nothing, and what they have missed.
    held: BTreeMap<String, Vec<Value>>,
    /// Requests whose `VERB path` begins so get no answer.
    hangs: Option<&'static str>,
    rights: Rights,
    /// The token without which a request is refused, if there is one.
    token: Option<String>,
    /// The credentials that were refused.
    refused: Vec<String>,
    interfere: Option<Interfere>,
}

/// The server; clones are the same one.
#[derive(Clone, Default)]
pub(crate) struct Server(Arc<Mutex<State>>);

impl Server {
    /// One that grants what a process with both controllers is given.
    pub(crate) fn for_both() -> Self {
        let server = Self::default();
        server.0.lock().unwrap().rights.0.extend(Rights::of_replica_sets().0);
        server
    }

    /// One that grants what the ReplicaSet controller alone is given.
    pub(crate) fn for_replica_sets() -> Self {
        let server = Self::default();
        server.0.lock().unwrap().rights = Rights::of_replica_sets();
        server
    }

    /// One that grants what the config-restart controller is given.
    pub(crate) fn for_restarts() -> Self {
        let server = Self::default();
        server.0.lock().unwrap().rights = Rights::of_restarts();
        server
    }

    /// Grants what the component that secures the metrics adds.
    pub(crate) fn grant_reviews(&self) {
        self.0.lock().unwrap().rights.0.extend(Rights::of_metrics_auth().0);
    }

    /// Takes a right away: all that concerns a resource.
    pub(crate) fn forbid(&self, resource: &str) {
        self.0.lock().unwrap().rights.0.retain(|(_, of, ..)| of != resource);
    }

    /// Refuses requests without this token from now on.
    pub(crate) fn ask_for(&self, token: &str) {
        self.0.lock().unwrap().token = Some(token.to_owned());
    }

    /// Refuses nobody's credentials any more.
    pub(crate) fn let_in(&self) {
        self.0.lock().unwrap().token = None;
    }

    /// The credentials that were refused so far, one entry a request.
    pub(crate) fn refused(&self) -> Vec<String> {
        self.0.lock().unwrap().refused.clone()
    }

    /// Takes the right to watch a resource away.
    pub(crate) fn forbid_watch(&self, resource: &str) {
        self.0.lock().unwrap().rights.0.retain(|(_, of, verb, _)| of != resource || verb != "watch");
    }

    /// Shows watchers of a kind how far it has come.
    pub(crate) fn bookmark(&self, kind: &str) {
        let mut state = self.0.lock().unwrap();
        let version = state.version.to_string();
        let bookmark = json!({"apiVersion": "v1", "kind": "Any", "metadata": {"resourceVersion": version}});
        state.send(kind, &json!({"type": "BOOKMARK", "object": bookmark}));
    }

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

    /// Shows nothing of a kind to watchers until [`Server::release`].
    pub(crate) fn hold(&self, kind: &str) {
        self.0.lock().unwrap().held.insert(kind.to_owned(), Vec::new());
    }

    /// Shows what was held back.
    pub(crate) fn release(&self, kind: &str) {
        let mut state = self.0.lock().unwrap();
        for line in state.held.remove(kind).unwrap() {
            state.send(kind, &line);
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

    /// Method and path of all requests so far.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.0.lock().unwrap().paths.clone()
    }

    /// What clients of a port have spoken so far.
    pub(crate) fn versions(&self) -> Vec<http::Version> {
        self.0.lock().unwrap().versions.clone()
    }

    /// Whether lists fail.
    pub(crate) fn refuse_lists(&self, refuse: bool) {
        self.0.lock().unwrap().refuses_lists = refuse;
    }

    /// Lets requests whose `VERB path` begins so wait for ever.
    pub(crate) fn hang(&self, on: &'static str) {
        self.0.lock().unwrap().hangs = Some(on);
    }

    /// Listens for a program of its own, and writes a kubeconfig of this name for it; returns the file.
    pub(crate) async fn kubeconfig(&self, name: &str) -> std::path::PathBuf {
        let port = self.listen().await;
        let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.kubeconfig"));
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
             clusters: [{{name: c, cluster: {{server: 'http://127.0.0.1:{port}'}}}}]\n\
             users: [{{name: c, user: {{}}}}]\n\
             contexts: [{{name: c, context: {{cluster: c, user: c}}}}]\n"
        );
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Listens on a port of this machine until the runtime ends, for programs of their own; returns the port.
    pub(crate) async fn listen(&self) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = self.clone();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(connection(server.clone(), stream));
            }
        });
        port
    }

    /// The same over TLS, where HTTP/2 can be spoken; returns the certificate to be trusted, DER, too.
    pub(crate) async fn listen_tls(&self) -> (u16, Vec<u8>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let issued = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
        let key = PrivatePkcs8KeyDer::from(issued.signing_key.serialize_der());
        let authority = issued.cert.der().to_vec();
        let mut tls = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![issued.cert.into()], key.into())
            .unwrap();
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let (server, tls) = (self.clone(), TlsAcceptor::from(Arc::new(tls)));
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (server, tls) = (server.clone(), tls.clone());
                tokio::spawn(async move {
                    if let Ok(stream) = tls.accept(stream).await {
                        connection(server, stream).await;
                    }
                });
            }
        });
        (port, authority)
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
        if meta["name"].is_null() {
            let prefix = meta["generateName"].as_str().unwrap();
            meta["name"] = format!("{prefix}{}", self.version).into();
        }
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
        match self.held.get_mut(kind) {
            Some(missed) => missed.push(line),
            None => self.send(kind, &line),
        }
    }

    fn send(&mut self, kind: &str, line: &Value) {
        self.watchers.retain(|(of, sender)| of != kind || sender.send(line.clone()).is_ok());
    }

    /// A refusal, if the credentials are not those that are asked for.
    fn challenge(&mut self, headers: &http::HeaderMap) -> Option<Response<AnswerBody>> {
        let wanted = self.token.as_ref().map(|token| format!("Bearer {token}"))?;
        let given = headers.get(http::header::AUTHORIZATION).map_or("", |value| value.to_str().unwrap());
        if given == wanted {
            return None;
        }
        self.refused.push(given.to_owned());
        let (code, answer) = failure(401, "Unauthorized", "Unauthorized");
        Some(respond(code, &answer))
    }

    /// An answer, if this request is to have one.
    fn answer(&mut self, method: &str, full: &str, since: Option<u64>, body: Value) -> Option<Response<AnswerBody>> {
        let watch = since.is_some();
        self.paths.push(format!("{method} {full}"));
        if !self.rights.allow(method, full, watch) {
            let (code, answer) = failure(403, "Forbidden", &format!("deploy/ does not allow {method} {full}"));
            return Some(respond(code, &answer));
        }
        let path = GROUPS.iter().find_map(|group| full.strip_prefix(group)).unwrap();
        let path = path.trim_start_matches("namespaces/default/");
        let (kind, rest) = path.split_once('/').unwrap_or((path, ""));
        if method == "GET" && rest.is_empty() {
            self.reads.push(format!("{} {kind}", if watch { "WATCH" } else { "LIST" }));
            return Some(match since {
                Some(since) => self.watch(kind, since),
                None => self.page(kind),
            });
        }
        let verb = if rest.is_empty() { format!("{method} {kind}") } else { format!("{method} {kind}/{rest}") };
        if self.hangs.is_some_and(|hangs| verb.starts_with(hangs)) {
            return None;
        }
        if method != "GET" {
            self.writes.push((verb.clone(), body.clone()));
        }
        let answer = self.interfere.as_mut().and_then(|interfere| interfere(&verb, &body));
        let (code, answer) = answer.unwrap_or_else(|| self.write(method, kind, rest, body));
        Some(respond(code, &answer))
    }

    /// What is there and newer than a version comes first; that something went meanwhile does not.
    fn watch(&mut self, kind: &str, since: u64) -> Response<AnswerBody> {
        let (sender, receiver) = mpsc::unbounded_channel::<Value>();
        let version = |object: &Value| object["metadata"]["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap();
        let missed = self.list(kind).into_iter().filter(|object| version(object) > since);
        for object in missed.filter(|_| !self.held.contains_key(kind)) {
            sender.send(json!({"type": "MODIFIED", "object": object})).unwrap();
        }
        self.watchers.push((kind.to_owned(), sender));
        let lines = futures::stream::unfold(receiver, async |mut receiver| {
            let line = receiver.recv().await?;
            Some((Ok(http_body::Frame::data(Bytes::from(format!("{line}\n")))), receiver))
        });
        Response::new(StreamBody::new(lines.boxed()).boxed_unsync())
    }

    fn page(&self, kind: &str) -> Response<AnswerBody> {
        if self.refuses_lists {
            let (code, answer) = failure(500, "InternalError", "not now");
            return respond(code, &answer);
        }
        respond(200, &json!({"metadata": {"resourceVersion": self.version.to_string()}, "items": self.list(kind)}))
    }

    fn write(&mut self, method: &str, kind: &str, rest: &str, body: Value) -> (u16, Value) {
        let path = format!("{kind}/{}", rest.trim_end_matches("/status"));
        let current = self.objects.get(&path).cloned();
        match (method, current) {
            ("POST", _) => {
                // One that the server names is always new.
                let path = format!("{kind}/{}", body["metadata"]["name"].as_str().unwrap_or_default());
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
                } else if kind == "events" {
                    current["count"] = body["count"].clone();
                } else {
                    json_patch::merge(&mut current, &body);
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

const GROUPS: [&str; 5] = [
    "/apis/apps/v1/",
    "/apis/coordination.k8s.io/v1/",
    "/apis/authentication.k8s.io/v1/",
    "/apis/authorization.k8s.io/v1/",
    "/api/v1/",
];

type AnswerBody = UnsyncBoxBody<Bytes, Infallible>;

async fn connection(server: Server, stream: impl AsyncRead + AsyncWrite + Unpin + 'static) {
    let service = service_fn(move |request: Request<_>| {
        server.0.lock().unwrap().versions.push(request.version());
        answer(server.clone(), request)
    });
    // A client that goes in the middle of a watch is an error here and none to a test.
    let _ = auto::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
}

async fn answer<B>(server: Server, request: Request<B>) -> Result<Response<AnswerBody>, Infallible>
where
    B: http_body::Body<Error: std::fmt::Debug>,
{
    let (parts, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    if let Some(answer) = server.0.lock().unwrap().challenge(&parts.headers) {
        return Ok(answer);
    }
    if parts.uri.path() == "/apis/apps/v1" {
        return Ok(respond(200, &discovery()));
    }
    let query = parts.uri.query().unwrap_or_default();
    let version = query.split('&').find_map(|pair| pair.strip_prefix("resourceVersion="));
    let since = query.contains("watch=true").then(|| version.unwrap_or_default().parse().unwrap_or(0));
    let answer = server.0.lock().unwrap().answer(parts.method.as_str(), parts.uri.path(), since, body);
    match answer {
        Some(answer) => Ok(answer),
        None => std::future::pending().await,
    }
}

fn discovery() -> Value {
    let resource = |name: &str| json!({"name": name, "namespaced": true, "kind": "", "singularName": "", "verbs": []});
    let resources = json!([resource("deployments"), resource("replicasets")]);
    json!({"kind": "APIResourceList", "groupVersion": "apps/v1", "resources": resources})
}

fn respond(code: u16, body: &Value) -> Response<AnswerBody> {
    let body = Full::new(Bytes::from(body.to_string())).boxed_unsync();
    Response::builder().status(code).body(body).unwrap()
}
