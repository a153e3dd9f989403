//! Sharded runs: `lockstep merge` reports the same as a single run.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rstest::rstest;
use serde_json::Value;

/// A folder for results, and one with cases: three conformant, one non-conformant, one unblessed.
struct Campaign {
    folder: tempfile::TempDir,
}

/// The output of a command.
struct RunOutput {
    stdout: String,
    stderr: String,
    code: i32,
}

impl Campaign {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let area = folder.path().join("cases/recreate");
        std::fs::create_dir_all(&area).expect("a folder in it");
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cases/recreate");
        let text = |name: &str| std::fs::read_to_string(root.join(name)).expect("readable");
        let (case, timeline) = (text("three.yaml"), text("three.timeline"));
        let write = |name: &str, text: &str| std::fs::write(area.join(name), text).expect("writable");
        for name in ["a", "b", "c", "d", "e"] {
            write(&format!("{name}.yaml"), &case);
            write(&format!("{name}.timeline"), &timeline);
        }
        write("d.timeline", &timeline.replace("3 -> 0", "3 -> 1"));
        write("e.yaml", &case.replace("app:2", "app:3"));
        Self { folder }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lockstep"));
        command.current_dir(self.folder.path()).args(arguments).env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"));
        for name in ["GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "CI", "JOB_COMPLETION_INDEX"] {
            command.env_remove(name);
        }
        command
    }

    fn lockstep(&self, arguments: &[&str], environment: &[(&str, &str)]) -> RunOutput {
        let output = self.command(arguments).envs(environment.iter().copied()).output().expect("it starts");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        let code = output.status.code().expect("it ends by itself");
        RunOutput { stdout: text(output.stdout), stderr: text(output.stderr), code }
    }

    /// Runs three shards and one whole run; returns the last lines and exit codes of both.
    fn shards_and_single_run(&self, words: &[&str]) -> [(Vec<String>, i32); 2] {
        let with = |more: &[&str], environment: &[(&str, &str)]| {
            let words: Vec<&str> = words.iter().chain(more).copied().collect();
            self.lockstep(&words, environment)
        };
        with(&["--shard", "2/3", "--results", "out"], &[]);
        with(&["--shard", "1/3", "--results", "out"], &[]);
        with(&["--shard", "job/3", "--results", "out"], &[("JOB_COMPLETION_INDEX", "2")]);
        let one = with(&["--results", "one"], &[]);
        let merged = self.lockstep(&["merge", "out"], &[]);
        let lines = |output: &RunOutput| output.stdout.lines().map(without_time).collect::<Vec<_>>();
        let (merged_lines, mut lines_of_one) = (lines(&merged), lines(&one));
        assert!(!merged_lines.is_empty(), "{}", merged.stderr);
        lines_of_one.drain(..lines_of_one.len() - merged_lines.len());
        [(merged_lines, merged.code), (lines_of_one, one.code)]
    }

    /// The results in a folder as objects, without what differs between runs.
    fn objects(&self, folder: &str) -> Vec<Value> {
        let stdout = self.lockstep(&["merge", folder, "--output", "json"], &[]).stdout;
        let object = |line: &str| {
            let mut value: Value = serde_json::from_str(line).expect("JSON");
            if let Some(metrics) = value.get_mut("metrics").and_then(Value::as_object_mut) {
                metrics.remove("wallMilliseconds");
                metrics.remove("settlingMilliseconds");
            }
            value
        };
        stdout.lines().map(object).collect()
    }
}

/// Removes the duration of `5 cases in 0.2 s: …`.
fn without_time(line: &str) -> String {
    match line.split_once(" in ") {
        Some((cases, rest)) if cases.ends_with(" cases") || cases == "1 case" => {
            format!("{cases}:{}", rest.split_once(" s:").map_or(rest, |(_, rest)| rest))
        }
        _ => line.to_owned(),
    }
}

#[rstest]
#[case::once(&["run", "-j", "1"])]
#[case::with_seeds(&["run", "cases/recreate/a.yaml", "cases/recreate/d.yaml", "-j", "1", "--seeds", "1..3"])]
#[case::twice(&["run", "cases/recreate/a.yaml", "cases/recreate/d.yaml", "-j", "1", "--repeat", "2"])]
#[case::two_subjects(&["run", "-j", "1", "--subject", "ours", "--subject", "ours:fixed"])]
#[case::faults(&["faults", "cases/recreate/a.yaml", "cases/recreate/b.yaml", "--only", "crash", "--max-points", "3"])]
fn merged_shards_equal_one_run(#[case] words: &[&str]) {
    let campaign = Campaign::new();
    let [merged, one] = campaign.shards_and_single_run(words);
    assert_eq!(merged, one);
    let objects = campaign.objects("out");
    assert_eq!(objects, campaign.objects("one"));
    let items: Vec<u64> = objects.iter().map(|object| object["item"].as_u64().expect("a number")).collect();
    assert_eq!(items, (0..objects.len() as u64).collect::<Vec<_>>(), "nothing is lost, and nothing is there twice");
    if words[0] == "run" {
        assert_eq!(merged.1, 1);
        assert!(merged.0.iter().any(|line| line.contains("non-conformant  recreate/d")), "{merged:?}");
    }
}

/// A killed shard writes no results. The others are merged, and the missing shard is named.
#[test]
fn killed_shard_writes_no_results() {
    let campaign = Campaign::new();
    let shard = |shard: &'static str, seeds: &'static str| {
        ["run", "cases/recreate/a.yaml", "--seeds", seeds, "--shard", shard, "--results", "out"]
    };
    let many = "1..20000";
    let mut child = campaign.command(&shard("1/2", many)).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1_500));
    assert!(child.try_wait().expect("asked").is_none(), "it was to be killed while it works");
    child.kill().expect("killed");
    child.wait().expect("gone");
    let left = std::fs::read_dir(campaign.at("out")).map_or(0, Iterator::count);
    assert_eq!(left, 0, "something half is left");

    let few = "1..10";
    assert_eq!(campaign.lockstep(&shard("2/2", few), &[]).code, 0);
    let merged = campaign.lockstep(&["merge", "out"], &[]);
    let missing = "shard 1/2 is missing; play it: ";
    assert!(merged.stdout.contains(missing) && merged.stdout.trim_end().ends_with("--shard 1/2 --results FOLDER"));
    assert_eq!(merged.code, 2, "{}", merged.stdout);
    assert_eq!(campaign.lockstep(&shard("1/2", few), &[]).code, 0);
    assert_eq!(campaign.lockstep(&["merge", "out"], &[]).code, 0);
}

#[test]
fn merge_refuses_results_of_different_runs() {
    let campaign = Campaign::new();
    let shard = |shard: &str, seed: &str, folder: &str| {
        let words = ["run", "--shard", shard, "--seeds", seed, "--results", folder];
        campaign.lockstep(&words, &[]);
    };
    shard("1/2", "1", "out");
    shard("2/2", "2", "out");
    let merged = campaign.lockstep(&["merge", "out"], &[]);
    let why = "are of different runs: the command line is `--seeds 1` in the first and `--seeds 2` in the second";
    assert!(merged.stderr.contains(why) && merged.code == 64, "{}", merged.stderr);
    shard("2/2", "1", "out");
    shard("2/2", "1", "again");
    let merged = campaign.lockstep(&["merge", "out", "again"], &[]);
    assert!(merged.stderr.contains("repeats another file; it counts once") && merged.code == 1, "{}", merged.stderr);
    // The same case with another verdict.
    let path = campaign.at("again/run-2-of-2.shard.ndjson");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen("\"exitCode\":0", "\"exitCode\":2", 1)).unwrap();
    let merged = campaign.lockstep(&["merge", "out", "again"], &[]);
    assert!(merged.stderr.contains("contradict each other") && merged.code == 64, "{}", merged.stderr);
    let merged = campaign.lockstep(&["merge", "cases"], &[]);
    assert!(merged.stderr.contains("has no results of a shard") && merged.code == 64, "{}", merged.stderr);
}

/// A results file is untrusted: a pull request's job may have written it.
#[rstest]
#[case::people(&["merge", "out"])]
#[case::machines(&["merge", "out", "--output", "json"])]
fn texts_of_results_are_escaped(#[case] words: &[&str]) {
    let campaign = Campaign::new();
    campaign.lockstep(&["run", "--shard", "1/2", "--results", "out"], &[]);
    let path = campaign.at("out/run-1-of-2.shard.ndjson");
    let text = std::fs::read_to_string(&path).unwrap();
    let bad = r"\u001b]0;title\u0007\n::error::forged\n##[error]forged\u009b2J\u202e";
    let bad_lines: Vec<String> = text
        .lines()
        .map(|line| {
            let mut value: Value = serde_json::from_str(line).unwrap();
            corrupt(&mut value);
            value.to_string().replace("BAD", bad)
        })
        .collect();
    std::fs::write(&path, bad_lines.join("\n") + "\n").unwrap();
    let merged = campaign.lockstep(words, &[]);
    assert_eq!(merged.code, 2, "{}", merged.stderr);
    for printed in [&merged.stdout, &merged.stderr] {
        assert!(!printed.contains(|letter: char| letter.is_control() && letter != '\n'), "{printed:?}");
        assert!(!printed.contains('\u{202e}') && !printed.contains("##["), "{printed:?}");
        assert!(!printed.lines().any(|line| line.trim_start().starts_with("::error::")), "{printed:?}");
    }
    assert!(merged.stdout.contains("forged"), "{}", merged.stdout);
}

/// Writes `BAD` into every text that is not a fact of the run.
fn corrupt(value: &mut Value) {
    match value {
        Value::String(text) => text.push_str("BAD"),
        Value::Array(all) => all.iter_mut().for_each(corrupt),
        Value::Object(all) => {
            let facts = ["shard", "lockstep", "command", "selection", "digest", "timeline"];
            all.iter_mut().filter(|(key, _)| !facts.contains(&key.as_str())).for_each(|(_, value)| corrupt(value));
        }
        _ => {}
    }
}

#[rstest]
#[case::endless("\"seconds\":", "\"seconds\":1e300,\"was\":", "`seconds` is 1e300: expected 0 to 1e9")]
#[case::negative("\"seconds\":", "\"seconds\":-1,\"was\":", "`seconds` is -1e0: expected 0 to 1e9")]
#[case::shards("\"shard\":\"1/2\"", "\"shard\":\"1/4000000000\"", "how many there are, at most 10000")]
#[case::left("\"left\":0", "\"left\":18446744073709551615", "a shard has at most 10000000 items")]
#[case::ended("\"endedBetween\":0", "\"endedBetween\":18446744073709551615", "a shard has at most 10000000 items")]
#[case::nearest("\"nearest\":null", "\"nearest\":{\"number\":0},\"upstream\":[\"1 of 1\"]", "")]
fn refuses_out_of_range_numbers(#[case] from: &str, #[case] to: &str, #[case] why: &str) {
    let campaign = Campaign::new();
    campaign.lockstep(&["run", "--shard", "1/2", "--results", "out"], &[]);
    let path = campaign.at("out/run-1-of-2.shard.ndjson");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{from} in {text}");
    std::fs::write(&path, text.replace(from, to)).unwrap();
    let merged = campaign.lockstep(&["merge", "out"], &[]);
    let expected = if why.is_empty() { 2 } else { 64 };
    assert!(merged.stderr.contains(why) && merged.code == expected, "{} {}", merged.code, merged.stderr);
}

/// A subject that ends between two cases fails the run, and is not counted as one of them.
#[test]
fn end_between_two_cases_fails_the_run_without_being_a_case() {
    let campaign = Campaign::new();
    campaign.lockstep(&["run", "cases/recreate/a.yaml", "cases/recreate/b.yaml", "--results", "out"], &[]);
    let path = campaign.at("out/run-1-of-1.shard.ndjson");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"endedBetween\":0", "\"endedBetween\":1")).unwrap();
    let merged = campaign.lockstep(&["merge", "out"], &[]);
    let line = "s: 2 conformant; the subject ended between two cases once, which is non-conformant\n";
    assert!(merged.stdout.contains("2 cases in ") && merged.stdout.contains(line), "{}", merged.stdout);
    assert_eq!(merged.code, 1, "{}", merged.stderr);
}

/// A case that declares a fault is played with it, which `--only` may leave out.
#[rstest]
#[case::write("{write: 1, of: replicasets, side: before, action: {delay: 300ms}}", "delay")]
#[case::watch("{watch: pods, event: 1, action: expire}", "expire")]
#[case::crash("{write: 1, of: replicasets, side: before, action: crash}", "crash-before")]
fn fault_of_a_case_has_its_own_kind(#[case] fault: &str, #[case] kind: &str) {
    let campaign = Campaign::new();
    let path = campaign.at("cases/recreate/a.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    let line = "  - set: {image: \"app:2\"}\n";
    std::fs::write(&path, text.replacen(line, &format!("{line}    fault: {fault}\n"), 1)).unwrap();
    let faults = |only: &[&str]| campaign.lockstep(&[&["faults", "cases/recreate/a.yaml"], only].concat(), &[]);
    let all = faults(&[]);
    let row = |output: &RunOutput| output.stdout.lines().find(|line| line.starts_with(kind)).map(str::to_owned);
    assert!(row(&all).is_some_and(|row| row.split_whitespace().nth(1) == Some("1")), "{}{}", all.stdout, all.stderr);
    let others = faults(&["--only", "lost"]);
    assert!(row(&others).is_none() && others.stdout.contains("0 of 0 points tried"), "{}", others.stdout);
}

/// To have tried nothing proves nothing, in one run and in merged shards.
#[rstest]
#[case::no_points(&["faults", "cases/recreate/a.yaml", "--max-points", "0"], "no fault was tried")]
#[case::no_time(&["faults", "cases/recreate/a.yaml", "--for", "0s"], "no fault was tried")]
#[case::no_programs(&["fuzz", "--against", "none", "--programs", "0"], "no program was judged")]
#[case::no_time_for_programs(&["fuzz", "--against", "none", "--for", "0s"], "no program was judged")]
fn run_that_tried_nothing_is_inconclusive(#[case] words: &[&str], #[case] line: &str) {
    let campaign = Campaign::new();
    let ran = campaign.lockstep(&[words, &["--results", "out"]].concat(), &[]);
    assert!((ran.stdout.clone() + &ran.stderr).contains(line) && ran.code == 2, "{}\n{}", ran.stdout, ran.stderr);
    let merged = campaign.lockstep(&["merge", "out"], &[]);
    assert!(merged.stdout.contains(line) && merged.code == 2, "{}\n{}", merged.stdout, merged.stderr);
}

/// Both compare with what the subject does by itself, which may be wrong already.
#[rstest]
#[case::faults(&["faults", "--max-points", "1"], "without a fault ours did not do what the case expects")]
#[case::explore(&["explore", "--max-orders", "2"], "no order of events gives upstream's golden timeline")]
fn subject_that_is_wrong_by_itself_is_reported(#[case] words: &[&str], #[case] line: &str) {
    for (case, is_wrong) in [("cases/recreate/a.yaml", false), ("cases/recreate/d.yaml", true)] {
        let ran = Campaign::new().lockstep(&[words, &[case]].concat(), &[]);
        let said = (ran.stdout.clone() + &ran.stderr).contains(line);
        assert_eq!(said, is_wrong, "{case}: {}\n{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn handover_that_tried_nothing_is_inconclusive() {
    let words = ["handover", "cases/recreate/a.yaml", "--between", "ours,ours:fixed", "--cluster", "sim"];
    let ran = Campaign::new().lockstep(&[&words[..], &["--max-points", "0"]].concat(), &[]);
    assert!(ran.stderr.contains("no handover was tried") && ran.code == 2, "{}\n{}", ran.stdout, ran.stderr);
}

/// More shards than cases: an empty shard succeeds.
#[test]
fn empty_shard_succeeds() {
    let campaign = Campaign::new();
    for shard in 1..=3 {
        let words =
            ["run", "cases/recreate/a.yaml", "--shard", &format!("{shard}/3"), "--results", "out"].map(str::to_owned);
        let output = campaign.lockstep(&words.each_ref().map(String::as_str), &[]);
        assert_eq!(output.code, 0, "{}", output.stderr);
    }
    let merged = campaign.lockstep(&["merge", "out"], &[]);
    assert_eq!(
        (without_time(merged.stdout.trim_end()).as_str(), merged.code),
        ("1 case: 1 conformant", 0),
        "{}",
        merged.stdout
    );
}

#[rstest]
#[case(&["run", "--shard", "0/2"], "such as 2/8")]
#[case(&["run", "--shard", "3/2"], "such as 2/8")]
#[case(&["fuzz", "--shard", "1/4000000000", "--programs", "1"], "at most 10000")]
#[case(&["run", "--shard", "job/2"], "JOB_COMPLETION_INDEX is not set to a number")]
#[case(&["run", "--seeds", "0..18446744073709551615"], "more than 1000000 rounds of each case")]
#[case(&["run", "--seeds", "1..2000", "--repeat", "4000000000"], "more than 1000000 rounds of each case")]
#[case(&["run", "-j", "18446744073709551615"], "it must be a whole number from 1 to 1000")]
#[case(&["run", "--results", "out", "--fail-fast"], "cannot be used with")]
fn refuses_invalid_shard_arguments(#[case] words: &[&str], #[case] why: &str) {
    let output = Campaign::new().lockstep(words, &[]);
    assert!(output.stderr.contains(why) && output.code == 64, "{}", output.stderr);
}
