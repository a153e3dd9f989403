//! `lockstep inspect`: a recording, to step through in a terminal, or as a page or a trace. No
//! cluster is touched.

mod screen;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::again::Typed;
use super::like::Like;
use super::out::{note, say};
use super::{CliError, places, recorded, reporter};
use crate::case;
use crate::collection;
use crate::infer::{Arrangements, infer};
use crate::inspect::{Inspected, trace};
use crate::outcome::Outcome;
use crate::quote::quoted;
use crate::recording::Recording;
use crate::report::Again;
use crate::report::page::{self, Sheet};
use crate::run::FileError;
use crate::timeline::Timeline;
use crate::verdict::{self, Judgement};
use crate::workload::Workload;

/// Step through a recording, forwards and backwards, in a terminal.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// A recording, from `capture`, `import`, `record` or `run --recordings`.
    #[arg(help_heading = "Output", value_name = "RECORDING")]
    recording: PathBuf,
    /// Write an HTML page with a slider instead; it needs no network.
    #[arg(help_heading = "Output", long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write a trace in Chrome's trace event format instead; Perfetto opens it.
    #[arg(help_heading = "Output", long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Folder of the cases and golden timelines, if they have moved.
    #[arg(help_heading = "Selection", long, value_name = "FOLDER")]
    cases: Option<PathBuf>,
    /// Compare what this workload compares: for recordings that were made with `run --workload`.
    #[arg(help_heading = "Subject", long, value_name = "WORKLOAD")]
    workload: Option<Workload>,
    #[command(flatten)]
    like: Like,
}

/// A judgement, and the timeline that it is by.
type Judged = (Judgement, Option<Timeline>);

pub(super) fn execute(arguments: &Arguments, typed: &Typed) -> Result<Outcome, CliError> {
    places::file("--html", arguments.html.as_deref())?;
    places::file("--trace", arguments.trace.as_deref())?;
    let to_files = arguments.html.is_some() || arguments.trace.is_some();
    if !to_files && !std::io::stdout().is_terminal() {
        let why = "inspect needs a terminal on standard output; \
            `--html FILE` writes a page for a browser, `--trace FILE` a trace for Perfetto";
        return Err(CliError::Usage(why.to_owned()));
    }
    let mut recording = recorded::read(&arguments.recording)?;
    if let (Some(workload), Some(recorded)) = (&arguments.workload, &mut recording.header.workload) {
        **recorded = workload.clone();
    }
    let judged = arguments.judge(&recording)?;
    let inspected = match &judged {
        Some((judgement, expected)) => Inspected::judged(&recording, judgement, expected.as_ref()),
        None => match infer(&recording, "captured/rollout", &Arrangements::new()) {
            Ok(inferred) => Inspected::inferred(&inferred.annotated),
            Err(error) => Inspected::stepless(&recording, &error.to_string()),
        },
    };
    if let Some(file) = &arguments.trace {
        reporter::write(file, &trace(&inspected))?;
        say!("{}", file.display());
    }
    if let Some(file) = &arguments.html {
        reporter::write(file, &arguments.page(typed, &inspected, judged.as_ref()))?;
        say!("{}", file.display());
    }
    if !to_files {
        screen::show(&inspected).map_err(|source| FileError::File { path: PathBuf::from("the terminal"), source })?;
    }
    Ok(Outcome::Conformant)
}

impl Arguments {
    /// What the recording says about its subject; nothing where it has no case. A case that has
    /// moved is judged by the invariants and its rules, and it is said that its golden timeline is
    /// missed.
    fn judge(&self, recording: &Recording) -> Result<Option<Judged>, CliError> {
        let Ok(case) = case::recorded(&recording.header) else { return Ok(None) };
        let case = Arc::new(case);
        let file = recorded::case_file(&recording.header, self.cases.as_deref());
        if !collection::is_file(&file) {
            note!(
                "{} is not there, so there is no golden timeline; --cases FOLDER names where the cases are",
                file.display()
            );
            return Ok(Some((verdict::judge(&case, recording, None), None)));
        }
        let golden = recorded::golden(&case, &file)?;
        let golden = golden.applicable_to(&recording.header, self.like.like);
        let golden = golden.for_server(&recording.header.cluster.version);
        let judgement = verdict::judge(&case, recording, golden);
        let expected = judgement.expected(golden).cloned();
        Ok(Some((judgement, expected)))
    }

    /// The page of this recording alone.
    fn page(&self, typed: &Typed, inspected: &Inspected, judged: Option<&Judged>) -> String {
        let Some((judgement, expected)) = judged else {
            let mut facts = vec![
                ("recording", self.named()),
                ("subject", inspected.who.clone()),
                ("verdict", inspected.verdict.clone()),
            ];
            facts.extend(inspected.instead_of_requests().map(|why| ("requests", why)));
            return page::recorded(&inspected.title, &facts, &inspected.timeline, &inspected.frames);
        };
        let repeat = format!("{} {}{}", typed.beginning(), quoted(&self.named()), typed.flags(&["html", "trace"]));
        let again = Again { program: typed.program.clone(), repeat };
        let (expected, frames) = (expected.as_ref(), Some(&inspected.frames));
        page::page(&inspected.title, &[Sheet { judgement, expected, again: &again, took: None, frames }])
    }

    fn named(&self) -> String {
        let path: &Path = &self.recording;
        path.display().to_string()
    }
}
