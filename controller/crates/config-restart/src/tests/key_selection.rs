//! Keys that a workload's annotation selects.

use rollout_model::names::restart as names;
use rstest::rstest;
use serde_json::{Value, json};

use crate::Profile;
use crate::tests::fixture::{C, Fixture, ONE, TWO, WEB, keyed_checksums};

/// A workload that uses all of two configs, with these keys selected long ago.
fn selecting(keys: &str) -> Fixture {
    let mut fixture = Fixture::new(Profile::Safe);
    fixture.config(0, "c", json!({"level": "1", "mode": "1"}));
    fixture.config(0, "c2", json!({"k": "1"}));
    fixture.deployment(0, "web", &["c", "c2"]);
    fixture.change(1000, WEB, |web| web["metadata"]["annotations"][names::KEYS] = keys.into());
    fixture.advance_to(60_000);
    assert_eq!(fixture.restarts(WEB), [0; 0]);
    fixture.writes.clear();
    fixture
}

fn select(fixture: &mut Fixture, at: u64, keys: Option<&str>) {
    fixture.change_without_running(at, WEB, |web| {
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
    let mut fixture = selecting("configmap/c/level");
    if away {
        fixture.replace_controller();
    }
    fixture.config(60_000, "c", data);
    if away {
        fixture.restart_controller();
    }
    fixture.advance_to(120_000);
    assert_eq!(fixture.restarts(WEB).len(), restarts);
    if let (false, [(.., Some(restart))]) = (away, fixture.writes.as_slice()) {
        assert_eq!(restart.causes[0].keys, ["level".to_owned()].into());
    }
}

#[test]
fn created_selected_key_restarts() {
    let mut fixture = selecting("configmap/c/later");
    fixture.config(60_000, "c", json!({"level": "1", "mode": "1", "later": ""}));
    fixture.advance_to(120_000);
    assert_eq!(fixture.restarts(WEB), [65_000]);
}

#[test]
fn configs_that_the_annotation_does_not_name_restart() {
    let mut fixture = selecting("configmap/c/level,secret/c2/k");
    fixture.config(60_000, "c2", json!({"k": "2"}));
    fixture.advance_to(120_000);
    assert_eq!(fixture.restarts(WEB).len(), 1);
}

/// Changes the annotation to different values, while the controller is running and while it is not.
#[rstest]
fn change_of_the_selection_restarts_nothing(
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
    let mut fixture = selecting("configmap/c/level");
    fixture.config(60_000, "c", json!({"level": "1", "mode": "2"}));
    if away {
        fixture.replace_controller();
    }
    select(&mut fixture, 61_000, next);
    if away {
        fixture.restart_controller();
    }
    fixture.advance_to(120_000);
    assert_eq!(fixture.restarts(WEB), [0; 0]);
    // The recorded checksum covers the keys that count now, and it stays correct.
    let written = fixture.checksums(WEB);
    fixture.restart_controller();
    fixture.advance_to(180_000);
    assert_eq!((fixture.restarts(WEB).len(), fixture.checksums(WEB)), (0, written));
    fixture.config(180_000, "c", json!({"level": "1", "mode": "3"}));
    fixture.advance_to(240_000);
    let counts = !matches!(next, Some("configmap/c/none"));
    assert_eq!(fixture.restarts(WEB).len(), usize::from(counts));
}

/// A change that was due by the old selection restarts the workload.
#[rstest]
fn change_due_by_the_old_selection_restarts(#[values(false, true)] away: bool) {
    let mut fixture = selecting("configmap/c/level");
    fixture.config(60_000, "c", json!({"level": "2", "mode": "1"}));
    select(&mut fixture, 61_000, Some("configmap/c/mode"));
    if away {
        fixture.restart_controller();
    }
    fixture.advance_to(120_000);
    assert_eq!(fixture.restarts(WEB).len(), 1);
    let (.., last) = fixture.writes.last().unwrap();
    assert!(
        last.is_some() && fixture.checksums(WEB).contains(r#""configmap/ns/c":"keys=mode;"#),
        "{}",
        fixture.checksums(WEB)
    );
}

/// The annotation names keys of a Secret, but their values cannot be guessed from it.
#[test]
fn selected_keys_of_a_secret_survive_a_rotated_key() {
    let mut fixture = Fixture::new(Profile::Safe);
    let secret = |pin: &str, unselected: &str| json!({"metadata": {"name": "s", "namespace": "ns"}, "data": {"pin": pin, "other": unselected}});
    fixture.object(0, "secret/s", secret("MQ==", "MQ=="));
    let mut web = crate::tests::fixture::deployment("web", json!({"volumes": [{"secret": {"secretName": "s"}}]}));
    web["metadata"]["annotations"][names::KEYS] = "secret/s/pin".into();
    fixture.object(0, WEB, web);
    fixture.advance_to(60_000);
    assert!(
        fixture.checksums(WEB).starts_with(r#"{"secret/ns/s":"keys=pin;hmac-sha256:"#),
        "{}",
        fixture.checksums(WEB)
    );
    fixture.object(60_000, "secret/s", secret("MQ==", "Mg=="));
    fixture.restart_with_keys(keyed_checksums(TWO, Some(ONE)));
    fixture.advance_to(120_000);
    assert_eq!(fixture.restarts(WEB), [0; 0]);
    // The selection and the key change at the same time.
    fixture.replace_controller();
    select(&mut fixture, 130_000, None);
    fixture.restart_with_keys(keyed_checksums(ONE, Some(TWO)));
    fixture.advance_to(180_000);
    assert_eq!((fixture.restarts(WEB).len(), fixture.reports.len()), (0, 0));
    assert!(fixture.checksums(WEB).starts_with(r#"{"secret/ns/s":"hmac-sha256:"#), "{}", fixture.checksums(WEB));
    fixture.object(180_000, "secret/s", secret("Mg==", "Mg=="));
    fixture.advance_to(240_000);
    assert_eq!(fixture.restarts(WEB), [185_000]);
}

#[test]
fn unreadable_selection_is_reported_once_and_selects_nothing() {
    let mut fixture = selecting("level");
    assert_eq!(fixture.reports, ["bad annotation"]);
    fixture.change(60_000, C, |config| config["data"]["mode"] = "2".into());
    fixture.advance_to(120_000);
    assert_eq!((fixture.restarts(WEB).len(), fixture.reports.len()), (1, 1));
}

#[test]
fn profile_xing_ignores_the_selection() {
    let mut fixture = Fixture::new(Profile::Xing);
    fixture.config(0, "c", json!({"level": "1", "mode": "1"}));
    fixture.deployment(0, "web", &["c"]);
    fixture.change(1000, WEB, |web| web["metadata"]["annotations"][names::KEYS] = "configmap/c/level".into());
    fixture.advance_to(60_000);
    fixture.config(60_000, "c", json!({"level": "1", "mode": "2"}));
    fixture.advance_to(120_000);
    assert_eq!(fixture.restarts(WEB).len(), 1);
}
