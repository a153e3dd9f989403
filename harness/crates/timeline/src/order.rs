//! The order of decisions that upstream repeats: it is defined for each Deployment, never across
//! Deployments; changes of a Deployment itself are a stream beside those of its ReplicaSets; what
//! the garbage collector does has no order, and neither have several adoptions or releases in a
//! row.
//!
//! That order, with one line for several resizes if only their sum is repeatable, is what is
//! compared. A reader who wants to know what led to what needs the recording's order, and the
//! decision that broke an invariant: a [`RecordedOrder`].

use std::fmt::{Display, Formatter};

use super::model::{Decision, DecisionAction, InvariantBreach, KeyValue, StepId, TimelineStep};
use super::names::replica_set_number;

/// A decision with its sort key.
#[derive(Debug, Clone)]
pub(super) struct OrderedDecision {
    /// The Deployment; `None` for an object that never had one.
    pub(super) deployment: Option<String>,
    /// Whether the Deployment itself was changed.
    pub(super) is_of_deployment: bool,
    /// The ReplicaSet's number, if the garbage collector made the decision because the Deployment
    /// is being deleted or gone.
    pub(super) collected_number: Option<u32>,
    /// The burst of the decision, counted within its step: changes without settling in between.
    pub(super) burst: Option<u32>,
    pub(super) decision: Decision,
}

impl OrderedDecision {
    /// A decision that concerns no Deployment.
    pub(super) const fn without_deployment(decision: Decision) -> Self {
        Self { deployment: None, is_of_deployment: false, collected_number: None, burst: None, decision }
    }
}

/// Puts decisions into canonical order; those of a burst are replaced by their net effect, because
/// only that is repeatable.
pub(super) fn canonical_order(mut made: Vec<OrderedDecision>) -> Vec<Decision> {
    made.sort_by(|a, b| {
        let key = |made: &OrderedDecision| (made.deployment.clone(), made.is_of_deployment, made.collected_number);
        key(a).cmp(&key(b))
    });
    let mut decisions: Vec<Decision> = Vec::new();
    for chunk in made.chunk_by(|a, b| a.burst == b.burst) {
        let made: Vec<Decision> = chunk.iter().map(|made| made.decision.clone()).collect();
        decisions.extend(if chunk[0].burst.is_some() { net_effect(made) } else { made });
    }
    // Upstream claims in the order of a map, which varies (seen in
    // adoption/orphaned-in-mid-rollout).
    for claims in decisions.chunk_by_mut(|a, b| is_claim(a.action) && a.action == b.action) {
        claims.sort_by_key(|decision| number_key(&decision.object));
    }
    decisions
}

fn is_claim(action: DecisionAction) -> bool {
    matches!(action, DecisionAction::Adopted | DecisionAction::Released)
}

/// The net effect of all decisions, one for each object. Objects are sorted by number, because
/// their order in time is not repeatable.
pub(super) fn net_effect(decisions: Vec<Decision>) -> Vec<Decision> {
    let mut merged: Vec<Decision> = Vec::new();
    for decision in decisions {
        match merged.iter_mut().find(|earlier| earlier.object == decision.object) {
            Some(earlier) => *earlier = merge_decisions(earlier.clone(), decision),
            None => merged.push(decision),
        }
    }
    merged.retain(|decision| match decision.action {
        DecisionAction::Resized { from, to } => from != to || !decision.details.is_empty(),
        _ => true,
    });
    merged.sort_by_key(|decision| number_key(&decision.object));
    merged
}

/// Joins successive resizes of one ReplicaSet in one direction: `rs1 0 -> 9`, `rs1 9 -> 11` is `rs1
/// 0 -> 11`.
#[must_use]
pub(crate) fn join_resizes(decisions: &[Decision]) -> Vec<Decision> {
    let mut all: Vec<Decision> = Vec::new();
    for decision in decisions {
        match all.last_mut() {
            Some(last) if continues(last, decision) => *last = merge_decisions(last.clone(), decision.clone()),
            _ => all.push(decision.clone()),
        }
    }
    all
}

/// Joins the creation of a ReplicaSet without pods and its first resize to a creation with pods.
pub(super) fn merge_initial_resizes(decisions: Vec<Decision>) -> Vec<Decision> {
    let mut all: Vec<Decision> = Vec::new();
    for decision in decisions {
        match all.last_mut() {
            Some(last)
                if last.object == decision.object
                    && last.action == DecisionAction::Created(0)
                    && matches!(decision.action, DecisionAction::Resized { .. }) =>
            {
                *last = merge_decisions(last.clone(), decision);
            }
            _ => all.push(decision),
        }
    }
    all
}

impl TimelineStep {
    /// The step with successive resizes joined, and marked as joined.
    #[must_use]
    pub fn to_joined(&self) -> Self {
        Self { joined: true, decisions: join_resizes(&self.decisions), ..self.clone() }
    }

    /// The step with one decision for each object, in the order of the objects, and marked as
    /// joined. Resizes without a net effect are omitted.
    #[must_use]
    pub fn to_sum(&self) -> Self {
        let mut decisions: Vec<Decision> = Vec::new();
        for decision in &self.decisions {
            match decisions.iter().position(|earlier| earlier.object == decision.object) {
                Some(at) => decisions[at] = merge_decisions(decisions[at].clone(), decision.clone()),
                None => decisions.push(decision.clone()),
            }
        }
        decisions.retain(|decision| !matches!(decision.action, DecisionAction::Resized { from, to } if from == to));
        decisions.sort_by_cached_key(|decision| number_key(&decision.object));
        Self { joined: true, decisions, ..self.clone() }
    }
}

/// Whether `next` continues where `last` ended, in the same direction.
fn continues(last: &Decision, next: &Decision) -> bool {
    match (last.action, next.action) {
        (DecisionAction::Resized { from, to: middle }, DecisionAction::Resized { from: start, to }) => {
            last.object == next.object && middle == start && (middle > from) == (to > middle)
        }
        _ => false,
    }
}

/// Merges two decisions about one object.
fn merge_decisions(first: Decision, second: Decision) -> Decision {
    let action = match (first.action, second.action) {
        (DecisionAction::Created(_), DecisionAction::Resized { to, .. }) => DecisionAction::Created(to),
        (DecisionAction::Resized { from, .. }, DecisionAction::Resized { to, .. }) => {
            DecisionAction::Resized { from, to }
        }
        (DecisionAction::Created(replicas), DecisionAction::Annotated | DecisionAction::Changed) => {
            DecisionAction::Created(replicas)
        }
        (DecisionAction::Annotated | DecisionAction::Changed, later) if later != DecisionAction::Annotated => later,
        (earlier, DecisionAction::Annotated | DecisionAction::Changed) => earlier,
        (_, later) => later,
    };
    Decision { object: first.object, action, details: merge(first.details, second.details) }
}

/// Merges fields; if both have a key, the later value wins.
fn merge(mut first: Vec<KeyValue>, second: Vec<KeyValue>) -> Vec<KeyValue> {
    for field in second {
        match first.iter_mut().find(|earlier| earlier.key == field.key) {
            Some(earlier) => *earlier = field,
            None => first.push(field),
        }
    }
    first
}

/// Sorts `web/rs10` after `web/rs9`, and a Deployment after its ReplicaSets.
fn number_key(object: &str) -> (String, u32) {
    match (object.rsplit_once('/'), replica_set_number(object)) {
        (Some((deployment, _)), number) => (deployment.to_owned(), number.unwrap_or(u32::MAX)),
        (None, Some(number)) => (String::new(), number),
        (None, None) => (object.to_owned(), u32::MAX),
    }
}

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
    /// The step of the timeline that it belongs to.
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
