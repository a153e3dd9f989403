//! The bank fits the controller as it is, and the build script's modules do what they say.

#[path = "../build/bank.rs"]
mod bank;
#[path = "../build/places.rs"]
mod places;
#[path = "../src/switch.rs"]
#[expect(unreachable_pub, reason = "the crate exports what this test includes")]
mod switch;

use std::path::Path;

const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// Whoever changes a rule learns here which mutant has to follow.
#[test]
fn each_place_is_in_the_controller_once() {
    let mutants = bank::read(&Path::new(HERE).join("bank")).unwrap();
    let faults = bank::switched(&mutants, &Path::new(HERE).join("../src")).err().unwrap_or_default();
    assert!(faults.is_empty(), "controller/mutants/bank is stale:\n{}", faults.join("\n"));
    assert!(mutants.iter().all(|mutant| !mutant.of.is_empty() && !mutant.does.is_empty()), "{mutants:?}");
}

#[test]
fn a_mutant_is_on_for_one_thread() {
    let is_on = || switch::is_on("this-one");
    assert!(switch::with("this-one", is_on));
    assert!(!switch::with("this-one", || std::thread::spawn(is_on).join().unwrap()));
    assert!(!switch::with("another", is_on));
    assert!(!is_on());
}

/// The copy is compiled in a nightly job only; a dependency that it lacks is to be noticed before.
#[test]
fn the_copy_has_the_dependencies_of_the_controller() {
    let dependencies = |manifest: &str| {
        let text = std::fs::read_to_string(Path::new(HERE).join(manifest)).unwrap();
        let lines = text.lines().skip_while(|line| *line != "[dependencies]").skip(1);
        lines.take_while(|line| !line.starts_with('[')).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(dependencies("Cargo.toml"), dependencies("../Cargo.toml"));
}
