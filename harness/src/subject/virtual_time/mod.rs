//! Controllers in Go in virtual time: those of upstream's kube-controller-manager, or somebody's
//! own, on the simulated cluster, without a socket to it and without real time.
//!
//! The controllers run in a program of their own, such as `kube-controller-manager-virtual`, inside
//! a *bubble* of Go's package `testing/synctest`: its clock moves only when every goroutine waits,
//! and their requests go to this process instead of a network. This process has the API server, the
//! interceptor and the clock. The two speak in turns (`harness/go/PROTOCOL.md`): the bubble says
//! which requests it makes and when its next timer is due, and is handed one answer or one watch
//! event, or is told to let time pass.
//!
//! ```text
//!  pool ──► process ──frames──► kube-controller-manager-virtual (a child of the supervisor, for many cases)
//!              ▲
//!            link ◄── bubble: one task of the simulation, the subject or the cluster's controllers
//!                        └── calls: its requests ──► interceptor ──► simulated server
//! ```
//!
//! * Config-restart controllers of other projects run in the same way, each in a program of its own
//!   ([`super::Reference`]).
//! * `program` finds the program; `process` starts it and exchanges frames; `pool` keeps those that
//!   have no case.
//! * `bubble` is the task of one case. It reads a frame by blocking its thread, which stops the
//!   simulation: while the controllers think no virtual time passes, as in their bubble.
//! * `calls` are the requests and watches that are under way. Each is polled as a client's is, so
//!   that latency, faults, holds and lagging watches are those of `ours`. Of the answers and events
//!   that are there at one instant the seed chooses the next; with seed 0 watch events come in the
//!   order of their writes, and then answers. How long a watch lasts the seed draws as well.
//! * A crash of the controller is the end of a bubble and the beginning of another, in the same
//!   program.
//! * A program that does not answer in `process::PATIENCE` of real time is asked what its
//!   goroutines do (`dump`) and ended; that is the environment's failure, not the subject's.
//!
//! # Two clocks
//!
//! The bubble's clock follows the simulation's: before it is handed anything it is moved to the
//! present, and the task sleeps until the bubble's next timer is due. The simulation's timers end
//! at whole milliseconds, so such a timer is late by less than one. Within one instant of the
//! simulation the bubble's clock goes ahead by a nanosecond for each thing that it is handed,
//! because upstream names its Events after the time, and a server refuses the second of a name. A
//! timer that is due fires before the next thing is handed over; else the Go scheduler chose which
//! comes first.

mod bubble;
mod calls;
mod chance;
mod dump;
mod frames;
mod link;
mod pool;
mod process;
mod program;

use std::path::{Path, PathBuf};

pub use pool::Pool;
pub use program::{PROGRAM, available, built};

use super::{LogSource, Spec, SubjectError};
use crate::controllers::Controller;
use crate::recording::Trouble;
use bubble::Bubble;
use link::Link;
use program::Program;

/// What a subject in virtual time is started with.
#[derive(Debug, Clone)]
pub struct Virtual {
    /// Where programs are kept between cases.
    pub pool: Pool,
    /// Chooses the order of what is ready at one instant.
    pub seed: u64,
}

/// The subject of one case, or its cluster's controllers: a task of the simulation, and a program
/// behind it.
#[derive(Debug)]
pub(super) struct Task {
    handle: tokio::task::JoinHandle<()>,
    link: Link,
    pool: Pool,
    log: PathBuf,
    /// How much the log held when the case began.
    printed: u64,
}

/// Begin a bubble of upstream with these controllers; what the program calls itself comes with it.
pub(super) fn start(
    which: Option<&str>,
    client: Option<kube::Client>,
    virtual_time: Option<&Virtual>,
    controllers: &[&str],
) -> Result<(Task, String), SubjectError> {
    begin(&program::find(which)?, client, virtual_time, controllers, Vec::new())
}

/// The same of somebody's own program.
pub(super) fn start_own(
    path: &Path,
    client: Option<kube::Client>,
    virtual_time: Option<&Virtual>,
    controllers: &[&str],
) -> Result<(Task, String), SubjectError> {
    begin(&Program::own(path)?, client, virtual_time, controllers, Vec::new())
}

/// Check that somebody's own program is there.
pub(super) fn check_own(path: &Path) -> Result<(), SubjectError> {
    Program::own(path).map(drop)
}

/// The same of another project's controllers, with these flags.
pub(super) fn start_reference(
    subject: &Spec,
    path: PathBuf,
    client: Option<kube::Client>,
    virtual_time: Option<&Virtual>,
    flags: Vec<String>,
) -> Result<(Task, String), SubjectError> {
    begin(&Program::of(subject, path), client, virtual_time, &[Controller::ConfigRestart.as_str()], flags)
}

fn begin(
    program: &Program,
    client: Option<kube::Client>,
    virtual_time: Option<&Virtual>,
    controllers: &[&str],
    flags: Vec<String>,
) -> Result<(Task, String), SubjectError> {
    let (Some(client), Some(Virtual { pool, seed })) = (client, virtual_time) else {
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
    let link = Link::new(process);
    let controllers = controllers.iter().map(|one| (*one).to_owned()).collect();
    let bubble = Bubble::new(link.clone(), client, *seed);
    let handle = tokio::spawn(bubble.run(controllers, flags));
    Ok((Task { handle, link, pool: pool.clone(), log, printed }, title))
}

impl Task {
    /// Why it no longer runs, if it does not, and whose fault that is.
    pub(super) fn ended(&self) -> Option<Trouble> {
        self.link.trouble()
    }

    /// What the program has printed since the case began.
    pub(super) fn log_source(&self) -> LogSource {
        LogSource::of_file(&self.log, self.printed)
    }

    /// End the bubble, with no chance to finish anything; the program is kept for the next case.
    pub(super) async fn end(self) {
        self.handle.abort();
        self.handle.await.ok();
        if let Some(process) = self.link.end() {
            self.pool.put(process);
        }
    }
}
