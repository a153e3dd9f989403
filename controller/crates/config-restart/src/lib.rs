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
//! Secrets go no further than `model/config.rs`, which hashes them on arrival. A Secret's plain
//! hash stays in memory; only the HMAC that `model/secret_hmac.rs` makes of it is written.
//!
//! The folders, the lowest first; each imports from those before it only.
//!
//! - `names`: the names and kinds of objects. `settings`: all options of restarts.
//! - `pacing`: the window that gathers changes, schedules, budgets, and the turns of a group.
//! - `model`: checksums, facts and references of objects, and the plan for one workload.
//! - `engines`: one for each profile, with its rules; `reconciler` gives it what was observed.
//! - `report` and `migrate`: texts of events and webhooks; the way from another controller.

mod engines;
mod migrate;
mod model;
mod names;
mod pacing;
mod reconciler;
mod report;
mod settings;
#[cfg(test)]
mod tests;

pub use engines::engine::RestartGauges;
pub use engines::work::{WorkAction, WorkItem, WriteOutcome};
pub use engines::{plan, reloader};
pub use migrate::{AdoptedWorkload, ClusterSnapshot, Migration, MigrationSource, plan_migration};
pub use model::annotations::{GroupMembership, PacingAnnotations};
pub use model::body;
pub use model::config::{ConfigObject, HashedConfig};
pub use model::key_selection::KeySelection;
pub use model::pending::{BlockReason, PendingAnnotation};
pub use model::plan::{
    Baseline, BlockedRestart, ConfigRef, ConfigState, ObservedWorkload, PlannedRestart, RestartCause, RestartPlan,
    WaitReason, WorkloadWrite,
};
pub use model::references::{ConfigUsage, References, references};
pub use model::workload::WorkloadFacts;
pub use names::{ConfigKind, ConfigName, Deferral, WorkloadKind, WorkloadName};
pub use pacing::group_permit::GroupPermit;
pub use pacing::rollout::{RolloutPhase, RolloutStatus};
pub use pacing::schedule::{NextOpening, Schedule, ScheduleWindow};
pub use pacing::window::Uptime;
pub use reconciler::RestartReconciler;
pub use report::event_messages;
pub use report::webhook_payload::{WebhookPayload, change_payload, payload_for};
pub use settings::{
    Budget, ChecksumKeyError, ChecksumKeys, GroupSettings, Limit, Profile, ReloadStrategy, ReloaderAnnotations,
    ReloaderFlagError, ReloaderSettings, RestartSettings, SecretChecksums, Webhook, WebhookFormat, WebhookUrl, Window,
};
