//! The program as a process, in real time, against a server in this process: signals, logs, and
//! exit codes.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::requests::failure;
use crate::server::Server;
use crate::{deployment, pass};

const LEASE: &str = "leases/rollout-controller";

/// Starts the program and waits until it holds the lease.
async fn start(server: &Server, test: &str) -> Child {
    let path = server.kubeconfig(test);
    let mut program = Command::new(env!("CARGO_BIN_EXE_rollout-controller"));
    program.args(["--logging-format=json", "--leader-elect-resource-namespace=default"]);
    program.args(["--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s"]);
    program.arg("--leader-elect-retry-period=100ms").env("KUBECONFIG", path).env_remove("RUST_LOG");
    let child = program.stderr(Stdio::piped()).spawn().unwrap();
    until(|| !holder(server).is_empty()).await;
    child
}

async fn until(mut holds: impl FnMut() -> bool) {
    for _ in 0..3000 {
        if holds() {
            return;
        }
        pass(Duration::from_millis(10)).await;
    }
    panic!("it never came to this")
}

fn holder(server: &Server) -> String {
    server.get(LEASE)["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned()
}

fn terminate(child: &Child) {
    let status = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// Its exit code and its log.
async fn wait_for_exit(mut child: Child) -> (Option<i32>, Vec<Value>) {
    until(|| child.try_wait().unwrap().is_some()).await;
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_releases_the_lease_and_exits_with_zero() {
    let server = Server::default();
    server.put(deployment());
    let child = start(&server, "terminated").await;
    until(|| !server.all("replicasets").is_empty()).await;
    assert!(holder(&server).contains('_'), "a host and something of its own");
    terminate(&child);
    let (code, log) = wait_for_exit(child).await;
    assert_eq!(code, Some(0), "{log:?}");
    assert_eq!(holder(&server), "");
    let messages: Vec<_> = log.iter().map(|line| line["message"].as_str().unwrap()).collect();
    assert_eq!(messages.last(), Some(&"Stopped."));
    assert!(messages.contains(&"Gave the lease back."), "{messages:?}");
}

/// The first SIGTERM waits for running work and keeps the lease meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn second_sigterm_exits_at_once() {
    let server = Server::default();
    server.requests().hangs = Some("POST replicasets");
    server.put(deployment());
    let mut child = start(&server, "twice").await;
    until(|| server.paths().iter().any(|path| path.starts_with("POST ") && path.ends_with("replicasets"))).await;
    terminate(&child);
    pass(Duration::from_millis(500)).await;
    assert!(child.try_wait().unwrap().is_none(), "it finishes its work");
    terminate(&child);
    let (code, log) = wait_for_exit(child).await;
    assert_eq!(code, Some(1), "{log:?}");
    assert_ne!(holder(&server), "", "there was no time to give it back");
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_lease_exits_with_an_error() {
    let server = Server::default();
    let child = start(&server, "lost").await;
    server.interfere(|verb, _| verb.contains("leases").then(|| failure(500, "InternalError", "no")));
    let (code, log) = wait_for_exit(child).await;
    assert_eq!(code, Some(1));
    let last = log.last().unwrap();
    assert!(last["error"].as_str().unwrap().starts_with("leaderelection lost: "), "{last}");
}
