//! Trials of clusters, simulated and real, and of what runs on them.
//!
//! A cluster's supervisor and simulated servers are started from the executable that boots it. This
//! one plays them, so it has its own `main`, and its trials are libtest-mimic's. Tests that can do
//! with Rust's `main` are in `tests/it`.
//!
//! Trials that cannot run here, because a program is missing, are listed as ignored, and so are
//! those on real clusters unless a profile of nextest selects them, or a filter that begins with
//! the cluster's name: `cargo test --test cluster -- control-plane::plane`.

mod cluster_controllers;
mod containers;
mod existing;
mod generated_page;
mod handover;
mod implementations;
mod interrupts;
mod kubectl;
mod middle;
mod outcome;
mod parity;
mod plane;
mod requests;
mod roles;
mod served;
mod supervise;
mod tls_clients;
mod verdicts;
mod virtual_time;
mod workloads;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use lockstep_cluster::shared::{is_selected, real_cluster, release, requested};

/// The trials of a module, and how their names begin.
struct TrialModule {
    prefixes: &'static [&'static str],
    trials: fn() -> Vec<Trial>,
}

const MODULES: [TrialModule; 17] = [
    TrialModule { prefixes: &["cluster_controllers::"], trials: cluster_controllers::trials },
    TrialModule { prefixes: &["containers::plane::"], trials: containers::trials },
    TrialModule { prefixes: &["control-plane::own::"], trials: existing::trials },
    TrialModule { prefixes: &["sim::handover::"], trials: handover::trials },
    TrialModule {
        prefixes: &["sim::implementations::", "control-plane::implementations::"],
        trials: implementations::trials,
    },
    TrialModule { prefixes: &["control-plane::interrupts::"], trials: interrupts::trials },
    TrialModule { prefixes: &["sim::kubectl::", "control-plane::kubectl::"], trials: kubectl::trials },
    TrialModule { prefixes: &["control-plane::middle::"], trials: middle::trials },
    TrialModule { prefixes: &["sim::parity::", "control-plane::parity::"], trials: parity::trials },
    TrialModule { prefixes: &["control-plane::plane::"], trials: plane::trials },
    TrialModule { prefixes: &["requests::"], trials: requests::trials },
    TrialModule { prefixes: &["sim::served::"], trials: served::trials },
    TrialModule { prefixes: &["supervise::"], trials: supervise::trials },
    TrialModule { prefixes: &["tls::"], trials: tls_clients::trials },
    TrialModule { prefixes: &["control-plane::verdict::"], trials: verdicts::trials },
    TrialModule { prefixes: &["virtual_time::"], trials: virtual_time::trials },
    TrialModule { prefixes: &["sim::workloads::", "control-plane::workloads::"], trials: workloads::trials },
];

impl TrialModule {
    fn has(&self, name: &str) -> bool {
        self.prefixes.iter().any(|prefix| name.starts_with(prefix))
    }

    /// Its trials. A name without one of the prefixes would be listed, and then never run.
    fn list(&self) -> Vec<Trial> {
        let trials = (self.trials)();
        for trial in &trials {
            assert!(self.has(trial.name()), "{} begins with none of {:?}", trial.name(), self.prefixes);
        }
        trials
    }
}

/// Whether a trial needs no real cluster, or its cluster is to be used.
fn is_wanted(trial: &Trial, filter: Option<&str>) -> bool {
    real_cluster(trial.name()).is_none_or(|site| is_selected(site, filter))
}

fn main() -> ExitCode {
    lockstep_runner::dispatch_role();
    supervise::play_if_asked();
    if let Some(played) = roles::play_if_asked(&[&containers::ROLES, &plane::ROLES]) {
        return played;
    }
    let mut arguments = Arguments::from_args();
    let has_selected = |module: &&TrialModule| match (&arguments.filter, arguments.exact) {
        // A runner may start a process for each trial; each should not have to look for the
        // programs that all the others need.
        (Some(name), true) => module.has(name),
        _ => true,
    };
    let filter = arguments.filter.clone();
    let trials = MODULES.iter().filter(has_selected).flat_map(TrialModule::list);
    let trials = trials.map(|trial| {
        let ignored = trial.has_ignored_flag() || !is_wanted(&trial, filter.as_deref());
        trial.with_ignored_flag(ignored)
    });
    let trials = trials.collect();
    if requested(filter.as_deref()).is_some() {
        // The trials of a process share one cluster, and it has one subject at a time.
        arguments.test_threads = Some(1);
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    outcome::block_on(release());
    conclusion.exit_code()
}
