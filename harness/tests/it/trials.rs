//! Every case is run by `cargo test` and by nextest's default profiles: a case that is missing
//! there would count as passed.

use std::collections::BTreeSet;
use std::path::Path;

use lockstep::trials::{TrialFilter, Trials};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The case files below a folder, as `area/name`.
fn case_files() -> BTreeSet<String> {
    let cases = root().join("cases");
    let files =
        walkdir::WalkDir::new(&cases).min_depth(2).into_iter().map(|entry| entry.expect("readable").into_path());
    let cases_only = files.filter(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    let names =
        cases_only.map(|path| path.strip_prefix(&cases).expect("below").with_extension("").display().to_string());
    names.collect()
}

#[test]
fn every_case_is_a_trial_of_our_controller_that_runs() {
    let known_failures = root().join("harness/tests/known-failures.yaml");
    let trials = Trials::find(&root().join("cases"), &known_failures, &TrialFilter::All).expect("valid cases");
    let run: BTreeSet<String> = trials
        .list()
        .into_iter()
        .filter(|trial| trial.ignored.is_none())
        // A case of several profiles is several trials: `name@profile`.
        .filter_map(|trial| Some(trial.name.strip_prefix("sim::ours::")?.split('@').next()?.replace("::", "/")))
        .collect();
    let missing: Vec<_> = case_files().difference(&run).cloned().collect();
    assert!(missing.is_empty() && run.len() > 500, "{} cases run, and not {missing:?}", run.len());
}

/// nextest's profiles `default` and `ci` leave out the trials of real clusters, and no other.
#[test]
fn default_profiles_leave_out_nothing_but_real_clusters() {
    let config = std::fs::read_to_string(root().join(".config/nextest.toml")).expect("readable");
    let filters: Vec<&str> = config
        .split("\n[")
        .filter(|section| ["profile.default]", "profile.ci]"].iter().any(|name| section.starts_with(name)))
        .flat_map(str::lines)
        .filter(|line| line.starts_with("default-filter"))
        .collect();
    assert_eq!(filters, ["default-filter = 'not (package(lockstep) and test(/^(control-plane|kind|containers)::/))'"]);
}
