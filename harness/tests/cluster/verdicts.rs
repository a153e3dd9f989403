//! Checks that wrong controllers are non-conformant and that environment failures are inconclusive.
//!
//! Deliberately wrong controllers (`controller/examples/mutant.rs`) must be non-conformant at the
//! named step; a deliberately broken test environment must be inconclusive. Trials
//! `control-plane::verdict::<what>` are ignored where no control plane can run.

use std::fs::DirEntry;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use libtest_mimic::{Failed, Trial};
use lockstep_case as case;
use lockstep_cluster::supervise::{ProcessSpec as Program, Supervisor};
use lockstep_cluster::{self as cluster, ClusterPlan, shared};
use lockstep_report as report;
use lockstep_runner::observe::ObserveError;
use lockstep_runner::{Environment, EnvironmentError, Session, SessionOptions};
use lockstep_subject::SubjectSpec;
use lockstep_timeline::Timeline;
use lockstep_verdict::{self as verdict, Judgement, Verdict};

pub(crate) fn trials() -> Vec<Trial> {
    let unavailable = cluster::available(cluster::DEFAULT_VERSION).is_err();
    let trial = |name: &str, test: fn() -> Result<(), String>| {
        Trial::test(format!("control-plane::verdict::{name}"), move || {
            test().map_err(|why| {
                eprintln!("Error: {why}");
                Failed::from(why)
            })
        })
        .with_ignored_flag(unavailable)
    };
    vec![
        trial("surge-ignored-is-non-conformant", || broken("surge-ignored", "max=10 instead of 13")),
        trial("wrong-status-is-non-conformant", || broken("wrong-status", "status.readyReplicas")),
        trial("restless-is-non-conformant", || broken("restless", "never became quiet")),
        trial("idle-is-non-conformant", || broken("idle", "did nothing")),
        trial("eager-old-is-non-conformant", || broken("eager-old", "step 1")),
        trial("controller-binary-is-conformant", real_binary),
        trial("subject-that-always-exits-is-refused", ended),
        trial("second-deployment-controller-is-inconclusive", stock_left_on),
        trial("exited-environment-is-inconclusive", dead_environment),
        trial("killed-harness-leaves-nothing", killed_harness),
    ]
}

const CASE: &str = "rolling/quarter-on-ten";

fn run<T>(story: impl Future<Output = Result<T, EnvironmentError>>) -> Result<T, String> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| error.to_string())?;
    runtime.block_on(story).map_err(|error| error.to_string())
}

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../cases")
}

fn mutant(name: &str) -> Result<SubjectSpec, String> {
    let me = std::env::current_exe().map_err(|error| error.to_string())?;
    let built = me.ancestors().nth(2).ok_or("a test binary stands in target/PROFILE/deps")?.join("examples/mutant");
    if !built.is_file() {
        return Err(format!("{} is not built: cargo build --package rollout-controller --examples", built.display()));
    }
    format!("command:{} {name}", built.display())
        .parse()
        .map_err(|error: lockstep_subject::SubjectError| error.to_string())
}

fn options() -> SessionOptions {
    SessionOptions { budget: Duration::from_secs(8), ..SessionOptions::default() }
}

/// Plays the case and judges it by its golden timeline.
async fn judge_case(environment: &Arc<Environment>, spec: &SubjectSpec) -> Result<Judgement, EnvironmentError> {
    let path = cases().join(CASE).with_extension("yaml");
    let case = Arc::new(case::load_one(&path).expect("the case is good"));
    let blessed = std::fs::read_to_string(path.with_extension("timeline")).expect("the case is blessed");
    let blessed = Timeline::parse(&blessed).expect("the timeline is good");
    let session = Session::open(environment, spec, &options()).await?;
    let recording = session.play(&case).await;
    session.close().await;
    Ok(verdict::judge(&case, &recording, Some(&blessed.into())))
}

fn expect(judgement: &Judgement, verdict: Verdict, words: &str) -> Result<(), String> {
    let output = format!(
        "{}\n{}",
        report::headline(judgement),
        report::failure(judgement, &report::RerunCommands::default(), false)
    );
    if judgement.verdict == verdict && output.contains(words) {
        return Ok(());
    }
    Err(format!("expected {verdict:?} that says '{words}', found {:?}:\n{output}", judgement.verdict))
}

fn broken(name: &str, words: &str) -> Result<(), String> {
    expect(&on_shared(&mutant(name)?)?, Verdict::NonConformant, words)
}

/// Plays the case on the control plane that all trials of a run share.
fn on_shared(spec: &SubjectSpec) -> Result<Judgement, String> {
    run(async {
        let environment = Arc::new(Environment::open(shared::obtain(cluster::DEFAULT_VERSION).await?).await?);
        let judgement = judge_case(&environment, spec).await;
        environment.close().await;
        judgement
    })
}

fn ended() -> Result<(), String> {
    let spec = SubjectSpec::Command(vec!["false".into()]);
    match on_shared(&spec) {
        Err(why) if why.contains("exited after each of 3 starts; the last time: the subject ended (exit code 1)") => {
            Ok(())
        }
        other => Err(format!("expected to hear that it ends at every start, found {other:?}")),
    }
}

/// Our controller as a process behaves as it does as a task of this one.
fn real_binary() -> Result<(), String> {
    expect(&on_shared(&SubjectSpec::OursProcess(None))?, Verdict::Conformant, "conformant")
}

/// Another Deployment controller already runs on the cluster, so no subject may be judged there.
fn stock_left_on() -> Result<(), String> {
    run(async {
        let cluster = cluster::boot(&ClusterPlan::new(cluster::DEFAULT_VERSION)).await?;
        let folder = tempfile::tempdir()?;
        let supervisor = Supervisor::start(folder.path(), false)?;
        let binaries = cluster::obtain_binaries(cluster::DEFAULT_VERSION)?;
        supervisor.spawn(Program {
            name: "stock".into(),
            program: binaries.program("kube-controller-manager"),
            args: vec![
                format!("--kubeconfig={}", cluster.admin_kubeconfig_path().display()),
                "--controllers=deployment".into(),
                "--leader-elect=false".into(),
                "--secure-port=0".into(),
            ],
            env: Default::default(),
            log: folder.path().join("stock.log"),
        })?;
        tokio::time::timeout(Duration::from_secs(2), std::future::pending::<()>()).await.ok();
        let environment = Arc::new(Environment::open(cluster).await?);
        let spec = SubjectSpec::Ours;
        let refused = match Session::open(&environment, &spec, &options()).await {
            Err(EnvironmentError::Observe(ObserveError::Proof(why))) => Some(why),
            Err(other) => return Err(other),
            Ok(_) => None,
        };
        supervisor.shutdown().await;
        environment.close().await;
        Ok(refused)
    })?
    .filter(|why| why.contains("a Deployment controller is already on"))
    .map(drop)
    .ok_or_else(|| "the test environment did not notice a stock controller".to_owned())
}

/// The test environment's ReplicaSet controller exits within a case, which is not the subject's
/// failure.
fn dead_environment() -> Result<(), String> {
    let judgement = run(async {
        let cluster = cluster::boot(&ClusterPlan::new(cluster::DEFAULT_VERSION)).await?;
        let victim = cluster.programs()["kube-controller-manager"];
        let environment = Arc::new(Environment::open(cluster).await?);
        let spec = SubjectSpec::Upstream(None);
        let case = case::load_one(&cases().join(CASE).with_extension("yaml")).expect("the case is good");
        let case = Arc::new(case);
        let session = Session::open(&environment, &spec, &options()).await?;
        let kill = async {
            tokio::time::timeout(Duration::from_millis(900), std::future::pending::<()>()).await.ok();
            victim.kill_group();
        };
        let (recording, ()) = tokio::join!(session.play(&case), kill);
        session.close().await;
        environment.close().await;
        Ok(verdict::judge(&case, &recording, None))
    })?;
    expect(&judgement, Verdict::Inconclusive, "the cluster's kube-controller-manager ended")
}

/// SIGKILL during a case: five seconds later all processes and files of the harness are gone.
fn killed_harness() -> Result<(), String> {
    let temporary = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut harness = Command::new(env!("CARGO_BIN_EXE_lockstep"))
        .args(["run", &cases().join(CASE).with_extension("yaml").display().to_string()])
        .args(["--cluster", "control-plane", "--subject", "upstream"])
        .env("TMPDIR", temporary.path())
        .env("XDG_RUNTIME_DIR", temporary.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let output = std::io::BufRead::lines(std::io::BufReader::new(harness.stderr.take().expect("it is piped")));
    let started = output.map_while(Result::ok).any(|line| line.contains("the subject started"));
    #[expect(clippy::disallowed_methods, reason = "a test of processes waits for them")]
    let since = Instant::now();
    let mine = |name: &str| processes_naming(temporary.path()).iter().any(|line| line.contains(name));
    let before = started && mine("kube-apiserver") && mine("etcd") && mine("kube-controller-manager");
    harness.kill().and_then(|()| harness.wait()).map_err(|error| error.to_string())?;
    if !before {
        return Err("the harness did not get as far as a case".into());
    }
    while since.elapsed() < Duration::from_secs(5) {
        let left = processes_naming(temporary.path());
        let files = std::fs::read_dir(temporary.path()).map(Iterator::count).unwrap_or(0);
        let nested = walk(temporary.path());
        if left.is_empty() && (files == 0 || nested == 0) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let left = processes_naming(temporary.path());
    Err(format!(
        "after five seconds {} files and these processes are left:\n{}",
        walk(temporary.path()),
        left.join("\n")
    ))
}

/// The number of files in a folder, without the user folder's locks.
pub(crate) fn walk(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| if entry.path().is_dir() { walk(&entry.path()) } else { 1 }).sum()
}

/// The command lines of processes that name a folder, there or in their environment.
pub(crate) fn processes_naming(folder: &Path) -> Vec<String> {
    let folder = folder.display().to_string();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let read = |entry: &DirEntry, file: &str| {
        let bytes = std::fs::read(entry.path().join(file)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).replace('\0', " ")
    };
    let lines = processes.map(|entry| (read(&entry, "cmdline"), read(&entry, "environ")));
    lines
        .filter(|(line, environment)| line.contains(&folder) || environment.contains(&folder))
        .map(|(line, _)| line)
        .collect()
}
