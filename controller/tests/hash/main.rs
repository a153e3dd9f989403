//! Compares our pod template hashes with those of a running kube-controller-manager.
//!
//! `upstream.json` beside this file has pod templates as a kube-apiserver returns them, with all
//! defaults, each with the hash that kube-controller-manager put on its ReplicaSet.
//! `scripts/hash-fields/collect` writes it from `templates.yaml`, by running the ignored test
//! below.
#![expect(clippy::unwrap_used, reason = "a test may")]

mod collect;

use std::collections::BTreeMap;

use rollout_controller::{KubernetesMinor, pod_template_hash};
use serde::{Deserialize, Serialize};
use serde_json::Value;

const UPSTREAM: &str = include_str!("upstream.json");

/// The hashes of one version of Kubernetes.
#[derive(Serialize, Deserialize)]
struct UpstreamHashes {
    /// The version of the API server and the controller, such as `v1.36.3`.
    version: String,
    cases: BTreeMap<String, Case>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Case {
    hash: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    collision_count: Option<i32>,
    template: Value,
}

#[test]
fn hashes_equal_upstreams() {
    let upstream: UpstreamHashes = serde_json::from_str(UPSTREAM).unwrap();
    let minor: KubernetesMinor = upstream.version.parse().unwrap();
    let ours = |case: &Case| pod_template_hash(&case.template, case.collision_count, minor);
    let wrong: Vec<String> = upstream
        .cases
        .iter()
        .filter(|(_, case)| ours(case) != case.hash)
        .map(|(name, case)| format!("{name}: {} instead of {}", ours(case), case.hash))
        .collect();
    assert!(upstream.cases.len() > 100);
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), upstream.cases.len(), wrong.join("\n"));
}
