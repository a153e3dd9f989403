//! The control plane, the test environment's controllers and the interceptor, with upstream's own
//! programs.
//!
//! Without the programs and without Go to build them the trials are listed as ignored. This
//! executable, started in another role, plays other processes: see [`roles`].

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use futures::TryStreamExt;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, ServiceAccount};
use kube::api::{Api, ListParams, PostParams, WatchEvent, WatchParams};
use kube::{Client, Resource};
use libtest_mimic::{Failed, Trial};
use lockstep_cluster::shared::{SharedRun, obtain, obtain_in};
use lockstep_cluster::supervise::ProcessId;
use lockstep_cluster::{
    Cluster, ClusterError, ClusterPlan, DEFAULT_VERSION, Handover, PersistentCluster, available, boot,
};
use lockstep_intercept::{Interceptor, Verb};
use lockstep_support::clock;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::outcome::{Outcome, check, trial, until};
use crate::roles::{RolePlayer, alive, processes, read_cluster, run, runner, until_removed};

/// The other processes of these trials.
pub(crate) const ROLES: RolePlayer = RolePlayer { module: "plane", plan };

pub(crate) fn trials() -> Vec<Trial> {
    let missing = available(DEFAULT_VERSION).err();
    if let Some(why) = &missing {
        eprintln!("ignored: {why}");
    }
    let ignored = missing.is_some();
    vec![
        trial("control-plane::plane::boots_and_leaves_nothing", ignored, boots),
        trial("control-plane::plane::sigkill_of_the_harness_leaves_nothing", ignored, killed),
        trial("control-plane::plane::processes_of_a_run_share_a_cluster_that_ends_with_the_run", ignored, shared),
        trial("control-plane::plane::failed_boot_is_cached_for_the_run", ignored, remembered),
        trial("control-plane::plane::up_outlives_its_process_and_down_removes_everything", ignored, standing),
        trial("control-plane::plane::early_exit_is_reported_with_its_log", false, ends_early),
        trial("control-plane::plane::one_subject_at_a_time", ignored, exclusive),
        trial(
            "control-plane::plane::the_environment_leaves_deployments_alone_and_serves_replicasets",
            ignored,
            environment,
        ),
        trial("control-plane::plane::environment_omits_the_subjects_controllers", ignored, environment_without),
        trial("control-plane::plane::interceptor_forwards_and_logs", ignored, interceptor),
    ]
}

// Booting and ending.

fn plan() -> ClusterPlan {
    ClusterPlan::new(DEFAULT_VERSION)
}

async fn boots() -> Outcome {
    let cluster = boot(&plan()).await?;
    let names: Vec<&str> = cluster.programs().keys().map(String::as_str).collect();
    check(names == ["etcd", "kube-apiserver", "kube-controller-manager"], format!("{names:?}"))?;
    alive(&cluster)?;
    check(cluster.admin_kubeconfig_path().is_file(), "it has no kubeconfig")?;
    check(cluster.identity().title() == format!("kube-apiserver {DEFAULT_VERSION}"), cluster.identity().title())?;
    let client = cluster.access().admin_client().await?;
    let found = client.apiserver_version().await?.git_version;
    check(found == DEFAULT_VERSION, format!("the server says {found}"))?;
    let mut anonymous = kube::Config::new(cluster.access().server.parse()?);
    anonymous.accept_invalid_certs = true;
    let anonymous = Client::try_from(anonymous)?;
    check(anonymous.apiserver_version().await.is_err(), "a client without a token got a response")?;
    // The subject has all rights here.
    namespace(&cluster.access().subject_client()?, "by-the-subject").await?;
    let known: Cluster = serde_json::from_str::<Handover>(&serde_json::to_string(&cluster.handover())?)?.into();
    drop(client);
    cluster.end().await;
    check(!processes(&known).iter().any(ProcessId::is_alive) && !known.dir().exists(), "something is left")
}

async fn killed() -> Outcome {
    let mut harness = ROLES.start("victim")?;
    let cluster = read_cluster(&mut harness)?;
    alive(&cluster)?;
    drop(harness);
    until_removed(&cluster, cluster.dir()).await
}

async fn shared() -> Outcome {
    let (runner, first, third) = ROLES.shared_by_trials().await?;
    third.access().admin_client().await?.apiserver_version().await?;
    drop(runner);
    until_removed(&first, first.dir().parent().ok_or("a cluster of a run has a folder around it")?).await
}

async fn remembered() -> Outcome {
    let (runner, pid) = runner()?;
    let run = run(&format!("test-{pid}"), pid);
    let plan = ClusterPlan::new("nonsense");
    let Err(first @ ClusterError::Binaries { .. }) = obtain_in(&run, &plan).await else {
        return Err("it booted, or failed otherwise".into());
    };
    let Err(ClusterError::FailedEarlier(why)) = obtain_in(&run, &plan).await else {
        return Err("it was not remembered".into());
    };
    check(why == first.to_string(), format!("{why} is not {first}"))?;
    let folder = place_of(&run)?;
    drop(runner);
    until("the folder is gone", Duration::from_secs(5), async || !folder.exists()).await
}

/// The folder of a run within this user's folders.
fn place_of(run: &SharedRun) -> Result<PathBuf, Failed> {
    let mine = format!("lockstep-{}", rustix::process::getuid().as_raw());
    let folders = std::fs::read_dir(std::env::temp_dir().join(mine))?;
    let mut folders = folders.flatten().map(|entry| entry.path());
    let found = folders.find(|path| path.to_string_lossy().contains(&run.id));
    found.ok_or_else(|| "the run has no folder".into())
}

async fn standing() -> Outcome {
    let around = tempfile::tempdir()?;
    let folder = around.path().join("standing");
    let standing = PersistentCluster::at(&folder);
    check(standing.running().await?.is_none() && !standing.down().await?, "there is one already")?;
    let mut process = ROLES.start(&format!("up {}", folder.display()))?;
    let cluster = read_cluster(&mut process)?;
    check(process.0.wait()?.success(), "up failed")?;
    clock::pause(Duration::from_millis(300)).await;
    check(standing.running().await?.is_some_and(|found| found.programs() == cluster.programs()), "it is not found")?;
    let again = standing.up(&plan()).await?;
    check(again.was_running && again.cluster.programs() == cluster.programs(), "it was raised twice")?;
    again.cluster.access().admin_client().await?.apiserver_version().await?;
    check(standing.down().await?, "down found none")?;
    check(!processes(&cluster).iter().any(ProcessId::is_alive) && !folder.exists(), "something is left")?;
    check(!standing.down().await?, "down found one twice")
}

/// Three scripts replace the programs: all report the right version, and then the API server exits.
async fn ends_early() -> Outcome {
    let folder = tempfile::tempdir()?;
    let (bin, tmp) = (folder.path().join("bin"), folder.path().join("tmp"));
    std::fs::create_dir(&bin)?;
    std::fs::create_dir(&tmp)?;
    for (program, end) in [
        ("etcd", "exec /bin/sleep 600"),
        ("kube-controller-manager", "exec /bin/sleep 600"),
        ("kube-apiserver", "echo no such flag >&2; exit 3"),
    ] {
        let text =
            format!("#!/bin/sh\n[ \"$1\" != --version ] || {{ echo Kubernetes {DEFAULT_VERSION}; exit; }}\n{end}\n");
        std::fs::write(bin.join(program), text)?;
        std::fs::set_permissions(bin.join(program), std::fs::Permissions::from_mode(0o755))?;
    }
    let output = ROLES.command("victim")?.env("LOCKSTEP_BIN", &bin).env("TMPDIR", &tmp).output()?;
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    check(!output.status.success(), "it booted")?;
    let says = |words: &str| check(error.contains(words), format!("{words:?} is not in {error}"));
    says("kube-apiserver ended while the cluster was starting (exit code 3)")?;
    says("failed-kube-apiserver.log says\nno such flag")?;
    let left = std::fs::read_dir(tmp.join(format!("lockstep-{}", rustix::process::getuid().as_raw())))?;
    let left: Vec<_> = left.flatten().map(|entry| entry.file_name()).collect();
    check(left == ["failed-kube-apiserver.log"], format!("{left:?}"))
}

async fn exclusive() -> Outcome {
    let cluster = obtain(DEFAULT_VERSION).await?;
    let first = cluster.lock_for_subject().await?;
    let waiting = tokio::spawn({
        let cluster = cluster.clone();
        async move { cluster.lock_for_subject().await.map(drop) }
    });
    clock::pause(Duration::from_millis(200)).await;
    check(!waiting.is_finished(), "two at once")?;
    drop(first);
    Ok(tokio::time::timeout(Duration::from_secs(60), waiting).await???)
}

// Controllers and interceptor.

/// A new namespace that is ready for pods: the test environment creates its default service
/// account.
async fn namespace(client: &Client, prefix: &str) -> Result<String, Failed> {
    let wanted: Namespace = serde_json::from_value(json!({"metadata": {"generateName": format!("{prefix}-")}}))?;
    let made = Api::all(client.clone()).create(&PostParams::default(), &wanted).await?;
    let name = made.metadata.name.ok_or("a namespace has a name")?;
    let accounts = Api::<ServiceAccount>::namespaced(client.clone(), &name);
    let there = async || accounts.get_opt("default").await.is_ok_and(|found| found.is_some());
    until("the namespace has its service account", Duration::from_secs(30), there).await?;
    Ok(name)
}

async fn create<K>(client: &Client, namespace: &str, object: Value) -> Outcome
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + DeserializeOwned
        + serde::Serialize
        + std::fmt::Debug,
{
    let object: K = serde_json::from_value(object)?;
    Api::<K>::namespaced(client.clone(), namespace).create(&PostParams::default(), &object).await?;
    Ok(())
}

async fn count<K>(client: &Client, namespace: &str) -> Result<usize, Failed>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug,
{
    Ok(Api::<K>::namespaced(client.clone(), namespace).list(&ListParams::default()).await?.items.len())
}

/// A Deployment or ReplicaSet of two.
fn two(name: &str) -> Value {
    let labels = json!({"app": name});
    json!({
        "metadata": {"name": name},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "app:1"}]}},
        },
    })
}

async fn environment() -> Outcome {
    let client = obtain(DEFAULT_VERSION).await?.access().admin_client().await?;
    let namespace = namespace(&client, "environment").await?;
    create::<Deployment>(&client, &namespace, two("web")).await?;
    create::<ReplicaSet>(&client, &namespace, two("rs")).await?;
    let two_pods = async || count::<Pod>(&client, &namespace).await.is_ok_and(|pods| pods == 2);
    until("the ReplicaSet has two pods", Duration::from_secs(30), two_pods).await?;
    clock::pause(Duration::from_secs(1)).await;
    let replica_sets = count::<ReplicaSet>(&client, &namespace).await?;
    check(replica_sets == 1, format!("another controller created {} more", replica_sets - 1))
}

async fn environment_without() -> Outcome {
    let cluster = boot(&ClusterPlan::new(DEFAULT_VERSION).without("deployment,replicaset".parse()?)).await?;
    let client = cluster.access().admin_client().await?;
    let namespace = namespace(&client, "without").await?;
    create::<ReplicaSet>(&client, &namespace, two("rs")).await?;
    clock::pause(Duration::from_secs(1)).await;
    let pods = count::<Pod>(&client, &namespace).await?;
    cluster.end().await;
    check(pods == 0, format!("another controller created {pods} pods"))
}

async fn interceptor() -> Outcome {
    let cluster = obtain(DEFAULT_VERSION).await?;
    let namespace = namespace(&cluster.access().admin_client().await?, "interceptor").await?;
    let interceptor = Interceptor::start(cluster.access())?;
    let client = interceptor.access().subject_client()?;
    let maps = Api::<ConfigMap>::namespaced(client.clone(), &namespace);
    let from = maps.list(&ListParams::default()).await?.metadata.resource_version.ok_or("a list has a version")?;
    let mut events = pin!(maps.watch(&WatchParams::default(), &from).await?);
    create::<ConfigMap>(&client, &namespace, json!({"metadata": {"name": "one"}})).await?;
    let event = tokio::time::timeout(Duration::from_secs(2), events.try_next()).await??;
    match event {
        Some(WatchEvent::Added(map)) if map.metadata.name.as_deref() == Some("one") => {}
        other => return Err(format!("not the event: {other:?}").into()),
    }
    check(maps.get("two").await.is_err(), "it must not exist")?;

    interceptor.log().wait_for_more_than(3).await;
    let log = interceptor.log().drain();
    let seen: Vec<_> = log.iter().map(|r| (r.seq, r.verb, r.name.as_str(), r.status)).collect();
    let expected = [
        (1, Verb::List, "", Some(200)),
        (2, Verb::Watch, "", Some(200)),
        (3, Verb::Create, "", Some(201)),
        (4, Verb::Get, "two", Some(404)),
    ];
    check(seen == expected, format!("{seen:?}"))?;
    check(log.iter().all(|r| r.resource == "configmaps" && r.namespace == namespace), format!("{log:?}"))?;
    let counts = interceptor.log().counts();
    check(counts.values().sum::<u64>() == 4 && counts[&Verb::Create] == 1, format!("{counts:?}"))
}
