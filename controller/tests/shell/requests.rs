//! What the simulated API server was asked, and what it refuses.
//!
//! It grants what the manifests in `deploy/` grant, and nothing else: a request that they forget
//! fails here as in a cluster. A test may answer a request in the server's place.

use bytes::Bytes;
use http::{Request, StatusCode, Version, header};
use kube_apiserver_sim::{Reaction, Route, Verb};
use serde_json::{Value, json};

use crate::rights::Rights;

/// What a test answers in the server's place: status and body.
pub(crate) type Answer = Option<(u16, Value)>;
/// The test's own answer to a `VERB path` and a body.
type Interfere = Box<dyn FnMut(&str, &Value) -> Answer + Send>;

/// What the server was asked so far, and what a test has it refuse.
#[derive(Default)]
pub(crate) struct Requests {
    /// `VERB path`, such as `PUT deployments/web/status`, and the body.
    pub(crate) writes: Vec<(String, Value)>,
    /// Lists and watches, such as `LIST pods`.
    pub(crate) reads: Vec<String>,
    /// Method and path of all requests.
    pub(crate) paths: Vec<String>,
    /// What clients speak.
    pub(crate) versions: Vec<Version>,
    /// The credentials that were refused, one entry a request.
    pub(crate) refused: Vec<String>,
    pub(crate) rights: Rights,
    /// The token without which a request is refused, if there is one.
    pub(crate) token: Option<&'static str>,
    pub(crate) refuses_lists: bool,
    /// Writes whose `VERB path` begins so get no answer.
    pub(crate) hangs: Option<&'static str>,
    pub(crate) interfere: Option<Interfere>,
}

impl Requests {
    /// Keeps a request, and decides what becomes of it.
    pub(crate) fn react(&mut self, request: &Request<Bytes>) -> Reaction {
        self.versions.push(request.version());
        let given = request.headers().get(header::AUTHORIZATION).map_or("", |value| value.to_str().unwrap());
        if self.token.is_some_and(|token| given != format!("Bearer {token}")) {
            self.refused.push(given.to_owned());
            return answer(failure(401, "Unauthorized", "Unauthorized"));
        }
        let (method, path) = (request.method(), request.uri().path());
        let route = Route::parse(method, path, request.uri().query());
        let Route { verb, resource, name, subresource, .. } = &route;
        if resource.is_empty() {
            return Reaction::Pass;
        }
        self.paths.push(format!("{method} {path}"));
        if !self.rights.allow(&route) {
            return answer(failure(403, "Forbidden", &format!("deploy/ does not allow {method} {path}")));
        }
        if matches!(verb, Verb::List | Verb::Watch) {
            self.reads.push(format!("{} {resource}", verb.as_str().to_uppercase()));
            let refuses = self.refuses_lists && *verb == Verb::List;
            return if refuses { answer(failure(500, "InternalError", "not now")) } else { Reaction::Pass };
        }
        let what = format!("{method} {resource}/{name}/{subresource}").trim_end_matches('/').to_owned();
        if self.hangs.is_some_and(|hangs| what.starts_with(hangs)) {
            return Reaction::Hang;
        }
        let body = serde_json::from_slice(request.body()).unwrap_or_default();
        let interfered = self.interfere.as_mut().and_then(|interfere| interfere(&what, &body));
        self.writes.extend(verb.is_write().then_some((what, body)));
        interfered.map_or(Reaction::Pass, answer)
    }
}

fn answer((code, body): (u16, Value)) -> Reaction {
    Reaction::json(StatusCode::from_u16(code).unwrap(), &body)
}

/// A refusal.
pub(crate) fn failure(code: u16, reason: &str, message: &str) -> (u16, Value) {
    (code, json!({"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message}))
}
