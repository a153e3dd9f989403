//! util/deployment_util_test.go.

use std::collections::BTreeMap;

use rollout_model::{Deployment, DeploymentStatus, ReplicaSet, Template, names};
use rstest::rstest;
use serde_json::{Value, json};

use super::fixtures::{TestDeployment, TestReplicaSet, template};
use crate::deployment::scale::replica_set_fraction;
use crate::deployment::sync::DeploymentSync;
use crate::deployment::{revision, sizes, status};
use crate::{Compatibility, RuleSettings};

fn deployment(fixture: &TestDeployment) -> Deployment {
    Deployment::read(fixture.deployment.clone()).unwrap()
}

fn replica_set(set: TestReplicaSet) -> ReplicaSet {
    ReplicaSet::read(set.0).unwrap()
}

/// TestResolveFenceposts.
#[rstest]
#[case(json!("0%"), json!("0%"), 0, Some((0, 1)))]
#[case(json!("39%"), json!("39%"), 10, Some((4, 3)))]
#[case(Value::Null, Value::Null, 0, Some((0, 1)))]
#[case(Value::Null, json!("39%"), 10, Some((0, 3)))]
#[case(json!("39%"), Value::Null, 10, Some((4, 0)))]
#[case(json!("oops"), json!("39%"), 10, None)]
#[case(json!("55%"), json!("urg"), 10, None)]
#[case(json!("5"), json!("1"), 10, None)]
fn resolve_fenceposts(
    #[case] surge: Value,
    #[case] unavailable: Value,
    #[case] replicas: i32,
    #[case] expected: Option<(i32, i32)>,
) {
    let deployment = deployment(&TestDeployment::new(replicas).bounds(surge, unavailable));
    assert_eq!(sizes::resolve_fenceposts(&deployment.spec.strategy, replicas).ok(), expected);
}

/// TestMaxUnavailable and TestMinAvailable.
#[rstest]
#[case::less_than_replicas(10, json!(5), 5)]
#[case::equal_replicas(10, json!(10), 10)]
#[case::greater_than_replicas(5, json!(10), 5)]
#[case::replicas_0(0, json!(10), 0)]
#[case::less_than_replicas_with_percents(10, json!("50%"), 5)]
#[case::equal_replicas_with_percents(10, json!("100%"), 10)]
#[case::greater_than_replicas_with_percents(5, json!("100%"), 5)]
fn max_unavailable(#[case] replicas: i32, #[case] unavailable: Value, #[case] expected: i32) {
    let fixture = TestDeployment::new(replicas).bounds(1, unavailable);
    assert_eq!(sizes::max_unavailable(&deployment(&fixture)), expected);
    assert_eq!(sizes::min_available(&deployment(&fixture)), replicas - expected);
    assert_eq!(sizes::max_unavailable(&deployment(&fixture.recreate())), 0);
}

/// TestGetReplicaSetFraction.
#[rstest]
#[case::empty_deployment_scales_to_0(0, 0, 0, 10, None, -10)]
#[case::unsynced_without_annotation(10, 0, 0, 5, None, 0)]
#[case::unsynced_with_annotation_0(10, 0, 0, 5, Some("0"), 0)]
#[case::up_by_a_fifth_without_annotation(120, 100, 0, 50, None, 10)]
#[case::up_by_a_fifth_with_annotation_0(120, 100, 0, 50, Some("0"), 10)]
#[case::up_by_a_fifth(120, 0, 0, 50, Some("100"), 10)]
#[case::up_by_a_fifth_with_surge(120, 0, 10, 50, Some("110"), 9)]
#[case::down_by_a_sixth(10, 0, 0, 6, Some("12"), -1)]
#[case::down_by_a_sixth_with_surge(100, 0, 10, 50, Some("130"), -8)]
#[case::half_away_from_zero(6, 0, 0, 1, Some("4"), 1)]
#[case::the_product_overflows(2_000_000, 0, 0, 2000, Some("1000000"), -2295)]
fn get_replica_set_fraction(
    #[case] replicas: i32,
    #[case] status: i32,
    #[case] surge: i32,
    #[case] size: i32,
    #[case] annotation: Option<&str>,
    #[case] expected: i32,
) {
    let fixture = TestDeployment::new(replicas).bounds(surge, 1).status(json!({"replicas": status}));
    let mut set = TestReplicaSet::new("rs", size, 1);
    if let Some(annotation) = annotation {
        set = set.annotate(names::MAX_REPLICAS, annotation);
    }
    assert_eq!(replica_set_fraction(&deployment(&fixture), &replica_set(set), Compatibility::Upstream), expected);
}

/// TestGetNonNegativeInt32FromAnnotation.
#[rstest]
#[case::invalid("invalid", None)]
#[case::invalid_empty("", None)]
#[case::invalid_negative("-1", None)]
#[case::invalid_sign("+1", None)]
#[case::valid_zero("0", Some(0))]
#[case::valid("13", Some(13))]
#[case::valid_max("2147483647", Some(i32::MAX))]
#[case::out_of_range("2147483648", None)]
#[case::out_of_range_2("4294967296", None)]
fn count_annotation(#[case] text: &str, #[case] expected: Option<i32>) {
    let rs = replica_set(TestReplicaSet::new("rs", 1, 1).annotate("test", text));
    assert_eq!(rs.count_annotation("test"), expected);
    assert_eq!(rs.count_annotation("other"), None);
}

/// TestDeploymentComplete.
#[rstest]
#[case::not_all_available(5, 5, 5, 4, false)]
#[case::availability_not_honored(5, 5, 5, 3, false)]
#[case::complete(5, 5, 5, 5, true)]
#[case::all_available_but_not_updated(5, 5, 4, 5, false)]
#[case::still_running_old_pods(1, 2, 1, 1, false)]
#[case::one_replica_never_comes_up(1, 1, 1, 0, false)]
fn deployment_complete(
    #[case] desired: i32,
    #[case] current: i32,
    #[case] updated: i32,
    #[case] available: i32,
    #[case] expected: bool,
) {
    let (observed, settings) = (TestDeployment::new(desired).observe(), RuleSettings::default());
    let sync = DeploymentSync::new(&observed, super::fixtures::now(), &settings);
    let mut status = DeploymentStatus {
        observed_generation: 1,
        replicas: current,
        updated_replicas: updated,
        available_replicas: available,
        ..Default::default()
    };
    assert_eq!(sync.is_complete(&status), expected);
    status.observed_generation = 0;
    assert!(!sync.is_complete(&status), "nothing is complete that was not observed");
}

/// TestDeploymentProgressing: (replicas, updated, ready, available) before and after.
#[rstest]
#[case::updated_pods([10, 4, 4, 4], [10, 6, 4, 4], true)]
#[case::nothing_moved([10, 4, 4, 4], [10, 4, 4, 4], false)]
#[case::old_pods_removed([10, 4, 6, 6], [8, 4, 6, 6], true)]
#[case::less_new_pods([10, 7, 3, 3], [10, 6, 3, 3], false)]
#[case::less_overall_but_more_new_pods([10, 4, 7, 7], [8, 8, 5, 5], true)]
#[case::more_ready_pods([10, 10, 9, 8], [10, 10, 10, 8], true)]
#[case::more_available_pods([10, 10, 10, 9], [10, 10, 10, 10], true)]
fn deployment_progressing(#[case] before: [i32; 4], #[case] after: [i32; 4], #[case] expected: bool) {
    let fixture = TestDeployment::new(10).status(json!({
        "replicas": before[0], "updatedReplicas": before[1], "readyReplicas": before[2], "availableReplicas": before[3],
    }));
    let (observed, settings) = (fixture.observe(), RuleSettings::default());
    let sync = DeploymentSync::new(&observed, super::fixtures::now(), &settings);
    let after = DeploymentStatus {
        replicas: after[0],
        updated_replicas: after[1],
        ready_replicas: after[2],
        available_replicas: after[3],
        ..Default::default()
    };
    assert_eq!(sync.is_progressing(&after), expected);
}

/// TestGetReplicaCountForReplicaSets: terminating pods as (observedGeneration, reported).
#[rstest]
#[case(&[(1, Some(1)), (1, Some(2))], Some(3))]
#[case(&[(1, Some(1)), (1, None)], None)]
#[case(&[(1, Some(1)), (0, None)], Some(1))]
#[case(&[], Some(0))]
fn terminating_replicas(#[case] sets: &[(i64, Option<i32>)], #[case] expected: Option<i32>) {
    let sets: Vec<_> = sets
        .iter()
        .map(|(observed, number)| {
            let set = TestReplicaSet::new("rs", 1, 1).status("observedGeneration", *observed);
            replica_set(set.status("terminatingReplicas", *number))
        })
        .collect();
    assert_eq!(status::terminating_replicas(&sets), expected);
}

/// TestEqualIgnoreHash, in addition to the rows beside `canonical_template`: labels with and
/// without the hash.
#[rstest]
#[case::same_spec_same_labels(json!({"x": "1"}), json!({"x": "1"}), true)]
#[case::only_the_hash_differs(json!({"pod-template-hash": "1", "x": "1"}), json!({"pod-template-hash": "2", "x": "1"}), true)]
#[case::one_has_no_hash(json!({"x": "1"}), json!({"pod-template-hash": "2", "x": "1"}), true)]
#[case::labels_differ(json!({"x": "1"}), json!({"x": "2"}), false)]
#[case::one_has_no_labels(Value::Null, json!({"x": "2"}), false)]
#[case::neither_has_labels(Value::Null, json!({}), true)]
fn equal_ignore_hash(#[case] one: Value, #[case] two: Value, #[case] expected: bool) {
    let labelled = |labels: Value| {
        let mut template = template("app:1");
        template["metadata"]["labels"] = labels;
        template
    };
    let is_same = |one: &Value, two: &Value| Template::new(one.clone()).is_same(&Template::new(two.clone()));
    let (one, two) = (labelled(one), labelled(two));
    assert_eq!(is_same(&one, &two), expected);
    assert_eq!(is_same(&two, &one), expected);
    let mut other = two;
    other["spec"]["containers"][0]["image"] = "app:2".into();
    assert!(!is_same(&one, &other));
}

/// TestFindNewReplicaSet: of two ReplicaSets with the same template the oldest is the new one, and
/// the other is old.
#[test]
fn find_new_replica_set() {
    let fixture = TestDeployment::new(1)
        .with(TestReplicaSet::new("younger", 1, 2).current())
        .with(TestReplicaSet::new("older", 1, 1).current())
        .with(TestReplicaSet::new("other", 1, 0));
    let (observed, settings) = (fixture.observe(), RuleSettings::default());
    let mut sync = DeploymentSync::new(&observed, super::fixtures::now(), &settings);
    let owned = sync.claim_replica_sets().unwrap();
    let sets = sync.find_replica_sets(&owned, false).unwrap();
    assert_eq!(sets.new.unwrap().meta.name, "older");
    assert_eq!(sets.old.iter().map(|rs| rs.meta.name.as_str()).collect::<Vec<_>>(), ["other", "younger"]);
}

/// TestAnnotationUtils: revisions 11 to 20 with a history of five characters.
#[test]
fn revision_history_keeps_the_newest() {
    let deployment = deployment(&TestDeployment::new(1).annotate("user", "x").annotate(names::LAST_APPLIED, "{}"));
    let mut annotations = BTreeMap::from([(names::REVISION.to_owned(), "10".to_owned())]);
    for next in 11..=20 {
        annotations.extend(revision::annotation_update_within(&deployment, &annotations, next, 5).annotations);
        assert_eq!(annotations[names::REVISION], next.to_string());
        if next > 12 {
            assert_eq!(annotations[names::REVISION_HISTORY], format!("{},{}", next - 2, next - 1));
        }
    }
    assert_eq!(annotations["user"], "x");
    assert!(!annotations.contains_key(names::LAST_APPLIED));
    let unchanged = revision::annotation_update_within(&deployment, &annotations, 20, 5);
    assert!(!unchanged.is_needed && unchanged.annotations.is_empty());
}

/// The history has a limit in bytes, and the oldest revisions are dropped. A revision that exceeds
/// the limit alone is not recorded.
#[rstest]
#[case::room_to_spare("1,2", "3", 6, Some("1,2,3"))]
#[case::just_fits("1,2", "3", 5, Some("1,2,3"))]
#[case::the_oldest_goes("1,2", "3", 4, Some("2,3"))]
#[case::as_many_as_it_takes("12,34,56", "78", 5, Some("56,78"))]
#[case::too_long_by_itself("1", "234", 2, None)]
fn the_revision_history_stays_within_its_limit(
    #[case] history: &str,
    #[case] revision: &str,
    #[case] limit: usize,
    #[case] expected: Option<&str>,
) {
    let deployment = deployment(&TestDeployment::new(1));
    let annotation = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let annotations =
        BTreeMap::from([annotation(names::REVISION, revision), annotation(names::REVISION_HISTORY, history)]);
    let update = revision::annotation_update_within(&deployment, &annotations, 1000, limit);
    assert_eq!(update.annotations.get(names::REVISION_HISTORY).map(String::as_str), expected);
}

/// A revision that is not a number stops the update: the user's annotations are copied in memory,
/// but not written for their own sake.
#[test]
fn an_invalid_revision_stops_the_annotation_update() {
    let deployment = deployment(&TestDeployment::new(1).annotate("user", "x"));
    let annotations = BTreeMap::from([(names::REVISION.to_owned(), "abc".to_owned())]);
    let update = revision::annotation_update(&deployment, &annotations, 2);
    assert!(!update.is_needed);
    assert_eq!(update.annotations, BTreeMap::from([("user".to_owned(), "x".to_owned())]));
}

/// MaxRevision and LastRevision.
#[rstest]
#[case(&["1", "2", "3"], 3, 2)]
#[case(&["3", "1", "2"], 3, 2)]
#[case(&["5", "5"], 5, 5)]
#[case(&["x", "4", ""], 4, 0)]
#[case(&[], 0, 0)]
#[case(&["9223372036854775807"], i64::MAX, 0)]
fn finds_the_highest_and_the_last_revision(#[case] revisions: &[&str], #[case] first: i64, #[case] second: i64) {
    let sets: Vec<_> =
        revisions.iter().map(|revision| replica_set(TestReplicaSet::new("rs", 1, 1).revision(revision))).collect();
    assert_eq!(revision::max_revision(&sets), first);
    assert_eq!(revision::last_revision(&sets), second);
}
