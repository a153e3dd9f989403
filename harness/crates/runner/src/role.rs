//! The roles in which a harness starts this executable again.

use std::path::Path;

use lockstep_cluster::supervise::{self, Interrupt, interrupt};
use lockstep_cluster::{SERVER_ROLE, SimulatedServer};
use lockstep_recording::controllers::ControllerSet;
use lockstep_subject::ClusterControllers;

use super::EnvironmentError;

/// Run the role in which this process was started, if any; never returns then.
///
/// Must be called first in `main` of every executable that may run cases.
pub fn dispatch_role() {
    if supervise::role().is_none_or(|role| role != SERVER_ROLE) {
        return supervise::enter_role();
    }
    let filter = tracing_subscriber::EnvFilter::new("warn,kube_client=off");
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    supervise::run_role("the simulated server", || {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        interrupt::handle_signals(|_| ())?;
        runtime.block_on(serve())
    })
}

/// Serve until the supervisor ends this process. The arguments are a folder, in which to write how
/// the server is reached, and the controllers that are left to the subject.
async fn serve() -> Result<(), EnvironmentError> {
    let words: Vec<String> = std::env::args().skip(2).collect();
    let [folder, without] = words.as_slice() else {
        return Err(std::io::Error::other("wanted: FOLDER CONTROLLERS").into());
    };
    let without: ControllerSet = without.parse().map_err(std::io::Error::other)?;
    let served = SimulatedServer::start()?;
    let _half = ClusterControllers::Simulated.start(served.client(), &without, None)?;
    served.write_access(Path::new(folder))?;
    Interrupt::for_process().wait().await;
    Ok(())
}
