//! Upstream: consistency_test.go. A cache that is behind a write delays a sync.

use std::time::Duration;

use rstest::rstest;

use super::consistency::{ConsistencyStore, StaleCache, WaitLimit};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum WatchedResource {
    Pods,
    ReplicaSets,
}

type Writes = ConsistencyStore<&'static str, WatchedResource>;

const KEY: &str = "ns/rs";

fn check(
    writes: &mut Writes,
    replica_sets: &'static str,
    pods: &'static str,
) -> Result<(), StaleCache<WatchedResource>> {
    writes.check(&KEY, None, |resource| if resource == WatchedResource::Pods { pods } else { replica_sets })
}

/// Pods are written at versions 5, 12 and 9, the ReplicaSet at 7.
#[rstest]
#[case::both_there("7", "12", Ok(()))]
#[case::both_beyond("100", "100", Ok(()))]
#[case::replica_sets_behind("6", "12", Err((WatchedResource::ReplicaSets, 7, 6)))]
#[case::pods_behind("7", "9", Err((WatchedResource::Pods, 12, 9)))]
#[case::no_number_holds_up_nothing("", "abc", Ok(()))]
fn sync_waits_for_caches_behind_a_write(
    #[case] replica_sets: &'static str,
    #[case] pods: &'static str,
    #[case] expected: Result<(), (WatchedResource, u64, u64)>,
) {
    let mut writes = Writes::default();
    for (resource, version) in [
        (WatchedResource::Pods, "5"),
        (WatchedResource::Pods, "12"),
        (WatchedResource::Pods, "9"),
        (WatchedResource::ReplicaSets, "7"),
    ] {
        writes.record_write(&KEY, "uid", resource, version);
    }
    let expected = expected.map_err(|(resource, written_version, read_version)| StaleCache {
        resource,
        written_version,
        read_version,
    });
    assert_eq!(check(&mut writes, replica_sets, pods), expected);
    assert_eq!(check(&mut writes, "0", "0").is_ok(), expected.is_ok(), "what is caught up with is forgotten");
}

#[test]
fn sync_waits_at_most_the_given_time() {
    let longest = Duration::from_millis(300);
    let is_put_off = |writes: &mut Writes, after: u64| {
        let limit = WaitLimit { now: Duration::from_millis(after), longest };
        writes.check(&KEY, Some(limit), |_| "1").is_err()
    };
    let mut writes = Writes::default();
    assert!(!is_put_off(&mut writes, 0), "nothing was written");
    writes.record_write(&KEY, "uid", WatchedResource::ReplicaSets, "7");
    assert!(is_put_off(&mut writes, 1000) && is_put_off(&mut writes, 1299));
    assert!(!is_put_off(&mut writes, 1300) && !is_put_off(&mut writes, 1301), "what was waited for is forgotten");
    writes.record_write(&KEY, "uid", WatchedResource::ReplicaSets, "8");
    assert!(is_put_off(&mut writes, 1302), "a new write restarts the wait");
}

#[test]
fn writes_for_another_object_of_the_name_do_not_count() {
    let mut writes = Writes::default();
    assert_eq!(check(&mut writes, "0", "0"), Ok(()), "nothing was written");
    writes.record_write(&KEY, "old", WatchedResource::Pods, "9");
    writes.record_write(&KEY, "new", WatchedResource::ReplicaSets, "3");
    assert_eq!(check(&mut writes, "3", "0"), Ok(()));
    writes.record_write(&KEY, "new", WatchedResource::ReplicaSets, "3");
    writes.forget(&KEY, Some("old"));
    assert!(check(&mut writes, "0", "0").is_err());
    writes.forget(&KEY, Some("new"));
    assert_eq!(check(&mut writes, "0", "0"), Ok(()));
    writes.record_write(&KEY, "new", WatchedResource::ReplicaSets, "3");
    writes.forget(&KEY, None);
    assert_eq!(check(&mut writes, "0", "0"), Ok(()));
    writes.record_write(&KEY, "new", WatchedResource::ReplicaSets, "no number");
    assert_eq!(check(&mut writes, "0", "0"), Ok(()));
}
