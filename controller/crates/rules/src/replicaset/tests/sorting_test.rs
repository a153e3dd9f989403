//! controller_utils_test.go: TestSortingActivePods, TestSortingActivePodsWithRanks; and properties
//! of the comparison that the documentation states.

use std::cmp::Ordering;

use jiff::SignedDuration;
use rstest::rstest;

use super::fixtures::{TestPod, ago, now, pod};
use crate::merge_sort::merge_sort;
use crate::replicaset::kill_order::{RankedPod, age_bucket, compare};
use crate::replicaset::pods_to_delete::select_first;

const HOUR: i64 = 3600;
const MONTH: i64 = 30 * 24 * HOUR;

fn order(a: (&TestPod, usize), b: (&TestPod, usize)) -> Ordering {
    compare(RankedPod { pod: &a.0.0, rank: a.1 }, RankedPod { pod: &b.0.0, rank: b.1 }, now())
}

/// TestSortingActivePods, shuffled twenty times.
#[test]
fn sorts_by_active_pod() {
    let foo = |name: &str| pod(name).node("foo");
    let ready = |name: &str, since, restarts| foo(name).ready(since).with(|traits| traits.restarts = restarts);
    let created = |pod: TestPod, at| pod.with(|traits| traits.created = at);
    let pods = [
        pod("unscheduled").phase("Pending"),
        pod("scheduledButPending").node("bar").phase("Pending"),
        foo("unknownPhase").phase("Unknown"),
        foo("runningButNotReady"),
        ready("runningNoLastTransitionTime", None, 3),
        ready("runningWithLastTransitionTime", ago(0), 3),
        ready("runningLongerTime", ago(MONTH), 3),
        created(ready("lowerSidecarContainerRestartCount", ago(MONTH), 2), ago(0))
            .with(|traits| traits.sidecar_restarts = 2),
        created(ready("lowerContainerRestartCount", ago(MONTH), 2), ago(0)),
        created(ready("oldest", ago(MONTH), 2), ago(MONTH)),
    ];
    let expected: Vec<_> = pods.iter().map(|pod| pod.0.name.clone()).collect();
    for round in 0..20 {
        // 3, 7 and 9 share no factor with ten, so each pod comes once.
        let step = [3, 7, 9, 1][round % 4];
        let shuffled: Vec<_> = (0..pods.len()).map(|place| &pods[(place * step + round) % pods.len()]).collect();
        let sorted = merge_sort(shuffled, |a, b| order((a, 0), (b, 0)));
        assert_eq!(sorted.iter().map(|pod| pod.0.name.clone()).collect::<Vec<_>>(), expected);
    }
}

/// Up to twelve items are sorted by insertion; more are sorted in runs that are merged.
#[rstest]
fn merge_sort_loses_no_item_and_is_stable(#[values(0, 1, 2, 12, 13, 24, 25, 100)] count: usize) {
    let shuffled = (0..count).map(|place| place * 7919 % count).collect();
    let distinct: Vec<usize> = merge_sort(shuffled, Ord::cmp);
    assert_eq!(distinct, (0..count).collect::<Vec<_>>());
    let by_tens = merge_sort((0..count).collect(), |a, b| (b / 10).cmp(&(a / 10)));
    let mut stable: Vec<usize> = (0..count).collect();
    stable.sort_by_key(|item| std::cmp::Reverse(item / 10));
    assert_eq!(by_tens, stable, "equals keep their order");
}

/// Selecting a few items gives the beginning of a full sort; equal items keep their order.
#[rstest]
fn select_first_equals_a_full_sort(#[values(0, 1, 3, 12)] count: usize) {
    let many: Vec<usize> = (0..100).map(|place| place * 7919 % 100).collect();
    let by_tens = |a: &usize, b: &usize| (b / 10).cmp(&(a / 10));
    let all = merge_sort(many.clone(), by_tens);
    assert_eq!(select_first(many.into_iter(), count, by_tens), all[..count]);
}

/// In a cyclic order (as of pods that became ready at about the same time) up to twelve items end
/// in the order of an insertion sort, which Go uses for so few.
#[test]
fn sorts_a_cycle_as_insertion_sort_does() {
    let beats = |a: &u32, b: &u32| if (b + 3 - a) % 3 == 1 { Ordering::Less } else { Ordering::Greater };
    let items: Vec<u32> = (0..12).map(|place| place * place % 7 % 3).collect();
    let mut inserted = items.clone();
    for from in 1..inserted.len() {
        let mut place = from;
        while place > 0 && beats(&inserted[place], &inserted[place - 1]).is_lt() {
            inserted.swap(place, place - 1);
            place -= 1;
        }
    }
    assert_eq!(merge_sort(items, beats), inserted);
}

/// A pod of the second test: without a UID, and with restarts only if it is ready.
fn ranked(name: &str) -> TestPod {
    let bare = |node: &str, phase: &str| pod(name).node(node).phase(phase).with(|traits| traits.uid.clear());
    let ready = |node: &str, since: Option<i64>, created: Option<i64>| {
        let running = bare(node, "Running").ready(since.and_then(ago));
        running.with(|traits| traits.created = created.and_then(ago))
    };
    let restarts = |pod: TestPod, regular, sidecar| {
        pod.with(|traits| (traits.restarts, traits.sidecar_restarts) = (regular, sidecar))
    };
    let cost = |pod: TestPod, cost| pod.with(|traits| traits.deletion_cost = cost);
    match name {
        "unscheduled" => bare("", "Pending"),
        "pending" => bare("node", "Pending"),
        "unknown-phase" => bare("node", "Unknown"),
        "not-ready" => bare("node", "Running"),
        "ready-no-last-transition-time" => ready("node", None, None),
        "ready-now" => ready("node", Some(0), Some(0)),
        "ready-then" => ready("node", Some(MONTH), Some(MONTH)),
        "ready-high-restarts" => restarts(ready("node", Some(0), Some(0)), 9001, 0),
        "ready-high-side-restarts" => restarts(ready("node", Some(0), Some(0)), 9001, 9001),
        "ready-now-created-then" => ready("node", Some(0), Some(MONTH)),
        "low-deletion-cost" => cost(ready("node", Some(0), Some(MONTH)), 10),
        "high-deletion-cost" => cost(ready("node", Some(0), Some(MONTH)), 100),
        "unscheduled-5-hours" => bare("", "Pending").with(|traits| traits.created = ago(5 * HOUR)),
        "unscheduled-8-hours" => bare("", "Pending").with(|traits| traits.created = ago(8 * HOUR)),
        "ready-2-hours" => ready("", Some(2 * HOUR), Some(MONTH)),
        "ready-5-hours" => ready("", Some(5 * HOUR), Some(MONTH)),
        "ready-8-hours" => ready("", Some(8 * HOUR), Some(MONTH)),
        other => panic!("no pod {other}"),
    }
}

#[rstest]
#[case("unscheduled", "unscheduled")]
#[case("pending", "pending")]
#[case("unknown-phase", "unknown-phase")]
#[case("not-ready", "not-ready")]
#[case("ready-now-created-then", "ready-now-created-then")]
#[case("ready-now", "ready-now")]
#[case("ready-then", "ready-then")]
#[case("ready-high-restarts", "ready-high-restarts")]
#[case("unscheduled-5-hours", "unscheduled-8-hours")]
#[case("ready-5-hours", "ready-8-hours")]
fn equality_tests(#[case] a: &str, #[case] b: &str) {
    let (a, b) = (ranked(a), ranked(b));
    assert_eq!(order((&a, 1), (&b, 1)), Ordering::Equal);
    assert_eq!(order((&b, 1), (&a, 1)), Ordering::Equal);
}

/// The row with the feature gate PodDeletionCost off is left out, because here it is always on.
#[rstest]
#[case(("unscheduled", 1), ("pending", 2))]
#[case(("unscheduled", 2), ("pending", 1))]
#[case(("pending", 1), ("unknown-phase", 2))]
#[case(("unknown-phase", 1), ("not-ready", 2))]
#[case(("not-ready", 1), ("ready-no-last-transition-time", 1))]
#[case(("ready-no-last-transition-time", 1), ("ready-now", 1))]
#[case(("ready-now", 2), ("ready-no-last-transition-time", 1))]
#[case(("ready-now", 1), ("ready-then", 1))]
#[case(("ready-now", 2), ("ready-then", 1))]
#[case(("ready-high-restarts", 1), ("ready-now", 1))]
#[case(("ready-high-side-restarts", 1), ("ready-high-restarts", 1))]
#[case(("ready-now", 2), ("ready-high-restarts", 1))]
#[case(("ready-now", 1), ("ready-now-created-then", 1))]
#[case(("ready-now-created-then", 2), ("ready-now", 1))]
#[case(("low-deletion-cost", 2), ("high-deletion-cost", 1))]
#[case(("low-deletion-cost", 1), ("high-deletion-cost", 2))]
#[case(("ready-2-hours", 1), ("ready-5-hours", 1))]
fn inequality_tests(#[case] lesser: (&str, usize), #[case] greater: (&str, usize)) {
    let (a, b) = (ranked(lesser.0), ranked(greater.0));
    assert_eq!(order((&a, lesser.1), (&b, greater.1)), Ordering::Less);
    assert_eq!(order((&b, greater.1), (&a, lesser.1)), Ordering::Greater);
}

/// A cycle: each pod comes before the next, and the last before the first.
#[test]
fn comparison_of_close_times_is_cyclic() {
    let ready =
        |uid: &str, seconds, restarts| pod(uid).node("n").ready(ago(seconds)).with(|traits| traits.restarts = restarts);
    let (a, b, c) = (ready("u3", 5000, 1), ready("u1", 5000, 0), ready("u2", 5001, 0));
    assert_eq!(order((&a, 0), (&b, 0)), Ordering::Less, "more restarts");
    assert_eq!(order((&b, 0), (&c, 0)), Ordering::Less, "the smaller UID");
    assert_eq!(order((&c, 0), (&a, 0)), Ordering::Less, "the smaller UID");
}

/// Each boundary between buckets from 34.4 seconds to 9.77 hours, to the nanosecond.
#[rstest]
fn age_buckets_change_at_powers_of_two(#[values(35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45)] power: u32) {
    let step_at = |age: i64| age_bucket(now() - SignedDuration::from_nanos(age), now());
    let boundary = 1_i64 << power;
    assert_eq!(
        [step_at(boundary - 1), step_at(boundary), step_at(boundary + 1)],
        [i64::from(power) - 1, i64::from(power), i64::from(power)]
    );
}

#[rstest]
#[case(-1, -1)]
#[case(-1_000_000_000, -1)]
#[case(0, -1)]
#[case(1, 0)]
#[case(2, 1)]
#[case(3, 1)]
#[case(1_000_000_000, 29)]
// From here on the resolution of floating point numbers is coarser: a few nanoseconds before a
// boundary already give the next bucket.
#[case((1 << 49) - 1, 49)]
#[case((1 << 50) - 1, 50)]
#[case((1 << 50) - 5, 49)]
fn age_buckets_of_other_ages(#[case] age: i64, #[case] expected: i64) {
    assert_eq!(age_bucket(now() - SignedDuration::from_nanos(age), now()), expected);
}

/// Pods without a status or a node, with a ready time in the future, or with an unknown phase.
#[test]
fn orders_pods_with_missing_or_unusual_fields() {
    let bare = pod("bare").phase("").with(|traits| traits.uid.clear());
    let pending = pod("pending").phase("Pending").with(|traits| traits.uid.clear());
    assert_eq!(order((&bare, 0), (&pending, 0)), Ordering::Equal);
    assert_eq!(order((&bare.clone().phase("Odd"), 0), (&pending, 0)), Ordering::Equal);
    let soon = pod("z").node("n").ready(ago(-60));
    let sooner = pod("a").node("n").ready(ago(-600));
    let fresh = pod("b").node("n").ready(ago(1));
    assert_eq!(order((&soon, 0), (&fresh, 0)), Ordering::Less);
    assert_eq!(order((&sooner, 0), (&soon, 0)), Ordering::Less, "both are yet to come: by UID");
    assert_eq!(order((&bare, 0), (&soon, 0)), Ordering::Less);
}
