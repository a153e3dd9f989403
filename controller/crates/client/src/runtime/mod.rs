//! The runtime around the rules: watches, queues, start and shutdown.
//!
//! ```text
//!                         ┌──────────────► Cache
//!  watches ─────────► Controllers            ▲
//!  (reflector, wire)      │ each change, to  │ observe
//!                         ▼ each in turn     │
//!                   dyn Controller ─┬─ QueueController ─► Queue ─► Reconcile
//!                                   └─ one with watches and a cache of its own
//! ```
//!
//! [`Controllers`] runs a list of objects that implement `Controller` (`controller.rs`) and knows
//! nothing else about them: which objects they reconcile, which kinds they need in the shared
//! cache, what else they watch. Only `registry.rs` names them all. A controller with a work queue
//! implements `Reconcile` (`queue_controller.rs`), which says which changes queue an object and how
//! one is reconciled; the queue never gives a key to two workers. The controllers share the watches
//! and the cache, and nothing else.
//!
//! Inputs are settings, a client, and the rules' observe, plan, apply and triggers; the result is a
//! run that shuts down in order. Nothing here knows a rule, or that there is more than one process;
//! requests and the cache belong to `api`.

mod check;
mod controller;
mod controller_context;
mod controllers;
mod error;
mod informer;
mod queue;
mod queue_controller;
mod ready_keys;
mod reflector;
mod run;
mod shared_state;
mod wire;

pub use check::check;
pub use controller::{CachedKind, Controller, ReconcileRequest, SyncedCallback, Task};
pub use controller_context::{ControllerContext, ReconcileOutcome};
pub use controllers::Controllers;
pub use error::RunError;
pub use informer::Informers;
pub use queue::RetryPolicy;
pub use queue_controller::{QueueController, Reconcile};
pub use reflector::{WatchSink, reflect};
pub use run::{EventQueues, run_controllers};
pub use shared_state::SharedState;
pub use wire::{RawObject, WireObject};
