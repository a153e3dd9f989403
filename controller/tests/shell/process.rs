//! The process around the controllers: metrics, probes, limits, and the restriction to a namespace.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

use rollout_controller::{Election, Endpoint, Metrics, Pages, ProcessOptions, RateLimit, Settings, run, serve};
use rstest::rstest;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Handle};
use tokio::time::timeout;

use crate::server::Server;
use crate::{deployment, pass};

async fn get(at: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(at).await.unwrap();
    stream.write_all(format!("{request} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

async fn until(at: SocketAddr, request: &str, expected: &str) -> String {
    for _ in 0..500 {
        let answer = get(at, request).await;
        if answer.contains(expected) {
            return answer;
        }
        pass(Duration::from_millis(20)).await;
    }
    panic!("{request} never had {expected}")
}

/// In real time, over real sockets.
#[tokio::test]
async fn answers_metrics_and_probes() {
    let server = Server::default();
    server.requests().refuses_lists = true;
    server.put(deployment());
    let at = "127.0.0.1:0".parse().unwrap();
    let mut endpoints = Endpoint::open(at, "0".parse().unwrap()).await.unwrap();
    endpoints.extend(Endpoint::open("0".parse().unwrap(), at).await.unwrap());
    let [(metrics, Pages::Metrics), (probes, Pages::Probes)] = [endpoints[0].at().unwrap(), endpoints[1].at().unwrap()]
    else {
        panic!("{endpoints:?}")
    };
    let process = ProcessOptions { endpoints, ..ProcessOptions::default() };
    let task = tokio::spawn(serve(server.client(), Settings::default(), process, std::future::pending()));

    let answer = get(probes, "GET /readyz").await;
    assert!(answer.starts_with("HTTP/1.1 500 "), "{answer}");
    assert!(answer.contains("[-]caches-synced failed: "), "{answer}");
    for probe in ["/livez", "/healthz"] {
        let answer = get(probes, &format!("GET {probe}")).await;
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\nok"), "{answer}");
    }
    server.requests().refuses_lists = false;
    let answer = until(probes, "GET /readyz", "HTTP/1.1 200 ").await;
    assert!(answer.ends_with("\r\n\r\nok"), "{answer}");

    let answer = until(metrics, "GET /metrics", "syncs_total{controller=\"deployment\",result=\"success\"}").await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(answer.contains("content-type: application/openmetrics-text; version=1.0.0"), "{answer}");
    assert!(answer.contains("\nworkqueue_depth{name=\"deployment\"} "), "{answer}");
    assert!(answer.contains("\nprocess_resident_memory_bytes ") || !cfg!(target_os = "linux"), "{answer}");

    for (at, request, status) in [
        (probes, "GET /metrics", "404"),
        (metrics, "GET /readyz", "404"),
        (metrics, "GET /", "404"),
        (metrics, "POST /metrics", "405"),
        (metrics, "HEAD /metrics", "200"),
        (metrics, "GET ?", "400"),
    ] {
        let answer = get(at, request).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request}: {answer}");
    }
    task.abort();
}

/// One endpoint for metrics and probes, and its address.
async fn one_endpoint() -> (Vec<Endpoint>, SocketAddr) {
    let at = "127.0.0.1:0".parse().unwrap();
    let endpoints = Endpoint::open(at, at).await.unwrap();
    let (at, _) = endpoints[0].at().unwrap();
    (endpoints, at)
}

/// The runtime of the probes and the lease, for all tests.
fn probe_runtime() -> Handle {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let handle = runtime.handle().clone();
    std::thread::spawn(move || runtime.block_on(std::future::pending::<()>()));
    handle
}

/// The controllers' runtime has one thread here, and the test blocks it.
#[tokio::test]
async fn probes_and_lease_renewal_continue_while_decisions_block_their_thread() {
    let server = Server::default();
    let (endpoints, at) = one_endpoint().await;
    let election = Election {
        lease_duration: Duration::from_secs(60),
        renew_deadline: Duration::from_secs(50),
        retry_period: Duration::from_millis(5),
        ..Election::new("default", "rollout-controller", "me")
    };
    let probe_runtime = probe_runtime();
    // A client's background task runs in the runtime that created the client.
    let lease = Some({
        let _within = probe_runtime.enter();
        server.client()
    });
    let process = ProcessOptions {
        endpoints,
        election: Some(election),
        lease,
        runtime: Some(probe_runtime),
        ..ProcessOptions::default()
    };
    let task = tokio::spawn(serve(server.client(), Settings::default(), process, std::future::pending()));
    until(at, "GET /metrics", "leader_election_master_status{name=\"rollout-controller\"} 1").await;

    for probe in ["/livez", "/readyz", "/metrics"] {
        let mut stream = std::net::TcpStream::connect(at).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream.write_all(format!("GET {probe} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{probe}: {answer}");
    }
    let renewals = || {
        server.paths().iter().filter(|path| path.starts_with("PUT") && path.ends_with("/rollout-controller")).count()
    };
    let before = renewals();
    for _ in 0..3000 {
        if renewals() >= before + 3 {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(renewals() >= before + 3, "the lease is not renewed");
    task.abort();
}

/// More idle connections than the limit, none of which times out during the test.
#[tokio::test]
async fn idle_connections_do_not_lock_out_probes() {
    let server = Server::default();
    let (endpoints, at) = one_endpoint().await;
    let process = ProcessOptions { endpoints, ..ProcessOptions::default() };
    let task = tokio::spawn(serve(server.client(), Settings::default(), process, std::future::pending()));
    let mut silent = Vec::new();
    for _ in 0..400 {
        silent.push(TcpStream::connect(at).await.unwrap());
    }
    // Each may be idle for five seconds. Served 32 at a time, that took over a minute.
    for probe in ["/livez", "/readyz", "/metrics"] {
        let answer = timeout(Duration::from_secs(30), get(at, &format!("GET {probe}"))).await.expect(probe);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
    drop(silent);
    task.abort();
}

/// It retries with a back-off while the API server rejects it: roles and tokens may come later.
#[tokio::test(start_paused = true)]
async fn waits_until_the_api_server_accepts_its_token() {
    let server = Server::default();
    server.put(deployment());
    server.requests().token = Some("another's");
    let task =
        tokio::spawn(serve(server.client(), Settings::default(), ProcessOptions::default(), std::future::pending()));
    pass(Duration::from_secs(120)).await;
    assert!(!task.is_finished());
    let attempts = server.requests().refused.len();
    assert!((10..=20).contains(&attempts), "{attempts} attempts in two minutes");
    server.requests().token = None;
    pass(Duration::from_secs(11)).await;
    assert_eq!(server.all("replicasets").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn stops_at_once_while_waiting_for_the_api_server() {
    let server = Server::default();
    server.requests().token = Some("another's");
    let ends = serve(server.client(), Settings::default(), ProcessOptions::default(), pass(Duration::from_secs(4)));
    timeout(Duration::from_secs(5), ends).await.expect("it goes on waiting").unwrap();
}

/// It is live while it waits, or the kubelet would restart it, but not ready.
#[tokio::test]
async fn answers_probes_while_waiting_for_the_api_server() {
    let server = Server::default();
    server.requests().token = Some("another's");
    let (endpoints, at) = one_endpoint().await;
    let process = ProcessOptions { endpoints, ..ProcessOptions::default() };
    let task = tokio::spawn(serve(server.client(), Settings::default(), process, std::future::pending()));
    assert!(get(at, "GET /livez").await.starts_with("HTTP/1.1 200 "));
    assert!(get(at, "GET /readyz").await.starts_with("HTTP/1.1 500 "));
    server.requests().token = None;
    until(at, "GET /readyz", "HTTP/1.1 200 ").await;
    task.abort();
}

#[tokio::test]
async fn one_address_can_serve_metrics_and_probes() {
    let at = format!("127.0.0.1:{}", free_port());
    let endpoints = Endpoint::open(at.parse().unwrap(), at.parse().unwrap()).await.unwrap();
    assert_eq!(endpoints.len(), 1);
    assert_eq!(endpoints[0].at().unwrap(), (at.parse().unwrap(), Pages::All));
    let error = Endpoint::open(at.parse().unwrap(), "0".parse().unwrap()).await.unwrap_err();
    assert!(error.to_string().starts_with(&format!("cannot listen on {at}: ")), "{error}");
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// One write per second. Lists and watches are not limited, so the first list is immediate.
#[rstest]
#[case::unlimited(None, 0)]
#[case::one_a_second(Some(RateLimit { qps: 1.0, burst: 1 }), 4)]
#[tokio::test(start_paused = true)]
async fn requests_stay_within_the_rate_limit(#[case] rate_limit: Option<RateLimit>, #[case] expected: u64) {
    let server = Server::default();
    let mut web = deployment();
    for name in ["a", "b", "c", "d", "e"] {
        web["metadata"]["name"] = name.into();
        web["metadata"]["uid"] = name.into();
        server.put(web.clone());
    }
    let settings = Settings { rate_limit, ..Settings::default() };
    let client = server.client();
    tokio::spawn(async move { run(client, settings, std::future::pending()).await.unwrap() });
    let mut took = 0;
    pass(Duration::from_millis(50)).await;
    while server.all("replicasets").len() < 5 {
        pass(Duration::from_secs(1)).await;
        took += 1;
    }
    assert!((expected..=expected * 3).contains(&took), "{took} s");
}

#[tokio::test(start_paused = true)]
async fn requests_stay_within_the_namespace() {
    let server = Server::default();
    server.put(deployment());
    let settings = Settings { namespace: Some("default".to_owned()), ..Settings::default() };
    run(server.client(), settings, pass(Duration::from_secs(1))).await.unwrap();
    assert_eq!(server.all("replicasets").len(), 1);
    let paths = server.paths();
    assert!(paths.iter().all(|path| path.contains("/namespaces/default/")), "{paths:?}");
    for kind in ["apps/v1/namespaces/default/deployments", "api/v1/namespaces/default/pods"] {
        assert!(paths.iter().any(|path| path.starts_with("GET ") && path.ends_with(kind)), "{kind}");
    }
}

/// Metrics of a controller with work to do.
#[tokio::test(start_paused = true)]
async fn metrics_count_adds_retries_and_syncs() {
    let server = Server::default();
    server.put(deployment());
    let metrics = Metrics::default();
    let process = ProcessOptions { metrics: metrics.clone(), ..ProcessOptions::default() };
    serve(server.client(), Settings::default(), process, pass(Duration::from_secs(1))).await.unwrap();
    let text = metrics.text();
    let value = |name: &str| -> u64 {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{name} in {text}"));
        line.trim().parse().unwrap()
    };
    let queue = "{name=\"deployment\"}";
    let adds = value(&format!("workqueue_adds_total{queue}"));
    assert!(adds >= 2, "the Deployment, and its ReplicaSet's news");
    assert_eq!(value(&format!("workqueue_queue_duration_seconds_count{queue}")), adds);
    assert_eq!(value(&format!("workqueue_work_duration_seconds_count{queue}")), adds);
    assert!(value(&format!("workqueue_retries_total{queue}")) >= 1, "the deadline");
    assert!(value("rollout_controller_syncs_total{controller=\"deployment\",result=\"success\"}") >= 1);
}
