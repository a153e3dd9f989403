//! The program alone, as after an installation: an empty folder, no environment, no repository.

use std::path::Path;
use std::process::Command;

/// Runs `lockstep` in a folder; returns standard output, standard error and the exit code.
fn lockstep(folder: &Path, arguments: &[&str]) -> (String, String, i32) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockstep"));
    let output = command.env_clear().current_dir(folder).args(arguments).output().expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (text(output.stdout), without_counts(&text(output.stderr)), output.status.code().expect("it ends by itself"))
}

/// Standard error without the counts that a slow machine adds: `12 of 120 plays in 5 s`.
pub(crate) fn without_counts(stderr: &str) -> String {
    let is_count = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let seconds =
            words.windows(3).any(|it| it[0] == "in" && it[1].parse::<u32>().is_ok() && it[2].starts_with('s'));
        words[0].parse::<u32>().is_ok() && seconds
    };
    stderr.lines().filter(|line| !is_count(line)).map(|line| format!("{line}\n")).collect()
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
    assert!(stderr.contains("no folder cases/ here: using the embedded cases\n") && code == 0, "{stderr}");
    let (stdout, _, code) = lockstep(folder.path(), &["explain", CASE]);
    assert!(stdout.contains("With nothing unavailable allowed") && stdout.contains("pins: ") && code == 0, "{stdout}");
    let (list, stderr, code) = lockstep(folder.path(), &["list"]);
    let cases = list.lines().count();
    assert_eq!((stderr.as_str(), code), ("no folder cases/ here: using the embedded cases\n", 0));
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
    assert!(stderr.contains("is inside the program") && stderr.contains("lockstep init --embedded"), "{stderr}");
    assert_eq!(code, 64);
}

#[test]
fn cases_folder_overrides_embedded_cases() {
    let folder = empty();
    std::fs::create_dir(folder.path().join("cases")).expect("writable");
    for hidden in [CASE, "rolling/surge-1-unavailable-0", "rolling", "cases/rolling", "own.yaml", "rolling/surge"] {
        let (_, stderr, code) = lockstep(folder.path(), &["explain", hidden]);
        let remedy = "does not exist; the folder cases/ here hides the embedded cases, which have it; ";
        let is_embedded = hidden.contains("rolling") && hidden != "rolling/surge";
        assert_eq!((stderr.contains(remedy), code), (is_embedded, 64), "{stderr}");
    }
    for command in ["list", "run"] {
        let (_, stderr, code) = lockstep(folder.path(), &[command]);
        let why = "no case file (*.yaml, *.yml) in cases; the folder cases/ here hides the embedded cases, ";
        assert!(stderr.contains(why) && stderr.contains("`lockstep init --embedded`") && code == 64, "{stderr}");
    }
    let own = include_str!("../../src/cli/init/first.yaml");
    std::fs::write(folder.path().join("cases/own.yaml"), own).expect("writable");
    let (list, stderr, code) = lockstep(folder.path(), &["list"]);
    assert!(
        list.contains("cases/own") && list.ends_with("\n\n1 rollout case\n") && stderr.is_empty() && code == 0,
        "{list}{stderr}"
    );
}

#[test]
fn names_are_accepted_as_paths() {
    let folder = empty();
    let (stdout, stderr, code) = lockstep(folder.path(), &["run", "rolling/surge-1-unavailable-0"]);
    assert!(stdout.contains("conformant      rolling/surge-1-unavailable-0 on ours") && code == 0, "{stdout}{stderr}");
    for command in ["explain", "list", "lint", "run"] {
        let (stdout, stderr, code) = lockstep(folder.path(), &[command, "recreate/three"]);
        assert_eq!(code, 0, "{command}: {stdout}{stderr}");
    }
    let (list, _, _) = lockstep(folder.path(), &["list", "recreate"]);
    assert_eq!(lockstep(folder.path(), &["list", "cases/recreate"]).0, list);
    for (wrong, remedy) in [
        ("rolling/rolover", "did you mean rolling/rollover?"),
        ("cases/rolling/rolover.yaml", "did you mean rolling/rollover?"),
        ("rollover", "did you mean rolling/rollover?"),
        ("roling", "did you mean rolling?"),
        ("nothing/like/it", "`lockstep list` shows the cases"),
    ] {
        let (_, stderr, code) = lockstep(folder.path(), &["explain", wrong]);
        assert!(stderr.contains(&format!("{wrong} does not exist; ")) && stderr.contains(remedy), "{stderr}");
        assert_eq!(code, 64, "{wrong}");
    }
}

/// A folder with `my-controller`, a script that runs one of the programs of this build.
fn folder_with_controller(program: &str) -> tempfile::TempDir {
    let folder = empty();
    write_controller(folder.path(), program);
    folder
}

fn write_controller(folder: &Path, program: &str) {
    use std::os::unix::fs::PermissionsExt;
    let built = Path::new(env!("CARGO_BIN_EXE_lockstep")).parent().expect("a program is in a folder");
    let path = folder.join("my-controller");
    let text = format!("#!/bin/sh\nexec '{}'/{program}\n", built.display());
    std::fs::write(&path, text).expect("writable");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("it can be made executable");
}

/// Runs a line of a shell with the program on PATH; returns what it prints and the exit code.
fn shell(folder: &Path, line: &str, environment: &[(&str, &str)]) -> (String, i32) {
    let built = Path::new(env!("CARGO_BIN_EXE_lockstep")).parent().expect("a program is in a folder");
    let path = format!("{}:{}", built.display(), std::env::var("PATH").expect("tests have a PATH"));
    let mut command = Command::new("sh");
    command.env_clear().env("PATH", path).envs(environment.iter().copied());
    let output = command.current_dir(folder).args(["-ec", line]).output().expect("sh starts");
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("text")).concat();
    (text, output.status.code().expect("it ends by itself"))
}

/// The commands that `init` prints below `next:`.
fn next_commands(stdout: &str) -> Vec<String> {
    let (_, next) = stdout.split_once("\nnext:\n").unwrap_or_else(|| panic!("{stdout}"));
    next.lines().filter_map(|line| line.strip_prefix("  ")).map(str::to_owned).collect()
}

/// The steps of a workflow that run a command: name, command; and the folder they run in.
fn workflow_steps(workflow: &str) -> (Vec<(String, String)>, String) {
    let workflow: serde_yaml::Value = serde_yaml::from_str(workflow).expect("a workflow");
    let job = &workflow["jobs"]["lockstep"];
    let folder = job["defaults"]["run"]["working-directory"].as_str().expect("a folder").to_owned();
    let steps = job["steps"].as_sequence().expect("steps").iter();
    let commands = steps.filter_map(|step| Some((step["name"].as_str()?.to_owned(), step["run"].as_str()?.to_owned())));
    (commands.collect(), folder)
}

#[test]
fn first_steps_from_an_empty_folder_judge_a_right_and_a_wrong_controller() {
    let folder = folder_with_controller("rollout-controller");
    let (stdout, stderr, code) = lockstep(folder.path(), &["init", "mine", "--subject", "command:./my-controller"]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    // What is printed works as it is typed. Of the embedded cases one is enough.
    let commands = next_commands(&stdout);
    let [enter, own, embedded, explain] = commands.as_slice() else { panic!("{stdout}") };
    let embedded = embedded.replace("cases/rolling", "cases/rolling/one-replica.yaml");
    let (text, code) = shell(folder.path(), &format!("{enter}\n{own}\n{embedded}\n{explain}"), &[]);
    assert!(text.contains("conformant      own/first on command:../my-controller") && code == 0, "{text}");
    assert!(text.contains("conformant      rolling/one-replica on command:../my-controller"), "{text}");
    assert!(text.contains("using the embedded cases"), "the folder hides the embedded cases: {text}");

    // So do the steps of the workflow, but for the one that builds Lockstep itself.
    let workflow = std::fs::read_to_string(folder.path().join("mine/.github/workflows/lockstep.yml")).expect("written");
    let (steps, below) = workflow_steps(&workflow);
    let judged_in = folder.path().join("mine").join(below);
    let run = |environment: &[(&str, &str)]| {
        let mut codes = Vec::new();
        let mut text = String::new();
        for (name, line) in steps.iter().filter(|(name, _)| name != "Build Lockstep") {
            let line = line.replace("cases/rolling", "cases/rolling/one-replica.yaml");
            let (printed, code) = shell(&judged_in, &line, environment);
            text += &printed;
            codes.push((name.as_str(), code));
        }
        (text, codes)
    };
    let (text, codes) = run(&[]);
    assert_eq!(codes, [("Build the controller", 0), ("Check the cases", 0), ("Judge the controller", 0)], "{text}");
    assert!(judged_in.join("page.html").is_file() && judged_in.join("junit.xml").is_file());

    write_controller(folder.path(), "examples/mutant eager-old");
    let summary = folder.path().join("summary.md").display().to_string();
    let (text, codes) = run(&[("GITHUB_ACTIONS", "true"), ("GITHUB_STEP_SUMMARY", &summary)]);
    assert_eq!(codes[2], ("Judge the controller", 1), "{text}");
    assert!(text.contains("::error file=own/first.yaml,line="), "{text}");
    assert!(std::fs::read_to_string(summary).expect("written").contains("own/first"));
}

#[test]
fn init_without_a_subject_judges_nothing_in_its_place() {
    let folder = empty();
    let (stdout, stderr, code) = lockstep(folder.path(), &["init"]);
    assert!(
        stdout.contains("The workflow fails until its step `Build the controller`") && code == 0,
        "{stdout}{stderr}"
    );
    let workflow = std::fs::read_to_string(folder.path().join(".github/workflows/lockstep.yml")).expect("written");
    assert!(!workflow.contains("--subject ours"), "{workflow}");
    let (steps, _) = workflow_steps(&workflow);
    let (_, build) = steps.iter().find(|(name, _)| name == "Build the controller").expect("a step");
    let (text, code) = shell(folder.path(), build, &[]);
    assert!(text.contains("my-controller") && code == 1, "{text}");
    let (stdout, stderr, code) = lockstep(folder.path(), &["run", "own"]);
    assert!(stdout.contains("conformant      own/first on ours") && code == 0, "{stdout}{stderr}");
    let (stdout, stderr, code) = lockstep(folder.path(), &["lint", "own"]);
    assert_eq!((stdout.as_str(), stderr.as_str(), code), ("1 rollout case: nothing is wrong\n", "", 0));
}

#[test]
fn init_writes_the_workflow_at_the_root_of_the_repository() {
    let folder = folder_with_controller("rollout-controller");
    std::fs::create_dir(folder.path().join(".git")).expect("writable");
    let subject = "command:./my-controller --config conf";
    std::fs::write(folder.path().join("conf"), "").expect("writable");
    let (stdout, stderr, code) = lockstep(folder.path(), &["init", "test/conformance", "--subject", subject]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert!(
        stdout.starts_with("wrote .github/workflows/lockstep.yml\n")
            || stdout.contains("\nwrote .github/workflows/lockstep.yml\n"),
        "{stdout}"
    );
    let workflow = std::fs::read_to_string(folder.path().join(".github/workflows/lockstep.yml")).expect("written");
    let (steps, below) = workflow_steps(&workflow);
    assert_eq!(below, "test/conformance");
    let judge = &steps.last().expect("a step").1;
    assert!(judge.contains("--subject 'command:../../my-controller --config ../../conf'"), "{judge}");
    assert!(workflow.contains("            test/conformance/page.html\n"), "{workflow}");
}

#[test]
fn init_overwrites_nothing() {
    let folder = empty();
    let (stdout, stderr, code) = lockstep(folder.path(), &["init", "--subject", "command:./my controller"]);
    assert!(stdout.contains("lockstep run own --subject 'command:./my controller'") && code == 0, "{stdout}{stderr}");
    // Running it again changes nothing. Another subject would need another workflow, and is
    // refused.
    assert_eq!(lockstep(folder.path(), &["init", "--subject", "command:./my controller"]).2, 0);
    let (stdout, stderr, code) = lockstep(folder.path(), &["init"]);
    assert!(stderr.contains("lockstep.yml exists; nothing was written") && code == 64, "{stdout}{stderr}");
    assert_eq!(lockstep(folder.path(), &["init", "--subject", "nonsense"]).2, 64);
}

#[test]
fn init_refuses_another_workflow_of_the_repository_before_it_writes() {
    let folder = empty();
    let workflows = folder.path().join(".github/workflows");
    std::fs::create_dir_all(&workflows).expect("writable");
    std::fs::create_dir(folder.path().join(".git")).expect("writable");
    std::fs::write(workflows.join("lockstep.yml"), "on: push\n").expect("writable");
    let (_, stderr, code) = lockstep(folder.path(), &["init", "mine", "--subject", "command:./my-controller"]);
    assert!(stderr.contains("lockstep.yml exists; nothing was written; name another") && code == 64, "{stderr}");
    assert!(!folder.path().join("mine").exists());
}

#[test]
fn init_can_write_the_whole_collection() {
    let folder = empty();
    std::fs::write(folder.path().join(".gitignore"), "mine\n").expect("writable");
    let (stdout, stderr, code) = lockstep(folder.path(), &["init", ".", "--embedded"]);
    assert!(stdout.contains("kept  .gitignore") && code == 0, "{stdout}{stderr}");
    assert!(stdout.contains("the program reads cases/, and no longer the cases inside of it"), "{stdout}");
    assert_eq!(std::fs::read_to_string(folder.path().join(".gitignore")).expect("there"), "mine\n");
    let (stdout, stderr, code) = lockstep(folder.path(), &["lint"]);
    assert!(stdout.contains("nothing is wrong") && stderr.is_empty() && code == 0, "{stdout}{stderr}");
    let (stdout, stderr, code) = lockstep(folder.path(), &["run", CASE]);
    assert!(stdout.contains("1 conformant") && !stderr.contains("embedded") && code == 0, "{stdout}{stderr}");
}
