//! `metadata.ownerReferences` in writes: adopting and releasing an object, and the reference of a
//! new one.

use rollout_model::Meta;
use serde_json::{Value, json};

/// A change of an object's controller owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnershipChange {
    /// Adopt an orphan, after reading the adopter from the API server to confirm that it still
    /// exists and is not being deleted.
    Adopt {
        /// Name of the object.
        name: String,
        /// UID it must still have.
        uid: String,
    },
    /// Release an object whose labels no longer match the selector.
    Release {
        /// Name of the object.
        name: String,
        /// UID it must still have.
        uid: String,
    },
}

impl OwnershipChange {
    /// A strategic merge patch for an owner of this kind. It contains the UID, so the server
    /// refuses it if another object has taken the name.
    pub fn patch(&self, kind: &str, owner: &Meta) -> Value {
        match self {
            Self::Adopt { name: _, uid } => {
                json!({"metadata": {"uid": uid, "ownerReferences": [owner_reference(kind, owner)]}})
            }
            Self::Release { name: _, uid } => {
                json!({"metadata": {"uid": uid, "ownerReferences": [{"$patch": "delete", "uid": owner.uid}]}})
            }
        }
    }
}

/// The reference to a controller owner of this kind.
pub(crate) fn owner_reference(kind: &str, owner: &Meta) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": true,
        "blockOwnerDeletion": true,
    })
}
