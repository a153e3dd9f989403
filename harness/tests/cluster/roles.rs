//! Other processes, played by this executable in the role that [`ROLE`] names, and what is true of
//! the clusters that they boot.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{self, Command, ExitCode, Stdio};
use std::time::Duration;

use libtest_mimic::Failed;
use lockstep_cluster::shared::{SharedRun, obtain_in};
use lockstep_cluster::supervise::ProcessId;
use lockstep_cluster::{Cluster, ClusterPlan, Handover, PersistentCluster, boot};
use lockstep_support::clock;

use crate::outcome::{Outcome, block_on, check, until};

/// The environment variable that selects this executable's role: `plane victim`.
const ROLE: &str = "LOCKSTEP_TEST_ROLE";

/// A module of trials that starts this executable in roles, and the plan of the clusters that these
/// boot.
pub(crate) struct RolePlayer {
    pub(crate) module: &'static str,
    pub(crate) plan: fn() -> ClusterPlan,
}

/// Runs the role of this process, if it has one.
pub(crate) fn play_if_asked(players: &[&RolePlayer]) -> Option<ExitCode> {
    let asked = std::env::var(ROLE).ok()?;
    let (module, role) = asked.split_once(' ').expect("a role follows its module");
    // Without the panic this process would run the trials, one of which would start it again.
    let player = players.iter().find(|player| player.module == module).expect("the module plays roles");
    Some(block_on(play(role, &(player.plan)())))
}

/// Runs a role with its arguments. Each prints its cluster as one line of JSON.
async fn play(role: &str, plan: &ClusterPlan) -> ExitCode {
    let words: Vec<&str> = role.split(' ').collect();
    let played = match words[..] {
        ["victim"] => boot(plan).await,
        ["trial", id, pid] => obtain_in(&run(id, pid.parse().expect("a number")), plan).await,
        ["up", folder] => PersistentCluster::at(Path::new(folder)).up(plan).await.map(|raised| raised.cluster),
        _ => panic!("no such role: {role}"),
    };
    let cluster = match played {
        Ok(cluster) => cluster,
        Err(error) => {
            eprintln!("{role}: {error}");
            return ExitCode::FAILURE;
        }
    };
    let handover = cluster.handover().expect("others can use it");
    println!("{}", serde_json::to_string(&handover).expect("plain data"));
    if role == "victim" {
        clock::pause(Duration::from_secs(600)).await;
    }
    ExitCode::SUCCESS
}

/// A process of a trial; dropping this kills it.
pub(crate) struct Process(pub(crate) process::Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have exited by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn read_cluster(process: &mut Process) -> Result<Cluster, Failed> {
    let mut line = String::new();
    BufReader::new(process.0.stdout.take().ok_or("no output")?).read_line(&mut line)?;
    Ok(serde_json::from_str::<Handover>(&line)?.into())
}

pub(crate) fn run(id: &str, pid: i32) -> SharedRun {
    SharedRun { id: id.to_owned(), process: ProcessId::of(pid) }
}

/// An idle process; the run ends when it is killed.
pub(crate) fn runner() -> Result<(Process, i32), Failed> {
    let process = Process(Command::new("sleep").arg("600").spawn()?);
    let pid = i32::try_from(process.0.id())?;
    Ok((process, pid))
}

/// Checks that all parts of a cluster run; else names the part and its last output.
pub(crate) fn alive(cluster: &Cluster) -> Outcome {
    for (name, process) in cluster.programs() {
        let log = std::fs::read_to_string(cluster.log(name)).unwrap_or_default();
        let last: Vec<&str> = log.lines().rev().take(5).collect();
        check(process.is_alive(), format!("{name} does not run: {last:#?}"))?;
    }
    check(cluster.supervisor().is_some_and(|supervisor| supervisor.is_alive()), "the supervisor does not run")
}

/// All processes of a cluster, including its supervisor.
pub(crate) fn processes(cluster: &Cluster) -> Vec<ProcessId> {
    cluster.programs().values().copied().chain(cluster.supervisor()).collect()
}

pub(crate) async fn until_removed(cluster: &Cluster, folder: &Path) -> Outcome {
    let all = processes(cluster);
    let nothing = async || !all.iter().any(ProcessId::is_alive) && !folder.exists();
    until("nothing is left", Duration::from_secs(15), nothing).await
}

impl RolePlayer {
    /// The command that starts this executable in a role.
    pub(crate) fn command(&self, role: &str) -> Result<Command, Failed> {
        let mut command = Command::new(std::env::current_exe()?);
        command.env(ROLE, format!("{} {role}", self.module)).stdin(Stdio::null()).stdout(Stdio::piped());
        Ok(command)
    }

    pub(crate) fn start(&self, role: &str) -> Result<Process, Failed> {
        Ok(Process(self.command(role)?.spawn()?))
    }

    /// Two trials of one run, each in its own process, and then this process share one cluster.
    /// Returns the process that the run depends on, the cluster as the trials see it, and as this
    /// process does; the processes that booted it have exited.
    pub(crate) async fn shared_by_trials(&self) -> Result<(Process, Cluster, Cluster), Failed> {
        let (runner, pid) = runner()?;
        let id = format!("test-{pid}");
        let mut trials = [self.start(&format!("trial {id} {pid}"))?, self.start(&format!("trial {id} {pid}"))?];
        let [first, second] = [read_cluster(&mut trials[0])?, read_cluster(&mut trials[1])?];
        for trial in &mut trials {
            check(trial.0.wait()?.success(), "a trial failed")?;
        }
        let same = first.programs() == second.programs() && first.access() == second.access();
        check(same, "they have different clusters")?;
        let third = obtain_in(&run(&id, pid), &(self.plan)()).await?;
        check(third.programs() == first.programs(), "a later one has another")?;
        Ok((runner, first, third))
    }
}
