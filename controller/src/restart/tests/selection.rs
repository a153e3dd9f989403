//! Keys that a workload's annotation selects.

use rstest::rstest;
use serde_json::{Value, json};

use super::super::Profile;
use super::world::{C, ONE, TWO, WEB, World, keyed};
use crate::model::names::restart as names;

/// A workload that uses all of two configs, long ago, with keys selected.
fn selecting(keys: &str) -> World {
    let mut world = World::new(Profile::Safe);
    world.config(0, "c", json!({"level": "1", "mode": "1"}));
    world.config(0, "c2", json!({"k": "1"}));
    world.deployment(0, "web", &["c", "c2"]);
    world.change(1000, WEB, |web| web["metadata"]["annotations"][names::KEYS] = keys.into());
    world.pass(60_000);
    assert_eq!(world.restarts(WEB), [0; 0]);
    world.writes.clear();
    world
}

fn select(world: &mut World, at: u64, keys: Option<&str>) {
    world.only_seen(at, WEB, |web| {
        let annotations = web["metadata"]["annotations"].as_object_mut().unwrap();
        annotations.remove(names::KEYS);
        annotations.extend(keys.map(|keys| (names::KEYS.to_owned(), keys.into())));
    });
}

#[rstest]
#[case::another_key(json!({"level": "1", "mode": "2"}), 0)]
#[case::another_key_appears(json!({"level": "1", "mode": "1", "new": "1"}), 0)]
#[case::another_key_goes(json!({"level": "1"}), 0)]
#[case::the_key(json!({"level": "2", "mode": "1"}), 1)]
#[case::the_key_goes(json!({"mode": "1"}), 1)]
#[case::both(json!({"level": "2", "mode": "2"}), 1)]
fn only_selected_keys_restart(#[case] data: Value, #[case] restarts: usize, #[values(false, true)] away: bool) {
    let mut world = selecting("configmap/c/level");
    if away {
        world.forget();
    }
    world.config(60_000, "c", data);
    if away {
        world.restart_controller();
    }
    world.pass(120_000);
    assert_eq!(world.restarts(WEB).len(), restarts);
    if let (false, [(.., Some(restart))]) = (away, world.writes.as_slice()) {
        assert_eq!(restart.causes[0].keys, ["level".to_owned()].into());
    }
}

#[test]
fn a_selected_key_that_appears_restarts() {
    let mut world = selecting("configmap/c/later");
    world.config(60_000, "c", json!({"level": "1", "mode": "1", "later": ""}));
    world.pass(120_000);
    assert_eq!(world.restarts(WEB), [65_000]);
}

#[test]
fn configs_that_are_not_named_restart_as_ever() {
    let mut world = selecting("configmap/c/level,secret/c2/k");
    world.config(60_000, "c2", json!({"k": "2"}));
    world.pass(120_000);
    assert_eq!(world.restarts(WEB).len(), 1);
}

/// The annotation itself, whatever it was and is, with a controller that sees it and one that was
/// away.
#[rstest]
fn a_selection_that_changes_restarts_nothing(
    #[values(
        None,
        Some("configmap/c/mode"),
        Some("configmap/c/level,configmap/c/mode"),
        Some("configmap/c/none"),
        Some("?")
    )]
    next: Option<&str>,
    #[values(false, true)] away: bool,
) {
    let mut world = selecting("configmap/c/level");
    world.config(60_000, "c", json!({"level": "1", "mode": "2"}));
    if away {
        world.forget();
    }
    select(&mut world, 61_000, next);
    if away {
        world.restart_controller();
    }
    world.pass(120_000);
    assert_eq!(world.restarts(WEB), [0; 0]);
    // What is written is of the keys that count now, and stays right.
    let written = world.applied(WEB);
    world.restart_controller();
    world.pass(180_000);
    assert_eq!((world.restarts(WEB).len(), world.applied(WEB)), (0, written));
    world.config(180_000, "c", json!({"level": "1", "mode": "3"}));
    world.pass(240_000);
    let counts = !matches!(next, Some("configmap/c/none"));
    assert_eq!(world.restarts(WEB).len(), usize::from(counts));
}

/// What was due by the old selection is carried out.
#[rstest]
fn a_change_that_waits_while_the_selection_changes(#[values(false, true)] away: bool) {
    let mut world = selecting("configmap/c/level");
    world.config(60_000, "c", json!({"level": "2", "mode": "1"}));
    select(&mut world, 61_000, Some("configmap/c/mode"));
    if away {
        world.restart_controller();
    }
    world.pass(120_000);
    assert_eq!(world.restarts(WEB).len(), 1);
    let (.., last) = world.writes.last().unwrap();
    assert!(last.is_some() && world.applied(WEB).contains(r#""configmap/ns/c":"keys=mode;"#), "{}", world.applied(WEB));
}

/// Keys of a Secret are named in the annotation, and their values are not to be guessed from it.
#[test]
fn selected_keys_of_a_secret_and_a_rotated_key() {
    let mut world = World::new(Profile::Safe);
    let secret = |pin: &str, other: &str| json!({"metadata": {"name": "s", "namespace": "ns"}, "data": {"pin": pin, "other": other}});
    world.object(0, "secret/s", secret("MQ==", "MQ=="));
    let mut web = super::world::deployment("web", json!({"volumes": [{"secret": {"secretName": "s"}}]}));
    web["metadata"]["annotations"][names::KEYS] = "secret/s/pin".into();
    world.object(0, WEB, web);
    world.pass(60_000);
    assert!(world.applied(WEB).starts_with(r#"{"secret/ns/s":"keys=pin;hmac-sha256:"#), "{}", world.applied(WEB));
    world.object(60_000, "secret/s", secret("MQ==", "Mg=="));
    world.restart_with(keyed(TWO, Some(ONE)));
    world.pass(120_000);
    assert_eq!(world.restarts(WEB), [0; 0]);
    // The selection and the key at once.
    world.forget();
    select(&mut world, 130_000, None);
    world.restart_with(keyed(ONE, Some(TWO)));
    world.pass(180_000);
    assert_eq!((world.restarts(WEB).len(), world.told.len()), (0, 0));
    assert!(world.applied(WEB).starts_with(r#"{"secret/ns/s":"hmac-sha256:"#), "{}", world.applied(WEB));
    world.object(180_000, "secret/s", secret("Mg==", "Mg=="));
    world.pass(240_000);
    assert_eq!(world.restarts(WEB), [185_000]);
}

#[test]
fn a_selection_that_cannot_be_read_is_told_once_and_selects_nothing() {
    let mut world = selecting("level");
    assert_eq!(world.told, ["bad annotation"]);
    world.change(60_000, C, |config| config["data"]["mode"] = "2".into());
    world.pass(120_000);
    assert_eq!((world.restarts(WEB).len(), world.told.len()), (1, 1));
}

#[test]
fn profile_xing_does_not_know_it() {
    let mut world = World::new(Profile::Xing);
    world.config(0, "c", json!({"level": "1", "mode": "1"}));
    world.deployment(0, "web", &["c"]);
    world.change(1000, WEB, |web| web["metadata"]["annotations"][names::KEYS] = "configmap/c/level".into());
    world.pass(60_000);
    world.config(60_000, "c", json!({"level": "1", "mode": "2"}));
    world.pass(120_000);
    assert_eq!(world.restarts(WEB).len(), 1);
}
