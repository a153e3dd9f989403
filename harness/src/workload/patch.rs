//! A patch applied to a Deployment that no server has. A custom resource takes no strategic merge, and a Deployment's paths are not
//! its own, so the harness reads, patches and replaces.

use serde_json::{Map, Value};

/// What elements of a list are told apart by, of those lists of a Deployment that are merged.
const MERGED: [(&str, &str); 9] = [
    ("containers", "name"),
    ("initContainers", "name"),
    ("env", "name"),
    ("volumes", "name"),
    ("imagePullSecrets", "name"),
    ("ports", "containerPort"),
    ("volumeMounts", "mountPath"),
    ("hostAliases", "ip"),
    ("ownerReferences", "uid"),
];

/// Apply a patch of this content type.
///
/// # Errors
/// When it does not fit.
pub(super) fn apply(object: &mut Value, content_type: &str, patch: &Value) -> Result<(), String> {
    match content_type {
        "application/strategic-merge-patch+json" => {
            strategic(object, patch);
            Ok(())
        }
        "application/merge-patch+json" => {
            json_patch::merge(object, patch);
            Ok(())
        }
        "application/json-patch+json" => {
            let patch: json_patch::Patch = serde_json::from_value(patch.clone()).map_err(|error| error.to_string())?;
            json_patch::patch(object, &patch).map_err(|error| error.to_string())
        }
        other => Err(format!("a patch of type {other} cannot be made of a workload")),
    }
}

fn strategic(object: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *object = patch.clone();
        return;
    };
    if !object.is_object() || changes.get("$patch").is_some_and(|how| how == "replace") {
        *object = Value::Object(Map::new());
    }
    let Value::Object(fields) = object else { return };
    for (key, change) in changes.iter().filter(|(key, _)| !key.starts_with('$')) {
        match (change, MERGED.iter().find(|(list, _)| list == key)) {
            (Value::Null, _) => {
                fields.remove(key);
            }
            (Value::Array(items), Some((_, by))) => {
                let list = fields.entry(key).or_insert_with(|| Value::Array(Vec::new()));
                items.iter().for_each(|item| element(list, by, item));
            }
            (Value::Object(_), _) => strategic(fields.entry(key).or_insert(Value::Null), change),
            (other, _) => {
                fields.insert(key.clone(), other.clone());
            }
        }
    }
}

fn element(list: &mut Value, by: &str, change: &Value) {
    let Value::Array(items) = list else { return };
    let at = items.iter().position(|item| item[by] == change[by]);
    match (at, change["$patch"] == "delete") {
        (Some(at), true) => {
            items.remove(at);
        }
        (Some(at), false) => strategic(&mut items[at], change),
        (None, true) => {}
        (None, false) => {
            let mut made = Value::Null;
            strategic(&mut made, change);
            items.push(made);
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::image(
        json!({"containers": [{"name": "a", "image": "x:1", "env": []}]}),
        json!({"containers": [{"name": "a", "image": "x:2"}]}),
        json!({"containers": [{"name": "a", "image": "x:2", "env": []}]})
    )]
    #[case::another_container(
        json!({"containers": [{"name": "a"}]}),
        json!({"containers": [{"name": "b"}]}),
        json!({"containers": [{"name": "a"}, {"name": "b"}]})
    )]
    #[case::deleted(
        json!({"containers": [{"name": "a"}, {"name": "b"}]}),
        json!({"containers": [{"$patch": "delete", "name": "a"}]}),
        json!({"containers": [{"name": "b"}]})
    )]
    #[case::null(json!({"a": 1, "b": {"c": 2, "d": 3}}), json!({"a": null, "b": {"c": null}}), json!({"b": {"d": 3}}))]
    #[case::a_list_that_is_not_merged(json!({"args": ["a"]}), json!({"args": ["b"]}), json!({"args": ["b"]}))]
    #[case::replaced(json!({"a": {"b": 1}}), json!({"a": {"$patch": "replace", "c": 2}}), json!({"a": {"c": 2}}))]
    fn strategic_merges(#[case] mut object: Value, #[case] patch: Value, #[case] expected: Value) {
        apply(&mut object, "application/strategic-merge-patch+json", &patch).unwrap();
        assert_eq!(object, expected);
    }

    #[test]
    fn a_patch_that_does_not_fit_is_an_error() {
        let patch = json!([{"op": "remove", "path": "/b"}]);
        assert!(apply(&mut json!({"a": 1}), "application/json-patch+json", &patch).is_err());
    }
}
