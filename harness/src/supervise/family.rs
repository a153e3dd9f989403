//! The supervisor's children: starting them, and ending them with their whole groups.
//!
//! A leader that exits stays a zombie until its group got SIGKILL: while it is not reaped the
//! kernel gives its number to nobody else, so the signal can only reach what the program left
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

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use tokio::sync::mpsc::UnboundedSender;

use super::protocol::{Exit, Spec};
use crate::clock;

/// The programs that run, by the number that the harness gave them.
#[derive(Default)]
pub(super) struct Family {
    members: BTreeMap<u64, Arc<Member>>,
}

struct Member {
    pid: Pid,
    /// Held while a signal is sent and while the leader is reaped, so that never both happen at
    /// once.
    reaped: Mutex<bool>,
}

impl Family {
    /// Start a program, with a connection to a socket as its standard input or with none; when it
    /// ends, its number and its end are sent to `ended`.
    pub(super) fn spawn(
        &mut self,
        id: u64,
        spec: &Spec,
        socket: Option<&Path>,
        ended: UnboundedSender<(u64, Exit)>,
    ) -> io::Result<i32> {
        let log = crate::private::append(&spec.log)?;
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
        let member = Arc::new(Member { pid, reaped: Mutex::new(false) });
        self.members.insert(id, Arc::clone(&member));
        std::thread::spawn(move || {
            let exit = member.attend(child);
            // Nobody listens any more only when the supervisor is ending anyway.
            let _ = ended.send((id, exit));
        });
        Ok(pid.as_raw_nonzero().get())
    }

    /// A program ended and was reported.
    pub(super) fn forget(&mut self, id: u64) {
        self.members.remove(&id);
    }

    /// Whether no program runs any more.
    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Send a signal to one program's group.
    pub(super) fn signal(&self, id: u64, signal: Signal) {
        if let Some(member) = self.members.get(&id) {
            member.signal(signal);
        }
    }

    /// Send a signal to every program's group.
    pub(super) fn signal_all(&self, signal: Signal) {
        self.members.values().for_each(|member| member.signal(signal));
    }
}

impl Member {
    fn signal(&self, signal: Signal) {
        let reaped = self.reaped.lock().unwrap_or_else(PoisonError::into_inner);
        if !*reaped {
            // A group that is only a zombie cannot be signalled everywhere; it needs no signal
            // either.
            let _ = rustix::process::kill_process_group(self.pid, signal);
        }
    }

    /// Wait for the leader's end, end what is left of its group, and only then reap it.
    fn attend(&self, mut leader: Child) -> Exit {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(rustix::process::waitid(WaitId::Pid(self.pid), options), Err(Errno::INTR)) {}
        let mut reaped = self.reaped.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = rustix::process::kill_process_group(self.pid, Signal::KILL);
        *reaped = true;
        let exit = leader.wait().map_or(Exit::Unseen, exit_of);
        // On a busy machine a killed process takes its time to die: its end is told when it is
        // over. Asking harms nobody, even if the number has a new owner by then. Not for long: what
        // nobody reaps stays in the group as a zombie.
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
        (None, None) => Exit::Unseen,
    }
}
