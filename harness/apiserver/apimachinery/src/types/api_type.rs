//! The types of the API for clients: what kubectl computes before it sends a request.
//!
//! A client that writes objects as `kubectl apply` does needs the same type table as the server:
//! the merge keys of lists, and the known fields.

use serde_json::Value;

use crate::types::table::{TYPES, ValueType};
use crate::types::{diff, merge};

/// The type of a built-in kind's objects.
///
/// ```
/// use kube_apimachinery::ApiType;
/// use serde_json::json;
///
/// let deployment = ApiType::of("apps/v1", "Deployment").expect("it is built in");
/// let last_applied = json!({"spec": {"replicas": 2, "paused": true}});
/// let manifest = json!({"spec": {"replicas": 2}});
/// let live = json!({"spec": {"replicas": 5, "paused": true, "minReadySeconds": 3}});
/// let patch = deployment.apply_patch(&last_applied, &manifest, &live)?;
/// assert_eq!(patch, json!({"spec": {"replicas": 2, "paused": null}}));
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApiType(usize);

/// A field that the type of its object does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownField {
    /// The path to the field: field names and list indices.
    pub path: Vec<String>,
    /// The type that does not have it, such as `DeploymentSpec`.
    pub type_name: &'static str,
    /// The fields that the type has instead.
    pub known_fields: Vec<&'static str>,
}

impl ApiType {
    /// The type of objects of this apiVersion and kind, if built in.
    #[must_use]
    pub fn of(api_version: &str, kind: &str) -> Option<Self> {
        TYPES.object_type(api_version, kind).map(Self)
    }

    /// Applies a strategic merge patch to an object.
    ///
    /// # Errors
    /// An unknown directive; an item of a merged list without its merge key.
    pub fn merge(self, object: &Value, patch: &Value) -> Result<Value, String> {
        merge::strategic(self.0, object, patch)
    }

    /// The strategic merge patch that turns the first object into the second.
    ///
    /// # Errors
    /// An item of a merged list without its merge key.
    pub fn difference(self, from: &Value, to: &Value) -> Result<Value, String> {
        diff::difference(self.0, from, to)
    }

    /// The strategic merge patch by which `kubectl apply` applies a manifest to a live object: it
    /// also deletes fields that were applied before and are not in the manifest any more.
    ///
    /// # Errors
    /// An item of a merged list without its merge key.
    pub fn apply_patch(self, last_applied: &Value, manifest: &Value, live: &Value) -> Result<Value, String> {
        diff::three_way(self.0, last_applied, manifest, live)
    }

    /// The fields of an object or a patch that its type does not have. Patch directives are
    /// ignored.
    #[must_use]
    pub fn unknown_fields(self, object: &Value) -> Vec<UnknownField> {
        let mut unknown = Vec::new();
        collect_unknown_fields(&ValueType::Struct(self.0), object, &mut Vec::new(), &mut unknown);
        unknown
    }

    /// The unknown fields of a value that a JSON patch puts at `pointer`.
    #[must_use]
    pub fn unknown_fields_at(self, pointer: &str, value: &Value) -> Vec<UnknownField> {
        let names: Vec<String> =
            pointer.split('/').skip(1).map(|name| name.replace("~1", "/").replace("~0", "~")).collect();
        let object = names.iter().rev().fold(value.clone(), |value, name| {
            let is_item = name == "-" || name.parse::<usize>().is_ok();
            if is_item {
                Value::Array(vec![value])
            } else {
                Value::Object([(name.clone(), value)].into_iter().collect())
            }
        });
        self.unknown_fields(&object)
    }
}

/// The merge patch by which `kubectl apply` applies a manifest to a live custom resource.
#[must_use]
pub fn custom_apply_patch(last_applied: &Value, manifest: &Value, live: &Value) -> Value {
    diff::three_way_json(last_applied, manifest, live)
}

fn collect_unknown_fields(shape: &ValueType, value: &Value, path: &mut Vec<String>, unknown: &mut Vec<UnknownField>) {
    match (shape, value) {
        (ValueType::Struct(type_index), Value::Object(fields)) => {
            let declaration = TYPES.get(*type_index);
            let known_fields = &declaration.fields;
            for (name, value) in fields.iter().filter(|(name, _)| !name.starts_with('$')) {
                path.push(name.clone());
                match known_fields.get(name) {
                    Some(field) => collect_unknown_fields(&field.shape, value, path, unknown),
                    None => {
                        let known_fields = known_fields.keys().map(String::as_str).collect();
                        unknown.push(UnknownField { path: path.clone(), type_name: &declaration.name, known_fields });
                    }
                }
                path.pop();
            }
        }
        (ValueType::Map(item), Value::Object(fields)) => {
            for (name, value) in fields {
                path.push(name.clone());
                collect_unknown_fields(item, value, path, unknown);
                path.pop();
            }
        }
        (ValueType::List(item), Value::Array(items)) => {
            for (at, value) in items.iter().enumerate() {
                path.push(at.to_string());
                collect_unknown_fields(item, value, path, unknown);
                path.pop();
            }
        }
        (ValueType::StructOrOther(object, _), value) => collect_unknown_fields(object, value, path, unknown),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_built_in_kinds_have_a_type() {
        assert!(ApiType::of("apps/v1", "Deployment").is_some() && ApiType::of("v1", "ConfigMap").is_some());
        assert!(ApiType::of("autoscaling/v1", "HorizontalPodAutoscaler").is_some());
        assert_eq!(ApiType::of("argoproj.io/v1alpha1", "Rollout"), None);
        assert_eq!(ApiType::of("apps.example.com/v1", "Deployment"), None);
        for (api_version, kind) in [
            ("apps.k8s.io/v1", "Deployment"),
            ("core/v1", "Pod"),
            ("networking/v1", "Ingress"),
            ("apps/v1", "DeploymentSpec"),
            ("meta.k8s.io/v1", "DeleteOptions"),
        ] {
            assert_eq!(ApiType::of(api_version, kind), None, "{api_version} {kind}");
        }
    }

    #[test]
    fn finds_unknown_fields_in_lists_but_not_in_labels() {
        let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"labels": {"any": "thing"}, "labls": {}},
            "spec": {"replicsa": 4, "strategy": {"rollingUpdate": {"maxSurg": 1}},
                "template": {"spec": {"containers": [{"name": "a"}, {"name": "b", "imagePullPolice": null}]}}}});
        let unknown = ApiType::of("apps/v1", "Deployment").unwrap().unknown_fields(&object);
        let paths: Vec<String> = unknown.iter().map(|one| one.path.join(".")).collect();
        let expected = [
            "metadata.labls",
            "spec.replicsa",
            "spec.strategy.rollingUpdate.maxSurg",
            "spec.template.spec.containers.1.imagePullPolice",
        ];
        assert_eq!(paths, expected);
        assert_eq!(unknown[2].known_fields, ["maxSurge", "maxUnavailable"]);
    }

    #[test]
    fn accepts_json_patch_paths_with_list_indices_and_numeric_labels() {
        let deployment = ApiType::of("apps/v1", "Deployment").unwrap();
        let unknown = deployment.unknown_fields_at("/spec/template/spec/containers/0/imag", &json!("a"));
        assert_eq!(unknown[0].type_name, "Container");
        assert!(deployment.unknown_fields_at("/metadata/labels/1", &json!("a")).is_empty());
        assert!(deployment.unknown_fields_at("", &json!({"spec": {}})).is_empty());
    }

    #[test]
    fn ignores_patch_directives() {
        let patch = json!({"spec": {"$retainKeys": ["replicas"], "$setElementOrder/x": [], "template": {"spec": {"$patch": "merge"}}}});
        assert!(ApiType::of("apps/v1", "Deployment").unwrap().unknown_fields(&patch).is_empty());
    }
}
