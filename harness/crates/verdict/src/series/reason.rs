//! Explains decisions in numbers. It gives a reason only if the arithmetic yields exactly what was
//! decided. A reason explains, and proves nothing.

use std::collections::BTreeMap;

use lockstep_timeline::{Decision, DecisionAction, TimelineStep, replica_set_number};

use super::{ReplicaSetSize, RolloutBounds, StepTotals, belongs_to};

/// What is known while the decisions of a step are explained.
struct StepContext<'a> {
    bounds: Option<&'a RolloutBounds>,
    /// Available pods before the first decision: those in the settled state, and those that were
    /// removed meanwhile.
    available: i64,
    /// Unavailable pods of each ReplicaSet before the step.
    unavailable: BTreeMap<&'a str, i64>,
    /// The newest ReplicaSet.
    newest: Option<String>,
}

/// The reason for each decision of a step, or `None` if the numbers do not determine it. `before`
/// is the settled state before the step.
#[must_use]
pub fn reasons(step: &TimelineStep, before: Option<&StepTotals>, after: &StepTotals) -> Vec<Option<String>> {
    let no_sets = BTreeMap::new();
    let old = before.map_or(&no_sets, |totals| &totals.replica_sets);
    let mut wanted: BTreeMap<String, i64> = old.iter().map(|(name, size)| (name.clone(), size.desired)).collect();
    step.decisions
        .iter()
        .map(|decision| {
            let deployment = after.deployments.keys().find(|name| belongs_to(&decision.object, name))?;
            let is_own = |name: &str| belongs_to(name, deployment);
            let context = StepContext {
                bounds: after.bounds.get(deployment),
                available: available(old, &after.replica_sets, is_own),
                unavailable: old.iter().map(|(name, size)| (name.as_str(), size.desired - size.available)).collect(),
                newest: newest(after, old, is_own),
            };
            let reason = explain(
                decision,
                &context,
                &wanted.iter().filter(|(name, _)| is_own(name)).map(|(name, n)| (name.as_str(), *n)).collect(),
            );
            match decision.action {
                DecisionAction::Created(to) | DecisionAction::Resized { to, .. } => {
                    wanted.insert(decision.object.clone(), to.into());
                }
                DecisionAction::Deleted | DecisionAction::Released => {
                    wanted.remove(&decision.object);
                }
                _ => {}
            }
            reason
        })
        .collect()
}

/// Each ReplicaSet had at least as many available pods as before or after the step.
fn available(
    before: &BTreeMap<String, ReplicaSetSize>,
    after: &BTreeMap<String, ReplicaSetSize>,
    is_own: impl Fn(&str) -> bool,
) -> i64 {
    let of = |sets: &BTreeMap<String, ReplicaSetSize>, name: &str| sets.get(name).map_or(0, |size| size.available);
    let names: std::collections::BTreeSet<&String> =
        before.keys().chain(after.keys()).filter(|name| is_own(name)).collect();
    names.into_iter().map(|name| of(before, name).max(of(after, name))).sum()
}

/// The ReplicaSet with the highest number, which appeared last.
fn newest(
    after: &StepTotals,
    before: &BTreeMap<String, ReplicaSetSize>,
    is_own: impl Fn(&str) -> bool,
) -> Option<String> {
    let names = after.replica_sets.keys().chain(before.keys()).filter(|name| is_own(name));
    names.max_by_key(|name| replica_set_number(name)).cloned()
}

fn explain(decision: &Decision, context: &StepContext<'_>, desired: &BTreeMap<&str, i64>) -> Option<String> {
    let allowed = context.bounds?;
    let total: i64 = desired.values().sum();
    let room = allowed.bounds.most - total;
    let own = desired.get(decision.object.as_str()).copied().unwrap_or(0);
    let is_newest = context.newest.as_deref() == Some(decision.object.as_str());
    let share =
        decision.details.iter().any(|field| field.key == "desired") && desired.values().filter(|n| **n > 0).count() > 1;
    match decision.action {
        DecisionAction::Created(0) => Some("it comes without pods and gets its share later".to_owned()),
        DecisionAction::Created(new) => {
            let new = i64::from(new);
            if total == 0 {
                return (new == allowed.replicas).then(|| "nothing else is there: all of them at once".to_owned());
            }
            let fits = new == room.min(allowed.replicas);
            fits.then(|| {
                format!("{total} are wanted and at most {} may be, so there is room for {}", allowed.bounds.most, room)
            })
        }
        DecisionAction::Resized { from, to } if share && from != to => {
            Some("the Deployment was scaled in mid-rollout: each ReplicaSet takes its share of the change".to_owned())
        }
        DecisionAction::Resized { from, to } if to > from => {
            let more = i64::from(to - from);
            if desired.len() == 1 || total == own {
                return (i64::from(to) == allowed.replicas)
                    .then(|| format!("the Deployment wants {to}, and there is no other"));
            }
            let lacks = allowed.replicas - own;
            (is_newest && more == room.min(lacks)).then(|| match more {
                more if more == lacks => {
                    format!("it is {lacks} short of the {} wanted, and there is room", allowed.replicas)
                }
                _ => format!(
                    "{total} are wanted and at most {} may be, so there is room for {room}",
                    allowed.bounds.most
                ),
            })
        }
        DecisionAction::Resized { from, to } => {
            let fewer = i64::from(from - to);
            let Some(least) = allowed.bounds.least else {
                return (to == 0 && !is_newest)
                    .then(|| "Recreate: every old pod goes before a new one comes".to_owned());
            };
            if is_newest {
                return (i64::from(to) == allowed.replicas).then(|| format!("the Deployment wants {to}"));
            }
            let sick = context.unavailable.get(decision.object.as_str()).copied().unwrap_or(0);
            let spare = context.available - least;
            if sick > 0 && fewer <= sick {
                return Some(match sick {
                    1 => "1 of its pods was not available: it goes first and costs nothing".to_owned(),
                    sick => format!("{sick} of its pods were not available: they go first and cost nothing"),
                });
            }
            let may = format!("{} are available and {least} must be, so {spare} may go", context.available);
            match fewer {
                _ if fewer == spare => Some(may),
                _ if to == 0 && fewer < spare => Some(format!("{may}; it has only {fewer}")),
                _ => None,
            }
        }
        DecisionAction::Deleted => {
            Some("it has no pods, and the history is longer than revisionHistoryLimit".to_owned()).filter(|_| own == 0)
        }
        _ => None,
    }
}
