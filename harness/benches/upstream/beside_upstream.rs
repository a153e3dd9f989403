//! Rollouts by rollout-controller and by kube-controller-manager, alternately, on one real API
//! server.
//!
//! Each round starts one of them, creates the Deployments, changes the image of all of them at
//! once, and measures until the last is complete. Pods become ready as soon as they exist, so that
//! only the controller and the server take time. Both have the same limits and workers. The API
//! server counts writes and conflicts.
//!
//! The second table has the same rollouts with the controller as the bottleneck: SIGSTOP stops it
//! for nine tenths of the time. The third has the memory of both with many typical Deployments:
//! with variables, probes, volumes and the annotation of `kubectl apply`. The last is about
//! failover to a second instance.
//!
//! It only measures. Measure an optimised build:
//!
//! ```text
//! cargo build --profile dist --package rollout-controller
//! LOCKSTEP_CONTROLLER=target/dist/rollout-controller cargo bench --package lockstep --bench upstream -- beside_upstream
//! ```
//!
//! `LOCKSTEP_DOCS=overwrite` writes docs/performance.md.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use lockstep_cluster::supervise::{Child, ProcessSpec, Supervisor};
use lockstep_cluster::{self as cluster, Cluster, ClusterPlan, DEFAULT_VERSION};
use lockstep_runner::observe::namespace::{make_namespace, remove_namespace};
use lockstep_support::clock;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::process::{Usage, controller, usage};
use crate::selection::section::{Goal, PageSection};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Deployments per round; LOCKSTEP_ROLLOUTS overrides it.
const ROLLOUTS: usize = 150;
/// Replicas of each Deployment.
const REPLICAS: i32 = 10;
/// Rounds per controller; LOCKSTEP_ROUNDS overrides it.
const ROUNDS: usize = 3;
/// Pods that become ready concurrently.
const NODES: usize = 16;
/// A limited controller runs for this long,
const RUNS: Duration = Duration::from_millis(2);
/// and is then stopped for this long: no longer than the server takes for a few requests, or
/// waiting for responses would be the bottleneck.
const STOPS: Duration = Duration::from_millis(18);
/// Numbers of typical Deployments for the memory table; LOCKSTEP_MANIFESTS overrides them.
const MANIFESTS: &str = "1000 3000";
/// Longer than either controller takes on a slow machine.
const PATIENCE: Duration = Duration::from_secs(280);

pub(crate) fn run(_arguments: &[String]) -> Outcome<()> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(measure())
}

/// One of the two controllers.
struct Candidate {
    title: &'static str,
    program: PathBuf,
    flags: Vec<String>,
}

fn candidates() -> Outcome<[Candidate; 2]> {
    let common = ["--kube-api-qps=2000", "--kube-api-burst=4000", "--concurrent-deployment-syncs=5"];
    let with = |more: &[&str]| common.iter().chain(more).map(|flag| (*flag).to_owned()).collect();
    Ok([
        Candidate {
            title: "kube-controller-manager",
            program: cluster::obtain_binaries(DEFAULT_VERSION)?.program("kube-controller-manager"),
            flags: with(&["--controllers=deployment-controller,replicaset-controller", "--secure-port=0"]),
        },
        Candidate {
            title: "rollout-controller",
            program: controller()?,
            flags: with(&["--controllers=deployment,replicaset"]),
        },
    ])
}

async fn measure() -> Outcome<()> {
    let number = |name: &str, otherwise: usize| std::env::var(name).map_or(Ok(otherwise), |text| text.parse());
    let (rollouts, rounds) = (number("LOCKSTEP_ROLLOUTS", ROLLOUTS)?, number("LOCKSTEP_ROUNDS", ROUNDS)?);
    let manifests = std::env::var("LOCKSTEP_MANIFESTS").unwrap_or_else(|_| MANIFESTS.to_owned());
    let manifests = manifests.split_whitespace().map(str::parse).collect::<Result<Vec<usize>, _>>()?;
    let candidates = candidates()?;
    let cluster = cluster::boot(&ClusterPlan::new(DEFAULT_VERSION).without("deployment,replicaset".parse()?)).await?;
    let folder = tempfile::tempdir()?;
    let supervisor = Supervisor::start(folder.path(), false)?;
    let bench = Bench { client: cluster.access().admin_client().await?, cluster, supervisor, folder };
    let mut section = PageSection::new("beside_upstream");
    let measured = bench.tables(&mut section, &candidates, (rollouts, rounds), &manifests).await;
    let Bench { cluster, supervisor, .. } = bench;
    supervisor.shutdown().await;
    cluster.end().await;
    measured?;
    section.publish()
}

struct Bench {
    cluster: Cluster,
    client: Client,
    supervisor: Supervisor,
    folder: tempfile::TempDir,
}

/// The rollout of a round.
struct Round {
    /// Seconds.
    took: f64,
    before: Usage,
    after: Usage,
    /// Usage of the controller alone.
    writes: u64,
    events: u64,
    conflicts: u64,
}

impl Bench {
    async fn tables(
        &self,
        section: &mut PageSection,
        candidates: &[Candidate],
        (rollouts, rounds): (usize, usize),
        manifests: &[usize],
    ) -> Outcome<()> {
        section.line(format_args!("{rollouts} Deployments of {REPLICAS} replicas, rolled at once:\n"));
        self.rolled(section, candidates, (rollouts, rounds), false).await?;
        section.line("\nThe same, the controller stopped for nine tenths of the time:\n");
        self.rolled(section, candidates, (rollouts, rounds), true).await?;
        section.line("\nDeployments as users write them, one replica each, made and ready:\n");
        section.line("| | Deployments | processor time, s | memory, MiB | peak |\n| --- | --: | --: | --: | --: |");
        for count in manifests {
            for candidate in candidates {
                let Usage { peak, now, cpu } = self.memory(candidate, *count).await?;
                section.line(format_args!("| {} | {count} | {cpu:.1} | {now} | {peak} |", candidate.title));
            }
        }
        section.line("\nFrom the leader's end to the next ReplicaSet, another instance stands by:\n");
        section.line("| | SIGKILL, s | SIGTERM, s |\n| --- | --: | --: |");
        for candidate in candidates {
            let (killed, terminated) = (self.takeover(candidate, true).await?, self.takeover(candidate, false).await?);
            section.line(format_args!("| {} | {killed:.1} | {terminated:.1} |", candidate.title));
        }
        Ok(())
    }

    async fn rolled(
        &self,
        section: &mut PageSection,
        candidates: &[Candidate],
        (rollouts, rounds): (usize, usize),
        limits: bool,
    ) -> Outcome<()> {
        section.line("| | rollouts/s | processor time, ms | writes | Events | conflicts | memory, MiB | peak | goal for processor time, of upstream's |");
        section.line("| --- | --: | --: | --: | --: | --: | --: | --: | --- |");
        for round in 0..rounds {
            let mut of_upstream = None;
            for candidate in candidates {
                let namespace = format!("round-{round}-{limits}-{}", candidate.title);
                let Round { took, before, after, writes, events, conflicts } =
                    self.round(candidate, &namespace, rollouts, limits).await?;
                #[expect(clippy::cast_precision_loss, reason = "thousands")]
                let each = |all: u64| all as f64 / rollouts as f64;
                #[expect(clippy::cast_precision_loss, reason = "thousands")]
                let (rate, cpu) = (rollouts as f64 / took, (after.cpu - before.cpu) * 1000.0 / rollouts as f64);
                let figures = [
                    format!("{rate:.1}"),
                    format!("{cpu:.1}"),
                    format!("{:.1}", each(writes)),
                    format!("{:.1}", each(events)),
                    conflicts.to_string(),
                    after.now.to_string(),
                    after.peak.to_string(),
                ];
                let goal = if of_upstream.is_some() { Goal::AtMost(0.4) } else { Goal::Free };
                section.row(candidate.title, &figures, cpu / of_upstream.unwrap_or(cpu), goal);
                of_upstream = of_upstream.or(Some(cpu));
            }
        }
        Ok(())
    }

    /// The controller's resource usage after creating this many Deployments' ReplicaSets and pods.
    async fn memory(&self, candidate: &Candidate, count: usize) -> Outcome<Usage> {
        let namespace = format!("manifests-{count}-{}", candidate.title);
        self.with(candidate, &namespace, async |child| {
            self.make(&namespace, (0..count).map(manifest)).await?;
            complete(&Api::namespaced(self.client.clone(), &namespace), 1).await?;
            usage(child.pid)
        })
        .await
    }

    fn start(&self, candidate: &Candidate, name: &str, more: &[String]) -> Outcome<Child> {
        let kubeconfig = format!("--kubeconfig={}", self.cluster.admin_kubeconfig_path().display());
        Ok(self.supervisor.spawn(ProcessSpec {
            name: name.to_owned(),
            program: candidate.program.clone(),
            args: candidate.flags.iter().chain(more).cloned().chain([kubeconfig]).collect(),
            env: BTreeMap::new(),
            log: self.folder.path().join(format!("{name}.log")),
        })?)
    }

    async fn round(&self, candidate: &Candidate, namespace: &str, rollouts: usize, limits: bool) -> Outcome<Round> {
        self.with(candidate, namespace, async |child| self.roll(child, namespace, rollouts, limits).await).await
    }

    /// Measures a controller in its own namespace, in which pods become ready.
    async fn with<T>(
        &self,
        candidate: &Candidate,
        namespace: &str,
        measure: impl AsyncFnOnce(&Child) -> Outcome<T>,
    ) -> Outcome<T> {
        make_namespace(&self.client, namespace, None).await?;
        let nodes = tokio::spawn(make_ready(Api::namespaced(self.client.clone(), namespace)));
        let child = self.start(candidate, namespace, &["--leader-elect=false".to_owned()])?;
        let measured = measure(&child).await;
        let ended = child.exited();
        child.kill();
        child.wait_exit().await;
        nodes.abort();
        remove_namespace(&self.client, namespace).await;
        if let Some(ended) = ended {
            let log = std::fs::read_to_string(self.folder.path().join(format!("{namespace}.log"))).unwrap_or_default();
            return Err(format!("{} ended by itself, {ended}: {log}", candidate.title).into());
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
        let (before, counted) = (usage(child.pid)?, self.count_writes().await?);
        let since = clock::instant();
        let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "app:2"}]}}}});
        let patches = futures::stream::iter(0..rollouts).map(|number| {
            let (deployments, image) = (deployments.clone(), Patch::Strategic(image.clone()));
            async move { deployments.patch(&name(number), &PatchParams::default(), &image).await }
        });
        patches.buffer_unordered(NODES).try_for_each(|_| async { Ok(()) }).await?;
        complete(&deployments, REPLICAS).await?;
        let took = since.elapsed().as_secs_f64();
        let now = self.count_writes().await?;
        Ok(Round {
            took,
            before,
            after: usage(child.pid)?,
            writes: now.writes - counted.writes - u64::try_from(rollouts)?,
            events: now.events - counted.events,
            conflicts: now.conflicts - counted.conflicts,
        })
    }

    /// The API server's write counts, without the writes that make pods ready.
    async fn count_writes(&self) -> Outcome<WriteCounts> {
        let request = hyper::http::Request::get("/metrics").body(Vec::new())?;
        let text = self.client.request_text(request).await?;
        let mut counts = WriteCounts::default();
        for line in text.lines().filter(|line| line.starts_with("apiserver_request_total{")) {
            let label = |name: &str| line.split(&format!("{name}=\"")).nth(1).and_then(|rest| rest.split('"').next());
            if !matches!(label("verb"), Some("POST" | "PUT" | "PATCH" | "DELETE")) {
                continue;
            }
            let count = line.rsplit(' ').next().and_then(|number| number.parse::<u64>().ok()).unwrap_or_default();
            match (label("resource"), label(",subresource")) {
                (Some("events"), _) => counts.events += count,
                (Some("deployments" | "replicasets"), _) | (Some("pods"), Some("")) => {
                    counts.writes += count;
                    counts.conflicts += if label("code") == Some("409") { count } else { 0 };
                }
                _ => {}
            }
        }
        Ok(counts)
    }

    /// Seconds from the leader's exit to the next write.
    async fn takeover(&self, candidate: &Candidate, kill: bool) -> Outcome<f64> {
        let namespace = format!("takeover-{}-{kill}", candidate.title);
        make_namespace(&self.client, &namespace, None).await?;
        let flags = [
            "--leader-elect=true".to_owned(),
            format!("--leader-elect-resource-namespace={namespace}"),
            "--leader-elect-resource-name=takeover".to_owned(),
        ];
        let first = self.start(candidate, &format!("{namespace}-first"), &flags)?;
        let deployments: Api<Deployment> = Api::namespaced(self.client.clone(), &namespace);
        let sets: Api<ReplicaSet> = Api::namespaced(self.client.clone(), &namespace);
        deployments.create(&PostParams::default(), &deployment(0)?).await?;
        sets_are(&sets, 1).await?;
        let second = self.start(candidate, &format!("{namespace}-second"), &flags)?;
        // Longer than starting and one attempt at the lease take.
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
struct WriteCounts {
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

/// A typical Deployment with one replica.
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

/// Stops a process most of the time, until dropped.
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

/// A process that has exited gets no signal.
fn send(process: i32, signal: Signal) {
    if let Some(process) = Pid::from_raw(process) {
        kill_process(process, signal).ok();
    }
}

/// Makes every pod ready as soon as it exists.
async fn make_ready(pods: Api<Pod>) -> Result<(), kube::Error> {
    let ready = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
    loop {
        // From the server's cache, so that each watch begins with all existing pods.
        let events = pods.watch(&WatchParams::default().timeout(290), "0").await?.boxed();
        let done = events.try_for_each_concurrent(NODES, |event| {
            let (pods, ready) = (&pods, Patch::Strategic(&ready));
            async move {
                let WatchEvent::Added(pod) = event else { return Ok(()) };
                let name = pod.metadata.name.unwrap_or_default();
                match pods.patch_status(&name, &PatchParams::default(), &ready).await {
                    // It has been deleted in the meantime.
                    Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
                    other => other.map(|_| ()),
                }
            }
        });
        done.await?;
    }
}

/// Waits until all are rolled out.
async fn complete(deployments: &Api<Deployment>, replicas: i32) -> Outcome<()> {
    let since = clock::instant();
    // From the server's cache, so that these reads do not affect the measurement.
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
