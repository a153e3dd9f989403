//! That no flag is lost.

use std::collections::BTreeSet;
use std::ffi::OsString;

use clap::Arg;
use rstest::rstest;

use super::*;
use crate::cli::{faults, run};

/// A value that each flag takes; of flags with known values any of those.
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
        "like" => "v1.33",
        "kind_name" => "mine",
        "profile" => "xing",
        "subject_env" => "PATH",
        "workload" => "argo-rollouts",
        "kind_config" => "my config.yaml",
        "subject" => "command:./it 'a b' $HOME",
        "cluster" => "kind",
        "cases" | "kubeconfig" | "yes_this_cluster" | "image_registry" | "etcd_image" | "node_image" => "it's here",
        // A new flag that takes something else says so here, or does not matter for a play.
        _ => "1",
    };
    value.to_owned()
}

fn parsed(line: &[String]) -> Typed {
    let cli = Cli::read(line.iter().map(OsString::from));
    cli.unwrap_or_else(|error| panic!("{line:?}: {error}")).typed
}

#[rstest]
#[case("run", &run::NOT_OF_A_PLAY)]
#[case("compare", &["filter", "rerun_failed", "timelines", "recordings", "html", "junit", "evidence", "legend", "jobs"])]
#[case("faults", &faults::NOT_OF_A_FAULT)]
#[case("judge", &["output", "html", "junit", "evidence", "legend"])]
fn every_flag_is_typed_again_or_does_not_matter(#[case] name: &str, #[case] without: &[&str]) {
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
    let again = typed.flags(without);
    let read = shlex::split(&again).unwrap();
    for words in &expected {
        assert!(read.windows(words.len()).any(|found| found == words), "{words:?} is lost: {again}");
    }
    assert_eq!(read.len(), expected.iter().map(Vec::len).sum::<usize>(), "{again}");

    // What is repeated repeats itself.
    let line: Vec<String> = ["lockstep", name, "a.yaml"].map(str::to_owned).into_iter().chain(read).collect();
    assert_eq!(parsed(&line).flags(without), again);
}

/// What does not matter is not typed again, and defaults need not be.
#[test]
fn what_does_not_matter_is_left_out() {
    let line = "lockstep run a.yaml --junit x.xml -j 3 --budget 1s --repeat 2 --fail-fast --check-determinism";
    let typed = parsed(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
    assert_eq!(typed.flags(&run::NOT_OF_A_PLAY), " --budget 1s --check-determinism");
    assert!(typed.beginning().ends_with(" run"));
}

#[rstest]
#[case("lockstep", false, "lockstep")]
#[case("target/debug/lockstep", false, "target/debug/lockstep")]
#[case("/opt/my tools/lockstep", false, "'/opt/my tools/lockstep'")]
#[case("target/debug/lockstep", true, "cargo lockstep")]
#[case("", false, "lockstep")]
fn the_program_is_called_as_it_was(#[case] started: &str, #[case] by_alias: bool, #[case] expected: &str) {
    assert_eq!(called(OsStr::new(started), by_alias), expected);
}

#[test]
fn cargo_knows_the_alias_in_the_checkout_alone() {
    assert!(has_alias(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")));
    assert!(!has_alias(tempfile::tempdir().unwrap().path()));
}
