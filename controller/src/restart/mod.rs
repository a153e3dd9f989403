//! Restarts of workloads whose ConfigMaps and Secrets have changed: observe, plan, apply.
//!
//! ```text
//!  ConfigMaps, Secrets ─► checksums ┐                                              ┌► one merge patch: what the pods have,
//!                                   ├► Agent (View, memory) ─► plan ─► Work ─apply─┤   and the trigger in the template
//!  workloads ─► facts, references ──┘                                              └► events, metrics
//! ```
//!
//! A drop-in for xing/kubernetes-deployment-restart-controller: its annotations, its checksums, its
//! metrics, its flags. Three
//! [`Profile`]s: `xing` makes that controller's choices, its defects X1 to X14 included; `safe`, the default, never misses a restart and
//! never rolls a workload out for being adopted; [`reloader`] makes those of Stakater's Reloader.
//! Everything that decides is pure and is told the time.
//!
//! The safe profile's trigger stands under xing's key, so that rules which tell GitOps tools to
//! leave that annotation alone go on to work, but it is derived from data, not from the time. A
//! template that anybody changes replaces the pods, so what changed before it is recorded and does
//! not restart them once more.
//!
//! Numbers of scenarios in comments and tests, such as 26 or X2, are those of the catalogue of
//! behaviours that this follows; the cases of `cases/config-restart` carry them, too.
//!
//! What was seen of configs and workloads comes in, each with its moment; `Work` goes out, and
//! through `apply` requests and events. Borders: only `apply` and `reloader/apply` talk to the API
//! server, and nothing in here knows a watch, a task, or another controller. Values of ConfigMaps
//! and Secrets end in `config.rs`, where they are hashed on arrival; a Secret's hash stays in
//! memory, and only what `keyed.rs` makes of it with a key is written.

mod agent;
mod apply;
mod body;
mod budget;
mod changes;
mod checksum;
mod config;
mod decide;
mod evidence;
mod explain;
mod groups;
mod keyed;
mod memory;
mod metrics;
mod migrate;
mod notice;
mod numbers;
mod obstacle;
mod pace;
mod pending;
mod plan;
mod references;
pub mod reloader;
mod rollout;
mod safe;
mod schedule;
mod selection;
mod settings;
mod shares;
mod state;
#[cfg(test)]
mod tests;
mod trigger;
mod turn;
mod view;
mod window;
mod work;
mod workload;
mod workload_kind;
mod workload_state;
mod xing;

pub(crate) use agent::Agent;
pub(crate) use apply::{ApplyError, Tools, apply};
pub(crate) use config::{Config, Described};
pub use decide::plan;
pub(crate) use metrics::Counts;
pub use migrate::{Adopted, Migration, Source};
pub(crate) use migrate::{Cluster, migration};
pub(crate) use notice::{Notice, changed, notice};
pub(crate) use numbers::Numbers;
pub use obstacle::Obstacle;
pub use pace::{Pace, Place};
pub use pending::Note;
pub use plan::{Baseline, Cause, Linked, Observed, Plan, Present, Restart, Shut, Wait, Write};
pub use references::{ConfigKind, ConfigName, References, Use, references};
pub use rollout::{Phase, Rollout};
pub use schedule::{Closed, Opening, Schedule};
pub use selection::Selection;
pub use turn::Turn;
pub use window::Moment;
pub(crate) use work::Work;
pub use workload::{Held, Workload, WorkloadKind, WorkloadName};

pub use crate::settings::{
    Budget, ChecksumKeyError, ChecksumKeys, GroupSettings, Limit, Profile, RestartSettings, SecretChecksums, Window,
};
