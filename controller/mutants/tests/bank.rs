//! Tests that the bank matches the controller, and tests the modules of the build script.

#[path = "../build/bank.rs"]
mod bank;
#[path = "../src/switch.rs"]
#[expect(unreachable_pub, reason = "the crate exports what this test includes")]
mod switch;
#[path = "../build/switches.rs"]
mod switches;

use std::collections::BTreeSet;
use std::path::Path;

const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// If a rule changes, this test names the mutants that must follow.
#[test]
fn each_place_occurs_in_the_controller_once() {
    let mutants = bank::read(&Path::new(HERE).join("bank")).unwrap();
    let faults = bank::insert_all_switches(&mutants, &Path::new(HERE).join("sources")).err().unwrap_or_default();
    assert!(faults.is_empty(), "controller/mutants/bank is stale:\n{}", faults.join("\n"));
    assert!(mutants.iter().all(|mutant| !mutant.of.is_empty() && !mutant.does.is_empty()), "{mutants:?}");
}

#[test]
fn a_mutant_is_active_on_one_thread() {
    let is_on = || switch::is_on("this-one");
    assert!(switch::with_mutant("this-one", is_on));
    assert!(!switch::with_mutant("this-one", || std::thread::spawn(is_on).join().unwrap()));
    assert!(!switch::with_mutant("another", is_on));
    assert!(!is_on());
}

/// Only a nightly job compiles the copy; this test finds a missing dependency earlier.
#[test]
fn the_copy_has_the_dependencies_of_what_is_copied() {
    let dependencies = |manifest: &str| {
        let text = std::fs::read_to_string(Path::new(HERE).join(manifest)).unwrap();
        let lines = text.lines().skip_while(|line| *line != "[dependencies]").skip(1);
        let lines = lines.take_while(|line| !line.starts_with('['));
        lines.filter(|line| line.contains('=')).map(str::to_owned).collect::<BTreeSet<_>>()
    };
    let mut expected = BTreeSet::new();
    for folder in ["../crates/rules", "../crates/config-restart"] {
        expected.extend(dependencies(&format!("{folder}/Cargo.toml")));
    }
    assert_eq!(dependencies("Cargo.toml"), expected);
}
