//! What every command that plays cases shares: the cluster it names, the budget, and its errors.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::case::CaseError;
use crate::clock;
use crate::cluster::{self, Cluster, Plan, Standing};
use crate::outcome::Outcome;
use crate::recording::RecordingError;
use crate::runner::{Lab, LabError, Seat, SeatOptions};
use crate::subject::{Spec, SubjectError};
use crate::timeline::TimelineError;

/// Where to run.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Place {
    /// The cluster: `control-plane` is etcd, kube-apiserver and the lab's kube-controller-manager as local processes.
    #[arg(long, default_value = "control-plane", value_parser = ["control-plane"])]
    cluster: String,
    /// The cluster's Kubernetes version.
    #[arg(long, default_value = cluster::DEFAULT_VERSION, value_name = "VERSION", value_parser = version)]
    k8s_version: String,
    /// How long one settling may take before somebody is to blame.
    #[arg(long, default_value = "20s", value_name = "TIME", value_parser = humantime::parse_duration)]
    budget: Duration,
}

impl Place {
    /// Boot the cluster, or attach to the one that `lockstep cluster up` left running, and watch it.
    pub(super) async fn open(&self) -> Result<Lab, CliError> {
        let standing = Standing::of_user().map_err(LabError::from)?.running().await.map_err(LabError::from)?;
        let suits = |cluster: &Cluster| cluster.identity.version.ends_with(&format!(" {}", self.k8s_version));
        match standing.filter(suits) {
            Some(cluster) => watch(cluster, "attached to a running control plane", clock::instant()).await,
            None => self.boot().await,
        }
    }

    /// Boot a cluster of this command's own, whatever else is running, and watch it.
    pub(super) async fn boot(&self) -> Result<Lab, CliError> {
        let since = clock::instant();
        let cluster = cluster::boot(&Plan::new(&self.k8s_version)).await.map_err(LabError::from)?;
        watch(cluster, "booted", since).await
    }
    /// Put a subject to work.
    pub(super) async fn seat<'a>(&self, lab: &'a Lab, spec: &Spec) -> Result<Seat<'a>, CliError> {
        let since = clock::instant();
        let options = SeatOptions { budget: self.budget, ..SeatOptions::default() };
        let seat = Seat::take(lab, spec, &options).await?;
        let version = &seat.identity().version;
        eprintln!(
            "{spec}: {version}, the lab proved and the subject started in {:.1} s",
            since.elapsed().as_secs_f64()
        );
        Ok(seat)
    }

    /// The words that name the same place on a command line, where it is not the default.
    pub(super) fn words(&self) -> String {
        match self.k8s_version.as_str() {
            cluster::DEFAULT_VERSION => String::new(),
            version => format!(" --k8s-version {version}"),
        }
    }
}

async fn watch(cluster: Cluster, how: &str, since: Instant) -> Result<Lab, CliError> {
    let lab = Lab::open(cluster).await?;
    let (name, version) = (&lab.identity().name, &lab.identity().version);
    eprintln!("{name}: {version}, {how} in {:.1} s", since.elapsed().as_secs_f64());
    Ok(lab)
}

/// A version such as v1.36.3, for the command line.
pub(super) fn version(text: &str) -> Result<String, String> {
    if cluster::is_version(text) { Ok(text.to_owned()) } else { Err("use a version such as v1.36.3".to_owned()) }
}

/// Say how fast a subject went through its cases.
pub(super) fn pace(spec: &Spec, cases: usize, took: Duration) {
    let seconds = took.as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a number of cases is small")]
    let number = cases as f64;
    let (each, pace) = (seconds / number, number * 60.0 / seconds);
    match cases {
        1 => eprintln!("{spec}: one case in {seconds:.2} s"),
        _ => eprintln!("{spec}: {cases} cases in {seconds:.1} s, {each:.2} s each, {pace:.0} a minute"),
    }
}

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
    #[error("no case selected; `lockstep list` shows what there is")]
    NoCase,
    /// The words on the command line do not go together.
    #[error("{0}")]
    Usage(String),
    /// A subject is not what it should be.
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// The lab could not be set up.
    #[error(transparent)]
    Lab(LabError),
    /// A blessed timeline is not readable.
    #[error("{}: {source}; bless it again", path.display())]
    Timeline {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: TimelineError,
    },
    /// A recording is not readable.
    #[error("{}: {source}", path.display())]
    Recording {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: RecordingError,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

impl From<LabError> for CliError {
    fn from(error: LabError) -> Self {
        match error {
            LabError::Subject(error) => Self::Subject(error),
            error => Self::Lab(error),
        }
    }
}

impl CliError {
    /// What it means for the exit code: the lab's troubles are inconclusive, the user's are bad usage.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Lab(_)
            | Self::Subject(SubjectError::Binaries(_) | SubjectError::Spawn(_) | SubjectError::Client(_)) => {
                Outcome::Inconclusive
            }
            Self::NoCase => Outcome::NothingSelected,
            Self::Case(_) | Self::Cases(_) | Self::Usage(_) | Self::Subject(_) => Outcome::BadInput,
            Self::Timeline { .. } | Self::Recording { .. } | Self::File { .. } => Outcome::BadInput,
        }
    }
}
