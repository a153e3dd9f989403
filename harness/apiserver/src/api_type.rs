//! Types of the API as a client of it knows them: what kubectl computes before it sends a request.
//!
//! A user of this crate that writes objects as `kubectl apply` does needs the same table of types
//! as the server: the merge keys of lists, and the fields that there are.

use serde_json::Value;

use super::api::{self, Shape, TYPES};
use super::kinds::KINDS;

/// The type of a built-in kind's objects.
///
/// ```
/// use kube_apiserver_sim::ApiType;
/// use serde_json::json;
///
/// let deployment = ApiType::of("apps/v1", "Deployment").expect("it is built in");
/// let (last_applied, manifest) = (json!({"spec": {"replicas": 2, "paused": true}}), json!({"spec": {"replicas": 2}}));
/// let live = json!({"spec": {"replicas": 5, "paused": true, "minReadySeconds": 3}});
/// let patch = deployment.apply_patch(&last_applied, &manifest, &live)?;
/// assert_eq!(patch, json!({"spec": {"replicas": 2, "paused": null}}));
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApiType(usize);

/// A field that the type of an object does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownField {
    /// The way to it: names of fields, and numbers of items in lists.
    pub path: Vec<String>,
    /// The type that does not have it, such as `DeploymentSpec`.
    pub type_name: &'static str,
    /// The fields that there are in its place.
    pub known: Vec<&'static str>,
}

impl ApiType {
    /// The type of objects of this apiVersion and kind, if it is built in.
    #[must_use]
    pub fn of(api_version: &str, kind: &str) -> Option<Self> {
        let found = KINDS.iter().find(|one| one.kind == kind && one.api_version() == api_version);
        found.map(|kind| Self(kind.of_table()))
    }

    /// An object after a strategic merge patch.
    ///
    /// # Errors
    /// An unknown directive; an item of a merged list without its merge key.
    pub fn merge(self, object: &Value, patch: &Value) -> Result<Value, String> {
        api::strategic(self.0, object, patch)
    }

    /// The strategic merge patch that makes the second object of the first.
    ///
    /// # Errors
    /// An item of a merged list without its merge key.
    pub fn difference(self, from: &Value, to: &Value) -> Result<Value, String> {
        api::difference(self.0, from, to)
    }

    /// The strategic merge patch by which `kubectl apply` applies a manifest to a live object: it
    /// deletes what was applied before and is not in the manifest any more.
    ///
    /// # Errors
    /// An item of a merged list without its merge key.
    pub fn apply_patch(self, last_applied: &Value, manifest: &Value, live: &Value) -> Result<Value, String> {
        api::three_way(self.0, last_applied, manifest, live)
    }

    /// The fields of an object, or of a patch of one, that its type does not have. Directives of
    /// patches are no fields.
    #[must_use]
    pub fn unknown_fields(self, object: &Value) -> Vec<UnknownField> {
        let mut found = Vec::new();
        look(&Shape::Struct(self.0), object, &mut Vec::new(), &mut found);
        found
    }

    /// The same of a value that a JSON patch puts at a place in an object.
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
    api::three_way_json(last_applied, manifest, live)
}

fn look(shape: &Shape, value: &Value, path: &mut Vec<String>, found: &mut Vec<UnknownField>) {
    match (shape, value) {
        (Shape::Struct(place), Value::Object(fields)) => {
            let own = TYPES.get(*place);
            let known = &own.fields;
            for (name, value) in fields.iter().filter(|(name, _)| !name.starts_with('$')) {
                path.push(name.clone());
                match known.get(name) {
                    Some(field) => look(&field.shape, value, path, found),
                    None => {
                        let known = known.keys().map(String::as_str).collect();
                        found.push(UnknownField { path: path.clone(), type_name: &own.name, known });
                    }
                }
                path.pop();
            }
        }
        (Shape::Map(item), Value::Object(fields)) => {
            for (name, value) in fields {
                path.push(name.clone());
                look(item, value, path, found);
                path.pop();
            }
        }
        (Shape::List(item), Value::Array(items)) => {
            for (at, value) in items.iter().enumerate() {
                path.push(at.to_string());
                look(item, value, path, found);
                path.pop();
            }
        }
        (Shape::Either(object), value) => look(object, value, path, found),
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
    }

    #[test]
    fn unknown_fields_are_found_in_lists_and_maps_but_not_in_labels() {
        let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"labels": {"any": "thing"}, "labls": {}},
            "spec": {"replicsa": 4, "strategy": {"rollingUpdate": {"maxSurg": 1}},
                "template": {"spec": {"containers": [{"name": "a"}, {"name": "b", "imagePullPolice": null}]}}}});
        let found = ApiType::of("apps/v1", "Deployment").unwrap().unknown_fields(&object);
        let paths: Vec<String> = found.iter().map(|one| one.path.join(".")).collect();
        let wanted = [
            "metadata.labls",
            "spec.replicsa",
            "spec.strategy.rollingUpdate.maxSurg",
            "spec.template.spec.containers.1.imagePullPolice",
        ];
        assert_eq!(paths, wanted);
        assert_eq!(found[2].known, ["maxSurge", "maxUnavailable"]);
    }

    #[test]
    fn place_of_a_json_patch_may_be_an_item_or_a_label_that_is_a_number() {
        let deployment = ApiType::of("apps/v1", "Deployment").unwrap();
        let found = deployment.unknown_fields_at("/spec/template/spec/containers/0/imag", &json!("a"));
        assert_eq!(found[0].type_name, "Container");
        assert!(deployment.unknown_fields_at("/metadata/labels/1", &json!("a")).is_empty());
        assert!(deployment.unknown_fields_at("", &json!({"spec": {}})).is_empty());
    }

    #[test]
    fn directives_of_patches_are_no_fields() {
        let patch = json!({"spec": {"$retainKeys": ["replicas"], "$setElementOrder/x": [], "template": {"spec": {"$patch": "merge"}}}});
        assert!(ApiType::of("apps/v1", "Deployment").unwrap().unknown_fields(&patch).is_empty());
    }
}
