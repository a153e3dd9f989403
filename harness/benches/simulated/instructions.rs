//! The instructions of commands on the simulated cluster, compared with a recorded baseline.
//!
//! ```text
//! scripts/performance instructions            # fails above the limit
//! scripts/performance instructions record     # replaces the baseline
//! ```
//!
//! Callgrind counts them, so a busy machine changes nothing, and another processor little. Another
//! compiler or libc does: record the baseline again with it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::Command;

use crate::program::{self, folder};
use crate::selection::Outcome;

/// What is counted, and how many cases or programs it plays: nothing, a usual case, a case of each
/// area, and random programs.
const COMMANDS: [(&str, u64, &[&str]); 4] = [
    ("start", 1, &["lint", "cases/rolling/surge-1-unavailable-0.yaml"]),
    ("case", 1, &["run", "--jobs", "1", "cases/rolling/surge-1-unavailable-0.yaml"]),
    (
        "cases",
        18,
        &[
            "run",
            "--jobs",
            "1",
            "cases/adoption/orphan.yaml",
            "cases/annotations/copied.yaml",
            "cases/config-restart/reloader/annotations-strategy.yaml",
            "cases/config-restart/safe/delay.yaml",
            "cases/deadline/exceeded.yaml",
            "cases/delete/foreground.yaml",
            "cases/during/old-list.yaml",
            "cases/history/default.yaml",
            "cases/kill-order/rank.yaml",
            "cases/pause/in-mid-rollout.yaml",
            "cases/recreate/three.yaml",
            "cases/replicaset/rollout.yaml",
            "cases/rollback/to-revision.yaml",
            "cases/rolling/rollover.yaml",
            "cases/rolling/quarter-on-ten.yaml",
            "cases/scale/up-and-down.yaml",
            "cases/status/terminating.yaml",
            "cases/undo/previous.yaml",
        ],
    ),
    ("fuzz", 16, &["fuzz", "--jobs", "1", "--against", "none", "--programs", "16", "--out", "target/instructions"]),
];
/// How many more instructions than in the baseline are a failure.
const LIMIT: f64 = 1.10;

pub(crate) fn run(arguments: &[String]) -> Outcome {
    let file = folder().join("harness/benches/instructions.baseline");
    if Command::new("valgrind").arg("--version").output().is_err() {
        return Err("instructions are counted by valgrind, which is not installed".into());
    }
    let recorded = std::fs::read_to_string(&file)?;
    let baseline = read(&recorded)?;
    let (mut text, mut over) = (String::new(), Vec::new());
    println!("{:8} {:>16} {:>16} {:>8}", "", "baseline, M", "now, M", "ratio");
    for (name, plays, command) in COMMANDS {
        let now = count(command)? / plays;
        writeln!(text, "{name} {now}")?;
        let before = baseline.get(name).copied();
        #[expect(clippy::cast_precision_loss, reason = "fewer than 2^53")]
        let (millions, ratio) = (|count: u64| count as f64 / 1e6, before.map(|before| now as f64 / before as f64));
        let shown =
            |value: Option<f64>, decimals| value.map_or("–".to_owned(), |value| format!("{value:.decimals$}"));
        println!("{name:8} {:>16} {:>16.1} {:>8}", shown(before.map(millions), 1), millions(now), shown(ratio, 3));
        over.extend(ratio.filter(|ratio| *ratio > LIMIT).map(|_| name));
    }
    if arguments.first().is_some_and(|word| word == "record") {
        return Ok(std::fs::write(file, text)?);
    }
    if over.is_empty() {
        return Ok(());
    }
    Err(format!("more than {LIMIT} times the instructions of the baseline: {}", over.join(", ")).into())
}

/// The instructions that a command takes, with all its threads.
fn count(command: &[&str]) -> Result<u64, Box<dyn std::error::Error>> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program::path())
        .args(command)
        .current_dir(folder())
        .output()?;
    let printed = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("lockstep {}: {printed}", command.join(" ")).into());
    }
    let collected = printed.lines().find_map(|line| line.split_once("Collected : "));
    Ok(collected.ok_or("callgrind says no number of instructions")?.1.trim().parse()?)
}

/// A line has a name and a number of instructions.
fn read(text: &str) -> Result<BTreeMap<&str, u64>, Box<dyn std::error::Error>> {
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.map(|(name, count)| Ok((name, count.parse()?))).collect()
}
