//! The order in which a recording has the decisions of a step, where the timeline has another.
//!
//! A timeline has the order that upstream repeats, and one line for several resizes where only
//! their sum repeats. That is what is compared; a reader who asks what led to what needs the
//! recording's order, and the decision after which an invariant was broken.

use std::fmt::{Display, Formatter};

use super::model::{Action, Breach, Decision, Step, StepId};

/// What a recording has in a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Recorded {
    /// A decision about a ReplicaSet.
    Decision(Decision),
    /// An invariant that the state after the decision before broke.
    Breach(Breach),
}

/// The recording's order of a step whose lines stand in another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedOrder {
    /// The step.
    pub step: StepId,
    sequence: Vec<Recorded>,
}

impl RecordedOrder {
    /// Of a step, if its lines about ReplicaSets stand in another order or are fewer.
    pub(super) fn of(step: &Step, sequence: Vec<Recorded>) -> Option<Self> {
        let recorded = sequence.iter().filter_map(|one| match one {
            Recorded::Decision(decision) => Some((decision.object.as_str(), decision.action)),
            Recorded::Breach(_) => None,
        });
        let recorded: Vec<(&str, Action)> = recorded.collect();
        let is_recorded =
            |one: &&Decision| one.action != Action::Pods && recorded.iter().any(|(object, _)| *object == one.object);
        let shown: Vec<(&str, Action)> =
            step.decisions.iter().filter(is_recorded).map(|one| (one.object.as_str(), one.action)).collect();
        // Lines of several Deployments stand one Deployment after the other.
        let owner = |object: &str| object.rsplit_once('/').map(|(owner, _)| owner.to_owned());
        let differs = |name: Option<String>| {
            let of_owner = |all: &[(&str, Action)]| {
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
                Recorded::Decision(decision) => {
                    let comma = if number == 0 { "" } else { "," };
                    match decision.action {
                        Action::Changed | Action::Annotated => {
                            let words: Vec<String> =
                                decision.to_string().split_whitespace().map(str::to_owned).collect();
                            write!(f, "{comma} {}", words.join(" "))?;
                        }
                        action => write!(f, "{comma} {}{action}", decision.object)?,
                    }
                }
                Recorded::Breach(breach) => write!(f, " (breaks {}: {})", breach.invariant, breach.detail)?,
            }
        }
        Ok(())
    }
}
