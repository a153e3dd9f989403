//! Starts a program, exchanges frames with it, and describes one that does not answer.
//!
//! A Go program prints its goroutines on SIGQUIT. If a bubble never becomes idle, the relevant ones
//! are those whose wait does not let its clock advance; `testing/synctest` and the dump call the
//! other kind durable.

use std::io::{self, BufReader};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use lockstep_cluster::supervise::{Child, ProcessId, ProcessSpec, Supervisor};
use lockstep_recording::{Blame, Trouble};
use lockstep_support::clock;

use super::frames::{
    self, BubbleFrame, BubbleStart, BubbleTurn, ControllerRequest, Hello, PROTOCOL, Preamble, Response,
};
use super::program::VirtualProgram;
use crate::command::{self, ENDED};
use crate::pod_env::SubjectHome;
use crate::{SubjectError, log_source};

/// The default time limit for an answer, in real time: between two frames the program computes and
/// never waits.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
/// The time limit for exiting, as a number of polls.
const EXIT_POLLS: u32 = 200;
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// The number of goroutines that bubbles may leave behind in one program, as those of old versions
/// do, before it is replaced.
const MAX_LEAKED_GOROUTINES: u64 = 5_000;

/// The kubeconfig of programs that look for one by themselves, some before the first case. No
/// server is contacted: in a case the simulated network replaces it, which plain HTTP permits.
const NOWHERE: &str = "apiVersion: v1
kind: Config
current-context: virtual
clusters: [{name: virtual, cluster: {server: \"http://127.0.0.1:1\"}}]
contexts: [{name: virtual, context: {cluster: virtual, user: virtual}}]
users: [{name: virtual}]
";

/// A running program. Dropping it kills it.
#[derive(Debug)]
pub(super) struct BubbleProcess {
    program: VirtualProgram,
    hello: Hello,
    stream: BufReader<UnixStream>,
    child: Child,
    log: PathBuf,
    /// The length of the log when the bubble began.
    printed: u64,
    /// The number of goroutines that bubbles have left behind.
    leaked_goroutines: u64,
    state: State,
    timeout: Duration,
}

/// The parameters for starting a program.
pub(super) struct ProcessPlacement<'a> {
    pub(super) supervisor: &'a Supervisor,
    /// The folder for its log.
    pub(super) folder: &'a Path,
    /// Its number in the folder.
    pub(super) number: u32,
    /// The time limit for an answer.
    pub(super) timeout: Duration,
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
    /// Nothing: it is not usable any more.
    Broken,
}

impl BubbleProcess {
    pub(super) fn start(program: &VirtualProgram, placement: &ProcessPlacement<'_>) -> Result<Self, SubjectError> {
        let ProcessPlacement { supervisor, folder, number, timeout } = *placement;
        let (socket, log) = (folder.join(format!("{number}.socket")), folder.join(format!("{number}.log")));
        let listener = UnixListener::bind(&socket)?;
        let path = program.path.clone();
        let home = SubjectHome::create(&folder.join(number.to_string()), NOWHERE, None)?;
        let env = [("HOME".to_owned(), home.folder.display().to_string())].into();
        let spec = ProcessSpec { name: program.name.clone(), program: path, args: vec![], env, log: log.clone() };
        // It connects when it is spawned, so this does not block.
        let child = supervisor.spawn_on(spec, &socket)?;
        let (stream, _) = listener.accept()?;
        std::fs::remove_file(&socket)?;
        stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        stream.set_write_timeout(Some(ANSWER_TIMEOUT))?;
        let mut stream = BufReader::new(stream);
        let failed = |why: String| {
            child.kill();
            SubjectError::Virtual { subject: program.display(), why }
        };
        let hello = match frames::read(&mut stream) {
            Ok(BubbleFrame::Hello(hello)) => hello,
            Ok(BubbleFrame::Failed(frames::BubbleFailure { message })) => return Err(failed(message)),
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
        stream.get_ref().set_read_timeout(Some(timeout))?;
        let (program, state) = (program.clone(), State::Start);
        Ok(Self { program, hello, stream, child, log, printed: 0, leaked_goroutines: 0, state, timeout })
    }

    pub(super) fn program(&self) -> &VirtualProgram {
        &self.program
    }

    /// Its first frame.
    pub(super) fn hello(&self) -> &Hello {
        &self.hello
    }

    pub(super) fn log(&self) -> &Path {
        &self.log
    }

    /// The length of its log.
    pub(super) fn printed(&self) -> u64 {
        self.log.metadata().map_or(0, |file| file.len())
    }

    /// Whether it can run another bubble.
    pub(super) fn is_free(&self) -> bool {
        self.state == State::Start && self.child.exited().is_none()
    }

    pub(super) fn begin(&mut self, start: &BubbleStart) -> Result<BubbleFrame, Trouble> {
        self.printed = self.printed();
        self.exchange(&start.frame())
    }

    /// Plays a turn.
    pub(super) fn turn(&mut self, turn: BubbleTurn<'_>) -> Result<BubbleFrame, Trouble> {
        self.exchange(&turn.frame(None))
    }

    /// Plays a turn with a preamble, if the program supports that.
    pub(super) fn turn_after(&mut self, after: Preamble, turn: BubbleTurn<'_>) -> Result<BubbleFrame, Trouble> {
        self.exchange(&turn.frame(Some(after)))
    }

    /// Answers a request that must be answered at once, or reports why there is no answer.
    pub(super) fn answer(&mut self, id: u64, answer: &Result<Response, String>) -> Result<BubbleFrame, Trouble> {
        self.exchange(&match answer {
            Ok(response) => response.answer(id),
            Err(message) => Response::no_answer(id, message),
        })
    }

    /// Ends the bubble; returns whether another can start.
    pub(super) fn end(&mut self) -> bool {
        loop {
            let result = match self.state {
                State::Start => return true,
                State::Broken => return false,
                State::Answer(id) => self.answer(id, &Err("the case is over".to_owned())),
                State::Turn => self.turn(BubbleTurn::End),
            };
            if result.is_err() {
                return false;
            }
        }
    }

    fn exchange(&mut self, frame: &[u8]) -> Result<BubbleFrame, Trouble> {
        // Without its content, which may be a Secret's.
        tracing::trace!(bytes = frame.len(), "to the bubble");
        let reply = match frames::write(self.stream.get_mut(), frame).and_then(|()| frames::read(&mut self.stream)) {
            Ok(frame) => {
                match &frame {
                    BubbleFrame::Ask(ControllerRequest { method, uri, .. }) => {
                        tracing::trace!(method, uri, "asked by the bubble");
                    }
                    other => tracing::trace!(said = ?other, "from the bubble"),
                }
                frame
            }
            Err(error) => {
                self.state = State::Broken;
                return Err(self.trouble(&error));
            }
        };
        self.state = match &reply {
            BubbleFrame::Idle(_) => State::Turn,
            BubbleFrame::Ask(request) => State::Answer(request.id),
            BubbleFrame::Done(done) => {
                self.leaked_goroutines += done.goroutines;
                if self.leaked_goroutines > MAX_LEAKED_GOROUTINES { State::Broken } else { State::Start }
            }
            BubbleFrame::Failed(_) | BubbleFrame::Hello(_) => State::Broken,
        };
        match reply {
            BubbleFrame::Failed(failed) => Err(Trouble::ended(format!("{ENDED}: {}", failed.message))),
            BubbleFrame::Hello(_) => {
                Err(environment(format!("{} said `hello` in the middle of a case", self.program.name)))
            }
            reply => Ok(reply),
        }
    }

    /// Why there is no answer, and who is to blame: a controller that panics ends its program, as
    /// in upstream's own.
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

    /// It does not answer: make it print its goroutines and exit.
    fn hung(&mut self) -> Trouble {
        let from = self.printed();
        ProcessId::of(self.child.pid).quit();
        self.exit();
        let dump = log_source::tail(&self.log, from).unwrap_or_default();
        let culprits = culprits(&dump);
        let seconds = self.timeout.as_secs();
        let mut why = format!(
            "{} {} did not become idle within {seconds} s of real time; what its goroutines did is in its log",
            self.program.name, self.hello.version
        );
        if !culprits.is_empty() {
            why += &format!("; these did not wait for its clock:\n  {}", culprits.join("\n  "));
        }
        environment(why)
    }

    /// How it exited, if it exits soon. Time may be virtual here, so polls are counted.
    fn exit(&self) -> Option<lockstep_cluster::supervise::Exit> {
        for _ in 0..EXIT_POLLS {
            if let Some(exit) = self.child.exited() {
                return Some(exit);
            }
            clock::pause_blocking(POLL_INTERVAL);
        }
        None
    }
}

impl Drop for BubbleProcess {
    fn drop(&mut self) {
        self.child.kill();
    }
}

fn environment(why: String) -> Trouble {
    Trouble::new(Blame::Environment, why)
}

/// The number of goroutines that are shown.
const MOST: usize = 5;
/// The number of functions of each.
const DEEP: usize = 4;

/// The goroutines that keep a bubble from becoming idle, one line each.
fn culprits(dump: &str) -> Vec<String> {
    let all = dump.split("\n\n").filter_map(|text| Some((text.trim().strip_prefix("goroutine ")?, text)));
    let of_bubble = all.filter(|(head, _)| {
        let state = head.lines().next().unwrap_or_default();
        state.contains("synctest bubble") && !state.contains("(durable)") && !state.contains("synctest.Run")
    });
    of_bubble.map(|(_, text)| line(text)).take(MOST).collect()
}

/// `goroutine 35 [sync.Mutex.Lock]: a.f, a.g, b.h`.
fn line(goroutine: &str) -> String {
    let mut lines = goroutine.trim().lines();
    let head = lines.next().unwrap_or_default().trim_end_matches(':');
    let functions = lines.filter(|line| !line.starts_with('\t') && !line.starts_with("created by"));
    let functions = functions.map(|line| line.rsplit_once('(').map_or(line, |(function, _)| function));
    format!("{head}: {}", functions.take(DEEP).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUMP: &str = "\
SIGQUIT: quit
PC=0x47d3a1 m=0 sigcode=0

goroutine 1 [synctest.Run]:
testing/synctest.Test(0xc000102000)
\t/go/src/testing/synctest/synctest.go:10 +0x5

goroutine 35 [sync.Mutex.Lock, synctest bubble 1]:
sync.(*Mutex).Lock(0xc000234)
\t/go/src/sync/mutex.go:46 +0x1
k8s.io/client-go/restmapper.(*Deferred).getDelegate(0xc0003)
\t/x/discovery.go:180 +0x1
created by k8s.io/kubernetes/pkg/x in goroutine 34
\t/x/y.go:1 +0x1

goroutine 36 [select (durable), synctest bubble 1]:
k8s.io/apimachinery/pkg/util/wait.Until(0xc0003)
\t/x/wait.go:180 +0x1
";

    #[test]
    fn shows_goroutines_that_wait_for_a_lock() {
        let line = "goroutine 35 [sync.Mutex.Lock, synctest bubble 1]: sync.(*Mutex).Lock, \
                    k8s.io/client-go/restmapper.(*Deferred).getDelegate";
        assert_eq!(culprits(DUMP), [line]);
        assert!(culprits("no dump").is_empty());
    }
}
