//! Every case as a trial `<cluster>::<subject>::<area>::<case>`, with its tags on a real cluster,
//! for `cargo nextest run` and `cargo test`.
//!
//! Trials that cannot run here are listed as ignored; nothing is skipped at run time, and an
//! inconclusive trial fails. See `lockstep::trials`.
//!
//! On real clusters trials run under a profile of nextest, or with a filter that begins with the
//! cluster's name: `cargo test --test conformance -- control-plane::ours::rolling`.

use std::path::Path;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use lockstep::trials::{TrialFilter, Trials};
use lockstep_cluster::shared;

fn main() -> ExitCode {
    lockstep_runner::dispatch_role();
    let mut arguments = Arguments::from_args();
    // So that failures name `cases/area/name.yaml`, as everywhere else.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    if let Err(error) = std::env::set_current_dir(&root) {
        eprintln!("Error: {}: {error}", root.display());
        return ExitCode::from(70);
    }
    let filter = match (&arguments.filter, arguments.exact) {
        // A runner may start a process for each trial; each should not have to read every case.
        (Some(name), true) => TrialFilter::One(name.clone()),
        (Some(text), false) => TrialFilter::Containing(text.clone()),
        (None, _) => TrialFilter::All,
    };
    if shared::requested(arguments.filter.as_deref()).is_some() {
        // The trials of a process share one cluster, and it has one subject at a time.
        arguments.test_threads = Some(1);
    }
    let trials = Trials::find(Path::new("cases"), Path::new("harness/tests/known-failures.yaml"), &filter);
    let trials = match trials {
        Ok(trials) => trials,
        Err(error) => {
            eprintln!("Error: {error}");
            return ExitCode::from(64);
        }
    };
    let tests = trials.list().into_iter().map(|trial| {
        let ignored = trial.ignored.is_some();
        Trial::test(trial.name.clone(), move || trial.run().map_err(Failed::from)).with_ignored_flag(ignored)
    });
    let conclusion = libtest_mimic::run(&arguments, tests.collect());
    conclusion.exit_code()
}
