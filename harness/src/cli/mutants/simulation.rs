//! The simulated clusters on which mutants play, and the threads that play on them.

use std::time::Duration;

use lockstep_cluster::supervise::Interrupt;
use lockstep_recording::controllers::ControllerSet;
use lockstep_runner::Simulation;
use lockstep_subject::ClusterControllers;
use lockstep_subject::virtual_time::ProgramPool;

/// How long a step may take to settle, in virtual time.
const BUDGET: Duration = Duration::from_secs(20);
/// The name of the threads that play cases.
const PLAYER_THREAD: &str = "player";
/// The stack of a thread that plays cases, in bytes.
const STACK_BYTES: usize = 16 << 20;

/// The options of each simulated cluster.
pub(super) struct SimulationOptions<'a> {
    pub(super) controllers: &'a ClusterControllers,
    /// Upstream's programs, which keep running from case to case.
    pub(super) programs: ProgramPool,
    /// The number of threads that play.
    pub(super) jobs: usize,
}

impl SimulationOptions<'_> {
    /// A simulated cluster without these controllers, which the subject brings.
    pub(super) fn simulation(&self, under_test: ControllerSet, seed: u64) -> Simulation {
        let (interrupt, programs) = (Interrupt::for_process(), self.programs.clone());
        let cluster_controllers = self.controllers.clone();
        let simulation = Simulation::new(under_test, BUDGET);
        Simulation { seed, interrupt, programs, cluster_controllers, ..simulation }
    }
}

/// The builder of a thread that plays cases.
pub(super) fn player_thread() -> std::thread::Builder {
    std::thread::Builder::new().name(PLAYER_THREAD.to_owned()).stack_size(STACK_BYTES)
}

/// Do not print panics of mutants. A mutant that panics counts as a subject that ended.
pub(super) fn silence_players() {
    let print_panic = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().name() != Some(PLAYER_THREAD) {
            print_panic(panic);
        }
    }));
}
