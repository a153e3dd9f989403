//! The shell around the rules: what watches, queues, starts and ends.
//!
//! ```text
//!                         ┌──────────────► Cache
//!  watches ─────────► Controllers            ▲
//!  (reflector, wire)      │ each change, to  │ observe
//!                         ▼ each in turn     │
//!                   dyn Controller ─┬─ Queued ─► queue ─► look: Deployments | ReplicaSets
//!                                   └─ Restarts: watches and a view of its own
//! ```
//!
//! [`Controllers`] runs a list of objects that implement `Controller` (`controller.rs`), and knows
//! nothing else of them: which objects they look after, what they need in the cache that they
//! share, what they watch besides. Only `chosen.rs` names them all. A controller whose work is a
//! queue of keys is a `Keyed` (`queued.rs`), which says what wakes it and how it looks at one
//! object; its queue hands a key to one worker and never to two. The controllers share the watches
//! and the cache, and nothing else.
//!
//! Comes in: settings, a client, and the rules' observe, plan, apply and triggers. Goes out: a run
//! that ends in order. Borders: nothing in here knows a rule of a rollout, or that there is more
//! than one process; requests and the cache are `api`'s.

#[cfg(test)]
mod cache_test;
mod check;
mod chosen;
mod controller;
mod controllers;
mod deployments;
mod error;
mod informer;
mod lane;
mod migration;
mod queue;
mod queued;
mod ready;
mod reflector;
mod replica_sets;
mod restart_wire;
mod restart_worker;
mod restarts;
mod run;
mod shared;
mod unlisted;
mod webhook;
mod wire;

pub(crate) use check::check;
pub(crate) use controllers::Controllers;
pub use error::RunError;
pub(crate) use migration::migrate;
pub(crate) use run::run_controllers;
