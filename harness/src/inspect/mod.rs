//! A recording to look at: frame by frame in a terminal, or as a trace for a viewer of traces.
//!
//! Pure. [`Inspected`] is what is known of a recording; a place in it is the number of a frame,
//! which a [`Move`] changes; a [`View`] is computed from both and from the size of the terminal,
//! and writes itself into a buffer. Keys and the terminal itself are `cli`'s.
//!
//! * `moves` says which frame is the next one.
//! * `view` says what there is to be seen, `panel` shows as much of it as fits.
//! * [`trace()`] is the whole recording in Chrome's trace event format.

mod moves;
mod panel;
mod trace;
mod view;

pub use moves::Move;
pub use trace::trace;
pub use view::View;

use crate::course::{Course, Frames, Moment};
use crate::infer::OTHERS;
use crate::plain::line;
use crate::recording::{Recording, SubjectKind};
use crate::report::headline;
use crate::timeline::{StepId, Timeline};
use crate::verdict::{Judgement, Place};

/// What is known of a recording.
#[derive(Debug, Clone)]
pub struct Inspected {
    /// The case, or the namespace where there is none.
    pub title: String,
    /// The subject and the cluster.
    pub who: String,
    /// The verdict in one line, or why there is none.
    pub verdict: String,
    /// The case file.
    pub path: String,
    /// The step at which the subject first went wrong.
    pub wrong: Option<StepId>,
    /// The frames.
    pub frames: Frames,
    /// What the subject did.
    pub timeline: Timeline,
    /// What was expected.
    pub expected: Option<Timeline>,
    /// What is known of requests.
    asked: Asked,
    /// Why there are no steps, if there are none.
    stepless: Option<String>,
    /// A lane for each ReplicaSet.
    lanes: Course,
}

/// Why there are no requests.
const UNSEEN: &str = "a live cluster shows objects, not requests";
/// Why there are no writers either.
const UNNAMED: &str = "and this recording does not name who wrote them";

/// What a recording knows of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// Those of the subject.
    Requests,
    /// None, but the programs that wrote the versions.
    Authors,
    /// Nothing.
    Nothing,
}

impl Asked {
    fn of(recording: &Recording, frames: &Frames) -> Self {
        let named = |moment: &Moment| moment.author.as_deref().is_some_and(|author| author != OTHERS);
        let is_named = || frames.moments.iter().any(named);
        let has_requests = frames.passages.iter().any(|passage| !passage.asked.is_empty());
        match recording.header.kind {
            _ if has_requests => Self::Requests,
            SubjectKind::Cluster if is_named() => Self::Authors,
            SubjectKind::Cluster => Self::Nothing,
            _ => Self::Requests,
        }
    }
}

impl Inspected {
    /// A recording that was judged by this timeline, or by none.
    #[must_use]
    pub fn judged(recording: &Recording, judgement: &Judgement, expected: Option<&Timeline>) -> Self {
        let wrong = judgement.decisive().and_then(|finding| match finding.place {
            Place::Step(id) => Some(id),
            Place::Events => None,
        });
        Self {
            verdict: headline(judgement),
            wrong,
            expected: expected.cloned(),
            stepless: None,
            ..Self::of(recording, judgement.timeline.clone())
        }
    }

    /// A recording that cannot be judged: it has no case.
    #[must_use]
    pub fn unjudged(recording: &Recording) -> Self {
        Self::of(recording, Timeline::from_recording(recording))
    }

    /// A recording of a live cluster, with a mark for each step that was inferred from it.
    #[must_use]
    pub fn inferred(recording: &Recording) -> Self {
        let verdict =
            "not judged: the steps are inferred from what was recorded; `lockstep replay` plays them on upstream";
        Self { verdict: verdict.to_owned(), stepless: None, ..Self::unjudged(recording) }
    }

    /// A recording of a live cluster from which no steps can be inferred, and why.
    #[must_use]
    pub fn stepless(recording: &Recording, why: &str) -> Self {
        let stepless = Some(line(why).into_owned());
        Self {
            verdict: "not judged: no steps were found in the recording".to_owned(),
            stepless,
            ..Self::unjudged(recording)
        }
    }

    /// What there is in place of requests; `None` where there are requests.
    #[must_use]
    pub fn instead_of_requests(&self) -> Option<String> {
        match self.asked {
            Asked::Requests => None,
            Asked::Authors => Some(format!("{UNSEEN}; each version says which program wrote it")),
            Asked::Nothing => Some(format!("{UNSEEN}, {UNNAMED}")),
        }
    }

    fn of(recording: &Recording, timeline: Timeline) -> Self {
        let header = &recording.header;
        let title = if header.case.is_empty() { &header.namespace } else { &header.case };
        let frames = Frames::of(recording);
        Self {
            title: line(title).into_owned(),
            who: line(&format!("{} on {}", header.subject, header.cluster.title())).into_owned(),
            verdict: "not judged: the recording has no case".to_owned(),
            path: line(&header.path).into_owned(),
            wrong: None,
            asked: Asked::of(recording, &frames),
            stepless: Some("the recording has no case".to_owned()),
            lanes: frames.lanes(),
            frames,
            timeline,
            expected: None,
        }
    }
}
