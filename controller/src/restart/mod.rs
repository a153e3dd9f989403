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

pub use config_restart::{
    ConfigKind, ConfigName, ConfigRef, ConfigState, Migration, MigrationSource, WorkloadFacts, WorkloadKind,
    WorkloadName, plan, references, reloader,
};
pub(crate) use controller::RestartController;
pub(crate) use migration::migrate;
