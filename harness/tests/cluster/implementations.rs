//! The scores of docs/implementations.md. A sample of each is played again by the command on the
//! page, and its cases must be conformant or not as the page says. `matches_the_whole_page` plays
//! all of them, and writes the page with LOCKSTEP_DOCS=overwrite.
//!
//! Trials `<cluster>::implementations::<name>`, ignored without Python, without the controller
//! (`scripts/fetch argo-rollouts`, `scripts/subjects --build kruise`), or without a control plane.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use libtest_mimic::{Failed, Trial};
use lockstep_cluster as cluster;

use crate::generated_page::{overwrite, quoted, root};
use crate::outcome::{Outcome, check};
use crate::workloads::argo_rollouts;

const PAGE: &str = "docs/implementations.md";
/// The comments around a score; the first names the description.
const BEGINS: &str = "<!-- score: ";
const ENDS: &str = "<!-- end -->";
/// The cases of every command on the page.
const CASES: &str = "cases/{rolling,pause,undo,scale}";
/// Cases that take little time, played besides one of each area that is not conformant.
const SAMPLE: [&str; 3] = ["rolling/one-replica", "rolling/surge-1-unavailable-0", "scale/up-and-down"];

/// A controller with a score on the page.
struct Implementation {
    cluster: &'static str,
    name: &'static str,
    /// The description, as the page names it.
    workload: &'static str,
    is_built: fn() -> bool,
}

static IMPLEMENTATIONS: [Implementation; 4] = [
    Implementation {
        cluster: "control-plane",
        name: "argo_rollouts",
        workload: "argo-rollouts",
        is_built: || argo_rollouts().is_some(),
    },
    Implementation {
        cluster: "control-plane",
        name: "openkruise",
        workload: "harness/tests/subjects/kruise/kruise.yaml",
        is_built: || root().join("target/subjects/kruise/deployment-controller").is_file(),
    },
    Implementation {
        cluster: "sim",
        name: "fleets",
        workload: "harness/tests/subjects/fleet.yaml",
        is_built: has_python,
    },
    Implementation {
        cluster: "sim",
        name: "annotated_deployments",
        workload: "harness/tests/subjects/annotated.yaml",
        is_built: has_python,
    },
];

fn has_python() -> bool {
    Command::new("python3").arg("--version").output().is_ok()
}

pub(crate) fn trials() -> Vec<Trial> {
    let no_control_plane = cluster::available(cluster::DEFAULT_VERSION).is_err();
    let is_ignored = move |it: &Implementation| !(it.is_built)() || it.cluster == "control-plane" && no_control_plane;
    let sample = |it: &'static Implementation| {
        let name = format!("{}::implementations::page_has_the_score_of_{}", it.cluster, it.name);
        Trial::test(name, move || play_sample(it)).with_ignored_flag(is_ignored(it))
    };
    let mut trials: Vec<Trial> = IMPLEMENTATIONS.iter().map(sample).collect();
    let all = move || IMPLEMENTATIONS.iter().filter(|it| !is_ignored(it)).try_for_each(play_all);
    trials.push(Trial::test("sim::implementations::matches_the_whole_page", all).with_ignored_flag(true));
    trials
}

/// A part of the page: the command before a score, and the score.
struct PageScore {
    command: String,
    score: String,
}

impl PageScore {
    fn of(workload: &str) -> Result<Self, Failed> {
        let text = std::fs::read_to_string(root().join(PAGE))?;
        let begin = format!("{BEGINS}{workload} -->\n");
        let parts = text.split_once(&begin).and_then(|(before, rest)| {
            let (_, block) = before.rsplit_once("```sh\n")?;
            Some((block.split_once("```")?.0, rest.split_once(ENDS)?.0))
        });
        let (command, score) = parts.ok_or_else(|| format!("{PAGE} has no command and score of {workload}"))?;
        Ok(Self { command: command.to_owned(), score: score.to_owned() })
    }

    /// Runs the command on these cases; returns the score, which the command writes to the file
    /// that it names.
    fn play(&self, cases: &str, folder: &Path) -> Result<String, Failed> {
        let file = folder.join("score.md");
        let (before, _) = self.command.rsplit_once("--score ").ok_or("the command has no --score")?;
        check(before.contains(CASES), format!("the command is not about {CASES}: {before}"))?;
        let script = format!(
            "cargo() {{ shift; {:?} \"$@\"; }}\n{}--score {:?}",
            env!("CARGO_BIN_EXE_lockstep"),
            before.replace(CASES, cases),
            file
        );
        let output = Command::new("bash").current_dir(root()).args(["-euc", &script]).output()?;
        std::fs::read_to_string(&file).map_err(|error| {
            let printed =
                String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
            format!("{script}\nwrote no score, {error}:\n{printed}").into()
        })
    }
}

/// The cases that are not conformant, by area.
fn broken(score: &str) -> Vec<(&str, BTreeSet<&str>)> {
    let rows = score.lines().filter(|line| line.starts_with("| `")).map(|line| {
        let mut names = quoted(line);
        (names.next().unwrap_or_default(), names.filter(|name| name.contains('/')).collect())
    });
    rows.collect()
}

fn play_sample(implementation: &Implementation) -> Outcome {
    let page = PageScore::of(implementation.workload)?;
    let on_page = broken(&page.score);
    let first = on_page.iter().filter_map(|(_, cases)| cases.first().copied());
    let sample: BTreeSet<&str> = first.chain(SAMPLE).collect();
    let paths: Vec<String> = sample.iter().map(|case| format!("cases/{case}.yaml")).collect();
    let folder = tempfile::tempdir()?;
    let fresh = page.play(&paths.join(" "), folder.path())?;
    let expected: Vec<_> = on_page.iter().map(|(area, cases)| (*area, cases & &sample)).collect();
    check(broken(&fresh) == expected, format!("the page has {expected:?}, and a run\n{fresh}"))
}

fn play_all(implementation: &Implementation) -> Outcome {
    let page = PageScore::of(implementation.workload)?;
    let folder = tempfile::tempdir()?;
    let fresh = format!("\n{}\n", page.play(CASES, folder.path())?);
    if overwrite() {
        let path = root().join(PAGE);
        let text = std::fs::read_to_string(&path)?;
        return Ok(std::fs::write(path, text.replacen(&page.score, &fresh, 1))?);
    }
    check(page.score == fresh, format!("{PAGE} has another score of {}:\n{fresh}", implementation.workload))
}
