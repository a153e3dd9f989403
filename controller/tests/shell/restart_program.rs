//! `rollout-controller config-restart` as a process, in real time: xing's environment, its metrics over HTTP, its memory, its end.

use std::net::TcpListener;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::pass;
use crate::restarts::fill;
use crate::server::Server;

/// Bytes of each config's value: 1,000 of them are ten megabytes.
const SIZE: usize = 10_000;

fn config(name: &str, value: &str) -> Value {
    json!({"metadata": {"name": name}, "data": {"k": value.repeat(SIZE)}})
}

fn workload(name: &str, config: &str) -> Value {
    let containers = json!([{"name": "c", "envFrom": [{"configMapRef": {"name": config}}]}]);
    json!({
        "metadata": {"name": name, "uid": name, "annotations": {"com.xing.deployment-restart": "enabled"}},
        "spec": {"replicas": 1, "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": containers}}},
    })
}

/// Starts it as xing's would be; returns where it answers metrics, too.
async fn start(server: &Server) -> (Child, u16) {
    // Bound and let go of, so that nobody is there.
    let metrics = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let path = server.kubeconfig("restarts").await;
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

/// The text of the metrics once a line is among them.
async fn until(port: u16, line: &str) -> String {
    for _ in 0..1000 {
        if let Some(text) = scrape(port).await.filter(|text| text.lines().any(|shown| shown == line)) {
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
async fn a_thousand_configs_and_two_hundred_workloads() {
    let server = Server::for_restarts();
    fill(&server, config, workload);
    let began = Instant::now();
    let (mut child, port) = start(&server).await;
    let text = until(port, "deployment_restart_controller_deployment_annotation_updates_total 200").await;
    let adopted = began.elapsed();
    assert_eq!(value(&text, "deployment_restart_controller_deployment_restarts_total"), "0");
    assert_eq!(value(&text, "deployment_restart_controller_configs_total"), "1000");

    let changed = Instant::now();
    server.put("configmaps", config("c0", "2"));
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
