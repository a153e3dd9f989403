//! Scenarios in which profile `xing` keeps a defect of xing's controller that the safe profile does
//! not have.

use rollout_model::names::restart as names;
use serde_json::json;

use crate::Profile;
use crate::tests::fixture::{C, Fixture, WEB};

fn settled() -> Fixture {
    Fixture::new(Profile::Xing).settled()
}

/// A workload whose restart was refused once.
fn refused() -> Fixture {
    let mut fixture = settled();
    fixture.refuses = true;
    fixture.config(60_000, "c", json!({"k": "2"}));
    fixture.advance_to(70_000);
    fixture.refuses = false;
    fixture
}

#[test]
fn s20_the_window_is_fixed() {
    for (apart, restarts) in [(4500, 1), (5500, 2)] {
        let mut fixture = settled();
        fixture.config(60_000, "c", json!({"k": "2"}));
        fixture.config(60_000 + apart, "c2", json!({"k": "2"}));
        fixture.advance_to(120_000);
        assert_eq!(fixture.restarts(WEB).len(), restarts, "{apart}");
    }
}

/// X10.
#[test]
fn s22_config_that_changes_every_second_restarts_every_six() {
    let mut fixture = settled();
    for second in 0..20 {
        fixture.config(60_000 + second * 1000, "c", json!({"k": format!("v{second}")}));
    }
    fixture.advance_to(120_000);
    assert_eq!(fixture.restarts(WEB).len(), 4, "{:?}", fixture.restarts(WEB));
}

#[test]
fn s26_restarts_when_the_workloads_own_change_is_due() {
    let mut fixture = Fixture::new(Profile::Xing);
    fixture.deployment(0, "web", &["c"]);
    fixture.config(1000, "c", json!({"k": "1"}));
    fixture.config(3000, "c", json!({"k": "2"}));
    fixture.advance_to(60_000);
    assert_eq!(fixture.restarts(WEB), [5000], "the workload's own change is due first, and the config was seen twice");
}

/// X2.
#[test]
fn s28_s29_change_right_after_adoption_is_missed() {
    let mut fixture = settled();
    fixture.deployment(60_000, "new", &["c"]);
    fixture.config(62_000, "c", json!({"k": "2"}));
    fixture.advance_to(120_000);
    assert_eq!(fixture.restarts("deployment/new"), [0_u64; 0]);
}

/// X3.
#[test]
fn s30_pods_that_started_with_the_last_data_restart() {
    let mut fixture = Fixture::new(Profile::Xing);
    fixture.config(0, "c", json!({"k": "1"}));
    fixture.config(1000, "c", json!({"k": "2"}));
    fixture.deployment(2000, "web", &["c"]);
    fixture.advance_to(60_000);
    assert_eq!(fixture.restarts(WEB).len(), 1);
}

/// X4.
#[test]
fn s39_s41_re_created_config_is_never_linked_again() {
    let mut fixture = settled();
    fixture.delete(60_000, C);
    fixture.config(62_000, "c", json!({"k": "2"}));
    fixture.advance_to(70_000);
    assert_eq!(fixture.restarts(WEB), [0_u64; 0]);
    fixture.config(70_000, "c2", json!({"k": "2"}));
    fixture.advance_to(80_000);
    assert_eq!(fixture.restarts(WEB).len(), 1);
    assert!(!fixture.checksums(WEB).contains("configmap/ns/c\""), "purged");
    fixture.config(80_000, "c", json!({"k": "3"}));
    fixture.advance_to(120_000);
    assert_eq!(fixture.restarts(WEB).len(), 1, "lost for good");
}

/// X13.
#[test]
fn s44b_change_after_a_removed_annotation_is_missed() {
    let mut fixture = settled();
    fixture.change(60_000, WEB, |web| {
        drop(web["metadata"]["annotations"].as_object_mut().unwrap().remove(names::CHECKSUMS));
    });
    fixture.config(61_000, "c", json!({"k": "2"}));
    fixture.advance_to(120_000);
    assert_eq!(fixture.restarts(WEB), [0_u64; 0]);
}

/// Caveat 2 of its README, and what it does at a graceful shutdown.
#[test]
fn s53_s54_restart_is_lost_by_a_kill_and_kept_by_a_shutdown() {
    for flushed in [false, true] {
        let mut fixture = Fixture::new(Profile::Xing);
        fixture.deployment(0, "web", &["c"]);
        fixture.config(1000, "c", json!({"k": "1"}));
        fixture.config(3000, "c", json!({"k": "2"}));
        fixture.advance_to(4000);
        if flushed {
            fixture.flush();
        }
        fixture.restart_controller();
        fixture.advance_to(60_000);
        assert_eq!(fixture.restarts(WEB).len(), usize::from(flushed));
    }
}

/// X7.
#[test]
fn s61_refused_restart_is_lost_until_the_workload_changes() {
    let mut fixture = refused();
    fixture.advance_to(120_000);
    assert_eq!(fixture.restarts(WEB), [0_u64; 0]);
    fixture.change(120_000, WEB, |web| web["status"] = json!({"replicas": 1}));
    fixture.advance_to(130_000);
    assert_eq!(fixture.restarts(WEB), [125_000], "until the workload shows itself");
}

/// Scenario 34, section 1.8: a config that has not been seen yet keeps its checksum in the
/// annotation.
#[test]
fn s34_config_not_seen_yet_keeps_its_checksum() {
    let web = settled().get(WEB).clone();
    let mut fixture = Fixture::new(Profile::Xing);
    fixture.object(0, WEB, web);
    fixture.config(0, "c", json!({"k": "2"}));
    fixture.advance_to(60_000);
    assert_eq!(fixture.restarts(WEB), [5000]);
    assert!(fixture.checksums(WEB).contains(r#""configmap/ns/c2":"#), "{}", fixture.checksums(WEB));
}

/// X7: with the next change, the refused checksum is recorded as if the pods had the data.
#[test]
fn s61_refused_restart_is_recorded_as_done() {
    let mut fixture = refused();
    fixture.config(70_000, "c2", json!({"k": "2"}));
    fixture.advance_to(120_000);
    let causes = &fixture.writes.last().unwrap().2.as_ref().unwrap().causes;
    let configs: Vec<_> = causes.iter().map(|cause| cause.config.to_string()).collect();
    assert_eq!((fixture.restarts(WEB), configs), (vec![75_000], vec!["configmap/ns/c2".to_owned()]));
}
