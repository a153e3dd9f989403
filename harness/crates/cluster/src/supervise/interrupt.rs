//! Handles requests to end early: a signal, or a closed standard output.
//!
//! A separate thread receives SIGINT, SIGTERM and SIGHUP, so that neither a case in virtual time
//! nor work on all other threads delays them. The first signal is reported to the tasks in
//! [`Interrupt::unless`]; they stop, write their results and clean up. If that takes longer than
//! `GRACE_PERIOD`, the exit hooks run ([`Interrupt::on_forced_exit`]) and the process exits. A
//! second signal exits at once. In either case a supervisor sees its pipe close and ends what it
//! runs, and this module ends the programs that have no supervisor ([`output`]).
//!
//! A SIGHUP that was ignored when the process started, as under `nohup`, stays ignored.

use std::collections::BTreeSet;
use std::future::Future;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lockstep_support::clock;
use lockstep_support::outcome::InterruptCause;
use rustix::process::{Pid, Signal};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// The time limit for an orderly end, a little less than the documented two seconds.
pub(crate) const GRACE_PERIOD: Duration = Duration::from_millis(1_800);

/// How often and how long a program without a supervisor is waited for after each kind of signal.
const POLLS: u32 = 100;
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The interrupt of this process.
static PROCESS: LazyLock<Interrupt> = LazyLock::new(Interrupt::default);
/// The process groups that are ended with this process.
static UNSUPERVISED: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// Runs before a forced exit.
type ExitHook = Box<dyn FnOnce() + Send>;

/// Whether the work is to end early, and why. Clones share the state.
#[derive(Clone)]
pub struct Interrupt(Arc<InterruptState>);

struct InterruptState {
    cause: watch::Sender<Option<InterruptCause>>,
    exit_hooks: Mutex<Vec<ExitHook>>,
}

impl Default for Interrupt {
    fn default() -> Self {
        Self(Arc::new(InterruptState { cause: watch::Sender::new(None), exit_hooks: Mutex::default() }))
    }
}

impl std::fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Interrupt").field(&self.cause()).finish()
    }
}

impl Interrupt {
    /// The interrupt of this process, which [`handle_signals`] and a closed output raise.
    pub fn for_process() -> Self {
        PROCESS.clone()
    }

    /// Requests the end. The first cause counts.
    pub fn raise(&self, cause: InterruptCause) {
        self.0.cause.send_if_modified(|cause_slot| {
            let first = cause_slot.is_none();
            cause_slot.get_or_insert(cause);
            first
        });
    }

    /// The cause, if the end was requested.
    pub fn cause(&self) -> Option<InterruptCause> {
        *self.0.cause.borrow()
    }

    /// Waits until the end is requested.
    pub async fn wait(&self) -> InterruptCause {
        let mut causes = self.0.cause.subscribe();
        match causes.wait_for(Option::is_some).await.map(|cause| *cause) {
            Ok(Some(cause)) => cause,
            // Cannot happen: `self` owns the sender.
            _ => std::future::pending().await,
        }
    }

    /// Runs the work until it is done or interrupted; on interruption it is dropped where it waits.
    ///
    /// # Errors
    /// The cause of the interruption.
    pub async fn unless<T>(&self, work: impl Future<Output = T>) -> Result<T, InterruptCause> {
        tokio::select! {
            biased;
            cause = self.wait() => Err(cause),
            done = work => Ok(done),
        }
    }

    /// Registers a hook that runs before a forced exit. The hook must know itself whether its work
    /// was done already.
    pub fn on_forced_exit(&self, hook: impl FnOnce() + Send + 'static) {
        lock(&self.0.exit_hooks).push(Box::new(hook));
    }

    fn run_exit_hooks(&self) {
        let hooks = std::mem::take(&mut *lock(&self.0.exit_hooks));
        hooks.into_iter().for_each(|hook| hook());
    }
}

/// Starts handling signals for the rest of the process. `on_signal` is called with the first.
///
/// # Errors
/// When signal handlers cannot be installed.
pub fn handle_signals(on_signal: impl Fn(InterruptCause) + Send + 'static) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut signals = runtime.block_on(async { TerminationSignals::new() })?;
    let handle = move || {
        runtime.block_on(async {
            let cause = signals.next().await;
            on_signal(cause);
            let process = Interrupt::for_process();
            process.raise(cause);
            // A closed output may have come first; a signal after it also means a second request.
            if tokio::time::timeout(GRACE_PERIOD, signals.next()).await.is_err() {
                process.run_exit_hooks();
            }
            exit(process.cause().unwrap_or(cause));
        });
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(handle).map(drop)
}

/// Exits, after removing what has no supervisor.
fn exit(cause: InterruptCause) -> ! {
    end_unsupervised();
    std::process::exit(cause.code().into())
}

/// Ends the programs that [`output`] still runs.
pub fn end_unsupervised() {
    let groups = lock(&UNSUPERVISED).clone();
    end_groups(&groups);
}

/// Ends these process groups. Each may clean up: Go's tools do at an interrupt, shells at either
/// signal; a program may ignore both.
fn end_groups(groups: &BTreeSet<i32>) {
    let groups: Vec<Pid> = groups.iter().filter_map(|group| Pid::from_raw(*group)).collect();
    for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
        // A group may have ended in between.
        let left = || groups.iter().filter(|group| rustix::process::test_kill_process_group(**group).is_ok());
        for group in left() {
            let _ = rustix::process::kill_process_group(*group, signal);
        }
        for _ in 0..POLLS {
            if left().next().is_none() {
                return;
            }
            clock::pause_blocking(POLL_INTERVAL);
        }
    }
}

/// Runs an unsupervised program until it exits, and collects its standard output. It leads its own
/// group, which is ended with this process.
///
/// # Errors
/// When it cannot be started.
pub fn output(command: &mut Command) -> io::Result<Output> {
    let child = command.process_group(0).stdout(std::process::Stdio::piped()).spawn()?;
    let group = child.id().cast_signed();
    lock(&UNSUPERVISED).insert(group);
    let output = child.wait_with_output();
    lock(&UNSUPERVISED).remove(&group);
    output
}

/// The three signals.
struct TerminationSignals(Vec<(InterruptCause, tokio::signal::unix::Signal)>);

impl TerminationSignals {
    fn new() -> io::Result<Self> {
        let kinds = [
            (InterruptCause::Interrupt, SignalKind::interrupt()),
            (InterruptCause::Terminate, SignalKind::terminate()),
            (InterruptCause::Hangup, SignalKind::hangup()),
        ];
        let handled = kinds.into_iter().filter(|(cause, _)| *cause != InterruptCause::Hangup || !ignores_hangup());
        handled.map(|(cause, kind)| Ok((cause, signal(kind)?))).collect::<io::Result<_>>().map(Self)
    }

    async fn next(&mut self) -> InterruptCause {
        let each = self.0.iter_mut().map(|(cause, signal)| {
            Box::pin(async {
                match signal.recv().await {
                    Some(()) => *cause,
                    None => std::future::pending().await,
                }
            })
        });
        futures::future::select_all(each).await.0
    }
}

/// Whether this process started with SIGHUP ignored.
fn ignores_hangup() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| is_ignored(&status, 1))
}

/// Whether `/proc/PID/status` lists a signal as ignored.
fn is_ignored(status: &str, signal: u32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn first_cause_counts_and_interrupts_waiting_work() {
        let interrupt = Interrupt::default();
        assert_eq!(interrupt.unless(async { 7 }).await, Ok(7));
        let elsewhere = interrupt.clone();
        let raising = std::thread::spawn(move || {
            elsewhere.raise(InterruptCause::Terminate);
            elsewhere.raise(InterruptCause::Interrupt);
        });
        assert_eq!(interrupt.unless(std::future::pending::<()>()).await, Err(InterruptCause::Terminate));
        raising.join().unwrap();
        // Even work that is ready at once is not started.
        assert_eq!(interrupt.unless(async { 7 }).await, Err(InterruptCause::Terminate));
    }

    #[test]
    fn exit_hooks_run_once() {
        let (interrupt, said) = (Interrupt::default(), Arc::new(Mutex::new(0)));
        let count = Arc::clone(&said);
        interrupt.on_forced_exit(move || *lock(&count) += 1);
        interrupt.run_exit_hooks();
        interrupt.run_exit_hooks();
        assert_eq!(*lock(&said), 1);
    }

    #[test]
    fn program_may_clean_up_before_it_is_killed() {
        let folder = tempfile::tempdir().unwrap();
        let (ready, left) = (folder.path().join("ready"), folder.path().join("left"));
        let script = r#"trap 'rm "$0"' EXIT; trap 'exit 1' INT TERM; touch "$0" "$1"; sleep 60"#;
        let mut child =
            Command::new("bash").args(["-c", script]).args([&left, &ready]).process_group(0).spawn().unwrap();
        let group = child.id().cast_signed();
        let reaping = std::thread::spawn(move || child.wait().unwrap());
        while !ready.exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        end_groups(&BTreeSet::from([group]));
        assert_eq!(reaping.join().unwrap().code(), Some(1));
        assert!(!left.exists());
    }

    #[test]
    fn reads_mask_of_ignored_signals() {
        let status = "Name:\tx\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n";
        assert!(is_ignored(status, 1) && is_ignored(status, 13) && !is_ignored(status, 2));
        assert!(!is_ignored("", 1));
    }
}
