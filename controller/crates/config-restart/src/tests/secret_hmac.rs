//! Checksums of Secrets: keyed, converted from plain ones, and made with keys that were rotated or
//! lost.

use rollout_model::names::restart as names;
use rstest::rstest;
use serde_json::{Value, json};

use crate::model::secret_hmac::ChecksumOrigin;
use crate::tests::fixture::{Fixture, ONE, TWO, WEB, deployment, keyed_checksums};
use crate::{
    Budget, ChecksumKeyError, ChecksumKeys, ConfigKind, ConfigName, Profile, RestartSettings, SecretChecksums,
};

/// `{"k":"MQ=="}` as xing's controller and older versions of this one record it.
const PLAIN: &str = "f826db84cebd6d55";
const SECRET: &str = "secret/s";

fn secret(value: &str) -> Value {
    json!({"metadata": {"name": "s", "namespace": "ns"}, "data": {"k": value}})
}

/// A workload that uses the whole Secret, or one key of it.
fn workload_using_secret(uses_all_keys: bool) -> Value {
    let container = if uses_all_keys {
        json!({"name": "app", "envFrom": [{"secretRef": {"name": "s"}}]})
    } else {
        json!({"name": "app", "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]})
    };
    deployment("web", json!({"containers": [container]}))
}

/// The checksum of the Secret in the annotation.
fn checksum(fixture: &Fixture) -> String {
    let checksums: Value = serde_json::from_str(&fixture.checksums(WEB)).unwrap();
    checksums["secret/ns/s"].as_str().unwrap_or("-").to_owned()
}

/// A workload with this checksum of the Secret, and a controller that starts later.
fn annotated_fixture(secrets: SecretChecksums, checksum: &str, uses_all_keys: bool) -> Fixture {
    let settings = RestartSettings { secrets, ..RestartSettings::default() };
    let mut fixture = Fixture::with(settings);
    // The controller must not write yet.
    fixture.refuses = true;
    let mut web = workload_using_secret(uses_all_keys);
    web["metadata"]["annotations"][names::CHECKSUMS] = json!({"secret/ns/s": checksum}).to_string().into();
    fixture.object(0, SECRET, secret("MQ=="));
    fixture.object(0, WEB, web);
    fixture.replace_controller();
    fixture.refuses = false;
    fixture
}

fn name(namespace: &str, name: &str) -> ConfigName {
    ConfigName { kind: ConfigKind::Secret, namespace: namespace.to_owned(), name: name.to_owned() }
}

fn keys(current: &str) -> ChecksumKeys {
    ChecksumKeys::new(current.as_bytes(), None).unwrap()
}

#[test]
fn checksum_depends_on_the_key_the_name_and_the_data() {
    let one = keys(ONE).checksum(&name("ns", "s"), PLAIN);
    let (scheme, rest) = one.split_once(':').unwrap();
    let (id, mac) = rest.split_once(':').unwrap();
    assert_eq!((scheme, id, mac.len()), ("hmac-sha256", keys(ONE).id(), 32), "{one}");
    assert_eq!(one, keys(ONE).checksum(&name("ns", "s"), PLAIN));
    let others = [
        keys(TWO).checksum(&name("ns", "s"), PLAIN),
        keys(ONE).checksum(&name("mine", "s"), PLAIN),
        keys(ONE).checksum(&name("ns", "mine"), PLAIN),
        keys(ONE).checksum(&name("n", "ss"), PLAIN),
        keys(ONE).checksum(&name("ns", "s"), "another"),
    ];
    let macs: std::collections::BTreeSet<_> = others.iter().map(|other| other.rsplit_once(':').unwrap().1).collect();
    assert!(macs.len() == others.len() && !macs.contains(mac), "{one} {others:?}");
}

/// Annotations outlive this version of the program, so their format is pinned; made with Python's
/// `hmac`.
#[test]
fn keyed_checksum_has_its_pinned_format() {
    let keys = ChecksumKeys::new(&[0x0b; 32], None).unwrap();
    assert_eq!(keys.checksum(&name("ns", "s"), PLAIN), "hmac-sha256:7978d6b6:748864352cb0f25bc73bc9ea4df60160");
}

#[rstest]
#[case::plain("secret/ns/s", PLAIN, ChecksumOrigin::Unkeyed)]
#[case::empty("secret/ns/s", "", ChecksumOrigin::Unkeyed)]
#[case::absent("secret/ns/s", "absent", ChecksumOrigin::KnownKey)]
#[case::of_a_config_map("configmap/ns/s", PLAIN, ChecksumOrigin::KnownKey)]
#[case::foreign("secret/ns/s", "hmac-sha256:00000000:00", ChecksumOrigin::UnknownKey)]
#[case::cut_short("secret/ns/s", "hmac-sha256:", ChecksumOrigin::UnknownKey)]
fn finds_the_origin_of_a_checksum(#[case] of: &str, #[case] checksum: &str, #[case] expected: ChecksumOrigin) {
    assert_eq!(keys(ONE).origin(of, checksum), expected);
    let second_key_checksum = keys(TWO).checksum(&name("ns", "s"), PLAIN);
    let both = ChecksumKeys::new(ONE.as_bytes(), Some(TWO.as_bytes())).unwrap();
    assert_eq!(
        (both.origin("secret/ns/s", &second_key_checksum), keys(ONE).origin("secret/ns/s", &second_key_checksum)),
        (ChecksumOrigin::KnownKey, ChecksumOrigin::UnknownKey)
    );
}

#[test]
fn debug_output_shows_key_ids_only() {
    let debug_output = format!("{:?}", keyed_checksums(ONE, Some(TWO)));
    assert_eq!(
        debug_output,
        format!("Keyed(ChecksumKeys {{ id: {:?}, previous: Some({:?}) }})", keys(ONE).id(), keys(TWO).id())
    );
    let short = ChecksumKeyError::TooShort { key_name: "the key", bytes: 31 };
    assert_eq!(ChecksumKeys::new(&[7; 31], None).unwrap_err(), short);
}

/// Whether it uses the whole Secret or one key, the annotation has a keyed checksum.
#[rstest]
#[case::uses_all_keys(true)]
#[case::one_key(false)]
fn changed_secret_restarts_and_its_checksum_is_keyed(#[case] uses_all_keys: bool) {
    let mut fixture = Fixture::new(Profile::Safe);
    fixture.object(0, SECRET, secret("MQ=="));
    fixture.object(1000, WEB, workload_using_secret(uses_all_keys));
    fixture.advance_to(60_000);
    let first = checksum(&fixture);
    fixture.change(60_000, SECRET, |secret| secret["data"]["k"] = "Mg==".into());
    fixture.advance_to(120_000);
    assert_eq!((fixture.records(WEB).len(), fixture.restarts(WEB)), (1, vec![65_000]));
    let second = checksum(&fixture);
    let prefix = format!("hmac-sha256:{}:", keys(ONE).id());
    assert!(first.starts_with(&prefix) && second.starts_with(&prefix) && first != second, "{first} {second}");
    fixture.change(120_000, SECRET, |secret| secret["data"]["k"] = "MQ==".into());
    fixture.advance_to(180_000);
    assert_eq!(checksum(&fixture), first);
}

/// At once and without a restart, also for xing's checksum of all data where the workload uses one
/// key.
#[rstest]
fn plain_checksums_become_keyed_without_a_restart(#[values(true, false)] uses_all_keys: bool) {
    let mut fixture = annotated_fixture(keyed_checksums(ONE, None), PLAIN, uses_all_keys);
    fixture.restart_controller();
    assert_eq!((fixture.records(WEB), fixture.restarts(WEB)), (vec![0], vec![]));
    assert!(!fixture.checksums(WEB).contains(PLAIN));
    let mut fresh = Fixture::new(Profile::Safe);
    fresh.object(0, SECRET, secret("MQ=="));
    fresh.object(0, WEB, workload_using_secret(uses_all_keys));
    fresh.advance_to(60_000);
    fixture.advance_to(60_000);
    assert_eq!((fixture.writes.len(), checksum(&fixture)), (1, checksum(&fresh)));
}

/// A change while the controller was not running causes one restart, and in the meantime the
/// annotation has no plain checksum either.
#[test]
fn plain_checksum_of_other_data_restarts_once() {
    let mut fixture = annotated_fixture(keyed_checksums(ONE, None), "0123456789abcdef", true);
    fixture.restart_controller();
    assert!(checksum(&fixture).starts_with("hmac-sha256:"));
    fixture.advance_to(60_000);
    assert_eq!((fixture.records(WEB), fixture.restarts(WEB)), (vec![0], vec![5000]));
    fixture.restart_controller();
    fixture.advance_to(120_000);
    assert_eq!(fixture.writes.len(), 2);
}

/// The Secret was deleted, or its kind cannot be listed: its checksum becomes keyed all the same
/// and still matches the same data.
#[rstest]
fn plain_checksum_of_a_missing_secret_becomes_keyed(#[values(true, false)] is_listed: bool) {
    let mut fixture = annotated_fixture(keyed_checksums(ONE, None), PLAIN, true);
    fixture.delete(0, SECRET);
    if is_listed {
        fixture.restart_controller();
    } else {
        fixture.object(0, WEB, fixture.get(WEB).clone());
    }
    fixture.advance_to(60_000);
    assert_eq!((fixture.records(WEB), fixture.restarts(WEB)), (vec![0], vec![]));
    fixture.object(60_000, SECRET, secret("MQ=="));
    fixture.advance_to(120_000);
    assert_eq!(fixture.writes.len(), 1);
    fixture.change(120_000, SECRET, |secret| secret["data"]["k"] = "Mg==".into());
    fixture.advance_to(180_000);
    assert_eq!(fixture.restarts(WEB).len(), 1);
}

/// A dry run writes nothing, and does not plan the same write again and again.
#[test]
fn dry_run_leaves_plain_checksums_unchanged() {
    let mut fixture = Fixture::dry();
    let mut web = workload_using_secret(true);
    web["metadata"]["annotations"][names::CHECKSUMS] = json!({"secret/ns/s": PLAIN}).to_string().into();
    fixture.object(0, SECRET, secret("MQ=="));
    fixture.object(0, WEB, web);
    fixture.restart_controller();
    fixture.advance_to(60_000);
    assert_eq!((fixture.reports.len(), checksum(&fixture).as_str()), (0, PLAIN));
}

/// With the old key present, a new key restarts nothing, and a change in the meantime is found.
#[rstest]
#[case::the_same(None, &[])]
#[case::changed(Some("Mg=="), &[65_000])]
fn rotated_key_restarts_only_for_changed_data(#[case] meanwhile: Option<&str>, #[case] restarts: &[u64]) {
    let mut fixture = Fixture::new(Profile::Safe);
    fixture.object(0, SECRET, secret("MQ=="));
    fixture.object(0, WEB, workload_using_secret(true));
    fixture.advance_to(60_000);
    if let Some(value) = meanwhile {
        fixture.change_without_running(60_000, SECRET, |secret| secret["data"]["k"] = value.into());
    }
    fixture.restart_with_keys(keyed_checksums(TWO, Some(ONE)));
    fixture.advance_to(120_000);
    assert_eq!(fixture.restarts(WEB), restarts);
    assert!(checksum(&fixture).contains(keys(TWO).id()), "{}", checksum(&fixture));
    assert_eq!(fixture.reports, [""; 0]);
    // The old key may be removed.
    let writes = fixture.writes.len();
    fixture.restart_with_keys(keyed_checksums(TWO, None));
    fixture.advance_to(180_000);
    assert_eq!(fixture.writes.len(), writes);
}

/// A checksum of an unknown key cannot be compared: it is written again without a restart, and
/// reported, whatever `managedFields` says about the Secret.
#[test]
fn lost_key_restarts_nothing_and_is_reported() {
    let mut fixture = Fixture::new(Profile::Safe);
    let written = |second: u32, field: &str| json!([{"manager": "m", "time": format!("2026-01-01T00:00:{second:02}Z"), "fieldsV1": {field: {}}}]);
    fixture.object(0, SECRET, secret("MQ=="));
    fixture.object(0, WEB, workload_using_secret(true));
    fixture.advance_to(60_000);
    fixture.change_without_running(60_000, WEB, |web| {
        web["metadata"]["managedFields"] = json!([{"manager": "m", "time": "2026-01-01T00:00:01Z",
            "fieldsV1": {"f:spec": {"f:template": {}}}}]);
    });
    fixture.change_without_running(60_000, SECRET, |secret| {
        secret["data"]["k"] = "Mg==".into();
        secret["metadata"]["managedFields"] = written(9, "f:data");
    });
    fixture.writes.clear();
    fixture.restart_with_keys(keyed_checksums(TWO, None));
    fixture.advance_to(120_000);
    assert_eq!((fixture.restarts(WEB), fixture.records(WEB)), (vec![], vec![60_000]));
    assert_eq!(fixture.reports, ["unknown key"]);
    fixture.change(120_000, SECRET, |secret| secret["data"]["k"] = "Mw==".into());
    fixture.advance_to(180_000);
    assert_eq!(fixture.restarts(WEB), [125_000]);
}

/// Without a key, Secrets are not followed, and their recorded checksums stay until there is a key.
#[rstest]
#[case::plain(PLAIN)]
#[case::keyed_checksums("hmac-sha256:00000000:00")]
fn without_a_key_only_config_maps_restart(#[case] remembered: &str) {
    let mut fixture = annotated_fixture(SecretChecksums::None, remembered, true);
    fixture.change(0, WEB, |web| {
        let from = json!([{"secretRef": {"name": "s"}}, {"configMapRef": {"name": "c"}}]);
        web["spec"]["template"]["spec"]["containers"][0]["envFrom"] = from;
    });
    fixture.config(0, "c", json!({"k": "1"}));
    fixture.restart_controller();
    fixture.advance_to(60_000);
    assert_eq!((fixture.records(WEB).len(), fixture.restarts(WEB).len()), (1, 0));
    fixture.change(60_000, SECRET, |secret| secret["data"]["k"] = "Mg==".into());
    fixture.advance_to(120_000);
    assert_eq!((fixture.writes.len(), checksum(&fixture).as_str()), (1, remembered));
    fixture.config(120_000, "c", json!({"k": "2"}));
    fixture.advance_to(180_000);
    assert_eq!((fixture.restarts(WEB), checksum(&fixture).as_str()), (vec![125_000], remembered));
    assert_eq!(fixture.reports, [""; 0]);
}

/// A change while there was no key is found once there is one.
#[test]
fn key_added_later_finds_earlier_changes() {
    let mut fixture = annotated_fixture(SecretChecksums::None, PLAIN, true);
    fixture.restart_controller();
    fixture.change(1000, SECRET, |secret| secret["data"]["k"] = "Mg==".into());
    fixture.advance_to(60_000);
    assert_eq!(fixture.writes, []);
    fixture.restart_with_keys(keyed_checksums(ONE, None));
    fixture.advance_to(120_000);
    assert_eq!(fixture.restarts(WEB), [65_000]);
}

/// Each profile has one way to make checksums of Secrets; with any other setting it has none.
#[rstest]
#[case::xing_keyed_checksums(Profile::Xing, keyed_checksums(ONE, None))]
#[case::safe_plain(Profile::Safe, SecretChecksums::Unkeyed)]
fn profiles_do_not_make_each_others_checksums(#[case] profile: Profile, #[case] secrets: SecretChecksums) {
    let settings = RestartSettings { profile, secrets, budget: Budget::default(), ..RestartSettings::default() };
    let mut fixture = Fixture::with(settings);
    fixture.object(0, SECRET, secret("MQ=="));
    fixture.object(0, WEB, workload_using_secret(true));
    fixture.advance_to(60_000);
    fixture.change(60_000, SECRET, |secret| secret["data"]["k"] = "Mg==".into());
    fixture.advance_to(120_000);
    assert!(!fixture.checksums(WEB).contains("secret/"), "{}", fixture.checksums(WEB));
    assert_eq!(fixture.restarts(WEB), [0; 0]);
}
