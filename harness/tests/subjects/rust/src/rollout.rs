//! A Deployment that is reconciled, with its ReplicaSets.

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, DeploymentStatus, ReplicaSet};
use kube::Client;

pub struct Rollout {
    pub client: Client,
    pub deployment: Deployment,
    pub spec: DeploymentSpec,
    pub status: DeploymentStatus,
    pub replicas: i32,
    /// All ReplicaSets that it owns, oldest first.
    pub sets: Vec<ReplicaSet>,
    /// The index of the ReplicaSet with the current template, if it exists.
    pub current: Option<usize>,
}

impl Rollout {
    pub fn new(client: Client, deployment: &Deployment) -> Self {
        let spec = deployment.spec.clone().unwrap_or_default();
        let status = deployment.status.clone().unwrap_or_default();
        let (deployment, replicas) = (deployment.clone(), spec.replicas.unwrap_or(1));
        Self { client, deployment, spec, status, replicas, sets: vec![], current: None }
    }
}
