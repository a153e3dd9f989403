//! Handovers on the simulated server over HTTP, in real time: `tests/subjects/upgrade.py` is
//! `deployment.py` as another version of itself with one defect that shows only when one takes over
//! from the other. Both are found, and alone each is conformant.

use std::path::Path;
use std::process::Command;

use libtest_mimic::{Failed, Trial};

use crate::outcome::{Outcome, check};

pub(crate) fn trials() -> Vec<Trial> {
    let no_python = Command::new("python3").arg("--version").output().is_err();
    let trial = |name: &str, run: fn() -> Outcome| {
        Trial::test(format!("sim::handover::{name}"), run).with_ignored_flag(no_python)
    };
    vec![
        trial("changed_template_hash_is_found_and_written_as_a_small_case", changed_hash),
        trial("stale_status_field_is_found", stale_field),
        trial("same_controller_takes_over_without_a_difference", same_controller),
    ]
}

/// A rollout whose old pods are still ending when another controller takes over.
const ENDING: &str = "description: Another version takes over while old pods are ending.
terminations: held
given:
  - deployment: {name: web, replicas: 1, image: \"app:1\", strategy: Recreate}
  - ready: {pods: all}
steps:
  - set: {image: \"app:2\"}
  - subject: handover
  - terminate: {pods: all}
";

fn subject(words: &str) -> String {
    format!("command:python3 {}/tests/subjects/{words}", env!("CARGO_MANIFEST_DIR"))
}

/// Runs the command; returns its exit code and output.
fn hand_over(to: &str, case: &str, flags: &[&str]) -> Result<(Option<i32>, String), Failed> {
    let output = Command::new(env!("CARGO_BIN_EXE_lockstep"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .args(["handover", case, "--from", &subject("deployment.py"), "--to", &subject(to), "--budget", "60s"])
        .args(flags)
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    Ok((output.status.code(), text))
}

fn changed_hash() -> Outcome {
    let folder = tempfile::tempdir()?;
    let out = folder.path().to_str().ok_or("a path that is text")?;
    let flags = ["--max-points", "1", "--seeds", "1", "--out", out];
    let (code, text) = hand_over("upgrade.py hash", "cases/rolling/one-replica.yaml", &flags)?;
    check(code == Some(1) && text.contains("one-template: rs3 has the template of rs2"), text.clone())?;
    check(text.contains("upgrade.py hash takes over"), text)?;
    let written = folder.path().join("handover").read_dir()?.next().ok_or("no case was written")??;
    let case = std::fs::read_to_string(written.path())?;
    let steps = case.split_once("steps:").map_or("", |(_, steps)| steps);
    check(steps.contains("action: handover") && !steps.contains("ready"), case)
}

fn stale_field() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a/b.yaml");
    std::fs::create_dir_all(folder.path().join("a"))?;
    std::fs::write(&path, ENDING)?;
    let case = path.to_str().ok_or("a path that is text")?;
    let (code, text) = hand_over("upgrade.py status", case, &[])?;
    check(code == Some(1) && text.contains("at the end `web 1 updated=1"), text.clone())?;
    check(text.contains("terminating=1 generation=2/2"), text)
}

fn same_controller() -> Outcome {
    let flags = ["--max-points", "2"];
    let (code, text) = hand_over("deployment.py", "cases/rolling/one-replica.yaml", &flags)?;
    check(code == Some(0) && text.contains("withstood") && text.contains(" points tried"), text)
}
