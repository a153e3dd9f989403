//! The served kinds: the built-in ones, and the custom resources that CustomResourceDefinitions
//! declare.

use std::collections::BTreeMap;

use crate::types::custom_kind::CustomKind;
use crate::types::table::TYPES;

/// A kind at one version.
#[derive(Debug)]
pub(crate) struct ResourceKind {
    /// Empty for the core group.
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    /// The plural, as in paths.
    pub(crate) plural: &'static str,
    /// The kind, as in bodies and in the type table.
    pub(crate) kind: &'static str,
    pub(crate) namespaced: bool,
    pub(crate) subresources: &'static [&'static str],
    /// Whether an immediate deletion returns the object instead of a Status.
    pub(crate) returns_deleted: bool,
    /// For a custom resource, this version of its definition.
    pub(crate) custom: Option<&'static CustomKind>,
    /// The short names for kubectl of a built-in kind.
    pub(crate) short_names: &'static [&'static str],
    /// The categories of a built-in kind, such as `all`.
    pub(crate) categories: &'static [&'static str],
}

pub(crate) const fn kind(
    group: &'static str,
    plural: &'static str,
    kind: &'static str,
    subresources: &'static [&'static str],
) -> ResourceKind {
    let (version, namespaced, returns_deleted) = ("v1", true, false);
    let (short_names, categories): (&[&str], &[&str]) = (&[], &[]);
    ResourceKind {
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

/// All built-in kinds.
pub(crate) static KINDS: [ResourceKind; 25] = [
    ResourceKind {
        namespaced: false,
        short_names: &["ns"],
        ..kind("", "namespaces", "Namespace", &["status", "finalize"])
    },
    ResourceKind { namespaced: false, short_names: &["no"], ..kind("", "nodes", "Node", &["status"]) },
    ResourceKind {
        returns_deleted: true,
        short_names: &["po"],
        categories: ALL,
        ..kind("", "pods", "Pod", &["status", "binding", "eviction"])
    },
    ResourceKind { short_names: &["ev"], ..kind("", "events", "Event", &[]) },
    ResourceKind { short_names: &["cm"], ..kind("", "configmaps", "ConfigMap", &[]) },
    kind("", "secrets", "Secret", &[]),
    ResourceKind { returns_deleted: true, short_names: &["sa"], ..kind("", "serviceaccounts", "ServiceAccount", &[]) },
    ResourceKind {
        returns_deleted: true,
        short_names: &["quota"],
        ..kind("", "resourcequotas", "ResourceQuota", &["status"])
    },
    ResourceKind {
        returns_deleted: true,
        short_names: &["svc"],
        categories: ALL,
        ..kind("", "services", "Service", &["status"])
    },
    ResourceKind { short_names: &["limits"], ..kind("", "limitranges", "LimitRange", &[]) },
    ResourceKind {
        short_names: &["deploy"],
        categories: ALL,
        ..kind("apps", "deployments", "Deployment", &["status", "scale"])
    },
    ResourceKind {
        short_names: &["rs"],
        categories: ALL,
        ..kind("apps", "replicasets", "ReplicaSet", &["status", "scale"])
    },
    ResourceKind {
        short_names: &["sts"],
        categories: ALL,
        ..kind("apps", "statefulsets", "StatefulSet", &["status", "scale"])
    },
    ResourceKind { short_names: &["ds"], categories: ALL, ..kind("apps", "daemonsets", "DaemonSet", &["status"]) },
    ResourceKind { categories: ALL, ..kind("batch", "jobs", "Job", &["status"]) },
    ResourceKind { short_names: &["cj"], categories: ALL, ..kind("batch", "cronjobs", "CronJob", &["status"]) },
    kind("coordination.k8s.io", "leases", "Lease", &[]),
    kind("discovery.k8s.io", "endpointslices", "EndpointSlice", &[]),
    ResourceKind {
        short_names: &["pdb"],
        ..kind("policy", "poddisruptionbudgets", "PodDisruptionBudget", &["status"])
    },
    ResourceKind {
        version: "v2",
        short_names: &["hpa"],
        categories: ALL,
        ..kind(AUTOSCALING, AUTOSCALERS, AUTOSCALER, &["status"])
    },
    ResourceKind {
        namespaced: false,
        short_names: &["crd", "crds"],
        categories: &["api-extensions"],
        ..kind(EXTENSIONS, "customresourcedefinitions", DEFINITION, &["status"])
    },
    ResourceKind { short_names: &["ing"], ..kind("networking.k8s.io", "ingresses", "Ingress", &["status"]) },
    ResourceKind { namespaced: false, ..kind("networking.k8s.io", "ingressclasses", "IngressClass", &[]) },
    ResourceKind { short_names: &["ev"], ..kind(EVENTS, "events", "Event", &[]) },
    ResourceKind { short_names: &["hpa"], categories: ALL, ..kind(AUTOSCALING, AUTOSCALERS, AUTOSCALER, &["status"]) },
];

/// The group that serves the Events of core in another form.
pub(crate) const EVENTS: &str = "events.k8s.io";

/// The group of autoscalers in two versions, and of scales.
const AUTOSCALING: &str = "autoscaling";
/// The kind of autoscalers.
pub(crate) const AUTOSCALER: &str = "HorizontalPodAutoscaler";
/// The plural of autoscalers.
const AUTOSCALERS: &str = "horizontalpodautoscalers";

/// The group of CustomResourceDefinitions.
pub(crate) const EXTENSIONS: &str = "apiextensions.k8s.io";
/// The kind of CustomResourceDefinitions.
pub(crate) const DEFINITION: &str = "CustomResourceDefinition";

/// The sort order of kinds: built-in kinds by their index in [`KINDS`], then custom resources by
/// name. All versions of a kind share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KindOrder(usize, &'static str, &'static str);

impl ResourceKind {
    /// Such as `apps/v1` or `v1`.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_owned() } else { format!("{}/{}", self.group, self.version) }
    }

    /// Such as `deployments.apps` or `pods`.
    pub(crate) fn resource(&self) -> String {
        if self.group.is_empty() { self.plural.to_owned() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// The kind of its list.
    pub(crate) fn list_kind(&self) -> String {
        self.custom.map_or_else(|| format!("{}List", self.kind), |custom| custom.list_kind.clone())
    }

    /// The singular, for kubectl.
    pub(crate) fn singular(&self) -> String {
        self.custom.map_or_else(|| self.kind.to_lowercase(), |custom| custom.singular.clone())
    }

    /// The verbs of its objects, in upstream's order.
    pub(crate) fn verbs(&self) -> Vec<&'static str> {
        if self.custom.is_some() {
            return vec!["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
        }
        if REVIEWS.iter().any(|review| std::ptr::eq(review, self)) {
            return vec!["create"];
        }
        let all = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
        // Namespaces can only be deleted one by one.
        all.into_iter().filter(|verb| self.built_in() != "Namespace" || *verb != "deletecollection").collect()
    }

    /// Whether its watches come from the watch cache, which sends bookmarks and does not hold
    /// Events. Upstream: `DefaultWatchCacheSizes`.
    pub(crate) fn is_in_watch_cache(&self) -> bool {
        self.built_in() != "Event"
    }

    /// Whether its objects can be encoded in protobuf. For definitions this server supports only
    /// JSON.
    pub(crate) fn has_protobuf(&self) -> bool {
        self.custom.is_none() && self.kind != DEFINITION
    }

    /// The name of a built-in kind; empty for a custom resource, which may have the same name.
    pub(crate) fn built_in(&self) -> &'static str {
        if self.custom.is_some() { "" } else { self.kind }
    }

    /// The index of a built-in kind's type in the table.
    pub(crate) fn table_index(&self) -> usize {
        TYPES.index_of(self.type_name()).expect("every built-in kind is in the table")
    }

    /// The name of a built-in kind's type in the table.
    pub(crate) fn type_name(&self) -> &'static str {
        match () {
            () if self.is_events_v1() => "events.Event",
            () if self.is_v1_autoscaler() => V1_TYPE,
            () => self.kind,
        }
    }

    /// Whether it is the Event of `events.k8s.io/v1`, which is stored as an Event of core.
    pub(crate) fn is_events_v1(&self) -> bool {
        self.custom.is_none() && self.group == EVENTS
    }

    /// Whether it is the autoscaler of v1, which is stored as v2.
    pub(crate) fn is_v1_autoscaler(&self) -> bool {
        self.custom.is_none() && self.group == AUTOSCALING && self.version == "v1" && self.plural == AUTOSCALERS
    }

    /// The version in which requests are processed internally, between decoding and encoding.
    pub(crate) fn inner(&'static self) -> &'static Self {
        if self.is_v1_autoscaler() { self.storage() } else { self }
    }

    /// The other versions of a built-in kind, in which managers may own fields.
    pub(crate) fn other_versions(&'static self) -> impl Iterator<Item = &'static Self> {
        let all = KINDS.iter().filter(|kind| self.custom.is_none() && kind.version != self.version);
        all.filter(|kind| kind.group == self.group && kind.plural == self.plural)
    }

    /// The built-in kind as which its objects are stored; different only for an Event of
    /// `events.k8s.io` and an autoscaler of v1.
    pub(crate) fn storage(&'static self) -> &'static Self {
        match () {
            () if self.is_events_v1() => built_in("", "events").expect("core has Events"),
            () if self.is_v1_autoscaler() => built_in(AUTOSCALING, AUTOSCALERS).expect("v2 stands first"),
            () => self,
        }
    }

    /// Its sort order.
    pub(crate) fn order(&'static self) -> KindOrder {
        let stored = self.storage();
        match KINDS.iter().position(|kind| std::ptr::eq(kind, stored)) {
            Some(index) => KindOrder(index, "", ""),
            None => KindOrder(KINDS.len(), self.group, self.plural),
        }
    }
}

/// A built-in kind; of several versions, the stored one.
pub(crate) fn built_in(group: &str, plural: &str) -> Option<&'static ResourceKind> {
    KINDS.iter().find(|kind| kind.group == group && kind.plural == plural)
}

/// The kinds that a server serves: the built-in ones, and custom resources by the name of their
/// definition.
#[derive(Debug, Default)]
pub(crate) struct Kinds {
    custom: BTreeMap<String, DefinitionVersions>,
}

/// The versions of a definition.
#[derive(Debug, Clone)]
pub(crate) struct DefinitionVersions {
    pub(crate) served: Vec<&'static ResourceKind>,
    /// The storage version, which need not be served.
    pub(crate) storage: &'static ResourceKind,
}

impl Kinds {
    pub(crate) fn define(&mut self, name: &str, definition: DefinitionVersions) {
        self.custom.insert(name.to_owned(), definition);
    }

    pub(crate) fn clear(&mut self) {
        self.custom.clear();
    }

    /// All kinds, including each served version of custom resources.
    pub(crate) fn all(&self) -> impl Iterator<Item = &'static ResourceKind> {
        KINDS.iter().chain(self.custom.values().flat_map(|definition| definition.served.iter().copied()))
    }

    /// The kind of a path.
    pub(crate) fn served(&self, group: &str, version: &str, plural: &str) -> Option<&'static ResourceKind> {
        self.all().find(|kind| kind.plural == plural && kind.group == group && kind.version == version)
    }

    /// The kind with this plural, at any version.
    pub(crate) fn in_group(&self, group: &str, plural: &str) -> Option<&'static ResourceKind> {
        self.all().find(|kind| kind.plural == plural && kind.group == group)
    }

    /// The kind by apiVersion and kind.
    pub(crate) fn find(&self, api_version: &str, kind: &str) -> Option<&'static ResourceKind> {
        self.all().find(|one| one.kind == kind && one.api_version() == api_version)
    }

    /// The kind as which an object of this kind is stored.
    pub(crate) fn storage_of(&self, kind: &'static ResourceKind) -> &'static ResourceKind {
        let of = kind.custom.and_then(|_| self.custom.get(&kind.resource()));
        of.map_or(kind.storage(), |definition| definition.storage)
    }
}

/// The group of access reviews.
pub(crate) const AUTHORIZATION: &str = "authorization.k8s.io";

pub(crate) const fn review(plural: &'static str, name: &'static str) -> ResourceKind {
    ResourceKind { namespaced: false, ..kind(AUTHORIZATION, plural, name, &[]) }
}

/// The served reviews.
pub(crate) static REVIEWS: [ResourceKind; 2] = [
    review("selfsubjectaccessreviews", "SelfSubjectAccessReview"),
    review("selfsubjectrulesreviews", "SelfSubjectRulesReview"),
];

/// The name of v1's type in the type table.
pub(crate) const V1_TYPE: &str = "autoscaling.v1.HorizontalPodAutoscaler";
