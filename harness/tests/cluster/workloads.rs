//! Other workload kinds: Argo Rollouts, where `scripts/fetch argo-rollouts` has built its
//! controller. Cases run on Rollouts, and the differences are those in docs/argo-rollouts.md.
//!
//! `cases/rolling/rollout-of-argo` names its kind; its golden timeline is a Deployment's, recorded
//! from upstream, and Argo's controller must match it.
//!
//! A capability that a workload description omits is neither waited for nor judged:
//! `tests/subjects/less.py` is a Deployment controller that writes no status or publishes no
//! Events, and its kind is a Deployment with a reduced description.
//!
//! Trials `<cluster>::workloads::<what>`, ignored without the controller, a control plane, or
//! Python.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Failed, Trial};
use lockstep_cluster as cluster;

const VERSION: &str = "v1.9.0";
const PROGRAM: &str = "rollouts-controller";

pub(crate) fn trials() -> Vec<Trial> {
    let program = argo_rollouts();
    if program.is_none() {
        eprintln!("{PROGRAM} is not built: scripts/fetch argo-rollouts builds it; its trials are ignored");
    }
    let no_control_plane = cluster::available(cluster::DEFAULT_VERSION).is_err();
    let trial = |cluster: &'static str, name: &str, selection: Selection<'static>| {
        let run = {
            let program = program.clone();
            move || play(program.as_deref().ok_or("not built")?, cluster, &selection)
        };
        let ignored = program.is_none() || cluster == "control-plane" && no_control_plane;
        Trial::test(format!("{cluster}::workloads::{name}"), run).with_ignored_flag(ignored)
    };
    let of_argo = ["--workload", "argo-rollouts"].as_slice();
    let mut trials = vec![
        trial(
            "control-plane",
            "a_rollout_does_as_a_deployment",
            Selection {
                cases: &["rolling/surge-1-unavailable-0", "undo/twice", "scale/up-and-down"],
                flags: of_argo,
                words: &["conformant      rolling/surge-1-unavailable-0", "3 cases in", "3 conformant"],
            },
        ),
        trial(
            "control-plane",
            "a_paused_rollout_gets_a_replica_set",
            Selection {
                cases: &["pause/created-paused"],
                flags: of_argo,
                words: &["NON-CONFORMANT  pause/created-paused", "+         rs1 created 0  revision=1 desired=2"],
            },
        ),
    ];
    trials.extend(["sim", "control-plane"].map(|cluster| {
        let words = &["conformant      rolling/rollout-of-argo", "1 conformant"];
        trial(cluster, "a_case_says_its_kind", Selection { cases: &["rolling/rollout-of-argo"], flags: of_argo, words })
    }));
    let no_python = Command::new("python3").arg("--version").output().is_err();
    let python = |name: &str, test: fn() -> Result<(), Failed>| {
        Trial::test(format!("sim::workloads::{name}"), test).with_ignored_flag(no_python)
    };
    trials.extend(LESS.iter().map(|less| {
        let trial = Trial::test(format!("sim::workloads::{}", less.name), move || play_less(less));
        trial.with_ignored_flag(no_python)
    }));
    let no_upstream = no_python || !cluster::is_fetched(cluster::DEFAULT_VERSION);
    trials.extend(["sim", "control-plane"].map(|cluster| {
        let ignored = no_upstream || cluster == "control-plane" && no_control_plane;
        let name = format!("{cluster}::workloads::shared_work_is_conformant_beside_upstream");
        Trial::test(name, move || play_beside_upstream(cluster)).with_ignored_flag(ignored)
    }));
    let decided = Trial::test("sim::workloads::what_upstream_decides_alone_is_inconclusive", decide_beside);
    trials.push(decided.with_ignored_flag(no_upstream));
    trials.extend([
        python("shared_work_is_not_done_without_upstream", share_alone),
        python("a_fork_is_judged_by_annotated_deployments", play_fork),
        python("a_refused_operation_is_inconclusive", refuse_operation),
        python("an_event_of_an_owned_kind_is_overtaken", overtake),
        python("an_owned_kind_is_judged_as_replica_sets", play_fleets),
        python("what_only_creates_is_conformant_if_it_claims_only_that", create_only),
        python("what_only_creates_is_not_conformant_if_it_claims_more", create_and_claim_more),
    ]);
    trials
}

/// A controller with fewer capabilities than upstream's, and its workload description.
struct PartialController {
    name: &'static str,
    /// The capabilities that it lacks.
    lacks: &'static [&'static str],
    /// The text that the description adds.
    described: &'static str,
    /// How long a step may take. What is claimed never comes, so all of it passes at each step.
    budget: &'static str,
    words: &'static str,
}

static LESS: [PartialController; 5] = [
    PartialController {
        name: "a_status_that_is_not_claimed_is_not_waited_for",
        lacks: &["status"],
        described: "paths: {/status: null}\n",
        budget: "30s",
        words: "1 conformant",
    },
    PartialController {
        name: "a_status_that_is_claimed_is_waited_for",
        lacks: &["status"],
        described: "",
        budget: "8s",
        words: "1 non-conformant",
    },
    PartialController {
        name: "events_that_are_not_claimed_are_not_waited_for",
        lacks: &["events"],
        described: "unclaimed: [events]\n",
        budget: "30s",
        words: "1 conformant",
    },
    PartialController {
        name: "events_that_are_claimed_are_waited_for",
        lacks: &["events"],
        described: "",
        budget: "8s",
        words: "1 non-conformant",
    },
    PartialController {
        name: "a_controller_that_reports_nothing_is_conformant",
        lacks: &["status", "events"],
        described: "paths: {/status: null}\nunclaimed: [events]\n",
        budget: "30s",
        words: "1 conformant",
    },
];

fn play_less(less: &PartialController) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let description = folder.path().join("less.yaml");
    let kind = "apiVersion: apps/v1\nkind: Deployment\nplural: deployments\n";
    std::fs::write(&description, format!("{kind}{}", less.described))?;
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/subjects/less.py");
    let subject = format!("command:python3 {} {}", program.display(), less.lacks.join(" "));
    let description = description.to_str().ok_or("a path that is text")?;
    let selection = Selection {
        cases: &["rolling/surge-1-unavailable-0"],
        flags: &["--workload", description],
        words: &[less.words],
    };
    judge("sim", &subject, less.budget, &selection)
}

/// A controller with a kind of its own, and a kind of its own in place of ReplicaSets.
fn play_fleets() -> Result<(), Failed> {
    let (subject, description) = described_subject("fleet");
    let selection = Selection {
        cases: &["rolling/surge-1-unavailable-0", "rolling/quarter-on-ten", "rolling/one-replica", "scale/up-and-down"],
        flags: &["--workload", &description],
        words: &["4 cases in", "4 conformant"],
    };
    judge("sim", &subject, "30s", &selection)
}

/// The command and the description of a controller in Python.
fn described_subject(name: &str) -> (String, String) {
    let subjects = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/subjects");
    let [program, description] = ["py", "yaml"].map(|extension| subjects.join(name).with_extension(extension));
    (format!("command:python3 {}", program.display()), description.display().to_string())
}

/// A controller of Deployments whose strategy is in an annotation.
fn play_fork() -> Result<(), Failed> {
    let (subject, description) = described_subject("annotated");
    let selection = Selection {
        cases: &["rolling/surge-1-unavailable-0", "rolling/quarter-on-ten", "undo/previous", "pause/in-mid-rollout"],
        flags: &["--workload", &description],
        words: &["4 cases in", "4 conformant"],
    };
    judge("sim", &subject, "30s", &selection)
}

/// A controller that rolls out, and leaves the status and the size of a Deployment to upstream.
fn play_beside_upstream(cluster: &str) -> Result<(), Failed> {
    let (subject, description) = described_subject("shared");
    let folder = tempfile::tempdir()?;
    let recordings = folder.path().to_str().ok_or("a path that is text")?;
    let flags = ["--workload", &description, "--beside", "upstream", "--recordings", recordings, "-j", "2"];
    let cases = &["rolling/surge-1-unavailable-0", "scale/up-and-down", "during/crash-after-creation"];
    let words = &["beside upstream (kube-controller-manager v", "3 cases in", "3 conformant"];
    judge(cluster, &subject, "30s", &Selection { cases, flags: &flags, words })?;
    let written = |case: &str| writers(&folder.path().join(format!("{case}.ndjson")));
    let rolled_out = written("rolling/surge-1-unavailable-0")?;
    for (kind, by) in [("Deployment", "beside"), ("ReplicaSet", "other"), ("Pod", "other")] {
        if !rolled_out.contains(&(kind.to_owned(), by.to_owned())) {
            return Err(format!("no {kind} is written by '{by}': {rolled_out:?}").into());
        }
    }
    let subjects = ("Deployment".to_owned(), "other".to_owned());
    match rolled_out.contains(&subjects) || !written("scale/up-and-down")?.iter().any(|it| it.1 == "beside") {
        true => Err(format!("upstream's writes are not attributed to it: {rolled_out:?}").into()),
        false => Ok(()),
    }
}

/// The kinds of a recording with the writers of their versions.
fn writers(recording: &Path) -> Result<BTreeSet<(String, String)>, Failed> {
    let text = std::fs::read_to_string(recording)?;
    let lines: Vec<serde_json::Value> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let versions = lines.iter().filter_map(|line| line.get("object"));
    Ok(versions.map(|version| (text(&version["kind"]), text(&version["by"]))).collect())
}

fn share_alone() -> Result<(), Failed> {
    let (subject, description) = described_subject("shared");
    let selection = Selection {
        cases: &["rolling/surge-1-unavailable-0"],
        flags: &["--workload", &description],
        words: &[
            "did nothing: lockstep's own deployment/probe, in another namespace, has no ReplicaSet",
            "1 non-conformant",
        ],
    };
    judge("sim", &subject, "8s", &selection)
}

/// While the subject is stopped, upstream scales the ReplicaSet, which is not the subject's
/// decision.
fn decide_beside() -> Result<(), Failed> {
    let (subject, description) = described_subject("shared");
    let selection = Selection {
        cases: &["during/away-scaled-up"],
        flags: &["--workload", &description, "--beside", "upstream"],
        words: &["upstream, beside the subject, wrote what was not expected: rs1 10 -> 12", "1 inconclusive"],
    };
    judge("sim", &subject, "30s", &selection)
}

/// A custom resource takes no server-side apply as a Deployment.
fn refuse_operation() -> Result<(), Failed> {
    let manifest =
        "{serverSide: true, apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2}}";
    let given = "given:\n  - deployment: {name: web, replicas: 1, image: \"app:1\"}\n";
    let words = ["1 inconclusive", "the operation was refused: a patch of type application/apply-patch+yaml"];
    play_on_fleets(&format!("{given}steps:\n  - apply: {manifest}\n"), &words)
}

/// An event is known by the name of the kind that is in the place of ReplicaSets.
fn overtake() -> Result<(), Failed> {
    let given = "given:\n  - deployment: {name: web, replicas: 2, image: \"app:1\"}\n  - ready: {pods: all}\n";
    let step = "{image: \"app:2\"}\n    fault: {watch: replicasets, event: 1, action: {overtaken: 1}}";
    play_on_fleets(&format!("{given}steps:\n  - set: {step}\n"), &["1 unblessed"])
}

/// Plays a case with these steps on the controller of Fleets.
fn play_on_fleets(steps: &str, words: &[&str]) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let case = folder.path().join("case.yaml");
    std::fs::write(&case, format!("description: x\n{steps}"))?;
    let (subject, description) = described_subject("fleet");
    let selection = Selection {
        cases: &[],
        flags: &[case.to_str().ok_or("a path that is text")?, "--workload", &description],
        words,
    };
    judge("sim", &subject, "30s", &selection)
}

/// A controller that creates ReplicaSets and does nothing else.
fn play_creator(claims: &str, budget: &str, words: &[&str]) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let description = folder.path().join("creates.yaml");
    let kind = "apiVersion: apps/v1\nkind: Deployment\nplural: deployments\n";
    std::fs::write(&description, format!("{kind}claims: [{claims}]\n"))?;
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/subjects/creates.py");
    let selection = Selection {
        cases: &[
            "rolling/surge-1-unavailable-0",
            "rolling/quarter-on-ten",
            "scale/up-and-down",
            "rolling/same-template",
        ],
        flags: &["--workload", description.to_str().ok_or("a path that is text")?],
        words,
    };
    judge("sim", &format!("command:python3 {}", program.display()), budget, &selection)
}

fn create_only() -> Result<(), Failed> {
    play_creator("replicasets.creation", "30s", &["4 cases in", "4 conformant"])
}

fn create_and_claim_more() -> Result<(), Failed> {
    play_creator("replicasets.creation, replicasets.sizes", "8s", &["4 cases in", "non-conformant"])?;
    play_creator("replicasets.creation, invariants", "30s", &["4 cases in", "4 conformant"])?;
    play_creator("replicasets.creation, replicasets.name", "30s", &["4 cases in", "4 non-conformant", "name=unusual"])
}

/// The path of the controller of Argo Rollouts, if it is built.
pub(crate) fn argo_rollouts() -> Option<PathBuf> {
    let own = std::env::var_os("LOCKSTEP_BIN").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let cached = cluster::cache_dir().map(|cache| cache.join("argo-rollouts").join(VERSION));
    own.into_iter().chain(cached).map(|folder| folder.join(PROGRAM)).find(|program| program.is_file())
}

/// Cases to play, their flags, and the expected output.
struct Selection<'a> {
    cases: &'a [&'a str],
    flags: &'a [&'a str],
    words: &'a [&'a str],
}

/// Plays cases on a cluster and checks the output.
fn play(program: &Path, cluster: &str, selection: &Selection<'_>) -> Result<(), Failed> {
    let subject = format!(
        "command:{} --leader-elect=false --metricsPort 0 --healthzPort 0",
        program.to_str().ok_or("a path that is text")?
    );
    judge(cluster, &subject, "90s", selection)
}

fn judge(cluster: &str, subject: &str, budget: &str, selection: &Selection<'_>) -> Result<(), Failed> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let output = Command::new(env!("CARGO_BIN_EXE_lockstep"))
        .current_dir(root)
        .arg("run")
        .args(selection.cases.iter().map(|case| format!("cases/{case}.yaml")))
        .args(selection.flags)
        .args(["--cluster", cluster, "--budget", budget, "--subject", subject])
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    match selection.words.iter().find(|words| !text.contains(**words)) {
        Some(words) => Err(format!("nothing says '{words}':\n{text}").into()),
        None => Ok(()),
    }
}
