//! Strategic merge patches that turn one object into another: the difference of two objects, and
//! the three-way patch of `kubectl apply`.
//!
//! Lists that are merged get the directives that the server needs to restore their order and to
//! delete items. Upstream: `diffMaps`, `diffLists` and `CreateThreeWayMergePatch` of apimachinery's
//! `strategicpatch`.
//!
//! Written here: crates for patches compute JSON patches and merge patches, and know no merge keys.

use serde_json::{Map, Value, json};

use super::merge::{DELETE, ORDER, PATCH, RETAIN, go_map, inner};
use super::{Field, Shape};

/// The patch that makes the second object of the first.
///
/// # Errors
/// An item of a merged list without its merge key.
pub(in super::super) fn difference(place: usize, from: &Value, to: &Value) -> Result<Value, String> {
    let root = Shape::Struct(place);
    Ok(Value::Object(Diff { additions: true, deletions: true }.maps(Some(&root), false, &fields(from), &fields(to))?))
}

/// The patch that applies a manifest to a live object: it sets what the manifest says, and deletes
/// what the manifest that was applied before said and this one does not.
///
/// # Errors
/// An item of a merged list without its merge key.
pub(in super::super) fn three_way(
    place: usize,
    last_applied: &Value,
    manifest: &Value,
    live: &Value,
) -> Result<Value, String> {
    let root = Shape::Struct(place);
    let (last_applied, manifest, live) = (fields(last_applied), fields(manifest), fields(live));
    let additions = Diff { additions: true, deletions: false }.maps(Some(&root), false, &live, &manifest)?;
    let deletions = Diff { additions: false, deletions: true }.maps(Some(&root), false, &last_applied, &manifest)?;
    Ok(Value::Object(join(Some(&root), deletions, additions)?))
}

fn fields(object: &Value) -> Map<String, Value> {
    object.as_object().cloned().unwrap_or_default()
}

/// Which differences a patch is to contain. Upstream: `DiffOptions`.
#[derive(Clone, Copy)]
struct Diff {
    additions: bool,
    deletions: bool,
}

impl Diff {
    /// `retain`: whether fields that the second map lacks are to be cleared by the server.
    fn maps(
        self,
        shape: Option<&Shape>,
        retain: bool,
        from: &Map<String, Value>,
        to: &Map<String, Value>,
    ) -> Result<Map<String, Value>, String> {
        let mut patch = Map::new();
        for (name, new) in to {
            match (from.get(name), new) {
                (Some(Value::Object(old)), Value::Object(new)) => {
                    let (field, inner) = inner(shape, name);
                    if field.is_some_and(Field::replaces) {
                        if self.additions {
                            patch.insert(name.clone(), new.clone().into());
                        }
                        continue;
                    }
                    let changes = self.maps(inner, field.is_some_and(Field::retains), old, new)?;
                    if !changes.is_empty() {
                        patch.insert(name.clone(), changes.into());
                    }
                }
                (Some(Value::Array(old)), Value::Array(new)) => match inner(shape, name).0.filter(|it| it.merges) {
                    Some(field) => self.lists(field, name, old, new, &mut patch)?,
                    None if self.additions && old != new => drop(patch.insert(name.clone(), new.clone().into())),
                    None => {}
                },
                (Some(old), new) if old == new => {}
                _ if self.additions => drop(patch.insert(name.clone(), new.clone())),
                _ => {}
            }
        }
        if self.deletions {
            let gone = from.keys().filter(|name| !to.contains_key(*name));
            patch.extend(gone.map(|name| (name.clone(), Value::Null)));
        }
        let retained: Vec<&String> = to.iter().filter(|(_, value)| !value.is_null()).map(|(name, _)| name).collect();
        let clears = || from.iter().any(|(name, value)| !value.is_null() && !to.contains_key(name));
        if retain && !retained.is_empty() && (!patch.is_empty() || clears()) {
            patch.insert(RETAIN.to_owned(), json!(retained));
        }
        Ok(patch)
    }

    /// A list that is merged: its changes, and the directives beside it.
    fn lists(
        self,
        field: &Field,
        name: &str,
        from: &[Value],
        to: &[Value],
        patch: &mut Map<String, Value>,
    ) -> Result<(), String> {
        if from.is_empty() {
            if self.additions && !to.is_empty() {
                patch.insert(name.to_owned(), to.into());
            }
            return Ok(());
        }
        let Some(key) = &field.key else {
            self.scalars(name, from, to, patch);
            return Ok(());
        };
        let (old, new) = (keyed(from, key)?, keyed(to, key)?);
        let mut unpaired = old.clone();
        let mut changed = self.items(field, key, &mut unpaired, &new)?;
        changed.sort_by_key(|item| new.iter().position(|(_, other)| other[key] == item[key]));
        if self.deletions {
            changed.extend(unpaired.iter().map(|(_, item)| json!({(key): item[key], PATCH: "delete"})));
        }
        let is_moved = old.len() != new.len() || old.iter().zip(&new).any(|((one, _), (other, _))| one != other);
        if !changed.is_empty() || self.additions && is_moved {
            let order: Vec<Value> = new.iter().map(|(_, item)| json!({(key): item[key]})).collect();
            if !order.is_empty() {
                patch.insert(format!("{ORDER}{name}"), order.into());
            }
        }
        if !changed.is_empty() {
            patch.insert(name.to_owned(), changed.into());
        }
        Ok(())
    }

    /// What changes of the items that are there, and the new ones. Where several have one key they
    /// are paired in their order, and those that stay unpaired are left in `old`.
    fn items(
        self,
        field: &Field,
        key: &str,
        old: &mut Vec<Keyed<'_>>,
        new: &[Keyed<'_>],
    ) -> Result<Vec<Value>, String> {
        let mut changed = Vec::new();
        for (at, item) in new {
            match old.iter().position(|(other, _)| other == at).map(|paired| old.remove(paired)) {
                Some((_, before)) => {
                    let mut changes = self.maps(field.item(), field.retains(), before, item)?;
                    if !changes.is_empty() {
                        changes.insert(key.to_owned(), item[key].clone());
                        changed.push(Value::Object(changes));
                    }
                }
                None if self.additions => changed.push(Value::Object((*item).clone())),
                None => {}
            }
        }
        Ok(changed)
    }

    fn scalars(self, name: &str, from: &[Value], to: &[Value], patch: &mut Map<String, Value>) {
        let only = |these: &[Value], others: &[Value]| -> Vec<Value> {
            these.iter().filter(|item| !others.contains(item)).cloned().collect()
        };
        let added = if self.additions { only(to, from) } else { Vec::new() };
        let mut deleted = if self.deletions { only(from, to) } else { Vec::new() };
        deleted.dedup();
        let orders = self.additions && from != to || !deleted.is_empty();
        if orders && !to.is_empty() {
            patch.insert(format!("{ORDER}{name}"), to.into());
        }
        for (name, items) in [(name.to_owned(), added), (format!("{DELETE}{name}"), deleted)] {
            if !items.is_empty() {
                patch.insert(name, items.into());
            }
        }
    }
}

/// An item and its merge key.
type Keyed<'a> = (&'a Value, &'a Map<String, Value>);

/// The items of a list by their merge keys.
fn keyed<'a>(items: &'a [Value], key: &str) -> Result<Vec<Keyed<'a>>, String> {
    let one = |item: &'a Value| {
        let fields = item.as_object()?;
        Some((fields.get(key)?, fields))
    };
    let missing = |item| format!("map: {} does not contain declared merge key: {key}", go_map(item));
    items.iter().map(|item| one(item).ok_or_else(|| missing(item))).collect()
}

/// One patch of two that change different things: the second's changes are added to the first's
/// deletions. Upstream: `mergeMap` of a patch into a patch.
fn join(
    shape: Option<&Shape>,
    mut deletions: Map<String, Value>,
    additions: Map<String, Value>,
) -> Result<Map<String, Value>, String> {
    for (name, added) in additions {
        let (field, inner) = inner(shape, &name);
        let joined = match (deletions.remove(&name), added) {
            (Some(Value::Object(gone)), Value::Object(added)) if !name.starts_with('$') => {
                Value::Object(join(inner, gone, added)?)
            }
            (Some(Value::Array(gone)), Value::Array(added)) => {
                match field.and_then(|it| Some((it, it.key.as_ref()?))) {
                    Some((field, key)) if field.merges => Value::Array(join_lists(field.item(), key, gone, added)?),
                    _ => Value::Array(added),
                }
            }
            (_, added) => added,
        };
        deletions.insert(name, joined);
    }
    Ok(deletions)
}

fn join_lists(
    shape: Option<&Shape>,
    key: &str,
    mut deletions: Vec<Value>,
    additions: Vec<Value>,
) -> Result<Vec<Value>, String> {
    let mut all = Vec::new();
    for added in additions {
        let at = deletions.iter().position(|gone| gone[key] == added[key]);
        match (at.map(|at| deletions.remove(at)), added) {
            (Some(Value::Object(gone)), Value::Object(added)) => all.push(Value::Object(join(shape, gone, added)?)),
            (_, added) => all.push(added),
        }
    }
    all.extend(deletions);
    Ok(all)
}

/// The merge patch that applies a manifest to a live object of a custom resource, whose lists are
/// not merged. Upstream: `CreateThreeWayJSONMergePatch` of apimachinery's `jsonmergepatch`.
pub(in super::super) fn three_way_json(last_applied: &Value, manifest: &Value, live: &Value) -> Value {
    let (last_applied, manifest, live) = (fields(last_applied), fields(manifest), fields(live));
    let mut patch = filtered(&json_difference(&live, &manifest), false);
    overlay(&mut patch, filtered(&json_difference(&last_applied, &manifest), true));
    Value::Object(patch)
}

/// The merge patch that makes the second object of the first.
fn json_difference(from: &Map<String, Value>, to: &Map<String, Value>) -> Map<String, Value> {
    let mut patch = Map::new();
    for (name, new) in to {
        match (from.get(name), new) {
            (Some(Value::Object(old)), Value::Object(new)) => {
                let changes = json_difference(old, new);
                if !changes.is_empty() {
                    patch.insert(name.clone(), changes.into());
                }
            }
            (Some(old), new) if old == new => {}
            (_, new) => drop(patch.insert(name.clone(), new.clone())),
        }
    }
    patch.extend(from.keys().filter(|name| !to.contains_key(*name)).map(|name| (name.clone(), Value::Null)));
    patch
}

/// Only the nulls of a patch, or all but them. Upstream: `keepOrDeleteNullInObj`.
fn filtered(patch: &Map<String, Value>, nulls: bool) -> Map<String, Value> {
    let mut kept = Map::new();
    for (name, value) in patch {
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                let fields = filtered(fields, nulls);
                if !fields.is_empty() {
                    kept.insert(name.clone(), fields.into());
                }
            }
            value if value.is_null() == nulls => drop(kept.insert(name.clone(), value.clone())),
            _ => {}
        }
    }
    kept
}

/// Adds deletions to a patch that sets other fields.
fn overlay(patch: &mut Map<String, Value>, deletions: Map<String, Value>) {
    for (name, gone) in deletions {
        match (patch.get_mut(&name), gone) {
            (Some(Value::Object(added)), Value::Object(gone)) => overlay(added, gone),
            (Some(_), _) => {}
            (None, gone) => drop(patch.insert(name, gone)),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::{TYPES, strategic};
    use super::*;

    fn place(kind: &str) -> usize {
        TYPES.place(kind).unwrap()
    }

    #[rstest]
    #[case::field("DeploymentSpec", json!({"replicas": 3, "paused": true}), json!({"replicas": 4}),
        json!({"replicas": 4, "paused": null}))]
    #[case::equal("DeploymentSpec", json!({"replicas": 3}), json!({"replicas": 3}), json!({}))]
    #[case::container("PodSpec", json!({"containers": [{"name": "a", "image": "a:1"}, {"name": "b"}]}),
        json!({"containers": [{"name": "b"}, {"name": "a", "image": "a:2"}]}),
        json!({"containers": [{"name": "a", "image": "a:2"}],
            "$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}))]
    #[case::removed("PodSpec", json!({"containers": [{"name": "a"}, {"name": "b"}]}), json!({"containers": [{"name": "b"}]}),
        json!({"containers": [{"name": "a", "$patch": "delete"}], "$setElementOrder/containers": [{"name": "b"}]}))]
    #[case::atomic("Container", json!({"args": ["a", "b"]}), json!({"args": ["b"]}), json!({"args": ["b"]}))]
    #[case::primitives("ObjectMeta", json!({"finalizers": ["a/a", "b/b"]}), json!({"finalizers": ["b/b", "c/c"]}),
        json!({"finalizers": ["c/c"], "$deleteFromPrimitiveList/finalizers": ["a/a"],
            "$setElementOrder/finalizers": ["b/b", "c/c"]}))]
    #[case::retained("DeploymentSpec", json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}),
        json!({"strategy": {"type": "Recreate"}}),
        json!({"strategy": {"type": "Recreate", "rollingUpdate": null, "$retainKeys": ["type"]}}))]
    #[case::one_key_twice("Container", json!({"ports": [{"containerPort": 80, "protocol": "TCP"}, {"containerPort": 80, "protocol": "UDP"}]}),
        json!({"ports": [{"containerPort": 80, "protocol": "TCP"}, {"containerPort": 80, "protocol": "UDP"}]}), json!({}))]
    fn difference_of_two_objects(#[case] kind: &str, #[case] from: Value, #[case] to: Value, #[case] patch: Value) {
        let found = difference(place(kind), &from, &to).unwrap();
        assert_eq!(found, patch);
        assert_eq!(strategic(place(kind), &from, &found).unwrap(), to);
    }

    #[rstest]
    #[case::keeps_fields_of_others(json!({"image": "a:1"}), json!({"image": "a:2"}), json!({"image": "a:1", "tty": true}),
        json!({"image": "a:2", "tty": true}))]
    #[case::deletes_what_was_applied(json!({"image": "a:1", "tty": true}), json!({"image": "a:1"}),
        json!({"image": "a:1", "tty": true}), json!({"image": "a:1"}))]
    #[case::restores_what_others_changed(json!({"image": "a:1"}), json!({"image": "a:1"}), json!({"image": "a:9"}),
        json!({"image": "a:1"}))]
    #[case::env_of_others_stays(json!({"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "1"}]}),
        json!({"env": [{"name": "B", "value": "2"}]}),
        json!({"env": [{"name": "A", "value": "1"}, {"name": "X", "value": "x"}, {"name": "B", "value": "1"}]}),
        json!({"env": [{"name": "X", "value": "x"}, {"name": "B", "value": "2"}]}))]
    #[case::null_deletes(json!({}), json!({"image": null}), json!({"image": "a:1"}), json!({}))]
    fn manifest_is_applied(#[case] last: Value, #[case] manifest: Value, #[case] live: Value, #[case] expected: Value) {
        let patch = three_way(place("Container"), &last, &manifest, &live).unwrap();
        assert_eq!(strategic(place("Container"), &live, &patch).unwrap(), expected);
    }

    #[test]
    fn changes_and_deletions_of_one_list_stand_in_one_patch() {
        let last = json!({"containers": [{"name": "a", "image": "a:1", "tty": true}, {"name": "b"}]});
        let manifest = json!({"containers": [{"name": "a", "image": "a:2"}]});
        let live = json!({"containers": [{"name": "a", "image": "a:1", "tty": true}, {"name": "b"}, {"name": "c"}]});
        let patch = three_way(place("PodSpec"), &last, &manifest, &live).unwrap();
        let wanted = json!({"containers": [{"name": "a", "image": "a:2", "tty": null}, {"name": "b", "$patch": "delete"}],
            "$setElementOrder/containers": [{"name": "a"}]});
        assert_eq!(patch, wanted);
    }

    /// As kubectl does it: the variable that stays goes with the one that was removed.
    #[test]
    fn one_of_two_items_with_one_key_is_deleted_with_both() {
        let twice = json!({"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]});
        let manifest = json!({"env": [{"name": "A", "value": "2"}]});
        let patch = three_way(place("Container"), &twice, &manifest, &twice).unwrap();
        assert_eq!(strategic(place("Container"), &twice, &patch).unwrap(), json!({"env": []}));
    }

    #[test]
    fn item_without_its_key_is_an_error() {
        let manifest = json!({"containers": [{"image": "a:1"}]});
        let live = json!({"containers": [{"name": "a"}]});
        let error = three_way(place("PodSpec"), &Value::Null, &manifest, &live).unwrap_err();
        assert_eq!(error, "map: map[image:a:1] does not contain declared merge key: name");
    }

    #[rstest]
    #[case::lists_are_replaced(json!({"a": [1, 2]}), json!({"a": [2]}), json!({"a": [1, 2, 3]}), json!({"a": [2]}))]
    #[case::deleted(json!({"a": {"b": 1, "c": 1}}), json!({"a": {"c": 1}}), json!({"a": {"b": 2, "c": 1, "d": 1}}),
        json!({"a": {"b": null}}))]
    #[case::unchanged(json!({"a": 1}), json!({"a": 1}), json!({"a": 1, "b": 2}), json!({}))]
    #[case::empty_map(json!({}), json!({"a": {}}), json!({}), json!({"a": {}}))]
    #[case::new_null(json!({}), json!({"a": null, "b": {"c": null}}), json!({"a": 1}), json!({"a": null, "b": {"c": null}}))]
    #[case::null_again(json!({"a": null}), json!({"a": null}), json!({"a": 1}), json!({}))]
    fn custom_resource_is_applied(
        #[case] last: Value,
        #[case] manifest: Value,
        #[case] live: Value,
        #[case] patch: Value,
    ) {
        assert_eq!(three_way_json(&last, &manifest, &live), patch);
    }
}
