//! Collects pod template hashes from a running kube-controller-manager.

use std::collections::BTreeMap;
use std::time::Duration;

use kube::api::{ApiResource, DynamicObject, GroupVersionKind, PostParams};
use kube::{Api, Client};
use serde_json::{Map, Value, json};

use super::{Case, UpstreamHashes};

/// How often to look for the ReplicaSet of a Deployment, with a pause after each attempt.
const MAX_ATTEMPTS: usize = 300;

/// Quantities as users write them; each becomes a cpu limit.
const AMOUNTS: [&str; 44] = [
    "0",
    "00",
    "1",
    "2",
    "10",
    "100",
    "1000",
    "1500",
    "2000000",
    "0.5",
    "1.5",
    "1.50",
    "1.000",
    "0.001",
    "0.25",
    "+5",
    "100m",
    "250m",
    "1000m",
    "1500m",
    "0.1m",
    "100u",
    "1000n",
    "1n",
    "0.5n",
    "1k",
    "5.125k",
    "1e3",
    "1E3",
    "3e2",
    "1e-3",
    "12e6",
    "1M",
    "7Ki",
    "8Ki",
    "1023Ki",
    "1024Ki",
    "170Mi",
    "1Gi",
    "1.5Gi",
    "99Ti",
    "100Ti",
    "1E",
    "123456789012345678",
];

/// Regenerates `upstream.json`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster with upstream's deployment controller; scripts/hash-fields/collect runs it"]
async fn collect() {
    let cluster = TestCluster { client: Client::try_default().await.unwrap() };
    let mut cases = BTreeMap::new();
    let mut refused = Vec::new();
    cluster.create_namespace("hash").await;
    for (name, template) in templates() {
        match cluster.case("hash", &format!("case-{}", cases.len() + refused.len()), &template).await {
            Ok(case) => drop(cases.insert(name, case)),
            Err(error) => refused.push(format!("{name}: {error}")),
        }
    }
    // ReplicaSets that occupy these names. They have no owner, and no selector matches them.
    let mut taken: Vec<String> = Vec::new();
    for count in 0..4 {
        let namespace = format!("hash-taken-{count}");
        cluster.create_namespace(&namespace).await;
        for hash in &taken {
            cluster.create_unrelated(&namespace, &format!("web-{hash}")).await;
        }
        let case = cluster.case(&namespace, "web", &pod(Map::new())).await.unwrap();
        assert_eq!(case.collision_count.unwrap_or(0), count);
        taken.push(case.hash.clone());
        cases.insert(format!("name taken {count} times"), case);
    }
    let version = cluster.client.apiserver_version().await.unwrap().git_version;
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hash/upstream.json");
    std::fs::write(path, text(&UpstreamHashes { version, cases })).unwrap();
    assert!(refused.is_empty(), "refused:\n{}", refused.join("\n"));
}

/// The file's text, one line per case.
fn text(upstream: &UpstreamHashes) -> String {
    let lines: Vec<String> = upstream
        .cases
        .iter()
        .map(|(name, case)| format!("{}: {}", json!(name), serde_json::to_string(case).unwrap()))
        .collect();
    format!("{{\"version\": {}, \"cases\": {{\n{}\n}}}}\n", json!(upstream.version), lines.join(",\n"))
}

fn templates() -> Vec<(String, Value)> {
    let specs: BTreeMap<String, Map<String, Value>> = serde_yaml::from_str(include_str!("templates.yaml")).unwrap();
    let mut all: Vec<(String, Value)> = specs.into_iter().map(|(name, spec)| (name, pod(spec))).collect();
    for amount in AMOUNTS {
        let container = json!({"name": "c", "image": "app:1", "resources": {"limits": {"cpu": amount}}});
        all.push((format!("amount {amount}"), pod(Map::from_iter([("containers".to_owned(), json!([container]))]))));
    }
    all
}

/// Builds a template from a pod spec. The containers are optional, and `metadata` in the spec
/// becomes the template's metadata.
fn pod(mut spec: Map<String, Value>) -> Value {
    let mut metadata = spec.remove("metadata").unwrap_or_else(|| json!({}));
    metadata["labels"]["app"] = "web".into();
    spec.entry("containers").or_insert_with(|| json!([{"name": "c", "image": "app:1"}]));
    json!({"metadata": metadata, "spec": spec})
}

struct TestCluster {
    client: Client,
}

impl TestCluster {
    fn api(&self, kind: &str, namespace: &str) -> Api<DynamicObject> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("apps", "v1", kind));
        Api::namespaced_with(self.client.clone(), namespace, &resource)
    }

    async fn create_namespace(&self, name: &str) {
        let api: Api<DynamicObject> =
            Api::all_with(self.client.clone(), &ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Namespace")));
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    }

    async fn create(&self, kind: &str, namespace: &str, name: &str, spec: Value) -> Result<(), kube::Error> {
        let object = json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": spec});
        let object = serde_json::from_value(object).unwrap();
        self.api(kind, namespace).create(&PostParams::default(), &object).await.map(drop)
    }

    async fn create_unrelated(&self, namespace: &str, name: &str) {
        let labels = json!({"other": "one"});
        let template = json!({"metadata": {"labels": labels}, "spec": pod(Map::new())["spec"]});
        let spec = json!({"replicas": 0, "selector": {"matchLabels": labels}, "template": template});
        self.create("ReplicaSet", namespace, name, spec).await.unwrap();
    }

    /// Creates a Deployment and waits for the hash that kube-controller-manager computes for its
    /// template.
    async fn case(&self, namespace: &str, name: &str, template: &Value) -> Result<Case, kube::Error> {
        let mut template = template.clone();
        template["metadata"]["labels"]["case"] = name.into();
        let spec = json!({"replicas": 0, "selector": {"matchLabels": {"case": name}}, "template": template});
        self.create("Deployment", namespace, name, spec).await?;
        for _ in 0..MAX_ATTEMPTS {
            let all = self.api("ReplicaSet", namespace).list(&Default::default()).await?.items;
            let owned =
                |set: &&DynamicObject| set.metadata.owner_references.iter().flatten().any(|owner| owner.name == name);
            if let Some(set) = all.iter().find(owned) {
                let deployment = self.api("Deployment", namespace).get(name).await?.data;
                let count = deployment.pointer("/status/collisionCount").and_then(Value::as_i64);
                return Ok(Case {
                    hash: set.metadata.labels.as_ref().unwrap()["pod-template-hash"].clone(),
                    collision_count: count.map(|count| i32::try_from(count).unwrap()),
                    template: deployment["spec"]["template"].clone(),
                });
            }
            pause().await;
        }
        panic!("no ReplicaSet of {namespace}/{name}: does upstream's deployment controller run here?")
    }
}

#[expect(clippy::disallowed_methods, reason = "a real server works in real time")]
async fn pause() {
    tokio::time::sleep(Duration::from_millis(100)).await;
}
