//! The programs that this executable is when a harness has started it again in a role.

use std::path::Path;

use super::EnvironmentError;
use crate::cluster::{SERVER_ROLE, SimulatedServer};
use crate::controllers::Controllers;
use crate::subject::ClusterControllers;
use crate::supervise::{self, Interrupt, interrupt};

/// Become what this process was started as, if it was started in a role; it never returns then.
///
/// To be called as the first thing in `main` of every executable that may run cases.
pub fn main_if_asked() {
    if supervise::role().is_none_or(|role| role != SERVER_ROLE) {
        return supervise::main_if_asked();
    }
    let filter = tracing_subscriber::EnvFilter::new("warn,kube_client=off");
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    supervise::run_role("the simulated server", || {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        interrupt::listen(|_| ())?;
        runtime.block_on(serve())
    })
}

/// Serve until the supervisor ends this process. The arguments are the folder in which to say how
/// the server is reached, and the controllers that are left to the subject.
async fn serve() -> Result<(), EnvironmentError> {
    let words: Vec<String> = std::env::args().skip(2).collect();
    let [folder, without] = words.as_slice() else {
        return Err(std::io::Error::other("wanted: FOLDER CONTROLLERS").into());
    };
    let without: Controllers = without.parse().map_err(std::io::Error::other)?;
    let served = SimulatedServer::start()?;
    let _half = ClusterControllers::Simulated.start(served.client(), &without, None)?;
    served.say(Path::new(folder))?;
    Interrupt::of_process().raised().await;
    Ok(())
}
