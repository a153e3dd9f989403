//! Applies strategic merge patches: maps are merged, lists are merged by the key in the type table,
//! and everything else is replaced.
//!
//! The directives (`$patch`, `$retainKeys`, `$setElementOrder`, `$deleteFromPrimitiveList`) are
//! those of apimachinery's `strategicpatch`; merged lists are ordered as in its
//! `normalizeElementOrder`.
//!
//! No crate does this: merge keys and directives are Kubernetes' own.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::go::format::printed;
use crate::types::table::{FieldDeclaration, TYPES, ValueType};

pub(crate) const PATCH: &str = "$patch";
pub(crate) const RETAIN: &str = "$retainKeys";
pub(crate) const ORDER: &str = "$setElementOrder/";
pub(crate) const DELETE: &str = "$deleteFromPrimitiveList/";

/// Merges a patch into an object of a type, by the type's index in the table.
///
/// # Errors
/// An unknown directive; an item without its merge key.
pub fn strategic(type_index: usize, object: &Value, patch: &Value) -> Result<Value, String> {
    let Value::Object(patch) = patch else { return Err("a strategic merge patch is an object".to_owned()) };
    let object = object.as_object().cloned().unwrap_or_default();
    merge(Some(&ValueType::Struct(type_index)), object, patch)
}

fn merge(
    shape: Option<&ValueType>,
    mut object: Map<String, Value>,
    patch: &Map<String, Value>,
) -> Result<Value, String> {
    match patch.get(PATCH).and_then(Value::as_str) {
        Some("replace") => return Ok(Value::Object(clean(patch))),
        Some("delete") => return Ok(Value::Object(Map::new())),
        Some("merge") | None => {}
        Some(other) => {
            return Err(format!("unknown patch type: {other} in map: {}", printed(&Value::Object(patch.clone()))));
        }
    }
    if let Some(Value::Array(retained)) = patch.get(RETAIN) {
        object.retain(|name, _| retained.iter().any(|retained| retained == name));
    }
    for (name, value) in patch {
        if let Some(list) = name.strip_prefix(DELETE) {
            if let (Some(Value::Array(items)), Value::Array(deleted)) = (object.get_mut(list), value) {
                items.retain(|item| !deleted.contains(item));
            }
            continue;
        }
        if name.starts_with('$') {
            continue;
        }
        let (field, inner) = inner(shape, name);
        let merged = match (object.remove(name), value) {
            (_, Value::Null) => continue,
            (Some(Value::Object(_)), new @ Value::Object(_)) if field.is_some_and(FieldDeclaration::replaces) => {
                new.clone()
            }
            (Some(Value::Object(old)), Value::Object(new)) => merge(inner, old, new)?,
            (Some(Value::Array(old)), Value::Array(new)) if field.is_some_and(|field| field.merges) => {
                let field = field.expect("it was just looked at");
                list(field, &old, new, patch.get(&format!("{ORDER}{name}")))?
            }
            // Nothing to merge with: take the list as it is, without directives.
            (None, Value::Array(new)) => Value::Array(
                new.iter()
                    .filter(|item| item.get(PATCH).is_none())
                    .map(|item| item.as_object().map_or(item.clone(), |item| Value::Object(clean(item))))
                    .collect(),
            ),
            (_, Value::Object(new)) => merge(inner, Map::new(), new)?,
            (_, new) => new.clone(),
        };
        object.insert(name.clone(), merged);
    }
    for (name, order) in patch.iter().filter_map(|(name, order)| Some((name.strip_prefix(ORDER)?, order))) {
        if !patch.contains_key(name)
            && let (Some(Value::Array(items)), Value::Array(order)) = (object.get_mut(name), order)
        {
            let key = inner(shape, name).0.and_then(|field| field.key.as_deref());
            let old = std::mem::take(items);
            *items = ordered(old.clone(), order, &old, key);
        }
    }
    Ok(Value::Object(object))
}

/// The text by which two items of a merged list are the same: their key, or the whole item.
fn identity(item: &Value, key: Option<&str>) -> Option<String> {
    key.map_or(Some(item), |key| item.get(key)).map(Value::to_string)
}

/// The first position of each item of a list.
fn places(items: &[Value], key: Option<&str>) -> BTreeMap<String, usize> {
    let mut places = BTreeMap::new();
    for (at, item) in items.iter().enumerate() {
        if let Some(identity) = identity(item, key) {
            places.entry(identity).or_insert(at);
        }
    }
    places
}

/// The field of this name, and the type of its value.
pub(crate) fn inner<'a>(
    shape: Option<&'a ValueType>,
    name: &str,
) -> (Option<&'a FieldDeclaration>, Option<&'a ValueType>) {
    match shape {
        Some(ValueType::Struct(type_index)) => {
            let field = TYPES.get(*type_index).fields.get(name);
            (field, field.map(|field| &field.shape))
        }
        Some(ValueType::Map(value)) => (None, Some(value)),
        _ => (None, None),
    }
}

fn list(field: &FieldDeclaration, old: &[Value], new: &[Value], order: Option<&Value>) -> Result<Value, String> {
    let Some(key) = &field.key else {
        // Remove duplicates, including those that the list had before.
        let mut unique = BTreeSet::new();
        let merged = old.iter().chain(new).filter(|item| unique.insert(item.to_string())).cloned().collect();
        let order = order.and_then(Value::as_array).map_or(new, Vec::as_slice);
        return Ok(Value::Array(ordered(merged, order, old, None)));
    };
    if new.iter().any(|item| item.get(PATCH).is_some_and(|how| how == "replace")) {
        let retained = new.iter().filter(|item| item.get(PATCH).is_none());
        return Ok(Value::Array(
            retained.map(|item| item.as_object().map_or(item.clone(), |item| Value::Object(clean(item)))).collect(),
        ));
    }
    let shape = field.item();
    let mut merged: Vec<Option<Value>> = old.iter().cloned().map(Some).collect();
    let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, item) in old.iter().enumerate() {
        if let Some(identity) = identity(item, Some(key)) {
            places.entry(identity).or_default().push(at);
        }
    }
    let mut retained = Vec::new();
    for item in new {
        let Some(fields) = item.as_object().filter(|fields| fields.contains_key(key.as_str())) else {
            return Err(format!("map: {} does not contain declared merge key: {key}", printed(item)));
        };
        let identity = identity(item, Some(key)).unwrap_or_default();
        if fields.get(PATCH).is_some_and(|how| how == "delete") {
            for at in places.remove(&identity).into_iter().flatten() {
                merged[at] = None;
            }
            continue;
        }
        retained.push(item.clone());
        let there = places.get(&identity).and_then(|all| all.first().copied());
        let old = there.and_then(|at| merged[at].as_ref()?.as_object().cloned()).unwrap_or_default();
        let one = Some(merge(shape, old, fields)?);
        match there {
            Some(at) => merged[at] = one,
            None => {
                places.insert(identity, vec![merged.len()]);
                merged.push(one);
            }
        }
    }
    let order = order.and_then(Value::as_array).unwrap_or(&retained);
    Ok(Value::Array(ordered(merged.into_iter().flatten().collect(), order, old, Some(key))))
}

/// Orders the items of the patch by its order and all others by the old order; where the two meet,
/// the old order decides.
fn ordered(merged: Vec<Value>, patch: &[Value], old: &[Value], key: Option<&str>) -> Vec<Value> {
    let (in_patch, in_old) = (places(patch, key), places(old, key));
    let placed = |item: Value| {
        let identity = identity(&item, key).unwrap_or_default();
        (in_patch.get(&identity).copied(), in_old.get(&identity).copied(), item)
    };
    let (mut given, others): (Vec<_>, Vec<_>) =
        merged.into_iter().map(placed).partition(|(patched, ..)| patched.is_some());
    given.sort_by_key(|(patched, ..)| *patched);
    let (mut given, mut others) = (given.into_iter().peekable(), others.into_iter().peekable());
    let mut all = Vec::new();
    loop {
        let other_first = match (others.peek(), given.peek()) {
            (None, None) => return all,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some((_, other, _)), Some((_, given, _))) => {
                matches!((other, given), (Some(other), Some(given)) if other < given)
            }
        };
        all.extend(if other_first { others.next() } else { given.next() }.map(|(.., item)| item));
    }
}

/// Removes directives and nulls from a new value.
fn clean(fields: &Map<String, Value>) -> Map<String, Value> {
    let retained = fields.iter().filter(|(name, value)| !name.starts_with('$') && !value.is_null());
    retained
        .map(|(name, value)| match value {
            Value::Object(fields) => (name.clone(), Value::Object(clean(fields))),
            other => (name.clone(), other.clone()),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patched(kind: &str, object: &Value, patch: &Value) -> Value {
        strategic(TYPES.index_of(kind).unwrap(), object, patch).unwrap()
    }

    #[test]
    fn merges_containers_by_name() {
        let object = json!({"containers": [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}]});
        let patch = json!({"containers": [{"name": "b", "image": "b:2"}]});
        let expected = json!({"containers": [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:2"}]});
        assert_eq!(patched("PodSpec", &object, &patch), expected);
    }

    #[test]
    fn puts_new_items_before_items_missing_from_the_patch() {
        let object = json!({"containers": [{"name": "a"}]});
        let patch = json!({"containers": [{"name": "n"}]});
        assert_eq!(patched("PodSpec", &object, &patch), json!({"containers": [{"name": "n"}, {"name": "a"}]}));
    }

    #[test]
    fn removes_duplicates_from_merged_scalar_list() {
        let object = json!({"finalizers": ["a.b/c", "a.b/c"]});
        let patch = json!({"finalizers": ["a.b/d"]});
        assert_eq!(patched("ObjectMeta", &object, &patch), json!({"finalizers": ["a.b/d", "a.b/c"]}));
    }

    #[test]
    fn directives_delete_items_and_retain_keys() {
        let object = json!({"containers": [{"name": "a"}, {"name": "b"}], "tolerations": [{"key": "x"}]});
        let patch = json!({"containers": [{"name": "a", "$patch": "delete"}], "tolerations": [{"key": "y"}]});
        let expected = json!({"containers": [{"name": "b"}], "tolerations": [{"key": "y"}]});
        assert_eq!(patched("PodSpec", &object, &patch), expected);
        let strategy = json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}});
        let patch = json!({"strategy": {"$retainKeys": ["type"], "type": "Recreate"}});
        assert_eq!(patched("DeploymentSpec", &strategy, &patch), json!({"strategy": {"type": "Recreate"}}));
    }

    #[test]
    fn restores_order_when_no_item_changes() {
        let object = json!({"containers": [{"name": "a"}, {"name": "x"}, {"name": "b"}], "args": ["a"]});
        let patch = json!({"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]});
        let expected = json!({"containers": [{"name": "x"}, {"name": "b"}, {"name": "a"}], "args": ["a"]});
        assert_eq!(patched("PodSpec", &object, &patch), expected);
    }

    #[test]
    fn replaces_map_declared_with_replace_strategy() {
        let object = json!({"selector": {"matchLabels": {"a": "b", "app": "web"}}});
        let patch = json!({"selector": {"matchLabels": {"app": "web"}}});
        assert_eq!(patched("PodDisruptionBudgetSpec", &object, &patch), patch);
    }

    #[test]
    fn null_removes_a_field() {
        let object = json!({"metadata": {"annotations": {"a": "1", "b": "2"}}});
        let patch = json!({"metadata": {"annotations": {"a": null, "c": "3"}}});
        let expected = json!({"metadata": {"annotations": {"b": "2", "c": "3"}}});
        assert_eq!(patched("Deployment", &object, &patch), expected);
    }

    #[test]
    fn rejects_patch_item_without_merge_key() {
        let object = json!({"containers": [{"name": "a"}]});
        let error = strategic(TYPES.index_of("PodSpec").unwrap(), &object, &json!({"containers": [{"image": "a:1"}]}));
        assert_eq!(error.unwrap_err(), "map: map[image:a:1] does not contain declared merge key: name");
    }
}
