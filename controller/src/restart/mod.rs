//! Restarts of workloads whose ConfigMaps and Secrets have changed: observe, plan, apply.
//!
//! ```text
//!  ConfigMaps, Secrets ─► checksums ┐                                              ┌► one merge patch: what the pods have,
//!                                   ├► Agent (View, memory) ─► plan ─► Work ─apply─┤   and the trigger in the template
//!  workloads ─► facts, references ──┘                                              └► events, metrics
//! ```
//!
//! A drop-in for xing/kubernetes-deployment-restart-controller: its annotations, its checksums, its metrics, its flags. Two
//! [`Profile`]s: `xing` makes that controller's choices, its defects X1 to X14 included; `safe`, the default, never misses a restart and
//! never rolls a workload out for being adopted. Everything that decides is pure and is told the time.
//!
//! The safe profile's trigger stands under xing's key, so that rules which tell GitOps tools to leave that annotation alone go on to work,
//! but it is derived from data, not from the time. A template that anybody changes replaces the pods, so what changed before it is
//! recorded and does not restart them once more.
//!
//! Numbers of scenarios in comments and tests, such as 26 or X2, are those of the catalogue of behaviours that this follows; the cases
//! of `cases/config-restart` carry them, too.
//!
//! Borders: only `apply` talks to the API server. Values of ConfigMaps and Secrets end in `config.rs`, where they are hashed on arrival; a Secret's
//! hash stays in memory, and only what `keyed.rs` makes of it with a key is written.

mod agent;
mod apply;
mod body;
mod budget;
mod changes;
mod checksum;
mod config;
mod evidence;
mod explain;
mod keyed;
mod memory;
mod plan;
mod references;
mod safe;
mod settings;
mod state;
#[cfg(test)]
mod tests;
mod trigger;
mod view;
mod window;
mod workload;
mod xing;

pub(crate) use agent::{Action, Agent, Numbers, Outcome, Work};
pub(crate) use apply::{ApplyError, Tools, apply};
pub use budget::Budget;
pub(crate) use config::{Config, Described};
pub use keyed::{ChecksumKeyError, ChecksumKeys, SecretChecksums};
pub use plan::{Baseline, Cause, Linked, Observed, Plan, Present, Restart, Wait, Write, plan};
pub use references::{ConfigKind, ConfigName, References, Use, references};
pub use settings::{Profile, RestartSettings};
pub use window::{Moment, Window};
pub use workload::{Held, Workload, WorkloadKind, WorkloadName};
