//! replica_set_test.go: TestSlowStartBatch; and how many pods one sync changes.

use std::cell::Cell;

use rstest::rstest;

use crate::decisions::rollouts::replicaset::burst::{ReplicaDiff, batches, replica_diff};
use crate::replicaset::slow_start::slow_start;

/// `limit` is the number of calls that succeed.
#[rstest]
#[case::all_fail(10, 0, (0, Some("fake error")), 1)]
#[case::all_succeed(10, 10, (10, None), 10)]
#[case::some_succeed(10, 5, (5, Some("fake error")), 7)]
#[case::none_wanted(0, 5, (0, None), 0)]
#[tokio::test]
async fn slow_start_batch(
    #[case] count: usize,
    #[case] limit: usize,
    #[case] expected: (usize, Option<&str>),
    #[case] calls: usize,
) {
    let called = Cell::new(0);
    let one = || async {
        called.set(called.get() + 1);
        if called.get() > limit { Err("fake error") } else { Ok(()) }
    };
    assert_eq!(slow_start(count, one).await, expected);
    assert_eq!(called.get(), calls);
}

#[rstest]
#[case(0, &[])]
#[case(1, &[1])]
#[case(10, &[1, 2, 4, 3])]
#[case(500, &[1, 2, 4, 8, 16, 32, 64, 128, 245])]
fn batches_double(#[case] count: usize, #[case] expected: &[usize]) {
    assert_eq!(batches(count).collect::<Vec<_>>(), expected);
}

#[rstest]
#[case(3, 3, ReplicaDiff::Nothing)]
#[case(0, 3, ReplicaDiff::Create(3))]
#[case(3, 0, ReplicaDiff::Delete(3))]
#[case(0, 501, ReplicaDiff::Create(500))]
#[case(5000, 2500, ReplicaDiff::Delete(500))]
#[case(0, i32::MAX, ReplicaDiff::Create(500))]
#[case::below_zero(2, -1, ReplicaDiff::Delete(2))]
fn a_sync_changes_at_most_500_pods(#[case] active: usize, #[case] replicas: i32, #[case] expected: ReplicaDiff) {
    assert_eq!(replica_diff(active, replicas), expected);
}
