//! What a user of the program waits for: a case, the collection, and what searches try a minute, on
//! one core and on all.
//!
//! ```text
//! cargo bench --package lockstep --bench simulated -- waits
//! LOCKSTEP_DOCS=overwrite cargo bench --package lockstep --bench simulated -- waits    # writes docs/performance.md
//! ```
//!
//! Each figure is that of the program from its start to its end, so the machine must be idle.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use lockstep_support::clock;

use crate::selection::Outcome;
use crate::selection::section::{Goal, PageSection};

type Measured<T> = Result<T, Box<dyn std::error::Error>>;

/// Runs of a case alone, of which the fastest counts.
const RUNS: u32 = 7;
/// Random programs: several batches.
const PROGRAMS: u32 = 512;
/// The kernel's clock ticks a second for processor time, as on every Linux.
const TICKS_A_SECOND: f64 = 100.0;

/// Searches, with the word for what they try, and the goal on all cores.
const SEARCHES: [(&str, &[&str], &str, Goal); 3] = [
    ("random programs a minute", &["fuzz", "--against", "none", "--out", "target/waits"], "", Goal::AtLeast(2500.0)),
    ("faults a minute", &["faults", "cases/scale", "cases/undo"], "plays", Goal::Free),
    ("handovers a minute", &["handover", "cases/scale", "--from", "ours", "--to", "ours"], "handovers", Goal::Free),
];

/// What one run of the program took, and what it printed on standard error.
struct ProgramRun {
    seconds: f64,
    processor_seconds: f64,
    peak_mib: u64,
    messages: String,
}

pub(crate) fn run(_arguments: &[String]) -> Outcome {
    let mut section = PageSection::new("waits");
    let cores = u32::try_from(std::thread::available_parallelism()?.get())?;
    let columns = [1, cores].map(|jobs| format!("--jobs {jobs}")).join(" | ");
    section.line(format_args!("| | {columns} | goal |\n| --- | --: | --: | --- |"));
    let case = ["run", "cases/rolling/surge-1-unavailable-0.yaml"];
    let alone = (0..RUNS).map(|_| play(&case, 1).map(|run| run.seconds * 1000.0)).collect::<Measured<Vec<_>>>()?;
    let alone = alone.into_iter().fold(f64::MAX, f64::min);
    section.row("a usual case alone, ms", &[format!("{alone:.0}"), String::new()], alone, Goal::AtMost(30.0));
    let [one, all] = [play(&["run", "cases"], 1)?, play(&["run", "cases"], cores)?];
    let count = f64::from(count_cases(Path::new("cases"))?);
    let each = one.processor_seconds * 1000.0 / count;
    let processor = [&one, &all].map(|run| format!("{:.1}", run.processor_seconds * 1000.0 / count));
    section.row("a case of the collection, ms of processor time", &processor, each, Goal::AtMost(7.0));
    let title = format!("the collection of {count} cases, s");
    section.row(&title, &[&one, &all].map(|run| format!("{:.1}", run.seconds)), 0.0, Goal::Free);
    section.row("its memory, MiB", &[&one, &all].map(|run| run.peak_mib.to_string()), 0.0, Goal::Free);
    for (title, command, word, goal) in SEARCHES {
        let [one, all] = [rate(command, word, 1)?, rate(command, word, cores)?];
        section.row(title, &[one, all].map(|rate| format!("{rate:.0}")), all, goal);
        section.row("— by how many times more", &[String::new(), format!("{:.2}", all / one)], 0.0, Goal::Free);
    }
    section.publish()
}

/// How many a search tries a minute. It says on standard error how many it tried.
fn rate(command: &[&str], word: &str, jobs: u32) -> Measured<f64> {
    let programs = PROGRAMS.to_string();
    let command = if word.is_empty() { [command, &["--programs", &programs]].concat() } else { command.to_vec() };
    let run = play(&command, jobs)?;
    let count = match word {
        "" => PROGRAMS,
        word => {
            let before = run.messages.split(&format!(" {word} in ")).next().unwrap_or_default();
            before.rsplit([' ', '\n']).next().unwrap_or_default().parse()?
        }
    };
    Ok(f64::from(count) * 60.0 / run.seconds)
}

/// Runs the program.
fn play(arguments: &[&str], jobs: u32) -> Measured<ProgramRun> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    std::env::set_current_dir(root)?;
    let (before, since) = (processor_seconds_of_children()?, clock::instant());
    let mut program = Command::new(env!("CARGO_BIN_EXE_lockstep"));
    let mut child = program.args(arguments).args(["--jobs", &jobs.to_string()]).stdout(Stdio::null());
    child = child.stderr(Stdio::piped());
    let mut child = child.spawn()?;
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

/// Waits for a process; returns its peak of memory, and whether it succeeded.
fn wait(child: &mut Child) -> Measured<(u64, bool)> {
    let mut peak = 0;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((peak, status.success()));
        }
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
        peak = peak.max(line.split_whitespace().next().map_or(Ok(0), str::parse::<u64>)? / 1024);
        clock::pause_blocking(Duration::from_millis(1));
    }
}

/// The processor time of all children that have ended: the 14th and 15th field after the name.
fn processor_seconds_of_children() -> Measured<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = fields.get(13..15).unwrap_or_default().iter().map(|ticks| ticks.parse::<f64>());
    Ok(ticks.sum::<Result<f64, _>>()? / TICKS_A_SECOND)
}

fn count_cases(folder: &Path) -> Measured<u32> {
    Ok(u32::try_from(lockstep_case::find(&[folder.to_owned()])?.len())?)
}
