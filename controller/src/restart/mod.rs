//! Restarts workloads whose ConfigMaps and Secrets have changed: observe, plan, apply.
//!
//! ```text
//!  ConfigMaps, Secrets ─► checksums ┐
//!                                   ├► RestartReconciler ─► plan ─► WorkItem ─► apply
//!  workloads ─► facts, references ──┘  (RestartCache, WorkloadMemory)
//!
//!  apply ─┬► one merge patch: the checksums of what the pods have, and the trigger in the template
//!         └► events, metrics
//! ```
//!
//! A drop-in replacement for xing/kubernetes-deployment-restart-controller: it has that
//! controller's annotations, checksums, metrics and flags. There are three [`Profile`]s. `xing`
//! makes that controller's choices, including its defects X1 to X14. `safe`, the default, never
//! misses a restart and never rolls a workload out when it adopts it. [`reloader`] makes the
//! choices of Stakater's Reloader. All code that decides is pure: the time is an argument.
//!
//! The safe profile writes its trigger under xing's annotation key, so that rules which tell GitOps
//! tools to ignore that annotation keep working. It derives the value from data, not from the time.
//! A template change by any other writer replaces the pods too, so the changes before it are
//! recorded without another restart.
//!
//! Scenario numbers in comments and tests, such as 26 or X2, are those of the catalogue of
//! behaviours that this module implements. The cases of `cases/config-restart` carry them as well.
//!
//! Input: each observed version of a config or workload, with the time at which it was observed.
//! Output: `WorkItem`s, which `apply` turns into requests and events. Only `apply` and
//! `reloader/apply` talk to the API server, and nothing in this module knows watches, tasks or
//! other controllers. Values of ConfigMaps and Secrets go no further than `config.rs`, which hashes
//! them on arrival. A Secret's plain hash stays in memory; only the HMAC that `secret_hmac.rs`
//! makes of it is written.

mod annotation_codec;
mod annotations;
mod apply;
mod block_reason;
mod body;
mod budget;
mod cache;
mod checksum;
mod config;
mod decide;
mod event_messages;
mod gauges;
mod group_permit;
mod groups;
mod key_selection;
mod managed_fields;
mod memory;
mod metrics;
mod migrate;
mod pending;
mod plan;
mod reconciler;
mod references;
pub mod reloader;
mod rollout;
mod safe;
mod schedule;
mod secret_hmac;
mod settings;
mod shares;
#[cfg(test)]
mod tests;
mod trigger;
mod webhook_payload;
mod window;
mod work;
mod workload;
mod workload_kind;
mod workload_state;
mod xing;
mod xing_queue;

pub use annotations::{GroupMembership, PacingAnnotations};
pub(crate) use apply::{RestartContext, RestartError, apply};
pub use block_reason::BlockReason;
pub(crate) use config::{ConfigObject, HashedConfig};
pub use decide::plan;
pub(crate) use gauges::RestartGauges;
pub use group_permit::GroupPermit;
pub use key_selection::KeySelection;
pub(crate) use metrics::RestartCounters;
pub use migrate::{AdoptedWorkload, Migration, MigrationSource};
pub(crate) use migrate::{ClusterSnapshot, plan_migration};
pub use pending::PendingAnnotation;
pub use plan::{
    Baseline, BlockedRestart, ConfigRef, ConfigState, ObservedWorkload, PlannedRestart, RestartCause, RestartPlan,
    WaitReason, WorkloadWrite,
};
pub(crate) use reconciler::RestartReconciler;
pub use references::{ConfigKind, ConfigName, ConfigUsage, References, references};
pub use rollout::{RolloutPhase, RolloutStatus};
pub use schedule::{NextOpening, Schedule, ScheduleWindow};
pub(crate) use webhook_payload::{WebhookPayload, change_payload, payload_for};
pub use window::Uptime;
pub(crate) use work::WorkItem;
pub use workload::{Deferral, WorkloadFacts, WorkloadKind, WorkloadName};

pub use crate::settings::{
    Budget, ChecksumKeyError, ChecksumKeys, GroupSettings, Limit, Profile, RestartSettings, SecretChecksums, Window,
};
