//! Pods of one kind, counted.

use std::sync::Arc;

use super::Pod;

/// Pods that are alike in all that a rule asks, and one of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Several {
    /// One of them.
    pub pod: Arc<Pod>,
    /// How many there are.
    pub count: usize,
}

impl Several {
    /// How many pods these are in all.
    pub fn total(all: &[Self]) -> usize {
        all.iter().map(|several| several.count).sum()
    }
}

impl From<Arc<Pod>> for Several {
    fn from(pod: Arc<Pod>) -> Self {
        Self { pod, count: 1 }
    }
}
