//! The simulated API server and a real one, request by request.
//!
//! A seed gives sequences of requests ([`generate`]), valid and invalid, over all kinds and verbs
//! that cases use. Both servers get them and must respond equally: status codes, reasons, messages
//! and causes with their fields, bodies, generations, no-op writes, and watch events. Only uids,
//! times, versions and generated names are replaced before ([`play`]). Requests that the simulated
//! server does not support are counted separately, not as agreement. Every reachable cell of verb,
//! kind and outcome must be reached ([`table`]).
//!
//! A disagreement is shrunk to the necessary requests and stored in the folder `kept` with the real
//! server's responses. Stored sequences are replayed on the simulated server as ordinary trials,
//! `sim::parity::<name>`, without the real one:
//!
//! ```text
//! cargo test -p lockstep --test cluster parity::                                      # what was kept
//! cargo test -p lockstep --test cluster parity:: -- --ignored --nocapture             # LOCKSTEP_SEED=7 LOCKSTEP_REQUESTS=10000
//! LOCKSTEP_SAMPLE=8 …                                                                 # keep some of the first sequences, too
//! LOCKSTEP_FIRST=275 LOCKSTEP_REQUESTS=1 …                                            # begin with this sequence of the seed's
//! LOCKSTEP_KEEP=1 cargo test -p lockstep --test cluster parity:: -- --ignored         # keep what is found, with the real server's answers
//! ```
//!
//! Left out, because it is random on the real server: lists of any version (`resourceVersion=0`),
//! which come from a cache that may be behind; warnings of patches that find nothing, for the same
//! reason; the version of the bookmark after initial events, as the server's own writes advance it;
//! and which of several LimitRanges a pod is checked against first, so sequences create pods before
//! LimitRanges. A sequence may end with a request that the simulated server refuses as unsupported
//! ([`unsupported`]), to check that it does.
//!
//! The real server runs without controllers, like the simulated one, so nothing happens between two
//! requests. Three other trials compare the cluster's controllers by whole deletions
//! ([`deletions`]), discovery ([`discovery`]), and the simulated server's table of types with
//! upstream's, by generating it again ([`shapes`]).

mod bodies;
mod deletions;
mod discovery;
mod generate;
mod kinds;
mod mutations;
mod patches;
mod play;
mod rng;
mod shapes;
mod spell;
mod step;
mod subresources;
mod table;
mod unsupported;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use kube_apiserver_sim::{ApiServer, ControllerMode, Latency};
use libtest_mimic::{Failed, Trial};
use lockstep_cluster::supervise::ProcessId;
use lockstep_cluster::{self as cluster, ClusterPlan};
use lockstep_support::clock;
use play::{Server, play};
use serde_json::Value;
use step::{Answer, Step, StoredSequence};
use table::Table;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// The number of different disagreements to shrink before the run ends.
const MAX_DISAGREEMENTS: usize = 60;
/// The number of sequences to generate at most in search of rare cells.
const MAX_SEQUENCES: u64 = 20_000;

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for path in stored_files() {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        trials.push(Trial::test(format!("sim::parity::{name}"), move || replay(&path).map_err(Failed::from)));
    }
    let random = || random().map_err(|error| Failed::from(error.to_string()));
    trials.push(Trial::test("control-plane::parity::random", random).with_ignored_flag(true));
    let deletions = || deletions::compare().map_err(|error| Failed::from(error.to_string()));
    trials.push(Trial::test("control-plane::parity::deletions", deletions).with_ignored_flag(true));
    let discovery = || discovery::compare().map_err(|error| Failed::from(error.to_string()));
    trials.push(Trial::test("control-plane::parity::discovery", discovery).with_ignored_flag(true));
    let fresh = || shapes::fresh().map_err(|error| Failed::from(error.to_string()));
    // Without Go this cannot be checked; the trial is ignored, not passed.
    let unavailable = std::process::Command::new("go").arg("version").output().is_err();
    trials.push(Trial::test("control-plane::parity::table-of-types", fresh).with_ignored_flag(unavailable));
    trials
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/parity/kept")
}

fn stored_files() -> BTreeSet<PathBuf> {
    let files = std::fs::read_dir(folder()).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
    files.filter(|path| path.extension().is_some_and(|end| end == "json")).collect()
}

/// Replays a stored sequence on the simulated server.
fn replay(path: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let stored: StoredSequence = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let mut simulated =
        simulated("p-kept", &stored.steps, forgets(&stored.answers)).map_err(|error| error.to_string())?;
    if !stored.managers {
        simulated.iter_mut().for_each(|answer| without_managers(&mut answer.body));
    }
    if stored.answers.len() != stored.steps.len() {
        return Err("not as many answers as requests".to_owned());
    }
    let wrong = stored.steps.iter().zip(stored.answers.iter().zip(&simulated)).filter(|(_, (real, sim))| real != sim);
    let description: Vec<String> = wrong.map(|(step, (real, sim))| describe(step, real, sim)).collect();
    if description.is_empty() { Ok(()) } else { Err(description.join("\n")) }
}

/// Removes managedFields, which older stored responses lack.
fn without_managers(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("managedFields");
            fields.values_mut().for_each(without_managers);
        }
        Value::Array(items) => items.iter_mut().for_each(without_managers),
        _ => {}
    }
}

/// Whether the real server had compacted the history, which depends on all earlier requests: it
/// refused a watch from the beginning.
fn forgets(real: &[Answer]) -> bool {
    real.iter().any(|answer| answer.body["events"][0]["object"]["reason"] == "Expired")
}

/// All responses of a new simulated server, in virtual time.
fn simulated(namespace: &str, steps: &[Step], forgets: bool) -> Result<Vec<Answer>, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    runtime.block_on(async {
        let _simulated = clock::simulate("2026-11-21T10:00:00Z".parse().expect("a time"));
        let server =
            ApiServer::builder().seed(1).latency(Latency::Random).controllers(ControllerMode::Off).clock(clock::now);
        let server = server.build();
        if forgets {
            server.forget(2);
        }
        play::define(&Server::Sim(server.clone())).await?;
        play(&Server::Sim(server), namespace, steps).await
    })
}

/// The first step with different responses. A watch, which shows later events, counts only if all
/// else is equal.
fn first_difference(steps: &[Step], real: &[Answer], simulated: &[Answer]) -> Option<usize> {
    let compared = compared(steps, simulated);
    let different = |watches: bool| {
        (0..steps.len()).find(|at| steps[*at].is_watch() == watches && compared[*at] && real[*at] != simulated[*at])
    };
    different(false).or_else(|| different(true))
}

/// Which responses can be compared: none after an unsupported request, nor those of watches that
/// were read after it.
fn compared(steps: &[Step], simulated: &[Answer]) -> Vec<bool> {
    let unknown = simulated.iter().position(|sim| sim.outcome() == "unsupported");
    let until = unknown.unwrap_or(steps.len());
    let whole = unknown.is_none_or(|at| steps[at].is_unsupported());
    steps.iter().enumerate().map(|(at, step)| at < until && (whole || !step.is_watch())).collect()
}

fn variable(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn random() -> Result<(), Error> {
    let (seed, wanted) = (variable("LOCKSTEP_SEED", 1), variable("LOCKSTEP_REQUESTS", 10_000));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let cluster = runtime.block_on(cluster::boot(&ClusterPlan::new(cluster::DEFAULT_VERSION)))?;
    // Without controllers, which would act between two requests.
    if let Some(environment) = cluster.pid("kube-controller-manager") {
        ProcessId::of(environment).kill_group();
    }
    let server = Server::Real(runtime.block_on(cluster.client())?);
    runtime.block_on(play::define(&server))?;
    let real = |namespace: &str, steps: &[Step]| runtime.block_on(play(&server, namespace, steps));
    let (mut table, mut found, mut requests, mut disagreements) = (Table::default(), BTreeSet::new(), 0, 0);
    let mut namespaces = 0_u64;
    let mut number = variable("LOCKSTEP_FIRST", 1).saturating_sub(1);
    // Then it continues for rare cells, with only the sequences in which the simulated server
    // reaches one.
    let mut empty = BTreeSet::new();
    while requests < wanted || (!empty.is_empty() && number < MAX_SEQUENCES) {
        number += 1;
        let steps = generate::sequence(seed * 1_000_000 + number);
        let alone = simulated("alone", &steps, false)?;
        if requests >= wanted && !steps.iter().zip(&alone).any(|(step, sim)| Table::is_among(&empty, step, sim)) {
            continue;
        }
        let mut run_both = |steps: &[Step]| -> Result<(Vec<Answer>, Vec<Answer>), Error> {
            namespaces += 1;
            // A name of the same length, as some messages cut bodies after a number of characters.
            let namespace = format!("p{seed}-{namespaces}");
            let real = real(&namespace, steps)?;
            let simulated = simulated(&namespace, steps, forgets(&real))?;
            Ok((real, simulated))
        };
        let (one, other) = run_both(&steps)?;
        let compared = compared(&steps, &other);
        for (at, (real, sim)) in one.iter().zip(&other).enumerate() {
            if compared[at] {
                requests += 1;
            }
            if compared[at] || sim.outcome() == "unsupported" {
                table.count(&steps[at], real, sim);
            }
        }
        if requests >= wanted {
            let before = empty.len();
            empty = table.empty();
            if before == 0 && !empty.is_empty() {
                println!("{requests} requests in {number} sequences; looking for {} cells\n", empty.len());
            }
        }
        let Some(at) = first_difference(&steps, &one, &other) else {
            // Stores some sequences without disagreement as regression tests.
            if number <= variable("LOCKSTEP_SAMPLE", 0) && compared.iter().all(|compared| *compared) {
                store(&steps, one, steps.len())?;
            }
            continue;
        };
        disagreements += 1;
        if std::env::var_os("LOCKSTEP_KEEP").is_none() {
            // Later differences may result from the first.
            if found.insert(signature(&steps[at], &one[at], &other[at])) {
                println!("seed {seed}, sequence {number}: {}\n", describe(&steps[at], &one[at], &other[at]));
            }
            continue;
        }
        if found.len() >= MAX_DISAGREEMENTS || !found.insert(signature(&steps[at], &one[at], &other[at])) {
            continue;
        }
        let (steps, one, other, at) = shrink(steps, at, &mut run_both)?;
        println!("seed {seed}, sequence {number}: {} requests are enough", steps.len());
        println!("{}\n", describe(&steps[at], &one[at], &other[at]));
        store(&steps, one, at)?;
    }
    runtime.block_on(cluster.end());
    println!("{table}");
    println!("{requests} requests in {number} sequences; {disagreements} sequences in which the servers do not agree");
    let empty = Vec::from_iter(table.empty());
    match (disagreements, empty.is_empty()) {
        (0, true) => Ok(()),
        (0, false) => Err(format!("nothing reached {}", empty.join(", ")).into()),
        _ => Err(format!("{disagreements} sequences disagree").into()),
    }
}

/// A signature; disagreements with equal signatures count as the same.
fn signature(step: &Step, real: &Answer, sim: &Answer) -> String {
    let place = differences(&real.body, &sim.body, "");
    let place = place.first().map(|line| line.split(':').next().unwrap_or_default().to_owned()).unwrap_or_default();
    let message: String =
        real.body["message"].as_str().unwrap_or_default().chars().filter(|c| c.is_alphabetic()).collect();
    let end: String = message.chars().rev().take(40).collect();
    format!("{} {} {} {} {place} {end}", step.verb, step.kind, real.code, sim.code)
}

type BothServers<'a> = dyn FnMut(&[Step]) -> Result<(Vec<Answer>, Vec<Answer>), Error> + 'a;

/// The steps, the responses of both servers, and the index of the disagreement.
type Reproduction = (Vec<Step>, Vec<Answer>, Vec<Answer>, usize);

/// Shrinks the steps to the fewest that still disagree.
fn shrink(steps: Vec<Step>, at: usize, run_both: &mut BothServers<'_>) -> Result<Reproduction, Error> {
    // Watches are read at the end.
    let mut shortest = if steps[at].is_watch() { steps } else { steps[..=at].to_vec() };
    let mut known = run_both(&shortest)?;
    let mut drop = shortest.len();
    // The beginning of the sequence stays.
    while drop > generate::beginning().len() {
        drop -= 1;
        let mut fewer = shortest.clone();
        fewer.remove(drop);
        let tried = run_both(&fewer)?;
        if first_difference(&fewer, &tried.0, &tried.1).is_some() {
            (shortest, known) = (fewer, tried);
            drop = drop.min(shortest.len());
        }
    }
    let at = first_difference(&shortest, &known.0, &known.1).ok_or("a disagreement that does not come again")?;
    Ok((shortest, known.0, known.1, at))
}

fn store(steps: &[Step], answers: Vec<Answer>, at: usize) -> Result<(), Error> {
    let stored = StoredSequence {
        server: format!("kube-apiserver {}", cluster::DEFAULT_VERSION),
        steps: steps.to_vec(),
        answers,
        managers: true,
    };
    // One line each, for readable diffs.
    let lines = |all: Result<Vec<String>, serde_json::Error>| all.map(|all| all.join(",\n"));
    let steps = lines(stored.steps.iter().map(serde_json::to_string).collect())?;
    let answers = lines(stored.answers.iter().map(serde_json::to_string).collect())?;
    let text = format!(
        "{{\"server\":\"{}\",\n\"managers\":true,\n\"steps\":[\n{steps}\n],\n\"answers\":[\n{answers}\n]}}\n",
        stored.server
    );
    let digest =
        text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let name = match stored.steps.get(at) {
        Some(step) => format!("{}-{}-{:06x}", step.verb, step.kind.to_lowercase(), digest >> 40),
        None => format!("sequence-{:06x}", digest >> 40),
    };
    std::fs::create_dir_all(folder())?;
    Ok(std::fs::write(folder().join(format!("{name}.json")), text)?)
}

/// A readable description of a disagreement.
fn describe(step: &Step, real: &Answer, sim: &Answer) -> String {
    let mut description = format!("{} {} {}\n  {}", step.method, step.path, step.form, step.body);
    if real.code != sim.code {
        description += &format!("\n  code: {} / {}", real.code, sim.code);
    }
    if real.warnings != sim.warnings {
        description += &format!("\n  warnings: {:?} / {:?}", real.warnings, sim.warnings);
    }
    for line in differences(&real.body, &sim.body, "").into_iter().take(12) {
        description += &format!("\n  {line}");
    }
    description
}

/// The differing places with the values of the real and the simulated server.
fn differences(real: &Value, sim: &Value, path: &str) -> Vec<String> {
    match (real, sim) {
        (a, b) if a == b => Vec::new(),
        (Value::Object(a), Value::Object(b)) => {
            let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            let none = Value::String("<none>".to_owned());
            let at = |object: &serde_json::Map<String, Value>, name: &str| object.get(name).unwrap_or(&none).clone();
            names
                .into_iter()
                .flat_map(|name| differences(&at(a, name), &at(b, name), &format!("{path}.{name}")))
                .collect()
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let pairs = a.iter().zip(b).enumerate();
            pairs.flat_map(|(at, (a, b))| differences(a, b, &format!("{path}[{at}]"))).collect()
        }
        (a, b) => vec![format!("{path}: {a}\n    / {b}")],
    }
}
