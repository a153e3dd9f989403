//! The parts of other processes, played by the test's own executable, started again in the role
//! that [`ROLE`] names; and what every trial on a real cluster needs.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{self, Command, ExitCode, Stdio};
use std::time::Duration;

use libtest_mimic::{Failed, Trial};
use lockstep::clock;
use lockstep::cluster::shared::{Run, obtain_in};
use lockstep::cluster::{Cluster, Handover, Plan, Standing, boot};
use lockstep::supervise::ProcessId;

/// The environment variable that gives this executable another role.
const ROLE: &str = "LOCKSTEP_TEST_ROLE";

pub(crate) type Outcome = Result<(), Failed>;

pub(crate) fn trial<F: Future<Output = Outcome> + 'static>(name: &str, ignored: bool, run: fn() -> F) -> Trial {
    Trial::test(name, move || block_on(run())).with_ignored_flag(ignored)
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(future)
}

pub(crate) fn check(holds: bool, what: impl Into<Failed>) -> Outcome {
    if holds { Ok(()) } else { Err(what.into()) }
}

pub(crate) async fn until(what: &str, patience: Duration, mut holds: impl AsyncFnMut() -> bool) -> Outcome {
    let started = clock::instant();
    while !holds().await {
        if started.elapsed() > patience {
            return Err(format!("after {patience:?} still not: {what}").into());
        }
        clock::pause(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// Play the role that this process was started for, if any.
pub(crate) fn play_if_asked(plan: fn() -> Plan) -> Option<ExitCode> {
    let role = std::env::var(ROLE).ok()?;
    Some(block_on(play(&role, &plan())))
}

/// A role, with its arguments after it. Each says what it has as one line of JSON.
async fn play(role: &str, plan: &Plan) -> ExitCode {
    let words: Vec<&str> = role.split(' ').collect();
    let played = match words[..] {
        ["victim"] => boot(plan).await,
        ["trial", id, pid] => obtain_in(&run(id, pid.parse().expect("a number")), plan).await,
        ["up", folder] => Standing::at(Path::new(folder)).up(plan).await.map(|raised| raised.cluster),
        _ => panic!("no such role: {role}"),
    };
    let cluster = match played {
        Ok(cluster) => cluster,
        Err(error) => {
            eprintln!("{role}: {error}");
            return ExitCode::FAILURE;
        }
    };
    let handover = cluster.hand_over().expect("others can use it");
    println!("{}", serde_json::to_string(&handover).expect("plain data"));
    if role == "victim" {
        clock::pause(Duration::from_secs(600)).await;
    }
    ExitCode::SUCCESS
}

/// A process of a trial's own; it is killed when this is dropped, whatever became of the trial.
pub(crate) struct Process(pub(crate) process::Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// This executable, to be started in a role.
pub(crate) fn other(role: &str) -> Result<Command, Failed> {
    let mut command = Command::new(std::env::current_exe()?);
    command.env(ROLE, role).stdin(Stdio::null()).stdout(Stdio::piped());
    Ok(command)
}

pub(crate) fn start(role: &str) -> Result<Process, Failed> {
    Ok(Process(other(role)?.spawn()?))
}

pub(crate) fn said(process: &mut Process) -> Result<Cluster, Failed> {
    let mut line = String::new();
    BufReader::new(process.0.stdout.take().ok_or("no output")?).read_line(&mut line)?;
    Ok(serde_json::from_str::<Handover>(&line)?.into())
}

pub(crate) fn run(id: &str, pid: i32) -> Run {
    Run { id: id.to_owned(), process: ProcessId::of(pid) }
}

/// A process that does nothing, for a run to end with.
pub(crate) fn runner() -> Result<(Process, i32), Failed> {
    let process = Process(Command::new("sleep").arg("600").spawn()?);
    let pid = i32::try_from(process.0.id())?;
    Ok((process, pid))
}

/// Whether all of a cluster runs; if not, which part does not, and what it said last.
pub(crate) fn alive(cluster: &Cluster) -> Outcome {
    for (name, process) in cluster.programs() {
        let log = std::fs::read_to_string(cluster.log(name)).unwrap_or_default();
        let last: Vec<&str> = log.lines().rev().take(5).collect();
        check(process.is_alive(), format!("{name} does not run: {last:#?}"))?;
    }
    check(cluster.supervisor().is_some_and(|supervisor| supervisor.is_alive()), "the supervisor does not run")
}

/// Every process of a cluster, its supervisor included.
pub(crate) fn processes(cluster: &Cluster) -> Vec<ProcessId> {
    cluster.programs().values().copied().chain(cluster.supervisor()).collect()
}

pub(crate) async fn gone(cluster: &Cluster, folder: &Path) -> Outcome {
    let all = processes(cluster);
    let nothing = async || !all.iter().any(ProcessId::is_alive) && !folder.exists();
    until("nothing is left", Duration::from_secs(15), nothing).await
}

/// Two trials of one run, each a process of its own, and then this one, have one cluster between
/// them. Returns the process that the run lives for, the cluster as the trials know it, and as this
/// process does; those who booted it are gone.
pub(crate) async fn shared_by_trials(plan: &Plan) -> Result<(Process, Cluster, Cluster), Failed> {
    let (runner, pid) = runner()?;
    let id = format!("test-{pid}");
    let mut trials = [start(&format!("trial {id} {pid}"))?, start(&format!("trial {id} {pid}"))?];
    let [first, second] = [said(&mut trials[0])?, said(&mut trials[1])?];
    for trial in &mut trials {
        check(trial.0.wait()?.success(), "a trial failed")?;
    }
    check(first.programs() == second.programs() && first.access() == second.access(), "they have different clusters")?;
    let third = obtain_in(&run(&id, pid), plan).await?;
    check(third.programs() == first.programs(), "a later one has another")?;
    Ok((runner, first, third))
}
