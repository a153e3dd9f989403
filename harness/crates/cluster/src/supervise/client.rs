//! The harness's side: starts a supervisor, sends it commands, and receives its reports.

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

use lockstep_support::private_fs;
use tokio::sync::watch;

#[cfg(doc)]
use super::FINALLY_TIMEOUT;
use super::protocol::{DetachOptions, Exit, ProcessSpec, SupervisorCommand, SupervisorReport};
use super::{ProcessId, ROLE_VARIABLE};

/// The supervisor usually answers within milliseconds; later on a machine that is starting a
/// hundred things.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// A supervisor of this process. Dropping it ends everything that it runs, without waiting.
pub struct Supervisor {
    process: ProcessId,
    input: Arc<CommandPipe>,
    answers: Mutex<Receiver<SupervisorReport>>,
    programs: Arc<Mutex<Programs>>,
    next: AtomicU64,
    ended: watch::Receiver<bool>,
}

/// A program under supervision. Dropping the handle does not end it: it ends with its supervisor.
#[derive(Debug, Clone)]
pub struct Child {
    /// The program's name in messages.
    pub name: String,
    /// Its process id, which is also that of its process group.
    pub pid: i32,
    id: u64,
    exit: watch::Receiver<Option<Exit>>,
    input: Weak<CommandPipe>,
}

/// The write end of the supervisor's pipe: when it is closed, the supervisor ends.
#[derive(Debug)]
struct CommandPipe(Mutex<Option<ChildStdin>>);

/// The running programs, by their ids.
type Programs = BTreeMap<u64, TrackedProgram>;

#[derive(Debug)]
struct TrackedProgram {
    process: Option<ProcessId>,
    exit: watch::Sender<Option<Exit>>,
}

impl Supervisor {
    /// Starts a supervisor. Its log is in `dir`; with `remove_dir` it removes `dir` when it ends.
    pub fn start(dir: &Path, remove_dir: bool) -> Result<Self, SuperviseError> {
        if std::env::var_os(ROLE_VARIABLE).is_some() {
            return Err(SuperviseError::Start(format!("{ROLE_VARIABLE} is set, so this process was to be one itself")));
        }
        let failed = |error: std::io::Error| SuperviseError::Start(error.to_string());
        let log = private_fs::append(&dir.join("supervisor.log")).map_err(failed)?;
        let mut process = Command::new(own_executable().map_err(failed)?)
            .arg0("lockstep")
            .arg("--supervisor") // shown in a process list; a program without this flag stops here
            .env(ROLE_VARIABLE, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let (answer, answers) = channel();
        let (sign_off, ended) = watch::channel(false);
        let programs = Arc::<Mutex<Programs>>::default();
        let supervisor = Self {
            process: ProcessId::of(process.id().cast_signed()),
            input: Arc::new(CommandPipe(Mutex::new(process.stdin.take()))),
            answers: Mutex::new(answers),
            programs: Arc::clone(&programs),
            next: AtomicU64::new(1),
            ended,
        };
        let output = process.stdout.take();
        std::thread::spawn(move || {
            output.into_iter().for_each(|output| listen(output, &programs, &answer));
            // Only reap it: its exit status adds nothing to those of its programs.
            let _ = process.wait();
            sign_off.send_replace(true);
        });
        match supervisor.ask(&SupervisorCommand::Begin { remove: remove_dir.then(|| dir.to_owned()) }) {
            Some(SupervisorReport::Ready) => Ok(supervisor),
            _ => Err(SuperviseError::Start(
                "it gave no sign of life; does `main` call supervise::enter_role first?".to_owned(),
            )),
        }
    }

    /// The supervisor's process.
    pub fn process(&self) -> ProcessId {
        self.process
    }

    /// Starts a program. It leads its own process group and inherits nothing from this process.
    pub fn spawn(&self, spec: ProcessSpec) -> Result<Child, SuperviseError> {
        self.spawn_with(spec, None)
    }

    /// Like [`Self::spawn`], with a connection to the socket at this path as its standard input; it
    /// is connected when this returns.
    pub fn spawn_on(&self, spec: ProcessSpec, socket: &Path) -> Result<Child, SuperviseError> {
        self.spawn_with(spec, Some(socket.to_owned()))
    }

    fn spawn_with(&self, spec: ProcessSpec, socket: Option<PathBuf>) -> Result<Child, SuperviseError> {
        let program = find(&spec)?;
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (exit, exited) = watch::channel(None);
        lock(&self.programs).insert(id, TrackedProgram { process: None, exit });
        let name = spec.name.clone();
        let requested = spec.program.clone();
        match self.ask(&SupervisorCommand::Spawn { id, spec: ProcessSpec { program, ..spec }, socket }) {
            Some(SupervisorReport::Spawned { pid, .. }) => {
                Ok(Child { name, pid, id, exit: exited, input: Arc::downgrade(&self.input) })
            }
            Some(SupervisorReport::Failed { why, .. }) => Err(SuperviseError::Spawn { name, program: requested, why }),
            _ => Err(SuperviseError::Ended(name)),
        }
    }

    /// Registers a program to run after all others have ended and before the folder is removed: for
    /// what is not a child process and must be removed all the same, such as a container. It has
    /// `FINALLY_TIMEOUT` to do so; of several, the last registered runs first.
    pub fn finally(&self, spec: ProcessSpec) -> Result<(), SuperviseError> {
        let program = find(&spec)?;
        let name = spec.name.clone();
        match self.ask(&SupervisorCommand::Finally { spec: ProcessSpec { program, ..spec } }) {
            Some(SupervisorReport::Noted) => Ok(()),
            _ => Err(SuperviseError::Ended(name)),
        }
    }

    /// Cancels [`Self::finally`] and the removal of the folder: what was created is to be kept.
    pub fn keep(&self) -> Result<(), SuperviseError> {
        match self.ask(&SupervisorCommand::Keep) {
            Some(SupervisorReport::Noted) => Ok(()),
            _ => Err(SuperviseError::Ended("what was to stay".to_owned())),
        }
    }

    /// From now on also ends what its programs leave outside of their process groups: when the last
    /// running program has exited, and at the end. Not for programs that start daemons on purpose.
    /// Only Linux can; elsewhere it does nothing.
    pub fn end_orphans(&self) -> Result<(), SuperviseError> {
        match self.ask(&SupervisorCommand::EndOrphans) {
            Some(SupervisorReport::Noted) => Ok(()),
            _ => Err(SuperviseError::Ended("what its programs start".to_owned())),
        }
    }

    /// Ends every program and the supervisor, and waits until everything is gone, including the
    /// folder.
    pub async fn shutdown(self) {
        let mut ended = self.ended.clone();
        drop(self);
        // An error means that the reporting thread has ended, and so has the supervisor.
        let _ = ended.wait_for(|ended| *ended).await;
    }

    /// Lets the supervisor outlive this process.
    pub fn detach(self, until: DetachOptions) -> Result<ProcessId, SuperviseError> {
        match self.ask(&SupervisorCommand::Detach { until }) {
            Some(SupervisorReport::Detached) => Ok(self.process),
            _ => Err(SuperviseError::Ended("what was to live on".to_owned())),
        }
    }

    /// Sends a command and waits for its answer, one at a time, so that answers need no ids.
    fn ask(&self, order: &SupervisorCommand) -> Option<SupervisorReport> {
        let answers = lock(&self.answers);
        self.input.send(order)?;
        let answer = answers.recv_timeout(ANSWER_TIMEOUT);
        if answer.is_err() {
            // Close the pipe: a late answer must not be taken for the next command's.
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
    /// How it exited, if it has.
    pub fn exited(&self) -> Option<Exit> {
        *self.exit.borrow()
    }

    /// Waits until it has exited.
    pub async fn wait_exit(&self) -> Exit {
        let mut exit = self.exit.clone();
        let found = exit.wait_for(Option::is_some).await.map(|found| *found);
        found.ok().flatten().unwrap_or(Exit::Unknown)
    }

    /// Kills it and its process group (SIGKILL), without waiting.
    pub fn kill(&self) {
        self.order(&SupervisorCommand::Kill { id: self.id });
    }

    /// Asks it and its process group to end (SIGTERM), without waiting.
    pub fn terminate(&self) {
        self.order(&SupervisorCommand::Terminate { id: self.id });
    }

    /// If the supervisor is gone, it has ended the program.
    fn order(&self, order: &SupervisorCommand) {
        if let Some(input) = self.input.upgrade() {
            let _ = input.send(order);
        }
    }
}

impl CommandPipe {
    fn send(&self, order: &SupervisorCommand) -> Option<()> {
        let mut line = serde_json::to_string(order).expect("an order is plain data");
        line.push('\n');
        let mut input = lock(&self.0);
        let pipe = input.as_mut()?;
        pipe.write_all(line.as_bytes()).and_then(|()| pipe.flush()).ok()
    }
}

/// Reads reports until the supervisor is gone, then kills what it may have left behind.
fn listen(output: ChildStdout, programs: &Mutex<Programs>, answer: &Sender<SupervisorReport>) {
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        match serde_json::from_str(&line) {
            Ok(SupervisorReport::Exited { id, exit }) => {
                if let Some(program) = lock(programs).remove(&id) {
                    program.exit.send_replace(Some(exit));
                }
            }
            Ok(report) => {
                if let SupervisorReport::Spawned { id, pid } = report
                    && let Some(program) = lock(programs).get_mut(&id)
                {
                    program.process = Some(ProcessId::of(pid));
                }
                // The caller may have timed out, and then has closed the pipe.
                let _ = answer.send(report);
            }
            Err(error) => tracing::warn!(%error, line, "the supervisor says something odd"),
        }
    }
    for (_, program) in std::mem::take(&mut *lock(programs)) {
        program.process.iter().for_each(ProcessId::kill_group);
        program.exit.send_replace(Some(Exit::Unknown));
    }
}

/// This executable; on Linux even after it was replaced on disk.
pub(crate) fn own_executable() -> std::io::Result<PathBuf> {
    let running = Path::new("/proc/self/exe");
    if running.exists() { Ok(running.to_owned()) } else { std::env::current_exe() }
}

/// The environment variables of this process that are valid text.
pub fn own_environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// Finds a program: a name without a slash on this process's `PATH`, whatever `PATH` the program
/// will have.
fn find(spec: &ProcessSpec) -> Result<PathBuf, SuperviseError> {
    let missing = || SuperviseError::Missing { name: spec.name.clone(), program: spec.program.clone() };
    if spec.program.components().count() > 1 {
        return spec.program.is_file().then(|| spec.program.clone()).ok_or_else(missing);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Like a shell, skip files of that name that are not executable.
    let runs = |file: &PathBuf| file.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0);
    std::env::split_paths(&path).map(|dir| dir.join(&spec.program)).find(runs).ok_or_else(missing)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why a program could not be supervised.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SuperviseError {
    /// The supervisor's process could not be started or did not answer.
    #[error("the supervisor did not start: {0}")]
    Start(String),
    /// The supervisor has ended.
    #[error("the supervisor has ended, so {0} cannot be started; see supervisor.log in its folder")]
    Ended(String),
    /// The program does not exist.
    #[error("{name} needs the program {}, which was not found: install it, or give its path", program.display())]
    Missing {
        /// The purpose of the program.
        name: String,
        /// The requested program.
        program: PathBuf,
    },
    /// The program exists, but did not start.
    #[error("{name} ({}) did not start: {why}", program.display())]
    Spawn {
        /// The purpose of the program.
        name: String,
        /// The requested program.
        program: PathBuf,
        /// The system's error.
        why: String,
    },
    /// The system refuses a private mount.
    #[error(
        "cannot mount a folder at {} for one process: {why}; run as root, allow user namespaces to other users \
         (user.max_user_namespaces, and kernel.apparmor_restrict_unprivileged_userns=0 where AppArmor restricts them), \
         or run the controller as pods: deployment:MANIFEST",
        at.display()
    )]
    Mount {
        /// The mount point.
        at: PathBuf,
        /// The system's error.
        why: String,
    },
}
