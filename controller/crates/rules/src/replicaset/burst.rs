//! BurstReplicas: one sync creates or deletes at most 500 pods, and creates them in growing batches
//! (slow start).
//!
//! Upstream: `manageReplicas`, `slowStartBatch`. If all creations fail for one reason, such as a
//! quota, that costs one request instead of 500: the first batch has one pod, and each successful
//! batch is followed by one of twice its size.

/// The most pods that one sync creates or deletes (upstream: `BurstReplicas`).
const BURST_REPLICAS: usize = 500;

/// The difference between the desired and the existing pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplicaDiff {
    /// As many as wanted.
    Nothing,
    /// So many are to be created.
    Create(usize),
    /// So many are to be deleted.
    Delete(usize),
}

/// How many pods to create or delete, at most `BURST_REPLICAS`.
pub fn replica_diff(active: usize, replicas: i32) -> ReplicaDiff {
    let wanted = usize::try_from(replicas).unwrap_or(0);
    if active < wanted {
        ReplicaDiff::Create((wanted - active).min(BURST_REPLICAS))
    } else if active > wanted {
        ReplicaDiff::Delete((active - wanted).min(BURST_REPLICAS))
    } else {
        ReplicaDiff::Nothing
    }
}

/// The sizes of batches that add up to `count`: 1, 2, 4, and so on.
pub fn batches(count: usize) -> impl Iterator<Item = usize> {
    let mut left = count;
    let mut size = 1;
    std::iter::from_fn(move || {
        let batch = size.min(left);
        left -= batch;
        size = batch * 2;
        (batch > 0).then_some(batch)
    })
}
