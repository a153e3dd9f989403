//! The interceptor's commands as plain data, and which request each applies to. No I/O.
//!
//! A command always names a namespace: the subject handles the probe with the same requests, and
//! changing those would break settling. `nth` selects one of several equal requests; it counts
//! those that *succeeded*, because refusals and conflicts differ from run to run. Before the server
//! acts, requests that are still under way count as well: a subject may send several at once.
//!
//! A request that a command applies to has two sides: the interceptor's ([`ArmedCommand`]), which
//! may wait for a decision, and that of the command's owner ([`MatchedRequest`]).

use std::time::Duration;

use hyper::StatusCode;
use hyper::body::Bytes;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::{RequestInfo, Verb};

/// Before or after the server acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum InterceptPoint {
    /// The request has arrived, but the server has not seen it.
    Before,
    /// The server has acted, but the subject does not know.
    After,
}

/// The requests that a command applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// Requests in this namespace.
    pub namespace: String,
    /// For this resource, plural.
    pub resource: String,
    /// With one of these subresources: `status`, `scale`, or empty for the object itself.
    pub subresources: Vec<String>,
    /// With one of these verbs; empty for all that write.
    pub verbs: Vec<Verb>,
    /// For this object only.
    pub name: Option<String>,
}

/// The effect of a command on a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestAction {
    /// It waits until it is released.
    Hold(InterceptPoint),
    /// The interceptor refuses it in place of the server.
    Refuse(RefusalKind),
    /// The server acts, and its answer is lost.
    Drop,
    /// Its connection is closed, with all requests on it.
    Cut(InterceptPoint),
    /// It reaches the server this much later.
    Delay(Duration),
    /// Its answer is delivered after this many other events and answers.
    Overtaken(u32),
}

/// A status with which the interceptor refuses a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RefusalKind {
    /// 409.
    Conflict,
    /// 422.
    Invalid,
    /// 429, with a retry after a second.
    TooMany,
    /// 500.
    Internal,
    /// 503.
    Unavailable,
}

/// What is to happen to some of the requests that match a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestCommand {
    /// The requests that a command applies to.
    pub on: Pattern,
    /// The number of the first request, from 1.
    pub nth: u32,
    /// Applies to that request only, or to all from there on.
    pub once: bool,
    /// The effect.
    pub action: RequestAction,
}

/// The effect of a command on a watch. Events of other namespaces are not affected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchAction {
    /// Events wait, in order, until the command is disarmed.
    Hold,
    /// Each event is delayed.
    Lag(Duration),
    /// The nth event is repeated.
    Repeat,
    /// After the nth event the watch expires (410).
    Expire,
    /// Like `Expire`, and the following list is as old as if this many of the last events had not
    /// happened: the server's own answer for that version, from which the next watch catches up.
    Old(u32),
    /// The nth event, and those behind it, are delivered after this many other events and answers.
    Overtaken(u32),
}

/// A command for the watch of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchCommand {
    /// The namespace of the events.
    pub namespace: String,
    /// The resource, plural.
    pub resource: String,
    /// The number of the event, from 1, for commands about one event.
    pub nth: u32,
    /// The effect.
    pub action: WatchAction,
}

impl Pattern {
    /// Whether the pattern matches a request.
    pub(crate) fn matches(&self, route: &RequestInfo) -> bool {
        let verb = if self.verbs.is_empty() { route.verb.is_write() } else { self.verbs.contains(&route.verb) };
        verb && !self.namespace.is_empty()
            && self.namespace == route.namespace
            && self.resource == route.resource
            && self.subresources.contains(&route.subresource)
            && self.name.as_ref().is_none_or(|name| *name == route.name)
    }
}

impl RequestAction {
    /// When the action applies.
    pub(crate) fn point(self) -> InterceptPoint {
        match self {
            Self::Hold(point) | Self::Cut(point) => point,
            Self::Refuse(_) | Self::Delay(_) => InterceptPoint::Before,
            Self::Drop | Self::Overtaken(_) => InterceptPoint::After,
        }
    }
}

impl RefusalKind {
    /// All kinds, by code.
    pub(crate) const ALL: [Self; 5] = [Self::Conflict, Self::Invalid, Self::TooMany, Self::Internal, Self::Unavailable];

    /// The delay after which a client may retry.
    pub(crate) fn retry_after(self) -> Option<Duration> {
        (self == Self::TooMany).then_some(Duration::from_secs(1))
    }

    /// The HTTP status.
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::Conflict => StatusCode::CONFLICT,
            Self::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
            Self::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The kind with this code.
    pub fn from_code(code: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|refusal| refusal.status().as_u16() == code)
    }

    /// The body of the response, in the API server's format.
    pub(crate) fn body(self, route: &RequestInfo) -> Value {
        let RequestInfo { group, resource, name, .. } = route;
        let full_name = if group.is_empty() { resource.clone() } else { format!("{resource}.{group}") };
        let (reason, message) = match self {
            Self::Conflict => (
                "Conflict",
                format!(
                    "Operation cannot be fulfilled on {full_name} \"{name}\": the object has been modified; please apply \
                     your changes to the latest version and try again"
                ),
            ),
            Self::Invalid => {
                ("Invalid", format!("{full_name} \"{name}\" is invalid: refused by lockstep's interceptor"))
            }
            Self::TooMany => ("TooManyRequests", "the server has received too many requests".to_owned()),
            Self::Internal => ("InternalError", "Internal error occurred: lockstep's interceptor".to_owned()),
            Self::Unavailable => ("ServiceUnavailable", "the server is currently unable to handle it".to_owned()),
        };
        let mut details = json!({"name": name, "group": group, "kind": resource});
        if let Some(after) = self.retry_after() {
            details["retryAfterSeconds"] = json!(after.as_secs());
        }
        status_body(reason, &message, self.status(), Some(&details))
    }
}

/// A `Status` of a failure.
pub(super) fn status_body(reason: &str, message: &str, code: StatusCode, details: Option<&Value>) -> Value {
    let mut status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code.as_u16()});
    if let Some(details) = details {
        status["details"] = details.clone();
    }
    status
}

/// An armed command, with the number of matching requests so far.
#[derive(Debug, Clone)]
pub(super) struct CommandProgress {
    command: RequestCommand,
    succeeded: u32,
    /// How many have been passed to the server, and have no answer yet.
    under_way: u32,
    done: bool,
}

impl CommandProgress {
    pub(super) fn new(command: RequestCommand) -> Self {
        Self { command, succeeded: 0, under_way: 0, done: false }
    }

    /// Handles an arrived request; returns the action that applies now, if any.
    pub(super) fn on_request(&mut self, route: &RequestInfo) -> Option<RequestAction> {
        if !self.command.on.matches(route) {
            return None;
        }
        let number = self.succeeded + self.under_way + 1;
        let action = self.apply(InterceptPoint::Before, number >= self.command.nth);
        self.under_way += u32::from(action.is_none());
        action
    }

    /// Handles an answered request; returns the action that applies to the answer, if any.
    pub(super) fn on_response(&mut self, route: &RequestInfo, status: u16) -> Option<RequestAction> {
        if !self.command.on.matches(route) {
            return None;
        }
        self.under_way = self.under_way.saturating_sub(1);
        if !(200..300).contains(&status) {
            return None;
        }
        self.succeeded += 1;
        self.apply(InterceptPoint::After, self.succeeded >= self.command.nth)
    }

    /// Whether the command delays an answer until it is overtaken.
    pub(super) fn is_overtaken(&self) -> bool {
        matches!(self.command.action, RequestAction::Overtaken(_))
    }

    /// Whether the command applies to the answer of this request.
    pub(super) fn is_next(&self, route: &RequestInfo) -> bool {
        !self.done && self.command.on.matches(route) && self.succeeded + 1 >= self.command.nth
    }

    fn apply(&mut self, point: InterceptPoint, matches: bool) -> Option<RequestAction> {
        if !matches || self.done || self.command.action.point() != point {
            return None;
        }
        self.done = self.command.once;
        Some(self.command.action)
    }
}

/// A request that a command applies to. A held request continues when this is dropped.
#[derive(Debug)]
pub struct MatchedRequest {
    /// The request.
    pub route: RequestInfo,
    /// Its body; empty unless it is held before the server sees it.
    pub body: Bytes,
    /// The status of the server's answer, if there is one.
    pub status: Option<u16>,
    disposition: Option<oneshot::Sender<Disposition>>,
}

/// The decision about a held request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Disposition {
    Pass,
    Cut,
}

/// A command that applies to a request.
#[derive(Debug)]
pub(super) struct ArmedCommand {
    pub(super) action: RequestAction,
    sender: mpsc::UnboundedSender<MatchedRequest>,
}

impl ArmedCommand {
    pub(super) fn new(action: RequestAction, sender: &mpsc::UnboundedSender<MatchedRequest>) -> Self {
        Self { action, sender: sender.clone() }
    }

    /// Notifies the command's owner; the request is not held.
    pub(super) fn notify(&self, route: &RequestInfo, status: Option<u16>) {
        let intercepted = MatchedRequest { route: route.clone(), body: Bytes::new(), status, disposition: None };
        // The owner may have dropped its end.
        let _ = self.sender.send(intercepted);
    }

    /// Notifies the command's owner, and waits for its decision.
    pub(super) async fn hold(&self, route: &RequestInfo, body: Bytes, status: Option<u16>) -> Disposition {
        let (disposition, decision) = oneshot::channel();
        match self.sender.send(MatchedRequest { route: route.clone(), body, status, disposition: Some(disposition) }) {
            Ok(()) => decision.await.unwrap_or(Disposition::Pass),
            Err(_) => Disposition::Pass,
        }
    }
}

impl MatchedRequest {
    /// Lets it continue.
    pub fn pass(self) {
        drop(self);
    }

    /// Cuts it off, before the server sees it or losing its answer.
    pub fn cut(mut self) {
        if let Some(disposition) = self.disposition.take() {
            let _ = disposition.send(Disposition::Cut);
        }
    }

    /// Whether it was intercepted before or after the server acted.
    #[cfg(test)]
    pub(crate) fn point(&self) -> InterceptPoint {
        if self.status.is_none() { InterceptPoint::Before } else { InterceptPoint::After }
    }
}

#[cfg(test)]
mod tests {
    use hyper::Method;
    use rstest::rstest;

    use super::*;

    const SETS: &str = "/apis/apps/v1/namespaces/ns/replicasets";

    fn route(method: &Method, path: &str) -> RequestInfo {
        RequestInfo::parse(method, path, None)
    }

    fn pattern() -> Pattern {
        let (namespace, resource) = ("ns".to_owned(), "replicasets".to_owned());
        Pattern { namespace, resource, subresources: vec![String::new()], verbs: Vec::new(), name: None }
    }

    #[rstest]
    #[case::create(Method::POST, "ns/replicasets", true)]
    #[case::update(Method::PUT, "ns/replicasets/web-1", true)]
    #[case::delete(Method::DELETE, "ns/replicasets/web-1", true)]
    #[case::read(Method::GET, "ns/replicasets/web-1", false)]
    #[case::status(Method::PUT, "ns/replicasets/web-1/status", false)]
    #[case::other_kind(Method::PUT, "ns/deployments/web", false)]
    #[case::the_probe(Method::PUT, "probe/replicasets/web-1", false)]
    fn pattern_matches_writes_of_its_namespace(#[case] method: Method, #[case] path: &str, #[case] expected: bool) {
        let route = route(&method, &format!("/apis/apps/v1/namespaces/{path}"));
        assert_eq!(pattern().matches(&route), expected);
    }

    #[test]
    fn pattern_without_namespace_matches_nothing() {
        let everywhere = Pattern { namespace: String::new(), ..pattern() };
        assert!(!everywhere.matches(&route(&Method::POST, "/apis/apps/v1/replicasets")));
    }

    #[test]
    fn counts_only_successful_requests() {
        let (create, update) = (route(&Method::POST, SETS), route(&Method::PUT, &format!("{SETS}/web-1")));
        let action = RequestAction::Hold(InterceptPoint::After);
        let mut progress = CommandProgress::new(RequestCommand { on: pattern(), nth: 2, once: true, action });
        let mut write = |route: &RequestInfo, status| (progress.on_request(route), progress.on_response(route, status));
        assert_eq!(write(&create, 201), (None, None));
        assert_eq!(write(&update, 409), (None, None));
        assert_eq!(write(&update, 200), (None, Some(action)));
        assert_eq!(write(&update, 200), (None, None), "once is once");
    }

    #[test]
    fn applies_before_the_server_sees_the_request() {
        let update = route(&Method::PUT, &format!("{SETS}/web-1"));
        let action = RequestAction::Refuse(RefusalKind::Conflict);
        let mut progress = CommandProgress::new(RequestCommand { on: pattern(), nth: 2, once: true, action });
        assert_eq!(progress.on_request(&update), None);
        assert_eq!(progress.on_response(&update, 200), None);
        assert_eq!(progress.on_request(&update), Some(action));
        assert_eq!(progress.on_request(&update), None);
        let mut always = CommandProgress::new(RequestCommand { on: pattern(), nth: 1, once: false, action });
        assert_eq!((always.on_request(&update), always.on_request(&update)), (Some(action), Some(action)));
    }

    #[test]
    fn counts_requests_that_are_under_way_at_once() {
        let create = route(&Method::POST, SETS);
        let action = RequestAction::Refuse(RefusalKind::Invalid);
        let mut progress = CommandProgress::new(RequestCommand { on: pattern(), nth: 3, once: true, action });
        assert_eq!((progress.on_request(&create), progress.on_request(&create)), (None, None));
        assert_eq!(progress.on_response(&create, 409), None);
        assert_eq!(progress.on_request(&create), None, "the refused one does not count");
        assert_eq!(progress.on_request(&create), Some(action));
    }

    #[rstest]
    #[case(RefusalKind::Conflict, 409, "Conflict")]
    #[case(RefusalKind::Invalid, 422, "Invalid")]
    #[case(RefusalKind::TooMany, 429, "TooManyRequests")]
    #[case(RefusalKind::Internal, 500, "InternalError")]
    #[case(RefusalKind::Unavailable, 503, "ServiceUnavailable")]
    fn refusals_have_the_servers_format(#[case] refusal: RefusalKind, #[case] code: u16, #[case] reason: &str) {
        let body = refusal.body(&route(&Method::PUT, &format!("{SETS}/web-1")));
        assert_eq!((&body["kind"], &body["code"], &body["reason"]), (&json!("Status"), &json!(code), &json!(reason)));
        assert_eq!(body["details"]["name"], "web-1");
        assert_eq!(RefusalKind::from_code(code), Some(refusal));
    }
}
