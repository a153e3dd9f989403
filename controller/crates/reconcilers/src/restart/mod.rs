//! Config restarts: watches configs and workloads, carries out what `config-restart` decides, and
//! reports it.

mod apply;
mod controller;
mod metrics;
mod migration;
mod reload;
mod unlistable;
mod webhook;
mod wire;
mod worker;

pub use controller::RestartController;
pub use migration::migrate;

pub use crate::decisions::restarts::{
    AdoptedWorkload, Baseline, BlockReason, BlockedRestart, ConfigKind, ConfigName, ConfigRef, ConfigState,
    ConfigUsage, Deferral, GroupMembership, GroupPermit, KeySelection, Migration, MigrationSource, NextOpening,
    ObservedWorkload, PacingAnnotations, PendingAnnotation, PlannedRestart, References, RestartCause, RestartPlan,
    RolloutPhase, RolloutStatus, Schedule, ScheduleWindow, Uptime, WaitReason, WorkloadFacts, WorkloadKind,
    WorkloadName, WorkloadWrite, plan, references, reloader,
};
