//! Translates one JSON object between the API server's form and a Deployment's, and patches one as
//! a Deployment.
//!
//! Both directions move the same fields, so fields without a counterpart stay where they are, and a
//! translation there and back changes nothing. Kinds, the label of the hash and annotations are
//! translated at any depth: owner references, Events, selectors and templates contain them, too.
//!
//! A custom resource does not support strategic merge, and its paths differ from a Deployment's, so
//! the harness reads, patches and replaces.

use kube_apimachinery::ApiType;
use serde_json::{Map, Value};

use super::table::{ANNOTATIONS, API_VERSION, HASH_LABEL, KIND, ROLLING, Workload};

impl Workload {
    /// Translates the API server's form to a Deployment's: an object, a list, or a dependent.
    pub fn as_deployment(&self, value: &mut Value) {
        if let Some(items) = value.get_mut("items").and_then(Value::as_array_mut) {
            items.iter_mut().for_each(|item| self.as_deployment(item));
        }
        if value["kind"] == self.kind.as_str() && value["apiVersion"] == self.api_version.as_str() {
            for (theirs, own) in &self.paths {
                if let Some(moved) = own.as_ref().and_then(|own| remove_at(value, own)) {
                    insert_at(value, theirs, moved);
                }
            }
            for (bound, promised) in &self.bounds {
                insert_at(value, &format!("{ROLLING}{bound}"), promised.clone());
            }
            for number in &self.numbers {
                if let Some(text) = value.pointer_mut(number)
                    && let Some(parsed) = text.as_str().and_then(|text| text.parse::<i64>().ok())
                {
                    *text = parsed.into();
                }
            }
        }
        let names = NameTranslation {
            kind: [&self.kind, KIND],
            api_version: [&self.api_version, API_VERSION],
            label: [&self.hash_label, HASH_LABEL],
            annotations: [&self.annotations, ANNOTATIONS],
        };
        names.translate(value);
    }

    /// Translates a Deployment, or a dependent of one, to the API server's form.
    pub fn as_workload(&self, value: &mut Value) {
        let is_deployment = value["kind"] == KIND && value["apiVersion"] == API_VERSION;
        let names = NameTranslation {
            kind: [KIND, &self.kind],
            api_version: [API_VERSION, &self.api_version],
            label: [HASH_LABEL, &self.hash_label],
            annotations: [ANNOTATIONS, &self.annotations],
        };
        names.translate(value);
        if !is_deployment {
            return;
        }
        for (theirs, own) in &self.paths {
            if let (Some(moved), Some(own)) = (remove_at(value, theirs), own) {
                insert_at(value, own, moved);
            }
        }
        if let Value::Object(fields) = value {
            add_missing(fields, &self.manifest);
        }
    }
}

/// Pairs of names: to be replaced, and the replacement.
struct NameTranslation<'a> {
    kind: [&'a str; 2],
    api_version: [&'a str; 2],
    label: [&'a str; 2],
    annotations: [&'a str; 2],
}

impl NameTranslation<'_> {
    fn translate(&self, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.translate(item)),
            Value::Object(fields) => {
                if fields.get("kind").is_some_and(|kind| *kind == self.kind[0])
                    && fields.get("apiVersion").is_some_and(|version| *version == self.api_version[0])
                {
                    fields.insert("kind".to_owned(), self.kind[1].into());
                    fields.insert("apiVersion".to_owned(), self.api_version[1].into());
                }
                // An operation of a JSON patch.
                if fields.contains_key("op")
                    && let Some(Value::String(path)) = fields.get_mut("path")
                {
                    *path = self.path(path);
                }
                let renamed = std::mem::take(fields).into_iter().map(|(key, mut value)| {
                    self.translate(&mut value);
                    (self.key(&key).unwrap_or(key), value)
                });
                *fields = renamed.collect();
            }
            _ => {}
        }
    }

    fn key(&self, key: &str) -> Option<String> {
        if key == self.label[0] {
            return Some(self.label[1].to_owned());
        }
        Some(format!("{}{}", self.annotations[1], key.strip_prefix(self.annotations[0])?))
    }

    fn path(&self, path: &str) -> String {
        let word = |word: &str| {
            let key = word.replace("~1", "/").replace("~0", "~");
            self.key(&key).map_or_else(|| word.to_owned(), |key| key.replace('~', "~0").replace('/', "~1"))
        };
        path.split('/').map(word).collect::<Vec<_>>().join("/")
    }
}

/// Removes the value at a pointer, and objects that become empty.
fn remove_at(value: &mut Value, pointer: &str) -> Option<Value> {
    let (above, last) = pointer.rsplit_once('/')?;
    let fields = value.pointer_mut(above)?.as_object_mut()?;
    let taken = fields.remove(last)?;
    if fields.is_empty() && !above.is_empty() {
        remove_at(value, above);
    }
    Some(taken)
}

/// Sets the value at a pointer, and creates missing objects.
fn insert_at(value: &mut Value, pointer: &str, inserted: Value) {
    let mut at = value;
    for word in pointer.split('/').skip(1) {
        let Value::Object(fields) = at else { return };
        at = fields.entry(word).or_insert_with(|| Value::Object(Map::new()));
    }
    *at = inserted;
}

/// Adds missing fields.
fn add_missing(fields: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (key, value) in more {
        match (fields.get_mut(key), value) {
            (Some(Value::Object(fields)), Value::Object(more)) => add_missing(fields, more),
            (Some(_), _) => {}
            (None, _) => {
                fields.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Applies a patch of this content type to a Deployment.
///
/// # Errors
/// The patch does not match the object.
pub fn patch_deployment(object: &mut Value, content_type: &str, patch: &Value) -> Result<(), String> {
    match content_type {
        "application/strategic-merge-patch+json" => {
            let of_deployment = ApiType::of("apps/v1", "Deployment").expect("the server has Deployments");
            *object = of_deployment.merge(object, patch)?;
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

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn argo() -> Workload {
        "argo-rollouts".parse().unwrap()
    }

    #[test]
    fn rollout_is_read_as_deployment_and_written_as_rollout() {
        let rollout = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout",
            "metadata": {"name": "web", "annotations": {"rollout.argoproj.io/revision": "2", "team": "a"}},
            "spec": {"replicas": 3, "strategy": {"canary": {"maxSurge": 1, "maxUnavailable": 0}}}});
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "annotations": {"deployment.kubernetes.io/revision": "2", "team": "a"}},
            "spec": {"replicas": 3, "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}});
        let mut value = rollout.clone();
        argo().as_deployment(&mut value);
        assert_eq!(value, deployment);
        argo().as_workload(&mut value);
        assert_eq!(value, rollout);
    }

    #[test]
    fn fields_without_counterpart_stay() {
        let mut value = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout",
            "spec": {"strategy": {"canary": {"maxSurge": 1, "steps": []}}}, "status": {"observedGeneration": "7"}});
        argo().as_deployment(&mut value);
        assert_eq!(value["spec"]["strategy"], json!({"canary": {"steps": []}, "rollingUpdate": {"maxSurge": 1}}));
        assert_eq!(value["status"]["observedGeneration"], 7);
    }

    #[test]
    fn unsupported_strategy_is_removed_and_manifest_fields_are_added() {
        let mut value = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "spec": {"strategy": {"type": "RollingUpdate"}}});
        argo().as_workload(&mut value);
        assert_eq!(value["spec"], json!({"strategy": {"canary": {}}}));
    }

    #[test]
    fn bounds_without_fields_are_read_but_not_written() {
        let description = json!({"apiVersion": "example.com/v1", "kind": "Fleet", "plural": "fleets",
            "paths": {"/spec/strategy": null}, "bounds": {"maxSurge": 1, "maxUnavailable": "50%"}});
        let fleet = Workload::from_json(description).unwrap();
        let written = json!({"apiVersion": "example.com/v1", "kind": "Fleet", "spec": {"replicas": 3}});
        let mut value = written.clone();
        fleet.as_deployment(&mut value);
        assert_eq!(value["spec"]["strategy"]["rollingUpdate"], json!({"maxSurge": 1, "maxUnavailable": "50%"}));
        fleet.as_workload(&mut value);
        assert_eq!(value, written);
    }

    #[rstest]
    #[case::owner(
        json!({"kind": "ReplicaSet", "metadata": {"ownerReferences": [{"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout"}]}}),
        json!({"kind": "ReplicaSet", "metadata": {"ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment"}]}})
    )]
    #[case::labels(
        json!({"spec": {"selector": {"matchLabels": {"rollouts-pod-template-hash": "x", "app": "web"}}}}),
        json!({"spec": {"selector": {"matchLabels": {"pod-template-hash": "x", "app": "web"}}}})
    )]
    #[case::an_event(
        json!({"involvedObject": {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "web"}}),
        json!({"involvedObject": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}})
    )]
    #[case::a_json_patch(
        json!([{"op": "remove", "path": "/metadata/annotations/rollout.argoproj.io~1revision"}]),
        json!([{"op": "remove", "path": "/metadata/annotations/deployment.kubernetes.io~1revision"}])
    )]
    #[case::of_another_kind(json!({"apiVersion": "apps/v1", "kind": "Rollout"}), json!({"apiVersion": "apps/v1", "kind": "Rollout"}))]
    fn translates_dependents(#[case] workload: Value, #[case] deployment: Value) {
        let mut value = workload.clone();
        argo().as_deployment(&mut value);
        assert_eq!(value, deployment);
        argo().as_workload(&mut value);
        assert_eq!(value, workload);
    }

    #[test]
    fn strategic_patch_merges_lists_by_keys_of_deployment() {
        let pod = |containers: Value| json!({"spec": {"template": {"spec": {"containers": containers}}}});
        let mut object = pod(json!([{"name": "a", "image": "x:1", "env": []}, {"name": "b"}]));
        let patch = pod(json!([{"name": "a", "image": "x:2"}, {"name": "b", "$patch": "delete"}]));
        patch_deployment(&mut object, "application/strategic-merge-patch+json", &patch).unwrap();
        assert_eq!(object, pod(json!([{"name": "a", "image": "x:2", "env": []}])));
    }

    #[test]
    fn patch_that_does_not_match_is_an_error() {
        let patch = json!([{"op": "remove", "path": "/b"}]);
        assert!(patch_deployment(&mut json!({"a": 1}), "application/json-patch+json", &patch).is_err());
    }
}
