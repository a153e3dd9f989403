//! `lockstep bless --preview`: what upstream does on the simulated server, before a real one is
//! asked.
//!
//! A preview blesses nothing. It stands beside the case in a file that says so in its first line
//! and that the judge never reads; `bless` on a control plane removes it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::CliError;
use super::bless::{Arguments, stopped};
use super::out::say;
use super::place::Place;
use super::reporter::{Notes, colour};
use super::select::blessed;
use crate::case::Case;
use crate::outcome::Outcome;
use crate::recording::Recording;
use crate::report;
use crate::run::{Events, FileError};
use crate::subject::Spec;
use crate::timeline::{Golden, Timeline};
use crate::verdict;

/// Play each case once and write what came of it.
pub(super) async fn preview(arguments: &Arguments, spec: &Spec, cases: Vec<Arc<Case>>) -> Result<Outcome, CliError> {
    let mut outcomes = Vec::new();
    for (case, recording) in &played(&arguments.place, spec, cases).await? {
        outcomes.push(write(case, recording)?);
    }
    Ok(Outcome::of(outcomes))
}

/// Each case with a recording of it.
pub(super) async fn played(
    place: &Place,
    spec: &Spec,
    cases: Vec<Arc<Case>>,
) -> Result<Vec<(Arc<Case>, Recording)>, CliError> {
    let mut all = Vec::new();
    for (under_test, cases) in place.by_controllers(cases) {
        let setup = place.setup(Events::to(vec![Arc::new(Notes)]));
        let specs = std::slice::from_ref(spec);
        let played = setup.with_each(&under_test, specs, cases.len(), async |_, player| {
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

fn write(case: &Arc<Case>, recording: &Recording) -> Result<Outcome, CliError> {
    if let Some((outcome, why)) = stopped(verdict::judge(case, recording, None)) {
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
    let golden = blessed(case)?;
    match golden.for_server(&header.cluster.version).map(Golden::first) {
        Some(before) if before.steps == timeline.steps && before.events == timeline.events => {
            say!("as blessed   {}  {}", case.name, path.display());
        }
        Some(before) => {
            say!(
                "otherwise    {}  {}\n{}",
                case.name,
                path.display(),
                report::change(Some(before), &timeline, colour())
            );
        }
        None => say!("preview      {}  {}\n{text}", case.name, path.display()),
    }
    Ok(Outcome::Conformant)
}
