//! Properties of all inputs, and an independent model of the kill order.

use std::cmp::Ordering;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use rollout_model::{Pod, PodCount, PodTraits};

use super::fixtures::{make_plan, now, observed_replica_set, pod, raw};
use crate::merge_sort::merge_sort;
use crate::replicaset::PodAdjustment;
use crate::replicaset::kill_order::{RankedPod, compare};

/// An independent model of the rules: each rule gives a signed number, and the first that is not 0
/// decides. The bucket of an age is found by repeated halving.
fn model(a: (&Pod, usize), b: (&Pod, usize)) -> Ordering {
    let (x, y) = (a.0.traits(), b.0.traits());
    let phase = |pod: &Pod| ["Pending", "Unknown", "Running"].iter().position(|phase| *phase == pod.phase).unwrap_or(0);
    let place = |of: &PodTraits| u8::from(!of.node.is_empty());
    let unready = |of: &PodTraits| u8::from(!of.ready);
    let mut words = vec![
        i64::from(place(x)) - i64::from(place(y)),
        phase(a.0) as i64 - phase(b.0) as i64,
        i64::from(unready(y)) - i64::from(unready(x)),
        i64::from(x.deletion_cost) - i64::from(y.deletion_cost),
        b.1 as i64 - a.1 as i64,
    ];
    let by_age = |s: Option<Timestamp>, t: Option<Timestamp>| match (s, t) {
        (s, t) if s == t => None,
        (None, _) => Some(-1),
        (_, None) => Some(1),
        (Some(s), Some(t)) => {
            let difference = halvings(s) - halvings(t);
            Some(if difference != 0 { difference } else { x.uid.cmp(&y.uid) as i64 })
        }
    };
    // The age either decides, possibly with a tie, or is not compared at all.
    let mut decided = if x.ready && y.ready { by_age(x.ready_since, y.ready_since) } else { None };
    if decided.is_none() {
        words.push(i64::from(y.restarts) - i64::from(x.restarts));
        words.push(i64::from(y.sidecar_restarts) - i64::from(x.sidecar_restarts));
        decided = by_age(x.created, y.created);
    }
    words.push(decided.unwrap_or(0));
    words.into_iter().find(|word| *word != 0).unwrap_or(0).cmp(&0)
}

fn halvings(time: Timestamp) -> i64 {
    let mut age = now().as_nanosecond() - time.as_nanosecond();
    if age <= 0 {
        return -1;
    }
    let mut halvings = 0;
    while age > 1 {
        age /= 2;
        halvings += 1;
    }
    halvings
}

/// Ages around the boundaries of buckets, and some that are equal.
fn age() -> impl Strategy<Value = i64> {
    prop_oneof![
        (30..46_u32, -1..2_i64).prop_map(|(power, off)| (1 << power) + off),
        (0..4_i64).prop_map(|minutes| minutes * 60_000_000_000),
        Just(5_000_000_000_000),
        Just(5_001_000_000_000),
        Just(-1_000_000_000),
    ]
}

fn moment() -> impl Strategy<Value = Option<Timestamp>> {
    prop::option::weighted(0.9, age().prop_map(|age| now() - SignedDuration::from_nanos(age)))
}

/// A pod with traits that are often equal, and its rank. Names and UIDs differ and are sorted
/// differently.
fn contender() -> impl Strategy<Value = (Pod, usize)> {
    let phase =
        prop_oneof![8 => Just("Running"), 1 => Just("Pending"), 1 => Just("Unknown"), 1 => Just(""), 1 => Just("Odd")];
    let node = prop_oneof![4 => Just("n1"), 4 => Just("n2"), 1 => Just("")];
    let cost = prop_oneof![6 => Just(0), 1 => Just(1), 1 => Just(-1), 1 => Just(i32::MAX), 1 => Just(i32::MIN)];
    let times = (prop::bool::weighted(0.9), moment(), moment());
    (phase, node, cost, times, 0..3_i32, 0..3_i32, 0..3_usize).prop_map(
        |(phase, node, cost, (ready, since, created), restarts, sidecars, rank)| {
            let pod = pod("").phase(phase).node(node).with(|of| {
                (of.ready, of.ready_since, of.created) = (ready, since, created);
                (of.deletion_cost, of.restarts, of.sidecar_restarts) = (cost, restarts, sidecars);
            });
            (pod.0, rank)
        },
    )
}

fn contenders(most: usize) -> impl Strategy<Value = Vec<(Pod, usize)>> {
    let uids = Just((0..most).collect::<Vec<_>>()).prop_shuffle();
    (prop::collection::vec(contender(), 1..=most), uids).prop_map(|(mut pods, uids)| {
        for (number, ((pod, _), uid)) in pods.iter_mut().zip(uids).enumerate() {
            pod.name = format!("pod-{number:03}");
            pod.traits.as_mut().unwrap().uid = format!("{uid:03}");
        }
        pods
    })
}

fn ours(a: &(Pod, usize), b: &(Pod, usize)) -> Ordering {
    compare(RankedPod { pod: &a.0, rank: a.1 }, RankedPod { pod: &b.0, rank: b.1 }, now())
}

fn theirs(a: &(Pod, usize), b: &(Pod, usize)) -> Ordering {
    model((&a.0, a.1), (&b.0, b.1))
}

/// Whether the model gives a total order of these pods, up to ties.
fn is_ordered(pods: &[(Pod, usize)]) -> bool {
    let triples = pods.iter().flat_map(|a| pods.iter().flat_map(move |b| pods.iter().map(move |c| (a, b, c))));
    triples.into_iter().all(|(a, b, c)| {
        let (ab, bc, ac) = (theirs(a, b), theirs(b, c), theirs(a, c));
        ab != bc || ab == ac
    })
}

fn stand_as_the_model_ranks_them(pods: &[(Pod, usize)]) -> Result<(), TestCaseError> {
    let sorted = merge_sort(pods.iter().collect(), |a, b| ours(a, b));
    for (place, pod) in sorted.iter().enumerate() {
        let before = pods.iter().filter(|other| theirs(other, pod).is_lt()).count();
        let ties = pods.iter().filter(|other| theirs(other, pod).is_eq()).count();
        prop_assert!((before..before + ties).contains(&place), "{} at {place}, not {before}", pod.0.name);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn two_pods_compare_as_in_the_model(pods in contenders(2)) {
        let (a, b) = (&pods[0], pods.last().unwrap());
        prop_assert_eq!(ours(a, b), theirs(a, b));
        prop_assert_eq!(ours(a, b), ours(b, a).reverse());
    }

    /// If the model orders the pods, each comes after all that precede it.
    #[test]
    fn pods_are_sorted_as_the_model_ranks_them(pods in contenders(6)) {
        prop_assume!(is_ordered(&pods));
        stand_as_the_model_ranks_them(&pods)?;
    }

    /// With equal times the pods are always ordered, however many there are.
    #[test]
    fn many_pods_are_sorted_as_the_model_ranks_them(mut pods in contenders(50)) {
        for (pod, _) in &mut pods {
            let traits = pod.traits.as_mut().unwrap();
            (traits.ready_since, traits.created) = (Some(now()), None);
        }
        stand_as_the_model_ranks_them(&pods)?;
    }

    /// If the model does not order the pods, none is lost and nothing panics.
    #[test]
    fn sorting_terminates_without_losing_pods(pods in contenders(60)) {
        let mut names: Vec<_> = merge_sort(pods.iter().collect(), |a, b| ours(a, b)).into_iter().map(|pod| &pod.0.name).collect();
        prop_assert_eq!(names.len(), pods.len());
        names.sort();
        names.dedup();
        prop_assert_eq!(names.len(), pods.len());
    }

    /// Exactly the surplus of active pods is deleted, and planning is deterministic.
    #[test]
    fn deletes_exactly_the_surplus(pods in contenders(20), replicas in 0..25_i32) {
        let mut world = observed_replica_set(raw(replicas), []);
        world.neighbours = pods.iter().map(|(pod, _)| Arc::new(pod.clone())).collect();
        world.pods = world.neighbours.iter().cloned().map(PodCount::from).collect();
        world.siblings = vec![world.replica_set.clone()];
        let plan = make_plan(&world);
        prop_assert_eq!(&plan, &make_plan(&world));
        let surplus = pods.len() as i64 - i64::from(replicas);
        match plan.adjustment {
            PodAdjustment::Nothing => prop_assert_eq!(surplus, 0),
            PodAdjustment::Create { count, .. } => prop_assert_eq!(surplus, -(count as i64)),
            PodAdjustment::Delete { names } => prop_assert_eq!(surplus, names.len() as i64),
            PodAdjustment::Impossible { why } => prop_assert!(false, "{why}"),
        }
    }
}

/// Sorting needs n·log n comparisons for any initial order.
#[test]
fn sorts_thousands_with_n_log_n_comparisons() {
    let calls = std::cell::Cell::new(0_u64);
    let numbers: Vec<u64> = (0..5000).map(|number| number * 7919 % 5000).collect();
    let sorted = merge_sort(numbers, |a, b| {
        calls.set(calls.get() + 1);
        a.cmp(b)
    });
    assert!(sorted.is_sorted());
    assert!(calls.get() < 100_000, "{} comparisons", calls.get());
}
