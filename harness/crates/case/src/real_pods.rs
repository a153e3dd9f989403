//! Determines which cases can run with real pods: those that need nothing that only a pod without a
//! kubelet does.

use super::model::{Bindings, Case, PodKind, Step, Terminations};

impl Case {
    /// Why the case cannot run with real pods, if it cannot: the line, and the reason.
    pub fn held_pods_reason(&self) -> Option<(usize, String)> {
        let line = |field: &str| 1 + self.source.lines().position(|line| line.starts_with(field)).unwrap_or(0);
        let only = |field: &str, why: &str| Some((line(field), format!("`{field}` is for held pods: {why}")));
        if self.terminations == Terminations::Held {
            return only("terminations", "a kubelet finishes deletions by itself");
        }
        if self.bindings == Bindings::Held {
            return only("bindings", "real ones run on the cluster's own node");
        }
        if !self.nodes.is_empty() {
            return only("nodes", "real ones run on the cluster's own node");
        }
        self.given.iter().chain(&self.steps).find_map(step_reason)
    }

    /// Whether it asks for real pods if the cluster has them.
    pub fn wants_real_pods(&self) -> bool {
        self.pods == PodKind::Real
    }
}

fn step_reason(step: &Step) -> Option<(usize, String)> {
    let inner =
        step.during.iter().flat_map(|during| &during.steps).chain(step.operation.nested_steps()).find_map(step_reason);
    inner.or_else(|| {
        let (what, why) = step.operation.requires_held_pods()?;
        Some((step.line, format!("`{what}` is for held pods: {why}")))
    })
}
