//! The supervisor's child processes: starts them, and ends them with their process groups.
//!
//! A group leader that has exited is not reaped until its group has received SIGKILL: until then
//! the kernel does not reuse its process id, so the signal can only reach what the program left
//! behind.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lockstep_support::clock;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use tokio::sync::mpsc::UnboundedSender;

use super::protocol::{Exit, ProcessSpec};

/// The running programs, by the harness's ids.
#[derive(Default)]
pub(super) struct ChildProcesses {
    members: BTreeMap<u64, Arc<ChildProcess>>,
}

struct ChildProcess {
    pid: Pid,
    /// Locked while a signal is sent and while the leader is reaped, so that the two never overlap.
    reaped: Mutex<bool>,
}

impl ChildProcesses {
    /// Starts a program, with a connection to a socket as its standard input, or without input;
    /// when it exits, its id and exit are sent to `ended`.
    pub(super) fn spawn(
        &mut self,
        id: u64,
        spec: &ProcessSpec,
        socket: Option<&Path>,
        ended: UnboundedSender<(u64, Exit)>,
    ) -> io::Result<i32> {
        let log = lockstep_support::private_fs::append(&spec.log)?;
        let input = match socket {
            Some(socket) => Stdio::from(OwnedFd::from(UnixStream::connect(socket)?)),
            None => Stdio::null(),
        };
        let child = Command::new(&spec.program)
            .args(&spec.args)
            .env_clear()
            .envs(&spec.env)
            .stdin(input)
            .stdout(log.try_clone()?)
            .stderr(log)
            .process_group(0)
            .spawn()?;
        let pid = Pid::from_child(&child);
        let member = Arc::new(ChildProcess { pid, reaped: Mutex::new(false) });
        self.members.insert(id, Arc::clone(&member));
        std::thread::spawn(move || {
            let exit = member.wait_and_reap(child);
            // The receiver is only dropped when the supervisor is ending.
            let _ = ended.send((id, exit));
        });
        Ok(pid.as_raw_nonzero().get())
    }

    /// Forgets a program whose exit was reported.
    pub(super) fn forget(&mut self, id: u64) {
        self.members.remove(&id);
    }

    /// Whether no program is running.
    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Sends a signal to a program's group.
    pub(super) fn signal(&self, id: u64, signal: Signal) {
        if let Some(member) = self.members.get(&id) {
            member.signal(signal);
        }
    }

    /// Sends a signal to every program's group.
    pub(super) fn signal_all(&self, signal: Signal) {
        self.members.values().for_each(|member| member.signal(signal));
    }
}

impl ChildProcess {
    fn signal(&self, signal: Signal) {
        let reaped = self.reaped.lock().unwrap_or_else(PoisonError::into_inner);
        if !*reaped {
            // Some systems refuse to signal a group that has only a zombie; it needs no signal
            // either.
            let _ = rustix::process::kill_process_group(self.pid, signal);
        }
    }

    /// Waits for the leader to exit, kills the rest of its group, and only then reaps it.
    fn wait_and_reap(&self, mut leader: Child) -> Exit {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(rustix::process::waitid(WaitId::Pid(self.pid), options), Err(Errno::INTR)) {}
        let mut reaped = self.reaped.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = rustix::process::kill_process_group(self.pid, Signal::KILL);
        *reaped = true;
        let exit = leader.wait().map_or(Exit::Unknown, exit_of);
        // On a busy machine a killed process takes time to die, and its exit is reported
        // afterwards. Probing is harmless, even if the process id has been reused. The wait is
        // limited, because an unreaped process stays in the group as a zombie.
        for _ in 0..40 {
            if rustix::process::test_kill_process_group(self.pid).is_err() {
                break;
            }
            clock::pause_blocking(Duration::from_millis(5));
        }
        exit
    }
}

fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Unknown,
    }
}
