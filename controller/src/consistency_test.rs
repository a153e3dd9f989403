//! Upstream: consistency_test.go. A cache that is behind a write delays a sync.

use std::time::Duration;

use controller_client::api::{Cache, NamespacedName, Resource};
use controller_client::clock;
use rstest::rstest;

use super::consistency::{ConsistencyStore, Stale};

fn key() -> NamespacedName {
    NamespacedName::new("ns", "rs")
}

fn check(writes: &mut ConsistencyStore, replica_sets: &str, pods: &str) -> Result<(), Stale> {
    writes.check(&key(), clock::instant(), None, |resource| {
        if resource == Resource::Pods { pods } else { replica_sets }.to_owned().leak()
    })
}

/// Pods are written at versions 5, 12 and 9, the ReplicaSet at 7.
#[rstest]
#[case::both_there("7", "12", Ok(()))]
#[case::both_beyond("100", "100", Ok(()))]
#[case::replica_sets_behind("6", "12", Err((Resource::ReplicaSets, 7, 6)))]
#[case::pods_behind("7", "9", Err((Resource::Pods, 12, 9)))]
#[case::no_number_holds_up_nothing("", "abc", Ok(()))]
fn sync_waits_for_caches_behind_a_write(
    #[case] replica_sets: &str,
    #[case] pods: &str,
    #[case] expected: Result<(), (Resource, u64, u64)>,
) {
    let mut writes = ConsistencyStore::default();
    for (resource, version) in
        [(Resource::Pods, "5"), (Resource::Pods, "12"), (Resource::Pods, "9"), (Resource::ReplicaSets, "7")]
    {
        writes.record_write(&key(), "uid", resource, version);
    }
    let expected =
        expected.map_err(|(resource, written_version, read_version)| Stale { resource, written_version, read_version });
    assert_eq!(check(&mut writes, replica_sets, pods), expected);
    assert_eq!(check(&mut writes, "0", "0").is_ok(), expected.is_ok(), "what is caught up with is forgotten");
}

#[test]
fn sync_waits_at_most_the_given_time() {
    let (began, max_wait) = (clock::instant(), Duration::from_millis(300));
    let is_put_off = |writes: &mut ConsistencyStore, after: u64| {
        writes.check(&key(), began + Duration::from_millis(after), Some(max_wait), |_| "1").is_err()
    };
    let mut writes = ConsistencyStore::default();
    assert!(!is_put_off(&mut writes, 0), "nothing was written");
    writes.record_write(&key(), "uid", Resource::ReplicaSets, "7");
    assert!(is_put_off(&mut writes, 1000) && is_put_off(&mut writes, 1299));
    assert!(!is_put_off(&mut writes, 1300) && !is_put_off(&mut writes, 1301), "what was waited for is forgotten");
    writes.record_write(&key(), "uid", Resource::ReplicaSets, "8");
    assert!(is_put_off(&mut writes, 1302), "a new write restarts the wait");
}

#[test]
fn writes_for_another_object_of_the_name_do_not_count() {
    let mut writes = ConsistencyStore::default();
    assert_eq!(check(&mut writes, "0", "0"), Ok(()), "nothing was written");
    writes.record_write(&key(), "old", Resource::Pods, "9");
    writes.record_write(&key(), "new", Resource::ReplicaSets, "3");
    assert_eq!(check(&mut writes, "3", "0"), Ok(()));
    writes.record_write(&key(), "new", Resource::ReplicaSets, "3");
    writes.forget(&key(), Some("old"));
    assert!(check(&mut writes, "0", "0").is_err());
    writes.forget(&key(), Some("new"));
    assert_eq!(check(&mut writes, "0", "0"), Ok(()));
    writes.record_write(&key(), "new", Resource::ReplicaSets, "3");
    writes.forget(&key(), None);
    assert_eq!(check(&mut writes, "0", "0"), Ok(()));
    writes.record_write(&key(), "new", Resource::ReplicaSets, "no number");
    assert_eq!(check(&mut writes, "0", "0"), Ok(()));
}

/// A late event does not set the version back: a Deployment that waits for its own write would wait
/// for ever.
#[test]
fn version_of_a_watch_never_goes_back() {
    let mut cache = Cache::default();
    let mut seen = |listed: bool, version: &str| {
        if listed {
            cache.set_version(Resource::Deployments, version);
        } else {
            cache.advance_version(Resource::Deployments, version);
        }
        cache.version(Resource::Deployments).to_owned()
    };
    assert_eq!(seen(true, "9"), "9");
    assert_eq!((seen(false, "10"), seen(false, "7")), ("10".to_owned(), "10".to_owned()));
    assert_eq!((seen(true, "5"), seen(false, "6")), ("5".to_owned(), "6".to_owned()));
}
