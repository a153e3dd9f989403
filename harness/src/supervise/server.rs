//! The supervisor's process.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::family::Family;
use super::protocol::{Exit, Order, Report, Spec, Until};
use super::{FAREWELL, MARK, mounted};
use crate::clock;

/// What a shell exits with when a program cannot be started.
const EXEC_FAILED: i32 = 126;
/// What it exits with when an internal error has happened.
const FAILED: i32 = 70;
/// Between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(1);
/// After SIGKILL. Only a program stuck in the kernel takes longer.
const LAST: Duration = Duration::from_secs(5);
/// Between two looks whether the process that a detached supervisor lives for is still there.
const LOOK: Duration = Duration::from_millis(200);

/// Become a supervisor if this process was started as one; it never returns then.
///
/// To be called as the first thing in `main` of every executable that may start a
/// [`super::Supervisor`].
pub fn main_if_asked() {
    let Some(role) = role() else { return };
    if role == mounted::ROLE {
        // Before any thread is there: a process with several cannot change its user namespace.
        eprintln!("{}", mounted::become_mounted());
        std::process::exit(EXEC_FAILED);
    }
    run_role("the supervisor", || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(supervise())
    })
}

/// Run this process as what it was started as, and end it. On a thread of its own, as a `main` that
/// is async already has a runtime on this one.
pub(crate) fn run_role<E>(name: &str, run: impl FnOnce() -> Result<(), E> + Send + 'static) -> !
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

/// What this process was started as, if it was started by a harness: the value of [`MARK`].
pub fn role() -> Option<OsString> {
    std::env::var_os(MARK)
}

/// The environment in which this executable is started in a role.
pub fn in_role(role: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(MARK.to_owned(), role.to_owned())])
}

/// What the supervisor waits for.
struct Inbox {
    orders: UnboundedReceiver<Order>,
    exits: UnboundedReceiver<(u64, Exit)>,
    terminate: Signals,
    /// Held so that their default action, which is to end the process, does not happen.
    _ignored: [Signals; 3],
}

/// Why the supervisor ends, or what it goes on with.
enum Next {
    Order(Order),
    Exit(u64, Exit),
    Look,
    HarnessGone,
    Terminated,
}

impl Inbox {
    async fn next(&mut self, detached: bool) -> Next {
        tokio::select! {
            Some((id, exit)) = self.exits.recv() => Next::Exit(id, exit),
            order = self.orders.recv(), if !detached => order.map_or(Next::HarnessGone, Next::Order),
            () = clock::pause(LOOK), if detached => Next::Look,
            _ = self.terminate.recv() => Next::Terminated,
        }
    }
}

async fn supervise() -> std::io::Result<()> {
    let (ended, exits) = unbounded_channel();
    let mut inbox = Inbox {
        terminate: signal(SignalKind::terminate())?,
        _ignored: [signal(SignalKind::interrupt())?, signal(SignalKind::hangup())?, signal(SignalKind::quit())?],
        orders: read_orders(),
        exits,
    };
    let mut family = Family::default();
    let mut remove = None;
    let mut until: Option<Until> = None;
    let mut farewells = Vec::new();
    loop {
        match inbox.next(until.is_some()).await {
            Next::Order(Order::Begin { remove: folder }) => {
                remove = folder;
                report(&Report::Ready);
            }
            Next::Order(Order::Detach { until: wanted }) => {
                remove = Some(wanted.remove.clone());
                until = Some(wanted);
                report(&Report::Detached);
            }
            Next::Order(Order::Finally { spec }) => {
                farewells.push(spec);
                report(&Report::Noted);
            }
            Next::Order(Order::Keep) => {
                farewells.clear();
                remove = None;
                report(&Report::Noted);
            }
            Next::Order(order) => obey(order, &mut family, &ended),
            Next::Exit(id, exit) => {
                family.forget(id);
                report(&Report::Exited { id, exit });
            }
            Next::Look => {
                let gone = until.as_ref().and_then(|until| until.gone.as_ref());
                if gone.is_some_and(|process| !process.is_alive()) {
                    break;
                }
            }
            Next::HarnessGone | Next::Terminated => break,
        }
    }
    end(&mut family, &mut inbox).await;
    for farewell in farewells.iter().rev() {
        say(farewell).await;
    }
    remove_folder(remove).await
}

fn obey(order: Order, family: &mut Family, ended: &UnboundedSender<(u64, Exit)>) {
    match order {
        Order::Spawn { id, spec, socket } => report(&match family.spawn(id, &spec, socket.as_deref(), ended.clone()) {
            Ok(pid) => Report::Spawned { id, pid },
            Err(error) => {
                Report::Failed { id, missing: error.kind() == std::io::ErrorKind::NotFound, why: error.to_string() }
            }
        }),
        Order::Kill { id } => family.signal(id, Signal::KILL),
        Order::Terminate { id } => family.signal(id, Signal::TERM),
        Order::Begin { .. } | Order::Finally { .. } | Order::Keep | Order::Detach { .. } => {}
    }
}

/// End every program: SIGTERM, the grace, SIGKILL.
async fn end(family: &mut Family, inbox: &mut Inbox) {
    for (signal, patience) in [(Signal::TERM, GRACE), (Signal::KILL, LAST)] {
        family.signal_all(signal);
        let deadline = clock::instant() + patience;
        while !family.is_empty() {
            let left = deadline.saturating_duration_since(clock::instant());
            match tokio::time::timeout(left, inbox.exits.recv()).await {
                Ok(Some((id, exit))) => {
                    family.forget(id);
                    report(&Report::Exited { id, exit });
                }
                Ok(None) | Err(_) => break,
            }
        }
    }
}

/// Run a last program to its end, or to the end of its time. It runs for what it does, so it runs
/// without a log as well: somebody may have removed the folder.
async fn say(farewell: &Spec) {
    let (ended, mut exits) = unbounded_channel();
    let mut family = Family::default();
    let unread = Spec { log: "/dev/null".into(), ..farewell.clone() };
    let started = family.spawn(0, farewell, None, ended.clone());
    if let Err(error) = started.or_else(|_| family.spawn(0, &unread, None, ended)) {
        eprintln!("{}: {error}", farewell.name);
        return;
    }
    match tokio::time::timeout(FAREWELL, exits.recv()).await {
        Ok(Some((_, exit))) if exit.success() => {}
        Ok(Some((_, exit))) => eprintln!("{}: {exit}", farewell.name),
        Ok(None) | Err(_) => {
            eprintln!("{}: not done after {FAREWELL:?}", farewell.name);
            family.signal_all(Signal::KILL);
        }
    }
}

/// A program that is just dying may still put a file into a folder that is being removed: then
/// again.
async fn remove_folder(folder: Option<PathBuf>) -> std::io::Result<()> {
    let Some(folder) = folder else { return Ok(()) };
    for _ in 0..20 {
        if std::fs::remove_dir_all(&folder).is_ok() || !folder.exists() {
            return Ok(());
        }
        clock::pause(Duration::from_millis(50)).await;
    }
    std::fs::remove_dir_all(folder)
}

/// Standard input, read by a thread of its own: the channel ends when the harness does.
fn read_orders() -> UnboundedReceiver<Order> {
    let (sender, receiver) = unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
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

fn report(report: &Report) {
    let mut line = serde_json::to_string(report).expect("a report is plain data");
    line.push('\n');
    let mut out = std::io::stdout().lock();
    // A harness that is gone reads no reports; its end arrives as the end of standard input.
    let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
}
