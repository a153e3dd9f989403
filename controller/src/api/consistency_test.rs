//! consistency_test.go: a cache that is behind what was written holds a look up, and one that is
//! not is asked no more.

use std::time::Duration;

use rstest::rstest;

use super::consistency::{Stale, Writes};
use super::{Cache, Key, Resource};
use crate::clock;

fn key() -> Key {
    Key::new("ns", "rs")
}

fn check(writes: &mut Writes, replica_sets: &str, pods: &str) -> Result<(), Stale> {
    writes.check(&key(), clock::instant(), None, |resource| {
        if resource == Resource::Pods { pods } else { replica_sets }.to_owned().leak()
    })
}

/// Pods were written at versions 5, 12 and 9, the ReplicaSet at 7.
#[rstest]
#[case::both_there("7", "12", Ok(()))]
#[case::both_beyond("100", "100", Ok(()))]
#[case::replica_sets_behind("6", "12", Err((Resource::ReplicaSets, 7, 6)))]
#[case::pods_behind("7", "9", Err((Resource::Pods, 12, 9)))]
#[case::no_number_holds_up_nothing("", "abc", Ok(()))]
fn behind(#[case] replica_sets: &str, #[case] pods: &str, #[case] expected: Result<(), (Resource, u64, u64)>) {
    let mut writes = Writes::default();
    for (resource, version) in
        [(Resource::Pods, "5"), (Resource::Pods, "12"), (Resource::Pods, "9"), (Resource::ReplicaSets, "7")]
    {
        writes.wrote(&key(), "uid", resource, version);
    }
    let expected = expected.map_err(|(resource, wrote, read)| Stale { resource, wrote, read });
    assert_eq!(check(&mut writes, replica_sets, pods), expected);
    assert_eq!(check(&mut writes, "0", "0").is_ok(), expected.is_ok(), "what is caught up with is forgotten");
}

#[test]
fn a_look_is_put_off_for_so_long_and_no_longer() {
    let (began, most) = (clock::instant(), Duration::from_millis(300));
    let is_put_off = |writes: &mut Writes, after: u64| {
        writes.check(&key(), began + Duration::from_millis(after), Some(most), |_| "1").is_err()
    };
    let mut writes = Writes::default();
    assert!(!is_put_off(&mut writes, 0), "nothing was written");
    writes.wrote(&key(), "uid", Resource::ReplicaSets, "7");
    assert!(is_put_off(&mut writes, 1000) && is_put_off(&mut writes, 1299));
    assert!(!is_put_off(&mut writes, 1300) && !is_put_off(&mut writes, 1301), "what was waited for is forgotten");
    writes.wrote(&key(), "uid", Resource::ReplicaSets, "8");
    assert!(is_put_off(&mut writes, 1302), "a new write is waited for anew");
}

#[test]
fn what_was_written_for_another_of_the_name_does_not_count() {
    let mut writes = Writes::default();
    assert_eq!(check(&mut writes, "0", "0"), Ok(()), "nothing was written");
    writes.wrote(&key(), "old", Resource::Pods, "9");
    writes.wrote(&key(), "new", Resource::ReplicaSets, "3");
    assert_eq!(check(&mut writes, "3", "0"), Ok(()));
    writes.wrote(&key(), "new", Resource::ReplicaSets, "3");
    writes.forget(&key(), Some("old"));
    assert!(check(&mut writes, "0", "0").is_err());
    writes.forget(&key(), Some("new"));
    assert_eq!(check(&mut writes, "0", "0"), Ok(()));
    writes.wrote(&key(), "new", Resource::ReplicaSets, "3");
    writes.forget(&key(), None);
    assert_eq!(check(&mut writes, "0", "0"), Ok(()));
    writes.wrote(&key(), "new", Resource::ReplicaSets, "no number");
    assert_eq!(check(&mut writes, "0", "0"), Ok(()));
}

/// An event that is late does not make what came before it unseen: a Deployment that waits for its
/// own write would wait for ever.
#[test]
fn how_far_a_kind_has_been_seen() {
    let mut cache = Cache::default();
    let mut seen = |listed: bool, version: &str| {
        if listed {
            cache.listed(Resource::Deployments, version);
        } else {
            cache.reached(Resource::Deployments, version);
        }
        cache.version(Resource::Deployments).to_owned()
    };
    assert_eq!(seen(true, "9"), "9");
    assert_eq!((seen(false, "10"), seen(false, "7")), ("10".to_owned(), "10".to_owned()));
    assert_eq!((seen(true, "5"), seen(false, "6")), ("5".to_owned(), "6".to_owned()));
}
