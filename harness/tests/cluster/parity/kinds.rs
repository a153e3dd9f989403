//! The kinds whose requests are compared.

use super::rng::Rng;

/// A kind with its names in paths and bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) version: &'static str,
    pub(crate) namespaced: bool,
    pub(crate) status: bool,
    pub(crate) scale: bool,
}

const fn kind(kind: &'static str, plural: &'static str, version: &'static str, parts: (bool, bool)) -> Kind {
    Kind { kind, plural, version, namespaced: true, status: parts.0, scale: parts.1 }
}

/// All kinds under test.
pub(crate) const KINDS: [Kind; 31] = [
    kind("Deployment", "deployments", "apps/v1", (true, true)),
    kind("ReplicaSet", "replicasets", "apps/v1", (true, true)),
    kind("Pod", "pods", "v1", (true, false)),
    kind("ConfigMap", "configmaps", "v1", (false, false)),
    kind("Secret", "secrets", "v1", (false, false)),
    kind("StatefulSet", "statefulsets", "apps/v1", (true, true)),
    kind("DaemonSet", "daemonsets", "apps/v1", (true, false)),
    kind("Event", "events", "v1", (false, false)),
    kind("ServiceAccount", "serviceaccounts", "v1", (false, false)),
    kind("ResourceQuota", "resourcequotas", "v1", (true, false)),
    kind("Lease", "leases", "coordination.k8s.io/v1", (false, false)),
    Kind { namespaced: false, ..kind("Node", "nodes", "v1", (true, false)) },
    Kind { namespaced: false, ..kind("Namespace", "namespaces", "v1", (true, false)) },
    kind("Widget", "widgets", "parity.example.com/v1", (true, true)),
    kind("Job", "jobs", "batch/v1", (true, false)),
    kind("CronJob", "cronjobs", "batch/v1", (true, false)),
    kind("Service", "services", "v1", (true, false)),
    kind("EndpointSlice", "endpointslices", "discovery.k8s.io/v1", (false, false)),
    kind("LimitRange", "limitranges", "v1", (false, false)),
    kind("PodDisruptionBudget", "poddisruptionbudgets", "policy/v1", (true, false)),
    kind("HorizontalPodAutoscaler", "horizontalpodautoscalers", "autoscaling/v2", (true, false)),
    kind("Ingress", "ingresses", "networking.k8s.io/v1", (true, false)),
    kind("Event", "events", "events.k8s.io/v1", (false, false)),
    kind("HorizontalPodAutoscaler", "horizontalpodautoscalers", "autoscaling/v1", (true, false)),
    Kind { namespaced: false, ..kind("IngressClass", "ingressclasses", "networking.k8s.io/v1", (false, false)) },
    kind("Role", "roles", RBAC, (false, false)),
    kind("RoleBinding", "rolebindings", RBAC, (false, false)),
    Kind { namespaced: false, ..kind("ClusterRole", "clusterroles", RBAC, (false, false)) },
    Kind { namespaced: false, ..kind("ClusterRoleBinding", "clusterrolebindings", RBAC, (false, false)) },
    kind("NetworkPolicy", "networkpolicies", "networking.k8s.io/v1", (false, false)),
    Kind { namespaced: false, ..kind("PriorityClass", "priorityclasses", "scheduling.k8s.io/v1", (false, false)) },
];

/// The version of roles and bindings.
pub(crate) const RBAC: &str = "rbac.authorization.k8s.io/v1";

impl Kind {
    /// The path of its collection.
    pub(crate) fn collection(&self) -> String {
        let root = if self.version == "v1" { "/api/v1".to_owned() } else { format!("/apis/{}", self.version) };
        if self.namespaced {
            format!("{root}/namespaces/$NS/{}", self.plural)
        } else {
            format!("{root}/{}", self.plural)
        }
    }

    /// Whether it is a custom resource.
    pub(crate) fn custom(&self) -> bool {
        self.kind == "Widget"
    }

    /// Whether it is the Event of `events.k8s.io`.
    pub(crate) fn new_event(&self) -> bool {
        self.version == "events.k8s.io/v1"
    }

    /// Whether it is the HorizontalPodAutoscaler of v1.
    pub(crate) fn is_autoscaler_v1(&self) -> bool {
        self.version == "autoscaling/v1"
    }

    pub(crate) fn workload(&self) -> bool {
        matches!(self.kind, "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet")
    }

    /// A name from the pool. Names of cluster-scoped objects are unique to the sequence.
    pub(crate) fn name(&self, rng: &mut Rng) -> String {
        let name = rng.one(&["a", "a", "b", "b", "c"]);
        if self.namespaced { name.to_owned() } else { format!("$NS-{name}") }
    }
}
