//! replica_set_test.go: TestSlowStartBatch; and how many pods a sync is about.

use std::cell::Cell;

use rstest::rstest;

use crate::replicaset::burst::{Need, batches, need, slow_start};

/// `limit`: calls that go well.
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
fn sizes(#[case] count: usize, #[case] expected: &[usize]) {
    assert_eq!(batches(count).collect::<Vec<_>>(), expected);
}

#[rstest]
#[case(3, 3, Need::Nothing)]
#[case(0, 3, Need::Create(3))]
#[case(3, 0, Need::Delete(3))]
#[case(0, 501, Need::Create(500))]
#[case(5000, 2500, Need::Delete(500))]
#[case(0, i32::MAX, Need::Create(500))]
#[case::below_zero(2, -1, Need::Delete(2))]
fn bursts(#[case] active: usize, #[case] replicas: i32, #[case] expected: Need) {
    assert_eq!(need(active, replicas), expected);
}
