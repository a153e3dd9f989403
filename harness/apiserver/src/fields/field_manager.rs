//! Tracks field ownership (`managedFields`), and implements server-side apply.
//!
//! Each manager owns a set of fields for each operation and subresource. An update gives the fields
//! that it changes to its manager and takes them from all others. An apply claims all fields of its
//! configuration: changing a field that another manager owns is a conflict unless it is forced; a
//! field that the manager applied before, omits now, and no other manager owns is removed.
//!
//! A set refers to the version that its manager wrote (`versions`). Sets of another API group are
//! dropped by the next write, as upstream cannot convert them; this affects Events, which two
//! groups serve.
//!
//! Upstream: `managedfields/internal` and `structured-merge-diff/merge`.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde_json::Value;

use crate::fields::conflict::Conflict;
use crate::fields::converter::FieldChanges;
use crate::fields::entries::{ManagedFields, ManagerId, Managers};
use crate::fields::path::FieldSet;
use crate::fields::typed::Atom;
use crate::fields::versions::VersionConverter;
use crate::types::list_quantities::ListedQuantity;

/// The maximum number of update entries; the oldest are merged.
const MOST_UPDATERS: usize = 10;
/// The manager of merged update entries.
const ANCIENT: &str = "ancient-changes";
/// The manager of the fields that an object had before its first apply.
const BEFORE_APPLY: &str = "before-first-apply";
/// The annotation with the last configuration of client-side `kubectl apply`.
pub(crate) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A manager that writes an object: its identity, and the type of the object. Upstream:
/// `FieldManager`.
#[derive(Debug, Clone)]
pub(crate) struct FieldManager {
    /// The type of the object.
    pub(crate) root: Atom<'static>,
    /// The path of the replicas of the scale.
    pub(crate) replicas: &'static [&'static str],
    pub(crate) api_version: String,
    /// `fieldManager`, or the name of the client.
    pub(crate) manager: String,
    /// Empty for the object itself.
    pub(crate) subresource: String,
    /// The fields that the server resets afterwards, which no manager owns.
    pub(crate) reset: &'static [&'static [&'static str]],
    /// RFC 3339; `None` for a subresource whose writes upstream does not date.
    pub(crate) time: Option<String>,
    /// The converters to the other versions of the kind.
    pub(crate) converters: Vec<VersionConverter>,
    /// An empty object of the kind; no manager owns its fields.
    pub(crate) empty: Value,
    /// The lists that differ from the stored ones only in how their quantities are in memory, which
    /// upstream takes for a change.
    pub(crate) rewritten: FieldSet,
}

/// Metadata that no manager owns. Upstream: `stripMetaManager`.
const UNMANAGED_PATHS: [&[&str]; 12] = [
    &["apiVersion"],
    &["kind"],
    &["metadata"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "creationTimestamp"],
    &["metadata", "selfLink"],
    &["metadata", "uid"],
    &["metadata", "clusterName"],
    &["metadata", "generation"],
    &["metadata", "managedFields"],
    &["metadata", "resourceVersion"],
];

/// [`UNMANAGED_PATHS`] as a set.
static UNMANAGED: LazyLock<FieldSet> = LazyLock::new(|| FieldSet::of_fields(&UNMANAGED_PATHS));

impl FieldManager {
    fn id(&self, operation: &str) -> ManagerId {
        let manager = if self.manager.is_empty() { "unknown" } else { &self.manager };
        ManagerId {
            operation: operation.to_owned(),
            manager: manager.to_owned(),
            api_version: self.api_version.clone(),
            subresource: self.subresource.clone(),
        }
    }

    fn atom(&self) -> Atom<'static> {
        self.root
    }

    /// Notes the lists of the new object whose quantities differ in memory from the stored ones.
    pub(crate) fn note_rewritten_quantities(&mut self, quantities: &[ListedQuantity], new: &Value) {
        for quantity in quantities.iter().filter(|quantity| quantity.differs_from(new)) {
            self.rewritten.insert(&self.root.leaf_path(new, &quantity.path));
        }
    }

    /// The managers after a create or an update. `live` is an empty object for a create,
    /// `old_managers` are its managers, and `given` is the `managedFields` of the request.
    pub(crate) fn update(&self, live: &Value, old_managers: &Managers, given: &Value, new: &Value) -> Managers {
        let reset =
            given.as_array().is_some_and(|all| all.is_empty() || matches!(all.as_slice(), [one] if is_empty(one)));
        let of_live = || old_managers.clone().unwrap_or_default();
        let managed = if !self.subresource.is_empty() {
            of_live()
        } else if reset {
            Arc::default()
        } else {
            ManagedFields::read(given).filter(|managed| !managed.is_empty()).map_or_else(of_live, Arc::new)
        };
        // An existing object without managers gets none.
        if managed.is_empty() && live["metadata"]["uid"].is_string() {
            return None;
        }
        // A scale is a separate object, whose managers are only those that own the replicas.
        let replicas = FieldSet::of_fields(&[self.replicas]);
        if self.subresource == "scale" && managed.iter().all(|(_, set)| set.intersection(&replicas).is_empty()) {
            return Arc::unwrap_or_clone(managed).without_detached().into_managers();
        }
        // Upstream then drops all managers, as their sets would be wrong.
        if self.loses_duplicates(&managed, [live, new]) {
            return None;
        }
        let managed = self.updated(live, new, Arc::unwrap_or_clone(managed).without_detached());
        if self.subresource == "scale" { managed.detach_fields(&replicas) } else { managed }.into_managers()
    }

    fn updated(&self, live: &Value, new: &Value, mut managed: ManagedFields) -> ManagedFields {
        managed.keep_group(&self.api_version);
        let changes = self.changes(live, new, &managed);
        remove_changed(&changes, &mut managed);
        let set = changes[&self.api_version].assigned.difference(&UNMANAGED);
        if !set.is_empty() {
            managed.add(self.id("Update"), &set, self.time.as_deref());
        }
        managed.cap(MOST_UPDATERS, ANCIENT);
        managed
    }

    /// The changes of a write in each version in which managers own fields, and in its own.
    fn changes(&self, live: &Value, new: &Value, managed: &ManagedFields) -> BTreeMap<String, FieldChanges> {
        let mut versions = managed.versions();
        if !versions.contains(&self.api_version) {
            versions.push(self.api_version.clone());
        }
        versions
            .into_iter()
            .map(|version| {
                let changed = self.changes_in(&version, live, new);
                (version, changed)
            })
            .collect()
    }

    /// The object after an apply, and its managers.
    ///
    /// # Errors
    /// Conflicts with other managers, or a list that cannot be merged.
    pub(crate) fn apply(
        &self,
        live: &Value,
        old_managers: &Managers,
        applied: &Value,
        force: bool,
    ) -> Result<(Value, Managers), ApplyRefusal> {
        let tried = self.try_apply(live, old_managers, applied, force);
        let (mut object, managed) = match tried {
            // kubectl may take over the fields that client-side `kubectl apply` set.
            Err(ApplyRefusal::Conflicts(conflicts)) if self.manager == "kubectl" => {
                let allowed = self.last_applied(live);
                let left: Vec<Conflict> = conflicts.into_iter().filter(|one| !one.is_in(&allowed)).collect();
                if !left.is_empty() {
                    return Err(ApplyRefusal::Conflicts(left));
                }
                self.try_apply(live, old_managers, applied, true)?
            }
            tried => tried?,
        };
        let annotations = &object["metadata"]["annotations"];
        if self.manager == "kubectl" && annotations[LAST_APPLIED].as_str().is_some_and(|text| !text.is_empty()) {
            let mut last = applied.clone();
            if let Some(annotations) = last["metadata"]["annotations"].as_object_mut() {
                annotations.remove(LAST_APPLIED);
            }
            object["metadata"]["annotations"][LAST_APPLIED] = format!("{last}\n").into();
        } else if annotations.is_null() {
            object["metadata"].as_object_mut().and_then(|meta| meta.remove("annotations"));
        }
        Ok((object, managed.into_managers()))
    }

    fn try_apply(
        &self,
        live: &Value,
        old_managers: &Managers,
        applied: &Value,
        force: bool,
    ) -> Result<(Value, ManagedFields), ApplyRefusal> {
        let mut managed = old_managers.as_deref().cloned().unwrap_or_default().without_detached();
        let mut live = live.clone();
        for name in ["apiVersion", "kind"] {
            live[name] = applied[name].clone();
        }
        if managed.is_empty() && live["metadata"]["uid"].is_string() {
            let before = Self { manager: BEFORE_APPLY.to_owned(), ..self.clone() };
            managed = before.updated(&self.empty, &live, managed);
        }
        managed.keep_group(&self.api_version);
        let (id, atom) = (self.id("Apply"), self.atom());
        let merged = atom.merge(Some(&live), Some(applied)).map_err(ApplyRefusal::Merge)?.unwrap_or_default();
        // A manager applies in one version at a time.
        let last = managed.move_applied(&id);
        let reset = FieldSet::of_fields(self.reset);
        managed.put(id.clone(), atom.fields_of(applied).recursive_difference(&reset));
        let last = last.filter(|(_, last)| !last.is_empty());
        let new = last.map_or(merged.clone(), |(version, last)| self.prune(&merged, &managed, (&version, &last)));
        let changes = self.changes(&live, &new, &managed);
        let others = managed.iter().filter(|(one, _)| **one != id);
        let conflicts: BTreeMap<String, (&ManagerId, FieldSet)> = others
            .map(|(one, set)| (one.as_text(), (one, set.intersection(&changes[&one.api_version].assigned))))
            .filter(|(_, (_, set))| !set.is_empty())
            .collect();
        if !force && !conflicts.is_empty() {
            let conflicts = conflicts.values().flat_map(|(id, set)| Conflict::all(id, set));
            return Err(ApplyRefusal::Conflicts(conflicts.collect()));
        }
        let own = managed.set(&id).cloned().unwrap_or_default().difference(&UNMANAGED);
        let written = managed.remove(&id);
        remove_changed(&changes, &mut managed);
        if !own.is_empty() {
            managed.put(id.clone(), own);
            // An apply that changes nothing keeps its time.
            if let Some(time) = self.time.as_deref().filter(|_| new != live).or(written.as_deref()) {
                managed.touch(&id, time);
            }
        }
        Ok((new, managed))
    }

    /// Removes the fields that the manager omits now and no other manager owns; `last` is the set
    /// of its last apply, in the version of that time. Upstream: `prune`.
    fn prune(&self, merged: &Value, managed: &ManagedFields, (version, last): (&str, &FieldSet)) -> Value {
        let atom = self.root_of(version);
        let then = self.convert_to(version, merged);
        let last = atom.with_named_fields(last);
        let mut pruned = self.convert_from(version, atom.without(&then, &last));
        // The version of the last apply comes first.
        let mut versions = managed.versions();
        versions.sort_by_key(|one| one != version);
        for version in versions {
            let (atom, converted) = (self.root_of(&version), self.convert_to(&version, merged));
            let named = |set: &FieldSet| atom.with_named_fields(set);
            let own = managed.iter().filter(|(id, _)| id.api_version == version);
            let all_managed = own.fold(FieldSet::default(), |all, (_, set)| all.union(set));
            let kept = named(&atom.fields_of(&self.convert_to(&version, &pruned))).union(&named(&all_managed));
            let removed = named(&atom.fields_of(&converted)).difference(&kept);
            pruned = self.convert_from(&version, atom.without(&converted, &removed));
        }
        // Fields without a manager stay.
        let named = |object: &Value| atom.with_named_fields(&atom.fields_of(object));
        let removed = named(&then).difference(&named(&self.convert_to(version, &pruned))).intersection(&last);
        self.convert_from(version, atom.without(&then, &removed))
    }

    /// The fields that client-side `kubectl apply` set and that still have the same value.
    fn last_applied(&self, live: &Value) -> FieldSet {
        let text = live["metadata"]["annotations"][LAST_APPLIED].as_str().unwrap_or_default();
        let Ok(last) = serde_json::from_str::<Value>(text) else { return FieldSet::default() };
        if last["apiVersion"] != self.api_version.as_str() {
            return FieldSet::default();
        }
        let mut live = live.clone();
        live["apiVersion"] = last["apiVersion"].clone();
        live["kind"] = last["kind"].clone();
        let compared = self.atom().compare(&last, &live, &[]);
        let set = self.atom().fields_of(&last);
        set.difference(&compared.modified).difference(&compared.added).difference(&compared.removed)
    }
}

/// Removes the changes of a write from all managers, each in its version.
fn remove_changed(changes: &BTreeMap<String, FieldChanges>, managed: &mut ManagedFields) {
    managed.retain(|id, set| {
        let changed = &changes[&id.api_version];
        set.subtract(&changed.assigned);
        set.subtract(&changed.removed);
    });
}

/// The managers without the fields that a write only removes. The writer itself owns nothing by
/// that.
pub(crate) fn remove_fields(root: Atom<'static>, old_managers: &Managers, before: &Value, after: &Value) -> Managers {
    let mut managed = old_managers.as_deref().cloned()?.without_detached();
    if !managed.is_empty() {
        let removed = root.compare(before, after, &[]).removed;
        managed.retain(|_, set| set.subtract(&removed));
    }
    managed.into_managers()
}

/// Why an apply is refused.
#[derive(Debug)]
pub(crate) enum ApplyRefusal {
    Conflicts(Vec<Conflict>),
    /// The message of the decoder.
    Merge(String),
}

/// Whether two objects have equal managers.
pub(crate) fn are_equal(first: &Managers, second: &Managers) -> bool {
    compare(first, second, ManagedFields::equals)
}

/// Whether two objects have equal managers except for times.
pub(crate) fn are_equal_ignoring_times(first: &Managers, second: &Managers) -> bool {
    compare(first, second, ManagedFields::equals_ignoring_times)
}

fn compare(first: &Managers, second: &Managers, equals: fn(&ManagedFields, &ManagedFields) -> bool) -> bool {
    match (first, second) {
        (Some(first), Some(second)) => Arc::ptr_eq(first, second) || equals(first, second),
        (first, second) => first.is_none() && second.is_none(),
    }
}

fn is_empty(entry: &Value) -> bool {
    entry.as_object().is_some_and(serde_json::Map::is_empty)
}
