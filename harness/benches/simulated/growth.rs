//! Time and memory of a case by its number of pods and Deployments, on the simulated cluster.
//!
//! ```text
//! scripts/performance growth        # writes docs/performance.md
//! ```
//!
//! The relevant number is the time of a pod: it must not depend on the size.

use std::fmt::Write;

use crate::program::run as play;
use crate::selection::Outcome;
use crate::selection::section::{Goal, PageSection};

/// Sizes: a title, the names and replicas of Deployments, which pods become ready at once, and the
/// goal in seconds.
const SIZES: [(&str, u32, u32, &str, Goal); 7] = [
    ("50 replicas", 1, 50, "pods: all", Goal::Free),
    ("200 replicas", 1, 200, "pods: all", Goal::Free),
    ("1,000 replicas", 1, 1_000, "pods: all", Goal::AtMost(3.0)),
    ("10,000 replicas", 1, 10_000, "pods: all", Goal::AtMost(45.0)),
    ("10,000 replicas, `every: 10%`", 1, 10_000, "every: 10%", Goal::Free),
    ("100 Deployments × 3", 100, 3, "pods: all", Goal::AtMost(2.0)),
    ("1,000 Deployments × 3", 1_000, 3, "pods: all", Goal::AtMost(30.0)),
];

pub(crate) fn run(_arguments: &[String]) -> Outcome {
    let mut section = PageSection::new("growth");
    section.line("| | s | ms a pod | peak, MiB | goal for the time, s |\n| --- | --: | --: | --: | --- |");
    let folder = tempfile::tempdir()?;
    for (title, deployments, replicas, ready, goal) in SIZES {
        let file = folder.path().join("growth.yaml");
        std::fs::write(&file, rolled(deployments, replicas, ready)?)?;
        let file = file.to_str().ok_or("the path of a temporary file is text")?;
        let run = play(&["run", file], 1)?;
        let each = run.seconds * 1000.0 / f64::from(deployments * replicas);
        let figures = [format!("{:.2}", run.seconds), format!("{each:.2}"), run.peak_mib.to_string()];
        section.row(title, &figures, run.seconds, goal);
    }
    section.publish()
}

/// A case with Deployments, each rolled out as its pods become ready.
fn rolled(deployments: u32, replicas: u32, ready: &str) -> Result<String, std::fmt::Error> {
    let mut text = "description: Deployments are rolled.\nexpectation: rules\ngiven:\n".to_owned();
    for at in 0..deployments {
        writeln!(text, "  - deployment: {{name: web{at}, replicas: {replicas}, image: \"app:1\"}}")?;
    }
    text += "  - ready: {pods: all}\nsteps:\n";
    for at in 0..deployments {
        writeln!(text, "  - set: {{deployment: web{at}, image: \"app:2\"}}")?;
    }
    writeln!(text, "  - ready: {{{ready}}}\nrules:\n  finally: [pods.size() == {}]", deployments * replicas)?;
    Ok(text)
}
