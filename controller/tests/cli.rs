//! The command line of the program: its output, and its errors when it cannot start.

use std::process::{Command, Output};

fn controller(arguments: &[&str], kubeconfig: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rollout-controller"))
        .args(arguments)
        .env("KUBECONFIG", kubeconfig)
        .env_remove("KUBERNETES_SERVICE_HOST")
        .env_remove("RUST_LOG")
        .output()
        .expect("the program was built")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A kubeconfig for an API server on a local port.
fn kubeconfig(test: &str, port: u16) -> String {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}.kubeconfig"));
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
         clusters: [{{name: c, cluster: {{server: 'http://127.0.0.1:{port}'}}}}]\n\
         users: [{{name: c, user: {{}}}}]\n\
         contexts: [{{name: c, context: {{cluster: c, user: c}}}}]\n"
    );
    std::fs::write(&path, text).expect("a folder for tests");
    path.to_str().expect("UTF-8").to_owned()
}

#[test]
fn says_its_version() {
    let output = controller(&["--version"], "");
    assert!(output.status.success());
    let expected = format!("rollout-controller {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
}

/// The program waits for an unreachable API server, and SIGTERM ends it.
#[test]
fn waits_for_an_api_server_that_does_not_listen() {
    use std::io::{BufRead, BufReader, Read};
    // Bound and released, so that no process listens there.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut child = Command::new(env!("CARGO_BIN_EXE_rollout-controller"))
        .env("KUBECONFIG", kubeconfig("closed", port))
        .env_remove("RUST_LOG")
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let (mut text, mut waits) = (String::new(), 0);
    while waits < 2 {
        let mut line = String::new();
        assert_ne!(log.read_line(&mut line).unwrap(), 0, "it ended: {text}");
        waits += usize::from(line.contains("Waiting for the API server."));
        text += &line;
    }
    for expected in ["cannot reach the API server", "Connection refused", &format!("127.0.0.1:{port}"), "KUBECONFIG"] {
        assert!(text.contains(expected), "{expected} not in {text}");
    }
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    log.read_to_string(&mut text).unwrap();
    assert!(child.wait().unwrap().success(), "{text}");
    assert!(text.contains("Stopped."), "{text}");
}

#[test]
fn refuses_to_start_where_deployments_are_not_served() {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        let read = stream.read(&mut request).unwrap();
        stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
        String::from_utf8_lossy(&request[..read]).into_owned()
    });
    let output = controller(&[], &kubeconfig("not-served", port));
    assert!(server.join().unwrap().starts_with("GET /apis/apps/v1 "));
    assert!(!output.status.success());
    let text = stderr(&output);
    assert!(text.contains("does not serve apps/v1"), "{text}");
}

#[test]
fn refuses_a_kubeconfig_that_is_not_there() {
    let output = controller(&["--kubeconfig", "does-not-exist.yaml"], "");
    assert!(!output.status.success());
    assert!(stderr(&output).contains("does-not-exist.yaml"), "{}", stderr(&output));
}

#[test]
fn refuses_to_run_without_workers() {
    let output = controller(&["--concurrent-deployment-syncs", "0"], "");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn refuses_flags_that_make_no_sense_together() {
    for (flag, remedy) in [
        ("--leader-elect-lease-duration=5s", "must be greater than the renew deadline"),
        ("--kube-api-qps=0", "-1 for no limit"),
        ("--metrics-bind-address=8080", ":PORT"),
        ("--namespace=../kube-system", "not a valid namespace name"),
        ("--metrics-secure", "--metrics-bind-address"),
        ("--metrics-cert-path=/certs", "--metrics-secure"),
    ] {
        let output = controller(&[flag], "");
        assert_eq!(output.status.code(), Some(2), "{flag}");
        assert!(stderr(&output).contains(remedy), "{}", stderr(&output));
    }
}

#[test]
fn refuses_an_address_in_use() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = format!("--metrics-bind-address={}", listener.local_addr().unwrap());
    let output = controller(&[&taken], &kubeconfig("taken", 1));
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("cannot listen on 127.0.0.1:"), "{}", stderr(&output));
}

/// Scenario 71.
#[test]
fn config_restart_prints_version_and_help() {
    let output = controller(&["config-restart", "--version"], "");
    assert!(output.status.success());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains(env!("CARGO_PKG_VERSION")) && text.contains("linux/"), "{text}");
    assert!(controller(&["config-restart", "--help"], "").status.success());
}

#[test]
fn config_restart_names_the_flag_of_a_bad_value() {
    for flag in ["--restart-check-period=0", "--restart-grace-period=5s", "--restart-profile=x", "--kube-api-qps=0"] {
        let output = controller(&["config-restart", flag], "");
        assert_eq!(output.status.code(), Some(2), "{flag}");
        assert!(stderr(&output).contains(flag.split_once('=').unwrap().0), "{}", stderr(&output));
    }
}

#[test]
fn names_the_flag_of_a_bad_environment_variable() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_rollout-controller"));
    let output = program.arg("config-restart").env("RESTART_GRACE_PERIOD", "5s").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--restart-grace-period"), "{}", stderr(&output));
}

/// An invalid proxy setting fails at once, and its password is not logged.
#[test]
fn refuses_an_unusable_proxy() {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("bad-proxy.kubeconfig");
    let text = std::fs::read_to_string(kubeconfig("bad-proxy", 1)).unwrap().replace("127.0.0.1", "10.0.0.1");
    std::fs::write(&path, text).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_rollout-controller"))
        .env("KUBECONFIG", path)
        .env("HTTP_PROXY", "socks5://user:s3cret@127.0.0.1:1080")
        .env_remove("NO_PROXY")
        .env_remove("no_proxy")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(text.contains("HTTP_PROXY") && text.contains("unsupported scheme socks5"), "{text}");
    assert!(!text.contains("s3cret"), "{text}");
}

/// Otherwise `-v` would leave out what it does.
#[test]
fn log_targets_are_the_crates_that_log() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let below =
        std::fs::read_dir(folder.join("crates")).expect("the crates").map(|entry| entry.expect("a crate").path());
    let manifests =
        below.chain([folder.to_owned()]).map(|at| std::fs::read_to_string(at.join("Cargo.toml")).expect("a manifest"));
    let logging = manifests.filter(|manifest| manifest.lines().any(|line| line == "tracing.workspace = true"));
    let name = |manifest: String| {
        manifest.lines().find_map(|line| line.strip_prefix("name = ").map(|name| name.replace('-', "_")))
    };
    let crates: std::collections::BTreeSet<String> =
        logging.filter_map(name).map(|name| name.trim_matches('"').to_owned()).collect();
    assert_eq!(crates, rollout_controller::LOG_TARGETS.map(str::to_owned).into());
}
