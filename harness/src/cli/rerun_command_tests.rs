//! Tests that the rerun command loses no flag.

use std::collections::BTreeSet;
use std::ffi::OsString;

use clap::Arg;
use rstest::rstest;

use super::*;
use crate::cli::{faults, run};

/// A valid value for each flag.
fn sample(argument: &Arg) -> String {
    let known = argument.get_possible_values();
    if let Some(value) = known.last() {
        return value.get_name().to_owned();
    }
    let value = match argument.get_id().as_str() {
        "budget" => "3s",
        "check_plays" => "9",
        "controllers" => "replicaset",
        "cluster_controllers" => "upstream:v1.33.13",
        "k8s_version" => "v1.33.13",
        "minor" => "v1.33",
        "kind_name" => "mine",
        "profile" => "xing",
        "subject_env" => "PATH",
        "workload" => "argo-rollouts",
        "kind_config" => "my config.yaml",
        "subject" => "command:./it 'a b' $HOME",
        "cluster" => "kind",
        "cases" | "kubeconfig" | "yes_this_cluster" | "image_registry" | "etcd_image" | "node_image" => "it's here",
        // A new flag that needs another value is added above, or to the flags that are left out.
        _ => "1",
    };
    value.to_owned()
}

fn parsed(line: &[String]) -> CommandLine {
    let cli = Cli::read(line.iter().map(OsString::from));
    cli.unwrap_or_else(|error| panic!("{line:?}: {error}")).typed
}

#[rstest]
#[case("run", &run::OMITTED_FROM_RERUN)]
#[case("compare", &["filter", "rerun_failed", "timelines", "recordings", "html", "junit", "evidence", "legend", "jobs"])]
#[case("faults", &faults::OMITTED_FROM_FAULT_RERUN)]
#[case("judge", &["output", "html", "junit", "evidence", "legend"])]
fn rerun_repeats_every_relevant_flag(#[case] name: &str, #[case] without: &[&str]) {
    let cli = Cli::command();
    let command = cli.find_subcommand(name).unwrap();
    let flags: Vec<&Arg> = command.get_arguments().filter(|argument| !argument.is_positional()).collect();
    let known: BTreeSet<&str> = flags.iter().map(|flag| flag.get_id().as_str()).collect();
    let stale: Vec<_> = without.iter().filter(|id| !known.contains(**id)).collect();
    assert!(stale.is_empty(), "{name} has no {stale:?} that could be left out");

    let mut line = vec!["lockstep".to_owned(), name.to_owned(), "a.yaml".to_owned()];
    let mut expected = Vec::new();
    for flag in flags.iter().filter(|flag| !without.contains(&flag.get_id().as_str())) {
        let long = format!("--{}", flag.get_long().unwrap_or_else(|| panic!("{flag} has no long form")));
        let mut words = vec![long];
        if flag.get_action().takes_values() {
            words.push(sample(flag));
        }
        line.extend(words.clone());
        expected.push(words);
    }
    let typed = parsed(&line);
    let flags = typed.flags(without);
    let read = shlex::split(&flags).unwrap();
    for words in &expected {
        assert!(read.windows(words.len()).any(|found| found == words), "{words:?} is lost: {flags}");
    }
    assert_eq!(read.len(), expected.iter().map(Vec::len).sum::<usize>(), "{flags}");

    // The rerun command reproduces itself.
    let line: Vec<String> = ["lockstep", name, "a.yaml"].map(str::to_owned).into_iter().chain(read).collect();
    assert_eq!(parsed(&line).flags(without), flags);
}

/// What does not matter is not typed flags, and defaults need not be.
#[test]
fn rerun_omits_irrelevant_flags() {
    let line = "lockstep run a.yaml --junit x.xml -j 3 --budget 1s --repeat 2 --fail-fast --check-determinism";
    let typed = parsed(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
    assert_eq!(typed.flags(&run::OMITTED_FROM_RERUN), " --budget 1s --check-determinism");
    assert!(typed.beginning().ends_with(" run"));
}

#[rstest]
#[case("lockstep", false, "lockstep")]
#[case("target/debug/lockstep", false, "target/debug/lockstep")]
#[case("/opt/my tools/lockstep", false, "'/opt/my tools/lockstep'")]
#[case("target/debug/lockstep", true, "cargo lockstep")]
#[case("", false, "lockstep")]
fn rerun_names_program_as_it_was_called(#[case] argument_zero: &str, #[case] by_alias: bool, #[case] expected: &str) {
    assert_eq!(program_name(OsStr::new(argument_zero), by_alias), expected);
}

#[test]
fn alias_exists_only_in_checkout() {
    assert!(has_alias(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")));
    assert!(!has_alias(tempfile::tempdir().unwrap().path()));
}
