//! Nothing outlives the harness: real processes, killed in different ways.
//!
//! This executable, started in the role of [`VICTIM`], plays the harness.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use libtest_mimic::{Failed, Trial};
use lockstep_cluster::supervise::{self, DetachOptions, Exit, ProcessId, ProcessSpec, SuperviseError, Supervisor};
use lockstep_support::clock;
use rustix::process::{Pid, Signal};

use crate::outcome::{Outcome, check};

/// The environment variable that makes this executable a harness that waits to be killed.
const VICTIM: &str = "LOCKSTEP_TEST_VICTIM";

/// The file that the victim's last program removes.
const LAST: &str = "LOCKSTEP_TEST_LAST";

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("program_runs_with_its_own_environment_and_log", environment),
        trial("exit_codes_and_signals_are_reported", exits),
        trial("program_that_does_not_start_is_named_with_the_cause", missing),
        trial("kill_ends_the_process_group", kill_group),
        trial("exit_of_the_leader_ends_its_group", orphan),
        trial("exit_is_reported_when_no_orphan_is_left", escaped).with_ignored_flag(!cfg!(target_os = "linux")),
        trial("orphan_may_belong_to_a_running_program", shared_orphan).with_ignored_flag(!cfg!(target_os = "linux")),
        trial("shutdown_leaves_no_orphan", escaped_until_shutdown).with_ignored_flag(!cfg!(target_os = "linux")),
        trial("shutdown_leaves_no_process_and_no_folder", shutdown),
        trial("final_programs_run_in_reverse_order_without_the_folder", last),
        trial("program_that_ignores_sigterm_is_killed_after_a_second", stubborn),
        trial("sigkill_of_the_harness_leaves_nothing", || after(Signal::KILL)),
        trial("sigterm_of_the_harness_leaves_nothing", || after(Signal::TERM)),
        trial("supervisor_ignores_ctrl_c", ctrl_c),
        trial("supervisor_exits_on_sigterm", terminated),
        trial("programs_end_with_a_killed_supervisor", decapitated),
        trial("final_programs_run_after_the_others_exit", farewell),
        trial("final_program_runs_after_a_killed_harness", || farewell_after(Signal::KILL)),
        trial("kept_folder_is_not_removed", folder_is_kept),
        trial("detached_supervisor_exits_with_its_process", detached),
    ]
}

/// Plays the harness that is killed, if this process is to.
pub(crate) fn play_if_asked() {
    if let Some(dir) = std::env::var_os(VICTIM) {
        victim(Path::new(&dir));
    }
}

fn trial(name: &str, run: impl FnOnce() -> Outcome + Send + 'static) -> Trial {
    Trial::test(format!("supervise::{name}"), run)
}

/// Creates a folder, and a supervisor that removes it.
fn start() -> Result<(PathBuf, Supervisor), Failed> {
    let dir = tempfile::Builder::new().prefix("lockstep-supervise-").tempdir()?.keep();
    let supervisor = Supervisor::start(&dir, true)?;
    Ok((dir, supervisor))
}

fn sh(dir: &Path, script: &str) -> ProcessSpec {
    ProcessSpec {
        name: "script".to_owned(),
        program: "sh".into(),
        args: vec!["-c".to_owned(), script.to_owned()],
        env: BTreeMap::from([("PATH".to_owned(), std::env::var("PATH").unwrap_or_default())]),
        log: dir.join("script.log"),
    }
}

/// A script with a child process; the log has both process IDs.
const FAMILY: &str = "sleep 600 & echo $!; echo $$; wait";

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(future)
}

fn until(message: &str, patience: Duration, mut holds: impl FnMut() -> bool) -> Outcome {
    let started = clock::instant();
    while !holds() {
        if started.elapsed() > patience {
            return Err(format!("after {patience:?} still not: {message}").into());
        }
        clock::pause_blocking(Duration::from_millis(10));
    }
    Ok(())
}

/// The processes in a log, once there are `count`.
fn processes(log: &Path, count: usize) -> Result<Vec<ProcessId>, Failed> {
    let read = || -> Vec<ProcessId> {
        let text = std::fs::read_to_string(log).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).map(ProcessId::of).collect()
    };
    until("the script said who it is", Duration::from_secs(10), || read().len() == count)?;
    Ok(read())
}

fn all_gone(processes: &[ProcessId], dir: &Path) -> Outcome {
    let gone = || !processes.iter().any(ProcessId::is_alive);
    until("its processes are gone", Duration::from_secs(5), gone)?;
    until("its folder is gone", Duration::from_secs(5), || !dir.exists())
}

fn environment() -> Outcome {
    // File descriptors that this process inherited and passes on, as it cannot close them without
    // unsafe code.
    let foreign = pipes();
    let (dir, supervisor) = start()?;
    let mut spec = sh(&dir, "env; echo to stderr >&2; for fd in /proc/$$/fd/*; do readlink $fd; done; true");
    spec.env.insert("MINE".to_owned(), "1".to_owned());
    let child = supervisor.spawn(spec)?;
    check(block_on(child.wait_exit()).success(), "it ended well")?;
    let log = std::fs::read_to_string(dir.join("script.log"))?;
    check(log.contains("MINE=1") && log.contains("to stderr"), log.clone())?;
    check(!log.contains(supervise::ROLE_VARIABLE) && !log.contains("HOME="), log.clone())?;
    let pipe = log.lines().find(|line| line.starts_with("pipe:") && !foreign.contains(Path::new(line)));
    check(pipe.is_none(), format!("it has a pipe of ours: {pipe:?}"))?;
    block_on(supervisor.shutdown());
    Ok(())
}

/// The open pipes of this process; empty without `/proc`.
fn pipes() -> BTreeSet<PathBuf> {
    let files = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    files
        .filter_map(|file| std::fs::read_link(file.path()).ok())
        .filter(|to| to.to_string_lossy().starts_with("pipe:"))
        .collect()
}

fn exits() -> Outcome {
    let (dir, supervisor) = start()?;
    for (script, expected) in [("true", Exit::Code(0)), ("exit 7", Exit::Code(7)), ("kill -9 $$", Exit::Signal(9))] {
        let child = supervisor.spawn(sh(&dir, script))?;
        let exit = block_on(child.wait_exit());
        check(exit == expected && child.exited() == Some(expected), format!("{script}: {exit}"))?;
    }
    block_on(supervisor.shutdown());
    Ok(())
}

fn missing() -> Outcome {
    let (dir, supervisor) = start()?;
    for program in ["no-such-program-anywhere", "/no/such/program"] {
        match supervisor.spawn(ProcessSpec { program: program.into(), ..sh(&dir, "") }) {
            Err(SuperviseError::Missing { program: found, .. }) if found == Path::new(program) => {}
            other => return Err(format!("{program}: {other:?}").into()),
        }
    }
    match supervisor.spawn(ProcessSpec { program: dir.join("supervisor.log"), ..sh(&dir, "") }) {
        Err(SuperviseError::Spawn { .. }) => {}
        other => return Err(format!("a file that is not a program: {other:?}").into()),
    }
    for (name, text, cause) in [("crlf", "#!/bin/sh\r\n", "a carriage return"), ("plain", "true\n", "after #! in its")]
    {
        let program = dir.join(name);
        std::fs::write(&program, text)?;
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
        match supervisor.spawn(ProcessSpec { program, ..sh(&dir, "") }) {
            Err(SuperviseError::Spawn { why, .. }) if why.contains(cause) => {}
            other => return Err(format!("{name}: {other:?}").into()),
        }
    }
    check(block_on(supervisor.spawn(sh(&dir, "true"))?.wait_exit()).success(), "the next one runs")?;
    block_on(supervisor.shutdown());
    Ok(())
}

fn kill_group() -> Outcome {
    let (dir, supervisor) = start()?;
    let child = supervisor.spawn(sh(&dir, FAMILY))?;
    let family = processes(&dir.join("script.log"), 2)?;
    check(family[1].pid == child.pid, "the leader is the program itself")?;
    child.kill();
    check(block_on(child.wait_exit()) == Exit::Signal(9), "it was killed")?;
    until("the group is gone", Duration::from_secs(5), || !family.iter().any(ProcessId::is_alive))?;
    block_on(supervisor.shutdown());
    Ok(())
}

fn orphan() -> Outcome {
    let (dir, supervisor) = start()?;
    let child = supervisor.spawn(sh(&dir, "sleep 600 & echo $!"))?;
    check(block_on(child.wait_exit()).success(), "the leader ended well")?;
    let left = processes(&dir.join("script.log"), 1)?;
    until("the rest of the group is gone", Duration::from_secs(5), || !left[0].is_alive())?;
    block_on(supervisor.shutdown());
    Ok(())
}

/// A script with a child process that leaves its group, and the child of that one; the log has the
/// process IDs of both.
const ESCAPE: &str = "setsid sh -c 'sleep 600 & echo $!; echo $$; wait' & wait";

fn escaped() -> Outcome {
    let (dir, supervisor) = start()?;
    supervisor.end_orphans()?;
    let child = supervisor.spawn(sh(&dir, ESCAPE))?;
    let family = processes(&dir.join("script.log"), 2)?;
    child.kill();
    check(block_on(child.wait_exit()) == Exit::Signal(9), "it was killed")?;
    check(!family.iter().any(ProcessId::is_alive), "an orphan acts beside the next program")?;
    check(block_on(supervisor.spawn(sh(&dir, "exit 7"))?.wait_exit()) == Exit::Code(7), "the next one runs")?;
    block_on(supervisor.shutdown());
    Ok(())
}

fn shared_orphan() -> Outcome {
    let (dir, supervisor) = start()?;
    supervisor.end_orphans()?;
    let other = supervisor.spawn(sh(&dir, "sleep 600"))?;
    let child = supervisor.spawn(sh(&dir, ESCAPE))?;
    let family = processes(&dir.join("script.log"), 2)?;
    child.kill();
    block_on(child.wait_exit());
    check(family.iter().all(ProcessId::is_alive), "it may be the other program's")?;
    other.kill();
    check(block_on(other.wait_exit()) == Exit::Signal(9), "it was killed")?;
    check(!family.iter().any(ProcessId::is_alive), "an orphan is left")?;
    block_on(supervisor.shutdown());
    Ok(())
}

fn escaped_until_shutdown() -> Outcome {
    let (dir, supervisor) = start()?;
    supervisor.end_orphans()?;
    let child = supervisor.spawn(sh(&dir, ESCAPE))?;
    let family = processes(&dir.join("script.log"), 2)?;
    block_on(supervisor.shutdown());
    check(child.exited() == Some(Exit::Signal(15)), format!("{:?}", child.exited()))?;
    all_gone(&family, &dir)
}

fn shutdown() -> Outcome {
    let (dir, supervisor) = start()?;
    let child = supervisor.spawn(sh(&dir, FAMILY))?;
    let mut all = processes(&dir.join("script.log"), 2)?;
    all.push(supervisor.process());
    block_on(supervisor.shutdown());
    // Removed already, not just soon.
    check(!all.iter().any(ProcessId::is_alive) && !dir.exists(), "something is left")?;
    check(child.exited() == Some(Exit::Signal(15)), format!("{:?}", child.exited()))
}

fn last() -> Outcome {
    let (dir, supervisor) = start()?;
    let output_file = tempfile::NamedTempFile::new()?;
    for word in ["network", "container"] {
        supervisor.finally(sh(&dir, &format!("echo {word} >> {}", output_file.path().display())))?;
    }
    std::fs::remove_dir_all(&dir)?;
    check(std::fs::read_to_string(output_file.path())?.is_empty(), "they did not wait for the end")?;
    block_on(supervisor.shutdown());
    let output_file = std::fs::read_to_string(output_file.path())?;
    check(output_file == "container\nnetwork\n", output_file)
}

fn stubborn() -> Outcome {
    let (dir, supervisor) = start()?;
    let child = supervisor.spawn(sh(&dir, "trap '' TERM; echo $$; while :; do sleep 0.1; done"))?;
    processes(&dir.join("script.log"), 1)?;
    let started = clock::instant();
    block_on(supervisor.shutdown());
    check(started.elapsed() >= Duration::from_secs(1), "it had its grace")?;
    check(started.elapsed() < Duration::from_secs(5), "it did not have more than that")?;
    check(child.exited() == Some(Exit::Signal(9)), format!("{:?}", child.exited()))
}

fn farewell() -> Outcome {
    let (dir, supervisor) = start()?;
    let outside = tempfile::NamedTempFile::new()?;
    let note = |word: &str| sh(&dir, &format!("sleep 0.1; echo {word} >> {}", outside.path().display()));
    supervisor.finally(note("second"))?;
    supervisor.finally(note("first"))?;
    let child = supervisor.spawn(sh(
        &dir,
        &format!("trap 'echo before >> {}; exit' TERM; echo $$; sleep 600 & wait", outside.path().display()),
    ))?;
    processes(&dir.join("script.log"), 1)?;
    block_on(supervisor.shutdown());
    let text = std::fs::read_to_string(outside.path())?;
    check(text == "before\nfirst\nsecond\n", text)?;
    check(child.exited().is_some() && !dir.exists(), "something is left")
}

/// The victim's final program removes a file of this test.
fn farewell_after(signal: Signal) -> Outcome {
    let dir = tempfile::Builder::new().prefix("lockstep-supervise-").tempdir()?.keep();
    let outside = tempfile::NamedTempFile::new()?;
    let mut victim = Command::new(std::env::current_exe()?);
    let mut harness =
        victim.env(VICTIM, &dir).env(LAST, outside.path()).stdout(Stdio::piped()).stdin(Stdio::null()).spawn()?;
    let mut line = String::new();
    BufReader::new(harness.stdout.take().ok_or("no output")?).read_line(&mut line)?;
    check(outside.path().exists(), "it goes too early")?;
    rustix::process::kill_process(Pid::from_child(&harness), signal)?;
    harness.wait()?;
    until("the last program has run", Duration::from_secs(10), || !outside.path().exists())?;
    all_gone(&[ProcessId::of(line.trim().parse()?)], &dir)
}

fn folder_is_kept() -> Outcome {
    let (dir, supervisor) = start()?;
    supervisor.finally(sh(&dir, &format!("rm -r {}", dir.display())))?;
    supervisor.keep()?;
    block_on(supervisor.shutdown());
    check(dir.exists(), "it is gone")?;
    Ok(std::fs::remove_dir_all(dir)?)
}

/// Runs a process with a child, prints their process IDs, and waits.
fn victim(dir: &Path) -> ! {
    let supervisor = Supervisor::start(dir, true).expect("a supervisor");
    if let Ok(last) = std::env::var(LAST) {
        supervisor.finally(sh(dir, &format!("rm {last}"))).expect("it is noted");
    }
    let _child = supervisor.spawn(sh(dir, FAMILY)).expect("a child");
    println!("{}", supervisor.process().pid);
    loop {
        clock::pause_blocking(Duration::from_secs(60));
    }
}

fn after(signal: Signal) -> Outcome {
    let dir = tempfile::Builder::new().prefix("lockstep-supervise-").tempdir()?.keep();
    let mut harness =
        Command::new(std::env::current_exe()?).env(VICTIM, &dir).stdout(Stdio::piped()).stdin(Stdio::null()).spawn()?;
    let mut line = String::new();
    BufReader::new(harness.stdout.take().ok_or("no output")?).read_line(&mut line)?;
    let mut all = processes(&dir.join("script.log"), 2)?;
    all.push(ProcessId::of(line.trim().parse()?));
    check(all.iter().all(ProcessId::is_alive), "all of it runs")?;
    rustix::process::kill_process(Pid::from_child(&harness), signal)?;
    harness.wait()?;
    all_gone(&all, &dir)
}

fn ctrl_c() -> Outcome {
    let (dir, supervisor) = start()?;
    let pid = Pid::from_raw(supervisor.process().pid).ok_or("a supervisor has a number")?;
    for signal in [Signal::INT, Signal::HUP, Signal::QUIT] {
        rustix::process::kill_process(pid, signal)?;
    }
    check(block_on(supervisor.spawn(sh(&dir, "true"))?.wait_exit()).success(), "it works on")?;
    block_on(supervisor.shutdown());
    Ok(())
}

fn terminated() -> Outcome {
    let (dir, supervisor) = start()?;
    let child = supervisor.spawn(sh(&dir, FAMILY))?;
    let mut all = processes(&dir.join("script.log"), 2)?;
    all.push(supervisor.process());
    check(supervisor.process().terminate(Duration::from_secs(5)), "it ends")?;
    all_gone(&all, &dir)?;
    check(block_on(child.wait_exit()) == Exit::Signal(15), "its exit was reported")?;
    match supervisor.spawn(sh(&dir, "true")) {
        Err(SuperviseError::Ended(_)) => Ok(()),
        other => Err(format!("{other:?}").into()),
    }
}

fn decapitated() -> Outcome {
    let (dir, supervisor) = start()?;
    let child = supervisor.spawn(sh(&dir, FAMILY))?;
    let family = processes(&dir.join("script.log"), 2)?;
    let pid = Pid::from_raw(supervisor.process().pid).ok_or("a supervisor has a number")?;
    rustix::process::kill_process(pid, Signal::KILL)?;
    until("its programs are gone", Duration::from_secs(5), || !family.iter().any(ProcessId::is_alive))?;
    check(block_on(child.wait_exit()) == Exit::Unknown, "its exit was not observed")?;
    std::fs::remove_dir_all(dir)?;
    Ok(())
}

fn detached() -> Outcome {
    let (dir, supervisor) = start()?;
    let _child = supervisor.spawn(sh(&dir, FAMILY))?;
    let mut all = processes(&dir.join("script.log"), 2)?;
    let mut lives_for = Command::new("sleep").arg("600").spawn()?;
    let gone = Some(ProcessId::of(i32::try_from(lives_for.id())?));
    all.push(supervisor.detach(DetachOptions { process: gone, remove: dir.clone() })?);
    // Checks twice: by the second time the harness's end of the pipe is closed.
    clock::pause_blocking(Duration::from_millis(500));
    check(all.iter().all(ProcessId::is_alive), "all of it lives on")?;
    lives_for.kill()?;
    lives_for.wait()?;
    all_gone(&all, &dir)
}
