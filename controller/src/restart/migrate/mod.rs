//! What it means to take over from another controller: which workloads are restarted from now on,
//! for which configs, what has no equivalent, and that taking them over restarts nothing.
//!
//! ```text
//!  what the cluster has ─► source: who is looked after, for what ─► Adopted: annotations to set, what is lacking ─┐
//!                                                                                                                 ├► Migration
//!                             the same with these annotations, in memory ─► proof: the agent itself decides ──────┘
//! ```
//!
//! Nothing is written. The proof is no promise about rules: the agent that would run is given all
//! that was read, as it would see it at its start with every workload annotated, and is asked what
//! it does until nothing waits any more.

mod cluster;
mod from;
mod proof;
mod report;
mod source;

use jiff::Timestamp;

pub(crate) use cluster::Cluster;
pub use from::Source;
pub use report::{Adopted, Migration};

use super::workload::Workload;
use crate::model::ModelError;
use crate::settings::RestartSettings;

/// Says what it means.
///
/// # Errors
/// If a workload's metadata makes no sense.
pub(crate) fn migration(
    cluster: &Cluster,
    from: Source,
    settings: &RestartSettings,
    now: Timestamp,
) -> Result<Migration, ModelError> {
    let (mut adopted, mut workloads) = (Vec::new(), Vec::new());
    for (kind, raw) in &cluster.workloads {
        let workload = Workload::read(*kind, raw)?;
        let Some(found) = source::adopted(from, workload, cluster, settings, now) else { continue };
        workloads.push(Workload::read(*kind, &proof::annotated(raw, &found.annotations, now))?);
        adopted.push(found);
    }
    let restarts = proof::restarts(settings, &cluster.configs, workloads, now);
    Ok(Migration { from, to: settings.profile, adopted, restarts, unread: cluster.unread.clone() })
}
