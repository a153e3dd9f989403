//! The course of a case: a timeline as numbers, step by step, beside what the Deployments'
//! strategies allow.
//!
//! A timeline says what was decided and how the world looked at rest. To tell it as a story, or to
//! draw it, one also has to know how many pods there may be and how many must be available at each
//! step: that is in the case, whose steps are followed here (`bounds`); a recording says it frame
//! by frame (`frames`). And why something was decided is told where the numbers leave no doubt
//! (`reason`), and nowhere else.
//!
//! Pure; for people only: nothing that is judged is read from here.

mod bounds;
mod frames;
mod reason;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use crate::timeline::Bounds;
pub use bounds::{Allowed, allowed};
pub use frames::{Asked, Frames, Moment, Passage, Status};
pub use reason::reasons;

use crate::case::Case;
use crate::timeline::{State, Step, StepId, Timeline};

/// A timeline in numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Course {
    /// The steps in their order; `given` first.
    pub stops: Vec<Stop>,
}

/// One step, once the namespace had settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// Which step.
    pub id: StepId,
    /// What the world did.
    pub label: String,
    /// The line of the case file.
    pub line: Option<usize>,
    /// The ReplicaSets, by the name that timelines give them.
    pub sets: BTreeMap<String, Size>,
    /// The Deployments.
    pub totals: BTreeMap<String, Total>,
    /// What each Deployment's strategy allows while this step is answered; nothing where the case
    /// cannot be read.
    pub allowed: BTreeMap<String, Allowed>,
}

/// A ReplicaSet at rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Size {
    /// How many pods it is to have.
    pub wanted: i64,
    /// How many of its pods are ready.
    pub ready: i64,
    /// How many of them are available.
    pub available: i64,
}

/// A Deployment at rest, as its ReplicaSets are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Total {
    /// How many pods its ReplicaSets are to have together.
    pub wanted: i64,
    /// How many are ready.
    pub ready: i64,
    /// How many are available.
    pub available: i64,
}

impl Course {
    /// The course of a timeline of this case.
    #[must_use]
    pub fn of(timeline: &Timeline, case: &Case) -> Self {
        let allowed = allowed(case);
        let stop = |step: &Step| stop(step.id, &step.label, &step.checkpoint, (case, &allowed));
        Self { stops: timeline.steps.iter().map(stop).collect() }
    }

    /// One step of this case alone, at which these states had settled.
    #[must_use]
    pub fn of_states(id: StepId, states: &[Arc<State>], case: &Case) -> Self {
        Self { stops: vec![stop(id, "", states, (case, &allowed(case)))] }
    }

    /// The stop of this step.
    #[must_use]
    pub fn stop(&self, id: StepId) -> Option<&Stop> {
        self.stops.iter().find(|stop| stop.id == id)
    }

    /// All ReplicaSets that ever were, in the order of their names, `rs2` before `rs10`.
    #[must_use]
    pub fn sets(&self) -> Vec<&str> {
        names(self.stops.iter().flat_map(|stop| stop.sets.keys()))
    }

    /// All Deployments that ever were.
    #[must_use]
    pub fn deployments(&self) -> Vec<&str> {
        names(self.stops.iter().flat_map(|stop| stop.totals.keys()))
    }
}

fn stop(
    id: StepId,
    label: &str,
    states: &[Arc<State>],
    (case, allowed): (&Case, &[BTreeMap<String, Allowed>]),
) -> Stop {
    let sets: BTreeMap<String, Size> =
        states.iter().filter(|state| state.is_replica_set()).map(|state| (state.object.clone(), size(state))).collect();
    let deployments = states.iter().filter(|state| !state.is_replica_set());
    let totals = deployments.map(|state| (state.object.clone(), total(&state.object, &sets))).collect();
    let index = usize::try_from(id.index).unwrap_or(usize::MAX);
    let steps = if index == 0 { &case.given } else { &case.steps };
    let line = steps.get(index.saturating_sub(1)).map(|step| step.line);
    let allowed = allowed.get(index).cloned().unwrap_or_default();
    Stop { id, label: label.to_owned(), line, sets, totals, allowed }
}

/// Each name once, numbers in them in their order.
fn names<'a>(all: impl Iterator<Item = &'a String>) -> Vec<&'a str> {
    let mut names: Vec<&str> = all.map(String::as_str).collect();
    names.sort_by_key(|name| {
        let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let (stem, number) = name.split_at(name.len() - digits);
        (stem, number.parse::<u64>().unwrap_or(0))
    });
    names.dedup();
    names
}

/// Whether a ReplicaSet belongs to a Deployment: `web/rs1` to `web`, `rs1` to the only one. Those
/// of nobody are `-/rs1`.
#[must_use]
pub fn belongs(set: &str, deployment: &str) -> bool {
    set.split_once('/').is_none_or(|(owner, _)| owner == deployment)
}

fn size(state: &State) -> Size {
    let wanted = state.size.split('/').next().and_then(count).unwrap_or(0);
    Size { wanted, ready: number(state, "ready"), available: number(state, "available") }
}

fn total(deployment: &str, sets: &BTreeMap<String, Size>) -> Total {
    let own = sets.iter().filter(|(name, _)| belongs(name, deployment)).map(|(_, size)| size);
    own.fold(Total::default(), |sum, size| Total {
        wanted: sum.wanted + size.wanted,
        ready: sum.ready + size.ready,
        available: sum.available + size.available,
    })
}

/// A number of a checkpoint's line; what is left out is 0.
fn number(state: &State, key: &str) -> i64 {
    state.fields.iter().find(|field| field.key == key).and_then(|field| count(&field.value)).unwrap_or(0)
}

/// A number of pods, which the API has as 32 bits: sums of them stay numbers.
fn count(text: &str) -> Option<i64> {
    text.parse::<i64>().ok().map(|count| count.clamp(i32::MIN.into(), i32::MAX.into()))
}
