//! What a program says of a pod that it gives a name: all by which upstream tells pods apart when
//! some of them must go.

use std::fmt::{Display, Formatter};

/// What the trait of being on another node is called.
pub(super) const NODE: &str = "node";

/// What the case says of a named pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Traits {
    /// The node, by its number; 0 is none.
    pub node: Option<u32>,
    /// The phase.
    pub phase: Option<&'static str>,
    /// `ready`.
    pub ready: Option<Ready>,
    /// `deletionCost`.
    pub cost: Option<i32>,
    /// `restarts` of its container.
    pub restarts: Option<u32>,
    /// `restarts` of its sidecar.
    pub sidecar_restarts: Option<u32>,
}

/// Whether a pod is ready, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ready {
    /// It is not.
    No,
    /// Since now.
    Now,
    /// For so many seconds.
    For(u32),
    /// Since a time that is yet to come.
    Later,
    /// It does not say since when.
    Unknown,
}

impl Traits {
    /// In which of them two pods differ. To be bound or not is another trait than the node, as is
    /// to be ready or not than the time since when.
    pub(super) fn apart(&self, other: &Self) -> Vec<&'static str> {
        let bound = |pod: &Self| pod.node.filter(|node| *node > 0);
        let is_ready = |pod: &Self| pod.ready != Some(Ready::No);
        let (same_bound, same_ready) =
            (bound(self).is_some() == bound(other).is_some(), is_ready(self) == is_ready(other));
        let all = [
            ("binding", !same_bound),
            (NODE, same_bound && bound(self) != bound(other)),
            ("phase", self.phase != other.phase),
            ("ready", !same_ready),
            ("deletionCost", self.cost != other.cost),
            ("readySince", same_ready && self.ready != other.ready),
            ("restarts", self.restarts != other.restarts),
            ("sidecarRestarts", self.sidecar_restarts != other.sidecar_restarts),
        ];
        all.into_iter().filter(|(_, differ)| *differ).map(|(name, _)| name).collect()
    }

    /// Its words in a case.
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

impl Display for Ready {
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
        let with = |restarts, sidecar_restarts| Traits { restarts, sidecar_restarts, ..Traits::default() }.text();
        assert_eq!(with(Some(2), None), "restarts: 2");
        assert_eq!(with(None, Some(1)), "restarts: {sidecars: 1}");
        assert_eq!(with(Some(2), Some(1)), "restarts: {containers: 2, sidecars: 1}");
        assert_eq!(with(None, None), "");
    }

    #[test]
    fn a_time_is_written_in_hours_where_they_are_whole() {
        assert_eq!(
            (Ready::For(7200).to_string(), Ready::For(72).to_string()),
            ("{since: -2h}".into(), "{since: -72s}".into())
        );
    }
}
