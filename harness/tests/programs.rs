//! Subjects that are programs of somebody else, as a person judges them on the simulated cluster:
//! what lockstep gives them, and what it says of one that ends, asks for what is invalid, or never
//! connects. The programs are modes of `subjects/wrong.py`.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// What a run printed, and how it ended.
struct Ran {
    out: String,
    err: String,
    code: i32,
}

impl Ran {
    /// The judgement of each case, in order.
    fn judgements(&self) -> Vec<Value> {
        self.out.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Fails with all that was printed unless standard output has these.
    fn says(&self, parts: &[&str]) {
        for part in parts {
            assert!(self.out.contains(part), "no `{part}` in\n{}\n{}", self.out, self.err);
        }
    }
}

/// Cases of a folder, in which nothing but the name of the Deployment differs.
fn cases(deployments: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (number, name) in deployments.iter().enumerate() {
        let text = format!(
            "description: x\ngiven:\n  - deployment: {{name: {name}, replicas: 1, image: \"app:1\"}}\nsteps:\n  - scale: 2\n"
        );
        std::fs::write(folder.path().join(format!("{number}-{name}.yaml")), text).expect("writable");
    }
    folder
}

fn subject(mode: &str) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/subjects/wrong.py");
    format!("command:python3 '{}' {mode}", script.display())
}

fn lockstep(arguments: &[&str]) -> Ran {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let state = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockstep"));
    command.current_dir(root).args(arguments).env("XDG_RUNTIME_DIR", state.path()).env("XDG_STATE_HOME", state.path());
    command.env("CARGO_TARGET_DIR", state.path());
    for name in ["GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "CI"] {
        command.env_remove(name);
    }
    let output = command.output().expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    Ran { out: text(output.stdout), err: text(output.stderr), code: output.status.code().expect("it ends by itself") }
}

/// Judge a mode on cases. What a right program does in time takes no longer; what never settles
/// takes one budget a case.
fn run(deployments: &[&str], mode: &str, more: &[&str]) -> Ran {
    let never = ["invalid", "mute", "distrusts", "status-within"].contains(&mode);
    let budget = if never { "5s" } else { "20s" };
    let folder = cases(deployments);
    let path = folder.path().display().to_string();
    let subject = subject(mode);
    lockstep(&[&["run", &path, "--cluster", "sim", "--budget", budget, "--subject", &subject], more].concat())
}

/// What a judgement says went wrong.
fn messages(judgement: &Value) -> String {
    let findings = judgement["findings"].as_array().into_iter().flatten();
    findings.filter_map(|finding| finding["message"].as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_subject_that_ends_is_started_again_and_its_end_counts_once() {
    let ran = run(&["doomed", "web", "web"], "ends-on-doomed", &["--output", "json"]);
    let judged = ran.judgements();
    let ended: Vec<_> = judged.iter().map(|it| messages(it).contains("the subject ended (exit code 1)")).collect();
    assert_eq!((ended, ran.code), (vec![true, false, false], 1), "{}\n{}", ran.out, ran.err);
    assert!(messages(&judged[0]).contains("ValueError: doomed is more than"), "{}", ran.out);
    for judgement in &judged[1..] {
        assert!(judgement["metrics"]["answers"]["create"]["201"].as_u64() >= Some(1), "{judgement}");
    }
}

#[test]
fn a_subject_that_ends_at_every_start_stops_the_run() {
    let ran = run(&["web", "web"], "ends", &[]);
    assert_eq!(ran.code, 1, "{}\n{}", ran.out, ran.err);
    assert!(ran.err.contains("exited after each of 3 starts") && ran.err.contains("(exit code 3)"), "{}", ran.err);
    assert!(ran.err.contains("wrong.py starts: ends"), "{}", ran.err);
    assert!(!ran.out.contains("NON-CONFORMANT"), "{}", ran.out);
}

#[test]
fn a_subject_that_asks_for_what_is_invalid_is_told_with_the_servers_words() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let ran = run(&["web"], "invalid", &["--junit", &path("junit.xml"), "--evidence", &path("evidence")]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    ran.says(&["its requests about this case: create 422 (", "422 create replicasets (", "spec.selector"]);
    ran.says(&["it printed:", "| wrong.py starts: invalid"]);
    let junit = std::fs::read_to_string(path("junit.xml")).expect("written");
    assert!(junit.contains("422 create replicasets") && junit.contains("spec.selector"), "{junit}");
    let report = find(folder.path(), "report.txt");
    assert!(report.contains("422 create replicasets") && report.contains("wrong.py starts"), "{report}");
    // What it printed before the case, too.
    assert!(find(folder.path(), "subject.log").contains("wrong.py starts: invalid"));
}

#[test]
fn a_subject_that_never_connects_is_told_so_with_what_it_printed() {
    let ran = run(&["web"], "mute", &[]);
    ran.says(&["it never made a single request, and opened no connection", "$KUBECONFIG", "--in-cluster"]);
    ran.says(&["the namespace did not settle: the subject made no request in the 6"]);
    let said = "the subject has not served the probe";
    assert!(ran.err.contains(said) && ran.err.contains("no step settles and no case is conformant"), "{}", ran.err);
    ran.says(&["| wrong.py starts: mute", "| I am waiting for a war"]);
    assert!(ran.code == 1 && !ran.out.contains(['\u{1b}', '\u{7}']), "{:?}", ran.out);
}

/// The time that a subject takes to start is no step's, neither at first nor after it was stopped.
#[test]
fn a_subject_that_starts_slowly_is_not_blamed_for_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "description: x\ngiven:\n  - deployment: {name: web, replicas: 1, image: \"app:1\"}\n\
                steps:\n  - subject: stop\n  - scale: 2\n  - subject: start\n  - scale: 3\n";
    std::fs::write(folder.path().join("away.yaml"), text).expect("writable");
    let (path, subject) = (folder.path().display().to_string(), subject("slow 8"));
    let ran = lockstep(&["run", &path, "--budget", "5s", "--subject", &subject, "--output", "json"]);
    let judged = ran.judgements();
    let findings = judged[0]["findings"].as_array().expect("a list");
    let kinds: Vec<_> = findings.iter().filter_map(|finding| finding["kind"].as_str()).collect();
    assert!(!kinds.contains(&"unsettled") && !kinds.contains(&"trouble"), "{}\n{}", ran.out, ran.err);
    assert!(ran.err.contains("the subject started in") && !ran.err.contains("not served"), "{}", ran.err);
}

#[test]
fn a_subject_that_writes_status_with_the_object_is_told_where_it_belongs() {
    let ran = run(&["web"], "status-within", &[]);
    ran.says(&[
        "hint: the subject wrote status with the object itself: update deployments (",
        "write to the subresource",
    ]);
    ran.says(&["stayed in the wrong state: deployment/web has status.observedGeneration 0, and 1 is right"]);
    assert_eq!(ran.code, 1);
}

#[test]
fn a_subject_that_brings_more_than_was_said_is_told_the_flag() {
    let ran = run(&["web"], "both", &[]);
    let said = "the work of a ReplicaSet controller, which the cluster has here: update replicasets/status (";
    ran.says(&[said, "add --controllers deployment,replicaset"]);
}

#[test]
fn a_case_of_another_kind_is_left_out_for_a_subject_without_a_workload() {
    let named = "cases/rolling/rollout-of-argo.yaml";
    let ran = lockstep(&["run", named, "--subject", "command:true"]);
    assert!(ran.err.contains(&format!("{named} is left out: it is about a Rollout; --workload")), "{}", ran.err);
    assert_eq!(ran.code, 4, "{}", ran.err);
    let beside = lockstep(&["compare", named, "--subject", "ours", "--subject", "command:true"]);
    assert!(beside.err.contains("is left out") && beside.code == 4, "{}", beside.err);
}

#[test]
fn a_subject_that_does_not_trust_the_certificate_is_told_so() {
    let ran = run(&["web"], "distrusts", &[]);
    ran.says(&["it never made a single request", "broke off in the TLS handshake", "certificate-authority-data"]);
    assert_eq!(ran.code, 1);
}

#[test]
fn a_subject_finds_its_cluster_in_a_home_folder_of_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let evidence = folder.path().join("evidence").display().to_string();
    let ran = run(&["web"], "home 'a b' '' \"it's\"", &["--output", "json", "--evidence", &evidence]);
    let judged = ran.judgements();
    assert!(judged[0]["metrics"]["answers"]["create"]["201"].as_u64() >= Some(1), "{}\n{}", ran.out, ran.err);
    let log = find(folder.path(), "subject.log");
    let said = "arguments ('a b', '', \"it's\"); modes ['0o600', '0o700']; False";
    assert!(log.contains(said), "{log}");
    let home = log.lines().find_map(|line| line.strip_prefix("home ")).expect("it says where");
    assert!(home.contains("lockstep-") && !Path::new(home).exists(), "{home} is still there");
}

/// Where a process may not mount anything, as in most containers, that is said before anything
/// runs.
#[test]
fn a_subject_finds_what_a_pod_finds_on_request() {
    let ran = run(&["web"], "in-cluster", &["--in-cluster", "--output", "json"]);
    if ran.code == 64 {
        assert!(
            ran.err.contains("cannot mount a folder at /var/run/secrets/kubernetes.io/serviceaccount"),
            "{}",
            ran.err
        );
        assert!(ran.err.contains("run as root") && ran.out.is_empty(), "{}", ran.err);
        return;
    }
    let judged = ran.judgements();
    assert!(judged[0]["metrics"]["answers"]["create"]["201"].as_u64() >= Some(1), "{}\n{}", ran.out, ran.err);
    assert!(!Path::new("/var/run/secrets/kubernetes.io/serviceaccount").exists());
}

#[test]
fn cases_of_controllers_that_a_subject_does_not_bring_are_left_out() {
    let named = "cases/replicaset/adopt-orphan.yaml";
    let ran = lockstep(&["run", named, "--cluster", "sim", "--subject", "command:true"]);
    assert_eq!(ran.code, 4, "{}\n{}", ran.out, ran.err);
    let line = format!(
        "{named} is left out: it judges replicaset, which the subject does not bring; --controllers replicaset"
    );
    assert!(
        ran.err.contains(&line) && ran.err.contains("none of the selected cases is for command:true"),
        "{}",
        ran.err
    );
    let ran = lockstep(&["run", "cases/config-restart", "--cluster", "sim", "--subject", "command:true"]);
    assert!(ran.err.contains("of other controllers left out: --controllers"), "{}", ran.err);
    assert_eq!(ran.code, 4);
    let unclosed = lockstep(&["run", "cases", "--subject", "command:sh -c 'x"]);
    assert!(unclosed.code == 64 && unclosed.err.contains("unclosed quote"), "{}", unclosed.err);
}

/// The text of the first file of this name below a folder.
fn find(folder: &Path, name: &str) -> String {
    fn walk(folder: &Path, name: &str) -> Option<PathBuf> {
        let entries: Vec<_> = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
        let here = entries.iter().find(|path| path.file_name().is_some_and(|found| found == name)).cloned();
        here.or_else(|| entries.iter().find_map(|path| walk(path, name)))
    }
    let path = walk(folder, name).unwrap_or_else(|| panic!("no {name} below {}", folder.display()));
    std::fs::read_to_string(path).expect("readable")
}

/// The value that `wrong.py leaks` writes wherever it can.
const LEAKED: &str = "s3cr3t-of-the-case";

/// What is kept of a run is without the values of Secrets, also where a subject repeats them.
#[test]
fn values_of_secrets_are_in_nothing_that_is_kept_or_printed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::create_dir(path("area")).expect("a folder");
    let text = format!(
        "description: what {LEAKED} is for\n\
         given:\n  - apply: {{apiVersion: v1, kind: Secret, metadata: {{name: c}}, stringData: {{k: {LEAKED}}}}}\n  \
         - deployment: {{name: web, replicas: 1, image: \"app:1\"}}\n\
         steps:\n  - scale: 2 # {LEAKED}\n  - set: {{env: {{K: {LEAKED}}}}}\n  - scale: 3\n\
         rules:\n  always: [\"deployments.all(d, d.name == '{LEAKED}')\"]\n"
    );
    std::fs::write(path("area/leak.yaml"), &text).expect("writable");
    std::fs::write(path("area/wrong.yaml"), text.replace("scale: 3", "scale: many")).expect("writable");
    std::fs::create_dir(path("tmp")).expect("a folder");
    let state = path("state");
    let ran = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lockstep"));
        command.args(arguments).env("XDG_RUNTIME_DIR", &state).env("XDG_STATE_HOME", &state).env("TMPDIR", path("tmp"));
        command.env("GITHUB_ACTIONS", "true").env("GITHUB_STEP_SUMMARY", path("summary.md")).env("RUST_LOG", "info");
        let output = command.output().expect("it starts");
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    };
    let (case, subject) = (path("area/leak.yaml"), subject("leaks"));
    let (junit, page, evidence, kept) = (path("junit.xml"), path("page.html"), path("evidence"), path("recordings"));
    let files = ["--junit", &junit, "--html", &page, "--evidence", &evidence, "--recordings", &kept];
    let run = ["run", &case, "--cluster", "sim", "--budget", "10s", "--subject", &subject];
    let printed = [
        ran(&[&run[..], &files].concat()),
        ran(&[&run[..], &["--output", "json"]].concat()),
        ran(&["lint", &path("area")]),
        ran(&["list", &case]),
        ran(&["explain", &case]),
        ran(&["judge", &kept]),
    ];
    std::fs::remove_dir_all(path("area")).expect("it is there");
    assert!(printed[0].contains("redacted0001") && printed[0].contains("it printed:"), "{}", printed[0]);
    let encoded = ["czNjcjN0LW9mLXRoZS1jYXNl", "s3cr3t"];
    for text in &printed {
        assert!(encoded.iter().all(|value| !text.contains(value)), "{text}");
    }
    let mut looked = 0;
    for entry in walkdir::WalkDir::new(folder.path()) {
        let entry = entry.expect("readable");
        let name = entry.path().display().to_string();
        let text =
            if entry.file_type().is_file() { std::fs::read(entry.path()).expect("readable") } else { Vec::new() };
        let text = String::from_utf8_lossy(&text);
        for value in encoded {
            let line = text.lines().find(|line| line.contains(value));
            assert!(!name.contains(value) && line.is_none(), "{value} in {name}: {line:?}");
        }
        looked += usize::from(entry.file_type().is_file());
    }
    assert!(looked >= 10, "only {looked} files");
    for name in ["case.yaml", "report.txt", "page.html", "subject.log", "recording.ndjson"] {
        assert!(find(folder.path(), name).contains("redacted0001"), "{name}");
    }
}
