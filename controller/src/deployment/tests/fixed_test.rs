//! Upstream's defects, each in a world that shows it: as it is upstream, and as
//! `--compatibility=fixed` has it.

use proptest::prelude::*;
use rstest::rstest;

use super::fixtures::{Set, World, carry_out, sizes, words};
use crate::Compatibility;
use crate::deployment::scale::fraction;
use crate::model::{Deployment, ReplicaSet, names};

/// Lets the controller and ready pods take turns; the world at rest, or `None` if it never rests.
fn at_rest(mut world: World) -> Option<World> {
    for _ in 0..400 {
        if world.plan().is_idle() {
            return Some(world);
        }
        world = carry_out(&world);
        for set in &mut world.sets {
            for field in ["replicas", "readyReplicas", "availableReplicas"] {
                set["status"][field] = set["spec"]["replicas"].clone();
            }
        }
    }
    None
}

fn updated(world: &World) -> i64 {
    world.deployment["status"]["updatedReplicas"].as_i64().unwrap_or(0)
}

/// Issue 102551: scaled in the middle of a rollout without surge, so that the old ReplicaSet has
/// the size that is now asked for, and an annotation that says another.
fn scaled_between_two_steps() -> World {
    World::new(4)
        .bounds(0, 1)
        .annotate(names::REVISION, "2")
        .with(Set::new("old", 4, 1).revision(1).sized_for(5, 5).healthy(4))
        .with(Set::new("new", 0, 2).current().revision(2).sized_for(5, 5))
}

#[test]
fn scaled_between_two_steps_hangs_upstream() {
    let world = at_rest(scaled_between_two_steps()).unwrap();
    assert_eq!(updated(&world), 0);
}

#[test]
fn scaled_between_two_steps_goes_on() {
    let world = scaled_between_two_steps().fixed();
    assert_eq!(words(&world.plan()), ["update", "status"], "annotations alone, and no event");
    assert!(sizes(&world.plan()).is_empty());
    assert_eq!(updated(&at_rest(world).unwrap()), 4);
}

/// Case `recreate/two-active-replicasets`.
fn two_active_under_recreate() -> World {
    World::new(6)
        .recreate()
        .annotate(names::REVISION, "2")
        .with(Set::new("old", 2, 1).revision(1).sized_for(4, 4).healthy(2))
        .with(Set::new("new", 3, 2).current().revision(2).sized_for(4, 4).healthy(1))
}

#[test]
fn recreate_with_two_active_hangs_upstream() {
    let world = at_rest(two_active_under_recreate()).unwrap();
    assert_eq!(updated(&world), 3);
}

#[test]
fn recreate_with_two_active_goes_on() {
    let world = two_active_under_recreate().fixed();
    assert_eq!(sizes(&world.plan()), [("old".to_owned(), 0)], "the new one waits for the old one's pods");
    assert_eq!(updated(&at_rest(world).unwrap()), 6);
}

/// With one that has pods there is nothing to mend: it is scaled, and the next sync takes it down.
#[rstest]
#[case::upstream(false)]
#[case::fixed(true)]
fn recreate_with_one_active_is_scaled(#[case] fixed: bool) {
    let world = World::new(6).recreate().with(Set::new("old", 3, 1).revision(1).sized_for(3, 3).healthy(3));
    let world = if fixed { world.fixed() } else { world };
    assert_eq!(sizes(&world.plan()), [("old".to_owned(), 6)]);
}

/// 2000 of a million, scaled to two million.
#[rstest]
#[case::upstream(Compatibility::Upstream, -2295)]
#[case::fixed(Compatibility::Fixed, 2000)]
fn a_share_of_millions(#[case] compatibility: Compatibility, #[case] share: i32) {
    let deployment = Deployment::read(World::new(2_000_000).bounds(0, 1).deployment).unwrap();
    let set = ReplicaSet::read(Set::new("rs", 2000, 1).sized_for(1_000_000, 1_000_000).0).unwrap();
    assert_eq!(fraction(&deployment, &set, compatibility), share);
}

prop_compose! {
    /// Two ReplicaSets, each last sized for whatever.
    fn scaled_at_any_moment()(
        replicas in 1..12_i32,
        recreate in any::<bool>(),
        unavailable in 1..3_i32,
        [old, new] in any::<[u8; 2]>().prop_map(|sizes| sizes.map(|size| i32::from(size % 12))),
        [desired_old, desired_new] in any::<[u8; 2]>().prop_map(|sizes| sizes.map(|size| i32::from(size % 12))),
    ) -> World {
        let world = World::new(replicas).annotate(names::REVISION, "2");
        let world = if recreate { world.recreate() } else { world.bounds(0, unavailable) };
        world
            .with(Set::new("old", old, 1).revision(1).sized_for(desired_old, desired_old).healthy(old))
            .with(Set::new("new", new, 2).current().revision(2).sized_for(desired_new, desired_new).healthy(new))
            .fixed()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the annotations say, a rollout ends, complete: what upstream's cannot promise.
    #[test]
    fn no_annotation_stops_a_roll_out(world in scaled_at_any_moment()) {
        let replicas = world.observed().deployment.replicas();
        let world = at_rest(world);
        prop_assert!(world.is_some(), "never rests");
        prop_assert_eq!(world.map(|world| updated(&world)), Some(i64::from(replicas)));
    }
}
