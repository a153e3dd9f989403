//! Scenarios with the same result in the profiles `xing` and `safe`.

use Profile::{Safe, Xing};
use rollout_model::names::restart as names;
use rstest::rstest;
use serde_json::json;

use crate::Profile;
use crate::tests::fixture::{C, Fixture, WEB, deployment};

fn settled(profile: Profile) -> Fixture {
    Fixture::new(profile).settled()
}

#[rstest]
fn s01_s03_s04_workload_that_has_not_opted_in_is_not_written(
    #[values(Xing, Safe)] profile: Profile,
    #[values("Enabled", "true", "")] value: &str,
) {
    let mut fixture = Fixture::new(profile);
    fixture.config(0, "c", json!({"k": "1"}));
    let mut web = deployment("web", json!({"containers": [{"envFrom": [{"configMapRef": {"name": "c"}}]}]}));
    web["metadata"]["annotations"][names::ENABLED] = value.into();
    web["spec"]["template"]["metadata"]["annotations"] = json!({names::ENABLED: "enabled"});
    fixture.object(0, WEB, web);
    fixture.config(10_000, "c", json!({"k": "2"}));
    fixture.advance_to(60_000);
    assert_eq!(fixture.writes, []);
}

#[rstest]
fn s02_s09_s10_adopted_workload_restarts_for_data_only(#[values(Xing, Safe)] profile: Profile) {
    let mut fixture = settled(profile);
    assert!(fixture.records(WEB)[0] <= 6500);
    fixture.change(60_000, C, |config| config["metadata"]["labels"] = json!({"a": "b"}));
    fixture.advance_to(70_000);
    assert_eq!(fixture.writes.len(), 1, "labels do not count");
    fixture.config(70_200, "c", json!({"k": "2"}));
    assert_eq!(fixture.reconciler.gauges().waiting, 1, "scenario 69");
    fixture.advance_to(120_000);
    assert_eq!((fixture.restarts(WEB), fixture.records(WEB).len()), (vec![75_500], 1));
    assert_eq!(fixture.reconciler.gauges().waiting, 0);
    assert!(fixture.get(WEB)["spec"]["template"]["metadata"]["annotations"][names::TRIGGER].is_string());
}

#[rstest]
fn s05_s06_workload_restarts_after_it_opts_in_again(#[values(Xing, Safe)] profile: Profile) {
    let mut fixture = settled(profile);
    fixture.config(60_000, "c", json!({"k": "2"}));
    fixture.change(61_000, WEB, |web| {
        drop(web["metadata"]["annotations"].as_object_mut().unwrap().remove(names::ENABLED));
    });
    fixture.advance_to(90_000);
    assert_eq!(fixture.restarts(WEB), [0_u64; 0]);
    fixture.change(90_000, WEB, |web| web["metadata"]["annotations"][names::ENABLED] = "enabled".into());
    fixture.advance_to(120_000);
    assert_eq!(fixture.restarts(WEB), [95_000]);
}

#[rstest]
fn s07_s11_kinds_do_not_interfere(#[values(Xing, Safe)] profile: Profile) {
    let mut fixture = settled(profile);
    let spec = json!({"containers": [{"envFrom": [{"configMapRef": {"name": "c"}}]}]});
    fixture.object(60_000, "statefulset/web", deployment("web", spec.clone()));
    fixture.object(60_000, "daemonset/web", deployment("web", spec));
    fixture.advance_to(70_000);
    fixture.config(70_000, "c", json!({"k": "2"}));
    fixture.advance_to(120_000);
    assert_eq!((fixture.restarts(WEB).len(), fixture.restarts("statefulset/web").len()), (1, 1));
    assert_eq!(fixture.restarts("daemonset/web").len(), usize::from(profile == Safe), "issue 2 of xing's");
}

#[rstest]
fn s12_change_of_the_spec_causes_no_write(#[values(Xing, Safe)] profile: Profile) {
    let mut fixture = settled(profile);
    fixture.change(60_000, WEB, |web| web["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2".into());
    fixture.advance_to(120_000);
    assert_eq!(fixture.writes.len(), 1);
}

#[rstest]
fn s14_data_that_is_changed_back_restarts_nothing(#[values(Xing, Safe)] profile: Profile) {
    let mut fixture = settled(profile);
    fixture.config(60_000, "c", json!({"k": "2"}));
    fixture.config(62_000, "c", json!({"k": "1"}));
    fixture.advance_to(120_000);
    assert_eq!(fixture.writes.len(), 1);
}

#[rstest]
fn s19_s21_changes_within_the_window_are_merged(#[values(Xing, Safe)] profile: Profile) {
    let mut fixture = settled(profile);
    for at in [60_000, 61_000, 62_000] {
        fixture.config(at, "c", json!({"k": at.to_string()}));
    }
    fixture.config(63_000, "c2", json!({"k": "2"}));
    fixture.advance_to(120_000);
    assert_eq!(fixture.restarts(WEB).len(), 1);
    let restart = fixture.writes.last().unwrap().2.clone().unwrap();
    let configs = if profile == Safe { 4 } else { restart.merged };
    assert_eq!((restart.causes.len(), restart.merged), (2, configs));
}

#[rstest]
fn s20_changes_in_different_windows_restart_twice(#[values(Xing, Safe)] profile: Profile) {
    let mut fixture = settled(profile);
    fixture.config(60_000, "c", json!({"k": "2"}));
    fixture.config(67_000, "c2", json!({"k": "2"}));
    fixture.advance_to(120_000);
    assert_eq!(fixture.restarts(WEB), [65_000, 72_000]);
}

#[rstest]
fn s26_s27_config_created_later_restarts_only_if_it_changes(
    #[values(Xing, Safe)] profile: Profile,
    #[values(true, false)] updated: bool,
) {
    let mut fixture = Fixture::new(profile);
    fixture.deployment(0, "web", &["c"]);
    fixture.config(1000, "c", json!({"k": "1"}));
    if updated {
        fixture.config(3000, "c", json!({"k": "2"}));
    }
    fixture.advance_to(60_000);
    assert_eq!(fixture.restarts(WEB).len(), usize::from(updated));
    assert_eq!(fixture.records(WEB).is_empty(), updated && profile == Xing);
}

#[rstest]
fn s31_checksums_follow_the_references(#[values(Xing, Safe)] profile: Profile) {
    let mut fixture = settled(profile);
    fixture.config(60_000, "c3", json!({"k": "1"}));
    fixture.deployment(60_000, "web", &["c", "c3"]);
    fixture.change(60_000, WEB, |web| {
        web["metadata"]["annotations"][names::CHECKSUMS] = r#"{"configmap/ns/c":"17abe5b2a5d8fe6a"}"#.into();
    });
    fixture.advance_to(120_000);
    assert!(!fixture.checksums(WEB).contains("c2") && fixture.checksums(WEB).contains("configmap/ns/c3"));
}

#[rstest]
fn s33_s34_late_lists_restart_nothing(#[values(Xing, Safe)] profile: Profile) {
    let mut fixture = settled(profile);
    let web = fixture.get(WEB).clone();
    let mut late = Fixture::new(profile);
    late.object(0, WEB, web);
    // No config has been seen yet. In the safe profile the kinds have been listed, so a required
    // config is missing.
    late.advance_to(20_000);
    assert_eq!(late.writes, []);
    late.config(20_000, "c", json!({"k": "1"}));
    late.config(20_000, "c2", json!({"k": "1"}));
    late.advance_to(60_000);
    assert_eq!(late.writes, []);
    fixture.restart_controller();
    fixture.advance_to(120_000);
    assert_eq!(fixture.writes.len(), 1, "scenario 52");
}

#[rstest]
fn s38_deleted_config_restarts_nothing_and_others_still_do(#[values(Xing, Safe)] profile: Profile) {
    let mut fixture = settled(profile);
    fixture.delete(60_000, C);
    fixture.advance_to(70_000);
    assert_eq!(fixture.writes.len(), 1);
    fixture.config(70_000, "c2", json!({"k": "2"}));
    fixture.advance_to(120_000);
    assert_eq!(fixture.restarts(WEB), [75_000]);
}

#[rstest]
fn s40_config_re_created_with_the_same_data_restarts_nothing(#[values(Xing, Safe)] profile: Profile) {
    let mut fixture = settled(profile);
    fixture.delete(60_000, C);
    fixture.config(62_000, "c", json!({"k": "1"}));
    fixture.advance_to(120_000);
    assert_eq!(fixture.writes.len(), 1);
}

#[rstest]
fn s42_s43_re_created_workload_is_adopted_without_a_restart(#[values(Xing, Safe)] profile: Profile) {
    let mut fixture = settled(profile);
    fixture.config(60_000, "c", json!({"k": "2"}));
    fixture.delete(61_000, WEB);
    fixture.advance_to(70_000);
    assert_eq!(fixture.writes.len(), 1);
    fixture.deployment(70_000, "web", &["c"]);
    fixture.advance_to(120_000);
    assert_eq!((fixture.records(WEB).len(), fixture.restarts(WEB).len()), (2, 0));
}

#[rstest]
#[case::s44_removed(None)]
#[case::s45_not_json(Some("nonsense"))]
#[case::s45_a_number(Some(r#"{"configmap/ns/c":1}"#))]
#[case::s45_a_list(Some("[]"))]
#[case::s46_null(Some("null"))]
#[case::s48_foreign_keys(Some(r#"{"configmap/other/c":"00","secret/ns/x":"00"}"#))]
fn broken_checksums_annotation_is_replaced_without_a_restart(
    #[values(Xing, Safe)] profile: Profile,
    #[case] text: Option<&str>,
) {
    let mut fixture = settled(profile);
    let good = fixture.checksums(WEB);
    fixture.change(60_000, WEB, |web| {
        let annotations = web["metadata"]["annotations"].as_object_mut().unwrap();
        annotations.remove(names::CHECKSUMS);
        annotations.extend(text.map(|text| (names::CHECKSUMS.to_owned(), text.into())));
    });
    fixture.advance_to(120_000);
    assert_eq!((fixture.restarts(WEB).len(), fixture.records(WEB).len()), (0, 2));
    assert_eq!(fixture.checksums(WEB), good);
}

#[rstest]
fn s47_edited_checksum_restarts(#[values(Xing, Safe)] profile: Profile) {
    let mut fixture = settled(profile);
    let good = fixture.checksums(WEB);
    let mut bad: serde_json::Value = serde_json::from_str(&good).unwrap();
    bad["configmap/ns/c"] = "edited".into();
    fixture.change(60_000, WEB, |web| web["metadata"]["annotations"][names::CHECKSUMS] = bad.to_string().into());
    fixture.advance_to(120_000);
    assert_eq!(fixture.restarts(WEB), [65_000]);
    assert_eq!(fixture.checksums(WEB), good);
}

#[rstest]
fn s51_change_while_the_controller_was_down_restarts(#[values(Xing, Safe)] profile: Profile) {
    let mut fixture = settled(profile);
    fixture.change(60_000, C, |_| {});
    let mut away = Fixture::new(profile);
    away.object(0, WEB, fixture.get(WEB).clone());
    away.config(0, "c", json!({"k": "2"}));
    away.config(0, "c2", json!({"k": "1"}));
    away.restart_controller();
    away.writes.clear();
    away.advance_to(60_000);
    assert_eq!(away.restarts(WEB), [5000]);
}
