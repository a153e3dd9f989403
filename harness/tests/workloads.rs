//! Workloads in place of Deployments, on the controller of Argo Rollouts, where `scripts/argo-rollouts` has built it: that a case
//! is played on Rollouts, and what differs is what docs/argo-rollouts.md says.
//!
//! `cases/rolling/rollout-of-argo` says its kind; its golden timeline is a Deployment's, recorded from upstream, and Argo's
//! controller must do the same.
//!
//! Trials `<cluster>::workloads::<what>`, ignored where the controller is not built or no control plane can run.

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
    let no_control_plane = cluster::available(cluster::DEFAULT_VERSION).is_err();
    let trial = |cluster: &'static str, name: &str, played: Played| {
        let run = {
            let program = program.clone();
            move || play(program.as_deref().ok_or("not built")?, cluster, &played)
        };
        let ignored = program.is_none() || cluster == "control-plane" && no_control_plane;
        Trial::test(format!("{cluster}::workloads::{name}"), run).with_ignored_flag(ignored)
    };
    let of_argo = ["--workload", "argo-rollouts"].as_slice();
    let mut trials = vec![
        trial(
            "control-plane",
            "a_rollout_does_as_a_deployment",
            Played {
                cases: &["rolling/surge-1-unavailable-0", "undo/twice", "scale/up-and-down"],
                flags: of_argo,
                words: &["conformant      rolling/surge-1-unavailable-0", "3 cases in", "3 conformant"],
            },
        ),
        trial(
            "control-plane",
            "a_paused_rollout_gets_a_replica_set",
            Played {
                cases: &["pause/created-paused"],
                flags: of_argo,
                words: &["NON-CONFORMANT  pause/created-paused", "+         rs1 created 0  revision=1 desired=2"],
            },
        ),
    ];
    trials.extend(["sim", "control-plane"].map(|cluster| {
        let words = &["conformant      rolling/rollout-of-argo", "1 conformant"];
        trial(cluster, "a_case_says_its_kind", Played { cases: &["rolling/rollout-of-argo"], flags: of_argo, words })
    }));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Where the controller is.
fn controller() -> Option<PathBuf> {
    let own = std::env::var_os("LOCKSTEP_BIN").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let cached = cluster::cache().map(|cache| cache.join("argo-rollouts").join(VERSION));
    own.into_iter().chain(cached).map(|folder| folder.join(PROGRAM)).find(|program| program.is_file())
}

/// Cases that are played, with which flags, and what the harness must say of them.
struct Played {
    cases: &'static [&'static str],
    flags: &'static [&'static str],
    words: &'static [&'static str],
}

/// Play cases on a cluster, and look for what the harness says of them.
fn play(program: &Path, cluster: &str, played: &Played) -> Result<(), Failed> {
    let subject = format!(
        "command:{} --leader-elect=false --metricsPort 0 --healthzPort 0",
        program.to_str().ok_or("a path that is text")?
    );
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let output = Command::new(env!("CARGO_BIN_EXE_lockstep"))
        .current_dir(root)
        .arg("run")
        .args(played.cases.iter().map(|case| format!("cases/{case}.yaml")))
        .args(played.flags)
        .args(["--cluster", cluster, "--budget", "90s", "--subject", &subject])
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    match played.words.iter().find(|words| !said.contains(**words)) {
        Some(words) => Err(format!("nothing says '{words}':\n{said}").into()),
        None => Ok(()),
    }
}
