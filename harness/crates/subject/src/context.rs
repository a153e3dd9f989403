//! What a subject is started with.

use std::path::Path;

use lockstep_case::RestartOptions;
use lockstep_cluster::kind;
use lockstep_cluster::supervise::Supervisor;
use lockstep_intercept::Interceptor;
use lockstep_recording::controllers::ControllerSet;

use crate::pod_env::{InterceptorEndpoint, ServiceAccount};
use crate::virtual_time::VirtualTime;

/// What a subject is started with. It has no Debug output, as a kubeconfig holds a token.
pub struct StartContext<'a> {
    /// The kubeconfig for the interceptor.
    pub kubeconfig: String,
    /// A client through the interceptor, if the cluster is in this process.
    pub client: Option<kube::Client>,
    /// A folder for the subject's files, removed after the run.
    pub folder: &'a Path,
    /// What a program in virtual time needs, if the cluster has virtual time.
    pub virtual_time: Option<VirtualTime>,
    /// The supervisor of child processes.
    pub supervisor: Option<&'a Supervisor>,
    /// The controllers that the subject brings, and the cluster does not run.
    pub controllers: &'a ControllerSet,
    /// The options of a config-restart controller.
    pub restart: &'a RestartOptions,
    /// What a subject needs to run as pods, if the cluster can run pods and they can reach the
    /// interceptor.
    pub in_cluster: Option<InCluster<'a>>,
    /// The service account that a process finds like a pod, on request.
    pub service_account: Option<ServiceAccount>,
    /// The environment variables that a process gets in addition to those that every controller
    /// needs.
    pub variables: &'a [String],
    /// The address of the interceptor, if it listens.
    pub interceptor: InterceptorEndpoint,
}

/// What a subject needs to run as pods.
pub struct InCluster<'a> {
    /// The harness's client.
    pub client: &'a kube::Client,
    /// The node that runs pods.
    pub node: &'a kind::KindNode,
    /// The interceptor.
    pub interceptor: &'a Interceptor,
}
