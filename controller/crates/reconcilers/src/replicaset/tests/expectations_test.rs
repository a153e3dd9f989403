//! controller_utils_test.go: TestControllerExpectations, TestUIDExpectations; replica_set_test.go:
//! the parts of TestDeleteFinalStateUnknown and TestRSSyncExpectations about expectations.

use std::time::Duration;

use controller_client::api::NamespacedName;
use controller_client::clock::instant;

use crate::replicaset::expectations::Expectations;

fn key(name: &str) -> NamespacedName {
    NamespacedName::new("ns", name)
}

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn creations_are_counted_and_may_be_exceeded() {
    let (mut all, rs, now) = (Expectations::default(), key("rs"), instant());
    assert_eq!(all.pending_uid(&rs, now), None, "nothing was ever expected");
    all.creation_observed(&rs);
    all.expect_creations(&rs, "uid", 10, now);
    for _ in 0..9 {
        all.creation_observed(&rs);
        assert_eq!(all.pending_uid(&rs, now), Some("uid"));
    }
    assert_eq!(all.pending_uid(&key("other"), now), None, "each has its own");
    all.creation_observed(&rs);
    assert_eq!(all.pending_uid(&rs, now), None);
    all.creation_observed(&rs);
    assert_eq!(all.pending_uid(&rs, now), None);
    all.expect_creations(&rs, "uid", 1, now);
    assert_eq!(all.pending_uid(&rs, now), Some("uid"), "what was surpassed is not carried over");
}

/// A pod is observed twice, when it terminates and when it is deleted, and counts once. A pod whose
/// deletion was not requested does not count.
#[tokio::test(start_paused = true)]
async fn deletions_are_tracked_by_name() {
    let (mut all, rs, now) = (Expectations::default(), key("rs"), instant());
    all.expect_deletions(&rs, "uid", [key("a"), key("b")], now);
    for pod in ["a", "a", "c"] {
        all.deletion_observed(&rs, &key(pod));
        assert_eq!(all.pending_uid(&rs, now), Some("uid"));
    }
    all.creation_observed(&rs);
    assert_eq!(all.pending_uid(&rs, now), Some("uid"), "a creation makes up for no deletion");
    all.deletion_observed(&rs, &key("b"));
    assert_eq!(all.pending_uid(&rs, now), None);
}

#[tokio::test(start_paused = true)]
async fn expectations_expire_after_five_minutes() {
    let (mut all, rs, now) = (Expectations::default(), key("rs"), instant());
    all.expect_creations(&rs, "uid", 1, now);
    assert_eq!(all.pending_uid(&rs, now + 5 * MINUTE), Some("uid"));
    assert_eq!(all.pending_uid(&rs, now + 5 * MINUTE + Duration::from_nanos(1)), None);
    all.expect_deletions(&rs, "uid", [key("a")], now + MINUTE);
    assert_eq!(all.pending_uid(&rs, now + 6 * MINUTE), Some("uid"), "counted from the last of them");
}

/// TestRecreateRSWithSameNameStartsClean.
#[tokio::test(start_paused = true)]
async fn a_recreated_replica_set_starts_without_expectations() {
    let (mut all, rs, now) = (Expectations::default(), key("rs"), instant());
    all.expect_deletions(&rs, "uid", [key("a")], now);
    all.forget(&rs, None);
    assert_eq!(all.pending_uid(&rs, now), None);
}

/// Without the UID, an expectation of the old ReplicaSet that is set after its deletion was
/// observed would keep the new one from creating pods for five minutes.
#[tokio::test(start_paused = true)]
async fn expectations_do_not_apply_to_a_recreated_replica_set() {
    let (mut all, rs, now) = (Expectations::default(), key("rs"), instant());
    all.forget(&rs, Some("old"));
    all.expect_creations(&rs, "old", 3, now);
    assert_eq!(all.pending_uid(&rs, now), Some("old"));
    all.expect_creations(&rs, "new", 3, now);
    assert_eq!(all.pending_uid(&rs, now), Some("new"));
    all.forget(&rs, Some("old"));
    assert_eq!(all.pending_uid(&rs, now), Some("new"), "a deletion that is seen late");
    for _ in 0..3 {
        all.creation_observed(&rs);
    }
    assert_eq!(all.pending_uid(&rs, now), None);
}
