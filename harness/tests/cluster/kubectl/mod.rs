//! kubectl on the simulated cluster: every verb that works there, its output compared with a real
//! server, and a comparison with the operations of a case.
//!
//! Trials `sim::kubectl::<verb>` each have their own server, which must not have refused a request
//! as unsupported. `sim::kubectl::operation::<name>` compares objects made by kubectl and by the
//! operations of a case. kubectl is taken from `LOCKSTEP_BIN`, else from `PATH`; without it the
//! trials are listed as ignored. `control-plane::kubectl::output-equals-real-server` compares with
//! a real server and also needs upstream's programs:
//!
//! ```text
//! cargo test -p lockstep --test cluster kubectl::
//! cargo test -p lockstep --test cluster kubectl:: -- --ignored
//! ```

mod operations;
mod program;
mod real_server;
mod rollouts;
mod rows;
mod verbs;

use libtest_mimic::{Failed, Trial};
use lockstep_cluster::{DEFAULT_VERSION, available};
use program::{Kubectl, find_kubectl};

/// The result of a step.
pub(crate) type KubectlResult<T = ()> = Result<T, Box<dyn std::error::Error>>;

type Play = fn(&Kubectl) -> KubectlResult;

/// All verbs by the names of their trials.
const VERBS: [(&str, Play); 26] = [
    ("get", verbs::get),
    ("get-wide", verbs::get_wide),
    ("get-yaml", verbs::get_yaml),
    ("get-watch", verbs::get_watch),
    ("describe", verbs::describe),
    ("apply-client-side", verbs::apply_client_side),
    ("apply-server-side", verbs::apply_server_side),
    ("create", verbs::create),
    ("edit", verbs::edit),
    ("replace", verbs::replace),
    ("patch", verbs::patch),
    ("scale", verbs::scale),
    ("set", verbs::set),
    ("label-and-annotate", verbs::label_and_annotate),
    ("delete", verbs::delete),
    ("wait", verbs::wait),
    ("diff", verbs::diff),
    ("auth-can-i", verbs::auth_can_i),
    ("api-resources", verbs::api_resources),
    ("explain", verbs::explain),
    ("autoscale", verbs::autoscale),
    ("dry-run", verbs::dry_run),
    ("custom-resources", verbs::custom_resources),
    ("rollout-status", rollouts::status),
    ("rollout-history-and-undo", rollouts::history_and_undo),
    ("rollout-pause-resume-restart", rollouts::pause_resume_restart),
];

pub(crate) fn trials() -> Vec<Trial> {
    let kubectl = find_kubectl();
    if kubectl.is_none() {
        eprintln!("ignored: sim::kubectl::*: there is no kubectl in LOCKSTEP_BIN or PATH");
    }
    let missing = kubectl.is_none();
    let failed = |why: Box<dyn std::error::Error>| Failed::from(why.to_string());
    let mut trials: Vec<Trial> = VERBS
        .into_iter()
        .map(|(name, play)| {
            let kubectl = kubectl.clone();
            let run = move || {
                let program = kubectl.ok_or("there is no kubectl")?;
                program::on_simulated(&program, play).map_err(failed)
            };
            Trial::test(format!("sim::kubectl::{name}"), run).with_ignored_flag(missing)
        })
        .collect();
    trials.extend(rows::all().into_iter().map(|row| {
        let (kubectl, name) = (kubectl.clone(), format!("sim::kubectl::operation::{}", row.name));
        let run = move || {
            let program = kubectl.ok_or("there is no kubectl")?;
            operations::compare(&program, &row).map_err(failed)
        };
        Trial::test(name, run).with_ignored_flag(missing)
    }));
    if let Err(why) = available(DEFAULT_VERSION) {
        eprintln!("ignored: control-plane::kubectl::*: {why}");
    }
    let real_server = move || {
        let program = kubectl.ok_or("there is no kubectl")?;
        real_server::compare(&program).map_err(failed)
    };
    let name = "control-plane::kubectl::output-equals-real-server";
    trials.push(Trial::test(name, real_server).with_ignored_flag(true));
    trials
}
