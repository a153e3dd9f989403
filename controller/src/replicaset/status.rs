//! The ReplicaSet's numbers.
//!
//! Upstream: `calculateStatus`, `updateReplicaSetStatus`. They are of the pods that were there
//! before any was made or deleted in this sync; the next one, which those wake, tells of them.
//!
//! Case: `replicaset/fully-labeled`.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::alike::Alike;
use super::{availability, conditions};
use crate::model::{Pod, PodCount, ReplicaSet, ReplicaSetStatus};

/// The status that these pods amount to. `terminating` is `None` where it is not reported.
pub(super) fn status(
    rs: &ReplicaSet,
    active: &[PodCount],
    terminating: Option<usize>,
    failure: Option<&str>,
    now: Timestamp,
) -> ReplicaSetStatus {
    let all = PodCount::total(active);
    let count = |is_so: &dyn Fn(&Pod) -> bool| number(PodCount::of(active, is_so));
    let seconds = rs.spec.min_ready_seconds;
    let alike = Alike::default();
    let labels = if active.is_empty() { None } else { rs.template().labels() };
    ReplicaSetStatus {
        replicas: number(all),
        fully_labeled_replicas: count(&|pod| alike.holds(pod, || is_fully_labeled(pod, labels.as_ref()))),
        ready_replicas: count(&|pod| pod.traits().ready),
        available_replicas: count(&|pod| availability::is_available(pod, seconds, now)),
        terminating_replicas: terminating.map(number),
        observed_generation: rs.meta.generation,
        conditions: conditions::with_failure(rs, all, failure, now),
    }
}

/// Whether a status says anything that the ReplicaSet's own does not.
pub(super) fn is_new(rs: &ReplicaSet, status: &ReplicaSetStatus) -> bool {
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
