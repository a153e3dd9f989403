//! The kinds of edges as playing sees them: whose they are, and which of them move pods.

use crate::case::model::{Count, Edge, Pods};
use crate::driver::PodEdge;

/// The edge as one pod's, of pods by name the one of this number; an edge that moves no pods as it is.
pub(super) fn one(edge: &Edge, part: u32) -> Edge {
    let one = |pods: &Pods| {
        let at = usize::try_from(part).unwrap_or(usize::MAX).saturating_sub(1);
        let names = pods.names.get(at).cloned().into_iter().collect();
        Pods { count: Count::Exactly(1), names, ..pods.clone() }
    };
    match edge {
        Edge::Ready(pods) => Edge::Ready(one(pods)),
        Edge::Unready(pods) => Edge::Unready(one(pods)),
        Edge::Fail(pods) => Edge::Fail(one(pods)),
        Edge::Succeed(pods) => Edge::Succeed(one(pods)),
        Edge::Terminate(pods) => Edge::Terminate(one(pods)),
        other => other.clone(),
    }
}

/// How the edge moves pods, and which; nothing if it moves none.
pub(super) fn pod_edge(edge: &Edge) -> Option<(PodEdge, &Pods)> {
    match edge {
        Edge::Ready(pods) => Some((PodEdge::Ready, pods)),
        Edge::Unready(pods) => Some((PodEdge::Unready, pods)),
        Edge::Fail(pods) => Some((PodEdge::Fail, pods)),
        Edge::Succeed(pods) => Some((PodEdge::Succeed, pods)),
        Edge::Terminate(pods) => Some((PodEdge::Terminate, pods)),
        _ => None,
    }
}

/// Whether a user's operation is part of the edge.
pub(super) fn is_user(edge: &Edge) -> bool {
    match edge {
        Edge::Advance(_) | Edge::AdvanceTo { .. } | Edge::Name(_) | Edge::Subject(_) => false,
        Edge::Together(steps) => steps.iter().any(|step| is_user(&step.edge)),
        other => pod_edge(other).is_none(),
    }
}
