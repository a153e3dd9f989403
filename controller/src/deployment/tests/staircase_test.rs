//! Whole rollouts as staircases: one pod becomes ready, and what is decided about it, as the cases
//! record it from upstream.

use insta::assert_snapshot;

use super::fixtures::{Set, World, carry_out, sizes, template};
use crate::model::names;

/// A settled Deployment of so many, all ready, about to get another template.
fn before(replicas: i32, world: World) -> World {
    let max = crate::deployment::sizes::max_replicas(&world.observed().deployment);
    let set = Set::new("rs1", replicas, 1).revision(1).sized_for(replicas, max).healthy(replicas);
    world.annotate(names::REVISION, "1").with(set)
}

/// Lets the controller work until it rests; the sizes it gave, in order.
fn rest(world: &mut World) -> String {
    let mut steps = Vec::new();
    for _ in 0..50 {
        let plan = world.plan();
        if plan.is_idle() {
            return steps.join("; ");
        }
        for (name, size) in sizes(&plan) {
            let name = if name.starts_with("foo-") { "new" } else { &name };
            steps.push(format!("{name} {size}"));
        }
        *world = carry_out(world);
    }
    panic!("never rests: {}", steps.join("; "));
}

/// One pod of the new ReplicaSet becomes ready; `false` if all are.
fn ready(world: &mut World) -> bool {
    let Some(new) = world.sets.iter_mut().find(|set| set["metadata"]["name"] != "rs1") else {
        return false;
    };
    let ready = new["status"]["readyReplicas"].as_i64().unwrap_or(0);
    if ready >= new["spec"]["replicas"].as_i64().unwrap() {
        return false;
    }
    for field in ["readyReplicas", "availableReplicas"] {
        new["status"][field] = (ready + 1).into();
    }
    true
}

fn staircase(mut world: World) -> String {
    let mut lines = vec![rest(&mut world)];
    while ready(&mut world) {
        lines.push(format!("ready  {}", rest(&mut world)).trim_end().to_owned());
    }
    lines.join("\n")
}

/// Case `rolling/quarter-on-ten`.
#[test]
fn quarter_on_ten() {
    assert_snapshot!(staircase(before(10, World::new(10).bounds("25%", "25%"))), @r"
new 3; rs1 8; new 5
ready  rs1 7; new 6
ready  rs1 6; new 7
ready  rs1 5; new 8
ready  rs1 4; new 9
ready  rs1 3; new 10
ready  rs1 2
ready  rs1 1
ready  rs1 0
ready
ready
");
}

/// Case `rolling/surge-1-unavailable-0`.
#[test]
fn surge_1_unavailable_0() {
    assert_snapshot!(staircase(before(3, World::new(3).bounds(1, 0))), @r"
new 1
ready  rs1 2; new 2
ready  rs1 1; new 3
ready  rs1 0
");
}

/// Case `scale/up-in-mid-rollout`: stuck at eight old and five new, scaled to thirty, then a third
/// template.
#[test]
fn scaled_in_mid_rollout_and_rolled_over() {
    let mut world = before(10, World::new(10).bounds(3, 2));
    let mut lines = vec![rest(&mut world)];
    world = world.spec("replicas", 30);
    lines.push(format!("scale  {}", rest(&mut world)));
    world.deployment["spec"]["template"] = template("app:third");
    for set in &mut world.sets {
        if set["metadata"]["name"] != "rs1" {
            set["metadata"]["name"] = "rs2".into();
        }
    }
    lines.push(format!("third  {}", rest(&mut world)));
    assert_snapshot!(lines.join("\n"), @r"
new 3; rs1 8; new 5
scale  rs1 20; new 13
third  new 0; rs1 15; new 5
");
}
