//! `lockstep import`: makes a recording of a Deployment from the audit logs of its cluster.

use std::fs::File;
use std::io::stdin;
use std::path::PathBuf;

use lockstep_live::audit::{ImportQuery, Log, import};
use lockstep_runner::run::FileError;
use lockstep_support::outcome::RunOutcome;

use super::CliError;
use super::recording_files::RecordingOutput;

/// Make a recording of a Deployment from audit logs.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
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

pub(super) fn execute(arguments: &Arguments) -> Result<RunOutcome, CliError> {
    arguments.output.check()?;
    let Arguments { deployment, namespace, from, to, .. } = arguments;
    let sought = ImportQuery { namespace: namespace.clone(), deployment: deployment.clone(), from: *from, to: *to };
    let recording = import(read_logs(&arguments.logs)?, &sought)?;
    arguments.output.write(&recording)
}

/// Read all log files.
fn read_logs(paths: &[PathBuf]) -> Result<Log, CliError> {
    let mut log = Log::default();
    for path in paths {
        if path.as_os_str() == "-" {
            log.add("standard input", stdin().lock())?;
        } else {
            let file = File::open(path).map_err(|source| FileError::File { path: path.clone(), source })?;
            log.add(&path.display().to_string(), file)?;
        }
    }
    Ok(log)
}
