//! Asked to end early: by a signal, or because nobody reads the output any more.
//!
//! SIGINT, SIGTERM and SIGHUP are heard by a thread of their own, so that neither a case in virtual
//! time nor work that holds every other thread keeps them waiting. The first one is told to whoever
//! waits in [`Interrupt::unless`]; they stop, write what there is to write and take down what they
//! have set up. What has not come to its end by itself after [`PATIENCE`] is ended: the last words
//! are written ([`Interrupt::at_last`]), and the process exits. A second signal exits at once.
//! Either way a supervisor finds its pipe closed and ends what it runs, and what is nobody's to end
//! goes here: programs without a supervisor ([`output`]), and folders ([`removes`]).
//!
//! A SIGHUP that was ignored when the process began, as `nohup` has it, stays ignored.

use std::collections::BTreeSet;
use std::future::Future;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::outcome::Cause;

/// How long an orderly end may take; a little less than the two seconds that are promised.
pub const PATIENCE: Duration = Duration::from_millis(1_800);

/// What ends this process.
static PROCESS: LazyLock<Interrupt> = LazyLock::new(Interrupt::default);
/// What must be gone when this process exits without having come to its end.
static LEFT: Mutex<Left> = Mutex::new(Left { groups: BTreeSet::new(), folders: BTreeSet::new() });

struct Left {
    groups: BTreeSet<i32>,
    folders: BTreeSet<PathBuf>,
}

/// What is done in the end where the work itself does not come to it.
type LastWords = Box<dyn FnOnce() + Send>;

/// Whether somebody wants the work to end, and why. Clones are told together.
#[derive(Clone)]
pub struct Interrupt(Arc<Inner>);

struct Inner {
    cause: watch::Sender<Option<Cause>>,
    last: Mutex<Vec<LastWords>>,
}

impl Default for Interrupt {
    fn default() -> Self {
        Self(Arc::new(Inner { cause: watch::Sender::new(None), last: Mutex::default() }))
    }
}

impl std::fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Interrupt").field(&self.cause()).finish()
    }
}

impl Interrupt {
    /// That of this process, which [`listen`] and a closed output raise.
    pub fn of_process() -> Self {
        PROCESS.clone()
    }

    /// Ask for the end. The first one to ask says why.
    pub fn raise(&self, cause: Cause) {
        self.0.cause.send_if_modified(|known| {
            let first = known.is_none();
            known.get_or_insert(cause);
            first
        });
    }

    /// Why it is to end, if it is.
    pub fn cause(&self) -> Option<Cause> {
        *self.0.cause.borrow()
    }

    /// Returns when it is to end.
    pub async fn raised(&self) -> Cause {
        let mut told = self.0.cause.subscribe();
        match told.wait_for(Option::is_some).await.map(|cause| *cause) {
            Ok(Some(cause)) => cause,
            // It holds the sender itself.
            _ => std::future::pending().await,
        }
    }

    /// The work's result, unless it is interrupted: then the work is dropped where it waits.
    ///
    /// # Errors
    /// Why it was interrupted.
    pub async fn unless<T>(&self, work: impl Future<Output = T>) -> Result<T, Cause> {
        tokio::select! {
            biased;
            cause = self.raised() => Err(cause),
            done = work => Ok(done),
        }
    }

    /// Do this before the process is ended by force, where nobody has come to it. It must itself
    /// know whether it was done already.
    pub fn at_last(&self, words: impl FnOnce() + Send + 'static) {
        lock(&self.0.last).push(Box::new(words));
    }

    fn say_last(&self) {
        let last = std::mem::take(&mut *lock(&self.0.last));
        last.into_iter().for_each(|words| words());
    }
}

/// Hear signals from now on, as long as this process lives. `tell` is called with the first.
///
/// # Errors
/// When the system lets nobody hear them.
pub fn listen(tell: impl Fn(Cause) + Send + 'static) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut signals = runtime.block_on(async { Signals::new() })?;
    let hear = move || {
        runtime.block_on(async {
            let cause = signals.next().await;
            tell(cause);
            let process = Interrupt::of_process();
            process.raise(cause);
            // A closed output may have been first; who sends a signal all the same is in a hurry
            // too.
            if tokio::time::timeout(PATIENCE, signals.next()).await.is_err() {
                process.say_last();
            }
            exit(process.cause().unwrap_or(cause));
        });
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(hear).map(drop)
}

/// End this process, and all that nobody else ends with it.
fn exit(cause: Cause) -> ! {
    let left = lock(&LEFT);
    for group in left.groups.iter().filter_map(|group| Pid::from_raw(*group)) {
        // It may have ended just now.
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
    for folder in &left.folders {
        // Gone already, as a rule.
        let _ = std::fs::remove_dir_all(folder);
    }
    std::process::exit(cause.code().into())
}

/// Remove this folder if the process exits before whoever made it has done so.
pub fn removes(folder: &Path) {
    lock(&LEFT).folders.insert(folder.to_owned());
}

/// Run a program that has no supervisor to its end and collect its standard output. It leads a
/// group of its own, which goes with this process, be that ended in the middle.
///
/// # Errors
/// When it does not start.
pub fn output(command: &mut Command) -> io::Result<Output> {
    let child = command.process_group(0).stdout(std::process::Stdio::piped()).spawn()?;
    let group = child.id().cast_signed();
    lock(&LEFT).groups.insert(group);
    let output = child.wait_with_output();
    lock(&LEFT).groups.remove(&group);
    output
}

/// The three signals, as they come.
struct Signals(Vec<(Cause, tokio::signal::unix::Signal)>);

impl Signals {
    fn new() -> io::Result<Self> {
        let kinds = [
            (Cause::Interrupt, SignalKind::interrupt()),
            (Cause::Terminate, SignalKind::terminate()),
            (Cause::Hangup, SignalKind::hangup()),
        ];
        let heard = kinds.into_iter().filter(|(cause, _)| *cause != Cause::Hangup || !ignores_hangup());
        heard.map(|(cause, kind)| Ok((cause, signal(kind)?))).collect::<io::Result<_>>().map(Self)
    }

    async fn next(&mut self) -> Cause {
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

/// Whether this process began with SIGHUP ignored.
fn ignores_hangup() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| ignored(&status, 1))
}

/// Whether `/proc/PID/status` has a signal's number among the ignored ones.
fn ignored(status: &str, signal: u32) -> bool {
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
    async fn the_first_cause_is_the_one_and_work_ends_where_it_waits() {
        let interrupt = Interrupt::default();
        assert_eq!(interrupt.unless(async { 7 }).await, Ok(7));
        let elsewhere = interrupt.clone();
        let raising = std::thread::spawn(move || {
            elsewhere.raise(Cause::Terminate);
            elsewhere.raise(Cause::Interrupt);
        });
        assert_eq!(interrupt.unless(std::future::pending::<()>()).await, Err(Cause::Terminate));
        raising.join().unwrap();
        // Also what is ready at once is not begun.
        assert_eq!(interrupt.unless(async { 7 }).await, Err(Cause::Terminate));
    }

    #[test]
    fn last_words_are_said_once() {
        let (interrupt, said) = (Interrupt::default(), Arc::new(Mutex::new(0)));
        let count = Arc::clone(&said);
        interrupt.at_last(move || *lock(&count) += 1);
        interrupt.say_last();
        interrupt.say_last();
        assert_eq!(*lock(&said), 1);
    }

    #[test]
    fn a_mask_of_ignored_signals_is_read() {
        let status = "Name:\tx\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n";
        assert!(ignored(status, 1) && ignored(status, 13) && !ignored(status, 2));
        assert!(!ignored("", 1));
    }
}
