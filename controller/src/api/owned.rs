//! The pods of one owner, by name and by kind.
//!
//! A controller of thousands of pods is woken by each of them, and mostly asks only how many there are of which kind: ready
//! or not, with which labels, on their way out. So they are counted as they come and go.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::{Pod, Several};

/// The pods of one owner.
#[derive(Debug, Default)]
pub(super) struct OwnedPods {
    by_name: BTreeMap<String, Arc<Pod>>,
    kinds: BTreeMap<Kind, Several>,
}

/// What the number of a ReplicaSet's pods and its status hang on, as long as no pod has to be ready for a time.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    /// Where the labels are, which pods in the cache share.
    labels: usize,
    has_ended: bool,
    deleting: bool,
    ready: bool,
    /// Kind and name of the owner.
    owner: Option<(String, String)>,
}

impl Kind {
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
    /// By name.
    pub(super) fn pods(&self) -> impl Iterator<Item = &Arc<Pod>> {
        self.by_name.values()
    }

    /// By kind, in no order that means anything.
    pub(super) fn kinds(&self) -> impl Iterator<Item = &Several> {
        self.kinds.values()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    pub(super) fn put(&mut self, name: &str, pod: Arc<Pod>) {
        let kind = self.kinds.entry(Kind::of(&pod)).or_insert_with(|| Several { pod: pod.clone(), count: 0 });
        kind.count += 1;
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
        let kind = Kind::of(pod);
        if let Some(several) = self.kinds.get_mut(&kind) {
            several.count -= 1;
            if several.count == 0 {
                self.kinds.remove(&kind);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::PodTraits;

    fn pod(labels: &Arc<BTreeMap<String, String>>, ready: bool) -> Arc<Pod> {
        let traits = PodTraits { labels: labels.clone(), ready, ..PodTraits::default() };
        Arc::new(Pod { traits: Some(Box::new(traits)), ..Pod::default() })
    }

    #[test]
    fn pods_are_counted_by_kind_as_they_come_change_and_go() {
        let labels = Arc::new(BTreeMap::from([("app".to_owned(), "web".to_owned())]));
        let mut owned = OwnedPods::default();
        let counts = |owned: &OwnedPods| {
            let mut counts: Vec<_> = owned.kinds().map(|it| (it.pod.traits().ready, it.count)).collect();
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
