//! Groups of pods that the rules do not distinguish.

use std::sync::Arc;

use super::Pod;

/// A representative pod and how many are identical to it in every field that the rules read.
#[derive(Debug, Clone, PartialEq)]
pub struct PodCount {
    /// The representative.
    pub pod: Arc<Pod>,
    /// The number of such pods.
    pub count: usize,
}

impl PodCount {
    /// The total number of pods.
    pub fn total(all: &[Self]) -> usize {
        Self::count_where(all, |_| true)
    }

    /// The number of pods that match.
    pub fn count_where(all: &[Self], predicate: impl Fn(&Pod) -> bool) -> usize {
        all.iter().filter(|counted| predicate(&counted.pod)).map(|counted| counted.count).sum()
    }
}

impl From<Arc<Pod>> for PodCount {
    fn from(pod: Arc<Pod>) -> Self {
        Self { pod, count: 1 }
    }
}
