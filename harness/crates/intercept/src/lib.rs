//! The interceptor: the proxy between the controller under test and the API server.
//!
//! **Architecture Invariant:** it knows HTTP and the format of API paths, not objects, cases or
//! verdicts.
//!
//! It is a small TLS reverse proxy on loopback, in this process; for a subject that runs as pods it
//! listens on the address at which their node reaches this machine. The subject gets a kubeconfig
//! with the interceptor's address and CA, or its pods get the equivalent. The interceptor forwards
//! everything and records each request and its answer. So it knows, in any language and on any
//! cluster, which writes are the subject's.
//!
//! It must be transparent to the subject:
//!
//! * HTTP/1.1 and HTTP/2 to the subject, as it prefers; TLS verified against the cluster's CA to
//!   the server.
//! * Every frame is forwarded as it arrives. A watch may be silent for minutes, so there are no
//!   timeouts. Without a command no bodies are decoded except as below, so gzip and protobuf pass
//!   unread.
//! * Hop-by-hop headers are removed; all others pass, including `Authorization`.
//! * If the client disconnects, its request to the server is cancelled, and the other way round.
//! * The connection's flow-control window to the server is as large as possible: a stream that is
//!   not read (a held watch) must not block others on the same connection.
//! * The message of the `Status` in an error response is read (`refusal_reader`), and for a write
//!   of an object whether its status was ignored (`ignored_status`) and, on request, which version
//!   of the object the answer has (`version_reader`). Nothing else is read.
//! * If the server cannot be reached, the answer is a 502 with a `Status`, in the server's format.
//! * `Upgrade` is not supported: no controller runs `exec` or `port-forward`.
//!
//! hyper implements the protocols. The forwarding is written here: a library for reverse proxies
//! decides by itself when a body is read and an answer begins, and a hold or a cut must happen
//! between the two.
//!
//! # Where commands apply
//!
//! [`Control`] takes commands as data: [`RequestCommand`]s for requests, [`WatchCommand`]s for the
//! watch of a kind. Every request passes one function, `Proxy::pass`, in four stages:
//!
//! 1. *arrived*: the request is parsed ([`RequestInfo`]), and the server has not seen it. Here it
//!    is held, delayed, refused with the interceptor's own answer, or cut off. A hold is in place
//!    **before** the request is sent to the server (measured: otherwise the event overtakes it).
//! 2. *answered*: the server has acted and its status is known, but the subject knows nothing. Here
//!    the answer is withheld or lost, and the subject can be killed between its write and the
//!    answer.
//! 3. *streaming*: the answer's body, one frame at a time (`ForwardedBody`). A held watch keeps
//!    reading from the server into a queue and delivers its events, in order, on release
//!    (`WatchBody`).
//! 4. *finished*: the body is complete or one side has disconnected. The log has the request now; a
//!    watch is logged at *answered*, as it ends only when its client closes it.
//!
//! [`WEBHOOK`] is a path that the interceptor answers itself: a subject that reports to a webhook
//! sends its messages there. They are answered with 200 and logged with their text.
//!
//! Commands always affect one namespace, the case's; the probe's requests always pass. A hold
//! affects a kind, not a connection: a list or a new watch of a held kind waits until the hold
//! ends, and a watch that would continue after one with withheld events gets the answer that its
//! version has expired. A GET of one object is not a cache and passes.

mod command;
mod control;
mod framing;
mod ignored_status;
mod log;
mod proxy;
mod refusal_reader;
mod request;
mod response_body;
mod server;
mod since_start;
#[cfg(test)]
mod tests;
mod version_reader;

pub use command::{
    InterceptPoint, MatchedRequest, Pattern, RefusalKind, RequestAction, RequestCommand, WatchAction, WatchCommand,
};
pub use control::{ArmedWatch, CommandGuard, Control};
pub(crate) use kube_apiserver_sim::RequestInfo;
pub use kube_apiserver_sim::Verb;
pub use log::{ConnectionStats, InterceptorLog, LogReader};
pub use proxy::WEBHOOK;
pub use refusal_reader::object_of;
pub use request::{InterceptedRequest, SentLog, SentRequest};
pub use server::{Interceptor, InterceptorError};
pub use since_start::RequestsSinceStart;
