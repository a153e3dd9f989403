//! The pods of one owner, by name and as counts.
//!
//! A ReplicaSet is synced whenever one of its pods changes, and mostly needs only how many pods are
//! ready or being deleted, and their labels. With thousands of pods these are counted as pods
//! change, not at each sync.

use std::collections::BTreeMap;
use std::sync::Arc;

use rollout_model::{Pod, PodCount};

/// The pods of one owner.
#[derive(Debug, Default)]
pub(super) struct OwnedPods {
    by_name: BTreeMap<String, Arc<Pod>>,
    counts: BTreeMap<PodGroupKey, PodCount>,
}

/// All that the size and the status of a ReplicaSet without minReadySeconds depend on; pods with
/// equal keys are counted together.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PodGroupKey {
    /// Address of the labels: pods in the cache share equal ones.
    labels: usize,
    has_ended: bool,
    deleting: bool,
    ready: bool,
    /// Kind and name of the owner.
    owner: Option<(String, String)>,
}

impl PodGroupKey {
    fn of(pod: &Pod) -> Self {
        let traits = pod.traits();
        Self {
            labels: Arc::as_ptr(&traits.labels).addr(),
            has_ended: pod.has_ended(),
            deleting: traits.deleting,
            ready: traits.ready,
            owner: pod.controller.as_ref().map(|owner| (owner.kind.clone(), owner.name.clone())),
        }
    }
}

impl OwnedPods {
    /// The pods, by name.
    pub(super) fn pods(&self) -> impl Iterator<Item = &Arc<Pod>> {
        self.by_name.values()
    }

    /// The pods as counts, in no order.
    pub(super) fn counts(&self) -> impl Iterator<Item = &PodCount> {
        self.counts.values()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    pub(super) fn put(&mut self, name: &str, pod: Arc<Pod>) {
        let group = self.counts.entry(PodGroupKey::of(&pod)).or_insert_with(|| PodCount { pod: pod.clone(), count: 0 });
        group.count += 1;
        if let Some(before) = self.by_name.insert(name.to_owned(), pod) {
            self.uncount(&before);
        }
    }

    pub(super) fn remove(&mut self, name: &str) {
        if let Some(before) = self.by_name.remove(name) {
            self.uncount(&before);
        }
    }

    fn uncount(&mut self, pod: &Pod) {
        let key = PodGroupKey::of(pod);
        if let Some(counted) = self.counts.get_mut(&key) {
            counted.count -= 1;
            if counted.count == 0 {
                self.counts.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rollout_model::PodTraits;

    use super::*;

    fn pod(labels: &Arc<BTreeMap<String, String>>, ready: bool) -> Arc<Pod> {
        let traits = PodTraits { labels: labels.clone(), ready, ..PodTraits::default() };
        Arc::new(Pod { traits: Some(Box::new(traits)), ..Pod::default() })
    }

    #[test]
    fn counts_follow_added_changed_and_removed_pods() {
        let labels = Arc::new(BTreeMap::from([("app".to_owned(), "web".to_owned())]));
        let mut owned = OwnedPods::default();
        let counts = |owned: &OwnedPods| {
            let mut counts: Vec<_> = owned.counts().map(|it| (it.pod.traits().ready, it.count)).collect();
            counts.sort_unstable();
            counts
        };
        for name in ["a", "b", "c"] {
            owned.put(name, pod(&labels, false));
        }
        assert_eq!(counts(&owned), [(false, 3)]);
        owned.put("a", pod(&labels, true));
        assert_eq!(counts(&owned), [(false, 2), (true, 1)]);
        owned.put("a", pod(&labels, true));
        owned.remove("b");
        owned.remove("b");
        assert_eq!(counts(&owned), [(false, 1), (true, 1)]);
        owned.remove("c");
        owned.remove("a");
        assert!(counts(&owned).is_empty() && owned.is_empty());
    }
}
