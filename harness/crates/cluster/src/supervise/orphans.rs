//! What programs leave outside of their process groups, after `setsid` for example: their orphans.
//!
//! On Linux the supervisor adopts them: when their parent ends, the kernel makes the supervisor
//! their parent instead of the init process. Since only a parent reaps a process, the id of an
//! orphan is not reused before the supervisor has reaped it, so no other process is ever killed.
//!
//! Which program has started an orphan is unknown. So orphans are ended only when no program runs.

use std::time::Duration;

use lockstep_support::clock;
use rustix::io::Errno;
use rustix::process::{Signal, WaitId, WaitIdOptions};

use super::ProcessId;

/// The time between two looks for orphans.
const LOOK: Duration = Duration::from_millis(5);

/// Adopts orphans from now on, where the system can do that.
pub(super) fn adopt() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
        eprintln!("orphans are not ended: {error}");
    }
}

/// Kills and reaps all orphans, and those that they leave. Must be called while no program runs, as
/// it reaps every child process. Gives up after a time, as a process with other rights cannot be
/// killed.
pub(super) async fn end(time_limit: Duration) {
    let since = clock::instant();
    while since.elapsed() < time_limit {
        match rustix::process::waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => continue,
            Ok(None) => {}
            // No child is left.
            Err(_) => return,
        }
        for orphan in ProcessId::children() {
            let _ = rustix::process::kill_process(orphan, Signal::KILL);
        }
        clock::pause(LOOK).await;
    }
}
