//! The harness's half: start a supervisor, tell it what to run, hear how it ended.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::watch;

#[cfg(doc)]
use super::FAREWELL;
use super::protocol::{Exit, Order, Report, Spec, Until};
use super::{MARK, ProcessId, SuperviseError};
use crate::private;

/// The supervisor answers within milliseconds; on a machine that is starting a hundred things,
/// later.
const PATIENCE: Duration = Duration::from_secs(20);

/// A supervisor that works for this process. Dropping it ends everything that it runs, without
/// waiting.
pub struct Supervisor {
    process: ProcessId,
    input: Arc<Input>,
    answers: Mutex<Receiver<Report>>,
    programs: Arc<Mutex<Programs>>,
    next: AtomicU64,
    gone: watch::Receiver<bool>,
}

/// A program under supervision. Dropping this leaves it running: it ends with its supervisor.
#[derive(Debug, Clone)]
pub struct Child {
    /// What it is called in messages.
    pub name: String,
    /// The number of its process, and of the group that it leads.
    pub pid: i32,
    id: u64,
    exit: watch::Receiver<Option<Exit>>,
    input: Weak<Input>,
}

/// The write end of the pipe: when it is closed, the supervisor ends.
#[derive(Debug)]
struct Input(Mutex<Option<ChildStdin>>);

/// What runs, by the number that it was started under.
type Programs = BTreeMap<u64, Program>;

#[derive(Debug)]
struct Program {
    process: Option<ProcessId>,
    exit: watch::Sender<Option<Exit>>,
}

impl Supervisor {
    /// Start a supervisor. Its own log stands in `dir`; with `remove_dir` it removes `dir` when it
    /// ends.
    pub fn start(dir: &Path, remove_dir: bool) -> Result<Self, SuperviseError> {
        if std::env::var_os(MARK).is_some() {
            return Err(SuperviseError::Start(format!("{MARK} is set, so this process was to be one itself")));
        }
        let failed = |error: std::io::Error| SuperviseError::Start(error.to_string());
        let log = private::append(&dir.join("supervisor.log")).map_err(failed)?;
        let mut process = Command::new(own_executable().map_err(failed)?)
            .arg0("lockstep")
            .arg("--supervisor") // for whoever reads a list of processes; and a program that does not know it stops here
            .env(MARK, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let (answer, answers) = channel();
        let (sign_off, gone) = watch::channel(false);
        let programs = Arc::<Mutex<Programs>>::default();
        let supervisor = Self {
            process: ProcessId::of(process.id().cast_signed()),
            input: Arc::new(Input(Mutex::new(process.stdin.take()))),
            answers: Mutex::new(answers),
            programs: Arc::clone(&programs),
            next: AtomicU64::new(1),
            gone,
        };
        let output = process.stdout.take();
        std::thread::spawn(move || {
            output.into_iter().for_each(|output| listen(output, &programs, &answer));
            // Only reaped: how it ended says nothing that the ends of its programs did not.
            let _ = process.wait();
            sign_off.send_replace(true);
        });
        match supervisor.ask(&Order::Begin { remove: remove_dir.then(|| dir.to_owned()) }) {
            Some(Report::Ready) => Ok(supervisor),
            _ => Err(SuperviseError::Start("it gave no sign of life".to_owned())),
        }
    }

    /// The supervisor's own process.
    pub fn process(&self) -> ProcessId {
        self.process
    }

    /// Start a program. It leads a process group of its own and inherits nothing of this process.
    pub fn spawn(&self, spec: Spec) -> Result<Child, SuperviseError> {
        self.spawn_with(spec, None)
    }

    /// The same, with a connection to a socket that listens at this path as its standard input: it
    /// has connected when this returns.
    pub fn spawn_on(&self, spec: Spec, socket: &Path) -> Result<Child, SuperviseError> {
        self.spawn_with(spec, Some(socket.to_owned()))
    }

    fn spawn_with(&self, spec: Spec, socket: Option<PathBuf>) -> Result<Child, SuperviseError> {
        let program = find(&spec)?;
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (exit, exited) = watch::channel(None);
        lock(&self.programs).insert(id, Program { process: None, exit });
        let name = spec.name.clone();
        let asked = spec.program.clone();
        match self.ask(&Order::Spawn { id, spec: Spec { program, ..spec }, socket }) {
            Some(Report::Spawned { pid, .. }) => {
                Ok(Child { name, pid, id, exit: exited, input: Arc::downgrade(&self.input) })
            }
            Some(Report::Failed { missing: true, .. }) => Err(SuperviseError::Missing { name, program: asked }),
            Some(Report::Failed { why, .. }) => Err(SuperviseError::Spawn { name, program: asked, why }),
            _ => Err(SuperviseError::Gone(name)),
        }
    }

    /// Have a program run when all others have ended and before the folder goes: for what is not a
    /// process of ours and must go all the same, such as a container. It has [`FAREWELL`] to do so;
    /// several run one after the other, the last told first.
    pub fn finally(&self, spec: Spec) -> Result<(), SuperviseError> {
        let program = find(&spec)?;
        let name = spec.name.clone();
        match self.ask(&Order::Finally { spec: Spec { program, ..spec } }) {
            Some(Report::Noted) => Ok(()),
            _ => Err(SuperviseError::Gone(name)),
        }
    }

    /// Take [`Self::finally`] back, and the removal of the folder: what was made is to stay.
    pub fn keep(&self) -> Result<(), SuperviseError> {
        match self.ask(&Order::Keep) {
            Some(Report::Noted) => Ok(()),
            _ => Err(SuperviseError::Gone("what was to stay".to_owned())),
        }
    }

    /// End every program and the supervisor, and wait until all of it is gone, the folder included.
    pub async fn shutdown(self) {
        let mut gone = self.gone.clone();
        drop(self);
        // An error means that the thread that would tell is gone, and so is the supervisor.
        let _ = gone.wait_for(|gone| *gone).await;
    }

    /// Let the supervisor live on without this process.
    pub fn detach(self, until: Until) -> Result<ProcessId, SuperviseError> {
        match self.ask(&Order::Detach { until }) {
            Some(Report::Detached) => Ok(self.process),
            _ => Err(SuperviseError::Gone("what was to live on".to_owned())),
        }
    }

    /// Send an order and wait for its answer; one at a time, so that answers need no numbers.
    fn ask(&self, order: &Order) -> Option<Report> {
        let answers = lock(&self.answers);
        self.input.send(order)?;
        let answer = answers.recv_timeout(PATIENCE);
        if answer.is_err() {
            // Given up for good: a late answer must not be taken for the next one's.
            lock(&self.input.0).take();
        }
        answer.ok()
    }
}

impl fmt::Debug for Supervisor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Supervisor").field("process", &self.process).finish_non_exhaustive()
    }
}

impl Child {
    /// How it ended, if it has.
    pub fn exited(&self) -> Option<Exit> {
        *self.exit.borrow()
    }

    /// Wait until it has ended.
    pub async fn wait_exit(&self) -> Exit {
        let mut exit = self.exit.clone();
        let found = exit.wait_for(Option::is_some).await.map(|found| *found);
        found.ok().flatten().unwrap_or(Exit::Unseen)
    }

    /// Kill it and its whole group (SIGKILL), without waiting.
    pub fn kill(&self) {
        self.order(&Order::Kill { id: self.id });
    }

    /// Ask it and its whole group to end (SIGTERM), without waiting.
    pub fn terminate(&self) {
        self.order(&Order::Terminate { id: self.id });
    }

    /// A supervisor that is gone has ended the program already.
    fn order(&self, order: &Order) {
        if let Some(input) = self.input.upgrade() {
            let _ = input.send(order);
        }
    }
}

impl Input {
    fn send(&self, order: &Order) -> Option<()> {
        let mut line = serde_json::to_string(order).expect("an order is plain data");
        line.push('\n');
        let mut input = lock(&self.0);
        let pipe = input.as_mut()?;
        pipe.write_all(line.as_bytes()).and_then(|()| pipe.flush()).ok()
    }
}

/// Read reports until the supervisor is gone, then end what it may have left behind.
fn listen(output: ChildStdout, programs: &Mutex<Programs>, answer: &Sender<Report>) {
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        match serde_json::from_str(&line) {
            Ok(Report::Exited { id, exit }) => {
                if let Some(program) = lock(programs).remove(&id) {
                    program.exit.send_replace(Some(exit));
                }
            }
            Ok(report) => {
                if let Report::Spawned { id, pid } = report
                    && let Some(program) = lock(programs).get_mut(&id)
                {
                    program.process = Some(ProcessId::of(pid));
                }
                // The one who asked may have lost patience, and then has given this supervisor up.
                let _ = answer.send(report);
            }
            Err(error) => tracing::warn!(%error, line, "the supervisor says something odd"),
        }
    }
    for (_, program) in std::mem::take(&mut *lock(programs)) {
        program.process.iter().for_each(ProcessId::kill_group);
        program.exit.send_replace(Some(Exit::Unseen));
    }
}

/// On Linux this finds the executable even after it was replaced on disk.
pub(crate) fn own_executable() -> std::io::Result<PathBuf> {
    let running = Path::new("/proc/self/exe");
    if running.exists() { Ok(running.to_owned()) } else { std::env::current_exe() }
}

/// The variables of this process, without those that are no text.
pub(crate) fn own_environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// A name without a slash is looked up on this process's `PATH`, whatever `PATH` the program will
/// have.
fn find(spec: &Spec) -> Result<PathBuf, SuperviseError> {
    let missing = || SuperviseError::Missing { name: spec.name.clone(), program: spec.program.clone() };
    if spec.program.components().count() > 1 {
        return spec.program.is_file().then(|| spec.program.clone()).ok_or_else(missing);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    // As a shell does, pass over what is of that name and cannot be run.
    let runs = |file: &PathBuf| file.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0);
    std::env::split_paths(&path).map(|dir| dir.join(&spec.program)).find(runs).ok_or_else(missing)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
