//! The one way through: every request of the subject's, from its arrival to its answer.

use std::sync::OnceLock;

use http_body_util::{BodyExt, Either, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{CONNECTION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, TE, TRAILER};
use hyper::header::{PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TRANSFER_ENCODING, UPGRADE};
use hyper::http::uri::{Authority, PathAndQuery, Scheme};
use hyper::{Request, Response, StatusCode, Uri};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use kube_apiserver_sim::ApiServer;
use serde_json::Value;
use tokio::sync::Notify;

use super::answer::Answer;
use super::body::{Stream, stream, whole};
use super::command::{Act, Refusal, Side, status_body};
use super::control::Control;
use super::framing::Framing;
use super::log::{InterceptorLog, Ticket};
use super::met::Fate;
use super::refusal;
use super::sent::SentLog;
use super::{Route, Verb};
use crate::causes::chain;
use crate::clock;
use crate::cluster::Dial;

/// Where a subject sends what a webhook is to receive.
pub const WEBHOOK: &str = "/lockstep/webhook";
/// The longest message that is kept, in bytes.
const LONGEST: usize = 64 << 10;

/// What is sent on: as it comes, or what was read of it while it was held.
pub(super) type Outgoing = Either<Stream, Full<Bytes>>;

/// The way to the API server.
#[derive(Debug)]
pub(super) enum Upstream {
    /// Over TLS.
    Wire {
        /// Where it listens.
        server: Authority,
        /// What its paths begin with, where it stands behind somebody else's; mostly nothing.
        base: String,
        /// A client with a pool of connections and no time-outs.
        client: Box<Client<HttpsConnector<Dial>, Outgoing>>,
    },
    /// It is in this process.
    Inside(ApiServer),
}

/// The request gets no answer: in HTTP/1.1 its connection ends, in HTTP/2 its stream.
#[derive(Debug, thiserror::Error)]
#[error("cut off by lockstep's interceptor")]
pub(super) struct Cut;

/// What every connection of the subject's shares.
#[derive(Debug)]
pub(super) struct Passage {
    /// The way to the server.
    pub(super) upstream: Upstream,
    /// What is written down.
    pub(super) log: InterceptorLog,
    /// What is done to some of it.
    pub(super) control: Control,
    /// Every request with its body, where somebody wants them.
    pub(super) sent: OnceLock<SentLog>,
}

impl Passage {
    /// One that writes down and does what these say.
    pub(super) fn new(upstream: Upstream, log: &InterceptorLog, control: &Control) -> Self {
        Self { upstream, log: log.clone(), control: control.clone(), sent: OnceLock::new() }
    }

    /// Let one request through. Dropping the future, which happens when the subject goes away,
    /// takes the request back.
    pub(super) async fn pass(&self, request: Request<Stream>, connection: &Notify) -> Result<Response<Answer>, Cut> {
        let Some(sent) = self.sent.get() else { return self.let_through(request, connection).await };
        let (number, request) = sent.note(request).await.map_err(|_| Cut)?;
        let answer = self.let_through(request, connection).await?;
        sent.answered(number, answer.status().as_u16());
        Ok(answer)
    }

    async fn let_through(&self, request: Request<Stream>, connection: &Notify) -> Result<Response<Answer>, Cut> {
        // Arrived: nobody has seen it yet.
        let mut ticket = self.log.open(&request);
        let request = ticket.tap(request);
        if request.uri().path() == WEBHOOK {
            return message(request, ticket).await;
        }
        if self.control.is_idle() {
            return self.forward(request.map(Either::Left), ticket).await;
        }
        let route = Route::parse(request.method(), request.uri().path(), request.uri().query());
        let begins_anew = request.uri().query().is_some_and(|query| query.contains("sendInitialEvents=true"));
        let waited = self.control.await_kind(&route).await;
        // Asked in any case: a list makes up for a loss as well.
        if (self.control.follows_a_loss(&route) || waited) && route.verb == Verb::Watch && !begins_anew {
            // What was kept from the watch before this one is lost: only a list can make up for it.
            let status = status_body("Expired", "too old resource version", StatusCode::GONE, None);
            return Ok(words(StatusCode::GONE, &status, ticket));
        }
        let request = match self.control.older(&route.resource) {
            Some(_) if begins_anew => {
                // A watch cannot begin in the past; a client that is refused one lists, as before
                // there were such watches.
                return Ok(refuse(Refusal::Invalid, &route, ticket));
            }
            Some(version) if route.verb == Verb::List => {
                self.control.listed_older(&route.resource);
                as_of(request, version)
            }
            _ => request,
        };
        let request = match self.control.arrives(&route) {
            None => request.map(Either::Left),
            Some(order) => match order.act {
                Act::Refuse(refusal) => {
                    order.tell(&route, None);
                    if let Some(after) = refusal.retry_after() {
                        self.log.told_to_retry(&route.namespace, after);
                    }
                    return Ok(refuse(refusal, &route, ticket));
                }
                Act::Cut(_) => {
                    order.tell(&route, None);
                    connection.notify_one();
                    return Err(Cut);
                }
                Act::Delay(time) => {
                    let _late = self.control.late(&route.namespace);
                    order.tell(&route, None);
                    clock::pause(time).await;
                    request.map(Either::Left)
                }
                Act::Hold(_) | Act::Drop | Act::Overtaken(_) => {
                    let (head, body) = request.into_parts();
                    let body = whole(body).await.map_err(|_| Cut)?;
                    if order.hold(&route, body.clone(), None).await == Fate::Cut {
                        return Err(Cut);
                    }
                    Request::from_parts(head, Either::Right(Full::new(body)))
                }
            },
        };
        let answer = self.forward(request, ticket).await?;

        // Answered: the server has acted, the subject does not know it yet.
        let status = answer.status().as_u16();
        let Some(order) = self.control.answered(&route, status) else { return Ok(answer) };
        match order.act {
            Act::Hold(Side::After) => match order.hold(&route, Bytes::new(), Some(status)).await {
                Fate::Pass => Ok(answer),
                Fate::Cut => Err(Cut),
            },
            Act::Overtaken(others) => {
                order.tell(&route, Some(status));
                self.control.overtaken(&route, others).await;
                Ok(answer)
            }
            act => {
                order.tell(&route, Some(status));
                if matches!(act, Act::Cut(_)) {
                    connection.notify_one();
                }
                Err(Cut)
            }
        }
    }

    /// To the server and back.
    async fn forward(&self, request: Request<Outgoing>, mut ticket: Ticket) -> Result<Response<Answer>, Cut> {
        let answered = match &self.upstream {
            Upstream::Wire { server, base, client } => {
                let answer = client.request(readdress(request, server, base)).await;
                answer.map(|answer| answer.map(stream))
            }
            Upstream::Inside(server) => {
                let (head, body) = request.into_parts();
                // The server acts on whole requests: one whose body breaks off takes itself back.
                let body = body.collect().await.map_err(|_| Cut)?.to_bytes();
                Ok(server.handle(Request::from_parts(head, Full::new(body))).await.map(stream))
            }
        };
        Ok(match answered {
            Ok(answer) => {
                let watch = ticket.answered(answer.status().as_u16());
                let (mut head, body) = answer.into_parts();
                let refusal = refusal::Refusal::of(&head, ticket.resource());
                strip(&mut head.headers);
                // Streaming, then finished: both are the body's.
                let body = match watch.filter(|_| head.status.is_success()) {
                    None => Answer::stream(body, refusal, ticket),
                    Some(resource) => {
                        Answer::watch(body, ticket, &self.control, (resource, Framing::of(&head.headers)))
                    }
                };
                Response::from_parts(head, body)
            }
            Err(error) => unreachable_server(&error, ticket),
        })
    }
}

/// The same request, for the API server.
fn readdress(request: Request<Outgoing>, server: &Authority, base: &str) -> Request<Outgoing> {
    let (head, body) = request.into_parts();
    let mut passed = Request::new(body);
    let mut uri = hyper::http::uri::Parts::default();
    uri.scheme = Some(Scheme::HTTPS);
    uri.authority = Some(server.clone());
    uri.path_and_query = Some(within(base, head.uri.path_and_query()));
    *passed.method_mut() = head.method;
    *passed.uri_mut() = Uri::from_parts(uri).expect("scheme, authority and path make a whole URI");
    *passed.headers_mut() = head.headers;
    strip(passed.headers_mut());
    // The client writes the host anew, from the address.
    passed.headers_mut().remove(HOST);
    passed
}

/// The same list as it was at a version; a page that goes on has its version already.
fn as_of(mut request: Request<Stream>, version: u64) -> Request<Stream> {
    let mut parts = request.uri().clone().into_parts();
    let query = query_as_of(request.uri().query().unwrap_or_default(), version);
    parts.path_and_query = format!("{}?{query}", request.uri().path()).parse().ok();
    if let Ok(uri) = Uri::from_parts(parts) {
        *request.uri_mut() = uri;
    }
    request
}

fn query_as_of(query: &str, version: u64) -> String {
    let goes_on = |part: &&str| part.starts_with("continue=") && *part != "continue=";
    if query.split('&').any(|part| goes_on(&part)) {
        return query.to_owned();
    }
    let names = ["resourceVersion=", "resourceVersionMatch="];
    let kept = query.split('&').filter(|part| !part.is_empty() && !names.iter().any(|name| part.starts_with(name)));
    let mut parts: Vec<_> = kept.map(str::to_owned).collect();
    parts.extend([format!("resourceVersion={version}"), "resourceVersionMatch=Exact".to_owned()]);
    parts.join("&")
}

/// The same path below another one.
fn within(base: &str, path: Option<&PathAndQuery>) -> PathAndQuery {
    let path = path.cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
    if base.is_empty() { path } else { format!("{base}{path}").parse().expect("two paths in a row are a path") }
}

/// Remove what belongs to one connection and not to the request or answer (RFC 9110, section
/// 7.6.1).
fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let always = [CONNECTION, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE];
    let odd = ["keep-alive", "proxy-connection"].map(HeaderName::from_static);
    for name in named.into_iter().chain(always).chain(odd) {
        headers.remove(name);
    }
}

/// 502, in the form in which the API server itself reports errors.
fn unreachable_server(error: &dyn std::error::Error, ticket: Ticket) -> Response<Answer> {
    let code = StatusCode::BAD_GATEWAY;
    let message = format!("lockstep's interceptor cannot reach the API server: {}", chain(error));
    words(code, &status_body("ServiceUnavailable", &message, code, None), ticket)
}

/// The answer of a server that says no.
fn refuse(refusal: Refusal, route: &Route, ticket: Ticket) -> Response<Answer> {
    let mut response = words(refusal.status(), &refusal.body(route), ticket);
    if let Some(after) = refusal.retry_after() {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(after.as_secs()));
    }
    response
}

/// A message to the webhook, which is taken.
async fn message(request: Request<Stream>, mut ticket: Ticket) -> Result<Response<Answer>, Cut> {
    let body = Limited::new(request.into_body(), LONGEST).collect().await.map_err(|_| Cut)?.to_bytes();
    ticket.message(String::from_utf8_lossy(&body).into_owned());
    ticket.answered(StatusCode::OK.as_u16());
    Ok(Response::new(Answer::words("ok".to_owned(), ticket)))
}

/// The interceptor's own answer.
fn words(code: StatusCode, status: &Value, mut ticket: Ticket) -> Response<Answer> {
    ticket.answered(code.as_u16());
    if let Some(message) = refusal::message_of(status) {
        ticket.refused_with(message);
    }
    let mut response = Response::new(Answer::words(status.to_string(), ticket));
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_below_another() {
        let path: PathAndQuery = "/api/v1/pods?watch=1".parse().unwrap();
        assert_eq!(within("", Some(&path)), path);
        assert_eq!(within("/k8s/c-1", Some(&path)).as_str(), "/k8s/c-1/api/v1/pods?watch=1");
        assert_eq!(within("/k8s/c-1", None).as_str(), "/k8s/c-1/");
    }

    #[test]
    fn a_list_as_it_was() {
        let old = "limit=500&resourceVersion=41&resourceVersionMatch=Exact";
        assert_eq!(query_as_of("limit=500&resourceVersion=0", 41), old);
        assert_eq!(query_as_of("", 41), "resourceVersion=41&resourceVersionMatch=Exact");
        assert_eq!(query_as_of("limit=500&continue=abc", 41), "limit=500&continue=abc");
    }

    #[test]
    fn headers_of_one_connection_stay_on_it() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "keep-alive, X-Mine"),
            ("x-mine", "1"),
            ("keep-alive", "timeout=5"),
            ("transfer-encoding", "chunked"),
            ("authorization", "Bearer x"),
            ("accept-encoding", "gzip"),
            ("content-type", "application/json"),
        ] {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        strip(&mut headers);
        let mut left: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["accept-encoding", "authorization", "content-type"]);
    }
}
