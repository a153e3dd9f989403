//! Commands that need no cluster, as users type them: their output and exit codes.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rstest::rstest;
use rustix::process::{Pid, Signal, kill_process};

use super::installed::without_counts;

/// `lockstep` in the repository, with a state folder for the tests.
pub(super) fn command(arguments: &[&str]) -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockstep"));
    command.current_dir(root).args(arguments).env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"));
    for name in ["GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "CI"] {
        command.env_remove(name);
    }
    command
}

/// Runs `lockstep` in the repository; returns standard output and the exit code.
pub(super) fn lockstep(arguments: &[&str], environment: &[(&str, &str)]) -> (String, i32) {
    let output = command(arguments).envs(environment.iter().copied()).output().expect("it starts");
    (String::from_utf8(output.stdout).expect("text"), output.status.code().expect("it ends by itself"))
}

/// Runs `lockstep`; returns standard error and the exit code.
pub(super) fn stderr_of(arguments: &[&str]) -> (String, i32) {
    let output = command(arguments).output().expect("it starts");
    let stderr = String::from_utf8(output.stderr).expect("text");
    (without_counts(&stderr), output.status.code().expect("it ends by itself"))
}

/// A temporary folder with a valid case and its timeline, a case that was edited after blessing, an
/// invalid case, and an orphaned timeline.
pub(super) fn folder() -> (tempfile::TempDir, PathBuf) {
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
fn first_screen_has_the_commands_in_groups_below_what_to_begin_with() {
    let (stdout, code) = lockstep(&["-h"], &[]);
    assert_eq!(code, 0);
    insta::assert_snapshot!(stdout, @r#"
    Lockstep judges a Kubernetes Deployment controller, step by step, by what upstream's does.

    Begin with:
      lockstep run rolling --subject "command:./my-controller"     judge a controller
      lockstep explain rolling/rollover                            what a case does, and why
      lockstep init mine --subject "command:./my-controller"       a folder for cases of your own

    Usage: lockstep COMMAND [OPTIONS] [ARGUMENTS]

    Judge a controller:
      run          Judge a controller by the cases, against timelines recorded from upstream
      compare      Run the cases live on two controllers and compare what they did
      versions     Play the cases on several versions of upstream, and show what changed

    Understand:
      explain      Explain a case step by step: what happens, what upstream does, and why
      inspect      Step through a recording, forwards and backwards, in a terminal
      list         List the cases

    Write cases:
      init         Write a folder for cases of your own, with a first case and a workflow
      lint         Check case files and golden timelines, without playing them
      bless        Record golden timelines from upstream
      schema       Print the JSON schema of case files, for editors

    Live clusters:
      capture      Record a Deployment of a live cluster while something happens; reads only
      import       Make a recording of a Deployment from the audit logs of a cluster
      watch        Watch all Deployments of a live cluster for broken invariants; reads only
      case         Infer a case from a recording: what users and nodes did becomes its steps
      replay       Play a recording on upstream, and compare what the recorded cluster did

    Search for differences:
      faults       Crash the controller, refuse its writes and delay its watches, at every write
      handover     Replace the controller by another one, at every write
      explore      Play a case in every order in which its events can reach the controller
      fuzz         Search for a program on which two controllers differ

    Campaigns on many machines:
      record       Play cases and keep the recordings, unjudged
      judge        Judge stored recordings again, without a cluster
      merge        Put the results of several shards together, as those of one run

    This machine:
      doctor       Check which clusters can run on this machine
      cluster      Start and stop a cluster that keeps running, for kubectl and later runs
      completions  Print shell completions: `source <(lockstep completions bash)`

    Options:
      -h, --help     Print help (see more with '--help')
      -V, --version  Print version

    `lockstep COMMAND -h` lists the usual options, `--help` all of them; `lockstep --help` also exit codes.
    "#);
    // `--help` also has the exit codes; the bare program says the same as `-h`.
    assert!(lockstep(&["--help"], &[]).0.contains("Exit codes: 0 conformant"));
    assert_eq!(stderr_of(&[]), (stdout, 64));
}

#[test]
fn short_help_lists_the_usual_options_and_long_help_all() {
    let (short, long) = (lockstep(&["run", "-h"], &[]).0, lockstep(&["run", "--help"], &[]).0);
    // A line that begins with a dash and a blank is a value of an option.
    let is_option = |line: &&str| line.trim_start().starts_with('-') && !line.trim_start().starts_with("- ");
    let options = |text: &str| text.lines().filter(is_option).count();
    assert!(options(&short) < 20 && short.lines().count() < 45, "{short}");
    assert!(options(&long) > options(&short) && options(&long) <= 34, "{long}");
    let hidden = options(&long) - options(&short);
    assert!(short.contains(&format!("`lockstep run --help` has {hidden} more options")), "{short}");
    assert!(!long.contains("more options"), "{long}");
}

#[test]
fn each_command_says_which_clusters_it_takes() {
    let line = |command: &str| {
        let (help, _) = lockstep(&[command, "-h"], &[]);
        help.lines().find(|line| line.contains("--cluster ")).unwrap_or_default().to_owned()
    };
    for command in ["run", "faults", "handover", "replay"] {
        assert!(line(command).contains("[default: sim]"), "{}", line(command));
    }
    for command in ["compare", "record"] {
        assert!(line(command).contains("[default: control-plane]"), "{}", line(command));
    }
    assert!(line("bless").contains("control-plane, or sim with --preview"), "{}", line("bless"));
    for command in ["fuzz", "explore"] {
        let (help, _) = lockstep(&[command, "--help"], &[]);
        assert!(!help.contains("--cluster ") && !help.contains("--kind-name"), "{help}");
    }
}

#[test]
fn lint_reports_all_errors_and_sets_the_exit_code() {
    let (_folder, area) = folder();
    let path = |name: &str| area.join(name).display().to_string();
    let (stdout, code) = lockstep(&["lint", &path("good.yaml")], &[]);
    assert_eq!((stdout.as_str(), code), ("1 rollout case: nothing is wrong\n", 0));
    let (stdout, code) = lockstep(&["lint", &area.display().to_string()], &[]);
    assert!(
        stdout.contains("stale ")
            && stdout.contains("orphaned ")
            && stdout.contains("2 rollout cases: 2 timelines unblessed, stale or orphaned"),
        "{stdout}"
    );
    assert_eq!(code, 3);
    std::fs::write(area.join("bad.yaml"), "descripton: x\nsteps:\n  - scael: 3\n").expect("writable");
    let (stdout, code) = lockstep(&["lint", &area.display().to_string()], &[("GITHUB_ACTIONS", "true")]);
    assert!(
        stdout.contains("bad.yaml:1:1") && stdout.contains("bad.yaml:3:5") && stdout.contains("did you mean `scale`?"),
        "{stdout}"
    );
    assert!(
        stdout.contains("::error file=") && stdout.contains(",line=3,col=5,title=unknown field `scael`::"),
        "{stdout}"
    );
    assert_eq!(code, 64);
    assert_eq!(lockstep(&["lint", "no/such/folder"], &[]).1, 64);
}

#[test]
fn schema_prints_the_committed_schema() {
    let (stdout, _) = lockstep(&["schema", "--reference"], &[]);
    assert!(stdout.starts_with("# Case reference\n") && stdout.ends_with('\n'), "{stdout}");
    let (stdout, code) = lockstep(&["schema"], &[]);
    let committed = include_str!("../../../cases/case.schema.json");
    assert!(stdout == committed && code == 0);
}

#[test]
fn log_in_a_file_has_no_colours() {
    let run = ["run", "recreate/three", "--cluster", "sim"];
    let output = command(&run).env("LOCKSTEP_LOG", "debug").env_remove("NO_COLOR").output().expect("it starts");
    let stderr = String::from_utf8(output.stderr).expect("text");
    assert!(stderr.contains(" DEBUG ") && !stderr.contains('\u{1b}'), "{stderr}");
}

#[rstest]
#[case(&["run", "--budget", "-5s"], "error: invalid value '-5s' for '--budget <TIME>'")]
#[case(&["run", "-j", "-1"], "error: invalid value '-1' for '--jobs <N>'")]
#[case(&["run", "--seeds", "-1"], "error: invalid value '-1' for '--seeds <N|FROM..TO>'")]
#[case(&["run", "--repeat", "-1"], "error: invalid value '-1' for '--repeat <N>'")]
#[case(&["run", "--shard", "-1/2"], "error: invalid value '-1/2' for '--shard <K/N>'")]
#[case(&["fuzz", "--for", "-5s"], "error: invalid value '-5s' for '--for <TIME>'")]
#[case(&["explain", "harness/tests/bad/replicas-negative.yaml"], "error: replicas cannot be -1")]
fn bad_value_is_named_once(#[case] words: &[&str], #[case] begins: &str) {
    let output = command(words).output().expect("it starts");
    let stderr = String::from_utf8(output.stderr).expect("text");
    assert!(output.status.code() == Some(64) && stderr.starts_with(begins), "{stderr}");
}

#[test]
fn log_level_that_cannot_be_read_is_refused() {
    let output = command(&["list"]).env("LOCKSTEP_LOG", "lockstep=loud").output().expect("it starts");
    let stderr = String::from_utf8(output.stderr).expect("text");
    assert!(output.status.code() == Some(64) && stderr.starts_with("error: LOCKSTEP_LOG: "), "{stderr}");
}

#[test]
fn filter_selects_cases_and_rejects_bad_syntax() {
    let (stdout, code) = lockstep(&["list", "-E", "area(recreate) & !label(scale)"], &[]);
    assert!(
        code == 0
            && stdout.contains("recreate/three ")
            && stdout.ends_with(" rollout cases\n")
            && !stdout.contains("recreate/scale ")
            && !stdout.contains("rolling/"),
        "{stdout}"
    );
    assert_eq!(lockstep(&["list", "-E", "aera(recreate)"], &[]).1, 64);
    assert_eq!(lockstep(&["list", "-E", "none()"], &[]).1, 4);
}

/// Days of virtual time, which take minutes of real time: the test does not wait for the end.
const ENDLESS: &str = "description: Days pass.\ngiven:\n  - deployment: {name: web, image: \"app:1\"}\n  - ready: {pods: all}\n\
                       steps:\n  - advance: 700h\n  - advance: 700h\n  - advance: 700h\n";

/// A case in virtual time never checks the clock. The cases judged before it are reported all the
/// same.
#[rstest]
#[case(Signal::INT, 130)]
#[case(Signal::TERM, 143)]
#[case(Signal::HUP, 129)]
fn signal_ends_a_case_in_virtual_time(#[case] signal: Signal, #[case] code: i32) {
    let (folder, area) = folder();
    for name in ["edited.yaml", "edited.timeline", "left-over.timeline"] {
        std::fs::remove_file(area.join(name)).expect("removable");
    }
    std::fs::write(area.join("later.yaml"), ENDLESS).expect("writable");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let temporary = folder.path().join("tmp");
    std::fs::create_dir(&temporary).expect("a folder");
    let (xml, page, evidence) = (path("junit.xml"), path("page.html"), path("evidence"));
    let arguments = ["run", &path("area"), "-j", "1", "--junit", &xml, "--html", &page, "--evidence", &evidence];
    let mut running = command(&arguments);
    running.env("TMPDIR", &temporary).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = running.spawn().expect("it starts");
    let mut out = BufReader::new(running.stdout.take().expect("piped"));
    let mut stdout = String::new();
    while !stdout.contains("area/good") {
        assert!(out.read_line(&mut stdout).expect("text") > 0, "it ended before: {stdout}");
    }
    kill_process(Pid::from_child(&running), signal).expect("it runs");
    // Under `nohup` the program ignores SIGHUP as well, and runs on until another signal.
    let runs_on = signal == Signal::HUP && ignores_hangup();
    if runs_on {
        kill_process(Pid::from_child(&running), Signal::TERM).expect("it runs");
    }
    let code = if runs_on { 143 } else { code };
    // Without signal handling a case of an hour would continue.
    out.read_to_string(&mut stdout).expect("text");
    let ended = running.wait().expect("it ends");
    assert_eq!(ended.code(), Some(code), "{stdout}");
    assert!(stdout.contains("1 conformant, 1 not played"), "{stdout}");
    let xml = std::fs::read_to_string(xml).expect("written");
    assert!(xml.contains("tests=\"1\"") && xml.contains("name=\"area/good\""), "{xml}");
    let page = std::fs::read_to_string(page).expect("written");
    assert!(page.contains("area/good") && page.contains("(interrupted: SIG"), "{page}");
    let left: Vec<_> = std::fs::read_dir(&temporary).expect("readable").collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Whether this process ignores SIGHUP, as those that it starts then do.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).expect("hexadecimal") & 1 == 1)
}

/// Without a terminal there is nothing to step through, but HTML and trace files can be written.
#[test]
fn inspect_without_a_terminal_only_writes_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let case = "cases/recreate/three.yaml";
    assert_eq!(lockstep(&["run", case, "--recordings", &path("kept")], &[]).1, 0);
    let recording = path("kept/recreate/three.ndjson");
    let (stdout, code) = stderr_of(&["inspect", &recording]);
    let why = if cfg!(feature = "terminal") { "needs a terminal" } else { "without the feature `terminal`" };
    assert!(stdout.contains(why) && stdout.contains("--html FILE") && stdout.contains("--trace FILE"), "{stdout}");
    assert_eq!(code, 64);
    let (page, trace) = (path("page.html"), path("trace.json"));
    let (stdout, code) = lockstep(&["inspect", &recording, "--html", &page, "--trace", &trace], &[]);
    assert_eq!((stdout, code), (format!("{trace}\n{page}\n"), 0));
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

    // Without the case file the recording is still shown.
    let moved =
        std::fs::read_to_string(&recording).expect("readable").replace("cases/recreate/three.yaml", "gone.yaml");
    std::fs::write(path("moved.ndjson"), moved).expect("writable");
    let (stdout, code) = stderr_of(&["inspect", &path("moved.ndjson"), "--trace", &path("moved.json")]);
    assert!(stdout.starts_with("gone.yaml is not there, so there is no golden timeline; --cases FOLDER"), "{stdout}");
    assert_eq!(code, 0);
    assert_eq!(stderr_of(&["inspect", &path("nothing.ndjson"), "--trace", &path("x.json")]).1, 64);
}

/// `lockstep list | head -1`: the reader closes the pipe early.
#[rstest]
#[case(&["explain", "cases"])]
#[case(&["run", "cases/recreate", "--output", "json"])]
#[case(&["completions", "bash"])]
fn closed_output_ends_a_command_quietly(#[case] arguments: &[&str]) {
    let mut running = command(arguments);
    running.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = running.spawn().expect("it starts");
    drop(running.stdout.take());
    let ended = running.wait_with_output().expect("it ends");
    let stdout = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(!stdout.contains("panicked") && !stdout.contains("error"), "{stdout}");
    assert_eq!(ended.status.code(), Some(141), "{stdout}");
}

#[test]
fn accepts_yml_files_and_rejects_duplicate_names() {
    let (folder, area) = folder();
    for name in ["edited.yaml", "edited.timeline", "left-over.timeline"] {
        std::fs::remove_file(area.join(name)).expect("removable");
    }
    std::fs::rename(area.join("good.yaml"), area.join("good.yml")).expect("renamed");
    let cases = folder.path().display().to_string();
    let (stdout, code) = lockstep(&["run", &cases], &[]);
    assert!(stdout.contains("area/good on ours") && code == 0, "{stdout}");
    assert_eq!(lockstep(&["lint", &cases], &[]).1, 0);

    let twin = folder.path().join("more/area");
    std::fs::create_dir_all(&twin).expect("a folder");
    std::fs::copy(area.join("good.yml"), twin.join("good.yaml")).expect("copied");
    for name in ["run", "list"] {
        let (stdout, code) = stderr_of(&[name, &cases]);
        assert!(
            stdout.contains("two cases are called area/good: ") && stdout.contains("more/area/good.yaml"),
            "{stdout}"
        );
        assert_eq!(code, 64);
    }
    let (stdout, code) = lockstep(&["lint", &cases], &[]);
    assert!(stdout.contains("two cases are called area/good: ") && code == 64, "{stdout}");
    // Their recordings would have one file.
    for name in ["two words.yaml", "two_words.yaml"] {
        std::fs::copy(area.join("good.yml"), twin.join(name)).expect("copied");
    }
    let (stderr, code) = stderr_of(&["run", &twin.display().to_string()]);
    assert!(stderr.contains("two cases are called area/two_words: ") && code == 64, "{stderr}");
    // One file with two names is one case.
    let (twice, straight) = (format!("{cases}/area/../area/good.yml"), format!("{cases}/area/good.yml"));
    let (stdout, code) = lockstep(&["run", &twice, &straight], &[]);
    assert!(stdout.contains("1 case in ") && code == 0, "{stdout}");
}

#[test]
fn judges_a_folder_of_recordings() {
    let folder = tempfile::tempdir().expect("a folder");
    let kept = folder.path().display().to_string();
    let (_, code) = lockstep(&["run", "cases/recreate", "--recordings", &kept], &[]);
    assert_eq!(code, 0);
    let (stdout, code) = lockstep(&["judge", &kept], &[]);
    let cases = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../cases/recreate")).expect("readable");
    let cases =
        cases.filter(|entry| entry.as_ref().is_ok_and(|entry| entry.path().extension().is_some_and(|e| e == "yaml")));
    assert_eq!(
        (stdout.lines().filter(|line| line.starts_with("conformant")).count(), code),
        (cases.count(), 0),
        "{stdout}"
    );
    // Reports have what was judged before a file that cannot be.
    std::fs::write(folder.path().join("recreate/zzz.ndjson"), "x").expect("writable");
    let report = folder.path().join("junit.xml").display().to_string();
    let (stderr, code) = stderr_of(&["judge", &kept, "--junit", &report]);
    assert!(stderr.contains("zzz.ndjson: the first line is not the header of a recording") && code == 64, "{stderr}");
    let report = std::fs::read_to_string(&report).expect("a report");
    assert!(report.contains("ended early, 1 case not played") && report.contains("recreate/three"), "{report}");
    let (stdout, code) = stderr_of(&["judge", &folder.path().join("recreate/none").display().to_string()]);
    assert!(stdout.contains("recreate/none") && code == 64, "{stdout}");
    let empty = tempfile::tempdir().expect("a folder");
    let (stdout, code) = stderr_of(&["judge", &empty.path().display().to_string()]);
    assert!(stdout.contains("has no recording (*.ndjson)") && code == 64, "{stdout}");
}

#[test]
fn judge_says_which_command_reads_a_live_rollout() {
    let live = "harness/tests/recordings/recreate.ndjson";
    let (stderr, code) = stderr_of(&["judge", live]);
    let why = "is of a live rollout, which has no case to be judged by; `lockstep replay";
    assert!(stderr.starts_with(&format!("error: {live} {why} {live}`")) && code == 64, "{stderr}");
}

#[test]
fn kind_that_the_server_does_not_know_is_reported_at_its_step() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("widget.yaml");
    let case = "description: x\ngiven:\n  - deployment: {name: web, image: \"app:1\"}\nsteps:\n  - scale: 2\n  - apply: {apiVersion: v1, kind: Widget, metadata: {name: x}}\n";
    std::fs::write(&path, case).expect("writable");
    let path = path.display().to_string();
    let (stdout, code) = lockstep(&["run", &path], &[]);
    let place = format!("\n  step 2  widget/x\n  {path}:6  |");
    assert!(stdout.contains(&place) && stdout.contains("does not support the resource widgets"), "{stdout}");
    assert_eq!(code, 2);
}

/// Each of these once had an unhelpful message.
#[test]
fn usage_errors_suggest_a_fix() {
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
    let run = |more: &[&str]| stderr_of(&[&["run", case], more].concat());
    let beside = |controller: &str, workload: &str| {
        let workload = format!("harness/tests/subjects/{workload}.yaml");
        let case = "cases/rolling/one-replica.yaml";
        stderr_of(&["run", case, "--beside", controller, "--workload", &workload, "--subject", "command:true"])
    };
    for ((stdout, code), why) in [
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
        (stderr_of(&["run", &at("circle.yaml")]), "is a symbolic link that points back to itself"),
        (stderr_of(&["run", &at("nowhere.yaml")]), "is a symbolic link to something that does not exist"),
        (stderr_of(&["run", &at("number.yml")]), "this is too large; from 0"),
        (stderr_of(&["coverage", &at("bin")]), "has no requirements.yaml, which lists the requirements"),
        (run(&["--beside", "ours"]), "expected upstream, upstream:VERSION such as upstream:v"),
        (run(&["--beside", "upstream:v9"]), "expected upstream, upstream:VERSION such as upstream:v"),
        (run(&["--beside", "upstream", "--subject", "command:true"]), "add --workload FILE, which says what"),
        (beside("upstream", "fleet"), "acts on Deployments, and --workload describes fleets"),
        (beside("upstream:./none", "shared"), "kube-controller-manager does not exist: ./none"),
        (beside("upstream:v1.98.7", "shared"), "`scripts/fetch controller-manager v1.98.7` downloads or builds it"),
        (
            stderr_of(&["handover", case, "--from", "ours", "--to", "ours", "--beside", "upstream"]),
            "is not for `handover`: two controllers run there already",
        ),
        (run(&["--cluster", "minikube"]), "[possible values: sim, control-plane, containers, kind, kubeconfig]"),
    ] {
        assert!(stdout.contains(why) && code == 64, "no `{why}` in ({code})\n{stdout}");
    }
}

#[test]
fn fault_at_an_event_that_never_comes_proves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let case = folder.path().join("case.yaml");
    let play = |event: u32| {
        let fault = format!("fault: {{watch: replicasets, event: {event}, action: repeat}}");
        let text = format!(
            "description: x\nexpectation: rules\nrules: {{always: [\"replicaSets.size() < 2\"]}}\ngiven:\n  - deployment: {{name: web, replicas: 1, image: x}}\nsteps:\n  - scale: 2\n    {fault}\n"
        );
        std::fs::write(&case, text).expect("writable");
        lockstep(&["run", &case.display().to_string()], &[])
    };
    assert_eq!(play(1).1, 0);
    let (stdout, code) = play(99);
    assert!(stdout.contains("there never was event 99 of replicasets"), "{stdout}");
    assert_eq!(code, 2);
}

#[test]
fn explore_runs_each_order_and_counts_outcomes() {
    let folder = tempfile::tempdir().expect("a folder");
    let case = folder.path().join("case.yaml");
    let text = "description: x\ngiven:\n  - deployment: {name: web, replicas: 0, image: x}\nsteps:\n  - scale: 1\n";
    std::fs::write(&case, text).expect("writable");
    let (stdout, code) = lockstep(&["explore", &case.display().to_string()], &[]);
    assert_eq!(code, 0, "{stdout}");
    let count = |what: &str| {
        let before = stdout.split_once(what).map(|(before, _)| before).unwrap_or_default();
        before.rsplit(' ').next().and_then(|number| number.parse::<u32>().ok()).unwrap_or_default()
    };
    let (orders, plays) = (count(" orders in "), count(" plays, "));
    assert!(orders > 5 && plays > orders, "{stdout}");
    assert!(stdout.contains("; 1 outcome,"), "nothing is to be decided twice: {stdout}");
    let (stdout, code) = lockstep(&["explore", &case.display().to_string(), "--max-orders", "3"], &[]);
    assert!(stdout.contains(" in 3 plays, ") && stdout.contains("not all of them"), "{stdout}");
    assert_eq!(code, 2, "an order that was not played proves nothing: {stdout}");
}

/// Two shards explore one case each; merged, they equal a single run.
#[test]
fn merges_shards_of_an_exploration() {
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
    let outcomes =
        |stdout: &str| stdout.lines().filter(|line| line.contains(" of the server, ")).map(cut).collect::<Vec<_>>();
    fn cut(line: &str) -> String {
        line.rsplit_once(", ").expect("seconds come last").0.to_owned()
    }
    let (whole, code) = lockstep(&["explore", &cases], &[]);
    assert_eq!((outcomes(&whole).len(), code), (2, 0), "{whole}");
    for shard in ["2/2", "1/2"] {
        let (stdout, code) = lockstep(&["explore", &cases, "--shard", shard, "--results", &results], &[]);
        assert_eq!((outcomes(&stdout).len(), code), (1, 0), "{stdout}");
    }
    let (merged, code) = lockstep(&["merge", &results], &[]);
    assert_eq!((outcomes(&merged), code), (outcomes(&whole), 0), "{merged}");
}

#[test]
fn completes_cluster_names() {
    let (stdout, code) = lockstep(&["completions", "bash"], &[]);
    assert!(stdout.contains("sim control-plane containers kind kubeconfig") && code == 0);
}

/// Outside of a cargo project, failures are stored in the user's state folder.
#[test]
fn stores_failures_in_the_users_state_folder() {
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
    // An invalid or missing home folder does not prevent judging.
    let nowhere = |command: &mut Command| {
        command.env("HOME", "/dev/null");
    };
    assert_eq!(played(&nowhere), Some(1));
    let without = command(&["list", "cases/recreate"]).env_remove("XDG_STATE_HOME").env_remove("HOME").output();
    assert_eq!(without.expect("it starts").status.code(), Some(0));
}

/// Without an upstream build only the invariants are checked, and a line says how to build it.
#[test]
fn search_does_not_build_upstream() {
    let folder = tempfile::tempdir().expect("a folder");
    let found = folder.path().join("found").display().to_string();
    let search = |more: &[&str]| {
        let arguments = [&["fuzz", "--programs", "2", "--out", &found], more].concat();
        let output = command(&arguments).env("LOCKSTEP_CACHE", folder.path()).env_remove("LOCKSTEP_BIN").output();
        let output = output.expect("it starts");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        (text(output.stdout), without_counts(&text(output.stderr)), output.status.code())
    };
    let (stdout, stderr, code) = search(&[]);
    assert_eq!((stdout.as_str(), code), ("no difference in 2 programs\n", Some(0)), "{stderr}");
    assert!(
        stderr.starts_with("the invariants alone are checked: ") && stderr.contains("scripts/fetch virtual"),
        "{stderr}"
    );
    assert_eq!(search(&["--against", "none"]), (stdout, String::new(), Some(0)));
    assert_eq!(std::fs::read_dir(folder.path()).expect("readable").count(), 0, "nothing was built");
}

/// The summary has what was tried before the signal, including the current case.
#[test]
fn signal_ends_faults_with_a_summary() {
    let (_folder, area) = folder();
    for name in ["edited.yaml", "edited.timeline", "left-over.timeline"] {
        std::fs::remove_file(area.join(name)).expect("removable");
    }
    std::fs::write(area.join("later.yaml"), ENDLESS).expect("writable");
    let mut running = command(&["faults", &area.display().to_string(), "-j", "1", "--max-points", "3"]);
    let mut running = running.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut out = BufReader::new(running.stdout.take().expect("piped"));
    let mut stdout = String::new();
    while !stdout.contains("area/good") {
        assert!(out.read_line(&mut stdout).expect("text") > 0, "it ended before: {stdout}");
    }
    kill_process(Pid::from_child(&running), Signal::INT).expect("it runs");
    out.read_to_string(&mut stdout).expect("text");
    assert_eq!(running.wait().expect("it ends").code(), Some(130), "{stdout}");
    assert!(stdout.contains("3 of ") && stdout.contains("not reached") && !stdout.contains("failed:"), "{stdout}");
}

/// The command that `cluster up` prints stops that cluster.
#[test]
fn printed_down_command_stops_the_cluster() {
    let folder = tempfile::Builder::new().prefix("ls").tempdir_in("/tmp").expect("a folder");
    let run = |arguments: &[&str]| {
        let output = command(arguments).env("TMPDIR", folder.path()).output().expect("it starts");
        (String::from_utf8_lossy(&output.stderr).into_owned(), output.status.code())
    };
    let (stdout, code) = run(&["cluster", "up", "--cluster", "sim"]);
    assert_eq!(code, Some(0), "{stdout}");
    let named = stdout.split('`').find(|words| words.contains(" cluster down")).expect("it is named").to_owned();
    let words: Vec<&str> = named.split_whitespace().skip_while(|word| *word != "cluster").collect();
    let (ended, code) = run(&words);
    // Clean up even if the printed command was wrong.
    run(&["cluster", "down", "--cluster", "sim"]);
    assert!(ended.contains("the sim cluster is down") && code == Some(0), "{named}: {ended}");
}
