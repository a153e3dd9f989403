//! Shares equal label sets among cached pods.
//!
//! The pods of a ReplicaSet have equal labels, so a rule that evaluates a selector for each pod can
//! compare two pointers to reuse the previous result. Sets are counted by pod; a set that no cached
//! pod has is dropped.

use std::collections::BTreeMap;
use std::sync::Arc;

use rollout_model::Pod;

/// Label sets, and how many pods have each.
#[derive(Debug, Default)]
pub(super) struct LabelSets(BTreeMap<Arc<BTreeMap<String, String>>, usize>);

impl LabelSets {
    /// Counts the pod's labels, and replaces them by the shared set if there is one.
    pub(super) fn intern(&mut self, mut pod: Arc<Pod>) -> Arc<Pod> {
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

    /// Uncounts the labels of a pod that the cache has removed.
    pub(super) fn release(&mut self, pod: &Pod) {
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
    use rollout_model::PodTraits;

    use super::*;

    fn pod(app: &str) -> Arc<Pod> {
        let labels = Arc::new([("app".to_owned(), app.to_owned())].into());
        Arc::new(Pod { traits: Some(Box::new(PodTraits { labels, ..PodTraits::default() })), ..Pod::default() })
    }

    #[test]
    fn equal_labels_are_shared_while_a_pod_has_them() {
        let mut sets = LabelSets::default();
        let [one, other, third] = ["web", "web", "db"].map(|app| sets.intern(pod(app)));
        assert!(Arc::ptr_eq(&one.traits().labels, &other.traits().labels));
        assert_eq!(sets.0.values().copied().collect::<Vec<_>>(), [1, 2]);
        [&one, &third, &other].into_iter().for_each(|pod| sets.release(pod));
        assert!(sets.0.is_empty());
        assert!(sets.intern(Arc::new(Pod::default())).traits.is_none(), "a pod without traits has none to share");
    }
}
