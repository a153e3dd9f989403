//! Pods, cut down to what rules use: three facts for a Deployment controller, some more for a
//! ReplicaSet controller.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, LazyLock};

use jiff::Timestamp;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::meta::null_as_default;
use super::{OwnerReference, names};

/// A pod: who it is, who manages it, and how far it has come. Read straight from the wire, all else
/// is let go before it takes up any room: pods are most of what a cluster holds and says.
///
/// Deserialized, it has no [`Pod::traits`]; [`TraitedPod`] reads a pod with them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Wire")]
pub struct Pod {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Version.
    pub resource_version: String,
    /// The owner that manages it, if any.
    pub controller: Option<OwnerReference>,
    /// `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`.
    pub phase: String,
    /// What only the ReplicaSet controller asks for; `None` where that does not run.
    pub traits: Option<Box<PodTraits>>,
}

/// What a ReplicaSet controller wants to know of a pod: whether it counts, and how dear it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PodTraits {
    /// UID.
    pub uid: String,
    /// Labels. Pods in the cache that have the same ones share them.
    pub labels: Arc<BTreeMap<String, String>>,
    /// Whether deletion was asked for.
    pub deleting: bool,
    /// When the server made it.
    pub created: Option<Timestamp>,
    /// What it costs to delete it, by its annotation; 0 where that is absent or no number as
    /// upstream writes numbers.
    pub deletion_cost: i32,
    /// The node that it is on; empty before it is scheduled.
    pub node: String,
    /// Whether it is ready.
    pub ready: bool,
    /// Since when its readiness is what it is.
    pub ready_since: Option<Timestamp>,
    /// Most restarts of any of its containers.
    pub restarts: i32,
    /// Most restarts of any of its sidecars: init containers that are always restarted.
    pub sidecar_restarts: i32,
}

/// A pod as it comes over the wire, read with its traits.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "TraitedWire")]
pub struct TraitedPod(pub Pod);

/// What a pod without traits answers with.
static NO_TRAITS: LazyLock<PodTraits> = LazyLock::new(PodTraits::default);

impl Pod {
    /// Whether it has ended, well or badly, and so runs no more.
    pub fn has_ended(&self) -> bool {
        matches!(self.phase.as_str(), "Failed" | "Succeeded")
    }

    /// What the ReplicaSet controller asks for.
    pub fn traits(&self) -> &PodTraits {
        self.traits.as_deref().unwrap_or(&NO_TRAITS)
    }

    /// Whether it counts as a replica: it has not ended and is not on its way out (upstream:
    /// `IsPodActive`).
    pub fn is_active(&self) -> bool {
        !self.has_ended() && !self.traits().deleting
    }

    /// Whether it is on its way out and still runs (upstream: `IsPodTerminating`).
    pub fn is_terminating(&self) -> bool {
        !self.has_ended() && self.traits().deleting
    }
}

/// What an annotation says about the cost of deletion; 0 where that is no number (upstream:
/// `GetDeletionCostFromPodAnnotations`).
///
/// `+5`, `007` and what does not fit into 32 bits are no numbers; `-007` is one, for only the first
/// character is looked at.
pub fn deletion_cost(text: &str) -> i32 {
    let is_fine = text == "0" || text.starts_with(|first: char| first == '-' || matches!(first, '1'..='9'));
    if is_fine { text.parse().unwrap_or(0) } else { 0 }
}

#[derive(Deserialize)]
struct Wire {
    metadata: WireMeta,
    #[serde(default, deserialize_with = "null_as_default")]
    status: WireStatus,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireMeta {
    namespace: String,
    name: String,
    resource_version: String,
    #[serde(deserialize_with = "null_as_default")]
    owner_references: Vec<OwnerReference>,
}

#[derive(Default, Deserialize)]
struct WireStatus {
    #[serde(default, deserialize_with = "null_as_default")]
    phase: String,
}

impl From<Wire> for Pod {
    fn from(Wire { metadata, status }: Wire) -> Self {
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
struct TraitedWire {
    metadata: TraitedMeta,
    #[serde(default, deserialize_with = "null_as_default")]
    spec: TraitedSpec,
    #[serde(default, deserialize_with = "null_as_default")]
    status: TraitedStatus,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct TraitedMeta {
    namespace: String,
    name: String,
    resource_version: String,
    #[serde(deserialize_with = "null_as_default")]
    owner_references: Vec<OwnerReference>,
    #[serde(deserialize_with = "null_as_default")]
    uid: String,
    #[serde(deserialize_with = "null_as_default")]
    labels: BTreeMap<String, String>,
    #[serde(rename = "annotations", deserialize_with = "cost")]
    cost: i32,
    creation_timestamp: Option<Timestamp>,
    deletion_timestamp: Option<Timestamp>,
}

/// The one annotation that counts; the others are passed over.
fn cost<'de, D: Deserializer<'de>>(from: D) -> Result<i32, D::Error> {
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
struct TraitedSpec {
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
struct TraitedStatus {
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

impl From<TraitedWire> for TraitedPod {
    fn from(TraitedWire { metadata, spec, status }: TraitedWire) -> Self {
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
    fn deletion_costs(#[case] text: &str, #[case] cost: i32) {
        assert_eq!(deletion_cost(text), cost);
    }

    fn read(raw: Value) -> Pod {
        serde_json::from_value::<TraitedPod>(raw).unwrap().0
    }

    #[test]
    fn a_whole_pod() {
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

    /// A pod that nobody has looked at yet, and nulls where a field is absent.
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
    fn a_bare_pod(#[case] raw: Value) {
        let pod = read(raw);
        assert_eq!(pod.traits(), &PodTraits::default());
        assert!(pod.is_active() && pod.controller.is_none() && pod.phase.is_empty());
    }
}
