//! The order of decisions that upstream repeats: per Deployment, never across Deployments; a
//! Deployment's own changes are a stream beside its ReplicaSets'; what the garbage collector does
//! has no order, and neither have several adoptions or releases in a row.

use super::model::{Action, Decision, Field, Step};

/// A decision and what orders it.
#[derive(Debug, Clone)]
pub(super) struct Made {
    /// The Deployment; `None` for what never had one.
    pub(super) deployment: Option<String>,
    /// Whether it changed the Deployment itself.
    pub(super) own: bool,
    /// The ReplicaSet's number, where its Deployment is going or gone: then the garbage collector
    /// did it.
    pub(super) collected: Option<u32>,
    /// The burst in which it was made: what came without settling in between, counted within its
    /// step.
    pub(super) burst: Option<u32>,
    /// The decision.
    pub(super) decision: Decision,
}

impl Made {
    /// One that is about no Deployment.
    pub(super) const fn alone(decision: Decision) -> Self {
        Self { deployment: None, own: false, collected: None, burst: None, decision }
    }
}

/// Decisions in canonical order; those of a burst by their net effect, as only that repeats.
pub(super) fn canonical(mut made: Vec<Made>) -> Vec<Decision> {
    made.sort_by(|a, b| {
        let key = |made: &Made| (made.deployment.clone(), made.own, made.collected);
        key(a).cmp(&key(b))
    });
    let mut decisions: Vec<Decision> = Vec::new();
    for chunk in made.chunk_by(|a, b| a.burst == b.burst) {
        let made: Vec<Decision> = chunk.iter().map(|made| made.decision.clone()).collect();
        decisions.extend(if chunk[0].burst.is_some() { net(made) } else { made });
    }
    // Upstream claims in the order of a map, which is another each time (seen in
    // adoption/orphaned-in-mid-rollout).
    for claims in decisions.chunk_by_mut(|a, b| is_claim(a.action) && a.action == b.action) {
        claims.sort_by_key(|decision| by_number(&decision.object));
    }
    decisions
}

fn is_claim(action: Action) -> bool {
    matches!(action, Action::Adopted | Action::Released)
}

/// One line an object: what all its decisions together come to. Objects in the order of their
/// names' numbers, because which was first is what does not repeat.
pub(super) fn net(decisions: Vec<Decision>) -> Vec<Decision> {
    let mut merged: Vec<Decision> = Vec::new();
    for decision in decisions {
        match merged.iter_mut().find(|earlier| earlier.object == decision.object) {
            Some(earlier) => *earlier = then(earlier.clone(), decision),
            None => merged.push(decision),
        }
    }
    merged.retain(|decision| match decision.action {
        Action::Resized { from, to } => from != to || !decision.details.is_empty(),
        _ => true,
    });
    merged.sort_by_key(|decision| by_number(&decision.object));
    merged
}

/// Successive resizes of one ReplicaSet in one direction as one: `rs1 0 -> 9`, `rs1 9 -> 11` is
/// `rs1 0 -> 11`.
#[must_use]
pub fn joined(decisions: &[Decision]) -> Vec<Decision> {
    let mut all: Vec<Decision> = Vec::new();
    for decision in decisions {
        match all.last_mut() {
            Some(last) if continues(last, decision) => *last = then(last.clone(), decision.clone()),
            _ => all.push(decision.clone()),
        }
    }
    all
}

/// A ReplicaSet that is created without pods and scaled at once, as one that is created with them.
pub(super) fn sized_at_creation(decisions: Vec<Decision>) -> Vec<Decision> {
    let mut all: Vec<Decision> = Vec::new();
    for decision in decisions {
        match all.last_mut() {
            Some(last)
                if last.object == decision.object
                    && last.action == Action::Created(0)
                    && matches!(decision.action, Action::Resized { .. }) =>
            {
                *last = then(last.clone(), decision);
            }
            _ => all.push(decision),
        }
    }
    all
}

impl Step {
    /// The step with successive resizes joined, and marked so.
    #[must_use]
    pub fn to_joined(&self) -> Self {
        Self { joined: true, decisions: joined(&self.decisions), ..self.clone() }
    }

    /// The step with all decisions about one object as one, in the order of the objects, and marked
    /// as joined. What was taken back is left out.
    #[must_use]
    pub fn to_sum(&self) -> Self {
        let mut decisions: Vec<Decision> = Vec::new();
        for decision in &self.decisions {
            match decisions.iter().position(|earlier| earlier.object == decision.object) {
                Some(at) => decisions[at] = then(decisions[at].clone(), decision.clone()),
                None => decisions.push(decision.clone()),
            }
        }
        decisions.retain(|decision| !matches!(decision.action, Action::Resized { from, to } if from == to));
        decisions.sort_by_cached_key(|decision| by_number(&decision.object));
        Self { joined: true, decisions, ..self.clone() }
    }
}

/// Whether `next` goes on where `last` ended, in the same direction.
fn continues(last: &Decision, next: &Decision) -> bool {
    match (last.action, next.action) {
        (Action::Resized { from, to: middle }, Action::Resized { from: start, to }) => {
            last.object == next.object && middle == start && (middle > from) == (to > middle)
        }
        _ => false,
    }
}

/// Two decisions about one object as one.
fn then(first: Decision, second: Decision) -> Decision {
    let action = match (first.action, second.action) {
        (Action::Created(_), Action::Resized { to, .. }) => Action::Created(to),
        (Action::Resized { from, .. }, Action::Resized { to, .. }) => Action::Resized { from, to },
        (Action::Created(replicas), Action::Annotated | Action::Changed) => Action::Created(replicas),
        (Action::Annotated | Action::Changed, later) if later != Action::Annotated => later,
        (earlier, Action::Annotated | Action::Changed) => earlier,
        (_, later) => later,
    };
    Decision { object: first.object, action, details: merge(first.details, second.details) }
}

/// The fields of both; where both name a key, the later value.
fn merge(mut first: Vec<Field>, second: Vec<Field>) -> Vec<Field> {
    for field in second {
        match first.iter_mut().find(|earlier| earlier.key == field.key) {
            Some(earlier) => *earlier = field,
            None => first.push(field),
        }
    }
    first
}

/// `web/rs10` after `web/rs9`; a Deployment after its ReplicaSets.
fn by_number(object: &str) -> (String, u32) {
    let (deployment, set) = object.rsplit_once('/').map_or((None, object), |(owner, set)| (Some(owner), set));
    match set.strip_prefix("rs").and_then(|number| number.parse().ok()) {
        Some(number) => (deployment.unwrap_or_default().to_owned(), number),
        None if deployment.is_none() => (object.to_owned(), u32::MAX),
        None => (deployment.unwrap_or_default().to_owned(), u32::MAX),
    }
}
