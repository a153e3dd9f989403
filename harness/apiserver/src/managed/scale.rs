//! Server-side apply of a scale, whose managers are those of its object that have the replicas.
//!
//! A scale is an object of its own, with one field. Its managers are read from the object's, the
//! apply is one of the scale, and what came of its managers goes back into those of the object.
//!
//! Upstream: `managedfields.ScaleHandler`.

use serde_json::Value;

use super::entries::{Id, Managed};
use super::path::Set;
use super::{Managers, Refused, Writer};

/// The version of scales.
const SCALE: &str = "autoscaling/v1";

impl Writer {
    /// A scale after an apply, with the managers of its object. `live` is the scale as it is,
    /// `parents` are the managers of its object, whose version is `version`.
    ///
    /// # Errors
    /// Conflicts with other managers.
    pub(crate) fn apply_scale(
        &self,
        live: &Value,
        (parents, version): (&Managers, &str),
        applied: &Value,
        force: bool,
    ) -> Result<(Value, Managers), Refused> {
        let of_parent = parents.as_deref().cloned().unwrap_or_default().without_apart();
        let (in_parent, in_scale) = (Set::of_fields(&[self.replicas]), Set::of_fields(&[&["spec", "replicas"]]));
        let has = |set: &Set, path: &Set| !set.intersection(path).is_empty();
        let mut of_scale = Managed::default();
        for (id, set) in of_parent.iter().filter(|(_, set)| has(set, &in_parent)) {
            let _ = set;
            of_scale.put(Id { api_version: SCALE.to_owned(), ..id.clone() }, in_scale.clone());
        }
        let (scale, managers) = self.apply(live, &of_scale.into_managers(), applied, force)?;
        let mut left = managers.as_deref().cloned().unwrap_or_default();
        let mut managed = of_parent.clone();
        for (id, set) in of_parent.iter().filter(|(_, set)| has(set, &in_parent)) {
            let own = Id { api_version: SCALE.to_owned(), ..id.clone() };
            if left.set(&own).is_some() {
                drop(left.remove(&own));
                continue;
            }
            let rest = set.difference(&in_parent);
            if rest.is_empty() { drop(managed.remove(id)) } else { managed.put(id.clone(), rest) }
        }
        for (id, _) in left.iter().filter(|(_, set)| has(set, &in_scale)) {
            managed.put(Id { api_version: version.to_owned(), ..id.clone() }, in_parent.clone());
        }
        Ok((scale, managed.with_apart(&in_parent).into_managers()))
    }

    /// Whether any of an object's managers, `parents`, has its replicas.
    pub(crate) fn has_managed_replicas(&self, parents: &Managers) -> bool {
        let replicas = Set::of_fields(&[self.replicas]);
        parents.iter().flat_map(|parents| parents.iter()).any(|(_, set)| !set.intersection(&replicas).is_empty())
    }
}
