//! The commands for Deployments of live clusters, which only read: `lockstep capture` records one,
//! `lockstep import` makes a recording of one from the audit logs of its cluster, and `lockstep
//! watch` checks invariants and statuses continuously.

use std::fs::File;
use std::io::{Read, stdin};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use lockstep_cluster::supervise::Interrupt;
use lockstep_live::audit::{ImportQuery, Log, import};
use lockstep_live::capture::{CaptureOptions, capture, connect};
use lockstep_live::monitor::{AlertUrl, Tolerances, WatchMessage, WatchOptions, watch};
use lockstep_runner::run::FileError;
use lockstep_support::outcome::RunOutcome;
use lockstep_support::sanitize;

use super::out::{note, say};
use super::progress::Progress;
use super::recording_files::RecordingOutput;
use super::{CliError, output_paths};

#[derive(Debug, clap::Args)]
pub(super) struct CaptureArguments {
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

fn parse_length(text: &str) -> Result<Duration, String> {
    let time: jiff::SignedDuration = text.parse().map_err(|_| "write a length of time, such as 30m".to_owned())?;
    Duration::try_from(time).map_err(|_| "it must not be negative".to_owned())
}

pub(super) async fn execute_capture(arguments: CaptureArguments) -> Result<RunOutcome, CliError> {
    arguments.output.check(&[])?;
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

#[derive(Debug, clap::Args)]
pub(super) struct ImportArguments {
    /// The logs of kube-apiserver, or a cloud's exports of them, in any order, also compressed by
    /// gzip; - is standard input.
    #[arg(value_name = "AUDIT-LOG", required = true)]
    logs: Vec<PathBuf>,
    /// The Deployment [default: the only one in the logs].
    #[arg(long, value_name = "NAME")]
    deployment: Option<String>,
    /// Its namespace [default: the only one in the logs].
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// What was there then is the beginning, such as 2026-01-31T12:00:00Z [default: its creation].
    #[arg(long, value_name = "TIME")]
    from: Option<jiff::Timestamp>,
    /// Leave out what came after.
    #[arg(long, value_name = "TIME")]
    to: Option<jiff::Timestamp>,
    #[command(flatten)]
    output: RecordingOutput,
}

pub(super) fn execute_import(arguments: &ImportArguments) -> Result<RunOutcome, CliError> {
    arguments.output.check(&arguments.logs.iter().map(PathBuf::as_path).collect::<Vec<_>>())?;
    let ImportArguments { deployment, namespace, from, to, .. } = arguments;
    let sought = ImportQuery { namespace: namespace.clone(), deployment: deployment.clone(), from: *from, to: *to };
    let recording = import(read_logs(&arguments.logs)?, &sought)?;
    arguments.output.write(&recording)
}

/// The bytes of a MiB.
const MIB: u64 = 1 << 20;

/// Counts what is read, in MiB.
struct MeteredReader<R> {
    reader: R,
    bytes: u64,
}

impl<R> MeteredReader<R> {
    fn new(reader: R) -> Self {
        Self { reader, bytes: 0 }
    }
}

impl<R: Read> Read for MeteredReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = self.reader.read(buffer)?;
        let before = self.bytes / MIB;
        self.bytes += length as u64;
        Progress::for_process().advance(usize::try_from(self.bytes / MIB - before).unwrap_or(0));
        Ok(length)
    }
}

/// Read all log files.
fn read_logs(paths: &[PathBuf]) -> Result<Log, CliError> {
    let mut log = Log::default();
    let sizes: Option<u64> = paths.iter().map(|path| Some(path.metadata().ok()?.len())).sum();
    let total = sizes.and_then(|bytes| usize::try_from(bytes / MIB).ok()).filter(|total| *total > 0);
    Progress::for_process().expect("megabyte", total);
    for path in paths {
        if path.as_os_str() == "-" {
            log.add("standard input", MeteredReader::new(stdin().lock()))?;
        } else {
            let file = File::open(path).map_err(|source| FileError::File { path: path.clone(), source })?;
            log.add(&path.display().to_string(), MeteredReader::new(file))?;
        }
    }
    Ok(log)
}

#[derive(Debug, clap::Args)]
pub(super) struct WatchArguments {
    /// For how long, such as 30m [default: until interrupted].
    #[arg(long = "for", value_name = "TIME", value_parser = parse_length)]
    length: Option<Duration>,
    /// How old what the controller acted on may have been; a decision is a breach only if it is one
    /// by each state since then.
    #[arg(long, value_name = "TIME", value_parser = parse_length, default_value = "10s")]
    staleness: Duration,
    /// For how long nothing must have changed before a status is asked.
    #[arg(long, value_name = "TIME", value_parser = parse_length, default_value = "90s")]
    settle: Duration,
    /// Serve metrics in Prometheus' format, and /healthz, at this address, such as 127.0.0.1:9464.
    #[arg(help_heading = "Output", long, value_name = "ADDRESS")]
    metrics: Option<SocketAddr>,
    /// Post each breach as JSON to this address, with its USER:PASSWORD@ as Basic authorization.
    /// Other users of this machine see arguments, so an address that is a secret is better given by
    /// the environment.
    #[arg(help_heading = "Output", long, value_name = "URL", env = "LOCKSTEP_WATCH_WEBHOOK", hide_env_values = true)]
    webhook: Option<AlertUrl>,
    /// Write each breach as an Event of the Deployment; needs the right to create events.
    #[arg(help_heading = "Output", long)]
    events: bool,
    /// Folder for the evidence: a recording of the minutes before each breach.
    #[arg(help_heading = "Output", long, value_name = "FOLDER")]
    evidence: Option<PathBuf>,
    /// How many recordings the folder may have; the oldest are removed.
    #[arg(help_heading = "Output", long, value_name = "NUMBER", default_value = "50", requires = "evidence")]
    evidence_files: std::num::NonZeroUsize,
    /// How many MiB of JSON are kept in memory for evidence, of all Deployments together; memory in
    /// use is about five times as much.
    #[arg(help_heading = "Output", long, value_name = "MIB", default_value = "32", requires = "evidence")]
    evidence_memory: usize,
    /// How far back the evidence goes. The same breach of a Deployment is reported once in this
    /// time.
    #[arg(help_heading = "Output", long, value_name = "TIME", value_parser = parse_length, default_value = "10m")]
    evidence_span: Duration,
    /// Replace names, images, labels, annotations and variables in the evidence by numbers.
    #[arg(help_heading = "Output", long, requires = "evidence")]
    anonymise: bool,
    /// The context of the kubeconfig [default: the current one; in a pod without a kubeconfig, its
    /// own cluster].
    #[arg(help_heading = "Cluster", long, value_name = "CONTEXT")]
    context: Option<String>,
    /// The kubeconfig [default: $KUBECONFIG, else ~/.kube/config].
    #[arg(help_heading = "Cluster", long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The namespace [default: all].
    #[arg(help_heading = "Cluster", short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
}

/// The time in milliseconds, capped so that adding it to any time does not overflow.
fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).min(u64::MAX / 4)
}

pub(super) async fn execute_watch(arguments: WatchArguments) -> Result<RunOutcome, CliError> {
    output_paths::check_folder("--evidence", arguments.evidence.as_deref())?;
    let (client, cluster, _) = connect(arguments.kubeconfig.as_deref(), arguments.context.as_deref())?;
    let terms = Tolerances {
        staleness: millis(arguments.staleness),
        settle: millis(arguments.settle),
        keep: millis(arguments.evidence_span),
        bytes: arguments.evidence_memory.saturating_mul(1 << 20),
        anonymise: arguments.anonymise,
    };
    let options = WatchOptions {
        cluster,
        namespace: arguments.namespace,
        length: arguments.length,
        terms,
        metrics: arguments.metrics,
        webhook: arguments.webhook.filter(|url| !url.is_empty()),
        events: arguments.events,
        evidence: arguments.evidence.map(|folder| (folder, arguments.evidence_files.get())),
    };
    let scope = options.namespace.as_ref().map_or("all namespaces".to_owned(), |name| format!("namespace {name}"));
    note!("watching {scope} of {}; Ctrl-C ends it", options.cluster);
    let print = |output: WatchMessage<'_>| match output {
        WatchMessage::Breach(breach) => say!("{}", sanitize::text(&breach.to_string())),
        WatchMessage::Note(text) => note!("{}", sanitize::text(text)),
    };
    let breaches = watch(&client, &options, &Interrupt::for_process(), print).await?;
    note!("{breaches} breach{}", if breaches == 1 { "" } else { "es" });
    Ok(if breaches > 0 { RunOutcome::NonConformant } else { RunOutcome::Conformant })
}
