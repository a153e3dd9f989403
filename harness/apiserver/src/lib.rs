//! The embedded cluster: a Kubernetes API server in this process, on virtual time.
//!
//! It is believed only because every case must come to the same timeline on it as on a real control plane, and because random requests must get
//! the same answers from both. Where it does not know what the real server would say it refuses, by 501, and keeps what it was asked
//! ([`Sim::beyond`]): never a plausible answer.
//!
//! ```text
//! kube::Client ──► Sim (service) ──► Server: request + time ──► answer
//!                                      ├ kinds, api (the table of shapes), defaults, rules, admit, validate, problem
//!                                      ├ write, remove, parts, watch, select, dry
//!                                      ├ store: objects, and the log of every change
//!                                      └ garbage: the cluster's own controllers
//! ```
//!
//! The table of shapes is upstream's own: `cd scripts/api-types && go run . > ../../harness/apiserver/src/api/v1.36.table` prints it anew.
//!
//! What it leaves out: managedFields and server-side apply, protobuf and YAML, authentication and authorization. A body in protobuf is refused
//! by 415, and an answer in it by 406, as by a server that has no such form: the real one has, so this counts as not known too, but a client
//! that can do without it reads from the codes that it has to.
//!
//! Borders: the server itself is pure: the time comes in with each request, and chance from a seed. Only `service` waits, as long as
//! `weather` says, and only `listen` knows sockets.

mod admit;
mod api;
mod body;
mod chance;
mod defaults;
mod discovery;
mod dry;
mod field;
#[path = "controllers.rs"]
mod garbage;
mod jsonpatch;
mod kinds;
mod labels;
mod listen;
mod options;
mod parts;
mod problem;
mod remove;
mod rules;
mod select;
mod server;
mod service;
mod store;
mod syntax;
#[cfg(test)]
mod tests;
mod transcript;
mod validate;
mod watch;
#[path = "latency.rs"]
mod weather;
mod write;

pub(super) use listen::{BEYOND, Listening};
pub use service::{Reply, Sim, Watch};
