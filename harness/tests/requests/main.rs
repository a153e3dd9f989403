//! Upstream in virtual time and the real kube-controller-manager over HTTP, on the same simulated
//! server, request by request.
//!
//! Twenty cases are played by both. What they send about each object in each step is compared:
//! verbs, paths and bodies, in order, less names that the server makes up, times, uids and versions
//! ([`plain`]). In real time the machine's load is part of the run: a status is written once for
//! two changes or twice, a write meets a conflict and is sent again, a write that the server
//! refuses is tried more often or less. These are counted and shown; what is written in the end of
//! each step must be the same all the same ([`compare`]).
//!
//! ```text
//! cargo test -p lockstep --test requests -- --ignored        # needs scripts/upstream-virtual, and scripts/control-plane
//! LOCKSTEP_KEEP=FOLDER …                                      # writes all that was sent there, a line each
//! ```

mod compare;
mod plain;

use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use lockstep::case::{self, Case};
use lockstep::cluster::{DEFAULT_VERSION, Plan, Site};
use lockstep::intercept::{SentLog, SentRequest};
use lockstep::recording::{Entry, Recording};
use lockstep::run::{Event, Events, FileError, Plan as Plays, RunError, Setup, Subscriber};
use lockstep::runner::{Simulation, StepHook, simulated};
use lockstep::subject::Spec;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// How long a step may take to settle where time is real and the machine is busy.
const BUDGET: Duration = Duration::from_secs(90);
/// Of each thing that upstream's controllers do one or two cases, and none in which they choose
/// between equal pods, as they do by the order of a Go map.
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

fn main() -> ExitCode {
    lockstep::runner::main_if_asked();
    let trials = CASES.map(|name| {
        let title = format!("requests::{}", name.replace('/', "::"));
        // Real time: seconds for each, and as many again on a busy machine.
        Trial::test(title, move || same(name).map_err(Failed::from)).with_ignored_flag(true)
    });
    let own = Trial::test("requests::a_write_too_many_is_a_difference", || differences().map_err(Failed::from));
    let trials = trials.into_iter().chain([own]).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// What is a difference, and what is counted.
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
    let same = [scale(1), says(1), says(2)];
    for (other, differences) in [
        (vec![scale(1), says(1), says(2)], 0),
        // Counted: a status in between, a conflict.
        (vec![scale(1), says(2)], 0),
        (vec![late(), scale(1), says(1), says(2)], 0),
        (vec![scale(1), scale(1), says(1), says(2)], 1),
        (vec![says(1), says(2)], 1),
        (vec![scale(2), says(1), says(2)], 1),
        (vec![scale(1), says(1), says(3)], 1),
        (vec![scale(1)], 1),
    ] {
        let compared = compare::compare(&[same.to_vec()], &[other]);
        if compared.differences.len() != differences {
            return Err(format!("not {differences}: {compared}; {:?}", compared.differences).into());
        }
    }
    Ok(())
}

fn same(name: &str) -> Result<(), Error> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../cases/{name}.yaml"));
    let case = Arc::new(case::load_one(&path)?);
    let (virtual_time, real_time) = (in_virtual_time(&case)?.steps(), in_real_time(&case)?.steps());
    if let Some(folder) = std::env::var_os("LOCKSTEP_KEEP") {
        for (side, sent) in [("virtual", &virtual_time), ("real", &real_time)] {
            let path = Path::new(&folder).join(format!("{}.{side}", name.replace('/', "-")));
            std::fs::write(path, sent.iter().flat_map(|step| step.iter().map(plain::line)).collect::<String>())?;
        }
    }
    let compared = compare::compare(&virtual_time, &real_time);
    println!("{name}: {compared}");
    if compared.differences.is_empty() { Ok(()) } else { Err(compared.differences.join("\n").into()) }
}

/// What a subject has sent, step by step.
#[derive(Clone, Default)]
struct Sent {
    log: SentLog,
    /// How much of it was sent when each step had settled.
    settled: Arc<Mutex<Vec<usize>>>,
}

impl Sent {
    /// The requests of each step. What comes after the last is no part of the case: on a server
    /// that stays, its namespace goes.
    fn steps(&self) -> Vec<Vec<SentRequest>> {
        let (all, mut begin) = (self.log.requests(), 0);
        let settled = self.settled.lock().expect("nobody panics with it");
        settled.iter().map(|end| all[std::mem::replace(&mut begin, *end)..*end].to_vec()).collect()
    }

    fn settled(&self) {
        self.settled.lock().expect("nobody panics with it").push(self.log.requests().len());
    }
}

impl Subscriber for Sent {
    fn on(&self, event: &Event<'_>) -> Result<(), FileError> {
        if let Event::StepSettled { .. } = event {
            self.settled();
        }
        Ok(())
    }
}

fn in_virtual_time(case: &Arc<Case>) -> Result<Sent, Error> {
    let sent = Sent::default();
    let hook = sent.clone();
    let simulation = Simulation {
        sent: Some(sent.log.clone()),
        steps: StepHook::new(move |_, _| hook.settled()),
        ..Simulation::new(case.controllers.clone(), BUDGET)
    };
    settled(&simulated(case, &"upstream".parse()?, &simulation)?)?;
    Ok(sent)
}

fn in_real_time(case: &Arc<Case>) -> Result<Sent, Error> {
    let sent = Sent::default();
    let plan = Plan::new(DEFAULT_VERSION).at(Site::Sim);
    let (log, events) = (Some(sent.log.clone()), Events::to(vec![Arc::new(sent.clone())]));
    let setup = Setup { budget: BUDGET, sent: log, events, ..Setup::new(plan) };
    let (specs, cases): ([Spec; 1], _) = (["upstream:process".parse()?], [Arc::clone(case)]);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut recordings = Vec::new();
    runtime.block_on(setup.with_each(&case.controllers, &specs, 1, async |_, player| {
        let take = async |played: lockstep::run::Played<'_>| {
            recordings.push(played.recording);
            Ok::<_, RunError>(ControlFlow::Continue(()))
        };
        setup.play_each(player, Plays::once(&cases), take).await
    }))?;
    recordings.iter().try_for_each(settled)?;
    Ok(sent)
}

/// Nothing went wrong: else the requests say nothing.
fn settled(recording: &Recording) -> Result<(), Error> {
    let why = recording.entries.iter().find_map(|entry| match entry {
        Entry::Trouble(trouble) => Some(trouble.why.clone()),
        Entry::Settled(settling) => settling.unsettled.as_ref().map(|trouble| trouble.why.clone()),
        _ => None,
    });
    why.map_or(Ok(()), |why| Err(format!("{}: {why}", recording.header.subject).into()))
}
