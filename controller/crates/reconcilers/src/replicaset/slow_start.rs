//! Sends requests in growing batches (slow start), and stops when one fails.
//!
//! Upstream: `slowStartBatch`.

use futures::StreamExt;

use crate::decisions::rollouts::replicaset::burst::batches;

/// Concurrent requests. How a batch is spread over connections does not affect the outcome, so this
/// is not upstream's value.
const MAX_CONCURRENT_REQUESTS: usize = 64;

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
