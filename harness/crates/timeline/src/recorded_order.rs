//! The recording's order of the decisions of a step, if the timeline has another.
//!
//! A timeline has the order that upstream repeats, and one line for several resizes if only their
//! sum is repeatable. That is what is compared. A reader who wants to know what led to what needs
//! the recording's order, and the decision that broke an invariant.

use std::fmt::{Display, Formatter};

use super::model::{Decision, DecisionAction, InvariantBreach, StepId, TimelineStep};

/// A line of a step in the recording's order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RecordedLine {
    /// A decision about a ReplicaSet.
    Decision(Decision),
    /// A breach by the state after the decision before it.
    Breach(InvariantBreach),
}

/// The recording's order of a step whose timeline has another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedOrder {
    /// Which step.
    pub step: StepId,
    sequence: Vec<RecordedLine>,
}

impl RecordedOrder {
    /// Returns the recording's order if the step's lines about ReplicaSets have another, or are
    /// fewer.
    pub(super) fn of(step: &TimelineStep, sequence: Vec<RecordedLine>) -> Option<Self> {
        let recorded = sequence.iter().filter_map(|one| match one {
            RecordedLine::Decision(decision) => Some((decision.object.as_str(), decision.action)),
            RecordedLine::Breach(_) => None,
        });
        let recorded: Vec<(&str, DecisionAction)> = recorded.collect();
        let is_recorded = |one: &&Decision| {
            one.action != DecisionAction::Pods && recorded.iter().any(|(object, _)| *object == one.object)
        };
        let shown: Vec<(&str, DecisionAction)> =
            step.decisions.iter().filter(is_recorded).map(|one| (one.object.as_str(), one.action)).collect();
        // Lines of several Deployments are grouped by Deployment.
        let owner = |object: &str| object.rsplit_once('/').map(|(owner, _)| owner.to_owned());
        let differs = |name: Option<String>| {
            let of_owner = |all: &[(&str, DecisionAction)]| {
                all.iter()
                    .filter(|(object, _)| owner(object) == name)
                    .map(|(object, action)| ((*object).to_owned(), *action))
                    .collect::<Vec<_>>()
            };
            of_owner(&recorded) != of_owner(&shown)
        };
        let reordered = recorded.iter().any(|(object, _)| differs(owner(object)));
        reordered.then_some(Self { step: step.id, sequence })
    }
}

/// `step 1: the recording has another order: rs1 released, rs1 adopted, rs1 3 -> 0`.
impl Display for RecordedOrder {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: the recording has another order:", self.step)?;
        for (number, one) in self.sequence.iter().enumerate() {
            match one {
                RecordedLine::Decision(decision) => {
                    let comma = if number == 0 { "" } else { "," };
                    match decision.action {
                        DecisionAction::Changed | DecisionAction::Annotated => {
                            let words: Vec<String> =
                                decision.to_string().split_whitespace().map(str::to_owned).collect();
                            write!(f, "{comma} {}", words.join(" "))?;
                        }
                        action => write!(f, "{comma} {}{action}", decision.object)?,
                    }
                }
                RecordedLine::Breach(breach) => write!(f, " (breaks {}: {})", breach.invariant, breach.detail)?,
            }
        }
        Ok(())
    }
}
