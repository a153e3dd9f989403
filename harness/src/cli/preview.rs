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
use lockstep_runner::run::{FileError, Subscribers};
use lockstep_subject::SubjectSpec;
use lockstep_support::outcome::RunOutcome;
use lockstep_timeline::{GoldenOutcomes, Timeline};
use lockstep_verdict as verdict;

use super::CliError;
use super::bless::{Arguments, unusable_reason};
use super::out::{colour, say};
use super::play_args::PlayArgs;
use super::reporter::NotesReporter;
use super::select::load_golden;

/// Play each case once and write its preview.
pub(super) async fn preview(
    arguments: &Arguments,
    spec: &SubjectSpec,
    cases: Vec<Arc<Case>>,
) -> Result<RunOutcome, CliError> {
    let mut outcomes = Vec::new();
    for (case, recording) in &record_cases(&arguments.play_args, spec, cases).await? {
        outcomes.push(write(case, recording)?);
    }
    Ok(RunOutcome::most_severe(outcomes))
}

/// Play each case once, and return it with its recording.
pub(super) async fn record_cases(
    play_args: &PlayArgs,
    spec: &SubjectSpec,
    cases: Vec<Arc<Case>>,
) -> Result<Vec<(Arc<Case>, Recording)>, CliError> {
    let mut all = Vec::new();
    for (under_test, cases) in play_args.by_controllers(cases) {
        let setup = play_args.setup(Subscribers::new(vec![Arc::new(NotesReporter)]));
        let specs = std::slice::from_ref(spec);
        let played = setup.for_each_subject(&under_test, specs, cases.len(), async |_, player| {
            for case in &cases {
                all.push((Arc::clone(case), player.play(case).await?));
            }
            Ok::<_, CliError>(())
        });
        played.await?;
    }
    Ok(all)
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
