//! `rollout-controller config-restart` as a process, in real time: xing's environment variables,
//! metrics over HTTP, memory, exit, and no Secrets or keys in its logs.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::pass;
use crate::restarts::{self, fill, secret, workload};
use crate::rights::Rights;
use crate::server::Server;

/// Bytes of each config's value: 1,000 configs have ten megabytes.
const SIZE: usize = 10_000;

fn config(name: &str, value: &str) -> Value {
    let mut config = restarts::config(name, "");
    config["data"] = json!({"k": value.repeat(SIZE)});
    config
}

/// Starts it as xing's controller is started; returns the metrics port as well.
async fn start(server: &Server) -> (Child, u16) {
    // Bound and released, so that no process listens there.
    let metrics = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let path = server.kubeconfig("restarts");
    let mut program = Command::new(env!("CARGO_BIN_EXE_rollout-controller"));
    program.arg("config-restart").arg(format!("--metrics-bind-address=127.0.0.1:{metrics}"));
    program.args(["--kube-api-qps=-1"]).env("RESTART_GRACE_PERIOD", "1").env("RESTART_CHECK_PERIOD", "100");
    let program = program.env("KUBECONFIG", path).env_remove("RUST_LOG").stderr(std::process::Stdio::null());
    (program.spawn().unwrap(), metrics)
}

async fn scrape(port: u16) -> Option<String> {
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.ok()?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n").await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    Some(answer)
}

/// The metrics, once they contain a line.
async fn until(port: u16, line: &str) -> String {
    for _ in 0..1000 {
        if let Some(text) = scrape(port).await.filter(|text| text.lines().any(|text| text == line)) {
            return text;
        }
        pass(Duration::from_millis(20)).await;
    }
    panic!("never {line} in\n{}", scrape(port).await.unwrap_or_default());
}

fn value(text: &str, name: &str) -> String {
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
    line.unwrap_or_else(|| panic!("no {name} in\n{text}")).to_owned()
}

/// Scenarios 68 and 74.
#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::disallowed_methods, reason = "this is about real time")]
async fn thousand_configs_and_two_hundred_workloads_are_adopted_and_restarted() {
    let server = Server::granting(Rights::of_restarts());
    fill(&server, config, workload);
    let start_time = Instant::now();
    let (mut child, port) = start(&server).await;
    let text = until(port, "deployment_restart_controller_deployment_annotation_updates_total 200").await;
    let adopted = start_time.elapsed();
    assert_eq!(value(&text, "deployment_restart_controller_deployment_restarts_total"), "0");
    assert_eq!(value(&text, "deployment_restart_controller_configs_total"), "1000");

    let changed = Instant::now();
    server.put(config("c0", "2"));
    let text = until(port, "deployment_restart_controller_deployment_restarts_total 50").await;
    let restarted = changed.elapsed();
    pass(Duration::from_millis(1500)).await;
    let patches = server.verbs().iter().filter(|verb| verb.starts_with("PATCH ")).count();
    assert_eq!(patches, 250, "each remembered once, and fifty restarted once");
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let memory = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().trim().to_owned();
    println!(
        "adopted after {adopted:?}, all fifty restarted {restarted:?} after the change, at most {memory} in memory"
    );
    assert_eq!(value(&text, "deployment_restart_controller_deployments_total"), "200");

    let stopped = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(stopped.success());
    assert!(child.wait().unwrap().success(), "an orderly end is a success");
}

/// A folder for one test, within the build folder.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Starts it with these arguments and full logging into a file, and waits until the log satisfies a
/// condition.
async fn logs_until(server: &Server, name: &str, arguments: &[&str], done: impl Fn(&str) -> bool) -> String {
    let log = folder(name).join("log");
    let mut program = Command::new(env!("CARGO_BIN_EXE_rollout-controller"));
    program.args(["config-restart", "--metrics-bind-address=0"]).args(arguments);
    program.env("RESTART_GRACE_PERIOD", "1").env("RESTART_CHECK_PERIOD", "100").env("RUST_LOG", "trace");
    program.env("KUBECONFIG", server.kubeconfig(name)).stderr(std::fs::File::create(&log).unwrap());
    let mut child = program.spawn().unwrap();
    let read = || std::fs::read_to_string(&log).unwrap();
    for _ in 0..3000 {
        if done(&read()) || child.try_wait().unwrap().is_some() {
            break;
        }
        pass(Duration::from_millis(20)).await;
    }
    child.kill().ok();
    child.wait().unwrap();
    let text = read();
    assert!(done(&text), "{text}");
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn warns_at_start_without_a_key() {
    let server = Server::granting(Rights::of_restarts());
    let text = logs_until(&server, "no-key", &[], |text| text.contains("Started.") && text.contains("no key")).await;
    let warning = text.lines().find(|line| line.contains("no key")).unwrap();
    assert!(warning.contains("WARN"), "{warning}");
    for remedy in
        ["only ConfigMaps restart workloads", "rollout-controller config-restart-key", "--secret-checksum-keys"]
    {
        assert!(warning.contains(remedy), "{warning}");
    }
}

/// Even at the most verbose level the log has neither the key, nor a Secret's content, nor its
/// checksum.
#[tokio::test(flavor = "multi_thread")]
async fn logs_contain_neither_keys_nor_secrets() {
    let server = Server::granting(Rights::of_restarts());
    let from = json!([{"secretRef": {"name": "s"}}]);
    let mut web = workload("web", "c");
    web["spec"]["template"]["spec"]["containers"][0]["envFrom"] = from;
    server.put(secret("NDkzODE3"));
    server.put(web);
    let key = "68747470733a2f2f676f6c642e6578616d706c652f7265643f626c7565";
    let keys = folder("one-key");
    std::fs::write(keys.join("key"), format!("{key}-and-some-more")).unwrap();
    let flag = format!("--secret-checksum-keys={}", keys.display());
    let annotation = || {
        let web = server.get("deployments/web");
        let text = web["metadata"]["annotations"]["com.xing.deployment-restart.applied-config-checksums"].as_str();
        text.unwrap_or_default().to_owned()
    };
    let first = std::cell::OnceCell::new();
    let text = logs_until(&server, "one-key", &[&flag], |text| {
        let now = annotation();
        if now.contains("hmac-sha256:") && first.get().is_none() {
            first.set(now.clone()).unwrap();
            server.put(secret("MDAwMDAx"));
        }
        first.get().is_some_and(|first| *first != now) && text.contains("restart=true")
    })
    .await;
    let mac = |annotation: &str| annotation.rsplit_once(':').unwrap().1.trim_end_matches(['"', '}']).to_owned();
    let (before, after) = (mac(first.get().unwrap()), mac(&annotation()));
    let plain = ["a788ed0012e95e75", "ea91f6819069c70d"];
    let hidden = [key, "NDkzODE3", "MDAwMDAx", &before, &after, plain[0], plain[1]];
    let leaks: Vec<_> = hidden.into_iter().filter(|hidden| text.contains(hidden)).collect();
    assert_eq!(leaks, [""; 0]);
}

/// The controller accepts the key that is printed.
#[test]
fn prints_a_new_key_each_time() {
    let make = |arguments: &[&str]| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_rollout-controller"));
        let output = program.arg("config-restart-key").args(arguments).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let (one, two) = (make(&[]), make(&["--namespace=elsewhere"]));
    assert_eq!((&one["metadata"]["name"], &one["kind"]), (&json!("config-restart-key"), &json!("Secret")));
    assert_eq!(two["metadata"]["namespace"], "elsewhere");
    let key = |secret: &Value| secret["stringData"]["key"].as_str().unwrap().to_owned();
    assert_eq!(key(&one).len(), 64);
    assert_ne!(key(&one), key(&two));
}
