//! Commands that need no cluster, as a person types them: what is printed, and the exit code.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rstest::rstest;
use rustix::process::{Pid, Signal, kill_process};

/// `lockstep` in the repository, with a folder of the tests' own for what it remembers.
fn command(arguments: &[&str]) -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockstep"));
    command.current_dir(root).args(arguments).env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"));
    for name in ["GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "CI"] {
        command.env_remove(name);
    }
    command
}

/// Run `lockstep` in the repository; standard output and the exit code.
fn lockstep(arguments: &[&str], environment: &[(&str, &str)]) -> (String, i32) {
    let output = command(arguments).envs(environment.iter().copied()).output().expect("it starts");
    (String::from_utf8(output.stdout).expect("text"), output.status.code().expect("it ends by itself"))
}

/// What it says on standard error, and the exit code.
fn complaint(arguments: &[&str]) -> (String, i32) {
    let output = command(arguments).output().expect("it starts");
    (String::from_utf8(output.stderr).expect("text"), output.status.code().expect("it ends by itself"))
}

/// Cases of a temporary folder's own: a good one with its timeline, one that was edited since, one
/// that is wrong, and a timeline left over.
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
        said.contains("stale ")
            && said.contains("orphaned ")
            && said.contains("2 cases: 2 timelines unblessed, stale or orphaned"),
        "{said}"
    );
    assert_eq!(code, 3);
    std::fs::write(area.join("bad.yaml"), "descripton: x\nsteps:\n  - scael: 3\n").expect("writable");
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
    let (said, _) = lockstep(&["schema", "--reference"], &[]);
    assert!(said.starts_with("# Case reference\n") && said.ends_with('\n'), "{said}");
    let (said, code) = lockstep(&["schema"], &[]);
    let committed = include_str!("../../cases/case.schema.json");
    assert!(said == committed && code == 0);
}

#[test]
fn explain_tells_every_case_and_gives_reasons() {
    let (said, code) = lockstep(&["explain", "cases/rolling/quarter-on-ten.yaml"], &[]);
    assert_eq!(code, 0);
    let decided = said.lines().filter(|line| line.starts_with("  > rs")).collect::<Vec<_>>();
    assert!(decided.len() == 7 && decided.iter().all(|line| line.contains(": ")), "{said}");
    for part in [
        "rs1 shrinks from 10 to 8: 10 are available and 8 must be, so 2 may go",
        "rs2 grows from 3 to 5: 11 are wanted and at most 13 may be, so there is room for 2",
        "rs2          ░░░░░   5 wanted, 0 available",
        "step 2.1–2.5  ready 1 each: rs1 -1, rs2 +1",
        "nothing is decided: the rollout is complete",
    ] {
        assert!(said.contains(part), "no `{part}` in\n{said}");
    }
    let (all, code) = lockstep(&["explain", "cases"], &[]);
    assert!(code == 0 && all.lines().count() > 8_000);
}

#[test]
fn explain_plays_a_case_that_is_not_blessed() {
    let case = "cases/rolling/surge-1-unavailable-0.yaml";
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("mine.yaml");
    std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(case), &copy).expect("readable");
    let copy = copy.display().to_string();
    assert!(lockstep(&["explain", &copy], &[]).0.contains("no timeline is blessed yet"));
    let (live, code) = lockstep(&["explain", "--live=ours", &copy], &[]);
    assert_eq!(code, 0, "{live}");
    assert!(live.contains("what rollout-controller 0.1.0 on simulated v1.36.3 did just now"), "{live}");
    let steps = |said: &str| said.lines().filter(|line| line.starts_with("  >")).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(steps(&live), steps(&lockstep(&["explain", case], &[]).0), "upstream's story is blessed");
    let (said, code) = complaint(&["explain", "--live=someone", &copy]);
    assert!(code == 64 && said.contains("unknown subject 'someone'"), "{code} {said}");
}

#[test]
fn explain_draws_one_case_that_is_blessed() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("picture.svg").display().to_string();
    let (said, code) = lockstep(&["explain", "cases/recreate/three.yaml", "--svg", &file], &[]);
    let picture = std::fs::read_to_string(&file).expect("a picture");
    assert!(said.is_empty() && code == 0, "{said}");
    assert!(picture.starts_with("<svg xmlns=") && picture.contains("prefers-color-scheme: dark"), "{picture}");
    assert!(!picture.contains("<a ") && !picture.contains("<script"), "{picture}");
    assert_eq!(complaint(&["explain", "cases/recreate", "--svg", &file]).1, 64);
    let unblessed = "cases/config-restart/s02-adopted.yaml@safe";
    let (said, code) = complaint(&["explain", unblessed, "--svg", &file]);
    assert!(said.contains("is not blessed") && code == 64, "{said}");
}

/// What another version of upstream did lies beside the case, and is told of, explained and held
/// against whoever is to be like it.
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
    let played = |more: &[&str]| lockstep(&[&["run", case], more].concat(), &[("XDG_STATE_HOME", target.as_str())]);
    assert_eq!(played(&[]).1, 0);
    let (said, code) = played(&["--as", "v1.15"]);
    assert!(said.contains("rs2 deleted instead of rs1 deleted") || said.contains("+         rs2 deleted"), "{said}");
    assert!(said.contains("--as v1.15") && code == 1, "{said}");
    assert!(said.contains(&format!(" run {case} --subject ours --as v1.15\n")), "{said}");
    assert_eq!(played(&["--as", "1.15"]).1, 64);
    // Told otherwise in every case, decided alike: a fact, and no file.
    let (said, _) = lockstep(&["explain", "cases/recreate/three.yaml", "--by", "v1.31"], &[]);
    assert!(said.contains("with the words of v1.31"), "{said}");
}

/// A right controller, and a timeline that asks for something else: what a failure leaves behind,
/// and what plays it again.
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
    let environment = [("XDG_STATE_HOME", target.as_str())];
    let told = ["run", &cases, "--cluster", "sim", "--html", &page, "--junit", &xml, "--evidence", &evidence];
    let job = [environment[0], ("GITHUB_ACTIONS", "true"), ("GITHUB_STEP_SUMMARY", summary.as_str())];
    let (said, code) = lockstep(&told, &job);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("expected, settled") && said.contains("rs1 3 -> 0 instead of rs1 3 -> 1"), "{said}");
    let annotation = format!("::error file={cases}/wrong.yaml,line=8,title=area/wrong%3A non-conformant%3A step 1");
    assert!(said.contains(&annotation), "no {annotation} in\n{said}");
    let (xml, page, summary) = (read("junit.xml"), read("page.html"), read("summary.md"));
    assert!(xml.contains("tests=\"2\"") && xml.contains("failures=\"1\"") && xml.contains("rs1 3 -&gt; 1"), "{xml}");
    assert!(page.contains("first wrong step") && page.matches("<section").count() == 2);
    assert!(summary.contains("### Lockstep: 1 of 2 not conformant") && summary.contains("step 1, line 8"), "{summary}");
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

/// Days of virtual time, which take minutes of real time: nobody waits for them.
const ENDLESS: &str = "description: Days pass.\ngiven:\n  - deployment: {name: web, image: \"app:1\"}\n  - ready: {pods: all}\n\
                       steps:\n  - advance: 80000h\n  - advance: 80000h\n  - advance: 80000h\n";

/// A case in virtual time never comes to a point at which it would look at the clock; what was
/// judged before it is told all the same.
#[rstest]
#[case(Signal::INT, 130)]
#[case(Signal::TERM, 143)]
#[case(Signal::HUP, 129)]
fn a_signal_ends_a_case_in_virtual_time(#[case] signal: Signal, #[case] code: i32) {
    let (folder, area) = folder();
    for name in ["edited.yaml", "edited.timeline", "left-over.timeline"] {
        std::fs::remove_file(area.join(name)).expect("removable");
    }
    std::fs::write(area.join("later.yaml"), ENDLESS).expect("writable");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let temporary = folder.path().join("tmp");
    std::fs::create_dir(&temporary).expect("a folder");
    let (xml, page, evidence) = (path("junit.xml"), path("page.html"), path("evidence"));
    let told = ["run", &path("area"), "-j", "1", "--junit", &xml, "--html", &page, "--evidence", &evidence];
    let mut running = command(&told);
    running.env("TMPDIR", &temporary).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = running.spawn().expect("it starts");
    let mut out = BufReader::new(running.stdout.take().expect("piped"));
    let mut said = String::new();
    while !said.contains("area/good") {
        assert!(out.read_line(&mut said).expect("text") > 0, "it ended before: {said}");
    }
    kill_process(Pid::from_child(&running), signal).expect("it runs");
    // Without being heard the signal would be nothing to a case that goes on for an hour.
    out.read_to_string(&mut said).expect("text");
    let ended = running.wait().expect("it ends");
    assert_eq!(ended.code(), Some(code), "{said}");
    assert!(said.contains("1 conformant, 1 not played"), "{said}");
    let xml = std::fs::read_to_string(xml).expect("written");
    assert!(xml.contains("tests=\"1\"") && xml.contains("name=\"area/good\""), "{xml}");
    let page = std::fs::read_to_string(page).expect("written");
    assert!(page.contains("area/good") && page.contains("(interrupted: SIG"), "{page}");
    let left: Vec<_> = std::fs::read_dir(&temporary).expect("readable").collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Without a terminal there is nothing to step through; a page and a trace need none.
#[test]
fn inspect_writes_files_and_shows_nothing_without_a_terminal() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let case = "cases/recreate/three.yaml";
    assert_eq!(lockstep(&["run", case, "--recordings", &path("kept")], &[]).1, 0);
    let recording = path("kept/recreate/three.ndjson");
    let (said, code) = complaint(&["inspect", &recording]);
    assert!(
        said.contains("needs a terminal") && said.contains("--html FILE") && said.contains("--trace FILE"),
        "{said}"
    );
    assert_eq!(code, 64);
    let (page, trace) = (path("page.html"), path("trace.json"));
    let (said, code) = lockstep(&["inspect", &recording, "--html", &page, "--trace", &trace], &[]);
    assert_eq!((said, code), (format!("{trace}\n{page}\n"), 0));
    let page = std::fs::read_to_string(page).expect("written");
    assert!(
        page.contains("recreate/three") && page.contains("<figure class=\"frames\"") && page.contains("badge good")
    );
    let trace = std::fs::read_to_string(trace).expect("written");
    let trace: serde_json::Value = serde_json::from_str(&trace).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("a list");
    let counters = events.iter().filter(|event| event["ph"] == "C" && event["name"] == "rs1");
    let sizes: Vec<i64> = counters.filter_map(|event| event["args"]["pods"].as_i64()).collect();
    assert_eq!(sizes, [3, 0], "as the case's golden timeline says");

    // Where the case is not, the recording is shown all the same.
    let moved =
        std::fs::read_to_string(&recording).expect("readable").replace("cases/recreate/three.yaml", "gone.yaml");
    std::fs::write(path("moved.ndjson"), moved).expect("writable");
    let (said, code) = complaint(&["inspect", &path("moved.ndjson"), "--trace", &path("moved.json")]);
    assert!(said.starts_with("gone.yaml is not there, so there is no golden timeline; --cases FOLDER"), "{said}");
    assert_eq!(code, 0);
    assert_eq!(complaint(&["inspect", &path("nothing.ndjson"), "--trace", &path("x.json")]).1, 64);
}

/// `lockstep list | head -1`: whoever reads has seen enough.
#[rstest]
#[case(&["explain", "cases"])]
#[case(&["run", "cases/recreate", "--output", "json"])]
#[case(&["completions", "bash"])]
fn a_closed_output_ends_a_command_quietly(#[case] arguments: &[&str]) {
    let mut running = command(arguments);
    running.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = running.spawn().expect("it starts");
    drop(running.stdout.take());
    let ended = running.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(!said.contains("panicked") && !said.contains("error"), "{said}");
    assert_eq!(ended.status.code(), Some(141), "{said}");
}

#[test]
fn what_cannot_be_written_is_said_before_anything_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("file"), "").expect("writable");
    let case = "cases/recreate/three.yaml";
    for (flag, value, why) in [
        ("--junit", path(""), "is a folder; name a file in it"),
        ("--html", path("file/page.html"), "cannot be made"),
        ("--evidence", path("file"), "is a file; name a folder"),
        ("--recordings", path("file/x"), "cannot be made"),
    ] {
        let output = command(&["run", case, flag, &value]).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.starts_with(&format!("error: {flag}: ")) && said.contains(why), "{said}");
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(64), [].as_slice()));
    }
    assert_eq!(complaint(&["record", case, "--cluster", "sim", "--subject", "ours", "--out", &path("file")]).1, 64);
    assert_eq!(complaint(&["faults", case, "--out", &path("file")]).1, 64);
}

#[test]
fn files_called_yml_are_cases_and_two_of_one_name_are_an_error() {
    let (folder, area) = folder();
    for name in ["edited.yaml", "edited.timeline", "left-over.timeline"] {
        std::fs::remove_file(area.join(name)).expect("removable");
    }
    std::fs::rename(area.join("good.yaml"), area.join("good.yml")).expect("renamed");
    let cases = folder.path().display().to_string();
    let (said, code) = lockstep(&["run", &cases], &[]);
    assert!(said.contains("area/good on ours") && code == 0, "{said}");
    assert_eq!(lockstep(&["lint", &cases], &[]).1, 0);

    let twin = folder.path().join("more/area");
    std::fs::create_dir_all(&twin).expect("a folder");
    std::fs::copy(area.join("good.yml"), twin.join("good.yaml")).expect("copied");
    for name in ["run", "list"] {
        let (said, code) = complaint(&[name, &cases]);
        assert!(said.contains("two cases are called area/good: ") && said.contains("more/area/good.yaml"), "{said}");
        assert_eq!(code, 64);
    }
    let (said, code) = lockstep(&["lint", &cases], &[]);
    assert!(said.contains("two cases are called area/good: ") && code == 64, "{said}");
    // One file by two names is one case.
    let (twice, straight) = (format!("{cases}/area/../area/good.yml"), format!("{cases}/area/good.yml"));
    let (said, code) = lockstep(&["run", &twice, &straight], &[]);
    assert!(said.contains("1 case in ") && code == 0, "{said}");
}

#[test]
fn a_folder_of_recordings_is_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let kept = folder.path().display().to_string();
    let (_, code) = lockstep(&["run", "cases/recreate", "--recordings", &kept], &[]);
    assert_eq!(code, 0);
    let (said, code) = lockstep(&["judge", &kept], &[]);
    let cases = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../cases/recreate")).expect("readable");
    let cases =
        cases.filter(|entry| entry.as_ref().is_ok_and(|entry| entry.path().extension().is_some_and(|e| e == "yaml")));
    assert_eq!(
        (said.lines().filter(|line| line.starts_with("conformant")).count(), code),
        (cases.count(), 0),
        "{said}"
    );
    let (said, code) = complaint(&["judge", &folder.path().join("recreate/none").display().to_string()]);
    assert!(said.contains("recreate/none") && code == 64, "{said}");
    let empty = tempfile::tempdir().expect("a folder");
    let (said, code) = complaint(&["judge", &empty.path().display().to_string()]);
    assert!(said.contains("has no recording (*.ndjson)") && code == 64, "{said}");
}

/// Each of these was told of in words that led nowhere.
#[test]
fn what_is_wrong_on_a_command_line_is_said_with_its_remedy() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(at("program"), "#!/bin/sh\n").expect("writable");
    std::fs::create_dir(at("bin")).expect("a folder");
    for (link, to) in [("circle.yaml", "circle.yaml"), ("nowhere.yaml", "nothing.yaml")] {
        std::os::unix::fs::symlink(at(to), at(link)).expect("linked");
    }
    let number = "description: x\ngiven:\n  - deployment: {name: web, image: \"app:1\"}\nsteps:\n  - scale: 99999999999999999999\n";
    std::fs::write(at("number.yml"), number).expect("writable");
    let case = "cases/recreate/three.yaml";
    let run = |more: &[&str]| complaint(&[&["run", case], more].concat());
    for ((said, code), why) in [
        (run(&["--budget", "0s"]), "nothing settles in no time; use a length such as 20s"),
        (run(&["--budget", "1000000h"]), "at most 24h"),
        (
            run(&["--cluster", "sim", "--subject", &format!("command:{}", at("program"))]),
            "is not executable; make it so",
        ),
        (
            run(&["--cluster", "sim", "--subject", &format!("command:{}", at("bin"))]),
            "is a folder; give the path of an",
        ),
        (complaint(&["run", &at("circle.yaml")]), "is a symbolic link that points back to itself"),
        (complaint(&["run", &at("nowhere.yaml")]), "is a symbolic link to something that does not exist"),
        (complaint(&["run", &at("number.yml")]), "this is too large; from 0"),
        (complaint(&["coverage", &at("bin")]), "has no requirements.yaml, which lists the requirements"),
        (run(&["--cluster", "minikube"]), "[possible values: sim, control-plane, containers, kind, kubeconfig]"),
    ] {
        assert!(said.contains(why) && code == 64, "no `{why}` in ({code})\n{said}");
    }
}

#[test]
fn each_order_of_a_case_is_played_and_its_outcomes_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let case = folder.path().join("case.yaml");
    let text = "description: x\ngiven:\n  - deployment: {name: web, replicas: 0, image: x}\nsteps:\n  - scale: 1\n";
    std::fs::write(&case, text).expect("writable");
    let (said, code) = lockstep(&["explore", &case.display().to_string()], &[]);
    assert_eq!(code, 0, "{said}");
    let count = |what: &str| {
        let before = said.split_once(what).map(|(before, _)| before).unwrap_or_default();
        before.rsplit(' ').next().and_then(|number| number.parse::<u32>().ok()).unwrap_or_default()
    };
    let (orders, plays) = (count(" orders in "), count(" plays, "));
    assert!(orders > 5 && plays > orders, "{said}");
    assert!(said.contains("; 1 outcome,"), "nothing is to be decided twice: {said}");
}

/// Two shards explore a case each, and together they are what one run is.
#[test]
fn shards_of_an_exploration_are_merged() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = |to: u32| {
        format!(
            "description: x\ngiven:\n  - deployment: {{name: web, replicas: 0, image: x}}\nsteps:\n  - scale: {to}\n"
        )
    };
    for (name, to) in [("one", 1), ("two", 2)] {
        std::fs::write(folder.path().join(format!("{name}.yaml")), text(to)).expect("writable");
    }
    let (cases, results) = (folder.path().display().to_string(), folder.path().join("results").display().to_string());
    let outcomes = |said: &str| said.lines().filter(|line| line.contains(" orders in ")).map(cut).collect::<Vec<_>>();
    fn cut(line: &str) -> String {
        line.rsplit_once(", ").expect("seconds come last").0.to_owned()
    }
    let (whole, code) = lockstep(&["explore", &cases], &[]);
    assert_eq!((outcomes(&whole).len(), code), (2, 0), "{whole}");
    for shard in ["2/2", "1/2"] {
        let (said, code) = lockstep(&["explore", &cases, "--shard", shard, "--results", &results], &[]);
        assert_eq!((outcomes(&said).len(), code), (1, 0), "{said}");
    }
    let (merged, code) = lockstep(&["merge", &results], &[]);
    assert_eq!((outcomes(&merged), code), (outcomes(&whole), 0), "{merged}");
}

#[test]
fn a_shell_completes_the_names_of_clusters() {
    let (said, code) = lockstep(&["completions", "bash"], &[]);
    assert!(said.contains("sim control-plane containers kind kubeconfig") && code == 0);
}

/// In a folder that is not cargo's nothing is made: what failed is remembered where a user's
/// programs remember things.
#[test]
fn what_failed_is_remembered_in_the_users_folder_or_not_at_all() {
    let (folder, area) = folder();
    let timeline = std::fs::read_to_string(area.join("good.timeline")).expect("readable");
    std::fs::write(area.join("good.timeline"), timeline.replace("rs1 3 -> 0", "rs1 3 -> 1")).expect("writable");
    let played = |set: &dyn Fn(&mut Command)| {
        let mut command = command(&["run", "area/good.yaml"]);
        command.current_dir(folder.path()).env_remove("XDG_STATE_HOME").env_remove("HOME");
        set(&mut command);
        command.output().expect("it starts").status.code()
    };
    let home = folder.path().join("home");
    let at_home = |command: &mut Command| {
        command.env("HOME", &home);
    };
    assert_eq!(played(&at_home), Some(1));
    assert_eq!(std::fs::read_dir(home.join(".local/state/lockstep")).expect("made").count(), 1);
    assert!(!folder.path().join("target").exists());
    // Neither a home that is none nor none at all keeps anything from being judged.
    let nowhere = |command: &mut Command| {
        command.env("HOME", "/dev/null");
    };
    assert_eq!(played(&nowhere), Some(1));
    let without = command(&["list", "cases/recreate"]).env_remove("XDG_STATE_HOME").env_remove("HOME").output();
    assert_eq!(without.expect("it starts").status.code(), Some(0));
}

/// Where upstream is not built, the invariants alone are checked, and a line says how to get more.
#[test]
fn a_search_builds_nothing_that_was_not_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let found = folder.path().join("found").display().to_string();
    let search = |more: &[&str]| {
        let arguments = [&["fuzz", "--programs", "2", "--out", &found], more].concat();
        let output = command(&arguments).env("LOCKSTEP_CACHE", folder.path()).env_remove("LOCKSTEP_BIN").output();
        let output = output.expect("it starts");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        (text(output.stdout), text(output.stderr), output.status.code())
    };
    let (said, noted, code) = search(&[]);
    assert_eq!((said.as_str(), code), ("no difference in 2 programs\n", Some(0)), "{noted}");
    assert!(
        noted.starts_with("the invariants alone are checked: ") && noted.contains("scripts/upstream-virtual"),
        "{noted}"
    );
    assert_eq!(search(&["--against", "none"]), (said, String::new(), Some(0)));
    assert_eq!(std::fs::read_dir(folder.path()).expect("readable").count(), 0, "nothing was built");
}

/// What was tried before the end is told, the case at hand included, and summed up.
#[test]
fn a_signal_ends_faults_with_what_was_tried() {
    let (_folder, area) = folder();
    for name in ["edited.yaml", "edited.timeline", "left-over.timeline"] {
        std::fs::remove_file(area.join(name)).expect("removable");
    }
    std::fs::write(area.join("later.yaml"), ENDLESS).expect("writable");
    let mut running = command(&["faults", &area.display().to_string(), "-j", "1", "--max-points", "3"]);
    let mut running = running.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut out = BufReader::new(running.stdout.take().expect("piped"));
    let mut said = String::new();
    while !said.contains("area/good") {
        assert!(out.read_line(&mut said).expect("text") > 0, "it ended before: {said}");
    }
    kill_process(Pid::from_child(&running), Signal::INT).expect("it runs");
    out.read_to_string(&mut said).expect("text");
    assert_eq!(running.wait().expect("it ends").code(), Some(130), "{said}");
    assert!(said.contains("3 of ") && said.contains("not reached") && !said.contains("failed:"), "{said}");
}

/// What `cluster up` names to end the cluster ends that one.
#[test]
fn the_down_that_up_names_ends_what_up_began() {
    let folder = tempfile::Builder::new().prefix("ls").tempdir_in("/tmp").expect("a folder");
    let run = |arguments: &[&str]| {
        let output = command(arguments).env("TMPDIR", folder.path()).output().expect("it starts");
        (String::from_utf8_lossy(&output.stderr).into_owned(), output.status.code())
    };
    let (said, code) = run(&["cluster", "up", "--cluster", "sim"]);
    assert_eq!(code, Some(0), "{said}");
    let named = said.split('`').find(|words| words.contains(" cluster down")).expect("it is named").to_owned();
    let words: Vec<&str> = named.split_whitespace().skip_while(|word| *word != "cluster").collect();
    let (ended, code) = run(&words);
    // Whatever was named, nothing stays behind a test.
    run(&["cluster", "down", "--cluster", "sim"]);
    assert!(ended.contains("the sim cluster is down") && code == Some(0), "{named}: {ended}");
}
