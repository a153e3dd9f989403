//! Where the safe profile mends what xing's controller does wrong.

use rstest::rstest;
use serde_json::{Value, json};

use super::super::{Held, Profile};
use super::world::{C, WEB, World, deployment, env_from};
use crate::model::names::restart as names;

fn settled() -> World {
    settle(World::new(Profile::Safe))
}

fn settle(world: World) -> World {
    let mut world = world.settled();
    world.writes.clear();
    world
}

fn using(world: &mut World, at: u64, pod_spec: Value) {
    world.object(at, WEB, deployment("web", pod_spec));
}

/// The ways that xing's does not know (X1).
#[rstest]
#[case(json!({"containers": [{"env": [{"valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}}]}]}))]
#[case(json!({"volumes": [{"projected": {"sources": [{"configMap": {"name": "c"}}]}}]}))]
#[case(json!({"initContainers": [{"envFrom": [{"configMapRef": {"name": "c"}}]}]}))]
#[case(json!({"ephemeralContainers": [{"envFrom": [{"configMapRef": {"name": "c"}}]}]}))]
fn s08_all_references(#[case] spec: Value) {
    let mut world = World::new(Profile::Safe);
    world.config(0, "c", json!({"k": "1"}));
    using(&mut world, 0, spec);
    world.config(10_000, "c", json!({"k": "2"}));
    world.pass(60_000);
    assert_eq!(world.restarts(WEB), [15_000]);
}

#[test]
fn s17_s18_binary_data_counts_and_keys_that_are_not_used_do_not() {
    let mut world = World::new(Profile::Safe);
    let config = |k1: &str, k2: &str, binary: &str| json!({"metadata": {"name": "c", "namespace": "ns"}, "data": {"k1": k1, "k2": k2}, "binaryData": {"b": binary}});
    world.object(0, C, config("1", "1", "AA=="));
    using(
        &mut world,
        0,
        json!({"containers": [{"env": [{"valueFrom": {"configMapKeyRef": {"name": "c", "key": "k1"}}}]}]}),
    );
    world.object(0, "deployment/all", deployment("all", json!({"volumes": [{"configMap": {"name": "c"}}]})));
    world.object(10_000, C, config("1", "2", "AA=="));
    world.pass(20_000);
    assert_eq!((world.restarts(WEB).len(), world.restarts("deployment/all").len()), (0, 1));
    world.object(20_000, C, config("1", "2", "AQ=="));
    world.pass(30_000);
    assert_eq!((world.restarts(WEB).len(), world.restarts("deployment/all").len()), (0, 2));
    world.object(30_000, C, config("2", "2", "AQ=="));
    world.pass(60_000);
    assert_eq!((world.restarts(WEB).len(), world.restarts("deployment/all").len()), (1, 3));
}

#[test]
fn s22_the_window_slides_and_ends() {
    let mut world = settled();
    for second in 0..120 {
        world.config(60_000 + second * 1000, "c", json!({"k": format!("v{second}")}));
    }
    world.pass(300_000);
    assert_eq!(world.restarts(WEB), [120_000, 180_000]);
}

#[test]
fn s24_the_budget_holds_and_nothing_is_lost() {
    let mut world = settle(World::budget(3, 600));
    for second in 0..600 {
        world.config(60_000 + second * 1000, "c", json!({"k": format!("v{second}")}));
    }
    assert_eq!(world.restarts(WEB).len(), 3);
    assert_eq!((world.told.as_slice(), world.agent.numbers().throttled), (["throttled"].as_slice(), 1));
    world.pass(2_000_000);
    let last = world.writes.last().unwrap().2.clone().unwrap();
    assert_eq!(world.restarts(WEB).len(), 4, "{:?}", world.restarts(WEB));
    assert_eq!(last.causes[0].keys, ["k".to_owned()].into());
    assert_eq!(world.agent.numbers().throttled, 0);
}

/// X11, in the order in which helm applies.
#[test]
fn s25_a_config_and_then_the_spec() {
    let mut world = settled();
    world.config(60_000, "c", json!({"k": "2"}));
    world.change(60_300, WEB, |web| web["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2".into());
    world.pass(120_000);
    assert_eq!((world.restarts(WEB).len(), world.records(WEB).len()), (0, 1));
    world.config(120_000, "c", json!({"k": "3"}));
    world.pass(180_000);
    assert_eq!(world.restarts(WEB), [125_000]);
}

/// The other order: pods of the rollout may have begun before the change.
#[test]
fn s25_the_spec_and_then_a_config() {
    let mut world = settled();
    world.change(60_000, WEB, |web| web["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2".into());
    world.config(60_300, "c", json!({"k": "2"}));
    world.pass(120_000);
    assert_eq!(world.restarts(WEB).len(), 1);
}

/// X2.
#[test]
fn s28_s29_a_change_right_after_the_first_look() {
    let mut world = settled();
    world.deployment(60_000, "new", &["c"]);
    world.deployment(60_000, "web", &["c", "c3"]);
    world.config(62_000, "c", json!({"k": "2"}));
    world.pass(120_000);
    assert_eq!(world.restarts("deployment/new"), [67_000]);
}

/// X3.
#[test]
fn s30_pods_began_with_the_last_data() {
    let mut world = World::new(Profile::Safe);
    world.config(0, "c", json!({"k": "1"}));
    world.config(1000, "c", json!({"k": "2"}));
    world.deployment(2000, "web", &["c"]);
    world.pass(60_000);
    assert_eq!((world.restarts(WEB).len(), world.records(WEB)), (0, vec![2000]));
}

/// X5.
#[rstest]
#[case::an_hour_later(3_600_000)]
#[case::soon(3000)]
fn s32_an_optional_config_appears(#[case] at: u64) {
    let mut world = World::new(Profile::Safe);
    using(&mut world, 0, env_from(&["c"], true));
    world.config(at, "c", json!({"k": "1"}));
    world.pass(at + 60_000);
    assert_eq!(world.restarts(WEB), [at + 5000]);
}

/// Scenario 33 with an optional reference: an event that is late is no change.
#[test]
fn s33_an_optional_config_whose_event_is_late() {
    let mut world = World::new(Profile::Safe);
    world.config(0, "c", json!({"k": "1"}));
    let config = world.get(C).clone();
    let mut late = World::new(Profile::Safe);
    let mut web = deployment("web", env_from(&["c"], true));
    web["metadata"]["uid"] = "u".into();
    web["metadata"]["resourceVersion"] = "7".into();
    late.show_stale(0, WEB, web.clone());
    late.show_stale(3000, C, config);
    assert_eq!(late.restarts(WEB), [0_u64; 0]);
    assert_eq!(late.agent.numbers().waiting, 0);
}

/// Scenario 37.
#[test]
fn s37_an_event_from_before_the_own_write() {
    let mut world = settled();
    let before = world.get(WEB).clone();
    world.config(60_000, "c", json!({"k": "2"}));
    world.pass(65_000);
    world.show_stale(65_100, WEB, before);
    world.pass(120_000);
    assert_eq!(world.writes.len(), 1);
}

/// X4.
#[test]
fn s39_s41_deleted_and_re_created() {
    let mut world = settled();
    world.delete(60_000, C);
    world.config(62_000, "c2", json!({"k": "2"}));
    world.pass(70_000);
    assert_eq!(world.restarts(WEB), [67_000]);
    assert!(world.applied(WEB).contains("configmap/ns/c\""), "one that is referred to is not purged");
    world.config(70_000, "c", json!({"k": "2"}));
    world.pass(80_000);
    assert_eq!(world.restarts(WEB), [67_000, 75_000]);
    world.config(80_000, "c", json!({"k": "3"}));
    world.pass(120_000);
    assert_eq!(world.restarts(WEB), [67_000, 75_000, 85_000]);
}

/// X13, whichever comes first.
#[rstest]
fn s44b_the_annotation_goes_and_the_config_changes(#[values(true, false)] first: bool) {
    let mut world = settled();
    let remove =
        |web: &mut Value| drop(web["metadata"]["annotations"].as_object_mut().unwrap().remove(names::CHECKSUMS));
    if first {
        world.change(60_000, WEB, remove);
        world.config(60_100, "c", json!({"k": "2"}));
    } else {
        world.config(60_000, "c", json!({"k": "2"}));
        world.change(60_100, WEB, remove);
    }
    world.pass(120_000);
    assert_eq!(world.restarts(WEB).len(), 1);
}

/// kubectl rollout undo brings the template and the annotations of before.
#[test]
fn s49_undo() {
    let mut world = settled();
    let before = world.get(WEB).clone();
    world.config(60_000, "c", json!({"k": "2"}));
    world.pass(70_000);
    assert_eq!(world.restarts(WEB).len(), 1);
    world.change(70_000, WEB, |web| {
        web["spec"]["template"] = before["spec"]["template"].clone();
        web["metadata"]["annotations"] = before["metadata"]["annotations"].clone();
    });
    world.pass(120_000);
    assert_eq!((world.restarts(WEB).len(), world.records(WEB).len()), (1, 1), "its pods have the data of now");
    world.config(120_000, "c", json!({"k": "3"}));
    world.pass(180_000);
    assert_eq!(world.restarts(WEB).len(), 2);
}

#[test]
fn s50_the_trigger_is_taken_out() {
    let mut world = settled();
    world.config(60_000, "c", json!({"k": "2"}));
    world.pass(70_000);
    world.change(70_000, WEB, |web| {
        drop(web["spec"]["template"]["metadata"].as_object_mut().unwrap().remove("annotations"));
    });
    world.pass(120_000);
    assert_eq!(world.writes.len(), 1);
}

/// Caveat 2 of xing's README, and 57: a crash at any moment.
#[test]
fn s53_s55_ended_at_any_moment() {
    for killed in (0..100).map(|n| n * 100) {
        let mut world = World::new(Profile::Safe);
        let mut steps: Vec<(u64, &str)> = vec![(0, "web"), (1000, "1"), (3000, "2"), (killed, "kill")];
        steps.sort_by_key(|(at, _)| *at);
        for (at, what) in steps {
            match what {
                "web" => world.deployment(at, "web", &["c"]),
                "kill" => {
                    world.pass(at);
                    world.flush();
                    world.restart_controller();
                }
                data => world.config(at, "c", json!({"k": data})),
            }
        }
        world.pass(60_000);
        assert_eq!(world.restarts(WEB).len(), 1, "killed at {killed}");
    }
}

/// X6, X7: refused for a while.
#[test]
fn s61_s63_s64_a_refusal_is_tried_again_and_holds_nobody_up() {
    let mut world = settled();
    world.refuses = true;
    world.config(60_000, "c", json!({"k": "2"}));
    world.pass(70_000);
    assert_eq!(world.agent.numbers().stuck, 1);
    world.refuses = false;
    world.pass(120_000);
    assert_eq!((world.restarts(WEB).len(), world.agent.numbers().stuck), (1, 0));
}

/// X14.
#[test]
fn s65_s66_deferred() {
    let mut world = settled();
    world.change(60_000, WEB, |web| web["spec"]["paused"] = true.into());
    world.config(61_000, "c", json!({"k": "2"}));
    world.pass(70_000);
    let restart = world.writes[0].2.clone().unwrap();
    assert_eq!((world.writes.len(), restart.held, world.agent.numbers().deferred), (1, Some(Held::Paused), 1));
    world.change(70_000, WEB, |web| web["spec"]["paused"] = false.into());
    world.pass(120_000);
    assert_eq!((world.writes.len(), world.agent.numbers().deferred), (1, 0));
}

/// X14: whoever deletes a pod of a set that is updated OnDelete gets a new one, and not before.
#[rstest]
#[case::stateful_set("statefulset/web", json!({"updateStrategy": {"type": "OnDelete"}}), Some(Held::OnDelete))]
#[case::daemon_set("daemonset/web", json!({"updateStrategy": {"type": "OnDelete"}}), Some(Held::OnDelete))]
#[case::rolling("statefulset/web", json!({"updateStrategy": {"type": "RollingUpdate"}}), None)]
#[case::by_default("statefulset/web", json!({}), None)]
#[case::paused_is_no_word_for_it("statefulset/web", json!({"paused": true}), None)]
#[case::nor_is_that_one_of_a_deployment("deployment/web", json!({"updateStrategy": {"type": "OnDelete"}}), None)]
fn s66_on_delete(#[case] path: &str, #[case] spec: Value, #[case] held: Option<Held>) {
    let mut world = World::new(Profile::Safe);
    world.config(0, "c", json!({"k": "1"}));
    let mut set = deployment("web", env_from(&["c"], false));
    json_patch::merge(&mut set["spec"], &spec);
    world.object(0, path, set);
    world.config(60_000, "c", json!({"k": "2"}));
    world.pass(120_000);
    let restart = world.writes.last().unwrap().2.clone().unwrap();
    assert_eq!((restart.held, world.agent.numbers().deferred), (held, usize::from(held.is_some())));
}

#[rstest]
#[case::by_the_config(true)]
#[case::by_the_workload(false)]
fn opted_out_per_config(#[case] by_config: bool) {
    let mut world = settled();
    if by_config {
        world.change(60_000, C, |config| config["metadata"]["annotations"] = json!({names::IGNORE: "true"}));
    } else {
        world.change(60_000, WEB, |web| web["metadata"]["annotations"][names::IGNORE] = "secret/x, configmap/c".into());
    }
    world.change(70_000, C, |config| config["data"]["k"] = "2".into());
    world.pass(90_000);
    assert_eq!(world.restarts(WEB), [0_u64; 0]);
    world.config(90_000, "c2", json!({"k": "2"}));
    world.pass(120_000);
    assert_eq!(world.restarts(WEB), [95_000]);
}

#[test]
fn s73_a_dry_run() {
    let mut world = World::dry();
    world.config(0, "c", json!({"k": "1"}));
    world.deployment(0, "web", &["c"]);
    world.config(10_000, "c", json!({"k": "2"}));
    world.pass(60_000);
    world.config(60_000, "c", json!({"k": "3"}));
    world.pass(120_000);
    assert_eq!((world.writes.len(), world.told.as_slice()), (0, ["would restart"; 2].as_slice()));
}

/// A wave of restarts is what taking over from xing's controller must not be.
#[test]
fn taken_over_from_xing() {
    let mut world = World::new(Profile::Safe);
    world.config(0, "c", json!({"key": "value"}));
    let mut web = deployment(
        "web",
        json!({
            "containers": [{"envFrom": [{"configMapRef": {"name": "c"}}]}],
            "volumes": [{"secret": {"secretName": "s"}}],
        }),
    );
    web["metadata"]["annotations"][names::CHECKSUMS] = r#"{"configmap/ns/c":"e43abcf337524483"}"#.into();
    world.object(0, "secret/s", json!({"metadata": {"name": "s", "namespace": "ns"}, "data": {"a": "MQ=="}}));
    world.object(0, WEB, web);
    world.restart_controller();
    world.pass(60_000);
    assert_eq!((world.restarts(WEB).len(), world.records(WEB).len()), (0, 1), "the Secret is new to it");
    world.config(60_000, "c", json!({"key": "other"}));
    world.pass(120_000);
    assert_eq!(world.restarts(WEB).len(), 1);
}
