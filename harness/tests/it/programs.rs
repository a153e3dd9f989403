//! Third-party subjects on the simulated cluster, as users judge them: what lockstep gives them,
//! and its reports of programs that exit, send invalid requests, or never connect. The programs are
//! modes of `subjects/wrong.py`.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rstest::rstest;
use serde_json::Value;

/// The output and exit code of a run.
struct RunOutput {
    out: String,
    err: String,
    code: i32,
}

impl RunOutput {
    /// The judgement of each case, in order.
    fn judgements(&self) -> Vec<Value> {
        self.out.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Asserts that standard output has these parts.
    fn prints(&self, parts: &[&str]) {
        for part in parts {
            assert!(self.out.contains(part), "no `{part}` in\n{}\n{}", self.out, self.err);
        }
    }
}

/// A folder of cases that differ only in the Deployment's name.
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

fn lockstep(arguments: &[&str]) -> RunOutput {
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
    RunOutput {
        out: text(output.stdout),
        err: text(output.stderr),
        code: output.status.code().expect("it ends by itself"),
    }
}

/// Judges a mode of wrong.py on cases. The budget only matters for modes that never settle, which
/// take one budget per case.
fn run(deployments: &[&str], mode: &str, more: &[&str]) -> RunOutput {
    let never = ["both", "distrusts", "invalid", "mute", "status-within"].contains(&mode);
    let budget = if never { "5s" } else { "20s" };
    let folder = cases(deployments);
    let path = folder.path().display().to_string();
    let subject = subject(mode);
    lockstep(&[&["run", &path, "--cluster", "sim", "--budget", budget, "--subject", &subject], more].concat())
}

/// The messages of a judgement's findings.
fn messages(judgement: &Value) -> String {
    let findings = judgement["findings"].as_array().into_iter().flatten();
    findings.filter_map(|finding| finding["message"].as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn exited_subject_is_restarted_and_counted_once() {
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
fn subject_that_always_exits_stops_the_run() {
    let ran = run(&["web", "web"], "ends", &[]);
    assert_eq!(ran.code, 1, "{}\n{}", ran.out, ran.err);
    assert!(ran.err.contains("exited after each of 3 starts") && ran.err.contains("(exit code 3)"), "{}", ran.err);
    assert!(ran.err.contains("wrong.py starts: ends"), "{}", ran.err);
    assert!(!ran.out.contains("NON-CONFORMANT"), "{}", ran.out);
}

/// Another process of the same subject may have the port.
#[test]
fn subject_whose_port_is_taken_is_not_accused() {
    let folder = cases(&["web"]);
    let subject = "command:sh -c 'echo \"listen tcp :8080: bind: address already in use\"; exit 1'";
    let ran = lockstep(&["run", &folder.path().display().to_string(), "--cluster", "sim", "--subject", subject]);
    assert_eq!(ran.code, 2, "{}\n{}", ran.out, ran.err);
    assert!(ran.err.contains("a port that it needs is taken: -j 1 runs one process of it"), "{}", ran.err);
}

#[test]
fn invalid_request_is_reported_with_the_servers_message() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let ran = run(&["web"], "invalid", &["--junit", &path("junit.xml"), "--evidence", &path("evidence")]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    ran.prints(&["its requests about this case: create 422 (", "422 create replicasets (", "spec.selector"]);
    ran.prints(&["it printed:", "| wrong.py starts: invalid"]);
    let junit = std::fs::read_to_string(path("junit.xml")).expect("written");
    assert!(junit.contains("422 create replicasets") && junit.contains("spec.selector"), "{junit}");
    let report = find(folder.path(), "report.txt");
    assert!(report.contains("422 create replicasets") && report.contains("wrong.py starts"), "{report}");
    // Including its output before the case.
    assert!(find(folder.path(), "subject.log").contains("wrong.py starts: invalid"));
}

#[test]
fn connection_that_is_never_opened_is_reported_with_the_output() {
    let ran = run(&["web"], "mute", &[]);
    ran.prints(&["it never made a single request, and opened no connection", "$KUBECONFIG", "--in-cluster"]);
    ran.prints(&["the namespace did not settle: the subject made no request in the 6"]);
    let said = "the subject has not served the probe";
    assert!(ran.err.contains(said) && ran.err.contains("no step settles and no case is conformant"), "{}", ran.err);
    ran.prints(&["| wrong.py starts: mute", "| I am waiting for a war"]);
    assert!(ran.code == 1 && !ran.out.contains(['\u{1b}', '\u{7}']), "{:?}", ran.out);
}

/// A subject's start does not count as part of a step, neither at first nor after a restart.
#[test]
fn slow_start_of_a_subject_is_not_a_failure() {
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

/// A subject with a rate limit for each Deployment answers the probe before it has decided.
#[test]
fn late_decision_is_not_held_against_a_subject() {
    let limited = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/subjects/limited.py");
    let subject = format!("command:python3 '{}' 0.7", limited.display());
    let case = "cases/rolling/surge-1-unavailable-0.yaml";
    let ran = lockstep(&["run", case, "--cluster", "sim", "--subject", &subject]);
    ran.prints(&["the subject acts later than it answers the probe"]);
    assert_eq!(ran.code, 2, "{}\n{}", ran.out, ran.err);
}

#[test]
fn status_written_with_the_object_is_reported_with_a_hint() {
    let ran = run(&["web"], "status-within", &[]);
    ran.prints(&[
        "hint: the subject wrote status with the object itself: update deployments (",
        "write to the subresource",
    ]);
    ran.prints(&["stayed in the wrong state: deployment/web has status.observedGeneration 0, and 1 is right"]);
    assert_eq!(ran.code, 1);
}

#[test]
fn undeclared_controllers_are_reported_with_the_flag() {
    let ran = run(&["web"], "both", &[]);
    let said = "the work of a ReplicaSet controller, which the cluster has here: update replicasets/status (";
    ran.prints(&[said, "add --controllers deployment,replicaset"]);
}

#[test]
fn cases_of_other_workload_kinds_are_skipped() {
    let named = "cases/rolling/rollout-of-argo.yaml";
    let ran = lockstep(&["run", named, "--subject", "command:true"]);
    assert!(ran.err.contains(&format!("{named} is left out: it is about a Rollout; --workload")), "{}", ran.err);
    assert_eq!(ran.code, 4, "{}", ran.err);
    let beside = lockstep(&["compare", named, "--subject", "ours", "--subject", "command:true"]);
    assert!(beside.err.contains("is left out") && beside.code == 4, "{}", beside.err);
}

#[test]
fn certificate_that_is_not_trusted_is_reported() {
    let ran = run(&["web"], "distrusts", &[]);
    ran.prints(&["it never made a single request", "broke off in the TLS handshake", "certificate-authority-data"]);
    assert_eq!(ran.code, 1);
}

#[test]
fn subject_finds_its_kubeconfig_in_its_home_folder() {
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

/// The environment of the caller may have secrets, as in a CI job: a subject gets what every
/// controller needs and what the user names, and a kubeconfig and a home folder of its own.
#[test]
fn subject_gets_only_variables_that_it_needs_and_that_the_user_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let wrong = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/subjects/wrong.py");
    let script = format!("env > '{}'\nexec python3 '{}' slow 0\n", path("env"), wrong.display());
    std::fs::write(path("subject.sh"), script).expect("writable");
    let passed = [
        ("LANG", "C"),
        ("LC_TIME", "C"),
        ("NO_PROXY", "localhost"),
        ("SSL_CERT_FILE", "/certificates"),
        ("NAMED", "a value = of words"),
        ("NAMED_TOO", "2"),
    ];
    let kept_back = [
        ("GITHUB_TOKEN", "s3cr3t"),
        ("AWS_SECRET_ACCESS_KEY", "s3cr3t"),
        ("NAMED_NOT", "s3cr3t"),
        ("HTTPS_PROXY", "http://user:s3cr3t@proxy.example"),
        ("KUBERNETES_SERVICE_HOST", "192.0.2.1"),
    ];
    let caller = path("caller");
    let cases = cases(&["web"]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockstep"));
    command.args(["run", &cases.path().display().to_string(), "--cluster", "sim", "--budget", "20s"]);
    command.args(["--output", "json", "--subject", &format!("command:sh '{}'", path("subject.sh"))]);
    command.args(["--subject-env", "NAMED", "--subject-env", "NAMED_TOO"]);
    command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path))).envs(passed).envs(kept_back);
    command.env("KUBECONFIG", &caller).env("HOME", &caller);
    let state = tempfile::tempdir().expect("a folder");
    for name in ["XDG_RUNTIME_DIR", "XDG_STATE_HOME", "CARGO_TARGET_DIR"] {
        command.env(name, state.path());
    }
    let output = command.output().expect("it starts");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    // It rolled the Deployment out, so it found its cluster.
    let judged: Option<Value> = printed.lines().find_map(|line| serde_json::from_str(line).ok());
    let created = judged.and_then(|judged| judged["metrics"]["answers"]["create"]["201"].as_u64());
    assert!(created >= Some(1), "{printed}");

    let text = std::fs::read_to_string(path("env")).expect("the subject has written its environment");
    let mut variables: BTreeMap<&str, &str> = text.lines().filter_map(|line| line.split_once('=')).collect();
    // The shell's own.
    for name in ["PWD", "OLDPWD", "SHLVL", "_"] {
        variables.remove(name);
    }
    assert!(!text.contains("s3cr3t"), "{text}");
    for name in ["KUBECONFIG", "HOME"] {
        let value = variables.remove(name).unwrap_or_else(|| panic!("no {name} in\n{text}"));
        assert!(value.contains("lockstep-") && !value.contains(&caller), "{name}={value}");
    }
    assert!(variables.remove("PATH").is_some_and(|path| !path.is_empty()), "{text}");
    assert_eq!(variables, BTreeMap::from(passed), "{text}");

    // A name that is mistyped is not ignored.
    let named = ["run", "cases", "--subject", "command:true", "--subject-env"];
    for wrong in ["LOCKSTEP_NO_SUCH_VARIABLE", "NAMED=value"] {
        let ran = lockstep(&[&named[..], &[wrong]].concat());
        assert_eq!(ran.code, 64, "{}", ran.err);
        assert!(ran.err.contains("name a variable of the environment, without its value"), "{}", ran.err);
    }
}

/// Where a process may not mount file systems, as in most containers, the run refuses this at the
/// start.
#[test]
fn subject_gets_a_pods_environment_on_request() {
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
fn cases_of_missing_controllers_are_skipped() {
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

/// The text of the first file with this name in a folder tree.
fn find(folder: &Path, name: &str) -> String {
    fn walk(folder: &Path, name: &str) -> Option<PathBuf> {
        let entries: Vec<_> = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
        let here = entries.iter().find(|path| path.file_name().is_some_and(|found| found == name)).cloned();
        here.or_else(|| entries.iter().find_map(|path| walk(path, name)))
    }
    let path = walk(folder, name).unwrap_or_else(|| panic!("no {name} below {}", folder.display()));
    std::fs::read_to_string(path).expect("readable")
}

/// The value that `wrong.py leaks` writes everywhere it can.
const LEAKED: &str = "s3cr3t-of-the-case";

/// Stored files have no values of Secrets, even where a subject repeats them.
#[test]
fn secret_values_are_neither_stored_nor_printed() {
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

/// A program in place of another project's, which is not here: it writes down what it gets, and
/// this project's controller, which knows the flags of both, does the work.
fn stand_in(folder: &Path, profile: &str) -> PathBuf {
    let controller = Path::new(env!("CARGO_BIN_EXE_lockstep")).with_file_name("rollout-controller");
    assert!(controller.is_file(), "cargo build --package rollout-controller");
    let (program, at) = (folder.join(profile), folder.display());
    let script = format!(
        "#!/bin/sh\n\
         if [ \"$1\" = --version ]; then echo \"{profile} v0.0.1 linux/amd64\"; exit; fi\n\
         echo \"$@\" >'{at}/arguments'\n\
         env | grep ^ALERT_ | sort >'{at}/alerts'\n\
         exec '{}' config-restart --restart-profile={profile} --allow-unkeyed-secret-checksums \\\n  \
         --metrics-bind-address=0 --leader-elect=false \"$@\"\n",
        controller.display()
    );
    std::fs::write(&program, script).expect("writable");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("writable");
    program
}

#[rstest]
#[case::xing("xing", "gracePeriod: 1s, ignoredErrors: [denied]", "com.xing.deployment-restart: enabled")]
#[case::reloader("reloader", "webhook: slack, flags: [\"--auto-reload-all\"]", "some: annotation")]
fn reference_program_gets_its_own_flags_and_variables(
    #[case] profile: &str,
    #[case] options: &str,
    #[case] annotation: &str,
) {
    let folder = tempfile::tempdir().expect("a folder");
    let case = folder.path().join("changed.yaml");
    let text = format!(
        "description: x\ncontrollers: [config-restart]\nrestart: {{profile: {profile}, {options}}}\n\
         given:\n  - apply: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: c}}, data: {{k: \"1\"}}}}\n  \
         - deployment: {{name: web, replicas: 1, image: \"app:1\", envFrom: [configmap/c], annotations: {{{annotation}}}}}\n  \
         - advance: 3s\n\
         steps:\n  - patch: {{target: configmap/c, type: merge, patch: {{data: {{k: \"2\"}}}}}}\n  - advance: 3s\n\
         expectation: rules\nrules: {{finally: [\"restarts('deployment/web') == 1\"]}}\n"
    );
    std::fs::write(&case, text).expect("writable");
    let subject = format!("{profile}:{}", stand_in(folder.path(), profile).display());
    let ran = lockstep(&["run", &case.display().to_string(), "--cluster", "sim", "--subject", &subject]);
    ran.prints(&["1 conformant"]);
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("the program was started");
    let (arguments, alerts) = (read("arguments"), read("alerts"));
    match profile {
        "xing" => {
            assert_eq!(arguments, "--verbose=1 --restart-grace-period=1 --ignored-errors=denied\n");
            assert_eq!(alerts, "");
        }
        _ => {
            assert_eq!(arguments, "--auto-reload-all\n");
            let (before, url) = alerts.trim_end().split_once("ALERT_WEBHOOK_URL=").expect("a URL");
            assert_eq!(before, "ALERT_ON_RELOAD=true\nALERT_SINK=slack\n");
            assert!(url.starts_with("https://") && url.ends_with("/lockstep/webhook"), "{url}");
        }
    }
}

/// For a config-restart controller its first request is all that can be waited for, and that one
/// may not be answered yet.
#[test]
fn subject_that_begins_with_a_list_is_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let case = folder.path().join("changed.yaml");
    let text = "description: x\ncontrollers: [config-restart]\nrestart: {profile: safe}\ngiven:\n  \
         - deployment: {name: web, replicas: 1, image: \"app:1\"}\nsteps:\n  - scale: 2\n\
         expectation: rules\nrules: {finally: [\"restarts('deployment/web') == 1\"]}\n";
    std::fs::write(&case, text).expect("writable");
    let path = case.display().to_string();
    let ran = lockstep(&["run", &path, "--controllers", "config-restart", "--subject", &subject("lists")]);
    ran.prints(&["1 non-conformant"]);
    assert_eq!(ran.code, 1, "{}\n{}", ran.out, ran.err);
}

#[rstest]
#[case::missing("xing:./no-such-program", "the subject's program does not exist: ./no-such-program; give the path")]
#[case::folder("reloader:./cases", "the subject's program ./cases is a folder; give the path of an executable file")]
#[case::unnamed("reloader", "unknown subject 'reloader' (give the path of its program: reloader:PATH)")]
fn reference_without_a_program_is_a_usage_error(#[case] subject: &str, #[case] expected: &str) {
    let ran = lockstep(&["run", "cases/config-restart", "--cluster", "sim", "--subject", subject]);
    assert!(ran.err.contains(expected) && ran.code == 64, "{}\n{}", ran.err, ran.code);
}
