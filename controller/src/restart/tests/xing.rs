//! What xing's controller does where the safe profile does otherwise: its defects, kept.

use serde_json::json;

use super::super::Profile;
use super::world::{C, WEB, World};
use crate::model::names::restart as names;

fn settled() -> World {
    World::new(Profile::Xing).settled()
}

/// One whose restart was refused, once.
fn refused() -> World {
    let mut world = settled();
    world.refuses = true;
    world.config(60_000, "c", json!({"k": "2"}));
    world.pass(70_000);
    world.refuses = false;
    world
}

#[test]
fn s20_the_window_is_fixed() {
    for (apart, restarts) in [(4500, 1), (5500, 2)] {
        let mut world = settled();
        world.config(60_000, "c", json!({"k": "2"}));
        world.config(60_000 + apart, "c2", json!({"k": "2"}));
        world.pass(120_000);
        assert_eq!(world.restarts(WEB).len(), restarts, "{apart}");
    }
}

/// X10.
#[test]
fn s22_a_config_that_changes_every_second() {
    let mut world = settled();
    for second in 0..20 {
        world.config(60_000 + second * 1000, "c", json!({"k": format!("v{second}")}));
    }
    world.pass(120_000);
    assert_eq!(world.restarts(WEB).len(), 4, "{:?}", world.restarts(WEB));
}

#[test]
fn s26_restarts_at_five() {
    let mut world = World::new(Profile::Xing);
    world.deployment(0, "web", &["c"]);
    world.config(1000, "c", json!({"k": "1"}));
    world.config(3000, "c", json!({"k": "2"}));
    world.pass(60_000);
    assert_eq!(world.restarts(WEB), [5000], "the workload's own change is due first, and the config was seen twice");
}

/// X2.
#[test]
fn s28_s29_a_missed_restart() {
    let mut world = settled();
    world.deployment(60_000, "new", &["c"]);
    world.config(62_000, "c", json!({"k": "2"}));
    world.pass(120_000);
    assert_eq!(world.restarts("deployment/new"), [0_u64; 0]);
}

/// X3.
#[test]
fn s30_a_spurious_restart() {
    let mut world = World::new(Profile::Xing);
    world.config(0, "c", json!({"k": "1"}));
    world.config(1000, "c", json!({"k": "2"}));
    world.deployment(2000, "web", &["c"]);
    world.pass(60_000);
    assert_eq!(world.restarts(WEB).len(), 1);
}

/// X4.
#[test]
fn s39_s41_deleted_and_re_created() {
    let mut world = settled();
    world.delete(60_000, C);
    world.config(62_000, "c", json!({"k": "2"}));
    world.pass(70_000);
    assert_eq!(world.restarts(WEB), [0_u64; 0]);
    world.config(70_000, "c2", json!({"k": "2"}));
    world.pass(80_000);
    assert_eq!(world.restarts(WEB).len(), 1);
    assert!(!world.applied(WEB).contains("configmap/ns/c\""), "purged");
    world.config(80_000, "c", json!({"k": "3"}));
    world.pass(120_000);
    assert_eq!(world.restarts(WEB).len(), 1, "lost for good");
}

/// X13.
#[test]
fn s44b_swallowed() {
    let mut world = settled();
    world.change(60_000, WEB, |web| {
        drop(web["metadata"]["annotations"].as_object_mut().unwrap().remove(names::CHECKSUMS));
    });
    world.config(61_000, "c", json!({"k": "2"}));
    world.pass(120_000);
    assert_eq!(world.restarts(WEB), [0_u64; 0]);
}

/// Caveat 2 of its README, and what it does at an orderly end.
#[test]
fn s53_s54_killed_and_ended() {
    for flushed in [false, true] {
        let mut world = World::new(Profile::Xing);
        world.deployment(0, "web", &["c"]);
        world.config(1000, "c", json!({"k": "1"}));
        world.config(3000, "c", json!({"k": "2"}));
        world.pass(4000);
        if flushed {
            world.flush();
        }
        world.restart_controller();
        world.pass(60_000);
        assert_eq!(world.restarts(WEB).len(), usize::from(flushed));
    }
}

/// X7.
#[test]
fn s61_an_error_is_forgotten() {
    let mut world = refused();
    world.pass(120_000);
    assert_eq!(world.restarts(WEB), [0_u64; 0]);
    world.change(120_000, WEB, |web| web["status"] = json!({"replicas": 1}));
    world.pass(130_000);
    assert_eq!(world.restarts(WEB), [125_000], "until the workload shows itself");
}

/// Scenario 34, section 1.8: what the annotation says of a config that is not seen yet stays.
#[test]
fn s34_what_is_not_seen_yet_is_kept() {
    let web = settled().get(WEB).clone();
    let mut world = World::new(Profile::Xing);
    world.object(0, WEB, web);
    world.config(0, "c", json!({"k": "2"}));
    world.pass(60_000);
    assert_eq!(world.restarts(WEB), [5000]);
    assert!(world.applied(WEB).contains(r#""configmap/ns/c2":"#), "{}", world.applied(WEB));
}

/// X7: with the next change, what was refused is written down as if the pods had it.
#[test]
fn s61_a_refused_restart_is_believed_to_be_done() {
    let mut world = refused();
    world.config(70_000, "c2", json!({"k": "2"}));
    world.pass(120_000);
    let causes = &world.writes.last().unwrap().2.as_ref().unwrap().causes;
    let configs: Vec<_> = causes.iter().map(|cause| cause.config.to_string()).collect();
    assert_eq!((world.restarts(WEB), configs), (vec![75_000], vec!["configmap/ns/c2".to_owned()]));
}
