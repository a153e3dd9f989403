//! Runs a case on a simulated cluster of its own: without sockets and processes, in virtual time.
//!
//! Everything runs on the calling thread, on a runtime whose clock is paused. The same case,
//! subject and seed give the same recording. Upstream's controllers run in a separate program
//! without a clock of its own (`subject::virtual_time`).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use lockstep_case::{Case, RestartProfile};
use lockstep_cluster::Cluster;
use lockstep_cluster::supervise::Interrupt;
use lockstep_intercept::SentLog;
use lockstep_recording::controllers::ControllerSet;
use lockstep_recording::{Blame, Recording, RecordingEntry, Trouble};
use lockstep_subject::virtual_time::{ProgramPool, VirtualTime};
use lockstep_subject::{ClusterControllers, SubjectSpec};
use lockstep_support::clock;
use lockstep_support::fingerprint::fingerprint;

use super::{Environment, EnvironmentError, Session, SessionOptions, StepHook, Successor};

/// The settings of a simulation.
#[derive(Debug, Clone)]
pub struct Simulation {
    /// Determines names, UIDs and the order of events.
    pub seed: u64,
    /// The controllers that the subject brings.
    pub under_test: ControllerSet,
    /// The most virtual time for one settling.
    pub budget: Duration,
    /// How often each case runs, to check that every request and answer repeats; 1: nothing is
    /// compared.
    pub plays: u32,
    /// Which controllers run besides the subject.
    pub cluster_controllers: ClusterControllers,
    /// Programs with upstream's controllers, which are reused between cases.
    pub programs: ProgramPool,
    /// Cancels a run half-way.
    pub interrupt: Interrupt,
    /// Called after each step that has settled.
    pub steps: StepHook,
    /// Where every request of the subject is logged, with its body.
    pub sent: Option<SentLog>,
    /// The subject that takes over at a handover.
    pub successor: Option<Successor>,
    /// The profile by which the subject restarts workloads, if it is not the case's.
    pub profile: Option<RestartProfile>,
}

impl Simulation {
    /// Seed 0, these controllers under test, never interrupted.
    #[must_use]
    pub fn new(under_test: ControllerSet, budget: Duration) -> Self {
        let (interrupt, steps) = (Interrupt::default(), StepHook::default());
        let (cluster_controllers, programs) = (ClusterControllers::default(), ProgramPool::default());
        Self {
            seed: 0,
            under_test,
            budget,
            plays: 1,
            cluster_controllers,
            programs,
            interrupt,
            steps,
            sent: None,
            successor: None,
            profile: None,
        }
    }
}

/// When simulations begin: midnight UTC of a Monday, far from any change to or from daylight saving
/// time.
const EPOCH: i64 = 1_767_571_200;

/// Run a case on a new simulated cluster. Must be called outside of async code, as it creates a
/// runtime of its own.
///
/// # Errors
/// The subject cannot be started; [`EnvironmentError::Interrupted`].
pub fn simulate(case: &Case, spec: &SubjectSpec, simulation: &Simulation) -> Result<Recording, EnvironmentError> {
    simulate_with_output(case, spec, simulation).map(|(recording, _)| recording)
}

/// Run a case on a new simulated cluster; also returns what the subject printed, if it prints.
///
/// # Errors
/// As for [`simulate`].
pub fn simulate_with_output(
    case: &Case,
    spec: &SubjectSpec,
    simulation: &Simulation,
) -> Result<(Recording, Option<String>), EnvironmentError> {
    let SimulatedRun { mut recording, transcript, output } = simulate_once(case, spec, simulation)?;
    let mut parted = None;
    let mut logs = BTreeMap::from([(fingerprint(transcript.join("\n").bytes()), 1)]);
    for _ in 1..simulation.plays {
        let SimulatedRun { recording: again, transcript: repeated, .. } = simulate_once(case, spec, simulation)?;
        *logs.entry(fingerprint(repeated.join("\n").bytes())).or_default() += 1;
        if parted.is_none() {
            parted = match first_difference(&transcript, &repeated) {
                Some(why) => Some(format!("{why}; {}", nondeterminism_source(spec, simulation))),
                None if again != recording => {
                    Some("two plays of one seed had the same requests and not the same recording".to_owned())
                }
                None => None,
            };
        }
    }
    if let Some(mut why) = parted {
        why += &count_variants(simulation.plays, logs.into_values().collect());
        // Before the first step: which of the plays is the right one is not known for any step.
        recording.entries.insert(0, RecordingEntry::Trouble(Trouble::new(Blame::Environment, why)));
    }
    Ok((recording, output))
}

/// Of more than two runs: how many were identical, the largest group first.
fn count_variants(plays: u32, mut logs: Vec<u32>) -> String {
    if plays <= 2 {
        return String::new();
    }
    logs.sort_unstable_by(|a, b| b.cmp(a));
    let logs: Vec<_> = logs.iter().map(ToString::to_string).collect();
    format!("; of {plays} plays these numbers had the same requests: {}", logs.join(", "))
}

/// The results of one run.
struct SimulatedRun {
    recording: Recording,
    /// Each request and its answer, where two runs are compared.
    transcript: Vec<String>,
    /// What the subject has printed.
    output: Option<String>,
}

/// Why two runs with one seed differ.
fn nondeterminism_source(spec: &SubjectSpec, simulation: &Simulation) -> &'static str {
    if spec.is_in_go() || simulation.cluster_controllers.are_upstream() {
        "a controller in Go has chosen by the order of a map, or this is a defect of lockstep"
    } else {
        "this is a defect of lockstep"
    }
}

/// Where two runs with one seed first differ.
fn first_difference(one: &[String], two: &[String]) -> Option<String> {
    let count = one.len().max(two.len());
    let at = (0..count).find(|&at| one.get(at) != two.get(at))?;
    let line = |lines: &[String]| lines.get(at).cloned().unwrap_or_else(|| "nothing more".to_owned());
    Some(format!("two plays of one seed part at request {} of {count}: {}; and: {}", at + 1, line(one), line(two)))
}

fn simulate_once(case: &Case, spec: &SubjectSpec, simulation: &Simulation) -> Result<SimulatedRun, EnvironmentError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    // An interrupt takes effect however much virtual time passes: the runtime polls `unless`
    // whenever a task or another thread wakes it.
    let outcome = runtime.block_on(simulation.interrupt.unless(async {
        let epoch = jiff::Timestamp::from_second(EPOCH).expect("a second of this century");
        let _simulated = clock::simulate(epoch);
        let (seed, under_test) = (simulation.seed, simulation.under_test.clone());
        let cluster = match &simulation.cluster_controllers {
            ClusterControllers::Simulated => Cluster::simulated(seed, under_test),
            ClusterControllers::Upstream(_) => Cluster::simulated_without_garbage_collector(seed, under_test),
        };
        let sim = cluster.virtual_time_server().cloned();
        if let (Some(sim), true) = (&sim, simulation.plays > 1) {
            sim.start_transcript();
        }
        let programs = VirtualTime { pool: simulation.programs.clone(), seed: simulation.seed };
        let environment = Environment::open(cluster).await?.with_programs(programs);
        let environment = Arc::new(environment.with_cluster_controllers(simulation.cluster_controllers.clone()));
        let options = SessionOptions {
            budget: simulation.budget,
            restart: case.restart.clone(),
            steps: simulation.steps.clone(),
            sent: simulation.sent.clone(),
            successor: simulation.successor.clone(),
            profile: simulation.profile,
            ..SessionOptions::default()
        };
        let session = Session::open(&environment, spec, &options).await?;
        let log_source = session.log_source();
        let mut recording = session.play(case).await;
        recording.header.seed = Some(simulation.seed);
        // Read before the session closes: its program may print for another case from then on.
        let output = session.printed(log_source).await;
        session.close().await;
        Ok(SimulatedRun { recording, transcript: sim.map(|sim| sim.transcript()).unwrap_or_default(), output })
    }));
    outcome.map_err(EnvironmentError::Interrupted)?
}

#[cfg(test)]
mod tests {
    use lockstep_case::parse;
    use lockstep_recording::controllers::Controller;

    use super::*;

    /// A controller that uses UIDs where it must not is wrong in one of the two cases for every
    /// seed, as the UIDs are the same in both.
    #[test]
    fn mirrored_pods_have_the_same_uids_for_each_seed() {
        let first_is_less = |name: &str, seed: u64| {
            let path =
                std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../../cases/kill-order/{name}.yaml"));
            let case = lockstep_case::load_one(&path).unwrap();
            let simulation = Simulation { seed, ..Simulation::new(case.controllers.clone(), Duration::from_secs(20)) };
            let recording = simulate(&case, &SubjectSpec::Ours, &simulation).unwrap();
            let names = recording.entries.iter().find_map(|entry| match entry {
                RecordingEntry::PodNames(names) => Some(names.clone()),
                _ => None,
            });
            let names = names.unwrap();
            let uid = |pod: &str| {
                let found = recording.entries.iter().find_map(|entry| match entry {
                    RecordingEntry::Object(version) if version.name == names[pod] => {
                        Some(version.object.value()["metadata"]["uid"].clone())
                    }
                    _ => None,
                });
                found.unwrap().as_str().unwrap().to_owned()
            };
            uid("a") < uid("b")
        };
        let pairs = (0..12).map(|seed| (first_is_less("bucket-5h", seed), first_is_less("bucket-5h-mirrored", seed)));
        let pairs: Vec<(bool, bool)> = pairs.collect();
        assert!(pairs.iter().all(|(one, two)| one == two), "{pairs:?}");
        assert!(pairs.contains(&(true, true)) && pairs.contains(&(false, false)), "{pairs:?}");
    }

    #[test]
    fn delays_two_streams_in_one_step() {
        let text = "description: x\ngiven:\n  - deployment: {name: web, replicas: 2, image: \"app:1\"}\n  - ready: {pods: all}\n\
                    steps:\n  - set: {image: \"app:2\"}\n    fault: [{watch: replicasets, event: 1, action: {overtaken: 1}}, \
                    {watch: pods, event: 1, action: {overtaken: 2}}]\n";
        let case = parse("a/b.yaml", "a/b", text).unwrap_or_else(|error| panic!("{error}"));
        let under_test: ControllerSet = [Controller::Deployment].into_iter().collect();
        let simulation = Simulation::new(under_test, Duration::from_secs(20));
        let recording = simulate(&case, &SubjectSpec::Ours, &simulation).unwrap();
        let meetings = recording.entries.iter().filter_map(|entry| match entry {
            RecordingEntry::Injected(met) => Some(met.description.rsplit_once(' ').unwrap()),
            _ => None,
        });
        let meetings: Vec<(&str, u32)> = meetings.map(|(what, others)| (what, others.parse().unwrap())).collect();
        let points: Vec<&str> = meetings.iter().map(|(what, _)| *what).collect();
        assert_eq!(points, ["event 1 of replicasets: overtaken by", "event 1 of pods: overtaken by"]);
        assert!(meetings[0].1 >= 1 && meetings[1].1 >= 2, "{meetings:?}");
        assert!(recording.end.is_some_and(|end| end.completed));
    }
}
