//! `lockstep capture`: records a Deployment of a live cluster.

use std::path::PathBuf;
use std::time::Duration;

use lockstep_cluster::supervise::Interrupt;
use lockstep_live::capture::{CaptureOptions, capture, connect};
use lockstep_support::outcome::RunOutcome;

use super::CliError;
use super::out::note;
use super::recording_files::RecordingOutput;

/// Record a Deployment of a live cluster, its ReplicaSets, pods and Events. Reads only.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// What to record: deployment/NAME.
    #[arg(value_name = "deployment/NAME", value_parser = parse_target)]
    target: String,
    #[command(flatten)]
    output: RecordingOutput,
    /// For how long, such as 30m [default: until a rollout is complete]. Ctrl-C ends it in any
    /// case.
    #[arg(long = "for", value_name = "TIME", value_parser = parse_length)]
    length: Option<Duration>,
    /// The context of the kubeconfig [default: the current one].
    #[arg(help_heading = "Cluster", long, value_name = "CONTEXT")]
    context: Option<String>,
    /// The kubeconfig [default: $KUBECONFIG, else ~/.kube/config].
    #[arg(help_heading = "Cluster", long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The namespace [default: the context's].
    #[arg(help_heading = "Cluster", short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
}

fn parse_target(text: &str) -> Result<String, String> {
    let name =
        ["deployment/", "deployments/", "deploy/", "deployment.apps/"].iter().find_map(|kind| text.strip_prefix(kind));
    let name = name.filter(|name| !name.is_empty() && !name.contains('/'));
    name.map(str::to_owned).ok_or_else(|| "write deployment/NAME".to_owned())
}

pub(super) fn parse_length(text: &str) -> Result<Duration, String> {
    let time: jiff::SignedDuration = text.parse().map_err(|_| "write a length of time, such as 30m".to_owned())?;
    Duration::try_from(time).map_err(|_| "it must not be negative".to_owned())
}

pub(super) async fn execute(arguments: Arguments) -> Result<RunOutcome, CliError> {
    arguments.output.check()?;
    let (client, context, default) = connect(arguments.kubeconfig.as_deref(), arguments.context.as_deref())?;
    let options = CaptureOptions {
        namespace: arguments.namespace.unwrap_or(default),
        deployment: arguments.target,
        length: arguments.length,
        cluster: context,
    };
    let until = if options.length.is_none() { "until a rollout is complete" } else { "for as long as was asked" };
    note!(
        "recording deployment {} in namespace {} of {}, {until}; Ctrl-C ends it",
        options.deployment,
        options.namespace,
        options.cluster
    );
    let recording = capture(&client, &options, &Interrupt::for_process()).await?;
    arguments.output.write(&recording)
}
