//! Rollouts by rollout-controller and by kube-controller-manager, in turn, on one real API server.
//!
//! Each round starts one of the two, lets it make the Deployments, changes the image of all of them
//! at once, and measures until the last is complete. Pods become ready as soon as they exist, so
//! that the controller and the server are all that takes time. Both have the same limits and
//! workers. Writes and conflicts are counted by the API server.
//!
//! A second table has the same rollouts where the controller limits the rate: it is stopped for
//! nine tenths of the time (SIGSTOP), and the server is not. A third has the memory of both with
//! many Deployments as users write them: with variables, probes, volumes and the annotation of
//! `kubectl apply`. The last is about a leader that ends while another instance stands by.
//!
//! It measures and judges nothing. A controller without optimisation says little:
//!
//! ```text
//! cargo build --release --package rollout-controller
//! LOCKSTEP_CONTROLLER=target/release/rollout-controller cargo bench --package lockstep --bench beside_upstream
//! ```

mod process;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use lockstep::clock;
use lockstep::cluster::{self, Cluster, DEFAULT_VERSION, Plan};
use lockstep::observe::namespace::{make_namespace, remove_namespace};
use lockstep::supervise::{Child, Spec, Supervisor};
use process::{Usage, controller, usage};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Deployments of a round, unless LOCKSTEP_ROLLOUTS says otherwise.
const ROLLOUTS: usize = 150;
/// Replicas of each.
const REPLICAS: i32 = 10;
/// Rounds of each controller, unless LOCKSTEP_ROUNDS says otherwise.
const ROUNDS: usize = 3;
/// Pods that are made ready at the same time.
const NODES: usize = 16;
/// Where the controller limits, it runs for so long, again and again,
const RUNS: Duration = Duration::from_millis(2);
/// and is stopped for so long in between: not longer than the server takes for a few requests, or
/// waiting for answers would limit.
const STOPS: Duration = Duration::from_millis(18);
/// Deployments as users write them, for each of the two, unless LOCKSTEP_MANIFESTS says otherwise.
const MANIFESTS: &str = "1000 3000";
/// Longer than either takes on a slow machine.
const PATIENCE: Duration = Duration::from_secs(280);

fn main() -> Outcome<()> {
    lockstep::runner::main_if_asked();
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(both())
}

/// One of the two controllers.
struct Contender {
    title: &'static str,
    program: PathBuf,
    flags: Vec<String>,
}

fn contenders() -> Outcome<[Contender; 2]> {
    let common = ["--kube-api-qps=2000", "--kube-api-burst=4000", "--concurrent-deployment-syncs=5"];
    let with = |more: &[&str]| common.iter().chain(more).map(|flag| (*flag).to_owned()).collect();
    Ok([
        Contender {
            title: "kube-controller-manager",
            program: cluster::binaries(DEFAULT_VERSION)?.program("kube-controller-manager"),
            flags: with(&["--controllers=deployment-controller,replicaset-controller", "--secure-port=0"]),
        },
        Contender {
            title: "rollout-controller",
            program: controller()?,
            flags: with(&["--controllers=deployment,replicaset"]),
        },
    ])
}

async fn both() -> Outcome<()> {
    let number = |name: &str, otherwise: usize| std::env::var(name).map_or(Ok(otherwise), |text| text.parse());
    let (rollouts, rounds) = (number("LOCKSTEP_ROLLOUTS", ROLLOUTS)?, number("LOCKSTEP_ROUNDS", ROUNDS)?);
    let manifests = std::env::var("LOCKSTEP_MANIFESTS").unwrap_or_else(|_| MANIFESTS.to_owned());
    let manifests = manifests.split_whitespace().map(str::parse).collect::<Result<Vec<usize>, _>>()?;
    let contenders = contenders()?;
    let cluster = cluster::boot(&Plan::new(DEFAULT_VERSION).without("deployment,replicaset".parse()?)).await?;
    let folder = tempfile::tempdir()?;
    let supervisor = Supervisor::start(folder.path(), false)?;
    let bench = Bench { client: cluster.access().admin_client().await?, cluster, supervisor, folder };
    let measured = bench.tables(&contenders, rollouts, rounds, &manifests).await;
    let Bench { cluster, supervisor, .. } = bench;
    supervisor.shutdown().await;
    cluster.end().await;
    measured
}

struct Bench {
    cluster: Cluster,
    client: Client,
    supervisor: Supervisor,
    folder: tempfile::TempDir,
}

/// A round's change of all images.
struct Round {
    /// Seconds.
    took: f64,
    before: Usage,
    after: Usage,
    /// By the controller alone.
    writes: u64,
    events: u64,
    conflicts: u64,
}

impl Bench {
    async fn tables(
        &self,
        contenders: &[Contender],
        rollouts: usize,
        rounds: usize,
        manifests: &[usize],
    ) -> Outcome<()> {
        println!("{rollouts} Deployments of {REPLICAS} replicas, rolled at once:");
        self.rolled(contenders, rollouts, rounds, false).await?;
        println!("\nthe same, the controller stopped for nine tenths of the time:");
        self.rolled(contenders, rollouts, rounds, true).await?;
        println!("\nDeployments as users write them, one replica each, made and ready:");
        println!("{:24} Deployments  CPU s  MiB  peak", "");
        for count in manifests {
            for contender in contenders {
                let Usage { peak, now, cpu } = self.memory(contender, *count).await?;
                println!("{:24} {count:11} {cpu:6.1} {now:4} {peak:5}", contender.title);
            }
        }
        println!("\nfrom the leader's end to the next ReplicaSet, another instance stands by:");
        println!("{:24} SIGKILL s  SIGTERM s", "");
        for contender in contenders {
            let (killed, told) = (self.takeover(contender, true).await?, self.takeover(contender, false).await?);
            println!("{:24} {killed:9.1} {told:10.1}", contender.title);
        }
        Ok(())
    }

    async fn rolled(&self, contenders: &[Contender], rollouts: usize, rounds: usize, limits: bool) -> Outcome<()> {
        println!("{:24} rollouts/s  CPU ms  writes  Events  conflicts  MiB  peak", "");
        for round in 0..rounds {
            for contender in contenders {
                let namespace = format!("round-{round}-{limits}-{}", contender.title);
                let Round { took, before, after, writes, events, conflicts } =
                    self.round(contender, &namespace, rollouts, limits).await?;
                #[expect(clippy::cast_precision_loss, reason = "thousands")]
                let each = |all: u64| all as f64 / rollouts as f64;
                #[expect(clippy::cast_precision_loss, reason = "thousands")]
                let (rate, cpu) = (rollouts as f64 / took, (after.cpu - before.cpu) * 1000.0 / rollouts as f64);
                println!(
                    "{:24} {rate:10.1} {cpu:7.1} {:7.1} {:7.1} {conflicts:10} {:4} {:5}",
                    contender.title,
                    each(writes),
                    each(events),
                    after.now,
                    after.peak
                );
            }
        }
        Ok(())
    }

    /// What a controller uses once it has made so many Deployments' ReplicaSets and pods.
    async fn memory(&self, contender: &Contender, count: usize) -> Outcome<Usage> {
        let namespace = format!("manifests-{count}-{}", contender.title);
        self.with(contender, &namespace, async |child| {
            self.make(&namespace, (0..count).map(manifest)).await?;
            complete(&Api::namespaced(self.client.clone(), &namespace), 1).await?;
            usage(child.pid)
        })
        .await
    }

    fn start(&self, contender: &Contender, name: &str, more: &[String]) -> Outcome<Child> {
        let kubeconfig = format!("--kubeconfig={}", self.cluster.admin_kubeconfig_path().display());
        Ok(self.supervisor.spawn(Spec {
            name: name.to_owned(),
            program: contender.program.clone(),
            args: contender.flags.iter().chain(more).cloned().chain([kubeconfig]).collect(),
            env: BTreeMap::new(),
            log: self.folder.path().join(format!("{name}.log")),
        })?)
    }

    async fn round(&self, contender: &Contender, namespace: &str, rollouts: usize, limits: bool) -> Outcome<Round> {
        self.with(contender, namespace, async |child| self.roll(child, namespace, rollouts, limits).await).await
    }

    /// Measure a controller that runs in a namespace of its own, in which pods become ready.
    async fn with<T>(
        &self,
        contender: &Contender,
        namespace: &str,
        measure: impl AsyncFnOnce(&Child) -> Outcome<T>,
    ) -> Outcome<T> {
        make_namespace(&self.client, namespace, None).await?;
        let nodes = tokio::spawn(make_ready(Api::namespaced(self.client.clone(), namespace)));
        let child = self.start(contender, namespace, &["--leader-elect=false".to_owned()])?;
        let measured = measure(&child).await;
        let ended = child.exited();
        child.kill();
        child.wait_exit().await;
        nodes.abort();
        remove_namespace(&self.client, namespace).await;
        if let Some(ended) = ended {
            let said = std::fs::read_to_string(self.folder.path().join(format!("{namespace}.log"))).unwrap_or_default();
            return Err(format!("{} ended by itself, {ended}: {said}", contender.title).into());
        }
        measured
    }

    async fn make(
        &self,
        namespace: &str,
        deployments: impl Iterator<Item = serde_json::Result<Deployment>>,
    ) -> Outcome<()> {
        let api: Api<Deployment> = Api::namespaced(self.client.clone(), namespace);
        for deployment in deployments {
            api.create(&PostParams::default(), &deployment?).await?;
        }
        Ok(())
    }

    async fn roll(&self, child: &Child, namespace: &str, rollouts: usize, limits: bool) -> Outcome<Round> {
        let deployments: Api<Deployment> = Api::namespaced(self.client.clone(), namespace);
        self.make(namespace, (0..rollouts).map(deployment)).await?;
        complete(&deployments, REPLICAS).await?;
        let _stopped_at_times = limits.then(|| Limit::new(child.pid));
        let (before, counted) = (usage(child.pid)?, self.written().await?);
        let since = clock::instant();
        let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "app:2"}]}}}});
        let patches = futures::stream::iter(0..rollouts).map(|number| {
            let (deployments, image) = (deployments.clone(), Patch::Strategic(image.clone()));
            async move { deployments.patch(&name(number), &PatchParams::default(), &image).await }
        });
        patches.buffer_unordered(NODES).try_for_each(|_| async { Ok(()) }).await?;
        complete(&deployments, REPLICAS).await?;
        let took = since.elapsed().as_secs_f64();
        let now = self.written().await?;
        Ok(Round {
            took,
            before,
            after: usage(child.pid)?,
            writes: now.writes - counted.writes - u64::try_from(rollouts)?,
            events: now.events - counted.events,
            conflicts: now.conflicts - counted.conflicts,
        })
    }

    /// The writes that the API server has carried out, those that make pods ready left out.
    async fn written(&self) -> Outcome<Written> {
        let request = hyper::http::Request::get("/metrics").body(Vec::new())?;
        let text = self.client.request_text(request).await?;
        let mut written = Written::default();
        for line in text.lines().filter(|line| line.starts_with("apiserver_request_total{")) {
            let label = |name: &str| line.split(&format!("{name}=\"")).nth(1).and_then(|rest| rest.split('"').next());
            if !matches!(label("verb"), Some("POST" | "PUT" | "PATCH" | "DELETE")) {
                continue;
            }
            let count = line.rsplit(' ').next().and_then(|number| number.parse::<u64>().ok()).unwrap_or_default();
            match (label("resource"), label(",subresource")) {
                (Some("events"), _) => written.events += count,
                (Some("deployments" | "replicasets"), _) | (Some("pods"), Some("")) => {
                    written.writes += count;
                    written.conflicts += if label("code") == Some("409") { count } else { 0 };
                }
                _ => {}
            }
        }
        Ok(written)
    }

    /// Seconds from the end of the leader to the next decision.
    async fn takeover(&self, contender: &Contender, kill: bool) -> Outcome<f64> {
        let namespace = format!("takeover-{}-{kill}", contender.title);
        make_namespace(&self.client, &namespace, None).await?;
        let flags = [
            "--leader-elect=true".to_owned(),
            format!("--leader-elect-resource-namespace={namespace}"),
            "--leader-elect-resource-name=takeover".to_owned(),
        ];
        let first = self.start(contender, &format!("{namespace}-first"), &flags)?;
        let deployments: Api<Deployment> = Api::namespaced(self.client.clone(), &namespace);
        let sets: Api<ReplicaSet> = Api::namespaced(self.client.clone(), &namespace);
        deployments.create(&PostParams::default(), &deployment(0)?).await?;
        sets_are(&sets, 1).await?;
        let second = self.start(contender, &format!("{namespace}-second"), &flags)?;
        // Longer than it takes to start and to try for the lease once.
        clock::pause(Duration::from_secs(5)).await;
        let since = clock::instant();
        if kill {
            first.kill();
        } else {
            first.terminate();
        }
        first.wait_exit().await;
        let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "app:2"}]}}}});
        deployments.patch(&name(0), &PatchParams::default(), &Patch::Strategic(image)).await?;
        sets_are(&sets, 2).await?;
        let took = since.elapsed().as_secs_f64();
        second.kill();
        second.wait_exit().await;
        remove_namespace(&self.client, &namespace).await;
        Ok(took)
    }
}

#[derive(Default)]
struct Written {
    writes: u64,
    events: u64,
    conflicts: u64,
}

fn name(number: usize) -> String {
    format!("web-{number}")
}

fn deployment(number: usize) -> serde_json::Result<Deployment> {
    let labels = json!({"app": name(number)});
    serde_json::from_value(json!({"metadata": {"name": name(number)}, "spec": {"replicas": REPLICAS,
        "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels},
            "spec": {"schedulerName": "lockstep", "containers": [{"name": "app", "image": "app:1"}]}}}}))
}

/// A Deployment of one replica as users write them.
fn manifest(number: usize) -> serde_json::Result<Deployment> {
    let name = name(number);
    let labels = json!({"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "shop", "app.kubernetes.io/managed-by": "kubectl"});
    let variables: Vec<_> = (0..30)
        .map(|number| json!({"name": format!("SETTING_{number}"), "value": format!("value {number} of {name}")}))
        .collect();
    let probe =
        |path: &str| json!({"httpGet": {"path": path, "port": "http"}, "periodSeconds": 10, "failureThreshold": 3});
    let container = json!({"name": "app", "image": "registry.example/shop/app:1.2.3", "env": variables,
        "args": ["--listen=:8080", "--log-level=info", "--config=/etc/app/config.yaml"],
        "ports": [{"name": "http", "containerPort": 8080}, {"name": "metrics", "containerPort": 9090}],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
        "readinessProbe": probe("/ready"), "livenessProbe": probe("/alive"),
        "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [{"name": "config", "mountPath": "/etc/app"}, {"name": "tmp", "mountPath": "/tmp"}]});
    let spec = json!({"replicas": 1, "selector": {"matchLabels": {"app.kubernetes.io/name": name}},
        "template": {"metadata": {"labels": labels, "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "9090"}},
            "spec": {"schedulerName": "lockstep", "containers": [container], "terminationGracePeriodSeconds": 60,
                "volumes": [{"name": "config", "configMap": {"name": name}}, {"name": "tmp", "emptyDir": {}}]}}});
    let applied = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "labels": labels}, "spec": spec});
    let annotations = json!({"kubectl.kubernetes.io/last-applied-configuration": applied.to_string()});
    serde_json::from_value(
        json!({"metadata": {"name": name, "labels": labels, "annotations": annotations}, "spec": spec}),
    )
}

/// Stops a process for most of the time, until it is dropped.
struct Limit {
    process: i32,
    task: tokio::task::JoinHandle<()>,
}

impl Limit {
    fn new(process: i32) -> Self {
        let task = tokio::spawn(async move {
            loop {
                send(process, Signal::CONT);
                clock::pause(RUNS).await;
                send(process, Signal::STOP);
                clock::pause(STOPS).await;
            }
        });
        Self { process, task }
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        self.task.abort();
        send(self.process, Signal::CONT);
    }
}

/// One that has ended gets none.
fn send(process: i32, signal: Signal) {
    if let Some(process) = Pid::from_raw(process) {
        kill_process(process, signal).ok();
    }
}

/// Makes every pod ready as soon as it exists.
async fn make_ready(pods: Api<Pod>) -> Result<(), kube::Error> {
    let ready = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
    loop {
        // From the server's cache, so that each watch begins with all that are there.
        let events = pods.watch(&WatchParams::default().timeout(290), "0").await?.boxed();
        let done = events.try_for_each_concurrent(NODES, |event| {
            let (pods, ready) = (&pods, Patch::Strategic(&ready));
            async move {
                let WatchEvent::Added(pod) = event else { return Ok(()) };
                let name = pod.metadata.name.unwrap_or_default();
                match pods.patch_status(&name, &PatchParams::default(), &ready).await {
                    // It has been deleted since.
                    Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
                    other => other.map(|_| ()),
                }
            }
        });
        done.await?;
    }
}

/// Wait until all are rolled out.
async fn complete(deployments: &Api<Deployment>, replicas: i32) -> Outcome<()> {
    let since = clock::instant();
    // From the server's cache: what is asked here should not count.
    let cached = ListParams::default().match_any();
    loop {
        let all = deployments.list(&cached).await?.items;
        let open = all.iter().filter(|one| !is_complete(one, replicas)).count();
        if open == 0 {
            return Ok(());
        }
        if since.elapsed() > PATIENCE {
            return Err(format!("{open} Deployments are not rolled out after {PATIENCE:?}").into());
        }
        clock::pause(Duration::from_millis(100)).await;
    }
}

fn is_complete(deployment: &Deployment, replicas: i32) -> bool {
    let status = deployment.status.clone().unwrap_or_default();
    let all = Some(replicas);
    status.observed_generation == deployment.metadata.generation
        && (status.replicas, status.updated_replicas, status.available_replicas) == (all, all, all)
}

async fn sets_are(sets: &Api<ReplicaSet>, count: usize) -> Outcome<()> {
    let since = clock::instant();
    while sets.list(&ListParams::default()).await?.items.len() < count {
        if since.elapsed() > PATIENCE {
            return Err(format!("there are not {count} ReplicaSets after {PATIENCE:?}").into());
        }
        clock::pause(Duration::from_millis(50)).await;
    }
    Ok(())
}
