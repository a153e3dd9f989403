//! controller_utils_test.go: TestControllerExpectations, TestUIDExpectations; replica_set_test.go:
//! TestDeleteFinalStateUnknown and TestRSSyncExpectations, as far as they are about expectations.

use std::time::Duration;

use crate::api::Key;
use crate::clock::instant;
use crate::replicaset::expectations::Expectations;

fn key(name: &str) -> Key {
    Key::new("ns", name)
}

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn creations_are_counted_and_may_be_surpassed() {
    let (mut all, rs, now) = (Expectations::default(), key("rs"), instant());
    assert_eq!(all.outstanding(&rs, now), None, "nothing was ever expected");
    all.creation_observed(&rs);
    all.expect_creations(&rs, "uid", 10, now);
    for _ in 0..9 {
        all.creation_observed(&rs);
        assert_eq!(all.outstanding(&rs, now), Some("uid"));
    }
    assert_eq!(all.outstanding(&key("other"), now), None, "each has its own");
    all.creation_observed(&rs);
    assert_eq!(all.outstanding(&rs, now), None);
    all.creation_observed(&rs);
    assert_eq!(all.outstanding(&rs, now), None);
    all.expect_creations(&rs, "uid", 1, now);
    assert_eq!(all.outstanding(&rs, now), Some("uid"), "what was surpassed is not carried over");
}

/// A pod shows twice, on its way out and gone, and counts once; one that nobody told to go does not
/// count.
#[tokio::test(start_paused = true)]
async fn deletions_are_known_by_name() {
    let (mut all, rs, now) = (Expectations::default(), key("rs"), instant());
    all.expect_deletions(&rs, "uid", [key("a"), key("b")], now);
    for pod in ["a", "a", "c"] {
        all.deletion_observed(&rs, &key(pod));
        assert_eq!(all.outstanding(&rs, now), Some("uid"));
    }
    all.creation_observed(&rs);
    assert_eq!(all.outstanding(&rs, now), Some("uid"), "a creation makes up for no deletion");
    all.deletion_observed(&rs, &key("b"));
    assert_eq!(all.outstanding(&rs, now), None);
}

#[tokio::test(start_paused = true)]
async fn they_run_out_after_five_minutes() {
    let (mut all, rs, now) = (Expectations::default(), key("rs"), instant());
    all.expect_creations(&rs, "uid", 1, now);
    assert_eq!(all.outstanding(&rs, now + 5 * MINUTE), Some("uid"));
    assert_eq!(all.outstanding(&rs, now + 5 * MINUTE + Duration::from_nanos(1)), None);
    all.expect_deletions(&rs, "uid", [key("a")], now + MINUTE);
    assert_eq!(all.outstanding(&rs, now + 6 * MINUTE), Some("uid"), "counted from the last of them");
}

/// TestRecreateRSWithSameNameStartsClean.
#[tokio::test(start_paused = true)]
async fn one_made_anew_starts_clean() {
    let (mut all, rs, now) = (Expectations::default(), key("rs"), instant());
    all.expect_deletions(&rs, "uid", [key("a")], now);
    all.forget(&rs, None);
    assert_eq!(all.outstanding(&rs, now), None);
}

/// Without the UID, an expectation of the old ReplicaSet that is set after its deletion was seen
/// would keep the new one from creating pods for five minutes.
#[tokio::test(start_paused = true)]
async fn an_expectation_does_not_bind_the_next_replica_set_of_that_name() {
    let (mut all, rs, now) = (Expectations::default(), key("rs"), instant());
    all.forget(&rs, Some("old"));
    all.expect_creations(&rs, "old", 3, now);
    assert_eq!(all.outstanding(&rs, now), Some("old"));
    all.expect_creations(&rs, "new", 3, now);
    assert_eq!(all.outstanding(&rs, now), Some("new"));
    all.forget(&rs, Some("old"));
    assert_eq!(all.outstanding(&rs, now), Some("new"), "a deletion that is seen late");
    for _ in 0..3 {
        all.creation_observed(&rs);
    }
    assert_eq!(all.outstanding(&rs, now), None);
}
