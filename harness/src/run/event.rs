//! What happens in a run, as one stream.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::case::Case;
use crate::controllers::Controllers;
use crate::outcome::{Cause, Outcome};
use crate::recording::{Identity, Recording, RecordingError};
use crate::report::{Again, FaultsOfCase};
use crate::subject::Spec;
use crate::timeline::{Golden, StepId, Timeline};
use crate::verdict::Judgement;

/// Something that happened.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// So many plays are to come.
    RunStarted {
        /// How many.
        plays: usize,
    },
    /// A cluster is up and watched.
    EnvironmentReady {
        /// Which.
        identity: &'a Identity,
        /// How it came up.
        how: HowReady,
        /// How long that took.
        took: Duration,
    },
    /// The test environment is proved, and the subject runs on it.
    SessionReady {
        /// The subject, as it was named.
        spec: &'a Spec,
        /// What it calls itself.
        identity: &'a Identity,
        /// What it brings.
        under_test: &'a Controllers,
        /// What it has not done about the probe, if it did not serve it.
        unserved: Option<&'a str>,
        /// How long that took.
        took: Duration,
    },
    /// A case begins to be played.
    CaseStarted {
        /// Which.
        case: &'a Case,
    },
    /// A step of a case that is being played has settled.
    StepSettled {
        /// The case.
        case: &'a Case,
        /// The step.
        step: StepId,
    },
    /// A case has been played; it is not judged yet.
    CasePlayed {
        /// Which.
        case: &'a Case,
    },
    /// A recording was judged.
    CaseJudged(&'a Judged<'a>),
    /// Two recordings of a case were compared; the judgement of the second follows.
    CaseCompared {
        /// What the two subjects are called.
        titles: [&'a str; 2],
        /// Both judgements: the first by what is golden, the second by the first.
        judgements: [&'a Judgement; 2],
    },
    /// The faults of a case were tried.
    FaultsTried(&'a FaultsOfCase),
    /// All cases were played once more.
    RoundEnded {
        /// The subject.
        spec: &'a Spec,
        /// Which time it was, from 1.
        time: u32,
        /// The seed, where each round has its own.
        seed: Option<u64>,
        /// How many plays were conformant.
        conformant: usize,
        /// Of how many.
        plays: usize,
    },
    /// A subject has played its cases.
    CasesPlayed {
        /// What it is called.
        title: &'a str,
        /// How many plays.
        plays: usize,
        /// How long that took.
        took: Duration,
    },
    /// A session ends.
    SessionEnded {
        /// The subject.
        spec: &'a Spec,
        /// How many requests it made.
        requests: u64,
        /// What the API server refused it, and how often.
        refused: &'a [(String, u64)],
        /// How it ended by itself between two cases.
        ended: &'a [String],
    },
    /// The run is over.
    RunEnded {
        /// What came of each play.
        outcomes: &'a [Outcome],
        /// How many plays are left because something ended it early; `None` where nothing did.
        left: Option<usize>,
        /// The signal that ended it, if one did.
        cause: Option<Cause>,
        /// How long it took.
        took: Duration,
    },
}

/// How a cluster came up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HowReady {
    /// It was running, left by `lockstep cluster up`.
    Attached,
    /// It was booted for this run.
    Booted,
    /// It is the user's own.
    Own,
    /// It was there, or made to stay.
    Ready,
}

/// A judged play, with all that a report may need.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// What was found.
    pub judgement: &'a Judgement,
    /// What was expected, if anything was.
    pub expected: Option<&'a Timeline>,
    /// All that is golden of the case, if anything is.
    pub golden: Option<&'a Golden>,
    /// What was seen.
    pub recording: &'a Recording,
    /// The commands that play it again, and explain it.
    pub again: &'a Again,
    /// How long it took to play.
    pub took: Option<Duration>,
    /// What the subject printed meanwhile, if it prints and somebody wants it.
    pub output: Option<&'a str>,
    /// Its number in the selection, from 0.
    pub item: usize,
    /// The seed, where each round has its own.
    pub seed: Option<u64>,
    /// Whether it is one of so many that good ones are only counted.
    pub brief: bool,
}

/// Reports what happens.
pub trait Subscriber: Send + Sync {
    /// Something happened.
    ///
    /// # Errors
    /// What it writes cannot be written.
    fn on(&self, event: &Event<'_>) -> Result<(), FileError>;
}

/// Why a file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// A recording.
    #[error("{}: {source}", path.display())]
    Recording {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: RecordingError,
    },
    /// A file.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

/// Everybody who reports.
#[derive(Clone, Default)]
pub struct Events(Vec<Arc<dyn Subscriber>>);

impl Events {
    /// These, each of whom hears every event in this order.
    #[must_use]
    pub fn to(subscribers: Vec<Arc<dyn Subscriber>>) -> Self {
        Self(subscribers)
    }

    /// Something happened.
    ///
    /// # Errors
    /// The first that a subscriber has.
    pub fn emit(&self, event: &Event<'_>) -> Result<(), FileError> {
        self.0.iter().try_for_each(|subscriber| subscriber.on(event))
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Events({})", self.0.len())
    }
}
