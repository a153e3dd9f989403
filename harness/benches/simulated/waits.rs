//! What a user of the program waits for: a case, the collection, and what searches try a minute, on
//! one core and on all.
//!
//! ```text
//! scripts/performance waits        # writes docs/performance.md
//! ```
//!
//! Each figure is that of the program from its start to its end, so the machine must be idle.

use std::path::Path;

use crate::program::{ProgramResult, folder, run as play};
use crate::selection::Outcome;
use crate::selection::section::{Goal, PageSection};

/// Runs of a case alone, of which the fastest counts.
const RUNS: u32 = 7;
/// Random programs: several batches.
const PROGRAMS: u32 = 512;

/// Searches, with the word for what they try, and the goal on all cores.
const SEARCHES: [(&str, &[&str], &str, Goal); 3] = [
    ("random programs a minute", &["fuzz", "--against", "none", "--out", "target/waits"], "", Goal::AtLeast(2500.0)),
    ("faults a minute", &["faults", "cases/scale", "cases/undo"], "plays", Goal::Free),
    ("handovers a minute", &["handover", "cases/scale", "--from", "ours", "--to", "ours"], "handovers", Goal::Free),
];

pub(crate) fn run(_arguments: &[String]) -> Outcome {
    let mut section = PageSection::new("waits");
    let cores = u32::try_from(std::thread::available_parallelism()?.get())?;
    section.line(format_args!("| | one core | {cores} cores | goal |\n| --- | --: | --: | --- |"));
    let case = ["run", "cases/rolling/surge-1-unavailable-0.yaml"];
    let alone = (0..RUNS).map(|_| play(&case, 1).map(|run| run.seconds * 1000.0)).collect::<ProgramResult<Vec<_>>>()?;
    let alone = alone.into_iter().fold(f64::MAX, f64::min);
    section.row("a usual case alone, ms", &[format!("{alone:.0}"), String::new()], alone, Goal::AtMost(30.0));
    let [one, all] = [play(&["run", "cases"], 1)?, play(&["run", "cases"], cores)?];
    let count = f64::from(count_cases(&folder().join("cases"))?);
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

/// How many a search tries a minute on so many cores. It says on standard error how many it tried.
fn rate(command: &[&str], word: &str, jobs: u32) -> ProgramResult<f64> {
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
    // Judging has a thread of its own, so one job may take more than one core.
    let seconds = if jobs == 1 { run.seconds.max(run.processor_seconds) } else { run.seconds };
    Ok(f64::from(count) * 60.0 / seconds)
}

/// The cases of a folder; a file may have several.
fn count_cases(folder: &Path) -> ProgramResult<u32> {
    let files = lockstep_case::find(&[folder.to_owned()])?;
    let counts = files.iter().map(|file| lockstep_case::load(file).map(|cases| cases.len()));
    Ok(u32::try_from(counts.sum::<Result<usize, _>>()?)?)
}
