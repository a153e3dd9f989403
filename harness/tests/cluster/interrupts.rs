//! A signal ends a command on a control plane, or on a user's own cluster, within two seconds and
//! with the signal's exit code. The reports are written, and no process, file or object is left.
//! Those of the simulated cluster are in `it::commands`. They take a minute, and are ignored
//! otherwise:
//!
//! ```text
//! cargo test --package lockstep --test cluster control-plane::interrupts:: -- --ignored
//! ```

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use libtest_mimic::Trial;
use rustix::process::{Pid, Signal, kill_process};

use crate::existing::{labelled, users_own};
use crate::outcome::{Outcome, block_on, check, trial, until};
use crate::roles::Process;
use crate::verdicts::{processes_naming, walk};

/// A command, what its output or its processes show when the signals come, and these.
#[derive(Clone, Copy)]
struct Interruption {
    name: &'static str,
    command: &'static str,
    at: &'static str,
    signals: &'static [Signal],
}

const PLAYING: &str = "\nconformant ";
const PYTHON: &str = "'command:python3 harness/tests/subjects/deployment.py'";

const INTERRUPTIONS: [Interruption; 7] = [
    Interruption {
        name: "sigint_ends_a_run_of_a_process",
        command: "run cases/rolling --cluster control-plane --subject PYTHON --junit OUT/junit.xml",
        at: PLAYING,
        signals: &[Signal::INT],
    },
    Interruption {
        name: "sigterm_ends_a_run_of_upstream",
        command: "run cases/rolling --cluster control-plane --subject upstream --junit OUT/junit.xml",
        at: PLAYING,
        signals: &[Signal::TERM],
    },
    Interruption {
        name: "sighup_ends_a_run_of_ours",
        command: "run cases/rolling --cluster control-plane --subject ours --junit OUT/junit.xml",
        at: PLAYING,
        signals: &[Signal::HUP],
    },
    Interruption {
        name: "second_sigint_ends_a_run_at_once",
        command: "run cases/rolling --cluster control-plane --subject PYTHON",
        at: PLAYING,
        signals: &[Signal::INT, Signal::INT],
    },
    Interruption {
        name: "sigint_ends_a_boot",
        command: "run cases/rolling --cluster control-plane --subject ours",
        at: "/kube-apiserver ",
        signals: &[Signal::INT],
    },
    Interruption {
        name: "sigterm_ends_record",
        command: "record cases/rolling --cluster control-plane --subject PYTHON --out OUT/recordings",
        at: "the test environment proved",
        signals: &[Signal::TERM],
    },
    Interruption {
        name: "sigint_ends_compare",
        command: "compare cases/rolling --cluster control-plane --subject ours --subject upstream",
        at: "the test environment proved",
        signals: &[Signal::INT],
    },
];

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials =
        vec![trial("control-plane::interrupts::sigint_leaves_nothing_on_an_own_cluster", true, own_cluster)];
    trials.extend(INTERRUPTIONS.iter().map(|one| {
        let run = || block_on(interrupt(one, None));
        Trial::test(format!("control-plane::interrupts::{}", one.name), run).with_ignored_flag(true)
    }));
    trials
}

/// The namespaces may be removed after the exit: the cluster completes that.
async fn own_cluster() -> Outcome {
    let (plane, client, options) = users_own().await?;
    let run = Interruption {
        name: "",
        command: "run cases/rolling --cluster kubeconfig --yes-this-cluster lockstep --subject ours --junit OUT/junit.xml",
        at: PLAYING,
        signals: &[Signal::INT],
    };
    interrupt(&run, options.files.first().map(|file| file.as_path())).await?;
    let nothing = async || labelled(&client).await.is_ok_and(|left| left.is_empty());
    until("nothing of the harness is on the cluster", Duration::from_secs(60), nothing).await?;
    plane.end().await;
    Ok(())
}

async fn interrupt(interruption: &Interruption, kubeconfig: Option<&Path>) -> Outcome {
    let folder = tempfile::tempdir()?;
    let (out, temporary) = (folder.path().join("out"), folder.path().join("tmp"));
    std::fs::create_dir(&out)?;
    std::fs::create_dir(&temporary)?;
    let command = interruption.command.replace("PYTHON", PYTHON).replace("OUT", &out.display().to_string());
    let log = folder.path().join("log");
    let file = File::create(&log)?;
    let mut process = Command::new(env!("CARGO_BIN_EXE_lockstep"));
    process.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    process.args(shlex::split(&command).ok_or("a shell's words")?);
    process
        .env("TMPDIR", &temporary)
        .env("XDG_RUNTIME_DIR", &temporary)
        .envs(kubeconfig.map(|path| ("KUBECONFIG", path)));
    let mut process = Process(process.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).spawn()?);
    let read_log = || std::fs::read_to_string(&log).unwrap_or_default();

    let shows = async || {
        let processes = processes_naming(&temporary).join("\n");
        read_log().contains(interruption.at) || processes.contains(interruption.at)
    };
    until(&format!("'{}' in {}", interruption.at, read_log()), Duration::from_secs(120), shows).await?;
    for signal in interruption.signals {
        kill_process(Pid::from_child(&process.0), *signal)?;
    }
    let mut status = None;
    until("it exits", Duration::from_secs(2), async || {
        status = process.0.try_wait().ok().flatten();
        status.is_some()
    })
    .await?;
    let code = status.and_then(|status| status.code());
    let expected = interruption.signals.first().map(|signal| 128 + signal.as_raw());
    check(code == expected, format!("exit code {code:?}: {}", read_log()))?;
    // The state and locks of an own cluster stay: another run may wait for them.
    let nothing = async || processes_naming(&temporary).is_empty() && (kubeconfig.is_some() || walk(&temporary) == 0);
    until("no process and no file is left", Duration::from_secs(30), nothing).await?;
    let report = out.join("junit.xml");
    check(
        !command.contains("--junit") || report.metadata().is_ok_and(|report| report.len() > 0),
        "no report was written",
    )
}
