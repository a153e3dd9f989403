//! The program alone, as after an installation: an empty folder, no environment, no repository.

use std::path::Path;
use std::process::Command;

/// Runs `lockstep` in a folder; returns standard output, standard error and the exit code.
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
fn embedded_cases_are_used_without_a_cases_folder() {
    let folder = empty();
    let (stdout, stderr, code) = lockstep(folder.path(), &["run", CASE]);
    assert!(stdout.contains("conformant      rolling/surge-1-unavailable-0 on ours"), "{stdout}{stderr}");
    assert!(stderr.contains("no folder cases/ here: using 1 of the ") && code == 0, "{stderr}");
    let (stdout, _, code) = lockstep(folder.path(), &["explain", CASE]);
    assert!(stdout.contains("With nothing unavailable allowed") && stdout.contains("pins: ") && code == 0, "{stdout}");
    let (list, stderr, code) = lockstep(folder.path(), &["list"]);
    let cases = list.lines().count();
    assert!(stderr.starts_with("no folder cases/ here: using the ") && code == 0, "{stderr}");
    assert!(stderr.ends_with(" embedded case files\n"), "{stderr}");
    assert!(list.contains("rolling/surge-1-unavailable-0") && cases > 400, "{list}");
    let (stdout, _, code) = lockstep(folder.path(), &["lint", "./cases/rolling"]);
    assert!(stdout.contains("nothing is wrong") && code == 0, "{stdout}");
    let (stdout, _, code) = lockstep(folder.path(), &["coverage"]);
    assert!(stdout.contains("requirements   case") && code == 0, "{stdout}");
    assert_eq!(folder.path().read_dir().expect("readable").count(), 0, "something was written");
}

#[test]
fn embedded_cases_cannot_be_blessed() {
    let folder = empty();
    let (_, stderr, code) = lockstep(folder.path(), &["run", "cases/rolling/no-such-case.yaml"]);
    assert!(stderr.contains("does not exist") && code == 64, "{stderr}");
    let (_, stderr, code) = lockstep(folder.path(), &["bless", CASE]);
    assert!(stderr.contains("is inside the program") && stderr.contains("lockstep init --cases"), "{stderr}");
    assert_eq!(code, 64);
}

#[test]
fn cases_folder_overrides_embedded_cases() {
    let folder = empty();
    std::fs::create_dir(folder.path().join("cases")).expect("writable");
    let (_, stderr, code) = lockstep(folder.path(), &["run", CASE]);
    assert!(stderr.contains("does not exist") && code == 64, "{stderr}");
    let own = include_str!("../../src/cli/init/first.yaml");
    std::fs::write(folder.path().join("cases/own.yaml"), own).expect("writable");
    let (list, stderr, code) = lockstep(folder.path(), &["list"]);
    assert!(
        list.contains("cases/own") && list.ends_with("\n\n1 rollout case\n") && stderr.is_empty() && code == 0,
        "{list}{stderr}"
    );
}

#[test]
fn init_writes_a_passing_folder_and_overwrites_nothing() {
    let folder = empty();
    let (stdout, stderr, code) = lockstep(folder.path(), &["init", "--subject", "command:./my controller"]);
    assert!(stdout.contains("lockstep run --subject 'command:./my controller'") && code == 0, "{stdout}{stderr}");
    let workflow = folder.path().join(".github/workflows/lockstep.yml");
    let workflow = std::fs::read_to_string(workflow).expect("written");
    assert!(workflow.contains("          subject: \"command:./my controller\"\n"), "{workflow}");
    let action = format!("/lockstep@v{}\n", env!("CARGO_PKG_VERSION"));
    assert!(workflow.contains("uses: ") && workflow.contains(&action), "{workflow}");
    let (stdout, stderr, code) = lockstep(folder.path(), &["run"]);
    assert!(stdout.contains("conformant      cases/first on ours") && code == 0, "{stdout}{stderr}");
    let (stdout, stderr, code) = lockstep(folder.path(), &["lint"]);
    assert_eq!((stdout.as_str(), stderr.as_str(), code), ("1 rollout case: nothing is wrong\n", "", 0));
    // Running it again changes nothing. Another subject would need another workflow, and is
    // refused.
    assert_eq!(lockstep(folder.path(), &["init", "--subject", "command:./my controller"]).2, 0);
    let (stdout, stderr, code) = lockstep(folder.path(), &["init"]);
    assert!(stderr.contains("lockstep.yml exists; nothing was written") && code == 64, "{stdout}{stderr}");
    assert_eq!(lockstep(folder.path(), &["init", "--subject", "nonsense"]).2, 64);
}

#[test]
fn init_can_write_the_whole_collection() {
    let folder = empty();
    std::fs::write(folder.path().join(".gitignore"), "mine\n").expect("writable");
    let (stdout, stderr, code) = lockstep(folder.path(), &["init", ".", "--cases"]);
    assert!(stdout.contains("kept  ./.gitignore") && code == 0, "{stdout}{stderr}");
    assert_eq!(std::fs::read_to_string(folder.path().join(".gitignore")).expect("there"), "mine\n");
    let (stdout, stderr, code) = lockstep(folder.path(), &["lint"]);
    assert!(stdout.contains("nothing is wrong") && stderr.is_empty() && code == 0, "{stdout}{stderr}");
    let (stdout, stderr, code) = lockstep(folder.path(), &["run", CASE]);
    assert!(stdout.contains("1 conformant") && !stderr.contains("embedded") && code == 0, "{stdout}{stderr}");
}
