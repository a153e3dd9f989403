//! `lockstep import`: a recording of a Deployment's past, from the audit logs of its cluster.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, stdin};
use std::path::PathBuf;

use super::recorded::write;
use super::{CliError, places};
use crate::audit::{Sought, import};
use crate::capture::anonymous;
use crate::outcome::Outcome;
use crate::run::FileError;

/// Make a recording of a Deployment from audit logs.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The logs of kube-apiserver, in any order; - is standard input.
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
    /// The recording.
    #[arg(help_heading = "Output", short, long, value_name = "FILE")]
    out: PathBuf,
    /// Replace names, images, labels, annotations and variables by numbers, the same in the whole file.
    #[arg(help_heading = "Output", long)]
    anonymise: bool,
}

pub(super) fn execute(arguments: &Arguments) -> Result<Outcome, CliError> {
    places::file("--out", Some(&arguments.out))?;
    let Arguments { deployment, namespace, from, to, .. } = arguments;
    let sought = Sought { namespace: namespace.clone(), deployment: deployment.clone(), from: *from, to: *to };
    let recording = import(lines(&arguments.logs)?, &sought)?;
    let recording = if arguments.anonymise { anonymous(&recording) } else { recording };
    write(&arguments.out, &recording)
}

/// The lines of all files, one after the other.
fn lines(paths: &[PathBuf]) -> Result<Box<dyn BufRead>, CliError> {
    let mut all: Box<dyn BufRead> = Box::new(std::io::empty());
    for path in paths {
        let one: Box<dyn Read> = if path.as_os_str() == "-" {
            Box::new(stdin())
        } else {
            Box::new(File::open(path).map_err(|source| FileError::File { path: path.clone(), source })?)
        };
        // A file need not end with a line's end.
        all = Box::new(all.chain(BufReader::new(one)).chain(b"\n".as_slice()));
    }
    Ok(all)
}
