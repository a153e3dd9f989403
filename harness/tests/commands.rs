//! Commands that need no cluster, as a person types them: what is printed, and the exit code.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Run `lockstep` in the repository; standard output and the exit code.
fn lockstep(arguments: &[&str], environment: &[(&str, &str)]) -> (String, i32) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockstep"));
    command.current_dir(root).args(arguments);
    for name in ["GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "CI"] {
        command.env_remove(name);
    }
    let output = command.envs(environment.iter().copied()).output().expect("it starts");
    (String::from_utf8(output.stdout).expect("text"), output.status.code().expect("it ends by itself"))
}

/// Cases of a temporary folder's own: a good one with its timeline, one that was edited since, one that is wrong, and a timeline left over.
fn folder() -> (tempfile::TempDir, PathBuf) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cases/recreate");
    let folder = tempfile::tempdir().expect("a folder");
    let area = folder.path().join("area");
    std::fs::create_dir(&area).expect("a folder in it");
    let read = |name: &str| std::fs::read_to_string(root.join(name)).expect("readable");
    let (case, timeline) = (read("three.yaml"), read("three.timeline"));
    let write = |name: &str, text: &str| std::fs::write(area.join(name), text).expect("writable");
    write("good.yaml", &case);
    write("good.timeline", &timeline);
    write("edited.yaml", &case.replace("app:2", "app:3"));
    write("edited.timeline", &timeline);
    write("left-over.timeline", &timeline);
    (folder, area)
}

#[test]
fn lint_finds_all_that_is_wrong_and_its_code_says_how_bad_it_is() {
    let (_folder, area) = folder();
    let path = |name: &str| area.join(name).display().to_string();
    let (said, code) = lockstep(&["lint", &path("good.yaml")], &[]);
    assert_eq!((said.as_str(), code), ("1 case: nothing is wrong\n", 0));
    let (said, code) = lockstep(&["lint", &area.display().to_string()], &[]);
    assert!(
        said.contains("stale ") && said.contains("orphaned ") && said.contains("2 cases: 2 timelines to look at"),
        "{said}"
    );
    assert_eq!(code, 3);
    std::fs::write(area.join("bad.yaml"), "descripton: x\nedges:\n  - scael: 3\n").expect("writable");
    let (said, code) = lockstep(&["lint", &area.display().to_string()], &[("GITHUB_ACTIONS", "true")]);
    assert!(
        said.contains("bad.yaml:1:1") && said.contains("bad.yaml:3:5") && said.contains("did you mean `scale`?"),
        "{said}"
    );
    assert!(said.contains("::error file=") && said.contains(",line=3,col=5,title=unknown field `scael`::"), "{said}");
    assert_eq!(code, 64);
    assert_eq!(lockstep(&["lint", "no/such/folder"], &[]).1, 64);
}

#[test]
fn schema_prints_what_is_committed() {
    let (said, code) = lockstep(&["schema"], &[]);
    let committed = include_str!("../../cases/case.schema.json");
    assert!(said == committed && code == 0);
}

#[test]
fn explain_tells_every_case_and_gives_reasons() {
    let (said, code) = lockstep(&["explain", "cases/rolling/quarter-on-ten.yaml"], &[]);
    assert_eq!(code, 0);
    let decided = said.lines().filter(|line| line.starts_with("  > rs")).collect::<Vec<_>>();
    assert!(decided.len() == 17 && decided.iter().all(|line| line.contains(": ")), "{said}");
    for part in [
        "rs1 shrinks from 10 to 8: 10 are available and 8 must be, so 2 may go",
        "rs2 grows from 3 to 5: 11 are wanted and at most 13 may be, so there is room for 2",
        "rs2          ░░░░░   5 wanted, 0 available",
        "nothing is decided: the roll-out is complete",
    ] {
        assert!(said.contains(part), "no `{part}` in\n{said}");
    }
    let (all, code) = lockstep(&["explain", "cases"], &[]);
    assert!(code == 0 && all.lines().count() > 8_000);
}

/// What another version of upstream did lies beside the case, and is told of, explained and held against whoever is to be like it.
#[test]
fn other_versions_of_upstream_have_timelines_of_their_own() {
    let case = "cases/history/undo-keeps-order.yaml";
    let (said, code) = lockstep(&["list", case], &[]);
    assert!(said.contains("[otherwise in v1.15]") && code == 0, "{said}");
    let (now, then) = (lockstep(&["explain", case], &[]).0, lockstep(&["explain", case, "--by", "v1.15"], &[]).0);
    assert!(now.contains("what kube-controller-manager v1.36.3 on") && now.contains("> rs2 is deleted"), "{now}");
    assert!(then.contains("what kube-controller-manager v1.15.5 on") && then.contains("> rs1 is deleted"), "{then}");
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().display().to_string();
    let played = |more: &[&str]| lockstep(&[&["run", case], more].concat(), &[("CARGO_TARGET_DIR", target.as_str())]);
    assert_eq!(played(&[]).1, 0);
    let (said, code) = played(&["--as", "v1.15"]);
    assert!(said.contains("rs2 deleted instead of rs1 deleted") || said.contains("+         rs2 deleted"), "{said}");
    assert!(said.contains("--as v1.15") && code == 1, "{said}");
    assert_eq!(played(&["--as", "1.15"]).1, 64);
    // Told otherwise in every case, decided alike: a fact, and no file.
    let (said, _) = lockstep(&["explain", "cases/recreate/three.yaml", "--by", "v1.31"], &[]);
    assert!(said.contains("as v1.31 tells it"), "{said}");
}

/// A right controller, and a timeline that asks for something else: what a failure leaves behind, and what plays it again.
#[test]
fn a_failure_is_told_of_wherever_it_was_asked_for() {
    let (folder, area) = folder();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let read = |name: &str| {
        std::fs::read_to_string(folder.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    for name in ["edited.yaml", "edited.timeline", "left-over.timeline"] {
        std::fs::remove_file(area.join(name)).expect("removable");
    }
    let timeline = std::fs::read_to_string(area.join("good.timeline")).expect("readable");
    std::fs::copy(area.join("good.yaml"), area.join("wrong.yaml")).expect("copied");
    std::fs::write(area.join("wrong.timeline"), timeline.replace("rs1 3 -> 0", "rs1 3 -> 1")).expect("writable");

    let cases = path("area");
    let (page, xml, evidence) = (path("page.html"), path("junit.xml"), path("evidence"));
    let (target, summary) = (path("target"), path("summary.md"));
    let environment = [("CARGO_TARGET_DIR", target.as_str())];
    let told = ["run", &cases, "--cluster", "sim", "--html", &page, "--junit", &xml, "--evidence", &evidence];
    let job = [environment[0], ("GITHUB_ACTIONS", "true"), ("GITHUB_STEP_SUMMARY", summary.as_str())];
    let (said, code) = lockstep(&told, &job);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("expected, at rest") && said.contains("rs1 3 -> 0 instead of rs1 3 -> 1"), "{said}");
    let annotation = format!("::error file={cases}/wrong.yaml,line=7,title=area/wrong%3A non-conformant%3A edge 1");
    assert!(said.contains(&annotation), "no {annotation} in\n{said}");
    let (xml, page, summary) = (read("junit.xml"), read("page.html"), read("summary.md"));
    assert!(xml.contains("tests=\"2\"") && xml.contains("failures=\"1\"") && xml.contains("rs1 3 -&gt; 1"), "{xml}");
    assert!(page.contains("first wrong step") && page.matches("<section").count() == 2);
    assert!(summary.contains("### Lockstep: 1 of 2 not conformant") && summary.contains("edge 1, line 7"), "{summary}");
    for name in [
        "about.json",
        "recording.ndjson",
        "case.yaml",
        "expected.timeline",
        "happened.timeline",
        "report.txt",
        "page.html",
    ] {
        assert!(!read(&format!("evidence/ours/area/wrong/{name}")).is_empty());
    }
    assert!(!folder.path().join("evidence/ours/area/good").exists());

    let (said, code) = lockstep(&["run", &cases, "--cluster", "sim", "--rerun-failed"], &environment);
    assert!(said.contains("1 case in ") && said.contains("area/wrong") && code == 1, "{said}");
    std::fs::write(area.join("wrong.timeline"), &timeline).expect("writable");
    let (said, code) = lockstep(&["run", &cases, "--cluster", "sim", "--rerun-failed"], &environment);
    assert!(said.contains("1 conformant") && code == 0, "{said}");
    let (_, code) = lockstep(&["run", &cases, "--cluster", "sim", "--rerun-failed"], &environment);
    assert_eq!(code, 4, "nothing is left that failed");
}

#[test]
fn a_filter_chooses_and_a_bad_one_is_bad_usage() {
    let (said, code) = lockstep(&["list", "-E", "area(recreate) & !label(scale)"], &[]);
    assert!(
        code == 0
            && said.contains("recreate/three ")
            && !said.contains("recreate/scale ")
            && !said.contains("rolling/"),
        "{said}"
    );
    assert_eq!(lockstep(&["list", "-E", "aera(recreate)"], &[]).1, 64);
    assert_eq!(lockstep(&["list", "-E", "none()"], &[]).1, 4);
}
