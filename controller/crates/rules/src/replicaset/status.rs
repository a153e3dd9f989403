//! `status`: the ReplicaSet's counts.
//!
//! Upstream: `calculateStatus`, `updateReplicaSetStatus`. The counts describe the pods before this
//! sync created or deleted any. The watch events of those pods start the next sync, which counts
//! them.
//!
//! Case: `replicaset/fully-labeled`.

use jiff::Timestamp;
use rollout_model::{Pod, PodCount, ReplicaSet, ReplicaSetStatus};
use serde_json::{Map, Value};

use super::label_match_cache::LabelMatchCache;
use super::{availability, conditions};

/// The status that follows from these pods. `terminating` is `None` if it is not reported.
pub(super) fn calculate_status(
    rs: &ReplicaSet,
    active: &[PodCount],
    terminating: Option<usize>,
    failure: Option<&str>,
    now: Timestamp,
) -> ReplicaSetStatus {
    let all = PodCount::total(active);
    let count = |is_so: &dyn Fn(&Pod) -> bool| number(PodCount::count_where(active, is_so));
    let seconds = rs.spec.min_ready_seconds;
    let label_matches = LabelMatchCache::default();
    let labels = if active.is_empty() { None } else { rs.template().labels() };
    ReplicaSetStatus {
        replicas: number(all),
        fully_labeled_replicas: count(&|pod| {
            label_matches.get_or_insert_with(pod, || is_fully_labeled(pod, labels.as_ref()))
        }),
        ready_replicas: count(&|pod| pod.traits().ready),
        available_replicas: count(&|pod| availability::is_available(pod, seconds, now)),
        terminating_replicas: terminating.map(number),
        observed_generation: rs.meta.generation,
        conditions: conditions::conditions_after_sync(rs, all, failure, now),
    }
}

/// Whether a status differs from the ReplicaSet's current status.
pub(super) fn is_changed(rs: &ReplicaSet, status: &ReplicaSetStatus) -> bool {
    rs.status != *status
}

/// Whether a pod has all labels of the template.
fn is_fully_labeled(pod: &Pod, labels: Option<&Map<String, Value>>) -> bool {
    let has = |(key, value): (&String, &Value)| pod.traits().labels.get(key).map(String::as_str) == value.as_str();
    labels.is_none_or(|labels| labels.iter().all(has))
}

fn number(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}
