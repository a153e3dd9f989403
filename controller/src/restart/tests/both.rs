//! Scenarios that end alike in both profiles.

use Profile::{Safe, Xing};
use rstest::rstest;
use serde_json::json;

use super::super::Profile;
use super::world::{C, WEB, World, deployment};
use crate::model::names::restart as names;

fn settled(profile: Profile) -> World {
    World::new(profile).settled()
}

#[rstest]
fn s01_s03_s04_not_opted_in(#[values(Xing, Safe)] profile: Profile, #[values("Enabled", "true", "")] value: &str) {
    let mut world = World::new(profile);
    world.config(0, "c", json!({"k": "1"}));
    let mut web = deployment("web", json!({"containers": [{"envFrom": [{"configMapRef": {"name": "c"}}]}]}));
    web["metadata"]["annotations"][names::ENABLED] = value.into();
    web["spec"]["template"]["metadata"]["annotations"] = json!({names::ENABLED: "enabled"});
    world.object(0, WEB, web);
    world.config(10_000, "c", json!({"k": "2"}));
    world.pass(60_000);
    assert_eq!(world.writes, []);
}

#[rstest]
fn s02_s09_s10_adopted_and_changed(#[values(Xing, Safe)] profile: Profile) {
    let mut world = settled(profile);
    assert!(world.records(WEB)[0] <= 6500);
    world.change(60_000, C, |config| config["metadata"]["labels"] = json!({"a": "b"}));
    world.pass(70_000);
    assert_eq!(world.writes.len(), 1, "labels do not count");
    world.config(70_200, "c", json!({"k": "2"}));
    assert_eq!(world.agent.numbers().waiting, 1, "scenario 69");
    world.pass(120_000);
    assert_eq!((world.restarts(WEB), world.records(WEB).len()), (vec![75_500], 1));
    assert_eq!(world.agent.numbers().waiting, 0);
    assert!(world.get(WEB)["spec"]["template"]["metadata"]["annotations"][names::TRIGGER].is_string());
}

#[rstest]
fn s05_s06_opted_out_and_in_again(#[values(Xing, Safe)] profile: Profile) {
    let mut world = settled(profile);
    world.config(60_000, "c", json!({"k": "2"}));
    world.change(61_000, WEB, |web| {
        drop(web["metadata"]["annotations"].as_object_mut().unwrap().remove(names::ENABLED));
    });
    world.pass(90_000);
    assert_eq!(world.restarts(WEB), [0_u64; 0]);
    world.change(90_000, WEB, |web| web["metadata"]["annotations"][names::ENABLED] = "enabled".into());
    world.pass(120_000);
    assert_eq!(world.restarts(WEB), [95_000]);
}

#[rstest]
fn s07_s11_kinds_do_not_interfere(#[values(Xing, Safe)] profile: Profile) {
    let mut world = settled(profile);
    let spec = json!({"containers": [{"envFrom": [{"configMapRef": {"name": "c"}}]}]});
    world.object(60_000, "statefulset/web", deployment("web", spec.clone()));
    world.object(60_000, "daemonset/web", deployment("web", spec));
    world.pass(70_000);
    world.config(70_000, "c", json!({"k": "2"}));
    world.pass(120_000);
    assert_eq!((world.restarts(WEB).len(), world.restarts("statefulset/web").len()), (1, 1));
    assert_eq!(world.restarts("daemonset/web").len(), usize::from(profile == Safe), "issue 2 of xing's");
}

#[rstest]
fn s12_its_own_spec_changes(#[values(Xing, Safe)] profile: Profile) {
    let mut world = settled(profile);
    world.change(60_000, WEB, |web| web["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2".into());
    world.pass(120_000);
    assert_eq!(world.writes.len(), 1);
}

#[rstest]
fn s14_there_and_back(#[values(Xing, Safe)] profile: Profile) {
    let mut world = settled(profile);
    world.config(60_000, "c", json!({"k": "2"}));
    world.config(62_000, "c", json!({"k": "1"}));
    world.pass(120_000);
    assert_eq!(world.writes.len(), 1);
}

#[rstest]
fn s19_s21_changes_are_merged(#[values(Xing, Safe)] profile: Profile) {
    let mut world = settled(profile);
    for at in [60_000, 61_000, 62_000] {
        world.config(at, "c", json!({"k": at.to_string()}));
    }
    world.config(63_000, "c2", json!({"k": "2"}));
    world.pass(120_000);
    assert_eq!(world.restarts(WEB).len(), 1);
    let restart = world.writes.last().unwrap().2.clone().unwrap();
    let configs = if profile == Safe { 4 } else { restart.merged };
    assert_eq!((restart.causes.len(), restart.merged), (2, configs));
}

#[rstest]
fn s20_apart_is_two(#[values(Xing, Safe)] profile: Profile) {
    let mut world = settled(profile);
    world.config(60_000, "c", json!({"k": "2"}));
    world.config(67_000, "c2", json!({"k": "2"}));
    world.pass(120_000);
    assert_eq!(world.restarts(WEB), [65_000, 72_000]);
}

#[rstest]
fn s26_s27_a_config_that_comes_later(#[values(Xing, Safe)] profile: Profile, #[values(true, false)] updated: bool) {
    let mut world = World::new(profile);
    world.deployment(0, "web", &["c"]);
    world.config(1000, "c", json!({"k": "1"}));
    if updated {
        world.config(3000, "c", json!({"k": "2"}));
    }
    world.pass(60_000);
    assert_eq!(world.restarts(WEB).len(), usize::from(updated));
    assert_eq!(world.records(WEB).is_empty(), updated && profile == Xing);
}

#[rstest]
fn s31_references_come_and_go(#[values(Xing, Safe)] profile: Profile) {
    let mut world = settled(profile);
    world.config(60_000, "c3", json!({"k": "1"}));
    world.deployment(60_000, "web", &["c", "c3"]);
    world.change(60_000, WEB, |web| {
        web["metadata"]["annotations"][names::CHECKSUMS] = r#"{"configmap/ns/c":"17abe5b2a5d8fe6a"}"#.into();
    });
    world.pass(120_000);
    assert!(!world.applied(WEB).contains("c2") && world.applied(WEB).contains("configmap/ns/c3"));
}

#[rstest]
fn s33_s34_late_lists(#[values(Xing, Safe)] profile: Profile) {
    let mut world = settled(profile);
    let web = world.get(WEB).clone();
    let mut late = World::new(profile);
    late.object(0, WEB, web);
    // Nothing of configs yet: in the safe profile the kinds are listed, so this is a required
    // config that is missing.
    late.pass(20_000);
    assert_eq!(late.writes, []);
    late.config(20_000, "c", json!({"k": "1"}));
    late.config(20_000, "c2", json!({"k": "1"}));
    late.pass(60_000);
    assert_eq!(late.writes, []);
    world.restart_controller();
    world.pass(120_000);
    assert_eq!(world.writes.len(), 1, "scenario 52");
}

#[rstest]
fn s38_deleted(#[values(Xing, Safe)] profile: Profile) {
    let mut world = settled(profile);
    world.delete(60_000, C);
    world.pass(70_000);
    assert_eq!(world.writes.len(), 1);
    world.config(70_000, "c2", json!({"k": "2"}));
    world.pass(120_000);
    assert_eq!(world.restarts(WEB), [75_000]);
}

#[rstest]
fn s40_re_created_with_the_same_data(#[values(Xing, Safe)] profile: Profile) {
    let mut world = settled(profile);
    world.delete(60_000, C);
    world.config(62_000, "c", json!({"k": "1"}));
    world.pass(120_000);
    assert_eq!(world.writes.len(), 1);
}

#[rstest]
fn s42_s43_the_workload_goes_and_comes_back(#[values(Xing, Safe)] profile: Profile) {
    let mut world = settled(profile);
    world.config(60_000, "c", json!({"k": "2"}));
    world.delete(61_000, WEB);
    world.pass(70_000);
    assert_eq!(world.writes.len(), 1);
    world.deployment(70_000, "web", &["c"]);
    world.pass(120_000);
    assert_eq!((world.records(WEB).len(), world.restarts(WEB).len()), (2, 0));
}

#[rstest]
#[case::s44_removed(None)]
#[case::s45_not_json(Some("nonsense"))]
#[case::s45_a_number(Some(r#"{"configmap/ns/c":1}"#))]
#[case::s45_a_list(Some("[]"))]
#[case::s46_null(Some("null"))]
#[case::s48_foreign_keys(Some(r#"{"configmap/other/c":"00","secret/ns/x":"00"}"#))]
fn broken_annotations(#[values(Xing, Safe)] profile: Profile, #[case] text: Option<&str>) {
    let mut world = settled(profile);
    let good = world.applied(WEB);
    world.change(60_000, WEB, |web| {
        let annotations = web["metadata"]["annotations"].as_object_mut().unwrap();
        annotations.remove(names::CHECKSUMS);
        annotations.extend(text.map(|text| (names::CHECKSUMS.to_owned(), text.into())));
    });
    world.pass(120_000);
    assert_eq!((world.restarts(WEB).len(), world.records(WEB).len()), (0, 2));
    assert_eq!(world.applied(WEB), good);
}

#[rstest]
fn s47_a_checksum_is_edited(#[values(Xing, Safe)] profile: Profile) {
    let mut world = settled(profile);
    let good = world.applied(WEB);
    let mut bad: serde_json::Value = serde_json::from_str(&good).unwrap();
    bad["configmap/ns/c"] = "edited".into();
    world.change(60_000, WEB, |web| web["metadata"]["annotations"][names::CHECKSUMS] = bad.to_string().into());
    world.pass(120_000);
    assert_eq!(world.restarts(WEB), [65_000]);
    assert_eq!(world.applied(WEB), good);
}

#[rstest]
fn s51_changed_while_away(#[values(Xing, Safe)] profile: Profile) {
    let mut world = settled(profile);
    world.change(60_000, C, |_| {});
    let mut away = World::new(profile);
    away.object(0, WEB, world.get(WEB).clone());
    away.config(0, "c", json!({"k": "2"}));
    away.config(0, "c2", json!({"k": "1"}));
    away.restart_controller();
    away.writes.clear();
    away.pass(60_000);
    assert_eq!(away.restarts(WEB), [5000]);
}
