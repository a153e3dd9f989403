//! The one way through: every request of the subject's, from its arrival to its answer.

use hyper::body::Incoming;
use hyper::header::{CONNECTION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, TE, TRAILER};
use hyper::header::{PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TRANSFER_ENCODING, UPGRADE};
use hyper::http::uri::{Authority, PathAndQuery, Scheme};
use hyper::{Request, Response, StatusCode, Uri};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error};
use serde_json::json;

use super::answer::Answer;
use super::log::{GateLog, Ticket};

/// The client towards the API server. It has a pool of connections and no time-outs.
pub(super) type Upstream = Client<HttpsConnector<HttpConnector>, Incoming>;

/// What every connection of the subject's shares.
#[derive(Debug)]
pub(super) struct Passage {
    /// Where the API server listens.
    pub(super) server: Authority,
    /// What its paths begin with, where it stands behind somebody else's; mostly nothing.
    pub(super) base: String,
    /// The way to it.
    pub(super) upstream: Upstream,
    /// What is written down.
    pub(super) log: GateLog,
}

impl Passage {
    /// Let one request through. Dropping the future, which happens when the subject goes away, takes the request back.
    pub(super) async fn pass(&self, request: Request<Incoming>) -> Response<Answer> {
        // Arrived: nobody has seen it yet.
        let mut ticket = self.log.open(&request);
        let answer = self.upstream.request(self.readdress(request)).await;

        // Answered: the server has acted, the subject does not know it yet.
        match answer {
            Ok(answer) => {
                ticket.answered(answer.status().as_u16());
                let (mut head, body) = answer.into_parts();
                strip(&mut head.headers);
                // Streaming, then finished: both are the body's.
                Response::from_parts(head, Answer::stream(body, ticket))
            }
            Err(error) => unreachable_server(&error, ticket),
        }
    }

    /// The same request, for the API server.
    fn readdress(&self, request: Request<Incoming>) -> Request<Incoming> {
        let (head, body) = request.into_parts();
        let mut passed = Request::new(body);
        let mut uri = hyper::http::uri::Parts::default();
        uri.scheme = Some(Scheme::HTTPS);
        uri.authority = Some(self.server.clone());
        uri.path_and_query = Some(within(&self.base, head.uri.path_and_query()));
        *passed.method_mut() = head.method;
        *passed.uri_mut() = Uri::from_parts(uri).expect("scheme, authority and path make a whole URI");
        *passed.headers_mut() = head.headers;
        strip(passed.headers_mut());
        // The client writes the host anew, from the address.
        passed.headers_mut().remove(HOST);
        passed
    }
}

/// The same path below another one.
fn within(base: &str, path: Option<&PathAndQuery>) -> PathAndQuery {
    let path = path.cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
    if base.is_empty() { path } else { format!("{base}{path}").parse().expect("two paths in a row are a path") }
}

/// Remove what belongs to one connection and not to the request or answer (RFC 9110, section 7.6.1).
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
fn unreachable_server(error: &Error, mut ticket: Ticket) -> Response<Answer> {
    let code = StatusCode::BAD_GATEWAY;
    let status = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": format!("lockstep's gate cannot reach the API server: {}", chain(error)),
        "reason": "ServiceUnavailable",
        "code": code.as_u16(),
    });
    ticket.answered(code.as_u16());
    let mut response = Response::new(Answer::words(status.to_string(), ticket));
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// An error with what caused it: the outermost alone says only that a request failed.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
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
