//! Computes strategic merge patches: the difference of two objects, and the three-way patch of
//! `kubectl apply`.
//!
//! Merged lists get the directives by which the server restores their order and deletes items.
//! Upstream: `diffMaps`, `diffLists` and `CreateThreeWayMergePatch` of apimachinery's
//! `strategicpatch`.
//!
//! No crate does this: crates for patches compute JSON patches and merge patches, which know no
//! merge keys.

use serde_json::{Map, Value, json};

use crate::go::format::printed;
use crate::types::merge::{DELETE, ORDER, PATCH, RETAIN, inner};
use crate::types::table::{FieldDeclaration, ValueType};

/// The strategic merge patch that turns the first object into the second.
///
/// # Errors
/// An item of a merged list without its merge key.
pub(crate) fn difference(type_index: usize, from: &Value, to: &Value) -> Result<Value, String> {
    let root = ValueType::Struct(type_index);
    Ok(Value::Object(PatchDiff { additions: true, deletions: true }.maps(
        Some(&root),
        false,
        &fields(from),
        &fields(to),
    )?))
}

/// The three-way patch that applies a manifest to a live object: it sets the fields of the
/// manifest, and deletes fields of the last applied manifest that the new one lacks.
///
/// # Errors
/// An item of a merged list without its merge key.
pub(crate) fn three_way(
    type_index: usize,
    last_applied: &Value,
    manifest: &Value,
    live: &Value,
) -> Result<Value, String> {
    let root = ValueType::Struct(type_index);
    let (last_applied, manifest, live) = (fields(last_applied), fields(manifest), fields(live));
    let additions = PatchDiff { additions: true, deletions: false }.maps(Some(&root), false, &live, &manifest)?;
    let deletions =
        PatchDiff { additions: false, deletions: true }.maps(Some(&root), false, &last_applied, &manifest)?;
    Ok(Value::Object(join(Some(&root), deletions, additions)?))
}

fn fields(object: &Value) -> Map<String, Value> {
    object.as_object().cloned().unwrap_or_default()
}

/// The differences that a patch contains. Upstream: `DiffOptions`.
#[derive(Clone, Copy)]
struct PatchDiff {
    additions: bool,
    deletions: bool,
}

impl PatchDiff {
    /// `retain`: whether the server clears fields that the second map lacks.
    fn maps(
        self,
        shape: Option<&ValueType>,
        retain: bool,
        from: &Map<String, Value>,
        to: &Map<String, Value>,
    ) -> Result<Map<String, Value>, String> {
        let mut patch = Map::new();
        for (name, new) in to {
            match (from.get(name), new) {
                (Some(Value::Object(old)), Value::Object(new)) => {
                    let (field, inner) = inner(shape, name);
                    if field.is_some_and(FieldDeclaration::replaces) {
                        if self.additions {
                            patch.insert(name.clone(), new.clone().into());
                        }
                        continue;
                    }
                    let changes = self.maps(inner, field.is_some_and(FieldDeclaration::retains), old, new)?;
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
            let removed = from.keys().filter(|name| !to.contains_key(*name));
            patch.extend(removed.map(|name| (name.clone(), Value::Null)));
        }
        let retained: Vec<&String> = to.iter().filter(|(_, value)| !value.is_null()).map(|(name, _)| name).collect();
        let clears = || from.iter().any(|(name, value)| !value.is_null() && !to.contains_key(name));
        if retain && !retained.is_empty() && (!patch.is_empty() || clears()) {
            patch.insert(RETAIN.to_owned(), json!(retained));
        }
        Ok(patch)
    }

    /// Adds the changes of a merged list, and its directives.
    fn lists(
        self,
        field: &FieldDeclaration,
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
        let (old, new) = (items_with_keys(from, key)?, items_with_keys(to, key)?);
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

    /// The changed and the new items. Items with equal keys are paired in order; unpaired items
    /// remain in `old`.
    fn items(
        self,
        field: &FieldDeclaration,
        key: &str,
        old: &mut Vec<KeyedItem<'_>>,
        new: &[KeyedItem<'_>],
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
        let only = |these: &[Value], excluded: &[Value]| -> Vec<Value> {
            these.iter().filter(|item| !excluded.contains(item)).cloned().collect()
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

/// The merge key of an item, and the item.
type KeyedItem<'a> = (&'a Value, &'a Map<String, Value>);

/// The items of a list with their merge keys.
fn items_with_keys<'a>(items: &'a [Value], key: &str) -> Result<Vec<KeyedItem<'a>>, String> {
    let one = |item: &'a Value| {
        let fields = item.as_object()?;
        Some((fields.get(key)?, fields))
    };
    let missing = |item| format!("map: {} does not contain declared merge key: {key}", printed(item));
    items.iter().map(|item| one(item).ok_or_else(|| missing(item))).collect()
}

/// Joins two patches with different purposes: adds the additions to the deletions. Upstream:
/// `mergeMap` of a patch into a patch.
fn join(
    shape: Option<&ValueType>,
    mut deletions: Map<String, Value>,
    additions: Map<String, Value>,
) -> Result<Map<String, Value>, String> {
    for (name, added) in additions {
        let (field, inner) = inner(shape, &name);
        let joined = match (deletions.remove(&name), added) {
            (Some(Value::Object(removed)), Value::Object(added)) if !name.starts_with('$') => {
                Value::Object(join(inner, removed, added)?)
            }
            (Some(Value::Array(removed)), Value::Array(added)) => {
                match field.and_then(|it| Some((it, it.key.as_ref()?))) {
                    Some((field, key)) if field.merges => Value::Array(join_lists(field.item(), key, removed, added)?),
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
    shape: Option<&ValueType>,
    key: &str,
    mut deletions: Vec<Value>,
    additions: Vec<Value>,
) -> Result<Vec<Value>, String> {
    let mut all = Vec::new();
    for added in additions {
        let at = deletions.iter().position(|removed| removed[key] == added[key]);
        match (at.map(|at| deletions.remove(at)), added) {
            (Some(Value::Object(removed)), Value::Object(added)) => {
                all.push(Value::Object(join(shape, removed, added)?));
            }
            (_, added) => all.push(added),
        }
    }
    all.extend(deletions);
    Ok(all)
}

/// The JSON merge patch that applies a manifest to a live custom resource, whose lists are not
/// merged. Upstream: `CreateThreeWayJSONMergePatch` of apimachinery's `jsonmergepatch`.
pub(crate) fn three_way_json(last_applied: &Value, manifest: &Value, live: &Value) -> Value {
    let (last_applied, manifest, live) = (fields(last_applied), fields(manifest), fields(live));
    let mut patch = filter_nulls(&json_difference(&live, &manifest), false);
    overlay(&mut patch, filter_nulls(&json_difference(&last_applied, &manifest), true));
    Value::Object(patch)
}

/// The JSON merge patch that turns the first object into the second.
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

/// Keeps only the nulls of a patch, or everything else. Upstream: `keepOrDeleteNullInObj`.
fn filter_nulls(patch: &Map<String, Value>, nulls: bool) -> Map<String, Value> {
    let mut kept = Map::new();
    for (name, value) in patch {
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                let fields = filter_nulls(fields, nulls);
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

/// Adds deletions to a patch without overwriting the fields that it sets.
fn overlay(patch: &mut Map<String, Value>, deletions: Map<String, Value>) {
    for (name, removed) in deletions {
        match (patch.get_mut(&name), removed) {
            (Some(Value::Object(added)), Value::Object(removed)) => overlay(added, removed),
            (Some(_), _) => {}
            (None, removed) => drop(patch.insert(name, removed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::types::merge::strategic;
    use crate::types::table::TYPES;

    fn type_index(kind: &str) -> usize {
        TYPES.index_of(kind).unwrap()
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
    fn difference_turns_one_object_into_another(
        #[case] kind: &str,
        #[case] from: Value,
        #[case] to: Value,
        #[case] patch: Value,
    ) {
        let found = difference(type_index(kind), &from, &to).unwrap();
        assert_eq!(found, patch);
        assert_eq!(strategic(type_index(kind), &from, &found).unwrap(), to);
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
    fn three_way_patch_applies_manifest(
        #[case] last: Value,
        #[case] manifest: Value,
        #[case] live: Value,
        #[case] expected: Value,
    ) {
        let patch = three_way(type_index("Container"), &last, &manifest, &live).unwrap();
        assert_eq!(strategic(type_index("Container"), &live, &patch).unwrap(), expected);
    }

    #[test]
    fn patch_contains_changes_and_deletions_of_a_list() {
        let last = json!({"containers": [{"name": "a", "image": "a:1", "tty": true}, {"name": "b"}]});
        let manifest = json!({"containers": [{"name": "a", "image": "a:2"}]});
        let live = json!({"containers": [{"name": "a", "image": "a:1", "tty": true}, {"name": "b"}, {"name": "c"}]});
        let patch = three_way(type_index("PodSpec"), &last, &manifest, &live).unwrap();
        let expected = json!({"containers": [{"name": "a", "image": "a:2", "tty": null}, {"name": "b", "$patch": "delete"}],
            "$setElementOrder/containers": [{"name": "a"}]});
        assert_eq!(patch, expected);
    }

    /// As in kubectl: deleting one of two variables with the same name deletes both.
    #[test]
    fn deleting_one_of_two_items_with_equal_keys_deletes_both() {
        let twice = json!({"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]});
        let manifest = json!({"env": [{"name": "A", "value": "2"}]});
        let patch = three_way(type_index("Container"), &twice, &manifest, &twice).unwrap();
        assert_eq!(strategic(type_index("Container"), &twice, &patch).unwrap(), json!({"env": []}));
    }

    #[test]
    fn rejects_item_without_merge_key() {
        let manifest = json!({"containers": [{"image": "a:1"}]});
        let live = json!({"containers": [{"name": "a"}]});
        let error = three_way(type_index("PodSpec"), &Value::Null, &manifest, &live).unwrap_err();
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
    fn three_way_json_patch_applies_manifest(
        #[case] last: Value,
        #[case] manifest: Value,
        #[case] live: Value,
        #[case] patch: Value,
    ) {
        assert_eq!(three_way_json(&last, &manifest, &live), patch);
    }
}
