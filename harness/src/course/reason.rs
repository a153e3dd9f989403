//! Why a decision was made, in numbers, where they leave no doubt. A reason is given only where its
//! arithmetic gives exactly what was decided; it explains, and proves nothing.

use std::collections::BTreeMap;

use super::{Allowed, Size, Stop, belongs};
use crate::timeline::{Action, Decision, Step};

/// What is known while the decisions of a step are followed.
struct Scene<'a> {
    allowed: Option<&'a Allowed>,
    /// Available pods before the first decision: those at rest, and those that were taken away
    /// meanwhile.
    available: i64,
    /// Unavailable pods of each ReplicaSet before.
    sick: BTreeMap<&'a str, i64>,
    /// The newest ReplicaSet.
    newest: Option<String>,
}

/// For each decision of a step, why; nothing where that cannot be told. `before` is the rest before
/// it.
#[must_use]
pub fn reasons(step: &Step, before: Option<&Stop>, after: &Stop) -> Vec<Option<String>> {
    let nobody = BTreeMap::new();
    let old = before.map_or(&nobody, |stop| &stop.sets);
    let mut wanted: BTreeMap<String, i64> = old.iter().map(|(name, size)| (name.clone(), size.wanted)).collect();
    step.decisions
        .iter()
        .map(|decision| {
            let deployment = after.totals.keys().find(|name| belongs(&decision.object, name))?;
            let own = |name: &str| belongs(name, deployment);
            let scene = Scene {
                allowed: after.allowed.get(deployment),
                available: available(old, &after.sets, own),
                sick: old.iter().map(|(name, size)| (name.as_str(), size.wanted - size.available)).collect(),
                newest: newest(after, old, own),
            };
            let reason = why(
                decision,
                &scene,
                &wanted.iter().filter(|(name, _)| own(name)).map(|(name, n)| (name.as_str(), *n)).collect(),
            );
            match decision.action {
                Action::Created(to) | Action::Resized { to, .. } => {
                    wanted.insert(decision.object.clone(), to.into());
                }
                Action::Deleted | Action::Released => {
                    wanted.remove(&decision.object);
                }
                _ => {}
            }
            reason
        })
        .collect()
}

/// Each ReplicaSet had at least as many available pods as before or after.
fn available(before: &BTreeMap<String, Size>, after: &BTreeMap<String, Size>, own: impl Fn(&str) -> bool) -> i64 {
    let of = |sets: &BTreeMap<String, Size>, name: &str| sets.get(name).map_or(0, |size| size.available);
    let names: std::collections::BTreeSet<&String> =
        before.keys().chain(after.keys()).filter(|name| own(name)).collect();
    names.into_iter().map(|name| of(before, name).max(of(after, name))).sum()
}

/// The ReplicaSet with the highest number, which is the one that appeared last.
fn newest(after: &Stop, before: &BTreeMap<String, Size>, own: impl Fn(&str) -> bool) -> Option<String> {
    let number = |name: &&String| name.rsplit("rs").next().and_then(|n| n.parse::<u32>().ok()).unwrap_or(0);
    after.sets.keys().chain(before.keys()).filter(|name| own(name)).max_by_key(number).cloned()
}

fn why(decision: &Decision, scene: &Scene<'_>, wanted: &BTreeMap<&str, i64>) -> Option<String> {
    let allowed = scene.allowed?;
    let total: i64 = wanted.values().sum();
    let room = allowed.bounds.most - total;
    let own = wanted.get(decision.object.as_str()).copied().unwrap_or(0);
    let is_newest = scene.newest.as_deref() == Some(decision.object.as_str());
    let share =
        decision.details.iter().any(|field| field.key == "desired") && wanted.values().filter(|n| **n > 0).count() > 1;
    match decision.action {
        Action::Created(0) => Some("it comes without pods and gets its share later".to_owned()),
        Action::Created(new) => {
            let new = i64::from(new);
            if total == 0 {
                return (new == allowed.replicas).then(|| "nothing else is there: all of them at once".to_owned());
            }
            let fits = new == room.min(allowed.replicas);
            fits.then(|| {
                format!("{total} are wanted and at most {} may be, so there is room for {}", allowed.bounds.most, room)
            })
        }
        Action::Resized { from, to } if share && from != to => {
            Some("the Deployment was scaled in mid-rollout: each ReplicaSet takes its share of the change".to_owned())
        }
        Action::Resized { from, to } if to > from => {
            let more = i64::from(to - from);
            if wanted.len() == 1 || total == own {
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
        Action::Resized { from, to } => {
            let fewer = i64::from(from - to);
            let Some(least) = allowed.bounds.least else {
                return (to == 0 && !is_newest)
                    .then(|| "Recreate: every old pod goes before a new one comes".to_owned());
            };
            if is_newest {
                return (i64::from(to) == allowed.replicas).then(|| format!("the Deployment wants {to}"));
            }
            let sick = scene.sick.get(decision.object.as_str()).copied().unwrap_or(0);
            let spare = scene.available - least;
            if sick > 0 && fewer <= sick {
                return Some(match sick {
                    1 => "1 of its pods was not available: it goes first and costs nothing".to_owned(),
                    sick => format!("{sick} of its pods were not available: they go first and cost nothing"),
                });
            }
            let may = format!("{} are available and {least} must be, so {spare} may go", scene.available);
            match fewer {
                _ if fewer == spare => Some(may),
                _ if to == 0 && fewer < spare => Some(format!("{may}; it has only {fewer}")),
                _ => None,
            }
        }
        Action::Deleted => {
            Some("it has no pods, and the history is longer than revisionHistoryLimit".to_owned()).filter(|_| own == 0)
        }
        _ => None,
    }
}
