//! Plans the migration from another controller: which workloads restart from then on and for which
//! configs, what has no equivalent, and whether the migration itself restarts anything.
//!
//! ```text
//!  ClusterSnapshot ─► adoption: workloads and their configs ─► AdoptedWorkload ─┐
//!                     (annotations to set, what is lacking)                     ├► Migration
//!                  ─► simulation: the reconciler decides ─► restarts ───────────┘
//!                     (with these annotations)
//! ```
//!
//! Nothing is written. The simulation does not depend on reasoning about the rules: it gives the
//! reconciler everything that was read, as it would see it at its start with every workload
//! annotated, and runs it until nothing waits any more.

mod adoption;
mod report;
mod simulation;

pub use adoption::ClusterSnapshot;
use jiff::Timestamp;
pub use report::{AdoptedWorkload, Migration, MigrationSource};
use rollout_model::ModelError;

use crate::model::workload::WorkloadFacts;
use crate::settings::RestartSettings;

/// Plans a migration.
///
/// # Errors
/// If a workload's metadata is invalid.
pub fn plan_migration(
    cluster: &ClusterSnapshot,
    from: MigrationSource,
    settings: &RestartSettings,
    now: Timestamp,
) -> Result<Migration, ModelError> {
    let (mut adopted, mut workloads) = (Vec::new(), Vec::new());
    for (kind, raw) in &cluster.workloads {
        let workload = WorkloadFacts::read(*kind, raw)?;
        let Some(found) = adoption::adopt(from, workload, cluster, settings, now) else { continue };
        workloads.push(WorkloadFacts::read(*kind, &simulation::annotate(raw, &found.annotations, now))?);
        adopted.push(found);
    }
    let restarts = simulation::simulate_restarts(settings, &cluster.configs, workloads, now);
    Ok(Migration { from, to: settings.profile, adopted, restarts, unread: cluster.unread.clone() })
}
