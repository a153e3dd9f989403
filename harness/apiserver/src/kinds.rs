//! The kinds that are served, and their paths: those that are built in, and the custom resources
//! that CustomResourceDefinitions declare.

use std::collections::BTreeMap;

use crate::api::TYPES;
use crate::autoscalers;
use crate::custom::Custom;
use crate::stored::StoredError;

/// One kind, at one version.
#[derive(Debug)]
pub(super) struct Kind {
    /// Empty for the core group.
    pub(super) group: &'static str,
    pub(super) version: &'static str,
    /// The plural, as in a path.
    pub(super) plural: &'static str,
    /// As in a body, and in the table of types.
    pub(super) kind: &'static str,
    pub(super) namespaced: bool,
    pub(super) subresources: &'static [&'static str],
    /// Whether an immediate deletion is answered with the object instead of a Status.
    pub(super) returns_deleted: bool,
    /// Of a custom resource: what its definition says of this version.
    pub(super) custom: Option<&'static Custom>,
    /// The short names that kubectl takes, of a built-in kind.
    pub(super) short_names: &'static [&'static str],
    /// The groups of kinds that a built-in kind belongs to, as `all`.
    pub(super) categories: &'static [&'static str],
}

pub(super) const fn kind(
    group: &'static str,
    plural: &'static str,
    kind: &'static str,
    subresources: &'static [&'static str],
) -> Kind {
    let (version, namespaced, returns_deleted) = ("v1", true, false);
    let (short_names, categories): (&[&str], &[&str]) = (&[], &[]);
    Kind {
        group,
        version,
        plural,
        kind,
        namespaced,
        subresources,
        returns_deleted,
        custom: None,
        short_names,
        categories,
    }
}

/// The category of `kubectl get all`.
const ALL: &[&str] = &["all"];

/// All kinds that are built in.
pub(super) static KINDS: [Kind; 24] = [
    Kind { namespaced: false, short_names: &["ns"], ..kind("", "namespaces", "Namespace", &["status", "finalize"]) },
    Kind { namespaced: false, short_names: &["no"], ..kind("", "nodes", "Node", &["status"]) },
    Kind {
        returns_deleted: true,
        short_names: &["po"],
        categories: ALL,
        ..kind("", "pods", "Pod", &["status", "binding", "eviction"])
    },
    Kind { short_names: &["ev"], ..kind("", "events", "Event", &[]) },
    Kind { short_names: &["cm"], ..kind("", "configmaps", "ConfigMap", &[]) },
    kind("", "secrets", "Secret", &[]),
    Kind { returns_deleted: true, short_names: &["sa"], ..kind("", "serviceaccounts", "ServiceAccount", &[]) },
    Kind { returns_deleted: true, short_names: &["quota"], ..kind("", "resourcequotas", "ResourceQuota", &["status"]) },
    Kind {
        returns_deleted: true,
        short_names: &["svc"],
        categories: ALL,
        ..kind("", "services", "Service", &["status"])
    },
    Kind { short_names: &["limits"], ..kind("", "limitranges", "LimitRange", &[]) },
    Kind {
        short_names: &["deploy"],
        categories: ALL,
        ..kind("apps", "deployments", "Deployment", &["status", "scale"])
    },
    Kind { short_names: &["rs"], categories: ALL, ..kind("apps", "replicasets", "ReplicaSet", &["status", "scale"]) },
    Kind {
        short_names: &["sts"],
        categories: ALL,
        ..kind("apps", "statefulsets", "StatefulSet", &["status", "scale"])
    },
    Kind { short_names: &["ds"], categories: ALL, ..kind("apps", "daemonsets", "DaemonSet", &["status"]) },
    Kind { categories: ALL, ..kind("batch", "jobs", "Job", &["status"]) },
    Kind { short_names: &["cj"], categories: ALL, ..kind("batch", "cronjobs", "CronJob", &["status"]) },
    kind("coordination.k8s.io", "leases", "Lease", &[]),
    kind("discovery.k8s.io", "endpointslices", "EndpointSlice", &[]),
    Kind { short_names: &["pdb"], ..kind("policy", "poddisruptionbudgets", "PodDisruptionBudget", &["status"]) },
    Kind {
        version: "v2",
        short_names: &["hpa"],
        categories: ALL,
        ..kind(AUTOSCALING, AUTOSCALERS, AUTOSCALER, &["status"])
    },
    Kind {
        namespaced: false,
        short_names: &["crd", "crds"],
        categories: &["api-extensions"],
        ..kind(EXTENSIONS, "customresourcedefinitions", DEFINITION, &["status"])
    },
    Kind { short_names: &["ing"], ..kind("networking.k8s.io", "ingresses", "Ingress", &["status"]) },
    Kind { short_names: &["ev"], ..kind(EVENTS, "events", "Event", &[]) },
    Kind { short_names: &["hpa"], categories: ALL, ..kind(AUTOSCALING, AUTOSCALERS, AUTOSCALER, &["status"]) },
];

/// The group that has the Events of core in another form.
pub(super) const EVENTS: &str = "events.k8s.io";

/// The group that has autoscalers in two versions, and scales.
const AUTOSCALING: &str = "autoscaling";
/// The kind of autoscalers.
pub(super) const AUTOSCALER: &str = "HorizontalPodAutoscaler";
/// The plural of autoscalers.
const AUTOSCALERS: &str = "horizontalpodautoscalers";

/// The group of CustomResourceDefinitions.
pub(super) const EXTENSIONS: &str = "apiextensions.k8s.io";
/// Their kind.
pub(super) const DEFINITION: &str = "CustomResourceDefinition";

/// The place of a kind among all: that of a built-in kind in [`KINDS`]; custom resources follow by
/// name. All versions of a kind share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place(usize, &'static str, &'static str);

impl Kind {
    /// `apps/v1`, or `v1`.
    pub(super) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_owned() } else { format!("{}/{}", self.group, self.version) }
    }

    /// `deployments.apps`, or `pods`.
    pub(super) fn resource(&self) -> String {
        if self.group.is_empty() { self.plural.to_owned() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// The kind of a list of it.
    pub(super) fn list_kind(&self) -> String {
        self.custom.map_or_else(|| format!("{}List", self.kind), |custom| custom.list_kind.clone())
    }

    /// Its singular, as kubectl takes it.
    pub(super) fn singular(&self) -> String {
        self.custom.map_or_else(|| self.kind.to_lowercase(), |custom| custom.singular.clone())
    }

    /// What can be done with its objects, in upstream's order.
    pub(super) fn verbs(&self) -> Vec<&'static str> {
        if self.custom.is_some() {
            return vec!["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
        }
        if super::reviews::REVIEWS.iter().any(|review| std::ptr::eq(review, self)) {
            return vec!["create"];
        }
        let all = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
        // Namespaces go one by one.
        all.into_iter().filter(|verb| self.built_in() != "Namespace" || *verb != "deletecollection").collect()
    }

    /// Whether PUT creates an absent object. Upstream: `AllowCreateOnUpdate`.
    pub(super) fn made_by_put(&self) -> bool {
        matches!(self.built_in(), "Event" | "Lease" | "Service" | "LimitRange")
    }

    /// Whether an update must name the version that it changes. Upstream:
    /// `AllowUnconditionalUpdate`.
    pub(super) fn needs_version(&self) -> bool {
        self.custom.is_some() || matches!(self.built_in(), "Lease" | "PodDisruptionBudget" | DEFINITION)
    }

    /// Whether its watches get bookmarks. They come from the watch cache, which does not hold
    /// Events. Upstream: `DefaultWatchCacheSizes`.
    pub(super) fn has_bookmarks(&self) -> bool {
        self.built_in() != "Event"
    }

    /// Whether its objects can be written in protobuf. Of a definition this server has JSON alone.
    pub(super) fn has_protobuf(&self) -> bool {
        self.custom.is_none() && self.kind != DEFINITION
    }

    /// The name of a built-in kind; empty for a custom resource, which may have the same.
    pub(super) fn built_in(&self) -> &'static str {
        if self.custom.is_some() { "" } else { self.kind }
    }

    /// The index of a built-in kind's type in the table.
    pub(super) fn of_table(&self) -> usize {
        TYPES.place(self.type_name()).expect("every built-in kind is in the table")
    }

    /// The name of a built-in kind's type in the table.
    pub(super) fn type_name(&self) -> &'static str {
        match () {
            () if self.is_new_event() => "events.Event",
            () if self.is_first_autoscaler() => autoscalers::FIRST,
            () => self.kind,
        }
    }

    /// Whether it is the Event of `events.k8s.io`, whose objects are stored as those of core.
    pub(super) fn is_new_event(&self) -> bool {
        self.custom.is_none() && self.group == EVENTS
    }

    /// Whether it is the autoscaler of v1, whose objects are stored as those of v2.
    pub(super) fn is_first_autoscaler(&self) -> bool {
        self.custom.is_none() && self.group == AUTOSCALING && self.version == "v1" && self.plural == AUTOSCALERS
    }

    /// The kind in whose form requests are decided, after they are read and before they are
    /// answered.
    pub(super) fn inner(&'static self) -> &'static Self {
        if self.is_first_autoscaler() { self.storage() } else { self }
    }

    /// The other versions of a built-in kind, in which managers may have sets of fields.
    pub(super) fn other_versions(&'static self) -> impl Iterator<Item = &'static Self> {
        let all = KINDS.iter().filter(|kind| self.custom.is_none() && kind.version != self.version);
        all.filter(|kind| kind.group == self.group && kind.plural == self.plural)
    }

    /// The built-in kind as which its objects are stored: another one for an Event of
    /// `events.k8s.io` and for an autoscaler of v1.
    pub(super) fn storage(&'static self) -> &'static Self {
        match () {
            () if self.is_new_event() => built_in("", "events").expect("core has Events"),
            () if self.is_first_autoscaler() => built_in(AUTOSCALING, AUTOSCALERS).expect("v2 stands first"),
            () => self,
        }
    }

    /// Its place among all kinds.
    pub(super) fn place(&'static self) -> Place {
        let stored = self.storage();
        match KINDS.iter().position(|kind| std::ptr::eq(kind, stored)) {
            Some(index) => Place(index, "", ""),
            None => Place(KINDS.len(), self.group, self.plural),
        }
    }
}

/// A built-in kind; of several versions that in which objects are stored.
pub(super) fn built_in(group: &str, plural: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.group == group && kind.plural == plural)
}

/// What a server serves: the built-in kinds, and custom resources by the name of their definition.
#[derive(Debug, Default)]
pub(super) struct Kinds {
    custom: BTreeMap<String, Definition>,
}

/// The versions that a definition serves.
#[derive(Debug, Clone)]
pub(super) struct Definition {
    pub(super) served: Vec<&'static Kind>,
    /// The version in which objects are stored, be it served or not.
    pub(super) storage: &'static Kind,
}

impl Kinds {
    pub(super) fn define(&mut self, name: &str, definition: Definition) {
        self.custom.insert(name.to_owned(), definition);
    }

    pub(super) fn clear(&mut self) {
        self.custom.clear();
    }

    /// All kinds, custom resources at each version that is served.
    pub(super) fn all(&self) -> impl Iterator<Item = &'static Kind> {
        KINDS.iter().chain(self.custom.values().flat_map(|definition| definition.served.iter().copied()))
    }

    /// The kind of a path.
    pub(super) fn served(&self, group: &str, version: &str, plural: &str) -> Option<&'static Kind> {
        self.all().find(|kind| kind.plural == plural && kind.group == group && kind.version == version)
    }

    /// The kind of a group's plural, at any version.
    pub(super) fn of_group(&self, group: &str, plural: &str) -> Option<&'static Kind> {
        self.all().find(|kind| kind.plural == plural && kind.group == group)
    }

    /// The kind of a resource as kubectl takes it: `deployments` or `deployments.apps`.
    pub(super) fn of_resource(&self, name: &str) -> Result<&'static Kind, StoredError> {
        let found = self.all().find(|kind| kind.plural == name || kind.resource() == name);
        found.ok_or_else(|| StoredError::UnknownResource(name.to_owned()))
    }

    /// The kind of a reference's apiVersion and kind.
    pub(super) fn named(&self, api_version: &str, kind: &str) -> Option<&'static Kind> {
        self.all().find(|one| one.kind == kind && one.api_version() == api_version)
    }

    /// The kind as which an object of this kind is stored.
    pub(super) fn stored(&self, kind: &'static Kind) -> &'static Kind {
        let of = kind.custom.and_then(|_| self.custom.get(&kind.resource()));
        of.map_or(kind.storage(), |definition| definition.storage)
    }
}
