//! Which cases can be played with real pods: those that ask nothing of a pod that only a pod
//! without a kubelet does.

use super::model::{Bindings, Case, PodKind, Step, Terminations};

impl Case {
    /// Why it cannot be played with real pods, if it cannot: the line, and what stands there.
    pub fn only_held(&self) -> Option<(usize, String)> {
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
        self.given.iter().chain(&self.steps).find_map(of_step)
    }

    /// Whether it asks for real pods where there are any.
    pub fn wants_real(&self) -> bool {
        self.pods == PodKind::Real
    }
}

fn of_step(step: &Step) -> Option<(usize, String)> {
    let inner = step.during.iter().flat_map(|during| &during.steps).chain(step.operation.inner()).find_map(of_step);
    inner.or_else(|| {
        let (what, why) = step.operation.only_held()?;
        Some((step.line, format!("`{what}` is for held pods: {why}")))
    })
}
