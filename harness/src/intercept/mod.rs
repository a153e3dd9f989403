//! The interceptor: the only way from a controller under test to the API server.
//!
//! A small TLS reverse proxy on loopback, in this process; for a subject that runs as pods, on the
//! address at which their node reaches this machine. The subject gets a kubeconfig that names the
//! interceptor and the interceptor's own authority, or its pods the like of it; the interceptor
//! passes on everything and writes down who asked for what and what came back. It therefore knows,
//! in any language and on any cluster, which writes are the subject's.
//!
//! What it must not do is to be noticed:
//!
//! * HTTP/1.1 and HTTP/2 towards the subject, whichever it prefers; TLS verified against the
//!   cluster's CA towards the server.
//! * Every frame goes out as it comes in. A watch may be silent for minutes: nothing here has a
//!   time-out. Without a command no other bodies are decoded, so gzip and protobuf pass unseen.
//! * Headers that belong to one connection stay on it; all others pass, `Authorization` among them.
//! * A client that goes away takes its request to the server with it, and the other way round.
//! * Towards the server the connection's flow-control window is as large as it gets: a stream that
//!   nobody reads (a watch that is held) must not dam up the others on the same connection.
//! * Of an answer that is an error, the message of the `Status` is read as it passes (`refusal`),
//!   and of a write of an object whether its status was ignored (`ignored_status`). Nothing else is
//!   read.
//! * A server that cannot be reached is a 502 with a `Status`, as the server itself would say it.
//! * `Upgrade` does not pass: no controller runs `exec` or `port-forward`.
//!
//! hyper speaks the protocols. The passing itself is written here: a library for reverse proxies
//! decides by itself when a body is read and an answer begins, and a hold or a cut must fall
//! between the two.
//!
//! # Where it stands in the way
//!
//! [`Control`] takes commands as data: [`Command`]s about requests, [`WatchCommand`]s about what a kind's watch tells the
//! subject. Every request comes through one function, `Passage::pass`, which has four moments:
//!
//! 1. *arrived*: the request is understood ([`Route`]) and nobody has seen it. Here it is held,
//!    delayed, refused with an answer of the interceptor's own, or cut off. A hold is in place
//!    **before** the request goes to the server (measured: after it, the event overtakes).
//! 2. *answered*: the server has acted and its status is known, the subject knows nothing. Here the
//!    answer is withheld or lost, and the subject killed between its write and the answer.
//! 3. *streaming*: the answer's body, one frame at a time (`Answer`). A held watch keeps reading
//!    from the server into a queue and gives its events out, in order, on release (`Events`).
//! 4. *finished*: the body is through or somebody went away. The log has the request then; a watch
//!    it has since the moment *answered*, as it ends only when its client does.
//!
//! [`WEBHOOK`] is a path of the interceptor's own, which never gets to the server: where a subject that reports to a webhook sends its
//! messages. They are answered with 200, and are in the log with their text.
//!
//! Commands are about one namespace, the case's, always; the probe passes whatever is held. A hold
//! works on a kind, not on a connection: a list or a new watch of a held kind waits until the hold
//! ends, and a watch that would go on where one with held events broke off is told that its place
//! is forgotten. A GET of one object is no cache and passes.
//!
//! Borders: knows HTTP and the shape of API paths; nothing of objects, cases or verdicts.

mod answer;
mod body;
mod command;
mod control;
mod error;
mod events;
mod framing;
mod ignored_status;
mod inside;
mod log;
mod met;
mod overtaken;
mod passage;
mod refusal;
mod request;
mod sent;
mod server;
mod since_start;
#[cfg(test)]
mod tests;

pub use command::{Act, Command, Pattern, Refusal, Side, WatchAct, WatchCommand};
pub use control::{Armed, ArmedWatch, Control};
pub use error::InterceptorError;
pub use kube_apiserver_sim::{Route, Verb};
pub use log::{Connections, InterceptorLog, LogReader};
pub use met::Met;
pub use passage::WEBHOOK;
pub(crate) use refusal::object_of;
pub use request::InterceptedRequest;
pub use sent::{SentLog, SentRequest};
pub use server::Interceptor;
pub use since_start::SinceStart;
