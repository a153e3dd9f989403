//! The labels of all pods that are cached, each set once.
//!
//! The pods of a ReplicaSet are made alike, so a rule that asks the same of each pod's labels finds
//! the answer of the pod before by comparing two pointers. A pod is counted when it enters the
//! cache and when it leaves; a set that no pod has any more is dropped.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::Pod;

/// Sets of labels, and how many pods have each.
#[derive(Debug, Default)]
pub(super) struct LabelSets(BTreeMap<Arc<BTreeMap<String, String>>, usize>);

impl LabelSets {
    /// One more has its labels; from now on it shares those of the others.
    pub(super) fn join(&mut self, mut pod: Arc<Pod>) -> Arc<Pod> {
        if pod.traits.is_none() {
            return pod;
        }
        if let Some((known, _)) = self.0.get_key_value(&pod.traits().labels)
            && let Some(traits) = &mut Arc::make_mut(&mut pod).traits
        {
            traits.labels = known.clone();
        }
        *self.0.entry(pod.traits().labels.clone()).or_default() += 1;
        pod
    }

    /// One has them no more.
    pub(super) fn leave(&mut self, pod: &Pod) {
        let labels = &pod.traits().labels;
        if pod.traits.is_some()
            && let Some(count) = self.0.get_mut(labels)
        {
            *count -= 1;
            if *count == 0 {
                self.0.remove(labels);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::PodTraits;

    fn pod(app: &str) -> Arc<Pod> {
        let labels = Arc::new([("app".to_owned(), app.to_owned())].into());
        Arc::new(Pod { traits: Some(Box::new(PodTraits { labels, ..PodTraits::default() })), ..Pod::default() })
    }

    #[test]
    fn equal_labels_are_shared_while_a_pod_has_them() {
        let mut sets = LabelSets::default();
        let [one, other, third] = ["web", "web", "db"].map(|app| sets.join(pod(app)));
        assert!(Arc::ptr_eq(&one.traits().labels, &other.traits().labels));
        assert_eq!(sets.0.values().copied().collect::<Vec<_>>(), [1, 2]);
        [&one, &third, &other].into_iter().for_each(|pod| sets.leave(pod));
        assert!(sets.0.is_empty());
        assert!(sets.join(Arc::new(Pod::default())).traits.is_none(), "a pod without traits has none to share");
    }
}
