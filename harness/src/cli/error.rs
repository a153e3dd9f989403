//! What keeps a command from its work, and what that means for the exit code.

use crate::audit::AuditError;
use crate::campaign::{MergeError, ResultsError};
use crate::capture::CaptureError;
use crate::case::CaseError;
use crate::cluster::{ClusterError, kind::KindError};
use crate::golden::GoldenError;
use crate::infer::InferError;
use crate::monitor::WatchError;
use crate::outcome::{Cause, Outcome};
use crate::run::{FileError, RunError};
use crate::runner::EnvironmentError;
use crate::subject::SubjectError;

/// What keeps a command from its work.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// A path or a case is bad.
    #[error(transparent)]
    Case(#[from] CaseError),
    /// Cases are bad; all of them are shown.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Cases(Vec<CaseError>),
    /// Nothing was selected.
    #[error("the filter selects none of {0} cases; `lockstep list` shows them")]
    NoCase(usize),
    /// Every selected case is judged by its rules alone.
    #[error("no case selected that can be blessed")]
    NothingToBless,
    /// `--rerun-failed`, and no selected case failed.
    #[error("no case selected: none failed when it was last played in this folder")]
    NoneFailed,
    /// None of those that were selected is for the subject.
    #[error("none of the selected cases is for {0}")]
    NoneLeft(String),
    /// The words on the command line do not go together.
    #[error("{0}")]
    Usage(String),
    /// A subject is not what it should be.
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// The test environment could not be set up.
    #[error(transparent)]
    Environment(EnvironmentError),
    /// A signal.
    #[error("interrupted ({0})")]
    Interrupted(Cause),
    /// The cluster went to somebody else.
    #[error("the connection to the cluster was lost: {0}")]
    Lost(String),
    /// A golden timeline is not readable.
    #[error(transparent)]
    GoldenTimelines(#[from] GoldenError),
    /// A results file of a shard is not readable.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// Results do not belong together.
    #[error(transparent)]
    Merge(#[from] MergeError),
    /// Nothing could be recorded of a live cluster.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// A live cluster cannot be watched.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// An audit log is of no use.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// No case can be inferred from a recording.
    #[error(transparent)]
    Infer(#[from] InferError),
    /// A recording or another file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
}

impl From<RunError> for CliError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Environment(error) => error.into(),
            RunError::Interrupted(cause) => Self::Interrupted(cause),
            RunError::Lost(why) => Self::Lost(why),
            RunError::Report(error) => Self::File(error),
        }
    }
}

impl From<EnvironmentError> for CliError {
    fn from(error: EnvironmentError) -> Self {
        match error {
            EnvironmentError::Subject(error) => Self::Subject(error),
            EnvironmentError::Interrupted(cause) => Self::Interrupted(cause),
            error => Self::Environment(error),
        }
    }
}

impl CliError {
    /// What it means for the exit code: the test environment's troubles are inconclusive, the
    /// user's are bad usage.
    pub fn outcome(&self) -> Outcome {
        match self {
            // A flag's value is wrong; the test environment is not.
            Self::Environment(EnvironmentError::Cluster(
                ClusterError::Kind(KindError::Config { .. }) | ClusterError::Own(_),
            )) => Outcome::BadInput,
            Self::Environment(_)
            | Self::Lost(_)
            | Self::Capture(CaptureError::Unreachable(_))
            | Self::Watch(WatchError::Unreachable(_))
            | Self::Subject(
                SubjectError::Binaries(_)
                | SubjectError::Spawn(_)
                | SubjectError::Client(_)
                | SubjectError::Stays { .. },
            ) => Outcome::Inconclusive,
            // The subject's own failure, in every case.
            Self::Subject(SubjectError::NotReady { .. } | SubjectError::EndsAtStart { .. }) => Outcome::NonConformant,
            Self::Subject(SubjectError::Install { source, .. }) if !matches!(**source, kube::Error::Api(_)) => {
                Outcome::Inconclusive
            }
            Self::Interrupted(cause) => Outcome::Interrupted(*cause),
            Self::NoCase(_) | Self::NothingToBless | Self::NoneFailed | Self::NoneLeft(_) => Outcome::NothingSelected,
            Self::Case(_) | Self::Cases(_) | Self::Usage(_) | Self::Subject(_) => Outcome::BadInput,
            Self::Capture(_) | Self::Watch(_) | Self::Audit(_) | Self::Infer(_) => Outcome::BadInput,
            Self::GoldenTimelines(_) | Self::Results(_) | Self::Merge(_) | Self::File(_) => Outcome::BadInput,
        }
    }
}
