//! Pods, reduced to the fields that rules read: three for the Deployment controller, some more for
//! the ReplicaSet controller.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, LazyLock};

use jiff::Timestamp;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::meta::null_as_default;
use super::{OwnerReference, names};

/// A pod: its name, its controller and its phase. All other fields are dropped while it is parsed,
/// because pods are most of the objects and of the watch traffic of a cluster.
///
/// Deserialized, it has no [`Pod::traits`]; [`PodWithTraits`] reads a pod with them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "RawPod")]
pub struct Pod {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// `metadata.resourceVersion`.
    pub resource_version: String,
    /// The owner reference that manages it, if any.
    pub controller: Option<OwnerReference>,
    /// `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`.
    pub phase: String,
    /// The fields that only the ReplicaSet controller reads; `None` if it does not run.
    pub traits: Option<Box<PodTraits>>,
}

/// The fields by which the ReplicaSet controller counts pods and orders them for deletion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PodTraits {
    /// UID.
    pub uid: String,
    /// Labels. Pods in the cache with equal labels share them.
    pub labels: Arc<BTreeMap<String, String>>,
    /// Whether its deletion was requested.
    pub deleting: bool,
    /// When the server created it.
    pub created: Option<Timestamp>,
    /// Its deletion cost by its annotation; 0 if that is absent or not a valid number.
    pub deletion_cost: i32,
    /// Its node; empty before it is scheduled.
    pub node: String,
    /// Whether it is ready.
    pub ready: bool,
    /// When its readiness last changed.
    pub ready_since: Option<Timestamp>,
    /// The highest number of restarts of one of its containers.
    pub restarts: i32,
    /// The highest number of restarts of one of its sidecars (init containers that are always
    /// restarted).
    pub sidecar_restarts: i32,
}

/// A pod that is deserialized with its traits.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "RawPodWithTraits")]
pub struct PodWithTraits(pub Pod);

/// The traits of a pod that was read without them.
static NO_TRAITS: LazyLock<PodTraits> = LazyLock::new(PodTraits::default);

impl Pod {
    /// Whether it has ended: phase Succeeded or Failed.
    pub fn has_ended(&self) -> bool {
        matches!(self.phase.as_str(), "Failed" | "Succeeded")
    }

    /// The fields that the ReplicaSet controller reads.
    pub fn traits(&self) -> &PodTraits {
        self.traits.as_deref().unwrap_or(&NO_TRAITS)
    }

    /// Whether it counts as a replica: it has not ended and is not terminating (upstream:
    /// `IsPodActive`).
    pub fn is_active(&self) -> bool {
        !self.has_ended() && !self.traits().deleting
    }

    /// Whether its deletion was requested and it has not ended (upstream: `IsPodTerminating`).
    pub fn is_terminating(&self) -> bool {
        !self.has_ended() && self.traits().deleting
    }
}

/// Parses `controller.kubernetes.io/pod-deletion-cost`; 0 if it is not a valid number (upstream:
/// `GetDeletionCostFromPodAnnotations`).
///
/// `+5`, `007` and numbers beyond 32 bits are invalid. `-007` is valid, because upstream only
/// checks the first character.
pub fn deletion_cost(text: &str) -> i32 {
    let is_fine = text == "0" || text.starts_with(|first: char| first == '-' || matches!(first, '1'..='9'));
    if is_fine { text.parse().unwrap_or(0) } else { 0 }
}

#[derive(Deserialize)]
struct RawPod {
    metadata: RawPodMeta,
    #[serde(default, deserialize_with = "null_as_default")]
    status: RawPodStatus,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawPodMeta {
    namespace: String,
    name: String,
    resource_version: String,
    #[serde(deserialize_with = "null_as_default")]
    owner_references: Vec<OwnerReference>,
}

#[derive(Default, Deserialize)]
struct RawPodStatus {
    #[serde(default, deserialize_with = "null_as_default")]
    phase: String,
}

impl From<RawPod> for Pod {
    fn from(RawPod { metadata, status }: RawPod) -> Self {
        Self {
            namespace: metadata.namespace,
            name: metadata.name,
            resource_version: metadata.resource_version,
            controller: metadata.owner_references.into_iter().find(|owner| owner.controller),
            phase: status.phase,
            traits: None,
        }
    }
}

#[derive(Deserialize)]
struct RawPodWithTraits {
    metadata: RawTraitedMeta,
    #[serde(default, deserialize_with = "null_as_default")]
    spec: RawTraitedSpec,
    #[serde(default, deserialize_with = "null_as_default")]
    status: RawTraitedStatus,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawTraitedMeta {
    namespace: String,
    name: String,
    resource_version: String,
    #[serde(deserialize_with = "null_as_default")]
    owner_references: Vec<OwnerReference>,
    #[serde(deserialize_with = "null_as_default")]
    uid: String,
    #[serde(deserialize_with = "null_as_default")]
    labels: BTreeMap<String, String>,
    #[serde(rename = "annotations", deserialize_with = "read_deletion_cost")]
    cost: i32,
    creation_timestamp: Option<Timestamp>,
    deletion_timestamp: Option<Timestamp>,
}

/// Reads the one annotation that matters and skips the others.
fn read_deletion_cost<'de, D: Deserializer<'de>>(from: D) -> Result<i32, D::Error> {
    struct Annotations;
    impl<'de> Visitor<'de> for Annotations {
        type Value = i32;

        fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
            to.write_str("annotations")
        }

        fn visit_unit<E>(self) -> Result<i32, E> {
            Ok(0)
        }

        fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<i32, M::Error> {
            let mut cost = 0;
            while let Some(key) = map.next_key::<String>()? {
                if key == names::POD_DELETION_COST {
                    cost = map.next_value::<Option<String>>()?.map_or(0, |text| deletion_cost(&text));
                } else {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            Ok(cost)
        }
    }
    from.deserialize_any(Annotations)
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawTraitedSpec {
    #[serde(deserialize_with = "null_as_default")]
    node_name: String,
    #[serde(deserialize_with = "null_as_default")]
    init_containers: Vec<InitContainer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InitContainer {
    #[serde(default)]
    name: String,
    #[serde(default)]
    restart_policy: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawTraitedStatus {
    #[serde(deserialize_with = "null_as_default")]
    phase: String,
    #[serde(deserialize_with = "null_as_default")]
    conditions: Vec<PodCondition>,
    #[serde(deserialize_with = "null_as_default")]
    container_statuses: Vec<ContainerStatus>,
    #[serde(deserialize_with = "null_as_default")]
    init_container_statuses: Vec<ContainerStatus>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PodCondition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    last_transition_time: Option<Timestamp>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ContainerStatus {
    name: String,
    restart_count: i32,
}

impl From<RawPodWithTraits> for PodWithTraits {
    fn from(RawPodWithTraits { metadata, spec, status }: RawPodWithTraits) -> Self {
        // The first condition of the type counts, as everywhere in Kubernetes.
        let ready = status.conditions.iter().find(|condition| condition.kind == names::condition::READY);
        let most = |statuses: &mut dyn Iterator<Item = &ContainerStatus>| {
            statuses.map(|status| status.restart_count).fold(0, i32::max)
        };
        let is_sidecar = |status: &&ContainerStatus| {
            let mut init = spec.init_containers.iter();
            init.any(|init| init.name == status.name && init.restart_policy.as_deref() == Some("Always"))
        };
        let traits = PodTraits {
            uid: metadata.uid,
            labels: Arc::new(metadata.labels),
            deleting: metadata.deletion_timestamp.is_some(),
            created: metadata.creation_timestamp,
            deletion_cost: metadata.cost,
            ready: ready.is_some_and(|ready| ready.status == names::status::TRUE),
            ready_since: ready.and_then(|ready| ready.last_transition_time),
            restarts: most(&mut status.container_statuses.iter()),
            sidecar_restarts: most(&mut status.init_container_statuses.iter().filter(is_sidecar)),
            node: spec.node_name,
        };
        Self(Pod {
            namespace: metadata.namespace,
            name: metadata.name,
            resource_version: metadata.resource_version,
            controller: metadata.owner_references.into_iter().find(|owner| owner.controller),
            phase: status.phase,
            traits: Some(Box::new(traits)),
        })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    #[rstest]
    #[case("5", 5)]
    #[case("0", 0)]
    #[case("-1", -1)]
    #[case("-007", -7)]
    #[case("2147483647", i32::MAX)]
    #[case("-2147483648", i32::MIN)]
    #[case::a_sign("+5", 0)]
    #[case::a_leading_zero("007", 0)]
    #[case::too_much("2147483648", 0)]
    #[case::too_little("-2147483649", 0)]
    #[case::nothing("", 0)]
    #[case::only_a_sign("-", 0)]
    #[case::a_fraction("1.5", 0)]
    #[case::a_power("1e3", 0)]
    #[case::a_space(" 5", 0)]
    #[case::a_space_behind("5 ", 0)]
    #[case::grouped("1_000", 0)]
    #[case::other_digits("١", 0)]
    fn parses_deletion_costs_as_upstream(#[case] text: &str, #[case] cost: i32) {
        assert_eq!(deletion_cost(text), cost);
    }

    fn read(raw: Value) -> Pod {
        serde_json::from_value::<PodWithTraits>(raw).unwrap().0
    }

    #[test]
    fn reads_all_traits_of_a_pod() {
        let raw = json!({
            "metadata": {
                "namespace": "ns", "name": "a", "uid": "u", "resourceVersion": "7", "labels": {"app": "web"},
                "annotations": {"controller.kubernetes.io/pod-deletion-cost": "12", "other": "x"},
                "creationTimestamp": "2026-01-01T00:00:00Z", "deletionTimestamp": "2026-01-02T00:00:00Z",
                "ownerReferences": [{"kind": "ReplicaSet", "name": "rs", "uid": "r", "controller": true}],
            },
            "spec": {
                "nodeName": "n1", "containers": [{"name": "c"}],
                "initContainers": [{"name": "once"}, {"name": "side", "restartPolicy": "Always"}],
            },
            "status": {
                "phase": "Running",
                "conditions": [
                    {"type": "PodScheduled", "status": "True"},
                    {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:09Z"},
                ],
                "containerStatuses": [{"name": "c", "restartCount": 3}, {"name": "d", "restartCount": 1}],
                "initContainerStatuses": [{"name": "once", "restartCount": 9}, {"name": "side", "restartCount": 2}],
            },
        });
        let pod = read(raw.clone());
        let at = |text: &str| Some(text.parse().unwrap());
        let traits = PodTraits {
            uid: "u".to_owned(),
            labels: Arc::new([("app".to_owned(), "web".to_owned())].into()),
            deleting: true,
            created: at("2026-01-01T00:00:00Z"),
            deletion_cost: 12,
            node: "n1".to_owned(),
            ready: true,
            ready_since: at("2026-01-01T00:00:09Z"),
            restarts: 3,
            sidecar_restarts: 2,
        };
        assert_eq!(pod.traits(), &traits);
        assert_eq!((pod.name.as_str(), pod.resource_version.as_str(), pod.phase.as_str()), ("a", "7", "Running"));
        assert!(pod.is_terminating() && !pod.is_active());
        assert_eq!(Pod { traits: None, ..pod }, serde_json::from_value(raw).unwrap(), "the rest is the same without");
    }

    /// A pod before it is scheduled, and nulls in place of absent fields.
    #[rstest]
    #[case(json!({"metadata": {"name": "a"}}))]
    #[case(json!({
        "metadata": {"name": "a", "labels": null, "annotations": null, "deletionTimestamp": null, "ownerReferences": null},
        "spec": null, "status": null,
    }))]
    #[case(json!({
        "metadata": {"name": "a"}, "spec": {"nodeName": null, "initContainers": null},
        "status": {"phase": null, "conditions": null, "containerStatuses": null, "initContainerStatuses": null},
    }))]
    fn reads_a_pod_without_optional_fields(#[case] raw: Value) {
        let pod = read(raw);
        assert_eq!(pod.traits(), &PodTraits::default());
        assert!(pod.is_active() && pod.controller.is_none() && pod.phase.is_empty());
    }
}
