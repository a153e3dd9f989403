//! What the interceptor can be told to do, as plain data, and which request it is done to. Pure.
//!
//! A command names a namespace, always: the subject looks after the probe by the same requests, and
//! whatever touches those would break settling. Which of several equal requests is meant is said by
//! a number: `nth` counts those that *succeeded*, because refusals and conflicts are not the same
//! from run to run.

use std::time::Duration;

use hyper::StatusCode;
use serde_json::{Value, json};

use super::{Route, Verb};

/// On which side of the server's action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The request has arrived and the server has not seen it.
    Before,
    /// The server has acted and the subject does not know it.
    After,
}

/// Which requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// In this namespace.
    pub namespace: String,
    /// About this resource, plural.
    pub resource: String,
    /// One of these: `status`, `scale`, or empty for the object itself.
    pub subresources: Vec<String>,
    /// Only these verbs; empty for all that write.
    pub verbs: Vec<Verb>,
    /// Only this object.
    pub name: Option<String>,
}

/// What is done to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// It waits until somebody lets it go.
    Hold(Side),
    /// The interceptor answers in the server's place.
    Refuse(Refusal),
    /// The server acts, and its answer is lost.
    Drop,
    /// Its connection is cut, with all that is on it.
    Cut(Side),
    /// It comes so much later.
    Delay(Duration),
    /// Its answer comes after so many others of what the subject learns.
    Overtaken(u32),
}

/// How a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// 409.
    Conflict,
    /// 422.
    Invalid,
    /// 429, to be tried again after a second.
    TooMany,
    /// 500.
    Internal,
    /// 503.
    Unavailable,
}

/// One command about requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Which requests.
    pub on: Pattern,
    /// From which on, counted from 1.
    pub nth: u32,
    /// To that one alone, or to all from there on.
    pub once: bool,
    /// What is done.
    pub act: Act,
}

/// What is done to a watch towards the subject. Events of other namespaces pass as ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchAct {
    /// Events wait, in order, until the command is taken back.
    Hold,
    /// Each event comes so much later.
    Lag(Duration),
    /// The nth event comes twice.
    Repeat,
    /// After the nth event the watch ends: its place is forgotten (410).
    Expire,
    /// The same, and the list that must follow is as old as if the last so many events had not
    /// been: the server's own answer about that version, from which the next watch catches up.
    Old(u32),
    /// The nth event, and those behind it, come after so many others of what the subject learns.
    Overtaken(u32),
}

/// One command about a kind's watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchCommand {
    /// Events of this namespace.
    pub namespace: String,
    /// Of this resource, plural.
    pub resource: String,
    /// Which event, from 1, where one is meant.
    pub nth: u32,
    /// What is done.
    pub act: WatchAct,
}

impl Pattern {
    /// Whether a request is meant.
    pub fn matches(&self, route: &Route) -> bool {
        let verb = if self.verbs.is_empty() { route.verb.is_write() } else { self.verbs.contains(&route.verb) };
        verb && !self.namespace.is_empty()
            && self.namespace == route.namespace
            && self.resource == route.resource
            && self.subresources.contains(&route.subresource)
            && self.name.as_ref().is_none_or(|name| *name == route.name)
    }
}

impl Act {
    /// The moment at which it is done.
    pub fn side(self) -> Side {
        match self {
            Self::Hold(side) | Self::Cut(side) => side,
            Self::Refuse(_) | Self::Delay(_) => Side::Before,
            Self::Drop | Self::Overtaken(_) => Side::After,
        }
    }
}

impl Refusal {
    /// All of them, by code.
    pub const ALL: [Self; 5] = [Self::Conflict, Self::Invalid, Self::TooMany, Self::Internal, Self::Unavailable];

    /// How long a client is told to wait before it tries again.
    pub fn retry_after(self) -> Option<Duration> {
        (self == Self::TooMany).then_some(Duration::from_secs(1))
    }

    /// The HTTP status.
    pub fn status(self) -> StatusCode {
        match self {
            Self::Conflict => StatusCode::CONFLICT,
            Self::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
            Self::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The refusal with this code.
    pub fn of_code(code: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|refusal| refusal.status().as_u16() == code)
    }

    /// The body of the answer, in the form in which the API server itself reports errors.
    pub fn body(self, route: &Route) -> Value {
        let Route { group, resource, name, .. } = route;
        let whole = if group.is_empty() { resource.clone() } else { format!("{resource}.{group}") };
        let (reason, message) = match self {
            Self::Conflict => (
                "Conflict",
                format!(
                    "Operation cannot be fulfilled on {whole} \"{name}\": the object has been modified; please apply \
                     your changes to the latest version and try again"
                ),
            ),
            Self::Invalid => ("Invalid", format!("{whole} \"{name}\" is invalid: refused by lockstep's interceptor")),
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

/// A `Status` that says no.
pub(super) fn status_body(reason: &str, message: &str, code: StatusCode, details: Option<&Value>) -> Value {
    let mut status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code.as_u16()});
    if let Some(details) = details {
        status["details"] = details.clone();
    }
    status
}

/// A command on its way: how many requests have come before the one that is meant.
#[derive(Debug, Clone)]
pub(super) struct Tally {
    command: Command,
    succeeded: u32,
    spent: bool,
}

impl Tally {
    pub(super) fn new(command: Command) -> Self {
        Self { command, succeeded: 0, spent: false }
    }

    /// A request arrived: what is to be done to it now, if anything.
    pub(super) fn arrives(&mut self, route: &Route) -> Option<Act> {
        let meant = self.command.on.matches(route) && self.succeeded + 1 >= self.command.nth;
        self.act(Side::Before, meant)
    }

    /// The server has answered: what is to be done to the answer, if anything.
    pub(super) fn answered(&mut self, route: &Route, status: u16) -> Option<Act> {
        if !self.command.on.matches(route) || !(200..300).contains(&status) {
            return None;
        }
        self.succeeded += 1;
        self.act(Side::After, self.succeeded >= self.command.nth)
    }

    /// Whether the answer waits to be overtaken.
    pub(super) fn is_overtaken(&self) -> bool {
        matches!(self.command.act, Act::Overtaken(_))
    }

    /// Whether this is the request whose answer is meant.
    pub(super) fn is_next(&self, route: &Route) -> bool {
        !self.spent && self.command.on.matches(route) && self.succeeded + 1 >= self.command.nth
    }

    fn act(&mut self, side: Side, meant: bool) -> Option<Act> {
        if !meant || self.spent || self.command.act.side() != side {
            return None;
        }
        self.spent = self.command.once;
        Some(self.command.act)
    }
}

#[cfg(test)]
mod tests {
    use hyper::Method;
    use rstest::rstest;

    use super::*;

    const SETS: &str = "/apis/apps/v1/namespaces/ns/replicasets";

    fn route(method: &Method, path: &str) -> Route {
        Route::parse(method, path, None)
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
    fn a_pattern_means_writes_of_its_namespace(#[case] method: Method, #[case] path: &str, #[case] expected: bool) {
        let route = route(&method, &format!("/apis/apps/v1/namespaces/{path}"));
        assert_eq!(pattern().matches(&route), expected);
    }

    #[test]
    fn a_pattern_without_a_namespace_means_nothing() {
        let everywhere = Pattern { namespace: String::new(), ..pattern() };
        assert!(!everywhere.matches(&route(&Method::POST, "/apis/apps/v1/replicasets")));
    }

    #[test]
    fn only_what_succeeded_is_counted() {
        let (create, update) = (route(&Method::POST, SETS), route(&Method::PUT, &format!("{SETS}/web-1")));
        let act = Act::Hold(Side::After);
        let mut tally = Tally::new(Command { on: pattern(), nth: 2, once: true, act });
        let mut write = |route: &Route, status| (tally.arrives(route), tally.answered(route, status));
        assert_eq!(write(&create, 201), (None, None));
        assert_eq!(write(&update, 409), (None, None));
        assert_eq!(write(&update, 200), (None, Some(act)));
        assert_eq!(write(&update, 200), (None, None), "once is once");
    }

    #[test]
    fn a_request_is_met_before_the_server_sees_it() {
        let update = route(&Method::PUT, &format!("{SETS}/web-1"));
        let act = Act::Refuse(Refusal::Conflict);
        let mut tally = Tally::new(Command { on: pattern(), nth: 2, once: true, act });
        assert_eq!(tally.arrives(&update), None);
        assert_eq!(tally.answered(&update, 200), None);
        assert_eq!(tally.arrives(&update), Some(act));
        assert_eq!(tally.arrives(&update), None);
        let mut always = Tally::new(Command { on: pattern(), nth: 1, once: false, act });
        assert_eq!((always.arrives(&update), always.arrives(&update)), (Some(act), Some(act)));
    }

    #[rstest]
    #[case(Refusal::Conflict, 409, "Conflict")]
    #[case(Refusal::Invalid, 422, "Invalid")]
    #[case(Refusal::TooMany, 429, "TooManyRequests")]
    #[case(Refusal::Internal, 500, "InternalError")]
    #[case(Refusal::Unavailable, 503, "ServiceUnavailable")]
    fn refusals_read_as_the_servers(#[case] refusal: Refusal, #[case] code: u16, #[case] reason: &str) {
        let body = refusal.body(&route(&Method::PUT, &format!("{SETS}/web-1")));
        assert_eq!((&body["kind"], &body["code"], &body["reason"]), (&json!("Status"), &json!(code), &json!(reason)));
        assert_eq!(body["details"]["name"], "web-1");
        assert_eq!(Refusal::of_code(code), Some(refusal));
    }
}
