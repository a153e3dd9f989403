//! The errors of commands, and their exit codes.

use lockstep_case::CaseError;
use lockstep_cluster::ClusterError;
use lockstep_cluster::kind::KindError;
use lockstep_live::audit::AuditError;
use lockstep_live::capture::CaptureError;
use lockstep_live::monitor::WatchError;
use lockstep_recording::Blame;
use lockstep_report::campaign::{MergeError, ResultsError};
use lockstep_runner::EnvironmentError;
use lockstep_runner::run::{FileError, PlayError};
use lockstep_search::infer::InferError;
use lockstep_subject::SubjectError;
use lockstep_support::outcome::{InterruptCause, RunOutcome};
use lockstep_support::sanitize;
use lockstep_verdict::golden::GoldenError;

/// Why a command fails.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// Paths or cases are invalid; all errors are shown.
    #[error("{}", .0.iter().map(with_heading).collect::<Vec<_>>().join("\n"))]
    Cases(Vec<CaseError>),
    /// The filter selects no case.
    #[error("the filter selects none of {0}; `lockstep list` shows them")]
    NoCase(String),
    /// Every selected case is judged by its rules only.
    #[error("no case selected that can be blessed")]
    NothingToBless,
    /// `--rerun-failed`, and no selected case failed.
    #[error("no case selected: none failed when it was last played in this folder")]
    NoneFailed,
    /// No selected case applies to the subject.
    #[error("none of the selected cases is for {0}")]
    NoneLeft(String),
    /// The arguments are invalid or contradict each other.
    #[error("{0}")]
    Usage(String),
    /// A subject is invalid or cannot be started.
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// The test environment could not be set up.
    #[error(transparent)]
    Environment(EnvironmentError),
    /// A signal ended the command.
    #[error("interrupted ({0})")]
    Interrupted(InterruptCause),
    /// Another process took the cluster over.
    #[error("the connection to the cluster was lost: {0}")]
    Lost(String),
    /// A golden timeline cannot be read.
    #[error(transparent)]
    GoldenTimelines(#[from] GoldenError),
    /// A results file of a shard cannot be read.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// Results cannot be merged.
    #[error(transparent)]
    Merge(#[from] MergeError),
    /// A Deployment of a live cluster cannot be recorded.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// A live cluster cannot be watched.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// An audit log cannot be used.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// No case can be inferred from a recording.
    #[error(transparent)]
    Infer(#[from] InferError),
    /// A recording or another file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
}

/// The error of a case. The problems of a file have headings of their own.
fn with_heading(error: &CaseError) -> String {
    match error {
        CaseError::Invalid(_) => error.to_string(),
        error => format!("error: {}", sanitize::text(&error.to_string())),
    }
}

impl From<CaseError> for CliError {
    fn from(error: CaseError) -> Self {
        Self::Cases(vec![error])
    }
}

impl From<PlayError> for CliError {
    fn from(error: PlayError) -> Self {
        match error {
            PlayError::Environment(error) => error.into(),
            PlayError::Interrupted(cause) => Self::Interrupted(cause),
            PlayError::Lost(why) => Self::Lost(why),
            PlayError::Report(error) => Self::File(error),
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
    /// The outcome, for the exit code: errors of the test environment are inconclusive, errors of
    /// the user are bad input.
    pub fn outcome(&self) -> RunOutcome {
        match self {
            // The value of a flag is wrong, not the test environment.
            Self::Environment(EnvironmentError::Cluster(
                ClusterError::Kind(KindError::Config { .. }) | ClusterError::Context(_),
            )) => RunOutcome::BadInput,
            Self::Environment(_)
            | Self::Lost(_)
            | Self::Capture(CaptureError::Unreachable(_))
            | Self::Watch(WatchError::Unreachable(_))
            | Self::Subject(
                SubjectError::Binaries(_)
                | SubjectError::Spawn(_)
                | SubjectError::Client(_)
                | SubjectError::Io(_)
                | SubjectError::EndsAtStart { blame: Blame::Environment, .. }
                | SubjectError::Stays { .. },
            ) => RunOutcome::Inconclusive,
            // The subject itself fails.
            Self::Subject(SubjectError::NotReady { .. } | SubjectError::EndsAtStart { .. }) => {
                RunOutcome::NonConformant
            }
            Self::Subject(SubjectError::Install { source, .. }) if !matches!(**source, kube::Error::Api(_)) => {
                RunOutcome::Inconclusive
            }
            Self::Interrupted(cause) => RunOutcome::Interrupted(*cause),
            Self::NoCase(_) | Self::NothingToBless | Self::NoneFailed | Self::NoneLeft(_) => {
                RunOutcome::NothingSelected
            }
            Self::Cases(_) | Self::Usage(_) | Self::Subject(_) => RunOutcome::BadInput,
            Self::Capture(_) | Self::Watch(_) | Self::Audit(_) | Self::Infer(_) => RunOutcome::BadInput,
            Self::GoldenTimelines(_) | Self::Results(_) | Self::Merge(_) | Self::File(_) => RunOutcome::BadInput,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_of_a_case_has_a_heading() {
        let profile = "xing".to_owned();
        let error = CliError::Cases(vec![CaseError::NoProfile { path: "own/first.yaml".into(), profile }]);
        assert_eq!(error.to_string(), "error: own/first.yaml has no case of restart profile xing");
    }
}
