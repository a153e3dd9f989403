//! Playing a case on a simulated cluster of its own: no sockets, no processes, and time that costs
//! nothing.
//!
//! Everything runs on the calling thread, on a runtime whose clock is paused. The same case,
//! subject and seed give the same recording. Upstream's controllers are a program beside it that
//! has no clock of its own (`subject::virtual_time`).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::{Environment, EnvironmentError, MOST_SUB_STEPS, Session, SessionOptions, StepHook};
use crate::case::Case;
use crate::clock;
use crate::cluster::Cluster;
use crate::controllers::Controllers;
use crate::fingerprint::fingerprint;
use crate::intercept::SentLog;
use crate::recording::{Blame, Entry, Recording, Trouble};
use crate::subject::virtual_time::{Pool, Virtual};
use crate::subject::{ClusterControllers, Spec};
use crate::supervise::Interrupt;

/// What a simulation begins with.
#[derive(Debug, Clone)]
pub struct Simulation {
    /// Gives names, uids and the order of things.
    pub seed: u64,
    /// The controllers that the subject brings.
    pub under_test: Controllers,
    /// How long one settling may take, in virtual time.
    pub budget: Duration,
    /// How many sub-steps a step with `all` or `every` may have.
    pub most_sub_steps: u32,
    /// How often it is played, to see whether every request and answer is the same; 1: nothing is
    /// compared.
    pub plays: u32,
    /// Whose the controllers are that the subject does not bring.
    pub cluster_controllers: ClusterControllers,
    /// Programs with upstream's controllers, kept from case to case.
    pub programs: Pool,
    /// Ends a play in the middle: virtual time waits for nobody.
    pub interrupt: Interrupt,
    /// Called after each step that has settled.
    pub steps: StepHook,
    /// Where every request of the subject's is kept, with its body.
    pub sent: Option<SentLog>,
}

impl Simulation {
    /// With seed 0, for whoever brings these controllers; never interrupted.
    #[must_use]
    pub fn new(under_test: Controllers, budget: Duration) -> Self {
        let (interrupt, steps) = (Interrupt::default(), StepHook::default());
        let (cluster_controllers, programs) = (ClusterControllers::default(), Pool::default());
        Self {
            seed: 0,
            under_test,
            budget,
            most_sub_steps: MOST_SUB_STEPS,
            plays: 1,
            cluster_controllers,
            programs,
            interrupt,
            steps,
            sent: None,
        }
    }
}

/// The time of day at the beginning: a Monday's, far from any change of it.
const EPOCH: i64 = 1_767_571_200;

/// Play a case on a new cluster. To be called outside of async code, as it has a runtime of its
/// own.
///
/// # Errors
/// When the subject cannot be started; [`EnvironmentError::Interrupted`].
pub fn simulated(case: &Case, spec: &Spec, simulation: &Simulation) -> Result<Recording, EnvironmentError> {
    simulated_with_output(case, spec, simulation).map(|(recording, _)| recording)
}

/// The same, with what the subject has printed meanwhile, where it prints.
///
/// # Errors
/// As for [`simulated`].
pub fn simulated_with_output(
    case: &Case,
    spec: &Spec,
    simulation: &Simulation,
) -> Result<(Recording, Option<String>), EnvironmentError> {
    let Simulated { mut recording, transcript, output } = played(case, spec, simulation)?;
    let mut parted = None;
    let mut logs = BTreeMap::from([(fingerprint(transcript.join("\n").bytes()), 1)]);
    for _ in 1..simulation.plays {
        let Simulated { recording: again, transcript: repeated, .. } = played(case, spec, simulation)?;
        *logs.entry(fingerprint(repeated.join("\n").bytes())).or_default() += 1;
        if parted.is_none() {
            parted = match difference(&transcript, &repeated) {
                Some(why) => Some(format!("{why}; {}", cause(spec, simulation))),
                None if again != recording => {
                    Some("two plays of one seed had the same requests and not the same recording".to_owned())
                }
                None => None,
            };
        }
    }
    if let Some(mut why) = parted {
        why += &several(simulation.plays, logs.into_values().collect());
        recording.entries.push(Entry::Trouble(Trouble::new(Blame::Environment, why)));
    }
    Ok((recording, output))
}

/// Of more than two plays: how many were alike, the most first.
fn several(plays: u32, mut logs: Vec<u32>) -> String {
    if plays <= 2 {
        return String::new();
    }
    logs.sort_unstable_by(|a, b| b.cmp(a));
    let logs: Vec<_> = logs.iter().map(ToString::to_string).collect();
    format!("; of {plays} plays these numbers had the same requests: {}", logs.join(", "))
}

/// What one play leaves.
struct Simulated {
    recording: Recording,
    /// Each request and its answer, where two plays are compared.
    transcript: Vec<String>,
    /// What the subject has printed.
    output: Option<String>,
}

/// What it comes from that two plays of one seed part.
fn cause(spec: &Spec, simulation: &Simulation) -> &'static str {
    if spec.is_in_go() || simulation.cluster_controllers.are_upstream() {
        "a controller in Go has chosen by the order of a map, or this is a defect of lockstep"
    } else {
        "this is a defect of lockstep"
    }
}

/// Where two plays of one seed part.
fn difference(one: &[String], two: &[String]) -> Option<String> {
    let count = one.len().max(two.len());
    let at = (0..count).find(|&at| one.get(at) != two.get(at))?;
    let line = |lines: &[String]| lines.get(at).cloned().unwrap_or_else(|| "nothing more".to_owned());
    Some(format!("two plays of one seed part at request {} of {count}: {}; and: {}", at + 1, line(one), line(two)))
}

fn played(case: &Case, spec: &Spec, simulation: &Simulation) -> Result<Simulated, EnvironmentError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    // Whatever the case lets pass, the runtime turns to this each time that somebody wakes it, and
    // so does another thread.
    let played = runtime.block_on(simulation.interrupt.unless(async {
        let epoch = jiff::Timestamp::from_second(EPOCH).expect("a second of this century");
        let _simulated = clock::simulate(epoch);
        let (seed, under_test) = (simulation.seed, simulation.under_test.clone());
        let cluster = match &simulation.cluster_controllers {
            ClusterControllers::Simulated => Cluster::simulated(seed, under_test),
            ClusterControllers::Upstream(_) => Cluster::simulated_without_garbage_collector(seed, under_test),
        };
        let sim = cluster.in_virtual_time().cloned();
        if let (Some(sim), true) = (&sim, simulation.plays > 1) {
            sim.start_transcript();
        }
        let programs = Virtual { pool: simulation.programs.clone(), seed: simulation.seed };
        let environment = Environment::open(cluster).await?.with_programs(programs);
        let environment = Arc::new(environment.with_cluster_controllers(simulation.cluster_controllers.clone()));
        let options = SessionOptions {
            budget: simulation.budget,
            most_sub_steps: simulation.most_sub_steps,
            restart: case.restart.clone(),
            steps: simulation.steps.clone(),
            sent: simulation.sent.clone(),
            ..SessionOptions::default()
        };
        let session = Session::take(&environment, spec, &options).await?;
        let log_source = session.log_source();
        let mut recording = session.play(case).await;
        recording.header.seed = Some(simulation.seed);
        // Read before it is left: its program may print for another case from then on.
        let output = session.printed(log_source).await;
        session.leave().await;
        Ok(Simulated { recording, transcript: sim.map(|sim| sim.transcript()).unwrap_or_default(), output })
    }));
    played.map_err(EnvironmentError::Interrupted)?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::parse;
    use crate::controllers::Controller;

    /// A controller that goes by UIDs where it must not is wrong in one case of such a pair at each
    /// seed, as the UIDs are the same.
    #[test]
    fn mirrored_pods_have_the_same_uids_at_each_seed() {
        let first_is_less = |name: &str, seed: u64| {
            let path =
                std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../cases/kill-order/{name}.yaml"));
            let case = crate::case::load_one(&path).unwrap();
            let simulation = Simulation { seed, ..Simulation::new(case.controllers.clone(), Duration::from_secs(20)) };
            let recording = simulated(&case, &Spec::Ours, &simulation).unwrap();
            let names = recording.entries.iter().find_map(|entry| match entry {
                Entry::Named(names) => Some(names.clone()),
                _ => None,
            });
            let names = names.unwrap();
            let uid = |pod: &str| {
                let found = recording.entries.iter().find_map(|entry| match entry {
                    Entry::Object(version) if version.name == names[pod] => {
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
    fn two_streams_are_late_in_one_step() {
        let text = "description: x\ngiven:\n  - deployment: {name: web, replicas: 2, image: \"app:1\"}\n  - ready: {pods: all}\n\
                    steps:\n  - set: {image: \"app:2\"}\n    fault: [{watch: replicasets, event: 1, action: {overtaken: 1}}, \
                    {watch: pods, event: 1, action: {overtaken: 2}}]\n";
        let case = parse("a/b.yaml", "a/b", text).unwrap_or_else(|error| panic!("{error}"));
        let under_test: Controllers = [Controller::Deployment].into_iter().collect();
        let simulation = Simulation::new(under_test, Duration::from_secs(20));
        let recording = simulated(&case, &Spec::Ours, &simulation).unwrap();
        let met = recording.entries.iter().filter_map(|entry| match entry {
            Entry::Met(met) => Some(met.what.rsplit_once(' ').unwrap()),
            _ => None,
        });
        let met: Vec<(&str, u32)> = met.map(|(what, others)| (what, others.parse().unwrap())).collect();
        let said: Vec<&str> = met.iter().map(|(what, _)| *what).collect();
        assert_eq!(said, ["event 1 of replicasets: overtaken by", "event 1 of pods: overtaken by"]);
        assert!(met[0].1 >= 1 && met[1].1 >= 2, "{met:?}");
        assert!(recording.end.is_some_and(|end| end.completed));
    }
}
