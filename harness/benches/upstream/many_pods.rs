//! Scales one ReplicaSet to five thousand pods and then to half: time and memory of upstream and
//! our controller.
//!
//! Each has its own control plane with the same API server and client limits, and no other
//! controller that handles pods. It only measures, and checks the final numbers. Measure an
//! optimised build:
//!
//! ```text
//! cargo build --profile dist --package rollout-controller
//! LOCKSTEP_CONTROLLER=target/dist/rollout-controller cargo bench --package lockstep --bench upstream -- many_pods
//! ```

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use k8s_openapi::api::apps::v1::ReplicaSet;
use kube::api::{Api, Patch, PatchParams, PostParams};
use lockstep_cluster::supervise::{ProcessSpec, Supervisor};
use lockstep_cluster::{self as cluster, Cluster, ClusterPlan, DEFAULT_VERSION};
use lockstep_runner::observe::namespace::make_namespace;
use lockstep_support::clock;
use serde_json::json;

use crate::process::{Usage, controller, usage};
use crate::selection::Outcome;

const NAMESPACE: &str = "many";
/// The number of pods; LOCKSTEP_PODS overrides it.
const PODS: i32 = 5000;
/// Longer than either controller takes on a slow machine.
const PATIENCE: Duration = Duration::from_secs(280);

pub(crate) fn run(_arguments: &[String]) -> Outcome {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let pods = match std::env::var("LOCKSTEP_PODS") {
        Ok(text) => text.parse()?,
        Err(_) => PODS,
    };
    eprintln!("{pods} pods, then {}:", pods / 2);
    let common = ["--leader-elect=false", "--kube-api-qps=2000", "--kube-api-burst=4000"].map(str::to_owned);
    let upstream = cluster::obtain_binaries(DEFAULT_VERSION)?.program("kube-controller-manager");
    let mut arguments = common.to_vec();
    arguments.extend(["--controllers=replicaset-controller".to_owned(), "--secure-port=0".to_owned()]);
    runtime.block_on(one("upstream", &upstream, arguments, pods))?;
    let mut arguments = common.to_vec();
    arguments.push("--controllers=replicaset".to_owned());
    runtime.block_on(one("ours", &controller()?, arguments, pods))
}

async fn one(title: &str, program: &Path, mut arguments: Vec<String>, pods: i32) -> Outcome {
    let without = "deployment,replicaset".parse()?;
    let cluster = cluster::boot(&ClusterPlan::new(DEFAULT_VERSION).without(without)).await?;
    let folder = tempfile::tempdir()?;
    let supervisor = Supervisor::start(folder.path(), false)?;
    arguments.push(format!("--kubeconfig={}", cluster.admin_kubeconfig_path().display()));
    let child = supervisor.spawn(ProcessSpec {
        name: title.to_owned(),
        program: program.to_owned(),
        args: arguments,
        env: BTreeMap::new(),
        log: folder.path().join("output.log"),
    })?;
    let measured = measure(&cluster, child.pid, pods).await;
    let ended = child.exited();
    supervisor.shutdown().await;
    cluster.end().await;
    if let Some(ended) = ended {
        let log = std::fs::read_to_string(folder.path().join("output.log")).unwrap_or_default();
        return Err(format!("{title} ended by itself, {ended}: {log}").into());
    }
    let Measurement { idle, created, halved } = measured?;
    eprintln!(
        "{title:9} idle {} MiB; made in {:.1} s, peak {} MiB, {:.1} s of CPU; halved in {:.1} s, peak {} MiB, {:.1} s of CPU; now {} MiB",
        idle.now,
        created.took,
        created.usage.peak,
        created.usage.cpu - idle.cpu,
        halved.took,
        halved.usage.peak,
        halved.usage.cpu - created.usage.cpu,
        halved.usage.now,
    );
    Ok(())
}

struct Measurement {
    idle: Usage,
    created: Phase,
    halved: Phase,
}

struct Phase {
    /// Seconds.
    took: f64,
    usage: Usage,
}

async fn measure(cluster: &Cluster, process: i32, pods: i32) -> Result<Measurement, Box<dyn std::error::Error>> {
    let client = cluster.access().admin_client().await?;
    make_namespace(&client, NAMESPACE, None).await?;
    let sets: Api<ReplicaSet> = Api::namespaced(client.clone(), NAMESPACE);
    // This also shows that the controller has started.
    sets.create(&PostParams::default(), &replica_set("first", 1)?).await?;
    reached(&sets, "first", 1).await?;
    let idle = usage(process)?;
    let since = clock::instant();
    sets.create(&PostParams::default(), &replica_set("web", pods)?).await?;
    reached(&sets, "web", pods).await?;
    let created = Phase { took: since.elapsed().as_secs_f64(), usage: usage(process)? };
    let since = clock::instant();
    let scale = json!({"spec": {"replicas": pods / 2}});
    sets.patch("web", &PatchParams::default(), &Patch::Merge(scale)).await?;
    reached(&sets, "web", pods / 2).await?;
    let halved = Phase { took: since.elapsed().as_secs_f64(), usage: usage(process)? };
    Ok(Measurement { idle, created, halved })
}

fn replica_set(name: &str, replicas: i32) -> serde_json::Result<ReplicaSet> {
    serde_json::from_value(json!({"metadata": {"name": name}, "spec": {"replicas": replicas,
        "selector": {"matchLabels": {"app": name}}, "template": {"metadata": {"labels": {"app": name}},
            "spec": {"schedulerName": "lockstep", "containers": [{"name": "app", "image": "app:1"}]}}}}))
}

/// Waits until the status has this many replicas, of the latest generation.
async fn reached(sets: &Api<ReplicaSet>, name: &str, replicas: i32) -> Outcome {
    let since = clock::instant();
    loop {
        let set = sets.get(name).await?;
        let status = set.status.unwrap_or_default();
        if status.replicas == replicas && status.observed_generation == set.metadata.generation {
            return Ok(());
        }
        if since.elapsed() > PATIENCE {
            return Err(format!("{name}: {} pods after {PATIENCE:?}, and {replicas} are right", status.replicas).into());
        }
        clock::pause(Duration::from_millis(50)).await;
    }
}
