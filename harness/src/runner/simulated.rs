//! Playing a case on a simulated cluster of its own: no sockets, no processes, and time that costs nothing.
//!
//! Everything runs on the calling thread, on a runtime whose clock is paused. The same case, subject and seed give the same recording.

use std::time::Duration;

use super::{Lab, LabError, Seat, SeatOptions};
use crate::case::Case;
use crate::clock;
use crate::cluster::Cluster;
use crate::controllers::Controllers;
use crate::recording::{Blame, Entry, Recording, Trouble};
use crate::subject::Spec;

/// What a simulation begins with.
#[derive(Debug, Clone)]
pub struct Simulation {
    /// Gives names, uids and the order of things.
    pub seed: u64,
    /// The controllers that the subject brings.
    pub brought: Controllers,
    /// How long one settling may take, in virtual time.
    pub budget: Duration,
}

/// The time of day at the beginning: a Monday's, far from any change of it.
const EPOCH: i64 = 1_767_571_200;

/// Play a case on a new cluster. To be called outside of async code, as it has a runtime of its own.
///
/// # Errors
/// When the subject cannot be started.
pub fn simulated(case: &Case, spec: &Spec, simulation: &Simulation) -> Result<Recording, LabError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    runtime.block_on(async {
        let epoch = jiff::Timestamp::from_second(EPOCH).expect("a second of this century");
        let _simulated = clock::simulate(epoch);
        let cluster = Cluster::simulated(simulation.seed, simulation.brought.clone());
        let sim = cluster.sim.clone();
        let lab = Lab::open(cluster).await?;
        let seat = Seat::take(&lab, spec, &SeatOptions { budget: simulation.budget, pods: None }).await?;
        let mut recording = seat.play(case).await;
        for what in sim.iter().flat_map(|sim| sim.beyond()) {
            recording.entries.push(Entry::Trouble(Trouble { blame: Blame::Lab, why: what }));
        }
        seat.leave().await;
        Ok(recording)
    })
}
