//! What a run writes: files, annotations, and evidence of failures.

use super::commands::{command, folder, lockstep, stderr_of};

/// A correct controller and a wrong timeline: every report of the failure, and the commands to
/// repeat it.
#[test]
fn failure_appears_in_every_requested_report() {
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
    let arguments = ["run", &cases, "--cluster", "sim", "--html", &page, "--junit", &xml, "--evidence", &evidence];
    let job = [environment[0], ("GITHUB_ACTIONS", "true"), ("GITHUB_STEP_SUMMARY", summary.as_str())];
    let (stdout, code) = lockstep(&arguments, &job);
    assert_eq!(code, 1, "{stdout}");
    assert!(stdout.contains("expected, settled") && stdout.contains("rs1 3 -> 0 instead of rs1 3 -> 1"), "{stdout}");
    let annotation = format!("::error file={cases}/wrong.yaml,line=8,title=area/wrong%3A non-conformant%3A step 1");
    assert!(stdout.contains(&annotation), "no {annotation} in\n{stdout}");
    let (xml, page, summary) = (read("junit.xml"), read("page.html"), read("summary.md"));
    assert!(xml.contains("tests=\"2\"") && xml.contains("failures=\"1\"") && xml.contains("rs1 3 -&gt; 1"), "{xml}");
    assert!(page.contains("first wrong step") && page.matches("<section").count() == 2);
    let row =
        "| area/wrong | ours | non-conformant | 8 | step 1 (set image=app:2): rs1 3 -&gt; 0 instead of rs1 3 -&gt; 1 |";
    assert!(summary.contains("### Lockstep: 1 of 2 not conformant") && summary.contains(row), "{summary}");
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

    let (stdout, code) = lockstep(&["run", &cases, "--cluster", "sim", "--rerun-failed"], &environment);
    assert!(stdout.contains("1 case in ") && stdout.contains("area/wrong") && code == 1, "{stdout}");
    std::fs::write(area.join("wrong.timeline"), &timeline).expect("writable");
    let (stdout, code) = lockstep(&["run", &cases, "--cluster", "sim", "--rerun-failed"], &environment);
    assert!(stdout.contains("1 conformant") && code == 0, "{stdout}");
    let (_, code) = lockstep(&["run", &cases, "--cluster", "sim", "--rerun-failed"], &environment);
    assert_eq!(code, 4, "nothing is left that failed");
}

#[test]
fn reports_that_share_a_path_are_refused_before_any_play() {
    let folder = tempfile::tempdir().expect("a folder");
    let [page, evidence] = ["out", "./out"].map(|name| folder.path().join(name).display().to_string());
    let (stderr, code) = stderr_of(&["run", "recreate/three", "--html", &page, "--evidence", &evidence]);
    assert!(stderr.contains("--html and --evidence are both ") && code == 64, "{stderr}");
    assert_eq!(folder.path().read_dir().expect("readable").count(), 0);
}

/// No report of a run without a judgement looks like one of a run without a failure.
#[test]
fn run_that_ends_early_says_so_in_every_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("written");
    let cases = ["run", "recreate/three", "recreate/scale", "--cluster", "sim", "--subject", "command:true"];
    let (page, xml, summary) = (path("page.html"), path("junit.xml"), path("summary.md"));
    let arguments = [&cases[..], &["--html", &page, "--junit", &xml]].concat();
    let job = [("GITHUB_ACTIONS", "true"), ("GITHUB_STEP_SUMMARY", summary.as_str())];
    let (stdout, code) = lockstep(&arguments, &job);
    let (title, error) = ("ended early, 2 cases not played", "exited after each of 3 starts");
    assert_eq!(code, 1, "{stdout}");
    assert!(stdout.contains(&format!("::error title=the run {}::", title.replace(',', "%2C"))), "{stdout}");
    assert!(stdout.lines().any(|line| line.starts_with("::error") && line.contains(error)), "{stdout}");
    let (xml, page, summary) = (read("junit.xml"), read("page.html"), read("summary.md"));
    assert!(xml.contains("tests=\"1\"") && xml.contains("errors=\"1\""), "{xml}");
    assert!(xml.contains(title) && xml.contains(error), "{xml}");
    assert!(page.contains(&format!("command:true ({title})</h1>")) && page.contains(error), "{page}");
    assert!(summary.starts_with(&format!("### Lockstep: 0 conformant, then {title}\n")), "{summary}");
    assert!(summary.contains(error), "{summary}");
    let (stdout, code) = lockstep(&[&cases[..], &["--output", "json"]].concat(), &[]);
    let line: serde_json::Value = serde_json::from_str(stdout.trim_end()).expect("one line of JSON");
    assert_eq!((code, &line["exitCode"], &line["notPlayed"]), (1, &1.into(), &2.into()));
    assert!(line["error"].as_str().is_some_and(|text| text.contains(error)), "{line}");
}

/// A controller that differs where upstream looks mistaken may be right.
#[test]
fn every_report_of_a_failure_names_the_quirk_that_its_case_pins() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("written");
    let run = ["run", "cases/recreate/two-active-replicasets.yaml", "--subject", "ours:fixed"];
    let (page, xml, evidence, results) = (path("page.html"), path("junit.xml"), path("evidence"), path("results"));
    let files = ["--html", &page, "--junit", &xml, "--evidence", &evidence, "--results", &results];
    let (stdout, code) = lockstep(&[&run[..], &files].concat(), &[]);
    let quirk = "it looks like a mistake, but is what upstream does: A Recreate ";
    assert!(stdout.contains(&format!("\n  quirk:  {quirk}")) && code == 1, "{stdout}");
    let kept = "evidence/ours_fixed/recreate/two-active-replicasets";
    let texts = ["page.html", "junit.xml", &format!("{kept}/report.txt"), &format!("{kept}/page.html")].map(read);
    texts.iter().for_each(|text| assert!(text.contains(quirk), "{text}"));
    let files: Vec<_> = std::fs::read_dir(&results).expect("written").collect();
    let result = std::fs::read_to_string(files[0].as_ref().expect("readable").path()).expect("written");
    let (line, _) = lockstep(&[&run[..], &["--output", "json"]].concat(), &[]);
    for text in [result, line] {
        assert!(text.contains("\"quirks\":[\"A Recreate "), "{text}");
    }
}

#[test]
fn evidence_of_each_round_is_kept() {
    let (folder, area) = folder();
    let case = area.join("wrong.yaml");
    let timeline = std::fs::read_to_string(area.join("good.timeline")).expect("readable");
    std::fs::copy(area.join("good.yaml"), &case).expect("copied");
    std::fs::write(area.join("wrong.timeline"), timeline.replace("rs1 3 -> 0", "rs1 3 -> 1")).expect("writable");
    let (case, evidence) = (case.display().to_string(), folder.path().join("evidence"));
    let arguments = ["run", &case, "--seeds", "1..2", "--repeat", "2", "--evidence", &evidence.display().to_string()];
    assert_eq!(lockstep(&arguments, &[]).1, 1);
    for (time, seed) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
        let about = evidence.join(format!("ours/{time}/seed-{seed}/area/wrong/about.json"));
        let about = std::fs::read_to_string(&about).unwrap_or_else(|error| panic!("{}: {error}", about.display()));
        assert!(about.contains(&format!("\"seed\": {seed}")), "{about}");
    }
}

#[test]
fn reports_unwritable_output_before_running() {
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
        let stdout = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(stdout.starts_with(&format!("error: {flag}: ")) && stdout.contains(why), "{stdout}");
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(64), [].as_slice()));
    }
    assert_eq!(stderr_of(&["record", case, "--cluster", "sim", "--subject", "ours", "--out", &path("file")]).1, 64);
    assert_eq!(stderr_of(&["faults", case, "--out", &path("file")]).1, 64);
}

/// A file in the place of a folder fails as a full disk does: when the run has begun.
#[test]
fn run_goes_on_when_evidence_and_recordings_cannot_be_written() {
    let (folder, area) = folder();
    std::fs::remove_file(area.join("good.timeline")).expect("removable");
    std::fs::copy(area.join("good.yaml"), area.join("new.yaml")).expect("copied");
    std::fs::create_dir(folder.path().join("kept")).expect("a folder");
    for name in ["kept/ours", "kept/area"] {
        std::fs::write(folder.path().join(name), "").expect("writable");
    }
    let kept = folder.path().join("kept").display().to_string();
    let cases = ["good.yaml", "new.yaml"].map(|name| area.join(name).display().to_string());
    let run = |option: &str, cases: &[String]| {
        let output = command(&["run", option, &kept]).args(cases).output().expect("it starts");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        (text(output.stdout), text(output.stderr), output.status.code())
    };
    let (stdout, stderr, code) = run("--evidence", &cases);
    assert!(stdout.contains("2 cases in ") && stdout.contains(" s: 2 unblessed\n"), "{stdout}");
    for name in ["area/good", "area/new"] {
        assert!(stderr.contains(&format!("error: the evidence of {name} is incomplete: ")), "{stderr}");
    }
    assert_eq!(code, Some(3));
    let (stdout, stderr, code) = run("--recordings", &["cases/recreate/three.yaml".to_owned(), cases[0].clone()]);
    assert!(stdout.contains(" s: 1 conformant, 1 unblessed\n"), "{stdout}");
    assert!(stderr.contains("error: the recording of area/good is lost: "), "{stderr}");
    assert!(folder.path().join("kept/recreate/three.ndjson").is_file());
    assert_eq!(code, Some(2), "a run without a recording that it was to keep does not succeed");
}

#[test]
fn report_that_cannot_be_written_does_not_prevent_the_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let run = ["run", "cases/recreate/three.yaml"];
    let summary = path("");
    let (stdout, code) = lockstep(&run, &[("GITHUB_ACTIONS", "true"), ("GITHUB_STEP_SUMMARY", summary.as_str())]);
    assert!(stdout.contains(" s: 1 conformant\n") && code == 0, "{stdout}");
    let (stdout, code) = lockstep(&[&run[..], &["--html", "/dev/full", "--junit", &path("junit.xml")]].concat(), &[]);
    assert!(stdout.contains(" s: 1 conformant\n") && code != 0, "{stdout}");
    assert!(std::fs::read_to_string(path("junit.xml")).expect("written").contains("tests=\"1\""));
}

#[test]
fn output_that_would_replace_an_input_is_refused() {
    let (folder, area) = folder();
    let case = area.join("good.yaml").display().to_string();
    let kept = folder.path().join("kept");
    assert_eq!(lockstep(&["run", &case, "--recordings", &kept.display().to_string()], &[]).1, 0);
    let recording = kept.join("area/good.ndjson").display().to_string();
    let commands: [&[&str]; 7] = [
        &["run", &case, "--junit", &case],
        &["compare", &case, "--subject", "ours", "--subject", "ours:fixed", "--html", &case],
        &["explain", &case, "--svg", &case],
        &["inspect", &recording, "--html", &recording],
        &["case", &recording, "-o", &recording],
        &["replay", &recording, "--subject", "ours", "--out", &recording],
        &["judge", &recording, "--html", &recording],
    ];
    for words in commands {
        let input = words[1];
        let before = std::fs::read(input).expect("readable");
        let (stderr, code) = stderr_of(words);
        assert!(stderr.contains(&format!("{input} is a file that this command reads")) && code == 64, "{stderr}");
        assert!(std::fs::read(input).expect("readable") == before, "{words:?}");
    }
}
