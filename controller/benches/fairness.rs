//! What one hostile namespace costs the others: 1,000 Deployments, half of them hostile, on the
//! simulated server over HTTP.
//!
//! The controller runs as a process. Ten times a second a ConfigMap (or the size of a Deployment)
//! of another namespace changes, and the benchmark measures the delay until the controller's
//! request for it arrives: median, 99th percentile and maximum. Meanwhile it polls `/livez`,
//! `/readyz` and `/metrics`, each over a new connection. The table shows the longest response time,
//! the longest time between two lease renewals (one every two seconds), and how long the controller
//! took from its start until it was ready.
//!
//! A row begins when the controller is ready, has reconciled everything once, and has followed the
//! change of a probe. A row that measured something else is an error: if that never happens, or if
//! the server refused a request for another namespace. What the controller itself loses or delays
//! is only measured:
//!
//! ```text
//! cargo bench --package rollout-controller --bench fairness
//! ```
//!
//! `LOCKSTEP_CONTROLLER` selects another program to measure, `LOCKSTEP_SECONDS` sets the duration
//! of each row, and `LOCKSTEP_KIND` selects rows by a part of their name.
#![expect(clippy::disallowed_methods, reason = "it measures real time")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use kube_apiserver_sim::{ApiServer, ListenOptions, Reaction};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::sleep;

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Deployments of the hostile namespace, and of all other namespaces together.
const DEPLOYMENTS: usize = 500;
const OTHER_NAMESPACES: usize = 10;
const HOSTILE: &str = "hostile";
/// The namespace of the Deployment whose changes show that the controller follows changes.
const PROBE: &str = "probe";
/// How long a start may take until it is an error, and how long nothing is written after it.
const START_TIMEOUT: Duration = Duration::from_secs(300);
const QUIET: Duration = Duration::from_secs(2);
/// How long an admission webhook delays each write of the hostile namespace.
const SLOW: Duration = Duration::from_secs(5);
/// The timeout of a probe. A probe that times out or does not return 200 counts as this long.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// The sizes in bytes of large annotations and of a large ConfigMap value, just below the API's
/// limits.
const ANNOTATIONS: usize = 250_000;
const VALUE: usize = 1_000_000;

/// What the hostile namespace does.
#[derive(Debug, Clone, Copy, Default)]
struct Hostility {
    title: &'static str,
    is_rollout: bool,
    /// The value of its reload annotation, or of a large annotation.
    annotation: Option<fn() -> String>,
    /// Changes per second.
    changes: u32,
    /// Whether all its workloads use the same ConfigMap, rather than one each.
    shares_config: bool,
    is_large: bool,
    is_slow: bool,
}

fn rows() -> Vec<Hostility> {
    let none = Hostility::default();
    let patterns: fn() -> String = || vec![r"(\w{20}){20}"; 200].join(",");
    let longest: fn() -> String = || (0..ANNOTATIONS / 16).map(|n| format!(r"[a-c]{n:06x}\d*,")).collect();
    let classes: fn() -> String = || format!("(?i)({}){{0}}", r"\pL".repeat(5000));
    vec![
        Hostility { title: "restarts, none", ..none },
        Hostility { title: "restarts, 200 large patterns each", annotation: Some(patterns), changes: 10, ..none },
        Hostility { title: "restarts, 250 kB of patterns each", annotation: Some(longest), changes: 10, ..none },
        Hostility { title: "restarts, 5,000 Unicode classes each", annotation: Some(classes), changes: 10, ..none },
        Hostility { title: "restarts, 1,000 changes a second", changes: 1000, ..none },
        Hostility { title: "restarts, all of one config", changes: 20, shares_config: true, ..none },
        Hostility { title: "restarts, slow admission", changes: 100, is_slow: true, ..none },
        Hostility { title: "restarts, ConfigMaps of 1 MB", changes: 10, is_large: true, ..none },
        Hostility { title: "rollouts, none", is_rollout: true, ..none },
        Hostility { title: "rollouts, 200 changes a second", is_rollout: true, changes: 200, ..none },
        Hostility { title: "rollouts, slow admission", is_rollout: true, changes: 100, is_slow: true, ..none },
    ]
}

fn main() -> Outcome<()> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(table())
}

async fn table() -> Outcome<()> {
    let seconds = std::env::var("LOCKSTEP_SECONDS").map_or(Ok(10), |text| text.parse())?;
    let kind = std::env::var("LOCKSTEP_KIND").unwrap_or_default();
    println!(
        "{:36} {:>27}   {:>29}  {:>5}  {:>5}  {:>4}",
        "", "others' delay, s", "longest answer, s", "lease", "start", "peak"
    );
    println!(
        "{:36} {:>6} {:>6} {:>6} {:>6}   {:>9} {:>9} {:>9}  {:>5}  {:>5}  {:>4}",
        "", "median", "99th", "most", "lost", "/livez", "/readyz", "/metrics", "s", "s", "MiB"
    );
    for row in rows().into_iter().filter(|row| row.title.contains(&kind)) {
        let measured = measure(row, Duration::from_secs(seconds)).await;
        let Measurement { mut delays, lost, answers, lease, start, peak } =
            measured.map_err(|error| format!("{}: {error}", row.title))?;
        delays.sort_unstable();
        let at = |share: usize| {
            delays.get(delays.len() * share / 100).or(delays.last()).map_or(f64::NAN, Duration::as_secs_f64)
        };
        let [live, ready, metrics] = answers.map(|answer| answer.as_secs_f64());
        println!(
            "{:36} {:6.3} {:6.3} {:6.3} {lost:6}   {live:9.3} {ready:9.3} {metrics:9.3}  {:5.1}  {:5.1}  {peak:4}",
            row.title,
            at(50),
            at(99),
            at(100),
            lease.as_secs_f64(),
            start.as_secs_f64()
        );
    }
    Ok(())
}

struct Measurement {
    delays: Vec<Duration>,
    /// Changes that led to no request.
    lost: usize,
    /// The longest response times of `/livez`, `/readyz` and `/metrics`.
    answers: [Duration; 3],
    lease: Duration,
    /// From the start of the process until it was ready.
    start: Duration,
    /// Memory of the controller in MiB.
    peak: u64,
}

/// The requests that the server received.
#[derive(Default)]
struct ServerLog {
    /// The changes that have led to no request yet, by namespace and name.
    waiting: BTreeMap<String, Instant>,
    delays: Vec<Duration>,
    renewals: Vec<Instant>,
    /// When the server last received another write.
    last_write: Option<Instant>,
    /// Whether a change of the probe has led to a request.
    is_probed: bool,
    /// Whether the hostile namespace has begun its changes.
    is_hostile: bool,
}

impl ServerLog {
    fn request(&mut self, method: &str, path: &str) {
        let parts: Vec<&str> = path.split('/').collect();
        let Some(at) = parts.iter().position(|part| *part == "namespaces") else { return };
        let (Some(namespace), Some(resource), Some(name)) = (parts.get(at + 1), parts.get(at + 2), parts.get(at + 3))
        else {
            return;
        };
        if method != "GET" && *resource != "leases" {
            self.last_write = Some(Instant::now());
        }
        match (method, *resource) {
            ("PUT", "leases") => self.renewals.push(Instant::now()),
            ("PATCH", "deployments") => self.end_delay(&format!("{namespace}/{name}")),
            ("PUT", "replicasets") => {
                let deployment = name.rsplit_once('-').map_or(*name, |(deployment, _)| deployment);
                self.end_delay(&format!("{namespace}/{deployment}"));
            }
            _ => {}
        }
    }

    fn end_delay(&mut self, key: &str) {
        self.is_probed |= key.starts_with(PROBE);
        if let Some(since) = self.waiting.remove(key) {
            self.delays.push(since.elapsed());
        }
    }
}

/// The controller process; dropping this kills it.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn measure(row: Hostility, duration: Duration) -> Outcome<Measurement> {
    let log = Arc::new(Mutex::new(ServerLog::default()));
    let api = ApiServer::builder().build();
    let hooked = log.clone();
    api.on_request(move |request| {
        let (method, path) = (request.method().as_str(), request.uri().path());
        let mut log = lock(&hooked);
        log.request(method, path);
        let is_write = log.is_hostile && method != "GET" && path.contains("/namespaces/hostile/");
        if row.is_slow && is_write { Reaction::Delay(SLOW) } else { Reaction::Pass }
    });
    let others = (0..OTHER_NAMESPACES).map(other_namespace);
    for namespace in others.chain([HOSTILE.to_owned(), PROBE.to_owned()]) {
        api.put_stored(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}))?;
    }
    api.put_stored(config(row, PROBE, 0, 0))?;
    api.put_stored(deployment(row, PROBE, 0, false))?;
    for n in 0..DEPLOYMENTS {
        for (namespace, is_hostile) in [(HOSTILE.to_owned(), true), (other_namespace(n), false)] {
            api.put_stored(config(row, &namespace, n, 0))?;
            api.put_stored(deployment(row, &namespace, n, is_hostile))?;
        }
    }
    let listening = api.listen(ListenOptions::loopback())?;
    let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let started = Instant::now();
    let program = start(row, &listening.url(), port)?;
    until_leading(port, started).await?;
    let start = started.elapsed();
    until_reconciled(&api, row, &log, started).await?;
    api.start_transcript();
    lock(&log).is_hostile = true;

    let mut tasks = JoinSet::new();
    let end = Instant::now() + duration;
    if row.changes > 0 {
        tasks.spawn(change_hostile(api.clone(), row, end));
    }
    tasks.spawn(change_others(api.clone(), row, end, log.clone()));
    let mut pages = Vec::new();
    for page in ["/livez", "/readyz", "/metrics"] {
        pages.push(tokio::spawn(longest_answer(port, page, end)));
    }
    while let Some(task) = tasks.join_next().await {
        task??;
    }
    // A request may be late by as much as this.
    sleep(duration).await;
    let mut answers = [Duration::ZERO; 3];
    for (answer, page) in answers.iter_mut().zip(pages) {
        *answer = page.await?;
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", program.0.id()))?;
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse::<u64>().ok());
    let transcript = api.transcript();
    if let Some(refused) = transcript.iter().find(|line| is_refusal(line)) {
        return Err(format!("the server refused a request: {refused}").into());
    }
    let log = std::mem::take(&mut *lock(&log));
    if log.delays.is_empty() && log.waiting.is_empty() {
        return Err("nothing was changed".into());
    }
    let lease = log.renewals.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or_default();
    Ok(Measurement {
        delays: log.delays,
        lost: log.waiting.len(),
        answers,
        lease,
        start,
        peak: peak.unwrap_or_default() / 1024,
    })
}

fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a line of the server's transcript shows that it refused a request for another namespace,
/// other than for a conflict, which the controller retries.
fn is_refusal(line: &str) -> bool {
    let code = line.split_once(" -> ").and_then(|(_, response)| response.split(' ').next()?.parse::<u16>().ok());
    line.contains("/namespaces/other-") && code.is_some_and(|code| code >= 400 && code != 409)
}

fn other_namespace(n: usize) -> String {
    format!("other-{}", n % OTHER_NAMESPACES)
}

fn config(row: Hostility, namespace: &str, n: usize, version: usize) -> Value {
    let is_large = row.is_large && namespace == HOSTILE;
    let value = if is_large { "x".repeat(VALUE) } else { String::new() };
    // Only few are large, because the server keeps all of them in memory.
    let n = if is_large { n % 50 } else { n };
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("c{n}"), "namespace": namespace, "uid": format!("{namespace}-c{n}")},
        "data": {"k": format!("{version}{value}")}})
}

fn deployment(row: Hostility, namespace: &str, n: usize, is_hostile: bool) -> Value {
    let name = format!("web{n}");
    let uses = match is_hostile {
        true if row.shares_config => 0,
        true if row.is_large => n % 50,
        _ => n,
    };
    let mut annotations = json!({"reloader.stakater.com/auto": "true"});
    if let Some(annotation) = row.annotation.filter(|_| is_hostile) {
        annotations["configmap.reloader.stakater.com/reload"] = annotation().into();
    }
    let labels = json!({"app": name});
    let container = json!({"name": "app", "image": "app:1", "imagePullPolicy": "IfNotPresent", "resources": {},
        "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
        "envFrom": [{"configMapRef": {"name": format!("c{uses}")}}]});
    let spec = json!({"containers": [container], "restartPolicy": "Always", "terminationGracePeriodSeconds": 0,
        "dnsPolicy": "ClusterFirst", "securityContext": {}, "schedulerName": "default-scheduler"});
    json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "uid": format!("{namespace}-{name}"), "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z", "annotations": annotations},
        "spec": {"replicas": 1, "progressDeadlineSeconds": 600, "revisionHistoryLimit": 10, "selector": {"matchLabels": labels},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}},
            "template": {"metadata": {"labels": labels}, "spec": spec}}})
}

/// Changes the ConfigMap of a Deployment, or its size.
fn change(api: &ApiServer, row: Hostility, namespace: &str, n: usize, version: usize) -> Outcome<()> {
    if !row.is_rollout {
        api.put_stored(config(row, namespace, n, version))?;
        return Ok(());
    }
    let name = format!("web{n}");
    let stored = api.storage("deployments")?.get(namespace, &name);
    let mut deployment = stored.ok_or_else(|| format!("there is no Deployment {namespace}/{name}"))?;
    // Never the size that it has.
    deployment["spec"]["replicas"] = (1 + version).into();
    deployment["metadata"]["generation"] = (1 + version).into();
    api.put_stored(deployment)?;
    Ok(())
}

async fn change_hostile(api: ApiServer, row: Hostility, end: Instant) -> Outcome<()> {
    let start = Instant::now();
    let mut version = 0;
    while Instant::now() < end {
        while (version as f64) < start.elapsed().as_secs_f64() * f64::from(row.changes) {
            version += 1;
            let n = if row.shares_config { 0 } else { version % DEPLOYMENTS };
            change(&api, row, HOSTILE, n, version)?;
            tokio::task::yield_now().await;
        }
        sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

async fn change_others(api: ApiServer, row: Hostility, end: Instant, log: Arc<Mutex<ServerLog>>) -> Outcome<()> {
    let mut version = 0;
    while Instant::now() < end {
        version += 1;
        let n = version * 7 % DEPLOYMENTS;
        lock(&log).waiting.entry(format!("{}/web{n}", other_namespace(n))).or_insert_with(Instant::now);
        change(&api, row, &other_namespace(n), n, version)?;
        sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

fn start(row: Hostility, url: &str, port: u16) -> Outcome<Program> {
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "c", "user": {}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
    });
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("fairness.kubeconfig");
    std::fs::write(&path, kubeconfig.to_string())?;
    let mut program = Command::new(program());
    if row.is_rollout {
        program.args(["--controllers=deployment", "--leader-elect=true"]);
        // The controller writes each Deployment several times at the start.
        program.args(["--kube-api-qps=2000", "--kube-api-burst=4000"]);
    } else {
        program.args([
            "config-restart",
            "--restart-profile=reloader",
            "--allow-unkeyed-secret-checksums",
            "--leader-elect=true",
            "--kube-api-qps=200",
            "--kube-api-burst=300",
        ]);
    }
    program.arg("--leader-elect-resource-namespace=default");
    program.arg(format!("--health-probe-bind-address=127.0.0.1:{port}"));
    program.arg(format!("--metrics-bind-address=127.0.0.1:{port}"));
    program.env("KUBECONFIG", path).env("RUST_LOG", "off").stderr(Stdio::null());
    Ok(Program(program.spawn()?))
}

fn program() -> PathBuf {
    let other = std::env::var_os("LOCKSTEP_CONTROLLER").map(|path| Path::new(&path).to_owned());
    other.unwrap_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_rollout-controller")))
}

/// Waits until the controller is ready and leads.
async fn until_leading(port: u16, started: Instant) -> Outcome<()> {
    loop {
        let ready = get(port, "/readyz").await.unwrap_or_default();
        let metrics = get(port, "/metrics").await.unwrap_or_default();
        let mut leading = metrics.lines().filter(|line| line.starts_with("leader_election_master_status{"));
        if is_ok(&ready) && leading.any(|line| line.ends_with(" 1")) {
            return Ok(());
        }
        if started.elapsed() > START_TIMEOUT {
            return Err(format!("the controller is not ready after {START_TIMEOUT:?}: {ready}").into());
        }
        sleep(Duration::from_millis(50)).await;
    }
}

/// Waits until the controller has reconciled everything once and follows changes: the initial
/// objects have led to all writes, and the change of a probe has led to a request.
async fn until_reconciled(api: &ApiServer, row: Hostility, log: &Mutex<ServerLog>, started: Instant) -> Outcome<()> {
    let mut version = 0;
    loop {
        let (is_probed, is_quiet) = {
            let log = lock(log);
            (log.is_probed, log.last_write.is_none_or(|at| at.elapsed() >= QUIET))
        };
        // A Deployment gets its ReplicaSet when it is first reconciled.
        let replica_sets = api.storage("replicasets")?.list("").len();
        let is_reconciled = !row.is_rollout || replica_sets == 2 * DEPLOYMENTS + 1;
        if is_reconciled && is_probed && is_quiet {
            return Ok(());
        }
        if started.elapsed() > START_TIMEOUT {
            return Err(format!(
                "not everything is reconciled after {START_TIMEOUT:?}: {replica_sets} ReplicaSets, the change of the \
                 probe was followed: {is_probed}"
            )
            .into());
        }
        if is_reconciled && !is_probed {
            version += 1;
            change(api, row, PROBE, 0, version)?;
        }
        sleep(Duration::from_millis(200)).await;
    }
}

async fn get(port: u16, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

async fn longest_answer(port: u16, path: &'static str, end: Instant) -> Duration {
    let mut longest = Duration::ZERO;
    while Instant::now() < end {
        let start = Instant::now();
        let answer = tokio::time::timeout(ANSWER_TIMEOUT, get(port, path)).await;
        let is_answered = answer.is_ok_and(|answer| answer.is_ok_and(|answer| is_ok(&answer)));
        longest = longest.max(if is_answered { start.elapsed() } else { ANSWER_TIMEOUT });
        sleep(Duration::from_millis(50)).await;
    }
    longest
}

fn is_ok(answer: &str) -> bool {
    answer.starts_with("HTTP/1.1 200")
}
