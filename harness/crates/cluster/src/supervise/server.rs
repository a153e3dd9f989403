//! The supervisor's process: obeys the harness's commands, starts the programs, and ends them with
//! their process groups.
//!
//! A group leader that has exited is not reaped until its group has received SIGKILL: until then
//! the kernel does not reuse its process id, so the signal can only reach what the program left
//! behind.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, BufRead, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lockstep_support::clock;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::protocol::{DetachOptions, Exit, ProcessSpec, SupervisorCommand, SupervisorReport};
use super::{FINALLY_TIMEOUT, ROLE_VARIABLE, mount, orphans};

/// A shell's exit code if a program cannot be started.
const EXEC_FAILED: i32 = 126;
/// The exit code for an internal error.
const FAILED: i32 = 70;
/// The time between SIGTERM and SIGKILL.
const GRACE_PERIOD: Duration = Duration::from_secs(1);
/// The time limit after SIGKILL; only a program stuck in the kernel takes longer.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
/// The interval at which a detached supervisor checks whether its process is still running.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// If this process was started in a role, runs the role and never returns.
///
/// Must be called first in `main` of every executable that may start a [`super::Supervisor`].
pub fn enter_role() {
    let Some(role) = role() else { return };
    if role == mount::ROLE {
        // Before any thread starts: a process with several threads cannot change its user
        // namespace.
        eprintln!("{}", mount::exec_with_mount());
        std::process::exit(EXEC_FAILED);
    }
    run_role("the supervisor", || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(run_supervisor())
    })
}

/// Runs a role, and exits. It runs on its own thread, because an async `main` already has a runtime
/// on this one.
pub fn run_role<E>(name: &str, run: impl FnOnce() -> Result<(), E> + Send + 'static) -> !
where
    E: std::fmt::Display + Send + 'static,
{
    let code = match std::thread::spawn(run).join() {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => {
            eprintln!("Error: {name} stopped: {error}");
            FAILED
        }
        Err(_panicked) => FAILED,
    };
    std::process::exit(code)
}

/// The role in which a harness started this process: the value of [`ROLE_VARIABLE`].
pub fn role() -> Option<OsString> {
    std::env::var_os(ROLE_VARIABLE)
}

/// The environment that starts this executable in a role.
pub(crate) fn in_role(role: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(ROLE_VARIABLE.to_owned(), role.to_owned())])
}

/// The events that the supervisor waits for.
struct Inbox {
    orders: UnboundedReceiver<SupervisorCommand>,
    exits: UnboundedReceiver<(u64, Exit)>,
    terminate: Signals,
    /// Registered so that their default action, which ends the process, does not apply.
    _ignored: [Signals; 3],
}

/// The next event.
enum SupervisorEvent {
    Command(SupervisorCommand),
    Exit(u64, Exit),
    Poll,
    HarnessGone,
    Terminated,
}

impl Inbox {
    async fn next(&mut self, detached: bool) -> SupervisorEvent {
        tokio::select! {
            Some((id, exit)) = self.exits.recv() => SupervisorEvent::Exit(id, exit),
            order = self.orders.recv(), if !detached => order.map_or(SupervisorEvent::HarnessGone, SupervisorEvent::Command),
            () = clock::pause(POLL_INTERVAL), if detached => SupervisorEvent::Poll,
            _ = self.terminate.recv() => SupervisorEvent::Terminated,
        }
    }
}

async fn run_supervisor() -> io::Result<()> {
    let (ended, exits) = unbounded_channel();
    let mut inbox = Inbox {
        terminate: signal(SignalKind::terminate())?,
        _ignored: [signal(SignalKind::interrupt())?, signal(SignalKind::hangup())?, signal(SignalKind::quit())?],
        orders: read_orders(),
        exits,
    };
    let mut children = ChildProcesses::default();
    let mut remove = None;
    let mut until: Option<DetachOptions> = None;
    let mut last_programs = Vec::new();
    let mut ends_orphans = false;
    loop {
        match inbox.next(until.is_some()).await {
            SupervisorEvent::Command(SupervisorCommand::Begin { remove: folder }) => {
                remove = folder;
                report(&SupervisorReport::Ready);
            }
            SupervisorEvent::Command(SupervisorCommand::Detach { until: options }) => {
                remove = Some(options.remove.clone());
                until = Some(options);
                report(&SupervisorReport::Detached);
            }
            SupervisorEvent::Command(SupervisorCommand::Finally { spec }) => {
                last_programs.push(spec);
                report(&SupervisorReport::Noted);
            }
            SupervisorEvent::Command(SupervisorCommand::Keep) => {
                last_programs.clear();
                remove = None;
                report(&SupervisorReport::Noted);
            }
            SupervisorEvent::Command(SupervisorCommand::EndOrphans) => {
                orphans::adopt();
                ends_orphans = true;
                report(&SupervisorReport::Noted);
            }
            SupervisorEvent::Command(order) => execute(order, &mut children, &ended),
            SupervisorEvent::Exit(id, exit) => {
                children.forget(id);
                // While another program runs, an orphan may be that one's.
                if ends_orphans && children.is_empty() {
                    orphans::end(KILL_TIMEOUT).await;
                }
                report(&SupervisorReport::Exited { id, exit });
            }
            SupervisorEvent::Poll => {
                let gone = until.as_ref().and_then(|until| until.process.as_ref());
                if gone.is_some_and(|process| !process.is_alive()) {
                    break;
                }
            }
            SupervisorEvent::HarnessGone | SupervisorEvent::Terminated => break,
        }
    }
    end(&mut children, &mut inbox).await;
    if ends_orphans {
        orphans::end(KILL_TIMEOUT).await;
    }
    for last_program in last_programs.iter().rev() {
        run_last_program(last_program).await;
    }
    remove_folder(remove).await
}

fn execute(order: SupervisorCommand, children: &mut ChildProcesses, ended: &UnboundedSender<(u64, Exit)>) {
    match order {
        SupervisorCommand::Spawn { id, spec, socket } => {
            report(&match children.spawn(id, &spec, socket.as_deref(), ended.clone()) {
                Ok(pid) => SupervisorReport::Spawned { id, pid },
                Err(error) => SupervisorReport::Failed { id, why: explain_exec_error(&error) },
            });
        }
        SupervisorCommand::Kill { id } => children.signal(id, Signal::KILL),
        SupervisorCommand::Terminate { id } => children.signal(id, Signal::TERM),
        SupervisorCommand::Begin { .. }
        | SupervisorCommand::Finally { .. }
        | SupervisorCommand::Keep
        | SupervisorCommand::EndOrphans
        | SupervisorCommand::Detach { .. } => {}
    }
}

/// Why a program that exists did not start: the system's error, and what usually causes it.
fn explain_exec_error(error: &io::Error) -> String {
    let cause = match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT) => {
            "; a script needs the interpreter that its first line names after #!, which a carriage return at \
             the end of that line changes; any other program needs the loader of the system that it was built for"
        }
        Some(Errno::NOEXEC) => {
            "; a script names its interpreter after #! in its first line; any other program must be built for this machine"
        }
        _ => "",
    };
    format!("{error}{cause}")
}

/// Ends every program: SIGTERM, the grace period, SIGKILL.
async fn end(children: &mut ChildProcesses, inbox: &mut Inbox) {
    for (signal, timeout) in [(Signal::TERM, GRACE_PERIOD), (Signal::KILL, KILL_TIMEOUT)] {
        children.signal_all(signal);
        let deadline = clock::instant() + timeout;
        while !children.is_empty() {
            let left = deadline.saturating_duration_since(clock::instant());
            match tokio::time::timeout(left, inbox.exits.recv()).await {
                Ok(Some((id, exit))) => {
                    children.forget(id);
                    report(&SupervisorReport::Exited { id, exit });
                }
                Ok(None) | Err(_) => break,
            }
        }
    }
}

/// Runs a last program until it exits or times out. If its log cannot be written, because the
/// folder may have been removed, it runs without one.
async fn run_last_program(last_program: &ProcessSpec) {
    let (ended, mut exits) = unbounded_channel();
    let mut children = ChildProcesses::default();
    let without_log = ProcessSpec { log: "/dev/null".into(), ..last_program.clone() };
    let started = children.spawn(0, last_program, None, ended.clone());
    if let Err(error) = started.or_else(|_| children.spawn(0, &without_log, None, ended)) {
        eprintln!("{}: {error}", last_program.name);
        return;
    }
    match tokio::time::timeout(FINALLY_TIMEOUT, exits.recv()).await {
        Ok(Some((_, exit))) if exit.success() => {}
        Ok(Some((_, exit))) => eprintln!("{}: {exit}", last_program.name),
        Ok(None) | Err(_) => {
            eprintln!("{}: not done after {FINALLY_TIMEOUT:?}", last_program.name);
            children.signal_all(Signal::KILL);
        }
    }
}

/// Removes a folder, with retries: a dying program may still create a file in it.
async fn remove_folder(folder: Option<PathBuf>) -> io::Result<()> {
    let Some(folder) = folder else { return Ok(()) };
    for _ in 0..20 {
        if std::fs::remove_dir_all(&folder).is_ok() || !folder.exists() {
            return Ok(());
        }
        clock::pause(Duration::from_millis(50)).await;
    }
    std::fs::remove_dir_all(folder)
}

/// Reads standard input on a separate thread: the channel closes when the harness ends.
fn read_orders() -> UnboundedReceiver<SupervisorCommand> {
    let (sender, receiver) = unbounded_channel();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            match serde_json::from_str(&line) {
                Ok(order) => {
                    if sender.send(order).is_err() {
                        return;
                    }
                }
                Err(error) => eprintln!("not an order, left out: {error}"),
            }
        }
    });
    receiver
}

fn report(report: &SupervisorReport) {
    let mut line = serde_json::to_string(report).expect("a report is plain data");
    line.push('\n');
    let mut out = io::stdout().lock();
    // If the harness has ended it reads no reports; the end of standard input shows that.
    let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
}

/// The running programs, by the harness's ids.
#[derive(Default)]
struct ChildProcesses {
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
    fn spawn(
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
    fn forget(&mut self, id: u64) {
        self.members.remove(&id);
    }

    /// Whether no program is running.
    fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Sends a signal to a program's group.
    fn signal(&self, id: u64, signal: Signal) {
        if let Some(member) = self.members.get(&id) {
            member.signal(signal);
        }
    }

    /// Sends a signal to every program's group.
    fn signal_all(&self, signal: Signal) {
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
