//! Server-side apply of a scale, whose managers are those of its object that own the replicas.
//!
//! A scale is a separate object with one field. Its managers are derived from those of its object,
//! the apply acts on the scale, and the resulting managers are written back to the object.
//!
//! Upstream: `managedfields.ScaleHandler`.

use serde_json::Value;

use crate::fields::entries::{ManagedFields, ManagerId, Managers};
use crate::fields::field_manager::{ApplyRefusal, FieldManager};
use crate::fields::path::FieldSet;

/// The apiVersion of scales.
const SCALE: &str = "autoscaling/v1";

impl FieldManager {
    /// Applies a configuration to a scale; returns the scale and the managers of its object. `live`
    /// is the current scale, `parents` are the managers of its object, and `version` is the
    /// apiVersion of the object.
    ///
    /// # Errors
    /// Conflicts with other managers.
    pub(crate) fn apply_scale(
        &self,
        live: &Value,
        (parents, version): (&Managers, &str),
        applied: &Value,
        force: bool,
    ) -> Result<(Value, Managers), ApplyRefusal> {
        let of_parent = parents.as_deref().cloned().unwrap_or_default().without_detached();
        let (in_parent, in_scale) =
            (FieldSet::of_fields(&[self.replicas]), FieldSet::of_fields(&[&["spec", "replicas"]]));
        let has = |set: &FieldSet, path: &FieldSet| !set.intersection(path).is_empty();
        let mut of_scale = ManagedFields::default();
        for (id, set) in of_parent.iter().filter(|(_, set)| has(set, &in_parent)) {
            let _ = set;
            of_scale.put(ManagerId { api_version: SCALE.to_owned(), ..id.clone() }, in_scale.clone());
        }
        let (scale, managers) = self.apply(live, &of_scale.into_managers(), applied, force)?;
        let mut left = managers.as_deref().cloned().unwrap_or_default();
        let mut managed = of_parent.clone();
        for (id, set) in of_parent.iter().filter(|(_, set)| has(set, &in_parent)) {
            let own = ManagerId { api_version: SCALE.to_owned(), ..id.clone() };
            if left.set(&own).is_some() {
                drop(left.remove(&own));
                continue;
            }
            let rest = set.difference(&in_parent);
            if rest.is_empty() { drop(managed.remove(id)) } else { managed.put(id.clone(), rest) }
        }
        for (id, _) in left.iter().filter(|(_, set)| has(set, &in_scale)) {
            managed.put(ManagerId { api_version: version.to_owned(), ..id.clone() }, in_parent.clone());
        }
        Ok((scale, managed.detach_fields(&in_parent).into_managers()))
    }

    /// Whether any manager of an object, `parents`, owns its replicas.
    pub(crate) fn has_managed_replicas(&self, parents: &Managers) -> bool {
        let replicas = FieldSet::of_fields(&[self.replicas]);
        parents.iter().flat_map(|parents| parents.iter()).any(|(_, set)| !set.intersection(&replicas).is_empty())
    }
}
