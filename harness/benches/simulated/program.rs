//! The program that is measured, from its start to its end.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use lockstep_support::clock;
use lockstep_support::outcome::RunOutcome;

pub(crate) type ProgramResult<T> = Result<T, Box<dyn std::error::Error>>;

/// The kernel's clock ticks a second for processor time, as on every Linux.
const TICKS_A_SECOND: f64 = 100.0;

/// What one run of the program took, and what it printed on standard error.
pub(crate) struct ProgramRun {
    pub(crate) seconds: f64,
    pub(crate) processor_seconds: f64,
    pub(crate) peak_mib: u64,
    pub(crate) messages: String,
}

/// The program that LOCKSTEP_PROGRAM names, else the one of this build.
pub(crate) fn path() -> PathBuf {
    std::env::var_os("LOCKSTEP_PROGRAM").map_or_else(|| env!("CARGO_BIN_EXE_lockstep").into(), PathBuf::from)
}

/// The folder of the repository, where commands are run.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Runs the program with as many jobs. A search may find a program that is inconclusive.
///
/// # Errors
/// If the program fails otherwise; with what it printed.
pub(crate) fn run(arguments: &[&str], jobs: u32) -> ProgramResult<ProgramRun> {
    let (before, since) = (processor_seconds_of_children()?, clock::instant());
    let mut command = Command::new(path());
    command.args(arguments).args(["--jobs", &jobs.to_string()]).current_dir(folder());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let mut messages = child.stderr.take().ok_or("standard error is a pipe")?;
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut messages, &mut text).map(|_| text)
    });
    let (peak_mib, succeeded) = wait(&mut child)?;
    let seconds = since.elapsed().as_secs_f64();
    let messages = reader.join().map_err(|_| "the reader panicked")??;
    if !succeeded {
        return Err(format!("lockstep {}: {messages}", arguments.join(" ")).into());
    }
    Ok(ProgramRun { seconds, processor_seconds: processor_seconds_of_children()? - before, peak_mib, messages })
}

/// Waits for a process; returns its peak of memory, and whether it did its work.
fn wait(child: &mut Child) -> ProgramResult<(u64, bool)> {
    let mut peak = 0;
    loop {
        if let Some(status) = child.try_wait()? {
            let done = [RunOutcome::Conformant, RunOutcome::Inconclusive].map(|outcome| Some(outcome.code().into()));
            return Ok((peak, done.contains(&status.code())));
        }
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
        peak = peak.max(line.split_whitespace().next().map_or(Ok(0), str::parse::<u64>)? / 1024);
        clock::pause_blocking(Duration::from_millis(1));
    }
}

/// The processor time of all children that have ended: the 14th and 15th field after the name.
fn processor_seconds_of_children() -> ProgramResult<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = fields.get(13..15).unwrap_or_default().iter().map(|ticks| ticks.parse::<f64>());
    Ok(ticks.sum::<Result<f64, _>>()? / TICKS_A_SECOND)
}
