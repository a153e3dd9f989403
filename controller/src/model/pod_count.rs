//! Pods that are alike, counted.

use std::sync::Arc;

use super::Pod;

/// Pods that are alike in all that is asked of them: one of them, and how many there are.
#[derive(Debug, Clone, PartialEq)]
pub struct PodCount {
    /// One of them.
    pub pod: Arc<Pod>,
    /// How many there are.
    pub count: usize,
}

impl PodCount {
    /// How many pods these are in all.
    pub fn total(all: &[Self]) -> usize {
        Self::of(all, |_| true)
    }

    /// How many of these pods are so.
    pub fn of(all: &[Self], is_so: impl Fn(&Pod) -> bool) -> usize {
        all.iter().filter(|counted| is_so(&counted.pod)).map(|counted| counted.count).sum()
    }
}

impl From<Arc<Pod>> for PodCount {
    fn from(pod: Arc<Pod>) -> Self {
        Self { pod, count: 1 }
    }
}
