//! The requests to the simulated API server, and which of them it refuses.
//!
//! It grants exactly what the manifests in `deploy/` grant, so a request that they lack fails here
//! as in a cluster. A test may also answer a request in the server's place.

use bytes::Bytes;
use http::{Request, StatusCode, Version, header};
use kube_apiserver_sim::{Reaction, RequestInfo, Verb};
use serde_json::{Value, json};

use crate::rights::Rights;

/// A test's answer in the server's place: status and body.
pub(crate) type Answer = Option<(u16, Value)>;
/// The test's answer to a `VERB path` and a body.
type Substitute = Box<dyn FnMut(&str, &Value) -> Answer + Send>;

/// The requests so far, and which requests the test refuses.
#[derive(Default)]
pub(crate) struct Requests {
    /// `VERB path`, such as `PUT deployments/web/status`, and the body.
    pub(crate) writes: Vec<(String, Value)>,
    /// Lists and watches, such as `LIST pods`.
    pub(crate) reads: Vec<String>,
    /// Method and path of all requests.
    pub(crate) paths: Vec<String>,
    /// The HTTP versions of the clients.
    pub(crate) versions: Vec<Version>,
    /// The credentials of refused requests.
    pub(crate) refused: Vec<String>,
    pub(crate) rights: Rights,
    /// The token that requests must have, if any.
    pub(crate) token: Option<&'static str>,
    pub(crate) refuses_lists: bool,
    /// The resource whose watches are answered with 410.
    pub(crate) expires: Option<&'static str>,
    /// Writes whose `VERB path` begins with this get no response.
    pub(crate) hangs: Option<&'static str>,
    pub(crate) interfere: Option<Substitute>,
}

impl Requests {
    /// Records a request and decides how to react to it.
    pub(crate) fn react(&mut self, request: &Request<Bytes>) -> Reaction {
        self.versions.push(request.version());
        let given = request.headers().get(header::AUTHORIZATION).map_or("", |value| value.to_str().unwrap());
        if self.token.is_some_and(|token| given != format!("Bearer {token}")) {
            self.refused.push(given.to_owned());
            return answer(failure(401, "Unauthorized", "Unauthorized"));
        }
        let (method, path) = (request.method(), request.uri().path());
        let route = RequestInfo::parse(method, path, request.uri().query());
        let RequestInfo { verb, resource, name, subresource, .. } = &route;
        if resource.is_empty() {
            return Reaction::Pass;
        }
        self.paths.push(format!("{method} {path}"));
        if !self.rights.allow(&route) {
            return answer(failure(403, "Forbidden", &format!("deploy/ does not allow {method} {path}")));
        }
        if matches!(verb, Verb::List | Verb::Watch) {
            self.reads.push(format!("{} {resource}", verb.as_str().to_uppercase()));
            return match verb {
                Verb::List if self.refuses_lists => answer(failure(500, "InternalError", "not now")),
                Verb::Watch if self.expires == Some(resource) => answer(failure(410, "Expired", "too old")),
                _ => Reaction::Pass,
            };
        }
        let operation = format!("{method} {resource}/{name}/{subresource}").trim_end_matches('/').to_owned();
        if self.hangs.is_some_and(|hangs| operation.starts_with(hangs)) {
            return Reaction::Hang;
        }
        let body = serde_json::from_slice(request.body()).unwrap_or_default();
        let substitute = self.interfere.as_mut().and_then(|interfere| interfere(&operation, &body));
        self.writes.extend(verb.is_write().then_some((operation, body)));
        substitute.map_or(Reaction::Pass, answer)
    }
}

fn answer((code, body): (u16, Value)) -> Reaction {
    let mut reaction = Reaction::json(StatusCode::from_u16(code).unwrap(), &body);
    // As the server does.
    if let Reaction::Answer(response) = &mut reaction
        && let Some(seconds) = body["details"]["retryAfterSeconds"].as_u64()
    {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    reaction
}

/// A `Status` of a failure.
pub(crate) fn failure(code: u16, reason: &str, message: &str) -> (u16, Value) {
    (code, json!({"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message}))
}
