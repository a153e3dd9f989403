//! Presents a recording: frame by frame in a terminal, or as a trace for trace viewers.
//!
//! Pure. [`Inspection`] is the content of a recording. A position in it is the number of a frame,
//! which a [`Navigation`] changes. A [`FrameView`] is computed from both and the size of the
//! terminal, and draws into a buffer. `cli` handles keys and the terminal.
//!
//! * `navigation` finds the frame that a key leads to.
//! * `view` computes the view of a frame, and draws the part of each panel that fits.
//! * [`trace()`] is the whole recording in Chrome's trace event format.

#[cfg(test)]
mod fixture;
mod navigation;
mod trace;
#[cfg(feature = "terminal")]
mod view;

use lockstep_recording::{FOREIGN_WRITER, Recording, SubjectKind};
use lockstep_support::sanitize::line;
use lockstep_timeline::{StepId, Timeline};
use lockstep_verdict::series::{RecordingTrace, RolloutSeries, Snapshot};
use lockstep_verdict::{Judgement, TimelineLocation};
pub use navigation::Navigation;
pub use trace::trace;
#[cfg(feature = "terminal")]
pub use view::FrameView;

use crate::headline;

/// A recording, prepared for presentation.
#[derive(Debug, Clone)]
pub struct Inspection {
    /// The case, or the namespace if there is no case.
    pub title: String,
    /// The subject and the cluster.
    pub subject: String,
    /// The verdict in one line, or why there is none.
    pub verdict: String,
    /// The case file.
    pub path: String,
    /// The first wrong step of the subject.
    pub wrong: Option<StepId>,
    /// The states that can be shown, by step.
    pub frames: RecordingTrace,
    /// The timeline of the subject.
    pub timeline: Timeline,
    /// The timeline that it was compared with, if there is one.
    pub expected: Option<Timeline>,
    /// What the recording knows about requests.
    request_source: RequestSource,
    /// Why there are no steps, if there are none.
    #[cfg_attr(not(feature = "terminal"), allow(dead_code, reason = "only the view in a terminal shows it"))]
    no_steps_reason: Option<String>,
    /// The lanes of the ReplicaSets.
    #[cfg_attr(not(feature = "terminal"), allow(dead_code, reason = "only the view in a terminal shows it"))]
    lanes: RolloutSeries,
}

/// The explanation if there are no requests.
const NO_REQUESTS: &str = "a live cluster shows objects, not requests";
/// The explanation if the authors of versions are unknown, too.
const NO_AUTHORS: &str = "and this recording does not name who wrote them";

/// What a recording knows about requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestSource {
    /// The requests of the subject.
    Requests,
    /// Only the programs that wrote the versions.
    Authors,
    /// Neither requests nor authors.
    Unknown,
}

impl RequestSource {
    fn of(recording: &Recording, frames: &RecordingTrace) -> Self {
        let has_author =
            |snapshot: &Snapshot| snapshot.author.as_deref().is_some_and(|author| author != FOREIGN_WRITER);
        let has_authors = || frames.snapshots.iter().any(has_author);
        let has_requests = frames.steps.iter().any(|step| !step.requests.is_empty());
        match recording.header.kind {
            _ if has_requests => Self::Requests,
            SubjectKind::Cluster if has_authors() => Self::Authors,
            SubjectKind::Cluster => Self::Unknown,
            _ => Self::Requests,
        }
    }
}

impl Inspection {
    /// A judged recording, with its expected timeline if there is one.
    #[must_use]
    pub fn of_judgement(recording: &Recording, judgement: &Judgement, expected: Option<&Timeline>) -> Self {
        let wrong = judgement.decisive().and_then(|finding| match finding.place {
            TimelineLocation::Step(id) => Some(id),
            TimelineLocation::Events => None,
        });
        Self {
            verdict: headline(judgement),
            wrong,
            expected: expected.cloned(),
            no_steps_reason: None,
            ..Self::of(recording, judgement.timeline.clone())
        }
    }

    /// A recording that cannot be judged because it has no case.
    #[must_use]
    pub fn without_case(recording: &Recording) -> Self {
        Self::of(recording, Timeline::from_recording(recording))
    }

    /// A recording of a live cluster, with a mark for each step that was inferred from it.
    #[must_use]
    pub fn of_inferred(recording: &Recording) -> Self {
        let verdict =
            "not judged: the steps are inferred from what was recorded; `lockstep replay` plays them on upstream";
        Self { verdict: verdict.to_owned(), no_steps_reason: None, ..Self::without_case(recording) }
    }

    /// A recording of a live cluster from which no steps can be inferred, with the reason.
    #[must_use]
    pub fn without_steps(recording: &Recording, why: &str) -> Self {
        let no_steps_reason = Some(line(why).into_owned());
        Self {
            verdict: "not judged: no steps were found in the recording".to_owned(),
            no_steps_reason,
            ..Self::without_case(recording)
        }
    }

    /// The explanation of missing requests; `None` if there are requests.
    #[must_use]
    pub fn instead_of_requests(&self) -> Option<String> {
        match self.request_source {
            RequestSource::Requests => None,
            RequestSource::Authors => Some(format!("{NO_REQUESTS}; each version says which program wrote it")),
            RequestSource::Unknown => Some(format!("{NO_REQUESTS}, {NO_AUTHORS}")),
        }
    }

    fn of(recording: &Recording, timeline: Timeline) -> Self {
        let header = &recording.header;
        let title = if header.case.is_empty() { &header.namespace } else { &header.case };
        let frames = RecordingTrace::of(recording);
        Self {
            title: line(title).into_owned(),
            subject: line(&format!("{} on {}", header.subject, header.cluster.title())).into_owned(),
            verdict: "not judged: the recording has no case".to_owned(),
            path: line(&header.path).into_owned(),
            wrong: None,
            request_source: RequestSource::of(recording, &frames),
            no_steps_reason: Some("the recording has no case".to_owned()),
            lanes: frames.lanes(),
            frames,
            timeline,
            expected: None,
        }
    }
}
