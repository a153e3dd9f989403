//! Random sets of pods with random traits, scaled down by a random number: upstream and ours on
//! each, live, and who survives.
//!
//! A seed makes cases, and [`model`] says for each who must survive, or, where upstream leaves it
//! to chance, whose survival would be right. Both subjects are held to that, and to each other. The
//! cases are ordinary ones, in a folder of their own:
//!
//! ```text
//! cargo test -p lockstep --test random_pods -- --ignored --nocapture      # LOCKSTEP_SEED=7 LOCKSTEP_SETS=100
//! ```

mod model;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use model::{Family, Pod, Since};

/// Most pods in a set. Upstream sorts up to twelve by inserting one after the other, which keeps
/// apart what ties do not join.
const MOST: usize = 10;

fn since() -> impl Strategy<Value = Since> {
    // Some pairs on one step of the scale, some on two, none within a minute of the next.
    let ages = prop::sample::select(vec![1200, 1500, 2000, 2400, 3600, 7200, 8400, 10_800, 72_000]);
    prop_oneof![
        12 => ages.prop_map(|age| Since::Ago(i64::from(age))),
        1 => Just(Since::Unknown),
        1 => prop::sample::select(vec![3600, 7200]).prop_map(|later| Since::Ago(-i64::from(later))),
    ]
}

/// Traits that are often alike, for else the later rules would never be asked.
fn pod() -> impl Strategy<Value = Pod> {
    let node = prop_oneof![12 => (1..=4_u8).prop_map(Some), 1 => Just(None)];
    let phase = prop_oneof![12 => Just("Running"), 1 => Just("Pending"), 1 => Just("Unknown")];
    let ready = prop_oneof![1 => Just(None), 9 => since().prop_map(Some)];
    let cost = prop_oneof![8 => Just(0), 1 => Just(1), 1 => Just(-1), 1 => Just(i32::MAX), 1 => Just(i32::MIN)];
    (node, phase, ready, cost, 0..3_u32, 0..3_u32).prop_map(|(node, phase, ready, cost, restarts, sidecars)| Pod {
        node,
        phase,
        ready,
        cost,
        restarts,
        sidecars,
    })
}

/// One moment for all pods in half of the sets: where ready times differ within a step, no later
/// rule is asked. In some nothing else is said of them but nodes and restarts.
fn family() -> impl Strategy<Value = Family> {
    let pods = prop::collection::vec(pod(), 2..=MOST);
    let sibling = prop::collection::vec(1..=4_u8, 0..=4);
    let alike = (prop::option::of(since()), prop::bool::weighted(0.4));
    (pods, sibling, any::<bool>(), alike, any::<prop::sample::Index>()).prop_map(
        |(mut pods, sibling, owned, (moment, alike), wanted)| {
            if alike {
                pods.iter_mut().for_each(|pod| (pod.phase, pod.cost) = ("Running", 0));
            }
            if let Some(moment) = moment {
                pods.iter_mut().filter_map(|pod| pod.ready.as_mut()).for_each(|since| *since = moment);
            }
            let wanted = wanted.index(pods.len());
            Family { pods, sibling, owned, wanted }
        },
    )
}

/// As a case file.
fn case(family: &Family, seed: u64, number: usize) -> String {
    let mut text = format!("description: Random pods of seed {seed}, set {number}; {} of them stay.\n", family.wanted);
    let mut line = |line: &str| writeln!(text, "{line}").expect("a text takes any line");
    line("controllers: [replicaset]\nbindings: held\ngiven:");
    let owner = if family.owned {
        line("  - apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: family}}");
        ", ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: family, controller: true}]"
    } else {
        ""
    };
    let mut set = |name: &str, replicas: usize| {
        line("  - apply:\n      apiVersion: apps/v1\n      kind: ReplicaSet");
        line(&format!("      metadata: {{name: {name}{owner}}}"));
        line(&format!("      spec:\n        replicas: {replicas}\n        selector: {{matchLabels: {{app: {name}}}}}"));
        line(&format!("        template:\n          metadata: {{labels: {{app: {name}}}}}\n          spec:"));
        line("            initContainers: [{name: sidecar, image: \"side:1\", restartPolicy: Always}]");
        line("            containers: [{name: app, image: \"app:1\"}]");
    };
    set("web", family.pods.len());
    if !family.sibling.is_empty() {
        set("sibling", family.sibling.len());
    }
    line("  - pods:\n      of: {replicaset: web}\n      name:");
    for (number, pod) in family.pods.iter().enumerate() {
        line(&format!("        {}: {}", Family::name(number), traits(pod)));
    }
    if !family.sibling.is_empty() {
        line("  - pods:\n      of: {replicaset: sibling}\n      name:");
        for (number, node) in family.sibling.iter().enumerate() {
            line(&format!("        {}: {{node: n{node}, ready: true}}", Family::sibling_name(number)));
        }
    }
    let sets = family.survivors();
    let list = |set: &BTreeSet<String>| format!("[{}]", set.iter().cloned().collect::<Vec<_>>().join(", "));
    let expect = match sets.iter().collect::<Vec<_>>().as_slice() {
        [one] => format!("alive: {}", list(one)),
        several => format!("anyOf: [{}]", several.iter().map(|set| list(set)).collect::<Vec<_>>().join(", ")),
    };
    line(&format!("steps:\n  - scale: {{replicaset: web, replicas: {}}}", family.wanted));
    line(&format!("    expect: {{{expect}}}"));
    text
}

fn traits(pod: &Pod) -> String {
    let node = pod.node.map_or_else(|| "null".to_owned(), |node| format!("n{node}"));
    let ready = match pod.ready {
        None => "false".to_owned(),
        Some(Since::Unknown) => "{since: unknown}".to_owned(),
        Some(Since::Ago(age)) => format!("{{since: {}{}s}}", if age < 0 { '+' } else { '-' }, age.abs()),
    };
    let cost = if pod.cost == 0 { String::new() } else { format!(", deletionCost: {}", pod.cost) };
    let restarts = format!("restarts: {{containers: {}, sidecars: {}}}", pod.restarts, pod.sidecars);
    format!("{{node: {node}, phase: {}, ready: {ready}{cost}, {restarts}}}", pod.phase)
}

/// So many sets, the same for the same seed.
fn families(seed: u64, count: usize) -> Vec<Family> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let strategy = family();
    let one = |_| strategy.new_tree(&mut runner).expect("nothing is filtered out").current();
    (0..count).map(one).collect()
}

fn number(variable: &str, otherwise: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")),
        Err(_) => otherwise,
    }
}

#[test]
fn a_seed_replays() {
    let write = |seed| families(seed, 20).iter().map(|family| case(family, seed, 1)).collect::<Vec<_>>();
    assert_eq!(write(1), write(1));
    assert_ne!(write(1), write(2));
}

#[test]
fn every_case_can_be_read() {
    for (at, family) in families(3, 200).iter().enumerate() {
        let text = case(family, 3, at);
        let read = lockstep::case::parse("random/one.yaml", "random/one", &text);
        assert!(read.is_ok(), "{}\n{text}", read.err().map(|error| error.to_string()).unwrap_or_default());
    }
}

#[test]
#[ignore = "plays a hundred cases on upstream and on ours: some ten minutes, and needs a control plane"]
fn the_same_survive_as_with_upstream() {
    let (seed, count) = (number("LOCKSTEP_SEED", 1), number("LOCKSTEP_SETS", 100));
    let count = usize::try_from(count).expect("a number of cases");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let area = folder.path().join("random");
    std::fs::create_dir(&area).expect("a folder in it");
    let families = families(seed, count);
    for (at, family) in (1..).zip(&families) {
        std::fs::write(area.join(format!("set-{at:03}.yaml")), case(family, seed, at)).expect("a file in it");
    }
    let certain = families.iter().filter(|family| family.survivors().len() == 1).count();
    eprintln!("seed {seed}: {count} sets, {certain} of them with one answer, {} with a tie", count - certain);
    let played = Command::new(env!("CARGO_BIN_EXE_lockstep"))
        .arg("compare")
        .arg(&area)
        .args(["--subject", "upstream", "--subject", "ours"])
        .stdin(Stdio::null())
        .status()
        .expect("the program was built with this test");
    if !played.success() {
        eprintln!("the cases are in {}", folder.keep().display());
    }
    assert!(played.success(), "{played}");
}
