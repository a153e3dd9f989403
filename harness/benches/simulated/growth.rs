//! Time and memory of a case by its number of pods and Deployments, on the simulated cluster.
//!
//! ```text
//! cargo bench --package lockstep --bench simulated -- growth               # the sizes of the table
//! cargo bench --package lockstep --bench simulated -- growth 50 5000       # one Deployment of these sizes
//! LOCKSTEP_DOCS=overwrite cargo bench --package lockstep --bench simulated -- growth    # writes docs/performance.md
//! ```
//!
//! Each size has its own process, and so its own peak of memory. The relevant number is the time of
//! a sub-step: it must not depend on the size.

use std::fmt::Write;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use lockstep_case as case;
use lockstep_recording::RecordingEntry;
use lockstep_runner::{Simulation, simulate};
use lockstep_subject::SubjectSpec;
use lockstep_support::clock;
use lockstep_verdict as verdict;

use crate::selection::Outcome;
use crate::selection::section::{Goal, PageSection};

/// A size: how it is measured, its number, and the goal in seconds.
type Size = (&'static str, u32, Goal);

const SIZES: [Size; 7] = [
    ("replicas", 50, Goal::Free),
    ("replicas", 200, Goal::Free),
    ("replicas", 1_000, Goal::AtMost(3.0)),
    ("replicas", 10_000, Goal::AtMost(45.0)),
    ("batches", 10_000, Goal::Free),
    ("deployments", 100, Goal::AtMost(2.0)),
    ("deployments", 1_000, Goal::AtMost(30.0)),
];
const BUDGET: Duration = Duration::from_secs(20);
/// The variable that selects the size that a process measures: `replicas 50`.
const ONE: &str = "LOCKSTEP_GROWTH";

/// Measures the size that this process was started for, if there is one.
pub(crate) fn measure_if_asked() -> Option<Outcome> {
    std::env::var(ONE).ok().map(|one| {
        let (size_name, number) = one.split_once(' ').ok_or("what to measure?")?;
        measure(size_name, number.parse()?)
    })
}

/// Measures the sizes that the arguments name, or those of the table.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let given = arguments.iter().filter_map(|argument| argument.parse().ok());
    let given: Vec<Size> = given.map(|number| ("replicas", number, Goal::Free)).collect();
    let mut section = PageSection::new("growth");
    section.line("| | sub-steps | playing, s | judging, s | a sub-step, ms | peak, MiB | goal for playing, s |");
    section.line("| --- | --: | --: | --: | --: | --: | --- |");
    for (size_name, number, goal) in if given.is_empty() { SIZES.to_vec() } else { given.clone() } {
        let row = in_a_process(size_name, number)?;
        let cells: Vec<String> = row.trim().split(" | ").map(str::to_owned).collect();
        let (title, figures) = cells.split_first().ok_or("a process prints a row")?;
        section.row(title, figures, figures.get(1).map_or(Ok(0.0), |playing| playing.parse())?, goal);
    }
    if given.is_empty() { section.publish() } else { Ok(()) }
}

/// The row of one size, which a process of its own measures.
fn in_a_process(size_name: &str, number: u32) -> Result<String, Box<dyn std::error::Error>> {
    let output = Command::new(std::env::current_exe()?).env(ONE, format!("{size_name} {number}")).output()?;
    if !output.status.success() {
        return Err(format!("{number} {size_name}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn measure(size_name: &str, number: u32) -> Outcome {
    let one = [("web".to_owned(), number)];
    let (title, text) = match size_name {
        "replicas" => (format!("{number} replicas"), rolled(&one, "pods: all")?),
        "batches" => (format!("{number} replicas, `every: 10%`"), rolled(&one, "every: 10%")?),
        _ => {
            let all: Vec<_> = (0..number).map(|at| (format!("web{at}"), 3)).collect();
            (format!("{number} Deployments × 3"), rolled(&all, "pods: all")?)
        }
    };
    let case = Arc::new(case::parse("growth/case.yaml", "growth/case", &text)?);
    let spec: SubjectSpec = "ours".parse()?;
    let began = clock::instant();
    let recording = simulate(&case, &spec, &Simulation::new(case.controllers.clone(), BUDGET))?;
    let played = began.elapsed();
    let steps = recording.entries.iter().filter(|entry| matches!(entry, RecordingEntry::Step(_))).count();
    let began = clock::instant();
    let judgement = verdict::judge(&case, &recording, None);
    let judged = began.elapsed();
    if !recording.end.as_ref().is_some_and(|end| end.completed) || !judgement.findings.is_empty() {
        return Err(format!("{title}: {:?}", judgement.findings.first()).into());
    }
    let each = (played + judged).as_secs_f64() * 1000.0 / f64::from(u32::try_from(steps)?);
    let (played, judged, peak) = (played.as_secs_f64(), judged.as_secs_f64(), peak()?);
    println!("{title} | {steps} | {played:.2} | {judged:.2} | {each:.2} | {peak}");
    Ok(())
}

/// A case with Deployments of these sizes, each rolled out as its pods become ready.
fn rolled(deployments: &[(String, u32)], ready: &str) -> Result<String, std::fmt::Error> {
    let mut text = "description: Deployments are rolled.\ngiven:\n".to_owned();
    for (name, replicas) in deployments {
        writeln!(text, "  - deployment: {{name: {name}, replicas: {replicas}, image: \"app:1\"}}")?;
    }
    text += "  - ready: {pods: all}\nsteps:\n";
    for (name, _) in deployments {
        writeln!(text, "  - set: {{deployment: {name}, image: \"app:2\"}}")?;
    }
    writeln!(text, "  - ready: {{{ready}}}")?;
    Ok(text)
}

/// The peak memory of this process in MiB.
fn peak() -> Result<u64, Box<dyn std::error::Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("the kernel says no VmHWM")?;
    Ok(line.split_whitespace().next().unwrap_or_default().parse::<u64>()? / 1024)
}
