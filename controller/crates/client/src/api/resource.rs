//! The kinds of objects that this controller requests, and their API paths.

use kube::core::Request;

/// A kind that this controller reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are the API's")]
pub enum Resource {
    Deployments,
    ReplicaSets,
    Pods,
    Events,
    Leases,
    StatefulSets,
    DaemonSets,
    ConfigMaps,
    Secrets,
    CronJobs,
    Jobs,
    Namespaces,
    Rollouts,
}

impl Resource {
    /// The name in the API's paths.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Deployments => "deployments",
            Self::ReplicaSets => "replicasets",
            Self::Pods => "pods",
            Self::Events => "events",
            Self::Leases => "leases",
            Self::StatefulSets => "statefulsets",
            Self::DaemonSets => "daemonsets",
            Self::ConfigMaps => "configmaps",
            Self::Secrets => "secrets",
            Self::CronJobs => "cronjobs",
            Self::Jobs => "jobs",
            Self::Namespaces => "namespaces",
            Self::Rollouts => "rollouts",
        }
    }

    /// The API group, empty for the core group.
    pub fn api_group(self) -> &'static str {
        match self {
            Self::Deployments | Self::ReplicaSets | Self::StatefulSets | Self::DaemonSets => "apps",
            Self::Pods | Self::Events | Self::ConfigMaps | Self::Secrets | Self::Namespaces => "",
            Self::Leases => "coordination.k8s.io",
            Self::CronJobs | Self::Jobs => "batch",
            Self::Rollouts => "argoproj.io",
        }
    }

    fn group_path(self) -> &'static str {
        match self {
            Self::Deployments | Self::ReplicaSets | Self::StatefulSets | Self::DaemonSets => "/apis/apps/v1",
            Self::Pods | Self::Events | Self::ConfigMaps | Self::Secrets | Self::Namespaces => "/api/v1",
            Self::Leases => "/apis/coordination.k8s.io/v1",
            Self::CronJobs | Self::Jobs => "/apis/batch/v1",
            Self::Rollouts => "/apis/argoproj.io/v1alpha1",
        }
    }

    /// Objects in one page of a list, and so in memory as text at once; a pod template can take 20
    /// kB.
    pub(super) fn page_size(self) -> u32 {
        match self {
            Self::Deployments | Self::ReplicaSets | Self::StatefulSets | Self::DaemonSets => 100,
            Self::CronJobs | Self::Jobs | Self::Rollouts => 100,
            _ => 500,
        }
    }

    pub(super) fn in_all_namespaces(self) -> Request {
        Request::new(format!("{}/{}", self.group_path(), self.plural()))
    }

    pub(super) fn in_namespace(self, namespace: &str) -> Request {
        Request::new(format!("{}/namespaces/{namespace}/{}", self.group_path(), self.plural()))
    }
}
