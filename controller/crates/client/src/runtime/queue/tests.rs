//! The work queue in virtual time: order, failures, delays and metrics.

use std::sync::Arc;

use futures::FutureExt;

use super::*;
use crate::metrics::Metrics;

fn queue() -> Queue {
    Queue::new(Metrics::default().queue("test"), RetryPolicy::DEPLOYMENT, 5)
}

fn key(name: &str) -> NamespacedName {
    NamespacedName::new("ns", name)
}

#[tokio::test(start_paused = true)]
async fn key_is_queued_once_and_never_with_two_workers() {
    let queue = queue();
    queue.add(key("a"));
    queue.add(key("a"));
    assert_eq!(queue.next().await, Some(key("a")));
    queue.add(key("a"));
    assert_eq!(queue.next().now_or_never(), None);
    queue.done(&key("a"));
    assert_eq!(queue.next().await, Some(key("a")));
    queue.done(&key("a"));
    assert_eq!(queue.next().now_or_never(), None);
}

#[tokio::test(start_paused = true)]
async fn back_off_doubles_and_key_is_set_aside_after_fifteen_retries() {
    assert_eq!(wait_after(0), Duration::from_millis(5));
    assert_eq!(wait_after(14), Duration::from_millis(5 << 14));
    assert_eq!(wait_after(40), MAX_WAIT);
    let queue = queue();
    for _ in 0..15 {
        assert!(queue.retry(key("a")));
    }
    assert!(!queue.retry(key("a")));
    assert!(queue.retry(key("a")), "a key that was queued meanwhile starts again");
    assert!(queue.lock().set_aside.is_empty(), "it is tried sooner than that");
}

/// A queue whose timer runs.
fn timed_queue() -> (Arc<Queue>, tokio::task::JoinHandle<()>) {
    let queue = Arc::new(queue());
    let timer = tokio::spawn({
        let queue = queue.clone();
        async move { queue.run_timer().await }
    });
    (queue, timer)
}

/// Fails a key at every attempt; returns the seconds of the attempts within `lasts`.
async fn attempts(queue: &Queue, lasts: Duration) -> Vec<u64> {
    let (start, mut seconds) = (clock::instant(), Vec::new());
    while let Some(Some(key)) = clock::within(lasts.saturating_sub(clock::instant() - start), queue.next()).await {
        seconds.push((clock::instant() - start).as_secs());
        queue.retry(key.clone());
        queue.done(&key);
    }
    seconds
}

#[tokio::test(start_paused = true)]
async fn key_set_aside_is_tried_once_per_longest_wait_until_it_succeeds() {
    let (queue, timer) = timed_queue();
    queue.add(key("a"));
    let seconds = attempts(&queue, Duration::from_secs(3500)).await;
    assert_eq!(seconds.len(), 19, "the first, fifteen retries, and three times one: {seconds:?}");
    assert_eq!(seconds[15..], [163, 1163, 2163, 3163]);
    assert_eq!(queue.metrics.retries.get(), 19, "being set aside is being put off");

    queue.add(key("a"));
    let seconds = attempts(&queue, Duration::from_secs(600)).await;
    assert_eq!(seconds.len(), 16, "a change resets its retries: {seconds:?}");

    queue.add(key("a"));
    let again = queue.next().await.unwrap();
    queue.forget(&again);
    queue.done(&again);
    assert_eq!(attempts(&queue, Duration::from_secs(5000)).await, [0_u64; 0], "it worked, so it is not tried again");
    timer.abort();
}

/// DefaultTypedControllerRateLimiter: no key is dropped, and from the 101st retry on there are ten
/// a second.
#[tokio::test(start_paused = true)]
async fn replica_set_is_never_dropped_and_retries_share_a_rate_limit() {
    let queue = Queue::new(Metrics::default().queue("test"), RetryPolicy::REPLICA_SET, 5);
    for _ in 0..99 {
        assert!(queue.retry(key("a")));
    }
    let due = |name: &str| queue.lock().delayed[&key(name)] - clock::instant();
    assert!(queue.retry(key("b")) && queue.retry(key("c")) && queue.retry(key("d")));
    assert_eq!((due("b"), due("c"), due("d")), (FIRST_WAIT, Duration::from_millis(100), Duration::from_millis(200)));
    assert!(queue.retry(NamespacedName::new("other", "a")));
    let of_other = queue.lock().delayed[&NamespacedName::new("other", "a")] - clock::instant();
    assert_eq!(of_other, FIRST_WAIT, "retries of one namespace do not use up those of another");
}

#[tokio::test(start_paused = true)]
async fn delayed_keys_are_queued_when_due() {
    let (queue, timer) = timed_queue();
    let start = clock::instant();
    queue.add_after(key("late"), Duration::from_secs(5));
    queue.add_after(key("soon"), Duration::from_secs(2));
    queue.add_after(key("late"), Duration::from_secs(9));
    assert_eq!(queue.next().await, Some(key("soon")));
    assert_eq!(clock::instant() - start, Duration::from_secs(2));
    assert_eq!(queue.next().await, Some(key("late")));
    assert_eq!(clock::instant() - start, Duration::from_secs(5));
    timer.abort();
}

#[tokio::test(start_paused = true)]
async fn closing_stops_every_worker() {
    let queue = queue();
    queue.add(key("a"));
    queue.close();
    assert_eq!(futures::join!(queue.next(), queue.next(), queue.next()), (None, None, None));
}

/// As client-go counts: a key that is queued already is not added again, one that a worker has is;
/// every delayed key counts as a retry.
#[tokio::test(start_paused = true)]
async fn metrics_count_as_client_go_does() {
    let queue = queue();
    for name in ["a", "a", "b"] {
        queue.add(key(name));
    }
    clock::sleep(Duration::from_secs(2)).await;
    let first = queue.next().await.unwrap();
    queue.add(first.clone());
    queue.add_after(key("c"), Duration::from_secs(60));
    clock::sleep(Duration::from_secs(3)).await;
    let second = queue.next().await.unwrap();
    clock::sleep(Duration::from_secs(1)).await;
    assert_eq!((queue.metrics.adds.get(), queue.metrics.retries.get()), (3, 1));
    let load = QueueLoad { depth: 1, unfinished: Duration::from_secs(5), longest: Duration::from_secs(4) };
    assert_eq!(queue.load(), load);
    queue.done(&first);
    queue.done(&second);
    assert_eq!(queue.load(), QueueLoad { depth: 1, unfinished: Duration::ZERO, longest: Duration::ZERO });
}
