//! What one change does to one workload: plain data in, plain data out.
//!
//! Case: `config-restart/reloader-shared`.

use std::sync::Arc;

use jiff::Timestamp;

use super::super::references::ConfigName;
use super::super::workload::{Workload, WorkloadKind};
use super::annotations::wanted;
use super::change::Change;
use super::pause::{Pause, pause};
use super::strategy::{Write, chosen, write};
use super::target::target;
use crate::settings::ReloaderSettings;

/// One change and one workload of the same namespace.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// The workload.
    pub workload: Arc<Workload>,
    /// The change.
    pub change: Change,
    /// Whether it is known when the workload's pause ends.
    pub ends: bool,
}

/// What is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    /// Nothing.
    Leave,
    /// The workload is restarted.
    Restart(Restart),
    /// It is not, for what it asks for makes no sense; the change is tried again, and given up in
    /// the end.
    Refuse(String),
}

/// A restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restart {
    /// The config that has changed.
    pub config: ConfigName,
    /// What is done about a pause before.
    pub pause: Option<Pause>,
    /// What is written.
    pub write: Write,
}

/// Decides about one change and one workload, whose lists of names are compiled. Pure: the same
/// arguments give the same plan.
pub fn plan(observed: &Observed, now: Timestamp, settings: &ReloaderSettings) -> Plan {
    let Observed { workload, change, ends } = observed;
    let facts = &workload.reloader;
    let wanted = wanted(facts, change, settings);
    let container = wanted.and_then(|wanted| target(facts, &change.config, wanted));
    let Some(write) = container.and_then(|container| write(settings.strategy, container, change, now)) else {
        return Plan::Leave;
    };
    let write = chosen(workload.name.kind, facts, write, now);
    let pause = match workload.name.kind {
        WorkloadKind::Deployment => pause(facts, *ends, now, &settings.annotations),
        _ => Ok(None),
    };
    match pause {
        Ok(pause) => Plan::Restart(Restart { config: change.config.clone(), pause, write }),
        Err(problem) => Plan::Refuse(problem),
    }
}
