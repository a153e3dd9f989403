//! Checksums of Secrets: keyed, taken over from plain ones, and of keys that were rotated or lost.

use rstest::rstest;
use serde_json::{Value, json};

use super::super::keyed::Made;
use super::super::{
    Budget, ChecksumKeyError, ChecksumKeys, ConfigKind, ConfigName, Profile, RestartSettings, SecretChecksums,
};
use super::world::{ONE, TWO, WEB, World, deployment, keyed};
use crate::model::names::restart as names;

/// `{"k":"MQ=="}` as xing's controller and older versions of this one write it.
const PLAIN: &str = "f826db84cebd6d55";
const SECRET: &str = "secret/s";

fn secret(value: &str) -> Value {
    json!({"metadata": {"name": "s", "namespace": "ns"}, "data": {"k": value}})
}

/// Uses the whole Secret, or one key of it.
fn user(whole: bool) -> Value {
    let container = if whole {
        json!({"name": "app", "envFrom": [{"secretRef": {"name": "s"}}]})
    } else {
        json!({"name": "app", "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]})
    };
    deployment("web", json!({"containers": [container]}))
}

/// The checksum of the Secret in the annotation.
fn checksum(world: &World) -> String {
    let applied: Value = serde_json::from_str(&world.applied(WEB)).unwrap();
    applied["secret/ns/s"].as_str().unwrap_or("-").to_owned()
}

/// A workload that has this of the Secret, and a controller that comes later.
fn left_behind(secrets: SecretChecksums, checksum: &str, whole: bool) -> World {
    let settings = RestartSettings { secrets, ..RestartSettings::default() };
    let mut world = World::with(settings);
    // Nothing is written yet.
    world.refuses = true;
    let mut web = user(whole);
    web["metadata"]["annotations"][names::CHECKSUMS] = json!({"secret/ns/s": checksum}).to_string().into();
    world.object(0, SECRET, secret("MQ=="));
    world.object(0, WEB, web);
    world.forget();
    world.refuses = false;
    world
}

fn name(namespace: &str, name: &str) -> ConfigName {
    ConfigName { kind: ConfigKind::Secret, namespace: namespace.to_owned(), name: name.to_owned() }
}

fn keys(current: &str) -> ChecksumKeys {
    ChecksumKeys::new(current.as_bytes(), None).unwrap()
}

#[test]
fn a_checksum_depends_on_the_key_the_name_and_the_data() {
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

/// Annotations outlive this version, so what they hold is pinned; made with Python's `hmac`.
#[test]
fn golden() {
    let keys = ChecksumKeys::new(&[0x0b; 32], None).unwrap();
    assert_eq!(keys.checksum(&name("ns", "s"), PLAIN), "hmac-sha256:7978d6b6:748864352cb0f25bc73bc9ea4df60160");
}

#[rstest]
#[case::plain("secret/ns/s", PLAIN, Made::Unkeyed)]
#[case::empty("secret/ns/s", "", Made::Unkeyed)]
#[case::absent("secret/ns/s", "absent", Made::Known)]
#[case::of_a_config_map("configmap/ns/s", PLAIN, Made::Known)]
#[case::foreign("secret/ns/s", "hmac-sha256:00000000:00", Made::Foreign)]
#[case::cut_short("secret/ns/s", "hmac-sha256:", Made::Foreign)]
fn how_a_checksum_was_made(#[case] of: &str, #[case] checksum: &str, #[case] made: Made) {
    assert_eq!(keys(ONE).made(of, checksum), made);
    let own = keys(TWO).checksum(&name("ns", "s"), PLAIN);
    let both = ChecksumKeys::new(ONE.as_bytes(), Some(TWO.as_bytes())).unwrap();
    assert_eq!((both.made("secret/ns/s", &own), keys(ONE).made("secret/ns/s", &own)), (Made::Known, Made::Foreign));
}

#[test]
fn a_key_is_never_shown() {
    let shown = format!("{:?}", keyed(ONE, Some(TWO)));
    assert_eq!(
        shown,
        format!("Keyed(ChecksumKeys {{ id: {:?}, previous: Some({:?}) }})", keys(ONE).id(), keys(TWO).id())
    );
    let short = ChecksumKeyError::TooShort { key_name: "the key", bytes: 31 };
    assert_eq!(ChecksumKeys::new(&[7; 31], None).unwrap_err(), short);
}

/// Whatever the pods have of it, the annotation has it keyed.
#[rstest]
#[case::whole(true)]
#[case::one_key(false)]
fn a_secret_restarts_and_its_checksum_is_keyed(#[case] whole: bool) {
    let mut world = World::new(Profile::Safe);
    world.object(0, SECRET, secret("MQ=="));
    world.object(1000, WEB, user(whole));
    world.pass(60_000);
    let first = checksum(&world);
    world.change(60_000, SECRET, |secret| secret["data"]["k"] = "Mg==".into());
    world.pass(120_000);
    assert_eq!((world.records(WEB).len(), world.restarts(WEB)), (1, vec![65_000]));
    let second = checksum(&world);
    let prefix = format!("hmac-sha256:{}:", keys(ONE).id());
    assert!(first.starts_with(&prefix) && second.starts_with(&prefix) && first != second, "{first} {second}");
    world.change(120_000, SECRET, |secret| secret["data"]["k"] = "MQ==".into());
    world.pass(180_000);
    assert_eq!(checksum(&world), first);
}

/// Without a restart and at once, and as xing's whole checksum where one key is used.
#[rstest]
fn plain_ones_are_taken_over(#[values(true, false)] whole: bool) {
    let mut world = left_behind(keyed(ONE, None), PLAIN, whole);
    world.restart_controller();
    assert_eq!((world.records(WEB), world.restarts(WEB)), (vec![0], vec![]));
    assert!(!world.applied(WEB).contains(PLAIN));
    let mut fresh = World::new(Profile::Safe);
    fresh.object(0, SECRET, secret("MQ=="));
    fresh.object(0, WEB, user(whole));
    fresh.pass(60_000);
    world.pass(60_000);
    assert_eq!((world.writes.len(), checksum(&world)), (1, checksum(&fresh)));
}

/// What changed while nobody watched restarts once, and meanwhile the annotation has nothing plain
/// either.
#[test]
fn a_plain_one_of_other_data_restarts_once() {
    let mut world = left_behind(keyed(ONE, None), "0123456789abcdef", true);
    world.restart_controller();
    assert!(checksum(&world).starts_with("hmac-sha256:"));
    world.pass(60_000);
    assert_eq!((world.records(WEB), world.restarts(WEB)), (vec![0], vec![5000]));
    world.restart_controller();
    world.pass(120_000);
    assert_eq!(world.writes.len(), 2);
}

/// The Secret is gone, or its kind cannot be listed: the checksum is keyed all the same, and is
/// that of the same data.
#[rstest]
fn a_plain_one_of_what_is_not_there(#[values(true, false)] listed: bool) {
    let mut world = left_behind(keyed(ONE, None), PLAIN, true);
    world.delete(0, SECRET);
    if listed {
        world.restart_controller();
    } else {
        world.object(0, WEB, world.get(WEB).clone());
    }
    world.pass(60_000);
    assert_eq!((world.records(WEB), world.restarts(WEB)), (vec![0], vec![]));
    world.object(60_000, SECRET, secret("MQ=="));
    world.pass(120_000);
    assert_eq!(world.writes.len(), 1);
    world.change(120_000, SECRET, |secret| secret["data"]["k"] = "Mg==".into());
    world.pass(180_000);
    assert_eq!(world.restarts(WEB).len(), 1);
}

/// A dry run writes nothing, and does not plan the same again and again.
#[test]
fn a_dry_run_leaves_plain_ones_as_they_are() {
    let mut world = World::dry();
    let mut web = user(true);
    web["metadata"]["annotations"][names::CHECKSUMS] = json!({"secret/ns/s": PLAIN}).to_string().into();
    world.object(0, SECRET, secret("MQ=="));
    world.object(0, WEB, web);
    world.restart_controller();
    world.pass(60_000);
    assert_eq!((world.told.len(), checksum(&world).as_str()), (0, PLAIN));
}

/// With the old key beside it, a new key restarts nothing, and a change meanwhile is found.
#[rstest]
#[case::the_same(None, &[])]
#[case::changed(Some("Mg=="), &[65_000])]
fn a_rotated_key(#[case] meanwhile: Option<&str>, #[case] restarts: &[u64]) {
    let mut world = World::new(Profile::Safe);
    world.object(0, SECRET, secret("MQ=="));
    world.object(0, WEB, user(true));
    world.pass(60_000);
    if let Some(value) = meanwhile {
        world.only_seen(60_000, SECRET, |secret| secret["data"]["k"] = value.into());
    }
    world.restart_with(keyed(TWO, Some(ONE)));
    world.pass(120_000);
    assert_eq!(world.restarts(WEB), restarts);
    assert!(checksum(&world).contains(keys(TWO).id()), "{}", checksum(&world));
    assert_eq!(world.told, [""; 0]);
    // The old key may go.
    let writes = world.writes.len();
    world.restart_with(keyed(TWO, None));
    world.pass(180_000);
    assert_eq!(world.writes.len(), writes);
}

/// What an unknown key has made can be compared with nothing: it is written anew without a restart,
/// and reported, whatever the server says of when the Secret was written.
#[test]
fn a_key_that_is_lost_restarts_nothing_and_is_told_of() {
    let mut world = World::new(Profile::Safe);
    let written = |second: u32, field: &str| json!([{"manager": "m", "time": format!("2026-01-01T00:00:{second:02}Z"), "fieldsV1": {field: {}}}]);
    world.object(0, SECRET, secret("MQ=="));
    world.object(0, WEB, user(true));
    world.pass(60_000);
    world.only_seen(60_000, WEB, |web| {
        web["metadata"]["managedFields"] = json!([{"manager": "m", "time": "2026-01-01T00:00:01Z",
            "fieldsV1": {"f:spec": {"f:template": {}}}}]);
    });
    world.only_seen(60_000, SECRET, |secret| {
        secret["data"]["k"] = "Mg==".into();
        secret["metadata"]["managedFields"] = written(9, "f:data");
    });
    world.writes.clear();
    world.restart_with(keyed(TWO, None));
    world.pass(120_000);
    assert_eq!((world.restarts(WEB), world.records(WEB)), (vec![], vec![60_000]));
    assert_eq!(world.told, ["unknown key"]);
    world.change(120_000, SECRET, |secret| secret["data"]["k"] = "Mw==".into());
    world.pass(180_000);
    assert_eq!(world.restarts(WEB), [125_000]);
}

/// Without a key Secrets are not followed, and what is remembered of them waits for one.
#[rstest]
#[case::plain(PLAIN)]
#[case::keyed("hmac-sha256:00000000:00")]
fn without_a_key_only_config_maps_restart(#[case] remembered: &str) {
    let mut world = left_behind(SecretChecksums::None, remembered, true);
    world.change(0, WEB, |web| {
        let from = json!([{"secretRef": {"name": "s"}}, {"configMapRef": {"name": "c"}}]);
        web["spec"]["template"]["spec"]["containers"][0]["envFrom"] = from;
    });
    world.config(0, "c", json!({"k": "1"}));
    world.restart_controller();
    world.pass(60_000);
    assert_eq!((world.records(WEB).len(), world.restarts(WEB).len()), (1, 0));
    world.change(60_000, SECRET, |secret| secret["data"]["k"] = "Mg==".into());
    world.pass(120_000);
    assert_eq!((world.writes.len(), checksum(&world).as_str()), (1, remembered));
    world.config(120_000, "c", json!({"k": "2"}));
    world.pass(180_000);
    assert_eq!((world.restarts(WEB), checksum(&world).as_str()), (vec![125_000], remembered));
    assert_eq!(world.told, [""; 0]);
}

/// What changed while there was no key is found once there is one.
#[test]
fn a_key_that_comes_later_finds_what_changed() {
    let mut world = left_behind(SecretChecksums::None, PLAIN, true);
    world.restart_controller();
    world.change(1000, SECRET, |secret| secret["data"]["k"] = "Mg==".into());
    world.pass(60_000);
    assert_eq!(world.writes, []);
    world.restart_with(keyed(ONE, None));
    world.pass(120_000);
    assert_eq!(world.restarts(WEB), [65_000]);
}

/// Each profile has one kind, and whatever else is asked for is none.
#[rstest]
#[case::xing_keyed(Profile::Xing, keyed(ONE, None))]
#[case::safe_plain(Profile::Safe, SecretChecksums::Unkeyed)]
fn no_profile_has_the_others_checksums(#[case] profile: Profile, #[case] secrets: SecretChecksums) {
    let settings = RestartSettings { profile, secrets, budget: Budget::default(), ..RestartSettings::default() };
    let mut world = World::with(settings);
    world.object(0, SECRET, secret("MQ=="));
    world.object(0, WEB, user(true));
    world.pass(60_000);
    world.change(60_000, SECRET, |secret| secret["data"]["k"] = "Mg==".into());
    world.pass(120_000);
    assert!(!world.applied(WEB).contains("secret/"), "{}", world.applied(WEB));
    assert_eq!(world.restarts(WEB), [0; 0]);
}
