//! controller_utils_test.go: TestControllerExpectations, TestUIDExpectations; replica_set_test.go: TestDeleteFinalStateUnknown and
//! TestRSSyncExpectations, as far as they are about expectations.

use std::time::Duration;

use crate::clock::instant;
use crate::replicaset::expectations::Expectations;
use crate::runtime::Key;

fn key(name: &str) -> Key {
    Key::new("ns", name)
}

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn creations_are_counted_and_may_be_surpassed() {
    let (mut all, rs, now) = (Expectations::default(), key("rs"), instant());
    assert!(all.are_met(&rs, now), "nothing was ever expected");
    all.creation_observed(&rs);
    all.expect_creations(&rs, 10, now);
    for _ in 0..9 {
        all.creation_observed(&rs);
        assert!(!all.are_met(&rs, now));
    }
    assert!(all.are_met(&key("other"), now), "each has its own");
    all.creation_observed(&rs);
    assert!(all.are_met(&rs, now));
    all.creation_observed(&rs);
    assert!(all.are_met(&rs, now));
    all.expect_creations(&rs, 1, now);
    assert!(!all.are_met(&rs, now), "what was surpassed is not carried over");
}

/// A pod shows twice, on its way out and gone, and counts once; one that nobody told to go does not count.
#[tokio::test(start_paused = true)]
async fn deletions_are_known_by_name() {
    let (mut all, rs, now) = (Expectations::default(), key("rs"), instant());
    all.expect_deletions(&rs, [key("a"), key("b")], now);
    for pod in ["a", "a", "c"] {
        all.deletion_observed(&rs, &key(pod));
        assert!(!all.are_met(&rs, now));
    }
    all.creation_observed(&rs);
    assert!(!all.are_met(&rs, now), "a creation makes up for no deletion");
    all.deletion_observed(&rs, &key("b"));
    assert!(all.are_met(&rs, now));
}

#[tokio::test(start_paused = true)]
async fn they_run_out_after_five_minutes() {
    let (mut all, rs, now) = (Expectations::default(), key("rs"), instant());
    all.expect_creations(&rs, 1, now);
    assert!(!all.are_met(&rs, now + 5 * MINUTE));
    assert!(all.are_met(&rs, now + 5 * MINUTE + Duration::from_nanos(1)));
    all.expect_deletions(&rs, [key("a")], now + MINUTE);
    assert!(!all.are_met(&rs, now + 6 * MINUTE), "counted from the last of them");
}

/// TestRecreateRSWithSameNameStartsClean.
#[tokio::test(start_paused = true)]
async fn one_made_anew_starts_clean() {
    let (mut all, rs, now) = (Expectations::default(), key("rs"), instant());
    all.expect_deletions(&rs, [key("a")], now);
    all.forget(&rs);
    assert!(all.are_met(&rs, now));
}
