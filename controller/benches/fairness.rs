//! What one hostile namespace costs the others: 1,000 Deployments, half of them hostile, on the
//! simulated server over HTTP.
//!
//! The controller is a process of its own. Ten times a second a ConfigMap (or the size of a
//! Deployment) of another namespace changes, and the delay until the controller's request for it
//! arrives is measured: the median, the 99th of 100, and the most. Meanwhile `/livez`, `/readyz`
//! and `/metrics` are read again and again, each on a connection of its own; the longest time that
//! one took is in the table, as is the longest time between two renewals of the lease (every two
//! seconds).
//!
//! It measures and judges nothing:
//!
//! ```text
//! cargo bench --package rollout-controller --bench fairness
//! ```
//!
//! `LOCKSTEP_CONTROLLER` names another program to measure, `LOCKSTEP_SECONDS` how long each row
//! takes, and `LOCKSTEP_KIND` a part of the names of the rows.
#![expect(clippy::disallowed_methods, reason = "it measures real time")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use kube_apiserver_sim::{ApiServer, Listen, Reaction};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::sleep;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Deployments of the hostile namespace, and of all others.
const HALF: usize = 500;
const OTHERS: usize = 10;
const HOSTILE: &str = "hostile";
/// How long an admission webhook takes for each write of the hostile namespace.
const SLOW: Duration = Duration::from_secs(5);
/// How long an answer is waited for; that long is in the table for one that does not come, or is no
/// 200.
const PATIENCE: Duration = Duration::from_secs(30);
/// The most that annotations may have, and a value of a ConfigMap.
const ANNOTATIONS: usize = 250_000;
const VALUE: usize = 1_000_000;

/// What the hostile namespace does.
#[derive(Debug, Clone, Copy, Default)]
struct Hostility {
    title: &'static str,
    is_rollout: bool,
    /// Its reload lists, or all its annotations.
    annotation: Option<fn() -> String>,
    /// Changes a second.
    changes: u32,
    /// Of one ConfigMap that all its workloads use, rather than of one each.
    shares_config: bool,
    is_large: bool,
    is_slow: bool,
}

fn rows() -> Vec<Hostility> {
    let none = Hostility::default();
    let patterns: fn() -> String = || vec![r"(\w{20}){20}"; 200].join(",");
    let longest: fn() -> String = || (0..ANNOTATIONS / 16).map(|n| format!(r"[a-c]{n:06x}\d*,")).collect();
    vec![
        Hostility { title: "restarts, none", ..none },
        Hostility { title: "restarts, 200 large patterns each", annotation: Some(patterns), changes: 10, ..none },
        Hostility { title: "restarts, 250 kB of patterns each", annotation: Some(longest), changes: 10, ..none },
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
    println!("{:36} {:>27}   {:>29}  {:>5}  {:>4}", "", "others' delay, s", "longest answer, s", "lease", "peak");
    println!(
        "{:36} {:>6} {:>6} {:>6} {:>6}   {:>9} {:>9} {:>9}  {:>5}  {:>4}",
        "", "median", "99th", "most", "lost", "/livez", "/readyz", "/metrics", "s", "MiB"
    );
    for row in rows().into_iter().filter(|row| row.title.contains(&kind)) {
        let Measured { mut delays, lost, answers, lease, peak } = measure(row, Duration::from_secs(seconds)).await?;
        delays.sort_unstable();
        let at = |share: usize| {
            delays.get(delays.len() * share / 100).or(delays.last()).map_or(f64::NAN, Duration::as_secs_f64)
        };
        let [live, ready, metrics] = answers.map(|answer| answer.as_secs_f64());
        println!(
            "{:36} {:6.3} {:6.3} {:6.3} {lost:6}   {live:9.3} {ready:9.3} {metrics:9.3}  {:5.1}  {peak:4}",
            row.title,
            at(50),
            at(99),
            at(100),
            lease.as_secs_f64()
        );
    }
    Ok(())
}

struct Measured {
    delays: Vec<Duration>,
    /// Changes without a request until the end.
    lost: usize,
    /// Of /livez, /readyz and /metrics.
    answers: [Duration; 3],
    lease: Duration,
    /// MiB of the controller.
    peak: u64,
}

/// What the server has seen.
#[derive(Default)]
struct Seen {
    /// Changes that wait for a request, by namespace and name.
    waiting: BTreeMap<String, Instant>,
    delays: Vec<Duration>,
    renewals: Vec<Instant>,
    /// When the last other write came.
    wrote: Option<Instant>,
    /// Whether the hostile namespace is hostile yet.
    is_hostile: bool,
}

impl Seen {
    fn request(&mut self, method: &str, path: &str) {
        let parts: Vec<&str> = path.split('/').collect();
        let Some(at) = parts.iter().position(|part| *part == "namespaces") else { return };
        let (Some(namespace), Some(resource), Some(name)) = (parts.get(at + 1), parts.get(at + 2), parts.get(at + 3))
        else {
            return;
        };
        if method != "GET" && *resource != "leases" {
            self.wrote = Some(Instant::now());
        }
        match (method, *resource) {
            ("PUT", "leases") => self.renewals.push(Instant::now()),
            ("PATCH", "deployments") => self.answered(&format!("{namespace}/{name}")),
            ("PUT", "replicasets") => {
                let deployment = name.rsplit_once('-').map_or(*name, |(deployment, _)| deployment);
                self.answered(&format!("{namespace}/{deployment}"));
            }
            _ => {}
        }
    }

    fn answered(&mut self, key: &str) {
        if let Some(since) = self.waiting.remove(key) {
            self.delays.push(since.elapsed());
        }
    }
}

/// The controller; it is killed with this.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn measure(row: Hostility, lasts: Duration) -> Outcome<Measured> {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let api = ApiServer::builder().build();
    let hooked = seen.clone();
    api.on_request(move |request| {
        let (method, path) = (request.method().as_str(), request.uri().path());
        let mut seen = lock(&hooked);
        seen.request(method, path);
        let is_write = seen.is_hostile && method != "GET" && path.contains("/namespaces/hostile/");
        if row.is_slow && is_write { Reaction::Delay(SLOW) } else { Reaction::Pass }
    });
    for n in 0..HALF {
        for (namespace, is_hostile) in [(HOSTILE.to_owned(), true), (other(n), false)] {
            api.put_stored(config(row, &namespace, n, 0))?;
            api.put_stored(deployment(row, &namespace, n, is_hostile))?;
        }
    }
    let listening = api.listen(Listen::loopback())?;
    let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let program = start(row, &listening.url(), port)?;
    until_ready(port).await?;
    // What is there at the start leads to writes, too.
    while lock(&seen).wrote.is_some_and(|wrote| wrote.elapsed() < Duration::from_secs(2)) {
        sleep(Duration::from_millis(100)).await;
    }
    lock(&seen).is_hostile = true;

    let mut tasks = JoinSet::new();
    let end = Instant::now() + lasts;
    if row.changes > 0 {
        tasks.spawn(hostile(api.clone(), row, end));
    }
    tasks.spawn(others(api.clone(), row, end, seen.clone()));
    let mut pages = Vec::new();
    for page in ["/livez", "/readyz", "/metrics"] {
        pages.push(tokio::spawn(longest_answer(port, page, end)));
    }
    while tasks.join_next().await.is_some() {}
    // A change may be late by as much as this.
    sleep(lasts).await;
    let mut answers = [Duration::ZERO; 3];
    for (answer, page) in answers.iter_mut().zip(pages) {
        *answer = page.await?;
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", program.0.id()))?;
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse::<u64>().ok());
    let seen = std::mem::take(&mut *lock(&seen));
    let lease = seen.renewals.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or_default();
    Ok(Measured {
        delays: seen.delays,
        lost: seen.waiting.len(),
        answers,
        lease,
        peak: peak.unwrap_or_default() / 1024,
    })
}

fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

fn other(n: usize) -> String {
    format!("other-{}", n % OTHERS)
}

fn config(row: Hostility, namespace: &str, n: usize, version: usize) -> Value {
    let is_large = row.is_large && namespace == HOSTILE;
    let value = if is_large { "x".repeat(VALUE) } else { String::new() };
    // Few are large: the server of this bench keeps all of them.
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
    let Some(mut deployment) = api.stored("deployments")?.get(namespace, &format!("web{n}")) else { return Ok(()) };
    deployment["spec"]["replicas"] = (2 + version % 50).into();
    deployment["metadata"]["generation"] = (1 + version).into();
    api.put_stored(deployment)?;
    Ok(())
}

async fn hostile(api: ApiServer, row: Hostility, end: Instant) {
    let start = Instant::now();
    let mut version = 0;
    while Instant::now() < end {
        while (version as f64) < start.elapsed().as_secs_f64() * f64::from(row.changes) {
            version += 1;
            let n = if row.shares_config { 0 } else { version % HALF };
            if let Err(error) = change(&api, row, HOSTILE, n, version) {
                eprintln!("{error}");
            }
            tokio::task::yield_now().await;
        }
        sleep(Duration::from_millis(5)).await;
    }
}

async fn others(api: ApiServer, row: Hostility, end: Instant, seen: Arc<Mutex<Seen>>) {
    let mut version = 0;
    while Instant::now() < end {
        version += 1;
        let n = version * 7 % HALF;
        lock(&seen).waiting.insert(format!("{}/web{n}", other(n)), Instant::now());
        if let Err(error) = change(&api, row, &other(n), n, version) {
            eprintln!("{error}");
        }
        sleep(Duration::from_millis(100)).await;
    }
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
        // Each Deployment is written several times when it is first seen.
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

/// Waits until it is ready and leads, and has looked at everything once.
async fn until_ready(port: u16) -> Outcome<()> {
    for _ in 0..600 {
        if get(port, "/metrics")
            .await
            .is_ok_and(|text| text.contains("leader_election_master_status{name") && text.contains("\"} 1\n"))
        {
            sleep(Duration::from_secs(3)).await;
            return Ok(());
        }
        sleep(Duration::from_millis(100)).await;
    }
    Err("the controller is not ready within a minute".into())
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
        let answer = tokio::time::timeout(PATIENCE, get(port, path)).await;
        let is_answered = answer.is_ok_and(|answer| answer.is_ok_and(|answer| answer.starts_with("HTTP/1.1 200")));
        longest = longest.max(if is_answered { start.elapsed() } else { PATIENCE });
        sleep(Duration::from_millis(50)).await;
    }
    longest
}
