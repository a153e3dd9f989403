//! `lockstep lint`: everything that is wrong with the files, without playing one of them.
//!
//! All errors of all case files, each at its place; and timelines that are of no use: of another
//! version of their case, of no case at all, or not to be read. It also reports a case without a
//! timeline, and one that will take more than a minute.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::CliError;
use super::out::{self, say};
use super::reporter::colour;
use super::select;
use crate::case::{self, Case, CaseError, Cost, Findings};
use crate::golden::{self, Stray};
use crate::outcome::Outcome;
use crate::report::github::{self, Spot};

/// Check case files and golden timelines, without playing them.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Case files, folders of them, or FILE@PROFILE for the case of one restart profile.
    #[arg(default_value = "cases")]
    paths: Vec<PathBuf>,
}

/// What takes longer is noted.
const LONG: Duration = Duration::from_secs(60);

/// What was found.
#[derive(Debug, Default)]
struct Count {
    errors: usize,
    bad: usize,
    strays: usize,
    unread: usize,
}

pub(super) fn execute(arguments: &Arguments) -> Result<Outcome, CliError> {
    let files = select::found(&arguments.paths)?;
    let mut count = Count::default();
    let (mut good, mut cases) = (Vec::new(), Vec::new());
    for path in &files {
        match case::load(path) {
            Ok(of_file) => {
                // Of another one its rules are what it is held against.
                if of_file.iter().any(|case| case.expectation.is_blessed()) {
                    good.push(path.clone());
                }
                of_file.iter().for_each(long);
                cases.extend(of_file);
            }
            Err(CaseError::Bad(findings)) => {
                count.bad += 1;
                count.errors += findings.count();
                show(&findings);
            }
            Err(error) => {
                count.bad += 1;
                count.errors += 1;
                say!("error: {error}\n");
            }
        }
    }
    // A file that cannot be read counts as one case.
    let all = cases.len() + count.bad;
    for twins in case::told_apart(&cases).err().unwrap_or_default() {
        count.bad += 1;
        count.errors += 1;
        say!("error: {twins}\n");
    }
    for stray in strays(&arguments.paths, &good)? {
        say!("{stray}");
        annotate(&stray);
        match stray {
            Stray::Unreadable(..) => count.unread += 1,
            _ => count.strays += 1,
        }
    }
    if count.strays + count.unread > 0 {
        say!("");
    }
    say!("{}", count.said(all));
    Ok(count.outcome())
}

/// The timelines of the files and folders that were named.
fn strays(paths: &[PathBuf], good: &[PathBuf]) -> Result<Vec<Stray>, CliError> {
    let mut all = golden::strays(good)?;
    let folders: BTreeSet<&Path> = paths.iter().map(PathBuf::as_path).filter(|path| path.is_dir()).collect();
    for folder in folders {
        all.extend(golden::orphans(folder)?);
    }
    all.sort();
    all.dedup();
    Ok(all)
}

fn show(findings: &Findings) {
    say!("{}\n", findings.render(colour()));
    if super::is_github() {
        for it in findings.placed() {
            let at = Spot { file: it.path, line: it.line, column: Some(it.column) };
            out::command(&github::annotation("error", at, it.what, it.hint));
        }
    }
}

/// Says so of a case that takes long.
fn long(case: &Case) {
    let Cost { steps, time, .. } = case::cost(case);
    if time > LONG {
        say!(
            "{}: about {} s on the simulated cluster, for {steps} sub-steps; `ready: {{every: 10%}}` moves many pods at once\n",
            case.path,
            time.as_secs()
        );
    }
}

fn annotate(stray: &Stray) {
    if super::is_github() {
        let file = stray.path().display().to_string();
        let level = if matches!(stray, Stray::Unreadable(..)) { "error" } else { "warning" };
        let at = Spot { file: &file, line: 1, column: None };
        out::command(&github::annotation(level, at, "timeline", &stray.to_string()));
    }
}

impl Count {
    fn outcome(&self) -> Outcome {
        match self {
            Self { errors: 0, unread: 0, strays: 0, .. } => Outcome::Conformant,
            Self { errors: 0, unread: 0, .. } => Outcome::Unblessed,
            _ => Outcome::BadInput,
        }
    }

    /// `245 cases: 3 errors in 2 files; 1 timeline unblessed, stale or orphaned`.
    fn said(&self, cases: usize) -> String {
        let s = |number: usize| if number == 1 { "" } else { "s" };
        let mut parts = Vec::new();
        if self.errors > 0 {
            parts.push(format!("{} error{} in {} file{}", self.errors, s(self.errors), self.bad, s(self.bad)));
        }
        let timelines = self.strays + self.unread;
        if timelines > 0 {
            parts.push(format!("{timelines} timeline{} unblessed, stale or orphaned", s(timelines)));
        }
        let what = if parts.is_empty() { "nothing is wrong".to_owned() } else { parts.join("; ") };
        format!("{cases} case{}: {what}", s(cases))
    }
}
