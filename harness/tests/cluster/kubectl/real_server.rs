//! Compares kubectl's output on the simulated server and on a real one, without ages and what only
//! the real one has.

use std::path::Path;

use lockstep_cluster::{self as cluster, ClusterPlan, Site};

use super::KubectlResult;
use super::program::{Kubectl, on_simulated};
use super::verbs::WEB;

/// The commands to compare, after creating the same objects.
const COMPARED: [&str; 9] = [
    "get deploy,rs,po,sts,ds -o wide -n compared",
    "get cm,secret,quota,lease -n compared -o wide",
    "get deploy -n compared --show-labels",
    "get sa robot -n compared",
    "get ns compared -o wide",
    "get no -o wide",
    "explain deployment --recursive",
    "explain pod --recursive",
    "explain namespace --recursive",
];

/// Runs the commands on both clusters and compares the output.
pub(crate) fn compare(program: &Path) -> KubectlResult {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let real = runtime.block_on(cluster::boot(&ClusterPlan::new(cluster::DEFAULT_VERSION).at(Site::ControlPlane)))?;
    let printed = Kubectl::with(program, &real.admin_kubeconfig_path()).and_then(|kubectl| printed(&kubectl));
    runtime.block_on(real.end());
    let printed = printed?;
    REAL.set(printed).map_err(|_| "it is compared once")?;
    on_simulated(program, |kubectl| {
        results_equal(REAL.get().ok_or("the real server came first")?, &self::printed(kubectl)?)
    })
}

static REAL: std::sync::OnceLock<Vec<(String, String)>> = std::sync::OnceLock::new();

fn results_equal(real: &[(String, String)], simulated: &[(String, String)]) -> KubectlResult {
    let mut differences = String::new();
    for ((line, one), (_, other)) in real.iter().zip(simulated) {
        if one != other {
            let diff = similar::TextDiff::from_lines(one, other);
            differences += &format!("kubectl {line}\n{}\n", diff.unified_diff().context_radius(1));
        }
    }
    if differences.is_empty() { Ok(()) } else { Err(differences.into()) }
}

/// The output of each command.
fn printed(kubectl: &Kubectl) -> KubectlResult<Vec<(String, String)>> {
    kubectl.ok("create namespace compared")?;
    for (line, input) in [
        ("create -n compared -f -", WEB.to_owned()),
        ("create -n compared -f -", WEB.replace("kind: Deployment", "kind: DaemonSet").replace("  replicas: 2\n", "")),
        ("create -n compared -f -", WEB.replace("kind: Deployment", "kind: StatefulSet").replace("replicas: 2", "replicas: 0")),
        ("create -n compared -f -", WEB.replace("kind: Deployment", "kind: ReplicaSet").replace("replicas: 2", "replicas: 0")),
        ("create configmap settings -n compared --from-literal=a=1 --from-literal=b=2", String::new()),
        ("create secret generic password -n compared --from-literal=a=b", String::new()),
        ("create quota few -n compared --hard=count/leases.coordination.k8s.io=3,limits.cpu=2", String::new()),
        ("create serviceaccount robot -n compared", String::new()),
        ("create -n compared -f -", "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: lead}\nspec: {holderIdentity: me}\n".to_owned()),
        ("create -f -", "apiVersion: v1\nkind: Node\nmetadata: {name: n1, labels: {node-role.kubernetes.io/worker: ''}}\nspec: {unschedulable: true}\n".to_owned()),
    ] {
        kubectl.run_with_input(line, &input)?;
    }
    let mut all = Vec::new();
    for line in COMPARED {
        all.push((line.to_owned(), normal(line, &kubectl.ok(line)?)));
    }
    // Only of kinds that the simulated server serves.
    let ours = [
        "pods",
        "deployments",
        "namespaces",
        "nodes",
        "configmaps",
        "leases",
        "daemonsets",
        "resourcequotas",
        "selfsubjectaccessreviews",
    ];
    let resources = kubectl.ok("api-resources -o wide --no-headers")?;
    let known = resources.lines().filter(|line| ours.contains(&line.split(' ').next().unwrap_or_default()));
    let known: Vec<String> = known.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n").collect();
    all.push(("api-resources -o wide".to_owned(), known.concat()));
    Ok(all)
}

/// A line without ages, column widths and the descriptions of `explain`.
fn normal(line: &str, text: &str) -> String {
    let text =
        if line.starts_with("explain") { text.split_once("FIELDS:").map_or(text, |(_, fields)| fields) } else { text };
    let age = |word: &str| {
        word.len() > 1 && word.ends_with(['s', 'm', 'h', 'd']) && word.starts_with(|one: char| one.is_ascii_digit())
    };
    let mut normal = String::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().map(|word| if age(word) { "AGE" } else { word }).collect();
        let indent = line.len() - line.trim_start().len();
        normal += &format!("{}{}\n", " ".repeat(indent), words.join(" "));
    }
    normal
}
