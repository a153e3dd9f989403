//! Upstream's defects, each in a fixture that shows it, in upstream mode and with
//! `--compatibility=fixed`.

use proptest::prelude::*;
use rollout_model::{Deployment, ReplicaSet, names};
use rstest::rstest;

use super::fixtures::{TestDeployment, TestReplicaSet, action_names, apply_plan, planned_sizes};
use crate::Compatibility;
use crate::deployment::scale::replica_set_fraction;

/// Alternates between applying plans and making all pods ready. Returns the settled fixture, or
/// `None` if it never settles.
fn settle(mut fixture: TestDeployment) -> Option<TestDeployment> {
    for _ in 0..400 {
        if fixture.plan().is_idle() {
            return Some(fixture);
        }
        fixture = apply_plan(&fixture);
        for set in &mut fixture.sets {
            for field in ["replicas", "readyReplicas", "availableReplicas"] {
                set["status"][field] = set["spec"]["replicas"].clone();
            }
        }
    }
    None
}

fn updated(fixture: &TestDeployment) -> i64 {
    fixture.deployment["status"]["updatedReplicas"].as_i64().unwrap_or(0)
}

/// Issue 102551: scaled in the middle of a rollout without surge, so that the old ReplicaSet has
/// the new desired size and an annotation with another size.
fn scaled_between_two_steps() -> TestDeployment {
    TestDeployment::new(4)
        .bounds(0, 1)
        .annotate(names::REVISION, "2")
        .with(TestReplicaSet::new("old", 4, 1).revision(1).sized_for(5, 5).healthy(4))
        .with(TestReplicaSet::new("new", 0, 2).current().revision(2).sized_for(5, 5))
}

#[test]
fn upstream_hangs_after_scaling_between_two_steps() {
    let fixture = settle(scaled_between_two_steps()).unwrap();
    assert_eq!(updated(&fixture), 0);
}

#[test]
fn fixed_mode_continues_after_scaling_between_two_steps() {
    let fixture = scaled_between_two_steps().with_fixes();
    assert_eq!(action_names(&fixture.plan()), ["update", "status"], "annotations alone, and no event");
    assert!(planned_sizes(&fixture.plan()).is_empty());
    assert_eq!(updated(&settle(fixture).unwrap()), 4);
}

/// Case `recreate/two-active-replicasets`.
fn two_active_under_recreate() -> TestDeployment {
    TestDeployment::new(6)
        .recreate()
        .annotate(names::REVISION, "2")
        .with(TestReplicaSet::new("old", 2, 1).revision(1).sized_for(4, 4).healthy(2))
        .with(TestReplicaSet::new("new", 3, 2).current().revision(2).sized_for(4, 4).healthy(1))
}

#[test]
fn upstream_hangs_with_two_active_replica_sets_under_recreate() {
    let fixture = settle(two_active_under_recreate()).unwrap();
    assert_eq!(updated(&fixture), 3);
}

#[test]
fn fixed_mode_continues_with_two_active_replica_sets_under_recreate() {
    let fixture = two_active_under_recreate().with_fixes();
    assert_eq!(planned_sizes(&fixture.plan()), [("old".to_owned(), 0)], "the new one waits for the old one's pods");
    assert_eq!(updated(&settle(fixture).unwrap()), 6);
}

/// With only one active ReplicaSet there is no defect: it is scaled, and the next sync scales it
/// down.
#[rstest]
#[case::upstream(false)]
#[case::fixed(true)]
fn scales_the_only_active_replica_set_under_recreate(#[case] fixed: bool) {
    let fixture =
        TestDeployment::new(6).recreate().with(TestReplicaSet::new("old", 3, 1).revision(1).sized_for(3, 3).healthy(3));
    let fixture = if fixed { fixture.with_fixes() } else { fixture };
    assert_eq!(planned_sizes(&fixture.plan()), [("old".to_owned(), 6)]);
}

/// A ReplicaSet with 2000 of a million pods, scaled to two million.
#[rstest]
#[case::upstream(Compatibility::Upstream, -2295)]
#[case::fixed(Compatibility::Fixed, 2000)]
fn computes_the_proportion_of_millions(#[case] compatibility: Compatibility, #[case] share: i32) {
    let deployment = Deployment::read(TestDeployment::new(2_000_000).bounds(0, 1).deployment).unwrap();
    let set = ReplicaSet::read(TestReplicaSet::new("rs", 2000, 1).sized_for(1_000_000, 1_000_000).0).unwrap();
    assert_eq!(replica_set_fraction(&deployment, &set, compatibility), share);
}

prop_compose! {
    /// Two ReplicaSets, each with any annotated size.
    fn scaled_at_any_moment()(
        replicas in 1..12_i32,
        recreate in any::<bool>(),
        unavailable in 1..3_i32,
        [old, new] in any::<[u8; 2]>().prop_map(|sizes| sizes.map(|size| i32::from(size % 12))),
        [desired_old, desired_new] in any::<[u8; 2]>().prop_map(|sizes| sizes.map(|size| i32::from(size % 12))),
    ) -> TestDeployment {
        let fixture = TestDeployment::new(replicas).annotate(names::REVISION, "2");
        let fixture = if recreate { fixture.recreate() } else { fixture.bounds(0, unavailable) };
        fixture
            .with(TestReplicaSet::new("old", old, 1).revision(1).sized_for(desired_old, desired_old).healthy(old))
            .with(TestReplicaSet::new("new", new, 2).current().revision(2).sized_for(desired_new, desired_new).healthy(new))
            .with_fixes()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// With any annotations a rollout completes, unlike in upstream.
    #[test]
    fn no_annotation_stops_a_rollout_in_fixed_mode(fixture in scaled_at_any_moment()) {
        let replicas = fixture.observe().deployment.replicas();
        let fixture = settle(fixture);
        prop_assert!(fixture.is_some(), "never settles");
        prop_assert_eq!(fixture.map(|fixture| updated(&fixture)), Some(i64::from(replicas)));
    }
}
