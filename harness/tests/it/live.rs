//! Recordings of live clusters: `record`, `case` and `replay` as users type them.

use std::path::Path;
use std::process::Command;

use lockstep_live::capture::anonymous;
use lockstep_recording::Recording;
use rstest::rstest;

/// Runs `lockstep` in the repository; returns its output and exit code.
fn lockstep(arguments: &[&str]) -> (String, i32) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let state = env!("CARGO_TARGET_TMPDIR");
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockstep"));
    let output = command.current_dir(root).args(arguments).env("XDG_STATE_HOME", state).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (said, output.status.code().expect("it ends by itself"))
}

#[rstest]
#[case::rollover("rolling/rollover", &["- set: {image: \"app:3\"}"])]
#[case::undo("undo/previous", &["- undo: web"])]
#[case::history("history/limit-2", &["- set: {image: \"app:4\"}"])]
#[case::recreate("recreate/three", &["- set: {image: \"app:2\"}", "- ready: {pods: 3}"])]
#[case::paused("pause/scale-up-in-proportion", &["- pause: web", "- scale: "])]
fn case_from_a_recording_has_the_same_timeline(#[case] name: &str, #[case] steps: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().display().to_string();
    let played =
        lockstep(&["record", &format!("cases/{name}.yaml"), "--subject", "ours", "--cluster", "sim", "--out", &out]);
    assert_eq!(played.1, 0, "{}", played.0);
    let recording = format!("{out}/{name}.ndjson");
    let (case, code) = lockstep(&["case", &recording]);
    assert_eq!(code, 0, "{case}");
    for step in steps {
        assert!(case.contains(step), "no `{step}` in\n{case}");
    }
    let (said, code) = lockstep(&["replay", &recording, "--subject", "ours"]);
    assert!(code == 0 && said.contains("no difference"), "{code}\n{said}");
}

/// Recordings of rollouts on kind, with kubelet's pods and upstream's controllers, without
/// irrelevant fields.
#[rstest]
#[case::deadline("deadline", &["- advance: {to: 12s, since: step1}", "- undo: web"])]
#[case::recreate("recreate", &["terminations: held", "{terminate: {pods: 1, of: {replicaset: rs1}}}", "- delete: pod/rs2.1"])]
#[case::annotated("annotated", &["- patch: {target: replicaset/rs2, patch: {metadata: {annotations: {deployment.kubernetes.io/revision: \"1\"}}}}"])]
#[case::quota("quota", &["kind: \"ResourceQuota\", metadata: {name: \"pods\"}, spec: {hard: {pods: \"4\"}}}", "{pods: \"1000\"}"])]
#[case::relabelled("relabelled", &["- patch: {target: replicaset/rs2, patch: {metadata: {labels: {app: \"other\"}}}}"])]
fn live_rollout_matches_upstream(#[case] name: &str, #[case] lines: &[&str]) {
    let recording = format!("harness/tests/recordings/{name}.ndjson");
    let (case, code) = lockstep(&["case", &recording]);
    assert_eq!(code, 0, "{case}");
    for line in lines {
        assert!(case.contains(line), "no `{line}` in\n{case}");
    }
    let (said, code) = lockstep(&["replay", &recording, "--subject", "ours"]);
    assert!(code == 0 && said.contains("no difference"), "{code}\n{said}");
}

/// Names and values are irrelevant: the anonymised rollouts match upstream as well.
#[rstest]
fn anonymised_rollout_matches_upstream(
    #[values("deadline", "recreate", "annotated", "quota", "relabelled")] name: &str,
) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/recordings/{name}.ndjson"));
    let file = std::io::BufReader::new(std::fs::File::open(file).expect("a recording"));
    let recording = Recording::read(file).expect("a recording");
    let path = folder.path().join("anonymous.ndjson");
    anonymous(&recording).write(std::fs::File::create(&path).expect("writable")).expect("writable");
    let (said, code) = lockstep(&["replay", &path.display().to_string(), "--subject", "ours"]);
    assert!(code == 0 && said.contains("no difference"), "{code}\n{said}");
}

/// A recording without the end of its last step cannot be compared there, which is not a
/// difference.
#[test]
fn truncated_recording_is_not_a_difference() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/recreate.ndjson");
    let whole = std::fs::read_to_string(whole).expect("a recording");
    let lines: Vec<&str> = whole.lines().filter(|line| !line.is_empty()).collect();
    // Up to the user's last write, without its effects.
    let is_unseen = |line: &&str| {
        let entry: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let object = &entry["object"]["object"];
        entry["object"]["kind"] == "Deployment"
            && object["metadata"]["generation"] != object["status"]["observedGeneration"]
    };
    let last = lines.iter().rposition(is_unseen).expect("a write of a user");
    let path = folder.path().join("cut.ndjson").display().to_string();
    std::fs::write(&path, lines[..=last].join("\n")).expect("writable");
    let (said, code) = lockstep(&["replay", &path, "--subject", "ours"]);
    let why = "the recording ends before the controllers had settled";
    assert!(code == 2 && said.matches(why).count() == 1, "{code}\n{said}");
}

/// A line that lacks its end is left out, and each command says after which line that is.
#[rstest]
#[case::without_the_last_line("\n", 1)]
#[case::in_the_middle_of_a_line("{\"object\":{\"kind\":\"Pod\",\"na", 2)]
fn cut_recording_is_reported_with_its_last_line(#[case] end: &str, #[case] left_out: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let whole = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/recreate.ndjson");
    let whole = std::fs::read_to_string(whole).expect("a recording");
    let lines: Vec<&str> = whole.lines().collect();
    let last = lines.len() - left_out;
    std::fs::write(at("cut.ndjson"), lines[..last].join("\n") + "\n" + end).expect("writable");
    let (page, out) = (at("page.html"), at("case.yaml"));
    for words in [["inspect", "--html", &page], ["case", "--out", &out]] {
        let (said, code) = lockstep(&[&words[..], &[&at("cut.ndjson")]].concat());
        let note = format!("cut.ndjson: the recording is cut off after line {last}; copy it again, or record it again");
        assert!(said.contains(&note) && code == 0, "{code} {said}");
    }
    let (said, code) = lockstep(&["case", "harness/tests/recordings/recreate.ndjson"]);
    assert!(!said.contains("cut off") && code == 0, "{said}");
}

#[test]
fn printed_replay_command_quotes_the_path() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let whole = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/recreate.ndjson");
    std::fs::copy(whole, at("my web.ndjson")).expect("writable");
    let (said, code) = lockstep(&["case", &at("my web.ndjson"), "--out", &at("case.yaml")]);
    assert!(said.contains(&format!("`lockstep replay '{}'` plays it", at("my web.ndjson"))) && code == 0, "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn replay_reports_also_if_the_case_cannot_be_written() {
    let recording = "harness/tests/recordings/recreate.ndjson";
    let (said, code) = lockstep(&["replay", recording, "--subject", "ours", "--out", "/dev/full"]);
    assert!(said.contains("no difference") && said.contains("error: /dev/full: No space left"), "{said}");
    assert_eq!(code, 64);
}

/// The report shows the write that another controller would not have made.
#[test]
fn reports_the_first_write_of_one_side_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().display().to_string();
    let case = "cases/rolling/surge-1-unavailable-0.yaml";
    lockstep(&["record", case, "--subject", "ours", "--cluster", "sim", "--out", &out]);
    let path = folder.path().join("rolling/surge-1-unavailable-0.ndjson");
    let text = std::fs::read_to_string(&path).expect("a recording");
    // As if the controller had allowed one pod more than the case does.
    let wrong = text
        .replace("\"deployment.kubernetes.io/max-replicas\":\"4\"", "\"deployment.kubernetes.io/max-replicas\":\"5\"");
    assert_ne!(text, wrong);
    std::fs::write(&path, wrong).expect("writable");
    let (said, code) = lockstep(&["replay", &path.display().to_string(), "--subject", "ours"]);
    assert!(code == 1 && said.contains("max=5"), "{code}\n{said}");
}

#[rstest]
#[case("cases/rolling/rollover.yaml", "the first line is not the header of a recording")]
#[case("no/such.ndjson", "no/such.ndjson")]
#[case("harness/tests/recordings", "harness/tests/recordings is a folder; name a recording in it")]
fn rejects_files_that_are_not_recordings(#[case] path: &str, #[case] expected: &str) {
    let (said, code) = lockstep(&["case", path]);
    assert!(code == 64 && said.contains(expected), "{code} {said}");
}

/// One step is enough to show that a controller scales and never rolls out.
#[test]
fn shrinks_a_case() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().display().to_string();
    let made = "cases/undo/previous.yaml";
    lockstep(&["record", made, "--subject", "ours", "--cluster", "sim", "--out", &out]);
    let recording = format!("{out}/undo/previous.ndjson");
    let small = format!("{out}/small.yaml");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/subjects/wrong.py");
    let other = format!("command:python3 '{}' home", script.display());
    let (said, code) = lockstep(&["replay", &recording, "--subject", "ours", "--out", &small, "--minimise", &other]);
    assert!(code == 0 && said.contains("steps are enough"), "{code}\n{said}");
    let case = std::fs::read_to_string(&small).expect("a case");
    let (_, steps) = case.split_once("steps:").expect("steps");
    assert_eq!(steps.lines().filter(|line| line.starts_with("  - ")).count(), 1, "{case}");
}
