//! Ours against upstream's: every hash that a running kube-controller-manager was seen to give.
//!
//! `upstream.json` beside this file holds pod templates as a kube-apiserver gives them back,
//! defaults and all, each with the hash that upstream put on its ReplicaSet.
//! `scripts/hash-fields/collect` makes it, from `templates.yaml`: it runs the test below that is
//! ignored elsewhere.
#![expect(clippy::unwrap_used, reason = "a test may")]

mod collect;

use std::collections::BTreeMap;

use rollout_controller::{KubernetesMinor, pod_template_hash};
use serde::{Deserialize, Serialize};
use serde_json::Value;

const UPSTREAM: &str = include_str!("upstream.json");

/// What one upstream version was seen to do.
#[derive(Serialize, Deserialize)]
struct Seen {
    /// Of the API server and of the controller: `v1.36.3`.
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
fn every_hash_is_upstream_s() {
    let seen: Seen = serde_json::from_str(UPSTREAM).unwrap();
    let minor: KubernetesMinor = seen.version.parse().unwrap();
    let ours = |case: &Case| pod_template_hash(&case.template, case.collision_count, minor);
    let wrong: Vec<String> = seen
        .cases
        .iter()
        .filter(|(_, case)| ours(case) != case.hash)
        .map(|(name, case)| format!("{name}: {} instead of {}", ours(case), case.hash))
        .collect();
    assert!(seen.cases.len() > 100);
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), seen.cases.len(), wrong.join("\n"));
}
