//! The program alone, as it is after an install: an empty folder, no environment, no checkout.

use std::path::Path;
use std::process::Command;

/// Runs `lockstep` in a folder; standard output, standard error and the exit code.
fn lockstep(folder: &Path, arguments: &[&str]) -> (String, String, i32) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockstep"));
    let output = command.env_clear().current_dir(folder).args(arguments).output().expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (text(output.stdout), text(output.stderr), output.status.code().expect("it ends by itself"))
}

fn empty() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

const CASE: &str = "cases/rolling/surge-1-unavailable-0.yaml";

#[test]
fn an_embedded_case_is_run_explained_and_linted_where_there_is_no_folder_of_cases() {
    let folder = empty();
    let (said, aside, code) = lockstep(folder.path(), &["run", CASE]);
    assert!(said.contains("conformant      rolling/surge-1-unavailable-0 on ours"), "{said}{aside}");
    assert!(aside.contains("no folder cases/ here: using 1 of the ") && code == 0, "{aside}");
    let (said, _, code) = lockstep(folder.path(), &["explain", CASE]);
    assert!(said.contains("With nothing unavailable allowed") && said.contains("pins: ") && code == 0, "{said}");
    let (list, aside, code) = lockstep(folder.path(), &["list"]);
    let cases = list.lines().count();
    assert!(aside.starts_with("no folder cases/ here: using the ") && code == 0, "{aside}");
    assert!(aside.ends_with(" embedded case files\n"), "{aside}");
    assert!(list.contains("rolling/surge-1-unavailable-0") && cases > 400, "{list}");
    let (said, _, code) = lockstep(folder.path(), &["lint", "./cases/rolling"]);
    assert!(said.contains("nothing is wrong") && code == 0, "{said}");
    let (said, _, code) = lockstep(folder.path(), &["coverage"]);
    assert!(said.contains("requirements   case") && code == 0, "{said}");
    assert_eq!(folder.path().read_dir().expect("readable").count(), 0, "something was written");
}

#[test]
fn what_is_not_embedded_is_missing_and_nothing_embedded_is_blessed() {
    let folder = empty();
    let (_, aside, code) = lockstep(folder.path(), &["run", "cases/rolling/no-such-case.yaml"]);
    assert!(aside.contains("does not exist") && code == 64, "{aside}");
    let (_, aside, code) = lockstep(folder.path(), &["bless", CASE]);
    assert!(aside.contains("is inside the program") && aside.contains("lockstep init --cases"), "{aside}");
    assert_eq!(code, 64);
}

#[test]
fn a_folder_of_cases_wins() {
    let folder = empty();
    std::fs::create_dir(folder.path().join("cases")).expect("writable");
    let (_, aside, code) = lockstep(folder.path(), &["run", CASE]);
    assert!(aside.contains("does not exist") && code == 64, "{aside}");
    let own = include_str!("../src/cli/init/first.yaml");
    std::fs::write(folder.path().join("cases/own.yaml"), own).expect("writable");
    let (list, aside, code) = lockstep(folder.path(), &["list"]);
    assert!(list.lines().count() == 1 && list.contains("cases/own") && aside.is_empty() && code == 0, "{list}{aside}");
}

#[test]
fn init_writes_a_folder_that_is_green_and_overwrites_nothing() {
    let folder = empty();
    let (said, aside, code) = lockstep(folder.path(), &["init", "--subject", "command:./my controller"]);
    assert!(said.contains("lockstep run --subject 'command:./my controller'") && code == 0, "{said}{aside}");
    let workflow = folder.path().join(".github/workflows/lockstep.yml");
    let workflow = std::fs::read_to_string(workflow).expect("written");
    assert!(workflow.contains("          subject: \"command:./my controller\"\n"), "{workflow}");
    let action = format!("/lockstep@v{}\n", env!("CARGO_PKG_VERSION"));
    assert!(workflow.contains("uses: ") && workflow.contains(&action), "{workflow}");
    let (said, aside, code) = lockstep(folder.path(), &["run"]);
    assert!(said.contains("conformant      cases/first on ours") && code == 0, "{said}{aside}");
    let (said, aside, code) = lockstep(folder.path(), &["lint"]);
    assert_eq!((said.as_str(), aside.as_str(), code), ("1 case: nothing is wrong\n", "", 0));
    // The same again changes nothing; another subject is another workflow, and refused.
    assert_eq!(lockstep(folder.path(), &["init", "--subject", "command:./my controller"]).2, 0);
    let (said, aside, code) = lockstep(folder.path(), &["init"]);
    assert!(aside.contains("lockstep.yml exists; nothing was written") && code == 64, "{said}{aside}");
    assert_eq!(lockstep(folder.path(), &["init", "--subject", "nonsense"]).2, 64);
}

#[test]
fn init_writes_the_collection_too() {
    let folder = empty();
    std::fs::write(folder.path().join(".gitignore"), "mine\n").expect("writable");
    let (said, aside, code) = lockstep(folder.path(), &["init", ".", "--cases"]);
    assert!(said.contains("kept  ./.gitignore") && code == 0, "{said}{aside}");
    assert_eq!(std::fs::read_to_string(folder.path().join(".gitignore")).expect("there"), "mine\n");
    let (said, aside, code) = lockstep(folder.path(), &["lint"]);
    assert!(said.contains("nothing is wrong") && aside.is_empty() && code == 0, "{said}{aside}");
    let (said, aside, code) = lockstep(folder.path(), &["run", CASE]);
    assert!(said.contains("1 conformant") && !aside.contains("embedded") && code == 0, "{said}{aside}");
}
