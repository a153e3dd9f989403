//! A folder for each play that is not conformant, with all that shows it.

use std::path::{Path, PathBuf};

use super::super::out::note;
use super::is_good;
use crate::course::Frames;
use crate::private;
use crate::recording::{FileName, RecordingError};
use crate::report;
use crate::report::page::{Sheet, page};
use crate::run::{Event, FileError, Judged, Subscriber};

/// Keeps evidence below a folder.
pub(super) struct Evidence {
    folder: PathBuf,
}

impl Evidence {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }
}

impl Subscriber for Evidence {
    fn on(&self, event: &Event<'_>) -> Result<(), FileError> {
        match event {
            Event::CaseJudged(judged) if !is_good(judged.judgement.outcome()) => {
                let kept = keep(&self.folder, judged)?;
                note!("the evidence is in {}", kept.display());
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Keep all that shows a failure; the folder.
fn keep(folder: &Path, judged: &Judged<'_>) -> Result<PathBuf, FileError> {
    let Judged { judgement, expected, recording, again, took, output, .. } = *judged;
    let case = judgement.case.split('/').map(FileName::of).collect::<PathBuf>();
    let folder = folder.join(FileName::of(&judgement.subject.name)).join(case);
    let path = folder.join("recording.ndjson");
    let write = || -> Result<(), RecordingError> { recording.write(std::io::BufWriter::new(private::create(&path)?)) };
    write().map_err(|source| FileError::Recording { path: path.clone(), source })?;
    let header = &recording.header;
    let about = serde_json::json!({
        "lockstep": env!("CARGO_PKG_VERSION"),
        "case": judgement.case,
        "path": judgement.path,
        "outcome": judgement.outcome().code(),
        "verdict": judgement.outcome().name(),
        "subject": report::identity(&judgement.subject),
        "cluster": report::identity(&judgement.cluster),
        "clusterControllers": judgement.cluster_controllers.as_ref().map(report::identity),
        "seed": header.seed,
        "started": header.started,
        "repeat": again.repeat,
        "system": format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
    });
    let frames = Frames::of(recording);
    let sheet = Sheet { judgement, expected, again, took, frames: Some(&frames) };
    private_file(&folder.join("about.json"), &format!("{about:#}\n"))?;
    private_file(&folder.join("case.yaml"), &judgement.definition.source)?;
    private_file(&folder.join("happened.timeline"), &judgement.timeline.to_string())?;
    private_file(&folder.join("report.txt"), &report::failure(judgement, again, false))?;
    private_file(&folder.join("page.html"), &page(&judgement.case, &[sheet]))?;
    if let Some(expected) = expected {
        private_file(&folder.join("expected.timeline"), &expected.to_string())?;
    }
    if let Some(output) = output {
        private_file(&folder.join("subject.log"), output)?;
    }
    Ok(folder)
}

/// Write a file that only this user can read.
fn private_file(path: &Path, text: &str) -> Result<(), FileError> {
    private::write(path, text.as_bytes()).map_err(|source| FileError::File { path: path.to_owned(), source })
}
