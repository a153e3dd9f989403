//! The two subjects of a session, of which one runs at a time: a handover kills the one that runs,
//! and starts the other in its place.

use std::iter;
use std::sync::{Mutex, PoisonError};

use lockstep_case::RestartProfile;
use lockstep_subject::SubjectSpec;

/// Which of a session's two subjects play a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SubjectPlan {
    /// The first begins, and the other takes over at a handover.
    #[default]
    HandOver,
    /// The first alone; a handover starts a new run of it.
    FirstAlone,
    /// Its successor alone.
    SuccessorAlone,
}

/// The subject that takes over at a handover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Successor {
    /// The subject.
    pub spec: SubjectSpec,
    /// The profile by which it restarts workloads, if it is not the case's.
    pub profile: Option<RestartProfile>,
}

/// The subjects of a session, and whose turn it is.
#[derive(Debug)]
pub(super) struct SubjectTurns {
    first: SubjectSpec,
    successor: Option<Successor>,
    state: Mutex<TurnState>,
}

/// Whose turn it is, and under which plan.
#[derive(Debug, Clone, Copy, Default)]
struct TurnState {
    plan: SubjectPlan,
    is_successors: bool,
}

impl SubjectTurns {
    /// It is the first one's turn.
    pub(super) fn new(first: SubjectSpec, successor: Option<Successor>) -> Self {
        Self { first, successor, state: Mutex::default() }
    }

    /// The first one, and its successor if there is one.
    pub(super) fn all(&self) -> impl Iterator<Item = &SubjectSpec> {
        iter::once(&self.first).chain(self.successor.as_ref().map(|successor| &successor.spec))
    }

    /// Whether there is a successor.
    pub(super) const fn are_two(&self) -> bool {
        self.successor.is_some()
    }

    /// The subject whose turn it is. Without a successor it is always the first's.
    pub(super) fn acting(&self) -> &SubjectSpec {
        self.acting_successor().map_or(&self.first, |successor| &successor.spec)
    }

    /// The restart profile of the subject whose turn it is, if it is not the case's.
    pub(super) fn profile(&self) -> Option<RestartProfile> {
        self.acting_successor().and_then(|successor| successor.profile)
    }

    fn acting_successor(&self) -> Option<&Successor> {
        let is_successors = self.with_state(|state| state.is_successors);
        self.successor.as_ref().filter(|_| is_successors)
    }

    /// Before a case: follow this plan from the next start on. Returns whether another subject than
    /// the one that acts begins then.
    pub(super) fn begin(&self, plan: SubjectPlan) -> bool {
        let is_successors = self.are_two() && plan == SubjectPlan::SuccessorAlone;
        self.with_state(|state| {
            let was = std::mem::replace(state, TurnState { plan, is_successors });
            was.is_successors != is_successors
        })
    }

    /// From the next start on it is the other one's turn, if the plan says so.
    pub(super) fn hand_over(&self) {
        let are_two = self.are_two();
        self.with_state(|state| {
            if are_two && state.plan == SubjectPlan::HandOver {
                state.is_successors = !state.is_successors;
            }
        });
    }

    fn with_state<T>(&self, work: impl FnOnce(&mut TurnState) -> T) -> T {
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_take_turns_only_if_the_plan_says_so() {
        let successor = Successor { spec: SubjectSpec::OursFixed, profile: Some(RestartProfile::Xing) };
        let turns = SubjectTurns::new(SubjectSpec::Ours, Some(successor));
        assert!(!turns.begin(SubjectPlan::HandOver));
        turns.hand_over();
        assert_eq!((turns.acting(), turns.profile()), (&SubjectSpec::OursFixed, Some(RestartProfile::Xing)));
        turns.hand_over();
        assert_eq!((turns.acting(), turns.profile()), (&SubjectSpec::Ours, None));
        assert!(turns.begin(SubjectPlan::SuccessorAlone));
        turns.hand_over();
        assert_eq!(turns.acting(), &SubjectSpec::OursFixed);
        assert!(turns.begin(SubjectPlan::FirstAlone));
    }

    #[test]
    fn single_subject_takes_over_from_itself() {
        let turns = SubjectTurns::new(SubjectSpec::Ours, None);
        turns.hand_over();
        assert_eq!((turns.acting(), turns.begin(SubjectPlan::SuccessorAlone)), (&SubjectSpec::Ours, false));
    }
}
