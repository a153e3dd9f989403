//! The simulated API server with a hook that records and refuses requests, and accessors for the
//! tests.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use kube::Client;
use kube_apiserver_sim::{ApiServer, ListenHandle, ListenOptions};
use serde_json::{Value, json};

use crate::connect::kubeconfig;
use crate::requests::{Answer, Requests};
use crate::rights::Rights;

/// The server. Dropping it checks that it supported all requests.
pub(crate) struct Server {
    pub(crate) api: ApiServer,
    requests: Arc<Mutex<Requests>>,
    listening: Mutex<Vec<ListenHandle>>,
}

impl Server {
    /// A server that grants exactly these rights, on 1 January 2026.
    pub(crate) fn granting(rights: Rights) -> Self {
        let api = ApiServer::builder().epoch("2026-01-01T00:00:00Z".parse().unwrap()).build();
        let requests = Arc::new(Mutex::new(Requests { rights, ..Requests::default() }));
        let hooked = Arc::clone(&requests);
        api.on_request(move |request| hooked.lock().unwrap().react(request));
        Self { api, requests, listening: Mutex::default() }
    }

    pub(crate) fn requests(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap()
    }

    /// `VERB path` of the writes so far, such as `PUT deployments/web/status`, and their bodies.
    pub(crate) fn writes(&self) -> Vec<(String, Value)> {
        self.requests().writes.clone()
    }

    /// `VERB path` of the writes so far, without events.
    pub(crate) fn verbs(&self) -> Vec<String> {
        self.requests().writes.iter().map(|(verb, _)| verb.clone()).filter(|verb| !verb.contains(" events")).collect()
    }

    /// Lists and watches so far, such as `LIST pods`.
    pub(crate) fn reads(&self) -> Vec<String> {
        self.requests().reads.clone()
    }

    /// Method and path of all requests so far.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.requests().paths.clone()
    }

    /// Lets a test answer writes and single reads in the server's place.
    pub(crate) fn interfere(&self, with: impl FnMut(&str, &Value) -> Answer + Send + 'static) {
        self.requests().interfere = Some(Box::new(with));
    }

    /// Stores an object as it is.
    pub(crate) fn put(&self, object: Value) {
        self.api.put_stored(object).unwrap();
    }

    /// The object at a path such as `pods/a`.
    pub(crate) fn get(&self, path: &str) -> Value {
        let (resource, name) = path.split_once('/').unwrap();
        self.api.storage(resource).unwrap().get("default", name).unwrap_or_default()
    }

    /// All objects of a resource.
    pub(crate) fn all(&self, resource: &str) -> Vec<Value> {
        self.api.storage(resource).unwrap().list("default")
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.api.clone(), "default")
    }

    /// Listens on a local port and writes a kubeconfig with this name; returns the file.
    pub(crate) fn kubeconfig(&self, name: &str) -> PathBuf {
        let url = format!("http://127.0.0.1:{}", self.listen(ListenOptions::loopback()));
        kubeconfig(name, &json!({"server": url}), &json!({}))
    }

    /// Listens on a local port; returns it.
    pub(crate) fn listen(&self, how: ListenOptions) -> u16 {
        let listening = self.api.listen(how).unwrap();
        let port = listening.address().port();
        self.listening.lock().unwrap().push(listening);
        port
    }
}

impl Default for Server {
    fn default() -> Self {
        Self::granting(Rights::default())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        assert!(std::thread::panicking() || self.api.unsupported().is_empty(), "{:?}", self.api.unsupported());
    }
}
