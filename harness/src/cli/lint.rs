//! `lockstep lint`: checks case files and timelines without playing them.
//!
//! It reports all errors of all case files with their locations, and timelines that are stale, have
//! no case, or cannot be read. It also reports a case without a timeline, and a case that takes
//! more than a minute.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lockstep_case::{self as case, Case, CaseError, CollectionSize, Cost, Diagnostics};
use lockstep_report::github::{self, AnnotationLocation};
use lockstep_support::outcome::RunOutcome;
use lockstep_support::pluralize;
use lockstep_verdict::golden::{self, GoldenProblem};

use super::CliError;
use super::out::{self, colour, say};
use super::progress::Progress;
use super::reporter::is_github;
use super::select::{CasePaths, find_files};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    files: CasePaths,
}

/// A case that takes longer is noted.
const SLOW_CASE: Duration = Duration::from_secs(60);

/// The numbers of errors by kind.
#[derive(Debug, Default)]
struct LintCounts {
    errors: usize,
    bad: usize,
    strays: usize,
    unread: usize,
}

pub(super) fn execute(arguments: &Arguments) -> Result<RunOutcome, CliError> {
    let paths: Vec<PathBuf> = arguments.files.paths.iter().map(|path| case::locate(path)).collect();
    let paths = &paths;
    let files = find_files(paths)?;
    let mut count = LintCounts::default();
    let (mut good, mut cases) = (Vec::new(), Vec::new());
    Progress::for_process().expect("file", Some(files.len()));
    for path in &files {
        Progress::for_process().advance(1);
        match case::load(path) {
            Ok(of_file) => {
                // A case that is not blessed is judged by its rules.
                if of_file.iter().any(|case| case.expectation.is_blessed()) {
                    good.push(path.clone());
                }
                of_file.iter().for_each(note_slow_case);
                cases.extend(of_file);
            }
            Err(CaseError::Invalid(findings)) => {
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
    // A file that cannot be read counts as one case, of which nothing more is known.
    let counted = match cases.len() + count.bad {
        _ if count.bad == 0 => CollectionSize::of(&cases).to_string(),
        all => pluralize(all, "case"),
    };
    for twins in case::check_unique_names(&cases).err().unwrap_or_default() {
        count.bad += 1;
        count.errors += 1;
        say!("error: {twins}\n");
    }
    for stray in strays(paths, &good)? {
        say!("{stray}");
        annotate(&stray);
        match stray {
            GoldenProblem::Unreadable(..) => count.unread += 1,
            _ => count.strays += 1,
        }
    }
    if count.strays + count.unread > 0 {
        say!("");
    }
    say!("{}", count.summary(&counted));
    Ok(count.outcome())
}

/// The stray timelines of the named files and folders.
fn strays(paths: &[PathBuf], good: &[PathBuf]) -> Result<Vec<GoldenProblem>, CliError> {
    let mut all = golden::find_problems(good)?;
    let folders: BTreeSet<&Path> = paths.iter().map(PathBuf::as_path).filter(|path| path.is_dir()).collect();
    for folder in folders {
        all.extend(golden::find_orphans(folder)?);
    }
    all.sort();
    all.dedup();
    Ok(all)
}

fn show(findings: &Diagnostics) {
    say!("{}\n", findings.render(colour()));
    if is_github() {
        for it in findings.located() {
            let at = AnnotationLocation { file: it.path, line: it.line, column: Some(it.column) };
            out::command(&github::annotation("error", at, it.message, it.hint));
        }
    }
}

/// Prints a note for a case that takes long.
fn note_slow_case(case: &Case) {
    let Cost { steps, time, .. } = case::cost(case);
    if time > SLOW_CASE {
        say!(
            "{}: about {} s on the simulated cluster, for {steps} sub-steps; `ready: {{every: 10%}}` moves many pods at once\n",
            case.path,
            time.as_secs()
        );
    }
}

fn annotate(stray: &GoldenProblem) {
    if is_github() {
        let file = stray.path().display().to_string();
        let level = if matches!(stray, GoldenProblem::Unreadable(..)) { "error" } else { "warning" };
        let at = AnnotationLocation { file: &file, line: 1, column: None };
        out::command(&github::annotation(level, at, "timeline", &stray.to_string()));
    }
}

impl LintCounts {
    fn outcome(&self) -> RunOutcome {
        match self {
            Self { errors: 0, unread: 0, strays: 0, .. } => RunOutcome::Conformant,
            Self { errors: 0, unread: 0, .. } => RunOutcome::Unblessed,
            _ => RunOutcome::BadInput,
        }
    }

    /// `245 rollout cases: 1 timeline unblessed, stale or orphaned`, or `245 cases: 3 errors in 2
    /// files`.
    fn summary(&self, cases: &str) -> String {
        let mut parts = Vec::new();
        if self.errors > 0 {
            parts.push(format!("{} in {}", pluralize(self.errors, "error"), pluralize(self.bad, "file")));
        }
        let timelines = self.strays + self.unread;
        if timelines > 0 {
            parts.push(format!("{} unblessed, stale or orphaned", pluralize(timelines, "timeline")));
        }
        let what = if parts.is_empty() { "nothing is wrong".to_owned() } else { parts.join("; ") };
        format!("{cases}: {what}")
    }
}
