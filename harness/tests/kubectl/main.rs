//! kubectl itself on the simulated cluster: every verb that works there, what it prints beside a
//! real server, and that the operations of a case do the same.
//!
//! Trials `sim::kubectl::<verb>`, each with a server of its own; at the end the server must have
//! refused nothing as unsupported. `sim::kubectl::operation::<name>` compares what kubectl makes of
//! an object with what the operations of a case make of it. kubectl is that of `LOCKSTEP_BIN`, else
//! that of `PATH`; without one the trials are listed as ignored.
//! `control-plane::kubectl::prints-what-a-real-server-gives` compares with a real server and needs
//! upstream's programs too:
//!
//! ```text
//! cargo test -p lockstep --test kubectl
//! cargo test -p lockstep --test kubectl -- --ignored
//! ```

mod beside;
mod operations;
mod program;
mod rollouts;
mod rows;
mod verbs;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use lockstep::cluster::{DEFAULT_VERSION, available};

use program::{Kubectl, found};

/// The outcome of a step.
pub(crate) type Checked<T = ()> = Result<T, Box<dyn std::error::Error>>;

type Play = fn(&Kubectl) -> Checked;

/// Every verb, by the name of its trial.
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

fn main() -> ExitCode {
    lockstep::runner::main_if_asked();
    let arguments = Arguments::from_args();
    let kubectl = found();
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
    let beside = move || {
        let program = kubectl.ok_or("there is no kubectl")?;
        beside::compare(&program).map_err(failed)
    };
    let name = "control-plane::kubectl::prints-what-a-real-server-gives";
    trials.push(Trial::test(name, beside).with_ignored_flag(true));
    libtest_mimic::run(&arguments, trials).exit_code()
}
