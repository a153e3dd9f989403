//! How many pods are made or deleted at once: never more than five hundred in one sync, and new
//! ones in growing batches.
//!
//! Upstream: `manageReplicas`, `slowStartBatch`. Many pods that all fail for one reason, a quota
//! say, cost one request, not five hundred: the first batch is of one, and each that succeeds is
//! followed by one of twice its size.

use futures::StreamExt;

/// Pods that are made or deleted in one sync, at most (upstream: `BurstReplicas`).
const BURST: usize = 500;
/// Requests under way at the same time; how a batch is spread over connections is no rule, so this
/// is not upstream's.
const UNDER_WAY: usize = 64;

/// What the number of pods asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    Nothing,
    Create(usize),
    Delete(usize),
}

/// So many more, or fewer.
pub(super) fn need(active: usize, replicas: i32) -> Need {
    let wanted = usize::try_from(replicas).unwrap_or(0);
    if active < wanted {
        Need::Create((wanted - active).min(BURST))
    } else if active > wanted {
        Need::Delete((active - wanted).min(BURST))
    } else {
        Need::Nothing
    }
}

/// Sizes of the batches that make up `count`: 1, 2, 4, and so on.
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

/// Does something `count` times, in growing batches, until one batch has a failure in it; returns
/// how often it went well, and the first failure.
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

/// Waits for all, in the order in which they end.
pub(super) async fn all_at_once<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    futures::stream::iter(futures).buffer_unordered(UNDER_WAY).collect().await
}
