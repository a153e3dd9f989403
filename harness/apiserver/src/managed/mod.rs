//! `managedFields`: who set which field, and server-side apply on top of it.
//!
//! Every manager has a set of fields for each operation and subresource. An update gives what it
//! changes to its manager and takes it from all others. An apply claims all that it names: a field
//! that it changes and another manager has is a conflict, unless it is forced; a field that it
//! claimed before, no longer names, and nobody else has is removed.
//!
//! A set is one of the version that its manager wrote (`versions`). Sets of another API group's
//! version are dropped by the next write, as upstream converts none of them: so an Event's, which
//! two groups serve.
//!
//! Upstream: `managedfields/internal` and `structured-merge-diff/merge`.

mod conflict;
mod entries;
mod merge;
mod path;
mod scale;
mod typed;
mod versions;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde_json::Value;

pub(super) use conflict::{Conflict, told};
use entries::Id;
pub(super) use entries::Managed;
use path::Set;
pub(super) use typed::Atom;
use versions::Changed;
pub(super) use versions::Form;

/// More update managers than these become one.
const MOST_UPDATERS: usize = 10;
/// The manager of those.
const ANCIENT: &str = "ancient-changes";
/// The manager of all fields that an object without managers has when it is applied first.
const BEFORE_APPLY: &str = "before-first-apply";
/// Holds what `kubectl apply` sent last.
pub(super) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Whether a field of the object itself is among what is reset, as a whole.
pub(super) fn is_reset(name: &str, reset: &[&[&str]]) -> bool {
    reset.iter().any(|path| *path == [name])
}

/// The managers of an object; `None` where it has none. Versions of an object that have the same
/// share them.
pub(super) type Managers = Option<Arc<Managed>>;

/// Who writes what.
#[derive(Debug, Clone)]
pub(super) struct Writer {
    /// The type.
    pub(super) root: Atom<'static>,
    /// The field in which the object has the replicas of its scale.
    pub(super) replicas: &'static [&'static str],
    pub(super) api_version: String,
    /// `fieldManager`, or the name of the client.
    pub(super) manager: String,
    /// Empty for the object itself.
    pub(super) subresource: String,
    /// The fields that the server resets after this, which therefore nobody sets.
    pub(super) reset: &'static [&'static [&'static str]],
    /// RFC 3339; `None` for a subresource whose writes upstream does not date.
    pub(super) time: Option<String>,
    /// The other versions of the kind.
    pub(super) others: Vec<Form>,
    /// An object of the kind that says nothing: what it has anyway, no manager sets.
    pub(super) empty: Value,
}

/// Metadata that belongs to no manager. Upstream: `stripMetaManager`.
const NOBODYS: [&[&str]; 12] = [
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

/// The same as a set.
static OF_NOBODY: LazyLock<Set> = LazyLock::new(|| Set::of_fields(&NOBODYS));

impl Writer {
    fn id(&self, operation: &str) -> Id {
        let manager = if self.manager.is_empty() { "unknown" } else { &self.manager };
        Id {
            operation: operation.to_owned(),
            manager: manager.to_owned(),
            api_version: self.api_version.clone(),
            subresource: self.subresource.clone(),
        }
    }

    fn atom(&self) -> Atom<'static> {
        self.root
    }

    /// The managers after a create or an update. `live` is an empty object for a create, `had` are
    /// its managers, and `given` is what the request has as `managedFields`.
    pub(super) fn update(&self, live: &Value, had: &Managers, given: &Value, new: &Value) -> Managers {
        let reset =
            given.as_array().is_some_and(|all| all.is_empty() || matches!(all.as_slice(), [one] if is_empty(one)));
        let of_live = || had.clone().unwrap_or_default();
        let managed = if !self.subresource.is_empty() {
            of_live()
        } else if reset {
            Arc::default()
        } else {
            Managed::read(given).filter(|managed| !managed.is_empty()).map_or_else(of_live, Arc::new)
        };
        // Nobody begins to manage an object that is there and has no managers.
        if managed.is_empty() && live["metadata"]["uid"].is_string() {
            return None;
        }
        // A scale is an object of its own, which has those managers alone that have the replicas.
        let replicas = Set::of_fields(&[self.replicas]);
        if self.subresource == "scale" && managed.iter().all(|(_, set)| set.intersection(&replicas).is_empty()) {
            return Arc::unwrap_or_clone(managed).without_apart().into_managers();
        }
        // Upstream then drops all managers, as their sets would not be true any more.
        if self.loses(&managed, [live, new]) {
            return None;
        }
        let managed = self.updated(live, new, Arc::unwrap_or_clone(managed).without_apart());
        if self.subresource == "scale" { managed.with_apart(&replicas) } else { managed }.into_managers()
    }

    fn updated(&self, live: &Value, new: &Value, mut managed: Managed) -> Managed {
        managed.keep_group(&self.api_version);
        let changes = self.changes(live, new, &managed);
        take(&changes, &mut managed);
        let set = changes[&self.api_version].taken.difference(&OF_NOBODY);
        if !set.is_empty() {
            managed.add(self.id("Update"), &set, self.time.as_deref());
        }
        managed.cap(MOST_UPDATERS, ANCIENT);
        managed
    }

    /// What a write changes, in each version in which managers have sets, and in its own.
    fn changes(&self, live: &Value, new: &Value, managed: &Managed) -> BTreeMap<String, Changed> {
        let mut versions = managed.versions();
        if !versions.contains(&self.api_version) {
            versions.push(self.api_version.clone());
        }
        versions
            .into_iter()
            .map(|version| {
                let changed = self.changed_at(&version, live, new);
                (version, changed)
            })
            .collect()
    }

    /// The object after an apply, with its managers; `None` where it leaves the object as it is.
    ///
    /// # Errors
    /// Conflicts with other managers; a list that cannot be merged.
    pub(super) fn apply(
        &self,
        live: &Value,
        had: &Managers,
        applied: &Value,
        force: bool,
    ) -> Result<(Value, Managers), Refused> {
        let tried = self.try_apply(live, had, applied, force);
        let (mut object, managed) = match tried {
            // What `kubectl apply` set on the client's side may be taken over by kubectl.
            Err(Refused::Conflicts(conflicts)) if self.manager == "kubectl" => {
                let allowed = self.last_applied(live);
                let left: Vec<Conflict> = conflicts.into_iter().filter(|one| !one.is_in(&allowed)).collect();
                if !left.is_empty() {
                    return Err(Refused::Conflicts(left));
                }
                self.try_apply(live, had, applied, true)?
            }
            tried => tried?,
        };
        let annotations = &mut object["metadata"]["annotations"];
        if self.manager == "kubectl" && annotations[LAST_APPLIED].as_str().is_some_and(|text| !text.is_empty()) {
            let mut last = applied.clone();
            if let Some(annotations) = last["metadata"]["annotations"].as_object_mut() {
                annotations.remove(LAST_APPLIED);
            }
            annotations[LAST_APPLIED] = format!("{last}\n").into();
        } else if annotations.is_null() {
            object["metadata"].as_object_mut().and_then(|meta| meta.remove("annotations"));
        }
        Ok((object, managed.into_managers()))
    }

    fn try_apply(
        &self,
        live: &Value,
        had: &Managers,
        applied: &Value,
        force: bool,
    ) -> Result<(Value, Managed), Refused> {
        let mut managed = had.as_deref().cloned().unwrap_or_default().without_apart();
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
        let merged = atom.merge(Some(&live), Some(applied)).map_err(Refused::Merge)?.unwrap_or_default();
        // A manager applies in one version at a time.
        let last = managed.move_applied(&id);
        let reset = Set::of_fields(self.reset);
        managed.put(id.clone(), atom.fields_of(applied).recursive_difference(&reset));
        let last = last.filter(|(_, last)| !last.is_empty());
        let new = last.map_or(merged.clone(), |(version, last)| self.prune(&merged, &managed, (&version, &last)));
        let changes = self.changes(&live, &new, &managed);
        let others = managed.iter().filter(|(one, _)| **one != id);
        let conflicts: BTreeMap<String, (&Id, Set)> = others
            .map(|(one, set)| (one.as_text(), (one, set.intersection(&changes[&one.api_version].taken))))
            .filter(|(_, (_, set))| !set.is_empty())
            .collect();
        if !force && !conflicts.is_empty() {
            let conflicts = conflicts.values().flat_map(|(id, set)| Conflict::all(id, set));
            return Err(Refused::Conflicts(conflicts.collect()));
        }
        let own = managed.set(&id).cloned().unwrap_or_default().difference(&OF_NOBODY);
        let written = managed.remove(&id);
        take(&changes, &mut managed);
        if !own.is_empty() {
            managed.put(id.clone(), own);
            // Who claims what is there already writes nothing, at no time.
            if let Some(time) = self.time.as_deref().filter(|_| new != live).or(written.as_deref()) {
                managed.touch(&id, time);
            }
        }
        Ok((new, managed))
    }

    /// Removes what the manager no longer names and no other manager has; `last` is what it named,
    /// in the version of then. Upstream: `prune`.
    fn prune(&self, merged: &Value, managed: &Managed, (version, last): (&str, &Set)) -> Value {
        let atom = self.root_of(version);
        let then = self.there(version, merged);
        let last = atom.with_named_fields(last);
        let mut pruned = self.back(version, atom.without(&then, &last));
        // The version of then comes first.
        let mut versions = managed.versions();
        versions.sort_by_key(|one| one != version);
        for version in versions {
            let (atom, there) = (self.root_of(&version), self.there(&version, merged));
            let named = |set: &Set| atom.with_named_fields(set);
            let own = managed.iter().filter(|(id, _)| id.api_version == version);
            let everyones = own.fold(Set::default(), |all, (_, set)| all.union(set));
            let kept = named(&atom.fields_of(&self.there(&version, &pruned))).union(&named(&everyones));
            let gone = named(&atom.fields_of(&there)).difference(&kept);
            pruned = self.back(&version, atom.without(&there, &gone));
        }
        // What no manager ever had stays.
        let named = |object: &Value| atom.with_named_fields(&atom.fields_of(object));
        let gone = named(&then).difference(&named(&self.there(version, &pruned))).intersection(&last);
        self.back(version, atom.without(&then, &gone))
    }

    /// The fields that `kubectl apply` set on the client's side and that are still so.
    fn last_applied(&self, live: &Value) -> Set {
        let text = live["metadata"]["annotations"][LAST_APPLIED].as_str().unwrap_or_default();
        let Ok(last) = serde_json::from_str::<Value>(text) else { return Set::default() };
        if last["apiVersion"] != self.api_version.as_str() {
            return Set::default();
        }
        let mut live = live.clone();
        live["apiVersion"] = last["apiVersion"].clone();
        live["kind"] = last["kind"].clone();
        let compared = self.atom().compare(&last, &live, &[]);
        let set = self.atom().fields_of(&last);
        set.difference(&compared.modified).difference(&compared.added).difference(&compared.removed)
    }
}

/// Takes what a write changes from all managers, of each in its version.
fn take(changes: &BTreeMap<String, Changed>, managed: &mut Managed) {
    managed.retain(|id, set| {
        let changed = &changes[&id.api_version];
        set.take(&changed.taken);
        set.take(&changed.removed);
    });
}

/// The managers without the fields that a write only removes. Who writes gets no set by that.
pub(super) fn take_out(root: Atom<'static>, had: &Managers, before: &Value, after: &Value) -> Managers {
    let mut managed = had.as_deref().cloned()?.without_apart();
    if !managed.is_empty() {
        let removed = root.compare(before, after, &[]).removed;
        managed.retain(|_, set| set.take(&removed));
    }
    managed.into_managers()
}

/// Why an apply is refused.
#[derive(Debug)]
pub(super) enum Refused {
    Conflicts(Vec<Conflict>),
    /// The decoder's words.
    Merge(String),
}

/// Whether two objects have the same managers.
pub(super) fn are_same(one: &Managers, other: &Managers) -> bool {
    compare(one, other, Managed::is_same)
}

/// The same, times aside.
pub(super) fn are_same_but_for_times(one: &Managers, other: &Managers) -> bool {
    compare(one, other, Managed::is_same_but_for_times)
}

fn compare(one: &Managers, other: &Managers, is_same: fn(&Managed, &Managed) -> bool) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other) || is_same(one, other),
        (one, other) => one.is_none() && other.is_none(),
    }
}

fn is_empty(entry: &Value) -> bool {
    entry.as_object().is_some_and(serde_json::Map::is_empty)
}

#[cfg(test)]
mod tests;
