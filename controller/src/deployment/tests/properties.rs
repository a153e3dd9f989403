//! What must hold for every world: the bounds of a rolling update, and that planning is a function.

use proptest::prelude::*;

use super::fixtures::{Set, World, carry_out, now};
use crate::Settings;
use crate::deployment::{Action, plan};
use crate::model::names;

/// One ReplicaSet: what is asked for, and what share of it is available.
fn size() -> impl Strategy<Value = (i32, i32)> {
    (0..30_i32).prop_flat_map(|wanted| (Just(wanted), 0..=wanted))
}

prop_compose! {
    /// A rolling Deployment in the middle of anything: sizes may already be beyond the bounds, as
    /// after a user's edit.
    fn world()(
        replicas in 0..30_i32,
        (surge, unavailable) in (0..8_i32, 0..8_i32).prop_filter("API validation", |bounds| *bounds != (0, 0)),
        percent in any::<bool>(),
        new in proptest::option::of(size()),
        old in proptest::collection::vec(size(), 0..4),
    ) -> World {
        let mut world = World::new(replicas).annotate(names::REVISION, "9");
        world = if percent {
            world.bounds(format!("{}%", surge * 10), format!("{}%", unavailable * 10))
        } else {
            world.bounds(surge, unavailable)
        };
        let max = crate::deployment::sizes::max_replicas(&world.observed().deployment);
        for (age, (wanted, available)) in old.iter().enumerate() {
            let set = Set::new(&format!("rs{age}"), *wanted, age as u32).revision(age + 1);
            world = world.with(set.sized_for(replicas, max).healthy(*available));
        }
        if let Some((wanted, available)) = new {
            let set = Set::new("new", wanted, 30).current().revision(9);
            world = world.with(set.sized_for(replicas, max).healthy(available));
        }
        world
    }
}

fn wanted(world: &World) -> i64 {
    world.sets.iter().map(|set| set["spec"]["replicas"].as_i64().unwrap()).sum()
}

fn available(world: &World) -> i64 {
    world.sets.iter().map(|set| set["status"]["availableReplicas"].as_i64().unwrap_or(0)).sum()
}

/// Lets the controller work until it rests, no pod moving.
fn rest(mut world: World) -> World {
    while !world.plan().is_idle() {
        world = carry_out(&world);
    }
    world
}

/// Pods become ready one by one, `order` choosing the ReplicaSet each time, until all are; sizes
/// and revisions at the end.
fn ready_in(order: &[prop::sample::Index], world: &World) -> Vec<(String, i64, String)> {
    let mut world = rest(world.clone());
    for turn in order.iter().cycle() {
        let mut waiting: Vec<_> = world
            .sets
            .iter_mut()
            .filter(|set| {
                set["status"]["readyReplicas"].as_i64().unwrap_or(0) < set["spec"]["replicas"].as_i64().unwrap()
            })
            .collect();
        if waiting.is_empty() {
            break;
        }
        let turn = turn.index(waiting.len());
        let ready = waiting[turn]["status"]["readyReplicas"].as_i64().unwrap_or(0) + 1;
        for field in ["readyReplicas", "availableReplicas"] {
            waiting[turn]["status"][field] = ready.into();
        }
        world = rest(world);
    }
    let row = |set: &serde_json::Value| {
        let revision = set["metadata"]["annotations"][names::REVISION].to_string();
        (set["metadata"]["name"].to_string(), set["spec"]["replicas"].as_i64().unwrap(), revision)
    };
    world.sets.iter().map(row).collect()
}

fn all_ready(mut world: World) -> World {
    for set in &mut world.sets {
        for field in ["replicas", "readyReplicas", "availableReplicas"] {
            set["status"][field] = set["spec"]["replicas"].clone();
        }
    }
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn never_above_the_surge(world in world()) {
        let most = i64::from(crate::deployment::sizes::max_replicas(&world.observed().deployment));
        let after = carry_out(&world);
        prop_assert!(wanted(&after) <= most.max(wanted(&world)), "{} > {most}", wanted(&after));
    }

    #[test]
    fn never_below_the_floor_by_our_own_doing(world in world()) {
        let floor = i64::from(crate::deployment::sizes::min_available(&world.observed().deployment));
        let after = carry_out(&world);
        // A new ReplicaSet above what is asked for is cut to that, whatever of it is available.
        let too_many_new = world.sets.iter().any(|set| {
            set["metadata"]["name"] == "new" && set["spec"]["replicas"].as_i64() > world.deployment["spec"]["replicas"].as_i64()
        });
        prop_assume!(!too_many_new);
        prop_assert!(available(&after) >= floor.min(available(&world)), "{} < {floor}", available(&after));
    }

    #[test]
    fn planning_is_a_function(world in world()) {
        let (observed, settings) = (world.observed(), Settings::default());
        prop_assert_eq!(plan(&observed, now(), &settings), plan(&observed, now(), &settings));
    }

    /// With every pod ready at once, a rollout ends, complete, and then nothing more is planned.
    #[test]
    fn a_rollout_ends_and_rests(world in world()) {
        let mut world = world;
        for _ in 0..400 {
            if world.plan().is_idle() {
                break;
            }
            world = all_ready(carry_out(&world));
        }
        prop_assert!(world.plan().is_idle());
        let replicas = world.deployment["spec"]["replicas"].as_i64().unwrap();
        prop_assert_eq!(wanted(&world), replicas);
        prop_assert_eq!(world.deployment["status"]["updatedReplicas"].as_i64().unwrap_or(0), replicas);
    }

    /// Which pod becomes ready first decides about the way, not about the end.
    #[test]
    fn every_way_leads_to_the_same_end(
        world in world(),
        one in proptest::collection::vec(any::<prop::sample::Index>(), 1..12),
        other in proptest::collection::vec(any::<prop::sample::Index>(), 1..12),
    ) {
        prop_assert_eq!(ready_in(&one, &world), ready_in(&other, &world));
    }

    #[test]
    fn a_plan_writes_the_deployment_once_and_an_event_for_each_resize(world in world()) {
        let plan = world.plan();
        let statuses = plan.actions().filter(|action| matches!(action, Action::UpdateStatus(_))).count();
        prop_assert!(statuses <= 1);
        let resized = super::fixtures::sizes(&plan).iter().filter(|(name, size)| {
            *size > 0 || world.sets.iter().any(|set| set["metadata"]["name"] == **name)
        }).count();
        prop_assert_eq!(super::fixtures::messages(&plan).len(), resized);
    }
}
