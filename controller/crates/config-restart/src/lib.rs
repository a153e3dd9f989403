//! Decides which workloads restart because their ConfigMaps and Secrets have changed.
//!
//! **Architecture Invariant:** this crate sends nothing and reads no clock: no client, no async
//! code, no metrics. It knows no rule of Deployments. A time is an argument, and what to send is
//! data.
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
//! Output: `WorkItem`s, which the caller turns into requests and events. Values of ConfigMaps and
//! Secrets go no further than `config.rs`, which hashes them on arrival. A Secret's plain hash
//! stays in memory; only the HMAC that `secret_hmac.rs` makes of it is written.

mod annotation_codec;
mod annotations;
mod block_reason;
pub mod body;
mod budget;
mod cache;
mod checksum;
mod config;
mod decide;
mod engines;
pub mod event_messages;
mod gauges;
mod group_permit;
mod groups;
mod key_selection;
mod managed_fields;
mod memory;
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
pub use block_reason::BlockReason;
pub use config::{ConfigObject, HashedConfig};
pub use decide::plan;
pub use gauges::RestartGauges;
pub use group_permit::GroupPermit;
pub use key_selection::KeySelection;
pub use migrate::{AdoptedWorkload, ClusterSnapshot, Migration, MigrationSource, plan_migration};
pub use pending::PendingAnnotation;
pub use plan::{
    Baseline, BlockedRestart, ConfigRef, ConfigState, ObservedWorkload, PlannedRestart, RestartCause, RestartPlan,
    WaitReason, WorkloadWrite,
};
pub use reconciler::RestartReconciler;
pub use references::{ConfigKind, ConfigName, ConfigUsage, References, references};
pub use rollout::{RolloutPhase, RolloutStatus};
pub use schedule::{NextOpening, Schedule, ScheduleWindow};
pub use settings::{
    Budget, ChecksumKeyError, ChecksumKeys, GroupSettings, Limit, Profile, ReloadStrategy, ReloaderAnnotations,
    ReloaderFlagError, ReloaderSettings, RestartSettings, SecretChecksums, Webhook, WebhookFormat, WebhookUrl, Window,
};
pub use webhook_payload::{WebhookPayload, change_payload, payload_for};
pub use window::Uptime;
pub use work::{WorkAction, WorkItem, WriteOutcome};
pub use workload::{Deferral, WorkloadFacts, WorkloadKind, WorkloadName};
