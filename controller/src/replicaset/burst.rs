//! BurstReplicas: one sync creates or deletes at most 500 pods, and creates them in growing batches
//! (slow start).
//!
//! Upstream: `manageReplicas`, `slowStartBatch`. If all creations fail for one reason, such as a
//! quota, that costs one request instead of 500: the first batch has one pod, and each successful
//! batch is followed by one of twice its size.

use futures::StreamExt;

/// The most pods that one sync creates or deletes (upstream: `BurstReplicas`).
const BURST_REPLICAS: usize = 500;
/// Concurrent requests. How a batch is spread over connections does not affect the outcome, so this
/// is not upstream's value.
const MAX_CONCURRENT_REQUESTS: usize = 64;

/// The difference between the desired and the existing pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplicaDiff {
    Nothing,
    Create(usize),
    Delete(usize),
}

/// How many pods to create or delete, at most [`BURST_REPLICAS`].
pub(super) fn replica_diff(active: usize, replicas: i32) -> ReplicaDiff {
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
pub(super) fn batches(count: usize) -> impl Iterator<Item = usize> {
    let mut left = count;
    let mut size = 1;
    std::iter::from_fn(move || {
        let batch = size.min(left);
        left -= batch;
        size = batch * 2;
        (batch > 0).then_some(batch)
    })
}

/// Calls `one` up to `count` times in growing batches, and stops after a batch with a failure.
/// Returns the number of successes and the first failure.
pub(super) async fn slow_start<E, F: Future<Output = Result<(), E>>>(
    count: usize,
    mut one: impl FnMut() -> F,
) -> (usize, Option<E>) {
    let mut successes = 0;
    for batch in batches(count) {
        let results = all_at_once((0..batch).map(|_| one()).collect()).await;
        let mut failure = None;
        for result in results {
            match result {
                Ok(()) => successes += 1,
                Err(error) => {
                    failure.get_or_insert(error);
                }
            }
        }
        if failure.is_some() {
            return (successes, failure);
        }
    }
    (successes, None)
}

/// Runs all futures concurrently; the outputs are in the order of completion.
pub(super) async fn all_at_once<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    futures::stream::iter(futures).buffer_unordered(MAX_CONCURRENT_REQUESTS).collect().await
}
