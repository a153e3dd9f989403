//! `lockstep watch` with a running controller, over HTTP and in real time. It does not report the
//! correct controller. For a wrong one it prints a line, posts to the webhook, writes an Event,
//! counts a metric, and stores evidence that replays.

use std::convert::Infallible;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderValue, USER_AGENT};
use hyper::service::service_fn;
use hyper::{Request, Response, Uri};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::rt::{TokioExecutor, TokioIo};
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use kube_apiserver_sim::{ApiServer, ControllerMode, ListenHandle, ListenOptions};
use lockstep_support::clock;
use rollout_controller::deployment::DeploymentAction;
use rollout_controller::{ControllerName, DeploymentPlan, ObservedDeployment, Planner, RuleSettings, Settings, plan};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

/// The timeout of each wait.
const PATIENCE: Duration = Duration::from_secs(60);
/// The polling interval.
const LOOK: Duration = Duration::from_millis(100);

/// A simulated server with Deployment and ReplicaSet controllers, and a kubelet that makes pods
/// ready after a delay.
struct Cluster {
    user: Client,
    folder: tempfile::TempDir,
    _listening: ListenHandle,
    _tasks: JoinSet<()>,
}

impl Cluster {
    async fn start(planner: Planner, kubelet: Duration) -> Self {
        let server = ApiServer::builder().controllers(ControllerMode::Background).clock(clock::now).build();
        let listening = server.listen(ListenOptions::loopback()).expect("a port");
        let client = |agent: &'static str| {
            let mut config = kube::Config::new(listening.url().parse().expect("an address"));
            config.headers.push((USER_AGENT, HeaderValue::from_static(agent)));
            Client::try_from(config).expect("a client")
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(server.run_controllers());
        let controllers = [ControllerName::Deployment, ControllerName::ReplicaSet].into_iter().collect();
        let settings = Settings { controllers, ..Settings::default() };
        let controller = client("some-controller");
        tasks.spawn(async move {
            let ended = rollout_controller::run_with(controller, settings, planner, std::future::pending()).await;
            panic!("the controller ended: {ended:?}");
        });
        tasks.spawn(make_ready(client("kubelet"), kubelet));
        let folder = tempfile::tempdir().expect("a folder");
        let kubeconfig = json!({"apiVersion": "v1", "kind": "Config", "current-context": "prod",
            "clusters": [{"name": "prod", "cluster": {"server": listening.url()}}],
            "users": [{"name": "me", "user": {}}],
            "contexts": [{"name": "prod", "context": {"cluster": "prod", "user": "me"}}]});
        std::fs::write(folder.path().join("config"), kubeconfig.to_string()).expect("writable");
        Self { user: client("kubectl"), folder, _listening: listening, _tasks: tasks }
    }

    fn deployments(&self) -> Api<Deployment> {
        Api::default_namespaced(self.user.clone())
    }

    async fn patch(&self, patch: Value) {
        let patched = self.deployments().patch("web", &PatchParams::default(), &Patch::Strategic(patch)).await;
        patched.expect("it is there");
    }

    /// Waits until the rollout is complete.
    async fn complete(&self) {
        let is_complete = async || {
            let web = self.deployments().get("web").await.expect("it is there");
            let wanted = web.spec.as_ref().and_then(|spec| spec.replicas);
            let status = web.status.clone().unwrap_or_default();
            status.observed_generation == web.metadata.generation
                && [status.replicas, status.updated_replicas, status.available_replicas] == [wanted; 3]
        };
        until("the rollout is complete", is_complete).await;
    }

    async fn roll_out(&self, image: &str) {
        self.patch(json!({"spec": {"template": {"spec": {"containers": [{"name": "app", "image": image}]}}}})).await;
        self.complete().await;
    }

    async fn create(&self) {
        let web = json!({"metadata": {"name": "web"}, "spec": {"replicas": 4, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app", "image": "app:1"}]}}}});
        let web = serde_json::from_value(web).expect("a Deployment");
        self.deployments().create(&PostParams::default(), &web).await.expect("it can be created");
        self.complete().await;
    }

    /// Starts `lockstep watch` with these times and flags.
    async fn watch(&self, [staleness, settle]: [u64; 2], flags: &[&str]) -> (Child, Uri) {
        let port = TcpListener::bind("127.0.0.1:0").await.and_then(|free| free.local_addr()).expect("a port").port();
        let metrics = format!("127.0.0.1:{port}");
        let config = self.folder.path().join("config").display().to_string();
        let child = Command::new(env!("CARGO_BIN_EXE_lockstep"))
            .args(["watch", "--kubeconfig", &config, "--metrics", &metrics])
            .args(["--staleness", &format!("{staleness}s"), "--settle", &format!("{settle}s")])
            .args(flags)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("it starts");
        let page: Uri = format!("http://{metrics}/metrics").parse().expect("an address");
        until("it has seen the Deployment", async || has(&page, "lockstep_watch_deployments 1").await).await;
        // Findings are reported only when they are older than a controller's cache may be.
        clock::pause(Duration::from_secs(staleness + 1)).await;
        (child, page)
    }
}

async fn until(message: &str, mut holds: impl AsyncFnMut() -> bool) {
    let since = clock::instant();
    while !holds().await {
        assert!(since.elapsed() < PATIENCE, "not within {PATIENCE:?}: {message}");
        clock::pause(LOOK).await;
    }
}

/// Whether a page contains this line.
async fn has(page: &Uri, line: &str) -> bool {
    let client: HttpClient<_, Full<Bytes>> = HttpClient::builder(TokioExecutor::new()).build_http();
    let Ok(answer) = client.get(page.clone()).await else { return false };
    let Ok(body) = answer.into_body().collect().await else { return false };
    String::from_utf8_lossy(&body.to_bytes()).lines().any(|one| one == line)
}

async fn make_ready(client: Client, takes: Duration) {
    let pods: Api<Pod> = Api::default_namespaced(client);
    loop {
        clock::pause(LOOK).await;
        for pod in pods.list(&ListParams::default()).await.map(|list| list.items).unwrap_or_default() {
            let age = pod.creation_timestamp().map(|created| clock::now().duration_since(created.0));
            let is_ready = pod.status.as_ref().is_some_and(|status| status.phase.as_deref() == Some("Running"));
            if is_ready || age.is_none_or(|age| age < takes.try_into().expect("short")) {
                continue;
            }
            let now = Timestamp::to_string(&clock::now());
            let ready = json!({"type": "Ready", "status": "True", "lastTransitionTime": now});
            let patch = json!({"status": {"phase": "Running", "conditions": [ready]}});
            // It may have been deleted.
            pods.patch_status(&pod.name_any(), &PatchParams::default(), &Patch::Strategic(patch)).await.ok();
        }
    }
}

/// Stops it as a cluster stops a pod; returns its output.
async fn end(child: Child) -> (String, Option<i32>) {
    let pid = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?)).expect("it runs");
    kill_process(pid, Signal::TERM).expect("it can be ended");
    let output = tokio::time::timeout(PATIENCE, child.wait_with_output()).await.expect("it ends").expect("it ran");
    eprintln!("{}", String::from_utf8_lossy(&output.stderr));
    (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code())
}

#[tokio::test(flavor = "multi_thread")]
async fn correct_controller_is_not_reported() {
    let cluster = Cluster::start(Arc::new(plan), Duration::from_millis(300)).await;
    cluster.create().await;
    let settle = 6;
    let (child, page) = cluster.watch([3, settle], &[]).await;
    cluster.roll_out("app:2").await;
    cluster.patch(json!({"spec": {"replicas": 2}})).await;
    cluster.complete().await;
    cluster.roll_out("app:3").await;
    // Long enough to check the statuses.
    clock::pause(Duration::from_secs(settle + 5)).await;
    assert!(has(&page, "lockstep_watch_gaps_total 0").await);
    assert!(!has(&page, "lockstep_watch_versions_total 0").await);
    assert_eq!(end(child).await, (String::new(), Some(143)));
}

/// Considers every pod available, and so deletes old ones at once.
fn eager(observed: &ObservedDeployment, now: Timestamp, settings: &RuleSettings) -> DeploymentPlan {
    let mut all_available = observed.clone();
    for set in &mut all_available.replica_sets {
        let set = Arc::make_mut(set);
        set.status.available_replicas = set.spec.replicas;
    }
    let is_status = |action: &DeploymentAction| matches!(action, DeploymentAction::UpdateStatus(_));
    let (mut decided, honest) = (plan(&all_available, now, settings), plan(observed, now, settings));
    decided.steps.retain(|step| !is_status(&step.action));
    decided.steps.extend(honest.steps.into_iter().filter(|step| is_status(&step.action)));
    decided.requeue = honest.requeue;
    decided
}

/// A webhook that records the posted messages.
async fn webhook() -> (String, Arc<Mutex<Vec<Value>>>, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = format!("http://{}/breach", listener.local_addr().expect("an address"));
    let posted: Arc<Mutex<Vec<Value>>> = Arc::default();
    let taken = Arc::clone(&posted);
    let mut task = JoinSet::new();
    task.spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let taken = Arc::clone(&taken);
            let service = service_fn(move |request: Request<Incoming>| {
                let taken = Arc::clone(&taken);
                async move {
                    let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
                    taken.lock().expect("unpoisoned").extend(serde_json::from_slice::<Value>(&body));
                    Ok::<_, Infallible>(Response::new(Full::new(Bytes::new())))
                }
            });
            tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(socket), service));
        }
    });
    (address, posted, task)
}

fn lockstep(arguments: &[&str]) -> (String, Option<i32>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_lockstep"));
    let output = command.current_dir(root).args(arguments).output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (text, output.status.code())
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_controller_is_reported_with_evidence() {
    let cluster = Cluster::start(Arc::new(eager), Duration::from_secs(2)).await;
    cluster.create().await;
    let (address, posted, _task) = webhook().await;
    let evidence = cluster.folder.path().join("evidence");
    let flags = ["--events", "--webhook", &address, "--evidence", &evidence.display().to_string()];
    let (child, _) = cluster.watch([1, 12], &flags).await;
    cluster.roll_out("app:2").await;
    until("the breach is posted", async || !posted.lock().expect("unpoisoned").is_empty()).await;
    let body = posted.lock().expect("unpoisoned")[0].clone();
    assert_eq!((&body["rule"], &body["deployment"]), (&json!("availability"), &json!("web")), "{body}");
    let events: Api<Event> = Api::default_namespaced(cluster.user.clone());
    let is_written = async || {
        let all = events.list(&ListParams::default()).await.expect("events");
        all.items.iter().any(|event| event.reason.as_deref() == Some("InvariantBroken"))
    };
    until("the Event is written", is_written).await;
    let (text, code) = end(child).await;
    assert_eq!(code, Some(143));
    assert!(text.contains("default/web availability: web keeps ") && text.contains("(evidence: "), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    let file = body["evidence"].as_str().expect("a file").to_owned();
    let (case, code) = lockstep(&["case", &file]);
    assert!(code == Some(0) && case.contains("- set: {image: \"app:2\"}"), "{code:?} {case}");
    let (replayed, code) = lockstep(&["replay", &file, "--subject", "ours"]);
    assert_eq!(code, Some(1), "{replayed}");
}

/// The manifest grants exactly the rights in use.
#[test]
fn manifest_grants_only_the_rights_in_use() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/watch");
    let text = std::fs::read_to_string(root.join("cluster-role.yaml")).expect("readable");
    let first = text.split("\n---\n").next().expect("a document");
    let role: Value = serde_yaml::from_str(first).expect("YAML");
    let rights: Vec<String> = role["rules"].as_array().expect("rules").iter().map(Value::to_string).collect();
    let expected = [
        json!({"apiGroups": ["apps"], "resources": ["deployments", "replicasets"], "verbs": ["list", "watch"]}),
        json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]}),
    ];
    assert_eq!(rights, expected.map(|rule| rule.to_string()));
    let text = std::fs::read_to_string(root.join("deployment.yaml")).expect("readable");
    let deployment: Deployment = serde_yaml::from_str(&text).expect("a Deployment");
    let pod = deployment.spec.and_then(|spec| spec.template.spec).expect("a pod");
    let words = pod.containers[0].args.clone().unwrap_or_default();
    let words = std::iter::once("lockstep".to_owned()).chain(words).map(Into::into);
    lockstep::cli::Cli::read(words).expect("the arguments are flags");
}
