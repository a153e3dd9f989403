//! One program, and the exchange of frames with it.

use std::io::{self, BufReader};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::home::Home;
use super::super::{ENDED, SubjectError, command, log_source};
use super::dump;
use super::frames::{self, After, Hello, PROTOCOL, Response, Said, Start, Turn};
use super::program::Program;
use crate::clock;
use crate::recording::{Blame, Trouble};
use crate::supervise::{Child, ProcessId, Spec, Supervisor};

/// How long a program may take to answer, in real time, unless its pool says otherwise: between two
/// frames it computes and never waits.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);
/// How long it may take to end, in looks.
const LOOKS: u32 = 200;
const LOOK: Duration = Duration::from_millis(10);
/// How many goroutines bubbles may leave behind in one program, as those of old versions do, before
/// it is replaced.
const MOST_LEFT: u64 = 5_000;

/// What programs find that look for a kubeconfig by themselves, some before the first case: no
/// server is ever asked. In a case the network takes its place, which plain HTTP lets it do.
const NOWHERE: &str = "apiVersion: v1
kind: Config
current-context: virtual
clusters: [{name: virtual, cluster: {server: \"http://127.0.0.1:1\"}}]
contexts: [{name: virtual, context: {cluster: virtual, user: virtual}}]
users: [{name: virtual}]
";

/// A program that runs. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Process {
    program: Program,
    hello: Hello,
    stream: BufReader<UnixStream>,
    child: Child,
    log: PathBuf,
    /// How much the log held when the bubble began.
    printed: u64,
    /// How many goroutines bubbles have left behind in it.
    left: u64,
    state: State,
    patience: Duration,
}

/// Where a program is started.
pub(super) struct Place<'a> {
    pub(super) supervisor: &'a Supervisor,
    /// For its log.
    pub(super) folder: &'a Path,
    /// Its own among those of the folder.
    pub(super) number: u32,
    /// How long it may take to answer.
    pub(super) patience: Duration,
}

/// What the program waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The start of a bubble.
    Start,
    /// A turn.
    Turn,
    /// The answer to this request, before the bubble can become idle.
    Answer(u64),
    /// Nothing that it could be given: it is of no use any more.
    Broken,
}

impl Process {
    /// Start a program.
    pub(super) fn start(program: &Program, place: &Place<'_>) -> Result<Self, SubjectError> {
        let Place { supervisor, folder, number, patience } = *place;
        let (socket, log) = (folder.join(format!("{number}.socket")), folder.join(format!("{number}.log")));
        let listener = UnixListener::bind(&socket)?;
        let path = program.path.clone();
        let home = Home::furnish(&folder.join(number.to_string()), NOWHERE, None)?;
        let env = [("HOME".to_owned(), home.folder.display().to_string())].into();
        let spec = Spec { name: program.name.clone(), program: path, args: vec![], env, log: log.clone() };
        // It has connected once it runs, so nothing is waited for.
        let child = supervisor.spawn_on(spec, &socket)?;
        let (stream, _) = listener.accept()?;
        std::fs::remove_file(&socket)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut stream = BufReader::new(stream);
        let failed = |why: String| {
            child.kill();
            SubjectError::Virtual { subject: program.display(), why }
        };
        let hello = match frames::read(&mut stream) {
            Ok(Said::Hello(hello)) => hello,
            Ok(Said::Failed(frames::Failed { message })) => return Err(failed(message)),
            Ok(_) => return Err(failed("its first frame is not `hello`".to_owned())),
            Err(error) => return Err(failed(format!("{error}{}", command::last_words(&log, 0)))),
        };
        let is_other = program.version.as_ref().is_some_and(|version| *version != hello.version);
        if hello.protocol != PROTOCOL || is_other {
            let path = program.path.display();
            let (spoken, version) = (hello.protocol, &hello.version);
            let why = format!("{path} is of {version} and speaks version {spoken} of the protocol, not {PROTOCOL}");
            return Err(failed(why));
        }
        stream.get_ref().set_read_timeout(Some(patience))?;
        let (program, state) = (program.clone(), State::Start);
        Ok(Self { program, hello, stream, child, log, printed: 0, left: 0, state, patience })
    }

    /// Which program it is.
    pub(super) fn program(&self) -> &Program {
        &self.program
    }

    /// What it says of itself.
    pub(super) fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Where it prints to.
    pub(super) fn log(&self) -> &Path {
        &self.log
    }

    /// How much it has printed so far.
    pub(super) fn printed(&self) -> u64 {
        self.log.metadata().map_or(0, |file| file.len())
    }

    /// Whether another bubble can begin in it.
    pub(super) fn is_free(&self) -> bool {
        self.state == State::Start && self.child.exited().is_none()
    }

    /// Begin a bubble.
    pub(super) fn begin(&mut self, start: &Start) -> Result<Said, Trouble> {
        self.printed = self.printed();
        self.exchange(&start.frame())
    }

    /// One turn.
    pub(super) fn turn(&mut self, turn: Turn<'_>) -> Result<Said, Trouble> {
        self.exchange(&turn.frame(None))
    }

    /// One turn, and what passes before it, for a program that knows that.
    pub(super) fn turn_after(&mut self, after: After, turn: Turn<'_>) -> Result<Said, Trouble> {
        self.exchange(&turn.frame(Some(after)))
    }

    /// The answer to a request that had to be answered at once, or why there is none.
    pub(super) fn answer(&mut self, id: u64, answer: &Result<Response, String>) -> Result<Said, Trouble> {
        self.exchange(&match answer {
            Ok(response) => response.answer(id),
            Err(message) => Response::no_answer(id, message),
        })
    }

    /// End the bubble; whether another can begin.
    pub(super) fn end(&mut self) -> bool {
        loop {
            let said = match self.state {
                State::Start => return true,
                State::Broken => return false,
                State::Answer(id) => self.answer(id, &Err("the case is over".to_owned())),
                State::Turn => self.turn(Turn::End),
            };
            if said.is_err() {
                return false;
            }
        }
    }

    fn exchange(&mut self, frame: &[u8]) -> Result<Said, Trouble> {
        tracing::trace!(frame = %String::from_utf8_lossy(frame), "to the bubble");
        let said = match frames::write(self.stream.get_mut(), frame).and_then(|()| frames::read(&mut self.stream)) {
            Ok(said) => {
                tracing::trace!(?said, "from the bubble");
                said
            }
            Err(error) => {
                self.state = State::Broken;
                return Err(self.trouble(&error));
            }
        };
        self.state = match &said {
            Said::Idle(_) => State::Turn,
            Said::Ask(request) => State::Answer(request.id),
            Said::Done(done) => {
                self.left += done.goroutines;
                if self.left > MOST_LEFT { State::Broken } else { State::Start }
            }
            Said::Failed(_) | Said::Hello(_) => State::Broken,
        };
        match said {
            Said::Failed(failed) => Err(Trouble::ended(format!("{ENDED}: {}", failed.message))),
            Said::Hello(_) => Err(environment(format!("{} said `hello` in the middle of a case", self.program.name))),
            said => Ok(said),
        }
    }

    /// Why there is no answer, and whose fault that is: a controller that panics ends its program,
    /// as upstream's own does.
    fn trouble(&mut self, error: &io::Error) -> Trouble {
        use io::ErrorKind::{InvalidData, TimedOut, WouldBlock};
        match error.kind() {
            TimedOut | WouldBlock => self.hung(),
            InvalidData => environment(format!("a frame of {} cannot be read: {error}", self.program.name)),
            _ => {
                let exit = self.exit().map_or_else(|| error.to_string(), |exit| exit.to_string());
                Trouble::ended(format!("{ENDED} ({exit}){}", command::last_words(&self.log, self.printed)))
            }
        }
    }

    /// It does not answer: ask what its goroutines do, which it prints and then ends.
    fn hung(&mut self) -> Trouble {
        let from = self.printed();
        ProcessId::of(self.child.pid).quit();
        self.exit();
        let dump = log_source::tail(&self.log, from).unwrap_or_default();
        let culprits = dump::culprits(&dump);
        let seconds = self.patience.as_secs();
        let mut why = format!(
            "{} {} did not become idle within {seconds} s of real time; what its goroutines did is in its log",
            self.program.name, self.hello.version
        );
        if !culprits.is_empty() {
            why += &format!("; these did not wait for its clock:\n  {}", culprits.join("\n  "));
        }
        environment(why)
    }

    /// How it ended, where it does so soon. Time may be virtual here, so looks are counted.
    fn exit(&self) -> Option<crate::supervise::Exit> {
        for _ in 0..LOOKS {
            if let Some(exit) = self.child.exited() {
                return Some(exit);
            }
            clock::pause_blocking(LOOK);
        }
        None
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill();
    }
}

fn environment(why: String) -> Trouble {
    Trouble::new(Blame::Environment, why)
}
