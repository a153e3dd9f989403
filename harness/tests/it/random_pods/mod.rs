//! Random pods with random traits, scaled down by a random number: which pods survive with upstream
//! and with our controller, on a real cluster.
//!
//! A seed gives the cases, and [`model`] says which pods must survive, or, where upstream's order
//! is random, which sets may. Both subjects must agree with it and with each other. The cases are
//! ordinary ones, in a temporary folder:
//!
//! ```text
//! cargo test -p lockstep --test it random_pods -- --ignored --nocapture   # LOCKSTEP_SEED=7 LOCKSTEP_SETS=100
//! ```

mod model;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::process::{Command, Stdio};

use model::{Pod, PodSets, ReadySince};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// The most pods in a set. Up to twelve upstream uses insertion sort, which is stable for ties.
const MAX_PODS: usize = 10;

fn since() -> impl Strategy<Value = ReadySince> {
    // Some pairs in the same logarithmic bucket, some in different ones, and none within a minute
    // of a boundary.
    let ages = prop::sample::select(vec![1200, 1500, 2000, 2400, 3600, 7200, 8400, 10_800, 72_000]);
    prop_oneof![
        12 => ages.prop_map(|age| ReadySince::Ago(i64::from(age))),
        1 => Just(ReadySince::Unknown),
        1 => prop::sample::select(vec![3600, 7200]).prop_map(|later| ReadySince::Ago(-i64::from(later))),
    ]
}

/// Traits that are often equal, so that the later rules apply.
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

/// In half of the sets all pods share one ready time: if ready times differ within a bucket, no
/// later rule applies. Some sets differ only in nodes and restarts.
fn sets() -> impl Strategy<Value = PodSets> {
    let pods = prop::collection::vec(pod(), 2..=MAX_PODS);
    let sibling = prop::collection::vec(1..=4_u8, 0..=4);
    let alike = (prop::option::of(since()), prop::bool::weighted(0.4));
    (pods, sibling, any::<bool>(), alike, any::<prop::sample::Index>()).prop_map(
        |(mut pods, sibling, owned, (moment, alike), replicas)| {
            if alike {
                pods.iter_mut().for_each(|pod| (pod.phase, pod.cost) = ("Running", 0));
            }
            if let Some(moment) = moment {
                pods.iter_mut().filter_map(|pod| pod.ready.as_mut()).for_each(|since| *since = moment);
            }
            let replicas = replicas.index(pods.len());
            PodSets { pods, sibling, owned, replicas }
        },
    )
}

/// The text of a case file.
fn case(sets: &PodSets, seed: u64, number: usize) -> String {
    let mut text = format!("description: Random pods of seed {seed}, set {number}; {} of them stay.\n", sets.replicas);
    let mut line = |line: &str| writeln!(text, "{line}").expect("a text takes any line");
    line("controllers: [replicaset]\nbindings: held\ngiven:");
    let owner = if sets.owned {
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
    set("web", sets.pods.len());
    if !sets.sibling.is_empty() {
        set("sibling", sets.sibling.len());
    }
    line("  - pods:\n      of: {replicaset: web}\n      name:");
    for (number, pod) in sets.pods.iter().enumerate() {
        line(&format!("        {}: {}", PodSets::name(number), traits(pod)));
    }
    if !sets.sibling.is_empty() {
        line("  - pods:\n      of: {replicaset: sibling}\n      name:");
        for (number, node) in sets.sibling.iter().enumerate() {
            line(&format!("        {}: {{node: n{node}, ready: true}}", PodSets::sibling_name(number)));
        }
    }
    let survivors = sets.survivors();
    let list = |set: &BTreeSet<String>| format!("[{}]", set.iter().cloned().collect::<Vec<_>>().join(", "));
    let expect = match survivors.iter().collect::<Vec<_>>().as_slice() {
        [one] => format!("alive: {}", list(one)),
        several => format!("anyOf: [{}]", several.iter().map(|set| list(set)).collect::<Vec<_>>().join(", ")),
    };
    line(&format!("steps:\n  - scale: {{replicaset: web, replicas: {}}}", sets.replicas));
    line(&format!("    expect: {{{expect}}}"));
    text
}

fn traits(pod: &Pod) -> String {
    let node = pod.node.map_or_else(|| "null".to_owned(), |node| format!("n{node}"));
    let ready = match pod.ready {
        None => "false".to_owned(),
        Some(ReadySince::Unknown) => "{since: unknown}".to_owned(),
        Some(ReadySince::Ago(age)) => format!("{{since: {}{}s}}", if age < 0 { '+' } else { '-' }, age.abs()),
    };
    let cost = if pod.cost == 0 { String::new() } else { format!(", deletionCost: {}", pod.cost) };
    let restarts = format!("restarts: {{containers: {}, sidecars: {}}}", pod.restarts, pod.sidecars);
    format!("{{node: {node}, phase: {}, ready: {ready}{cost}, {restarts}}}", pod.phase)
}

/// This many sets, determined by the seed.
fn generate_sets(seed: u64, count: usize) -> Vec<PodSets> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let strategy = sets();
    let one = |_| strategy.new_tree(&mut runner).expect("nothing is filtered out").current();
    (0..count).map(one).collect()
}

fn number(variable: &str, otherwise: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable}={text} is not a number")),
        Err(_) => otherwise,
    }
}

#[test]
fn same_seed_gives_the_same_cases() {
    let write = |seed| generate_sets(seed, 20).iter().map(|sets| case(sets, seed, 1)).collect::<Vec<_>>();
    assert_eq!(write(1), write(1));
    assert_ne!(write(1), write(2));
}

#[test]
fn generated_cases_are_valid() {
    for (at, sets) in generate_sets(3, 200).iter().enumerate() {
        let text = case(sets, 3, at);
        let read = lockstep_case::parse("random/one.yaml", "random/one", &text);
        assert!(read.is_ok(), "{}\n{text}", read.err().map(|error| error.to_string()).unwrap_or_default());
    }
}

#[test]
#[ignore = "plays a hundred cases on upstream and on ours: some ten minutes, and needs a control plane"]
fn survivors_equal_upstreams() {
    let (seed, count) = (number("LOCKSTEP_SEED", 1), number("LOCKSTEP_SETS", 100));
    let count = usize::try_from(count).expect("a number of cases");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let area = folder.path().join("random");
    std::fs::create_dir(&area).expect("a folder in it");
    let all_sets = generate_sets(seed, count);
    for (at, sets) in (1..).zip(&all_sets) {
        std::fs::write(area.join(format!("set-{at:03}.yaml")), case(sets, seed, at)).expect("a file in it");
    }
    let certain = all_sets.iter().filter(|sets| sets.survivors().len() == 1).count();
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
