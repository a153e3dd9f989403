//! replica_set_test.go: TestGetPodsToDelete, TestRelatedPodsLookup.

use std::sync::Arc;

use rollout_model::{Pod, PodCount, ReplicaSet};
use rstest::rstest;
use serde_json::json;

use super::fixtures::{TestPod, make_plan, now, observed_replica_set, pod, raw};
use crate::replicaset::PodAdjustment;
use crate::replicaset::pods_to_delete::choose_by_rank;
use crate::replicaset::rank::node_ranks;

fn test_pod(name: &str) -> TestPod {
    let plain = |phase: &str| pod(name).phase(phase);
    match name.split(' ').next().unwrap() {
        "unscheduled-pending" => plain("Pending").ready(None),
        "scheduled-pending" => plain("Pending").node("fake-node").ready(None),
        "not-ready" => plain("Running").node("fake-node"),
        "on-node-1" => plain("Running").node("fake-node-1").ready(None),
        "on-node-2" => plain("Running").node("fake-node-2").ready(None),
        other => panic!("no pod {other}"),
    }
}

const ALL: &[&str] =
    &["on-node-1", "on-node-1 too", "on-node-2", "not-ready", "scheduled-pending", "unscheduled-pending"];

#[rstest]
#[case::len_pods_is_0(&[], None, 0, &[])]
#[case::diff_is_len_pods(&["not-ready", "on-node-1"], None, 2, &["not-ready", "on-node-1"])]
#[case::diff_less_than_len_pods(&["on-node-1", "not-ready"], None, 1, &["not-ready"])]
#[case::various_diff_is_len_pods(ALL, None, 6, ALL)]
#[case::various_diff_is_len_pods_related_empty(ALL, Some(&[] as &[&str]), 6, ALL)]
#[case::scheduled_vs_unscheduled(&["scheduled-pending", "unscheduled-pending"], None, 1, &["unscheduled-pending"])]
#[case::ready_vs_not_ready(&["on-node-1", "not-ready", "not-ready too"], None, 2, &["not-ready", "not-ready too"])]
#[case::colocated_with_another_ready_pod(
    &["on-node-1", "on-node-2"], Some(&["on-node-1", "on-node-2", "on-node-2 too"] as &[&str]), 1, &["on-node-2"])]
#[case::pending_vs_running(&["scheduled-pending", "not-ready"], None, 1, &["scheduled-pending"])]
#[case::various(
    &["on-node-1", "on-node-2", "not-ready", "scheduled-pending", "unscheduled-pending"], None, 3,
    &["unscheduled-pending", "scheduled-pending", "not-ready"])]
fn pods_to_delete(
    #[case] names: &[&str],
    #[case] related: Option<&[&str]>,
    #[case] count: usize,
    #[case] expected: &[&str],
) {
    let arcs = |names: &[&str]| names.iter().map(|name| test_pod(name).arc()).collect::<Vec<Arc<Pod>>>();
    let pods: Vec<_> = arcs(names).into_iter().map(PodCount::from).collect();
    let related = arcs(related.unwrap_or(names));
    let siblings = [sibling("rs", &json!({"matchLabels": {"app": "web"}}))];
    let found: Vec<_> = if count == pods.len() {
        super::super::pods_to_delete::choose(&pods, &siblings, &related, count, now())
    } else {
        choose_by_rank(&pods, &node_ranks(&siblings, &related), count, now())
    };
    assert_eq!(found.iter().map(|pod| pod.name.as_str()).collect::<Vec<_>>(), expected);
}

fn sibling(name: &str, selector: &serde_json::Value) -> Arc<ReplicaSet> {
    let mut raw = raw(1);
    raw["metadata"]["name"] = name.into();
    raw["spec"]["selector"] = selector.clone();
    Arc::new(ReplicaSet::read(raw).unwrap())
}

/// TestRelatedPodsLookup, and the rank: each active pod counts once, whether owned or not and
/// whether ready or not.
#[test]
fn rank_counts_pods_that_any_sibling_selects() {
    let siblings = [
        sibling("a", &json!({"matchLabels": {"app": "web"}})),
        sibling("b", &json!({"matchLabels": {"app": "web", "tier": "1"}})),
        sibling("c", &json!({"matchExpressions": [{"key": "app", "operator": "Near"}]})),
        sibling("d", &json!(null)),
    ];
    let neighbours = [
        pod("own").node("n1"),
        pod("by-both").node("n1").label("tier", "1"),
        pod("not-ready").node("n2").phase("Pending"),
        pod("orphan").node("n2").orphan(),
        pod("another's").node("n2").owned_by("x"),
        pod("unscheduled"),
        pod("ended").node("n1").phase("Failed"),
        pod("going").node("n1").deleting(),
        pod("other").node("n1").label("app", "db"),
    ]
    .map(TestPod::arc);
    assert_eq!(node_ranks(&siblings, &neighbours).into_iter().collect::<Vec<_>>(), [("", 1), ("n1", 2), ("n2", 3)]);
    assert!(node_ranks(&[], &neighbours).is_empty(), "nobody owns it: no node is crowded");
}

/// The old pod beside a new one is deleted first.
#[test]
fn deletes_the_pod_on_the_more_crowded_node() {
    let old = |name: &str, node: &str| pod(name).node(node).ready(None);
    let new = pod("new").node("n2").owned_by("new").label("hash", "new");
    let mut world = observed_replica_set(raw(1), [old("a", "n1"), old("b", "n2")]);
    assert_eq!(
        make_plan(&world).adjustment,
        PodAdjustment::Delete { names: vec!["a".to_owned()] },
        "all alike: the first by name"
    );
    world.neighbours.push(new.arc());
    world.siblings = vec![world.replica_set.clone(), sibling("new", &json!({"matchLabels": {"hash": "new"}}))];
    assert_eq!(make_plan(&world).adjustment, PodAdjustment::Delete { names: vec!["b".to_owned()] });
}
