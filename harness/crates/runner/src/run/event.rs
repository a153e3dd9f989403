//! The events of a run.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lockstep_case::Case;
use lockstep_recording::controllers::ControllerSet;
use lockstep_recording::{Identity, Recording, RecordingError};
use lockstep_report::{CaseFaults, RerunCommands};
use lockstep_subject::SubjectSpec;
use lockstep_support::outcome::{InterruptCause, RunOutcome};
use lockstep_timeline::{GoldenOutcomes, StepId, Timeline};
use lockstep_verdict::Judgement;

/// What a run reports while it goes on.
#[derive(Debug, Clone, Copy)]
pub enum RunEvent<'a> {
    /// The run starts.
    RunStarted {
        /// The number of plays.
        plays: usize,
    },
    /// A cluster is up and watched.
    EnvironmentReady {
        /// The cluster.
        identity: &'a Identity,
        /// How the cluster was obtained.
        origin: EnvironmentOrigin,
        /// The time that it took.
        took: Duration,
    },
    /// The test environment has been verified, and the subject runs on it.
    SessionReady {
        /// The subject, as named on the command line.
        spec: &'a SubjectSpec,
        /// The program and version that it reports.
        identity: &'a Identity,
        /// The controller that shares its work, if there is one.
        beside: Option<&'a Identity>,
        /// The controllers that it brings.
        under_test: &'a ControllerSet,
        /// Why it does not serve the probe, if it does not.
        unserved: Option<&'a str>,
        /// The time that it took.
        took: Duration,
    },
    /// A play starts.
    CaseStarted {
        /// The case.
        case: &'a Case,
    },
    /// A step of a running play has settled.
    StepSettled {
        /// The case.
        case: &'a Case,
        /// The step.
        step: StepId,
    },
    /// A play has ended, and is not judged yet.
    CasePlayed {
        /// The case.
        case: &'a Case,
    },
    /// A recording has been judged.
    CaseJudged(&'a JudgedPlay<'a>),
    /// Two recordings of a case have been compared. `CaseJudged` for the second follows.
    CaseCompared {
        /// The names of the two subjects.
        titles: [&'a str; 2],
        /// The first judged by its golden timeline, the second by the first.
        judgements: [&'a Judgement; 2],
    },
    /// The faults of a case have been tried.
    FaultsTried(&'a CaseFaults),
    /// A round through all cases has ended.
    RoundEnded {
        /// The subject.
        spec: &'a SubjectSpec,
        /// The number of the repetition, from 1.
        time: u32,
        /// The seed, if each round has its own.
        seed: Option<u64>,
        /// The number of conformant plays.
        conformant: usize,
        /// The number of plays.
        plays: usize,
    },
    /// All cases of a subject have been played.
    CasesPlayed {
        /// The name of the subject.
        title: &'a str,
        /// The number of plays.
        plays: usize,
        /// The time that it took.
        took: Duration,
    },
    /// A session ends.
    SessionEnded {
        /// The subject.
        spec: &'a SubjectSpec,
        /// The number of requests that it made.
        requests: u64,
        /// The requests that the API server refused, each with a count.
        refused: &'a [(String, u64)],
        /// Why the subject ended by itself between two cases, for each time that it did.
        ends_between_cases: &'a [String],
    },
    /// The run is over.
    RunEnded {
        /// The outcome of each play.
        outcomes: &'a [RunOutcome],
        /// How often a subject ended by itself between two cases, for which it is to blame.
        ended_between: usize,
        /// The number of skipped plays if the run ended early; `None` if it did not.
        unplayed: Option<usize>,
        /// The signal that ended the run, if one did.
        cause: Option<InterruptCause>,
        /// How long it took.
        took: Duration,
    },
}

/// How a cluster was obtained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnvironmentOrigin {
    /// It was left running by `lockstep cluster up`.
    Attached,
    /// It was booted for this run.
    Booted,
    /// It is a cluster of the user's.
    User,
    /// It already existed, or is kept after the run.
    Ready,
}

/// A judged play, with everything that reports need.
#[derive(Debug, Clone, Copy)]
pub struct JudgedPlay<'a> {
    /// The judgement.
    pub judgement: &'a Judgement,
    /// The expected timeline, if there is one.
    pub expected: Option<&'a Timeline>,
    /// All golden timelines of the case, if there are any.
    pub golden: Option<&'a GoldenOutcomes>,
    /// The recording of the play.
    pub recording: &'a Recording,
    /// The commands that repeat and explain it.
    pub rerun: &'a RerunCommands,
    /// How long it took to play.
    pub took: Option<Duration>,
    /// What the subject printed during the play, if a report wants it.
    pub output: Option<&'a str>,
    /// Its number in the selection, from 0.
    pub item: usize,
    /// The seed, if each round has its own.
    pub seed: Option<u64>,
    /// Whether there are so many plays that conformant ones are only counted.
    pub brief: bool,
}

/// Receives the events of a run.
pub trait Subscriber: Send + Sync {
    /// Handle an event.
    ///
    /// # Errors
    /// A report cannot be written.
    fn on(&self, event: &RunEvent<'_>) -> Result<(), FileError>;
}

/// Why a file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// A recording cannot be read or written.
    #[error("{}: {source}", path.display())]
    Recording {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: RecordingError,
    },
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
}

/// The subscribers to the events of a run.
#[derive(Clone, Default)]
pub struct Subscribers(Vec<Arc<dyn Subscriber>>);

impl Subscribers {
    /// Subscribers that receive each event in this order.
    #[must_use]
    pub fn new(subscribers: Vec<Arc<dyn Subscriber>>) -> Self {
        Self(subscribers)
    }

    /// Send an event to all subscribers, even if one of them fails.
    ///
    /// # Errors
    /// The first error of a subscriber.
    pub fn emit(&self, event: &RunEvent<'_>) -> Result<(), FileError> {
        self.0.iter().map(|subscriber| subscriber.on(event)).fold(Ok(()), Result::and)
    }
}

impl std::fmt::Debug for Subscribers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Subscribers({})", self.0.len())
    }
}
