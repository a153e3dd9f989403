//! Forwards every request of the subject, from its arrival to its answer.

use std::sync::OnceLock;

use http_body_util::{BodyExt, Either, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{
    CONNECTION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION,
    RETRY_AFTER, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use hyper::http::uri::{Authority, PathAndQuery, Scheme};
use hyper::{Request, Response, StatusCode, Uri};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use kube_apiserver_sim::ApiServer;
use lockstep_cluster::Dialer;
use lockstep_cluster::error_chain::chain;
use lockstep_support::clock;
use serde_json::Value;
use tokio::sync::Notify;

use super::command::{Disposition, InterceptPoint, RefusalKind, RequestAction, status_body};
use super::control::Control;
use super::framing::Framing;
use super::log::{InterceptorLog, Ticket};
use super::request::{BodyStream, SentLog, collect, stream};
use super::response_body::ForwardedBody;
use super::{RequestInfo, Verb, refusal_reader};

/// The path to which a subject sends webhook messages.
pub const WEBHOOK: &str = "/lockstep/webhook";
/// The maximum size of a webhook message, in bytes.
const MAX_MESSAGE: usize = 64 << 10;

/// The body of a forwarded request: streamed, or collected while it was held.
pub(super) type OutgoingBody = Either<BodyStream, Full<Bytes>>;

/// The connection to the API server.
#[derive(Debug)]
pub(super) enum Upstream {
    /// Over TLS.
    Remote {
        /// The server's address.
        server: Authority,
        /// The prefix of its paths, if it is behind another server; usually empty.
        base: String,
        /// A client with a connection pool and no timeouts.
        client: Box<Client<HttpsConnector<Dialer>, OutgoingBody>>,
    },
    InProcess(ApiServer),
}

/// The request gets no answer: in HTTP/1.1 its connection is closed, in HTTP/2 its stream.
#[derive(Debug, thiserror::Error)]
#[error("cut off by lockstep's interceptor")]
pub(super) struct CutConnection;

/// The state that all connections of the subject share.
#[derive(Debug)]
pub(super) struct Proxy {
    /// The connection to the server.
    pub(super) upstream: Upstream,
    /// The log of requests.
    pub(super) log: InterceptorLog,
    /// The armed commands.
    pub(super) control: Control,
    /// Records every request with its body, if enabled.
    pub(super) sent: OnceLock<SentLog>,
}

impl Proxy {
    /// A proxy with this log and these commands.
    pub(super) fn new(upstream: Upstream, log: &InterceptorLog, control: &Control) -> Self {
        Self { upstream, log: log.clone(), control: control.clone(), sent: OnceLock::new() }
    }

    /// Handles one request. Dropping the future, which happens when the subject disconnects,
    /// cancels the request.
    pub(super) async fn pass(
        &self,
        request: Request<BodyStream>,
        connection: &Notify,
    ) -> Result<Response<ForwardedBody>, CutConnection> {
        let Some(sent) = self.sent.get() else { return self.intercept(request, connection).await };
        let (number, request) = sent.record(request).await.map_err(|_| CutConnection)?;
        let answer = self.intercept(request, connection).await?;
        sent.record_status(number, answer.status().as_u16());
        Ok(answer)
    }

    /// The request has arrived, and the server has not seen it yet.
    async fn intercept(
        &self,
        request: Request<BodyStream>,
        connection: &Notify,
    ) -> Result<Response<ForwardedBody>, CutConnection> {
        let mut ticket = self.log.open(&request);
        let request = ticket.tap(request);
        if request.uri().path() == WEBHOOK {
            return message(request, ticket).await;
        }
        if self.control.is_idle() {
            return self.forward(request.map(Either::Left), ticket).await;
        }
        let route = RequestInfo::parse(request.method(), request.uri().path(), request.uri().query());
        let starts_with_list = request.uri().query().is_some_and(|query| query.contains("sendInitialEvents=true"));
        let waited = self.control.wait_while_held(&route).await;
        // Check this first, in any case: a list makes up for lost events as well.
        if (self.control.must_relist(&route) || waited) && route.verb == Verb::Watch && !starts_with_list {
            // The events that were withheld from the previous watch are lost: only a list can make
            // up for them.
            let status = status_body("Expired", "too old resource version", StatusCode::GONE, None);
            return Ok(status_response(StatusCode::GONE, &status, ticket));
        }
        let request = match self.control.list_version(&route.resource) {
            Some(_) if starts_with_list => {
                // A watch cannot begin in the past; a client that is refused such a watch falls
                // back to a list.
                self.control.record_refused_watch(&route.resource);
                return Ok(refuse(RefusalKind::Invalid, &route, ticket));
            }
            Some(version) if route.verb == Verb::List => {
                self.control.clear_list_version(&route.resource);
                list_at_version(request, version)
            }
            _ => request,
        };
        let request = match self.control.on_request(&route) {
            None => request.map(Either::Left),
            Some(command) => match command.action {
                RequestAction::Refuse(refusal) => {
                    command.notify(&route, None);
                    if let Some(after) = refusal.retry_after() {
                        self.log.note_retry_after(&route.namespace, after);
                    }
                    return Ok(refuse(refusal, &route, ticket));
                }
                RequestAction::Cut(_) => {
                    command.notify(&route, None);
                    connection.notify_one();
                    return Err(CutConnection);
                }
                RequestAction::Delay(time) => {
                    let _late = self.control.late(&route.namespace);
                    command.notify(&route, None);
                    clock::pause(time).await;
                    request.map(Either::Left)
                }
                RequestAction::Hold(_) | RequestAction::Drop | RequestAction::Overtaken(_) => {
                    let (head, body) = request.into_parts();
                    let body = collect(body).await.map_err(|_| CutConnection)?;
                    if command.hold(&route, body.clone(), None).await == Disposition::Cut {
                        return Err(CutConnection);
                    }
                    Request::from_parts(head, Either::Right(Full::new(body)))
                }
            },
        };
        let answer = self.forward(request, ticket).await?;
        self.intercept_answer(answer, &route, connection).await
    }

    /// The server has acted, and the subject does not know yet.
    async fn intercept_answer(
        &self,
        answer: Response<ForwardedBody>,
        route: &RequestInfo,
        connection: &Notify,
    ) -> Result<Response<ForwardedBody>, CutConnection> {
        let status = answer.status().as_u16();
        let Some(command) = self.control.on_response(route, status) else { return Ok(answer) };
        match command.action {
            RequestAction::Hold(InterceptPoint::After) => match command.hold(route, Bytes::new(), Some(status)).await {
                Disposition::Pass => Ok(answer),
                Disposition::Cut => Err(CutConnection),
            },
            RequestAction::Overtaken(others) => {
                command.notify(route, Some(status));
                self.control.wait_to_be_overtaken(route, others).await;
                Ok(answer)
            }
            act => {
                command.notify(route, Some(status));
                if matches!(act, RequestAction::Cut(_)) {
                    connection.notify_one();
                }
                Err(CutConnection)
            }
        }
    }

    /// Forwards a request to the server and returns its answer.
    async fn forward(
        &self,
        request: Request<OutgoingBody>,
        mut ticket: Ticket,
    ) -> Result<Response<ForwardedBody>, CutConnection> {
        let answered = match &self.upstream {
            Upstream::Remote { server, base, client } => {
                let answer = client.request(readdress(request, server, base)).await;
                answer.map(|answer| answer.map(stream))
            }
            Upstream::InProcess(server) => {
                let (head, body) = request.into_parts();
                // The server acts on complete requests: one whose body breaks off is cancelled.
                let body = body.collect().await.map_err(|_| CutConnection)?.to_bytes();
                Ok(server.handle(Request::from_parts(head, Full::new(body))).await.map(stream))
            }
        };
        Ok(match answered {
            Ok(answer) => {
                let watch = ticket.record_answer(answer.status().as_u16());
                let (mut head, body) = answer.into_parts();
                let refusal = refusal_reader::RefusalReader::of(&head, ticket.resource());
                strip_hop_by_hop(&mut head.headers);
                // The body handles the stages streaming and finished.
                let body = match watch.filter(|_| head.status.is_success()) {
                    None => ForwardedBody::stream(body, refusal, ticket),
                    Some(resource) => {
                        ForwardedBody::watch(body, ticket, &self.control, (resource, Framing::of(&head.headers)))
                    }
                };
                Response::from_parts(head, body)
            }
            Err(error) => bad_gateway(&error, ticket),
        })
    }
}

/// Readdresses a request to the API server.
fn readdress(request: Request<OutgoingBody>, server: &Authority, base: &str) -> Request<OutgoingBody> {
    let (head, body) = request.into_parts();
    let mut passed = Request::new(body);
    let mut uri = hyper::http::uri::Parts::default();
    uri.scheme = Some(Scheme::HTTPS);
    uri.authority = Some(server.clone());
    uri.path_and_query = Some(join_paths(base, head.uri.path_and_query()));
    *passed.method_mut() = head.method;
    *passed.uri_mut() = Uri::from_parts(uri).expect("scheme, authority and path make a whole URI");
    *passed.headers_mut() = head.headers;
    strip_hop_by_hop(passed.headers_mut());
    // The client sets the host from the address.
    passed.headers_mut().remove(HOST);
    passed
}

/// Makes a list be answered at a version; a following page has its version already.
fn list_at_version(mut request: Request<BodyStream>, version: u64) -> Request<BodyStream> {
    let mut parts = request.uri().clone().into_parts();
    let query = query_at_version(request.uri().query().unwrap_or_default(), version);
    parts.path_and_query = format!("{}?{query}", request.uri().path()).parse().ok();
    if let Ok(uri) = Uri::from_parts(parts) {
        *request.uri_mut() = uri;
    }
    request
}

fn query_at_version(query: &str, version: u64) -> String {
    let goes_on = |part: &&str| part.starts_with("continue=") && *part != "continue=";
    if query.split('&').any(|part| goes_on(&part)) {
        return query.to_owned();
    }
    let names = ["resourceVersion=", "resourceVersionMatch="];
    let remaining =
        query.split('&').filter(|part| !part.is_empty() && !names.iter().any(|name| part.starts_with(name)));
    let mut parts: Vec<_> = remaining.map(str::to_owned).collect();
    parts.extend([format!("resourceVersion={version}"), "resourceVersionMatch=Exact".to_owned()]);
    parts.join("&")
}

/// Joins a prefix and a path.
fn join_paths(base: &str, path: Option<&PathAndQuery>) -> PathAndQuery {
    let path = path.cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
    if base.is_empty() { path } else { format!("{base}{path}").parse().expect("two paths in a row are a path") }
}

/// Removes hop-by-hop headers (RFC 9110, section 7.6.1).
fn strip_hop_by_hop(headers: &mut HeaderMap) {
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

/// A 502, in the API server's format.
fn bad_gateway(error: &dyn std::error::Error, ticket: Ticket) -> Response<ForwardedBody> {
    let code = StatusCode::BAD_GATEWAY;
    let message = format!("lockstep's interceptor cannot reach the API server: {}", chain(error));
    status_response(code, &status_body("ServiceUnavailable", &message, code, None), ticket)
}

fn refuse(refusal: RefusalKind, route: &RequestInfo, ticket: Ticket) -> Response<ForwardedBody> {
    let mut response = status_response(refusal.status(), &refusal.body(route), ticket);
    if let Some(after) = refusal.retry_after() {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(after.as_secs()));
    }
    response
}

/// Accepts a message to the webhook.
async fn message(request: Request<BodyStream>, mut ticket: Ticket) -> Result<Response<ForwardedBody>, CutConnection> {
    let body = Limited::new(request.into_body(), MAX_MESSAGE).collect().await.map_err(|_| CutConnection)?.to_bytes();
    ticket.message(String::from_utf8_lossy(&body).into_owned());
    ticket.record_answer(StatusCode::OK.as_u16());
    Ok(Response::new(ForwardedBody::text("ok".to_owned(), ticket)))
}

/// The interceptor's own response.
fn status_response(code: StatusCode, status: &Value, mut ticket: Ticket) -> Response<ForwardedBody> {
    ticket.record_answer(code.as_u16());
    if let Some(message) = refusal_reader::message_of(status) {
        ticket.refused_with(message);
    }
    let mut response = Response::new(ForwardedBody::text(status.to_string(), ticket));
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_prefix_and_path() {
        let path: PathAndQuery = "/api/v1/pods?watch=1".parse().unwrap();
        assert_eq!(join_paths("", Some(&path)), path);
        assert_eq!(join_paths("/k8s/c-1", Some(&path)).as_str(), "/k8s/c-1/api/v1/pods?watch=1");
        assert_eq!(join_paths("/k8s/c-1", None).as_str(), "/k8s/c-1/");
    }

    #[test]
    fn list_query_has_exact_version() {
        let old = "limit=500&resourceVersion=41&resourceVersionMatch=Exact";
        assert_eq!(query_at_version("limit=500&resourceVersion=0", 41), old);
        assert_eq!(query_at_version("", 41), "resourceVersion=41&resourceVersionMatch=Exact");
        assert_eq!(query_at_version("limit=500&continue=abc", 41), "limit=500&continue=abc");
    }

    #[test]
    fn removes_hop_by_hop_headers() {
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
        strip_hop_by_hop(&mut headers);
        let mut left: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["accept-encoding", "authorization", "content-type"]);
    }
}
