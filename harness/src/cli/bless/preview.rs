//! `lockstep bless --preview`: shows what upstream does on the simulated server, before blessing on
//! a real one.
//!
//! A preview blesses nothing. It is written beside the case to a file that says so in its first
//! line, and that the judge never reads. `bless` on a control plane removes it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lockstep_case::Case;
use lockstep_recording::Recording;
use lockstep_report as report;
use lockstep_runner::run::FileError;
use lockstep_subject::SubjectSpec;
use lockstep_support::outcome::RunOutcome;
use lockstep_timeline::versions::Minor;
use lockstep_timeline::{GoldenOutcomes, Timeline};
use lockstep_verdict::{self as verdict, FindingKind, Judgement, Verdict, VerdictFinding};

use super::super::CliError;
use super::super::golden::load_golden;
use super::super::out::{colour, say};
use super::super::play_args::PlayArgs;

/// Play each case once and write its preview.
pub(super) async fn preview(
    play_args: &PlayArgs,
    spec: &SubjectSpec,
    cases: Vec<Arc<Case>>,
) -> Result<RunOutcome, CliError> {
    let mut outcomes = Vec::new();
    for (case, recording) in &play_args.record_once(spec, cases).await? {
        outcomes.push(write(case, recording)?);
    }
    Ok(RunOutcome::most_severe(outcomes))
}

/// The file of a case's preview.
pub(super) fn path(case: &Path) -> PathBuf {
    case.with_extension("preview")
}

fn write(case: &Arc<Case>, recording: &Recording) -> Result<RunOutcome, CliError> {
    if let Some((outcome, why)) = unusable_reason(verdict::judge(case, recording, None)) {
        say!("no preview   {}: {why}", case.name);
        return Ok(outcome);
    }
    let (path, header) = (path(Path::new(&case.path)), &recording.header);
    let timeline = Timeline::from_recording(recording);
    let text = format!(
        "# preview: {} on {}; not blessed, and compared with nothing: `lockstep bless {}` asks a real API server.\n{timeline}",
        header.subject.title(),
        header.cluster.title(),
        case.path,
    );
    std::fs::write(&path, &text).map_err(|source| FileError::File { path: path.clone(), source })?;
    let golden = load_golden(case)?;
    match golden.for_server(&header.cluster.version).map(GoldenOutcomes::first) {
        Some(before) if before.steps == timeline.steps && before.events == timeline.events => {
            say!("as blessed   {}  {}", case.name, path.display());
        }
        Some(before) => {
            say!(
                "otherwise    {}  {}\n{}",
                case.name,
                path.display(),
                report::bless_diff(Some(before), &timeline, colour())
            );
        }
        None => say!("preview      {}  {}\n{text}", case.name, path.display()),
    }
    Ok(RunOutcome::Conformant)
}

/// Why a recording cannot be blessed, if it cannot: the case did not finish, or its rules or
/// expectations contradict upstream.
pub(in crate::cli) fn unusable_reason(mut judgement: Judgement) -> Option<(RunOutcome, String)> {
    let is_default = is_default(&judgement);
    judgement.findings.retain(|finding| prevents_blessing(finding, is_default));
    let is_inconclusive = judgement.verdict == Verdict::Inconclusive;
    let outcome = if is_inconclusive { RunOutcome::Inconclusive } else { RunOutcome::NonConformant };
    (!judgement.findings.is_empty()).then(|| (outcome, report::headline(&judgement)))
}

/// Whether controllers of the default version were judged. The rules and expectations of a case
/// apply only to those.
fn is_default(judgement: &Judgement) -> bool {
    let is_upstream = judgement.subject.program == "kube-controller-manager";
    !is_upstream || Minor::of(&judgement.subject.version).is_none_or(Minor::is_default)
}

fn prevents_blessing(finding: &VerdictFinding, is_default: bool) -> bool {
    match finding.kind {
        FindingKind::Unsettled(..) | FindingKind::Trouble(..) => true,
        FindingKind::Unexpected(_) | FindingKind::Rule(_) => is_default,
        _ => false,
    }
}
