//! The traits of a named pod in a program: all those by which upstream chooses pods to delete.

use std::fmt::{Display, Formatter};

/// The name of the trait of being on another node.
pub(super) const NODE: &str = "node";

/// The traits of a named pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodProfile {
    /// The number of the node; 0: not bound.
    pub node: Option<u32>,
    /// The phase.
    pub phase: Option<&'static str>,
    /// `ready`.
    pub ready: Option<PodReadiness>,
    /// `deletionCost`.
    pub cost: Option<i32>,
    /// `restarts` of its container.
    pub restarts: Option<u32>,
    /// `restarts` of its sidecar.
    pub sidecar_restarts: Option<u32>,
}

/// Whether and since when a pod is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PodReadiness {
    /// Not ready.
    No,
    /// Ready now.
    Now,
    /// Ready for this many seconds.
    For(u32),
    /// Ready from a time in the future.
    Later,
    /// Ready, without a time.
    Unknown,
}

impl PodProfile {
    /// The traits in which two pods differ. Being bound is another trait than the node, and being
    /// ready another than the time since when.
    pub(super) fn differing_traits(&self, peer: &Self) -> Vec<&'static str> {
        let bound = |pod: &Self| pod.node.filter(|node| *node > 0);
        let is_ready = |pod: &Self| pod.ready != Some(PodReadiness::No);
        let (same_bound, same_ready) =
            (bound(self).is_some() == bound(peer).is_some(), is_ready(self) == is_ready(peer));
        let all = [
            ("binding", !same_bound),
            (NODE, same_bound && bound(self) != bound(peer)),
            ("phase", self.phase != peer.phase),
            ("ready", !same_ready),
            ("deletionCost", self.cost != peer.cost),
            ("readySince", same_ready && self.ready != peer.ready),
            ("restarts", self.restarts != peer.restarts),
            ("sidecarRestarts", self.sidecar_restarts != peer.sidecar_restarts),
        ];
        all.into_iter().filter(|(_, differ)| *differ).map(|(name, _)| name).collect()
    }

    /// The traits as a case writes them.
    pub(super) fn text(&self) -> String {
        let node = self.node.map(|node| match node {
            0 => "node: null".to_owned(),
            node => format!("node: n{node}"),
        });
        let phase = self.phase.map(|phase| format!("phase: {phase}"));
        let ready = self.ready.map(|ready| format!("ready: {ready}"));
        let cost = self.cost.map(|cost| format!("deletionCost: {cost}"));
        let restarts = match (self.restarts, self.sidecar_restarts) {
            (restarts, None) => restarts.map(|restarts| format!("restarts: {restarts}")),
            (None, Some(sidecars)) => Some(format!("restarts: {{sidecars: {sidecars}}}")),
            (Some(own), Some(sidecars)) => Some(format!("restarts: {{containers: {own}, sidecars: {sidecars}}}")),
        };
        [node, phase, ready, cost, restarts].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

impl Display for PodReadiness {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::No => write!(f, "false"),
            Self::Now => write!(f, "true"),
            Self::For(seconds) if seconds % 3600 == 0 => write!(f, "{{since: -{}h}}", seconds / 3600),
            Self::For(seconds) => write!(f, "{{since: -{seconds}s}}"),
            Self::Later => write!(f, "{{since: +1h}}"),
            Self::Unknown => write!(f, "{{since: unknown}}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restarts_are_those_of_the_container_unless_it_has_a_sidecar() {
        let with =
            |restarts, sidecar_restarts| PodProfile { restarts, sidecar_restarts, ..PodProfile::default() }.text();
        assert_eq!(with(Some(2), None), "restarts: 2");
        assert_eq!(with(None, Some(1)), "restarts: {sidecars: 1}");
        assert_eq!(with(Some(2), Some(1)), "restarts: {containers: 2, sidecars: 1}");
        assert_eq!(with(None, None), "");
    }

    #[test]
    fn writes_whole_hours_as_hours() {
        assert_eq!(
            (PodReadiness::For(7200).to_string(), PodReadiness::For(72).to_string()),
            ("{since: -2h}".into(), "{since: -72s}".into())
        );
    }
}
