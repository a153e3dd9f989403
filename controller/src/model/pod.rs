//! Pods, cut down to the three facts that a Deployment controller uses.

use serde::Deserialize;

use super::OwnerReference;
use super::meta::null_as_default;

/// A pod: who it is, who manages it, and how far it has come. Read straight from the wire, all else is let go before it takes up
/// any room: pods are most of what a cluster holds and says.
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
        }
    }
}

impl Pod {
    /// Whether it has ended, well or badly, and so runs no more.
    pub fn has_ended(&self) -> bool {
        matches!(self.phase.as_str(), "Failed" | "Succeeded")
    }
}
