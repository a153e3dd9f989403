//! Runs Go controllers in virtual time: those of upstream's kube-controller-manager, or a user's,
//! on the simulated cluster, without a socket to it and without real time.
//!
//! The controllers run in a separate program, such as `kube-controller-manager-virtual`, inside a
//! *bubble* of Go's package `testing/synctest`: its clock advances only when every goroutine waits,
//! and its requests go to this process instead of a network. This process has the API server, the
//! interceptor and the clock. The two communicate in turns (`harness/go/PROTOCOL.md`): the bubble
//! reports its requests and its next timer, and receives one answer, one watch event, or the
//! command to advance its clock.
//!
//! ```text
//!  pool ──► process ──frames──► kube-controller-manager-virtual (a child of the supervisor)
//!              ▲
//!            link ◄── bubble: one task of the simulation, the subject or the cluster's controllers
//!                        └── requests ──► interceptor ──► simulated server
//! ```
//!
//! * `program` finds the program; `process` starts it and exchanges frames; `pool` holds those
//!   without a case, and the link to the one of a case.
//! * `bubble` is the task of one case. It reads a frame by blocking its thread, which stops the
//!   simulation: while the controllers compute, virtual time does not pass, as in their bubble.
//! * `requests` are the pending requests and watches. Each is polled like a client's, so that
//!   latency, faults, holds and lagging watches are as for `ours`. Of the answers and events that
//!   are ready at one instant the seed chooses the next; with seed 0 watch events come in the order
//!   of their writes, then answers. The seed also draws the duration of watches.
//! * A crash of the controller ends a bubble and starts another one in the same program.
//! * A program that does not answer within `process::ANSWER_TIMEOUT` of real time prints its
//!   goroutines and is ended; that is a failure of the environment, not of the subject.
//!
//! # Two clocks
//!
//! The bubble's clock follows the simulation's: before each stimulus it advances to the present,
//! and the task sleeps until the bubble's next timer. The simulation's timers end at whole
//! milliseconds, so such a timer is late by less than one. Within one instant of the simulation the
//! bubble's clock advances by a nanosecond for each stimulus, because upstream names its Events
//! after the time, and a server refuses a second Event of the same name. A due timer fires before
//! the next stimulus; otherwise the Go scheduler would choose the order.

mod bubble;
mod frames;
mod pool;
mod process;
mod program;
mod requests;

use std::path::{Path, PathBuf};

use bubble::Bubble;
use lockstep_recording::Trouble;
use pool::ProgramLink;
pub use pool::{ProgramPool, VirtualTime};
use program::VirtualProgram;
pub use program::{PROGRAM, available, built};

use crate::{LogSource, SubjectError};

/// The subject of one case, or its cluster's controllers: a task of the simulation with its
/// program.
#[derive(Debug)]
pub(super) struct VirtualTask {
    handle: tokio::task::JoinHandle<()>,
    link: ProgramLink,
    pool: ProgramPool,
    log: PathBuf,
    /// The length of the log when the case began.
    printed: u64,
}

/// Starts a bubble of upstream with these controllers; also returns the program's name and version.
pub(super) fn start(
    selector: Option<&str>,
    client: Option<kube::Client>,
    virtual_time: Option<&VirtualTime>,
    controllers: &[&str],
) -> Result<(VirtualTask, String), SubjectError> {
    begin(&program::find(selector)?, client, virtual_time, controllers)
}

/// Starts a bubble of a user's program.
pub(super) fn start_custom(
    path: &Path,
    client: Option<kube::Client>,
    virtual_time: Option<&VirtualTime>,
    controllers: &[&str],
) -> Result<(VirtualTask, String), SubjectError> {
    begin(&VirtualProgram::custom(path)?, client, virtual_time, controllers)
}

/// Checks that a user's program exists.
pub(super) fn check_custom(path: &Path) -> Result<(), SubjectError> {
    VirtualProgram::custom(path).map(drop)
}

fn begin(
    program: &VirtualProgram,
    client: Option<kube::Client>,
    virtual_time: Option<&VirtualTime>,
    controllers: &[&str],
) -> Result<(VirtualTask, String), SubjectError> {
    let (Some(client), Some(VirtualTime { pool, seed })) = (client, virtual_time) else {
        return Err(SubjectError::Outside(program.display()));
    };
    let process = pool.take(program)?;
    let hello = process.hello();
    if let Some(lacking) = controllers.iter().find(|one| !hello.controllers.iter().any(|has| has == *one)) {
        let (subject, name, version) = (program.display(), &program.name, &hello.version);
        return Err(SubjectError::Virtual { subject, why: format!("{name} {version} has no {lacking} controller") });
    }
    let title = format!("{} {}", hello.program, hello.version);
    let (log, printed) = (process.log().to_owned(), process.printed());
    let link = ProgramLink::new(process);
    let controllers = controllers.iter().map(|one| (*one).to_owned()).collect();
    let bubble = Bubble::new(link.clone(), client, *seed);
    let handle = tokio::spawn(bubble.run(controllers));
    Ok((VirtualTask { handle, link, pool: pool.clone(), log, printed }, title))
}

impl VirtualTask {
    /// Why it has ended, if it has, and who is to blame.
    pub(super) fn ended(&self) -> Option<Trouble> {
        self.link.trouble()
    }

    /// The program's output since the case began.
    pub(super) fn log_source(&self) -> LogSource {
        LogSource::of_file(&self.log, self.printed)
    }

    /// Ends the bubble at once; the program returns to the pool.
    pub(super) async fn end(self) {
        self.handle.abort();
        self.handle.await.ok();
        if let Some(process) = self.link.end() {
            self.pool.put(process);
        }
    }
}
