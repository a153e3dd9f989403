//! Upstream in virtual time and the real kube-controller-manager over HTTP, on the same simulated
//! server, request by request.
//!
//! Both play twenty cases. Their requests about each object in each step are compared: verbs, paths
//! and bodies, in order, without generated names, times, uids and versions ([`normalized`]). In
//! real time the machine's load matters: a status may be written once or twice for two changes, a
//! write may meet a conflict and be repeated, and a refused write may be retried more or less
//! often. These are counted; the last writes of each step must still be equal ([`compare`]).
//!
//! ```text
//! cargo test -p lockstep --test cluster requests:: -- --ignored   # needs scripts/fetch virtual, and scripts/fetch control-plane
//! LOCKSTEP_KEEP=FOLDER …                                           # writes all that was sent there, a line each
//! ```

mod compare;
mod normalized;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use libtest_mimic::{Failed, Trial};
use lockstep_case::{self as case, Case};
use lockstep_cluster::{ClusterPlan, DEFAULT_VERSION, Site};
use lockstep_intercept::{SentLog, SentRequest};
use lockstep_recording::{Recording, RecordingEntry};
use lockstep_runner::run::{FileError, PlayError, PlayPlan, RunEvent, Setup, Subscriber, Subscribers};
use lockstep_runner::{Simulation, StepHook, simulate};
use lockstep_subject::SubjectSpec;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// How long a step may take to settle in real time on a busy machine.
const BUDGET: Duration = Duration::from_secs(90);
/// One or two cases for each behaviour of upstream's controllers. In none of them do they choose
/// between equal pods, which they do in Go map order.
const CASES: [&str; 20] = [
    "adoption/name-taken",
    "adoption/orphan",
    "annotations/copied",
    "deadline/exceeded",
    "delete/foreground",
    "delete/orphan",
    "during/paused-after-creation",
    "history/limit-2",
    "pause/template-and-scale",
    "recreate/three",
    "replicaset/adopt-orphan",
    "replicaset/both-controllers",
    "replicaset/quota",
    "rollback/to-last",
    "rolling/pods-fail",
    "rolling/rollover",
    "rolling/surge-3-unavailable-2",
    "rolling/three-revisions",
    "scale/up-in-mid-rollout",
    "undo/to-revision",
];

pub(crate) fn trials() -> Vec<Trial> {
    let trials = CASES.map(|name| {
        let title = format!("requests::{}", name.replace('/', "::"));
        // In real time these take seconds each, and twice as long on a busy machine.
        Trial::test(title, move || compare_case(name).map_err(Failed::from)).with_ignored_flag(true)
    });
    let own = Trial::test("requests::additional_write_is_a_difference", || differences().map_err(Failed::from));
    trials.into_iter().chain([own]).collect()
}

/// What counts as a difference, and what is only counted.
fn differences() -> Result<(), Error> {
    let put = |path: &str, status: u16, body: serde_json::Value| SentRequest {
        method: "PUT".to_owned(),
        uri: format!("/apis/apps/v1/namespaces/ls-a-0-1/{path}"),
        client: "kube-controller-manager/v1.36.3/deployment-controller".to_owned(),
        body: body.to_string().into_bytes(),
        status: Some(status),
    };
    let scale = |replicas: u32| put("replicasets/web-1", 200, serde_json::json!({"spec": {"replicas": replicas}}));
    let says = |ready: u32| put("deployments/web/status", 200, serde_json::json!({"status": {"readyReplicas": ready}}));
    let late = || put("replicasets/web-1", 409, serde_json::json!({"spec": {"replicas": 7}}));
    let compare_case = [scale(1), says(1), says(2)];
    for (other, differences) in [
        (vec![scale(1), says(1), says(2)], 0),
        // Only counted: an intermediate status, a conflict.
        (vec![scale(1), says(2)], 0),
        (vec![late(), scale(1), says(1), says(2)], 0),
        (vec![scale(1), scale(1), says(1), says(2)], 1),
        (vec![says(1), says(2)], 1),
        (vec![scale(2), says(1), says(2)], 1),
        (vec![scale(1), says(1), says(3)], 1),
        (vec![scale(1)], 1),
    ] {
        let comparison = compare::compare(&[compare_case.to_vec()], &[other]);
        if comparison.differences.len() != differences {
            return Err(format!("not {differences}: {comparison}; {:?}", comparison.differences).into());
        }
    }
    Ok(())
}

fn compare_case(name: &str) -> Result<(), Error> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../cases/{name}.yaml"));
    let case = Arc::new(case::load_one(&path)?);
    let (virtual_time, real_time) = (in_virtual_time(&case)?.steps(), in_real_time(&case)?.steps());
    if let Some(folder) = std::env::var_os("LOCKSTEP_KEEP") {
        for (side, sent) in [("virtual", &virtual_time), ("real", &real_time)] {
            let path = Path::new(&folder).join(format!("{}.{side}", name.replace('/', "-")));
            std::fs::write(path, sent.iter().flat_map(|step| step.iter().map(normalized::line)).collect::<String>())?;
        }
    }
    let comparison = compare::compare(&virtual_time, &real_time);
    println!("{name}: {comparison}");
    if comparison.differences.is_empty() { Ok(()) } else { Err(comparison.differences.join("\n").into()) }
}

/// The requests of a subject, by step.
#[derive(Clone, Default)]
struct SentRequests {
    log: SentLog,
    /// The number of requests when each step had settled.
    settled: Arc<Mutex<Vec<usize>>>,
}

impl SentRequests {
    /// The requests of each step. Requests after the last step are left out: on a server that
    /// continues, the namespace is deleted.
    fn steps(&self) -> Vec<Vec<SentRequest>> {
        let (all, mut begin) = (self.log.requests(), 0);
        let settled = self.settled.lock().expect("no thread panics with it");
        settled.iter().map(|end| all[std::mem::replace(&mut begin, *end)..*end].to_vec()).collect()
    }

    fn settled(&self) {
        self.settled.lock().expect("no thread panics with it").push(self.log.requests().len());
    }
}

impl Subscriber for SentRequests {
    fn on(&self, event: &RunEvent<'_>) -> Result<(), FileError> {
        if let RunEvent::StepSettled { .. } = event {
            self.settled();
        }
        Ok(())
    }
}

fn in_virtual_time(case: &Arc<Case>) -> Result<SentRequests, Error> {
    let sent = SentRequests::default();
    let hook = sent.clone();
    let simulation = Simulation {
        sent: Some(sent.log.clone()),
        steps: StepHook::new(move |_, _| hook.settled()),
        ..Simulation::new(case.controllers.clone(), BUDGET)
    };
    settled(&simulate(case, &"upstream".parse()?, &simulation)?)?;
    Ok(sent)
}

fn in_real_time(case: &Arc<Case>) -> Result<SentRequests, Error> {
    let sent = SentRequests::default();
    let plan = ClusterPlan::new(DEFAULT_VERSION).at(Site::Sim);
    let (log, events) = (Some(sent.log.clone()), Subscribers::new(vec![Arc::new(sent.clone())]));
    let setup = Setup { budget: BUDGET, request_log: log, events, ..Setup::new(plan) };
    let (specs, cases): ([SubjectSpec; 1], _) = (["upstream:process".parse()?], [Arc::clone(case)]);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut recordings = Vec::new();
    runtime.block_on(setup.for_each_subject(&case.controllers, &specs, 1, async |_, player| {
        let take = async |played: lockstep_runner::run::CompletedPlay<'_>| {
            recordings.push(played.recording);
            Ok::<_, PlayError>(ControlFlow::Continue(()))
        };
        setup.play_each(player, PlayPlan::once(&cases), take).await
    }))?;
    recordings.iter().try_for_each(settled)?;
    Ok(sent)
}

/// Checks that the run succeeded; otherwise its requests mean nothing.
fn settled(recording: &Recording) -> Result<(), Error> {
    let why = recording.entries.iter().find_map(|entry| match entry {
        RecordingEntry::Trouble(trouble) => Some(trouble.why.clone()),
        RecordingEntry::Settled(settling) => settling.unsettled.as_ref().map(|trouble| trouble.why.clone()),
        _ => None,
    });
    why.map_or(Ok(()), |why| Err(format!("{}: {why}", recording.header.subject).into()))
}
