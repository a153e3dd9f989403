//! Workloads in place of Deployments, on the controller of Argo Rollouts, where `scripts/argo-rollouts` has built it: that a case
//! is played on Rollouts, and what differs is what docs/argo-rollouts.md says.
//!
//! Trials `control-plane::workloads::<what>`, ignored where no control plane can run or the controller is not built.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Failed, Trial};
use lockstep::cluster;

const VERSION: &str = "v1.9.0";
const PROGRAM: &str = "rollouts-controller";

fn main() -> ExitCode {
    let program = controller();
    if program.is_none() {
        eprintln!("{PROGRAM} is not built: scripts/argo-rollouts builds it; its trials are ignored");
    }
    let ignored = program.is_none() || cluster::available(cluster::DEFAULT_VERSION).is_err();
    let trial = |name: &str, cases: &'static [&'static str], words: &'static [&'static str]| {
        let program = program.clone();
        let run = move || played(program.as_deref().ok_or("not built")?, cases, words);
        Trial::test(format!("control-plane::workloads::{name}"), run).with_ignored_flag(ignored)
    };
    let trials = vec![
        trial(
            "a_rollout_does_as_a_deployment",
            &["rolling/surge-1-unavailable-0", "undo/twice", "scale/up-and-down"],
            &["conformant      rolling/surge-1-unavailable-0", "3 cases in", "3 conformant"],
        ),
        trial(
            "a_paused_rollout_gets_a_replica_set",
            &["pause/created-paused"],
            &["NON-CONFORMANT  pause/created-paused", "+         rs1 created 0  revision=1 desired=2"],
        ),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Where the controller is.
fn controller() -> Option<PathBuf> {
    let own = std::env::var_os("LOCKSTEP_BIN").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let cached = cluster::cache().map(|cache| cache.join("argo-rollouts").join(VERSION));
    own.into_iter().chain(cached).map(|folder| folder.join(PROGRAM)).find(|program| program.is_file())
}

/// Play cases, and look for what the harness says of them.
fn played(program: &Path, cases: &[&str], words: &[&str]) -> Result<(), Failed> {
    let subject = format!(
        "command:{} --leader-elect=false --metricsPort 0 --healthzPort 0",
        program.to_str().ok_or("a path that is text")?
    );
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let output = Command::new(env!("CARGO_BIN_EXE_lockstep"))
        .current_dir(root)
        .arg("run")
        .args(cases.iter().map(|case| format!("cases/{case}.yaml")))
        .args(["--workload", "argo-rollouts", "--cluster", "control-plane", "--subject", &subject])
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    match words.iter().find(|words| !said.contains(**words)) {
        Some(words) => Err(format!("nothing says '{words}':\n{said}").into()),
        None => Ok(()),
    }
}
