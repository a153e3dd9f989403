//! The kinds that are served, and their paths.

use crate::stored::StoredError;

/// One kind.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Kind {
    /// Empty for the core group.
    pub(super) group: &'static str,
    /// The plural, as in a path.
    pub(super) plural: &'static str,
    /// As in a body, and in the table of types.
    pub(super) kind: &'static str,
    pub(super) namespaced: bool,
    pub(super) subresources: &'static [&'static str],
    /// Whether an immediate deletion is answered with the object instead of a Status.
    pub(super) returns_deleted: bool,
}

const fn kind(
    group: &'static str,
    plural: &'static str,
    kind: &'static str,
    subresources: &'static [&'static str],
) -> Kind {
    Kind { group, plural, kind, namespaced: true, subresources, returns_deleted: false }
}

/// All kinds; their version is v1.
pub(super) static KINDS: [Kind; 13] = [
    Kind { namespaced: false, ..kind("", "namespaces", "Namespace", &["status", "finalize"]) },
    Kind { namespaced: false, ..kind("", "nodes", "Node", &["status"]) },
    Kind { returns_deleted: true, ..kind("", "pods", "Pod", &["status", "binding"]) },
    kind("", "events", "Event", &[]),
    kind("", "configmaps", "ConfigMap", &[]),
    kind("", "secrets", "Secret", &[]),
    Kind { returns_deleted: true, ..kind("", "serviceaccounts", "ServiceAccount", &[]) },
    Kind { returns_deleted: true, ..kind("", "resourcequotas", "ResourceQuota", &["status"]) },
    kind("apps", "deployments", "Deployment", &["status", "scale"]),
    kind("apps", "replicasets", "ReplicaSet", &["status", "scale"]),
    kind("apps", "statefulsets", "StatefulSet", &["status", "scale"]),
    kind("apps", "daemonsets", "DaemonSet", &["status"]),
    kind("coordination.k8s.io", "leases", "Lease", &[]),
];

impl Kind {
    /// `apps/v1`, or `v1`.
    pub(super) fn api_version(&self) -> String {
        if self.group.is_empty() { "v1".to_owned() } else { format!("{}/v1", self.group) }
    }

    /// `deployments.apps`, or `pods`.
    pub(super) fn resource(&self) -> String {
        if self.group.is_empty() { self.plural.to_owned() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// Whether PUT creates an absent object. Upstream: `AllowCreateOnUpdate`.
    pub(super) fn made_by_put(&self) -> bool {
        matches!(self.kind, "Lease" | "Event")
    }

    /// Whether its watches get bookmarks. They come from the watch cache, which does not hold
    /// Events. Upstream: `DefaultWatchCacheSizes`.
    pub(super) fn has_bookmarks(&self) -> bool {
        self.kind != "Event"
    }

    /// Its index in [`KINDS`].
    pub(super) fn place(&'static self) -> usize {
        KINDS.iter().position(|kind| std::ptr::eq(kind, self)).expect("a kind is one of them")
    }
}

/// The kind of a path's group and plural.
pub(super) fn served(group: &str, plural: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.group == group && kind.plural == plural)
}

/// The kind of a resource as kubectl takes it: `deployments` or `deployments.apps`.
pub(super) fn of_resource(name: &str) -> Result<&'static Kind, StoredError> {
    let found = KINDS.iter().find(|kind| kind.plural == name || kind.resource() == name);
    found.ok_or_else(|| StoredError::UnknownResource(name.to_owned()))
}

/// The kind of a reference's apiVersion and kind.
pub(super) fn named(api_version: &str, kind: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|one| one.kind == kind && one.api_version() == api_version)
}
