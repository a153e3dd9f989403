//! The control plane in containers, with upstream's images: booting and cleaning up.
//!
//! Without a container engine or the images the trials are listed as ignored. This executable,
//! started in another role, plays other processes: see [`roles`].

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use kube::Client;
use libtest_mimic::{Failed, Trial};
use lockstep_cluster::containers::{ImageOptions, available};
use lockstep_cluster::{Cluster, ClusterPlan, DEFAULT_VERSION, Handover, Site, boot};

use crate::outcome::{Outcome, check, trial, until};
use crate::roles::{Process, RolePlayer, alive, processes, read_cluster, until_removed};

/// The other processes of these trials.
pub(crate) const ROLES: RolePlayer = RolePlayer { module: "containers", plan };

/// etcd's image for the version of this test.
const ETCD: &str = "registry.k8s.io/etcd:3.6.8-0";

pub(crate) fn trials() -> Vec<Trial> {
    let missing = available(DEFAULT_VERSION, &ImageOptions::from_env()).err();
    if let Some(why) = &missing {
        eprintln!("ignored: {why}");
    }
    let ignored = missing.is_some();
    vec![
        trial("containers::plane::boots_and_leaves_nothing", ignored, boots),
        trial("containers::plane::sigkill_of_the_harness_leaves_nothing", ignored, killed),
        trial("containers::plane::sigkill_in_the_middle_of_a_boot_leaves_nothing", ignored, killed_early),
        trial("containers::plane::processes_of_a_run_share_a_cluster_that_ends_with_the_run", ignored, shared),
        trial("containers::plane::early_exit_is_reported_with_its_log", ignored, ends_early),
        trial("containers::plane::missing_image_is_named", ignored, no_image),
    ]
}

fn plan() -> ClusterPlan {
    ClusterPlan::new(DEFAULT_VERSION).at(Site::Containers(ImageOptions::from_env()))
}

// Containers and networks of the engine.

fn docker(words: &[&str]) -> Result<String, Failed> {
    let answer = Command::new("docker").args(words).output()?;
    let output = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
    check(answer.status.success(), format!("docker {words:?}: {}", String::from_utf8_lossy(&answer.stderr)))?;
    Ok(output)
}

/// The names and published ports of the containers whose cluster has its files in this folder.
fn containers(folder: &Path) -> Result<Vec<(String, String)>, Failed> {
    let format = "{{.Label \"lockstep.folder\"}}\t{{.Names}}\t{{.Ports}}";
    let all = docker(&["ps", "--all", "--filter", "label=lockstep.folder", "--format", format])?;
    let fields = all.lines().map(|line| line.splitn(3, '\t').map(str::to_owned).collect::<Vec<_>>());
    let ours = fields.filter(|fields| Path::new(&fields[0]).starts_with(folder));
    Ok(ours.map(|fields| (fields[1].clone(), fields.get(2).cloned().unwrap_or_default())).collect())
}

/// Waits until the cluster's containers and network are removed.
async fn removed(folder: &Path, network: &str) -> Outcome {
    let nothing = async || {
        let networks = docker(&["network", "ls", "--format", "{{.Name}}"]);
        networks.is_ok_and(|networks| networks.lines().all(|name| name != network))
            && containers(folder).is_ok_and(|found| found.is_empty())
    };
    until("no container and no network is left", Duration::from_secs(20), nothing).await
}

/// The network of a cluster, whose name its containers have as a prefix.
fn network(folder: &Path) -> Result<String, Failed> {
    let found = containers(folder)?;
    let name = found.first().ok_or("there is no container")?.0.clone();
    Ok(name.splitn(3, '-').take(2).collect::<Vec<_>>().join("-"))
}

// Booting and ending.

async fn boots() -> Outcome {
    let cluster = boot(&plan()).await?;
    let names: Vec<&str> = cluster.programs().keys().map(String::as_str).collect();
    check(names == ["etcd", "kube-apiserver", "kube-controller-manager"], format!("{names:?}"))?;
    alive(&cluster)?;
    check(cluster.admin_kubeconfig_path().is_file(), "it has no kubeconfig")?;
    check(cluster.identity().name == "containers", cluster.identity().name.clone())?;
    check(cluster.identity().title() == format!("kube-apiserver {DEFAULT_VERSION}"), cluster.identity().title())?;
    let (found, network) = (containers(cluster.dir())?, network(cluster.dir())?);
    for program in names {
        let container = found.iter().find(|(name, _)| *name == format!("{network}-{program}"));
        let ports = &container.ok_or(format!("{program} is not in {found:?}"))?.1;
        let expected = cluster.access().server.replace("https://", "") + "->6443/tcp";
        let published = if program == "kube-apiserver" { expected.as_str() } else { "" };
        check(ports == published, format!("{program} is published at {ports}"))?;
    }
    check(cluster.access().server.starts_with("https://127.0.0.1:"), cluster.access().server.clone())?;
    let mut anonymous = kube::Config::new(cluster.access().server.parse()?);
    anonymous.accept_invalid_certs = true;
    let anonymous = Client::try_from(anonymous)?;
    check(anonymous.apiserver_version().await.is_err(), "a client without a token got a response")?;
    check(cluster.access().subject_client()?.apiserver_version().await.is_ok(), "the subject gets no answer")?;
    let known: Cluster = serde_json::from_str::<Handover>(&serde_json::to_string(&cluster.handover())?)?.into();
    cluster.end().await;
    check(!processes(&known).iter().any(|process| process.is_alive()) && !known.dir().exists(), "something is left")?;
    removed(known.dir(), &network).await
}

async fn killed() -> Outcome {
    let mut harness = ROLES.start("victim")?;
    let cluster = read_cluster(&mut harness)?;
    alive(&cluster)?;
    let network = network(cluster.dir())?;
    drop(harness);
    until_removed(&cluster, cluster.dir()).await?;
    removed(cluster.dir(), &network).await
}

/// While the engine creates a container, most could be left behind.
async fn killed_early() -> Outcome {
    for containers_seen in 1..=3 {
        let folder = tempfile::tempdir()?;
        let harness = Process(ROLES.command("victim")?.env("TMPDIR", folder.path()).spawn()?);
        let some = async || containers(folder.path()).is_ok_and(|found| found.len() >= containers_seen);
        until("there is a container", Duration::from_secs(60), some).await?;
        let network = network(folder.path())?;
        drop(harness);
        let mine = folder.path().join(format!("lockstep-{}", rustix::process::getuid().as_raw()));
        let empty = async || std::fs::read_dir(&mine).is_ok_and(|mut left| left.next().is_none());
        until("its folder is gone", Duration::from_secs(30), empty).await?;
        removed(folder.path(), &network).await?;
    }
    Ok(())
}

async fn shared() -> Outcome {
    let (runner, first, third) = ROLES.shared_by_trials().await?;
    check(third.access().subject_client()?.apiserver_version().await.is_ok(), "it does not answer any more")?;
    let network = network(first.dir())?;
    drop(runner);
    until_removed(&first, first.dir().parent().ok_or("a cluster of a run has a folder around it")?).await?;
    removed(first.dir(), &network).await
}

/// An image whose etcd cannot start; dropping this removes it.
struct BrokenImage(String);

impl BrokenImage {
    fn new() -> Result<Self, Failed> {
        let name = format!("lockstep-test/etcd:broken-{}", std::process::id());
        let etcd = ImageOptions::from_env().etcd.unwrap_or_else(|| ETCD.to_owned());
        let container = docker(&["create", &etcd, "/nothing"])?;
        let made = docker(&["commit", "--change", "ENV ETCD_HEARTBEAT_INTERVAL=nonsense", &container, &name]);
        docker(&["rm", &container])?;
        made.map(|_| Self(name))
    }
}

impl Drop for BrokenImage {
    fn drop(&mut self) {
        // A container may still be terminating, so the image may remain; it is a name and a few
        // bytes.
        let _ = docker(&["rmi", "--force", &self.0]);
    }
}

async fn ends_early() -> Outcome {
    let broken = BrokenImage::new()?;
    let folder = tempfile::tempdir()?;
    let mut victim = ROLES.command("victim")?;
    let output = victim.env("TMPDIR", folder.path()).env("LOCKSTEP_ETCD_IMAGE", &broken.0).output()?;
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    check(!output.status.success(), "it booted")?;
    let says = |words: &str| check(error.contains(words), format!("{words:?} is not in {error}"));
    says("etcd ended while the cluster was starting (exit code 1)")?;
    says("failed-etcd.log says\n")?;
    says("ETCD_HEARTBEAT_INTERVAL")?;
    let left = std::fs::read_dir(folder.path().join(format!("lockstep-{}", rustix::process::getuid().as_raw())))?;
    let left: BTreeSet<_> = left.flatten().map(|entry| entry.file_name()).collect();
    check(left == BTreeSet::from(["failed-etcd.log".into()]), format!("{left:?}"))?;
    check(containers(folder.path())?.is_empty(), "a container is left")
}

async fn no_image() -> Outcome {
    let options = ImageOptions { registry: Some("127.0.0.1:1/none".to_owned()), etcd: Some(ETCD.to_owned()) };
    let Err(error) = boot(&ClusterPlan::new(DEFAULT_VERSION).at(Site::Containers(options))).await else {
        return Err("it booted".into());
    };
    let error = error.to_string();
    for words in [
        &format!("image 127.0.0.1:1/none/kube-apiserver:{DEFAULT_VERSION} is not available: "),
        "LOCKSTEP_IMAGE_REGISTRY",
        "--k8s-version",
    ] {
        check(error.contains(words), format!("{words:?} is not in {error}"))?;
    }
    Ok(())
}
