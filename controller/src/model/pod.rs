//! Pods, cut down to the three facts that a Deployment controller uses.

use serde_json::Value;

use super::{Meta, ModelError, OwnerReference};

/// A pod: who it is, who manages it, and how far it has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pod {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// The owner that manages it, if any.
    pub controller: Option<OwnerReference>,
    /// `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`.
    pub phase: String,
}

impl Pod {
    /// Reads a pod; all else of it is let go, which is most of what a cluster holds.
    pub fn read(raw: &Value) -> Result<Self, ModelError> {
        let meta = Meta::read(raw, "Pod")?;
        Ok(Self {
            controller: meta.controller().cloned(),
            namespace: meta.namespace,
            name: meta.name,
            phase: raw.pointer("/status/phase").and_then(Value::as_str).unwrap_or_default().to_owned(),
        })
    }

    /// Whether it has ended, well or badly, and so runs no more.
    pub fn has_ended(&self) -> bool {
        matches!(self.phase.as_str(), "Failed" | "Succeeded")
    }
}
