//! Translates one JSON object between the API server's form and a Deployment's, and patches one as
//! a Deployment.
//!
//! Both directions move the same fields, so fields without a counterpart stay where they are, and a
//! translation there and back changes nothing. Kinds, the label of the hash and annotations are
//! translated at any depth: owner references, Events, selectors and templates contain them, too.
//!
//! A custom resource does not support strategic merge, and its paths differ from a Deployment's, so
//! the harness reads, patches and replaces.

use std::collections::BTreeMap;

use kube_apimachinery::ApiType;
use serde_json::{Map, Value};

use super::owned;
use super::table::{ANNOTATIONS, API_VERSION, HASH_LABEL, KIND, ROLLING, Workload};

impl Workload {
    /// Translates the API server's form to a Deployment's: an object, a list, or a dependent.
    pub fn as_deployment(&self, value: &mut Value) {
        let list = (value["apiVersion"].clone(), value["kind"].clone());
        if let Some(items) = value.get_mut("items").and_then(Value::as_array_mut) {
            // The items of a built-in kind do not say their kind.
            let kind = list.1.as_str().and_then(|kind| kind.strip_suffix("List"));
            for item in items {
                if let (Some(kind), Some(fields)) = (kind, item.as_object_mut()) {
                    fields.entry("apiVersion").or_insert_with(|| list.0.clone());
                    fields.entry("kind").or_insert_with(|| kind.into());
                }
                self.as_deployment(item);
            }
        }
        if let Some(owned) = self.owns.as_ref().filter(|owned| is_of(value, [&owned.api_version, &owned.kind])) {
            move_to_deployment(value, &owned.paths);
        }
        if is_of(value, [&self.api_version, &self.kind]) {
            if self.is_deployment() && self.is_translated() {
                // What is elsewhere in this Deployment has another meaning in its usual place.
                self.paths.keys().for_each(|theirs| drop(remove_at(value, theirs)));
            }
            move_to_deployment(value, &self.paths);
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
        let kinds = self.kinds().map(|(own, theirs)| KindTranslation { from: own, to: theirs });
        let names = NameTranslation {
            kinds: kinds.collect(),
            label: [&self.hash_label, HASH_LABEL],
            annotations: [&self.annotations, ANNOTATIONS],
        };
        names.translate(value);
    }

    /// Translates a Deployment, or a dependent of one, to the API server's form.
    pub fn as_workload(&self, value: &mut Value) {
        let is_deployment = is_of(value, [API_VERSION, KIND]);
        let owned = self.owns.as_ref().filter(|_| is_of(value, [API_VERSION, owned::KIND]));
        let kinds = self.kinds().map(|(own, theirs)| KindTranslation { from: theirs, to: own });
        let names = NameTranslation {
            kinds: kinds.collect(),
            label: [HASH_LABEL, &self.hash_label],
            annotations: [ANNOTATIONS, &self.annotations],
        };
        names.translate(value);
        if let Some(owned) = owned {
            let moved = take_from_deployment(value, &owned.paths);
            moved.into_iter().for_each(|(own, moved)| put(value, own, moved));
        }
        if is_deployment {
            let moved = take_from_deployment(value, &self.paths);
            if let Value::Object(fields) = value {
                add_missing(fields, &self.manifest);
            }
            moved.into_iter().for_each(|(own, moved)| put(value, own, moved));
        }
    }

    /// The version and the kind of the workload and of what it owns, each with those of the API.
    fn kinds(&self) -> impl Iterator<Item = ([&str; 2], [&'static str; 2])> {
        let owned = self.owns.iter().map(|owned| ([&*owned.api_version, &*owned.kind], [API_VERSION, owned::KIND]));
        std::iter::once(([&*self.api_version, &*self.kind], [API_VERSION, KIND])).chain(owned)
    }
}

/// Whether a value is an object of this version and kind, or refers to one.
fn is_of(value: &Value, [api_version, kind]: [&str; 2]) -> bool {
    value["kind"] == kind && value["apiVersion"] == api_version
}

/// Moves fields from where another kind has them.
fn move_to_deployment(value: &mut Value, paths: &BTreeMap<String, Option<String>>) {
    for (theirs, own) in paths {
        if let Some(moved) = own.as_ref().and_then(|own| take(value, own)) {
            insert_at(value, theirs, moved);
        }
    }
}

/// Removes the fields that another kind has elsewhere, or does not have; returns where it has them.
fn take_from_deployment<'a>(value: &mut Value, paths: &'a BTreeMap<String, Option<String>>) -> Vec<(&'a str, Value)> {
    let taken = paths.iter().filter_map(|(theirs, own)| Some((own.as_deref(), remove_at(value, theirs)?)));
    taken.filter_map(|(own, moved)| Some((own?, moved))).collect()
}

/// Removes what a path of a description leads to: a pointer, or a pointer to JSON text and one into
/// it, `/metadata/annotations/x#/maxSurge`.
fn take(value: &mut Value, path: &str) -> Option<Value> {
    let Some((pointer, inner)) = path.split_once('#') else { return remove_at(value, path) };
    let mut document = serde_json::from_str(value.pointer(pointer)?.as_str()?).ok()?;
    let taken = remove_at(&mut document, inner)?;
    match document.as_object().is_some_and(Map::is_empty) {
        true => drop(remove_at(value, pointer)),
        false => insert_at(value, pointer, document.to_string().into()),
    }
    Some(taken)
}

/// Sets what a path of a description leads to.
fn put(value: &mut Value, path: &str, moved: Value) {
    let Some((pointer, inner)) = path.split_once('#') else { return insert_at(value, path, moved) };
    let text = value.pointer(pointer).and_then(Value::as_str);
    let mut document =
        text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_else(|| Value::Object(Map::new()));
    insert_at(&mut document, inner, moved);
    insert_at(value, pointer, document.to_string().into());
}

/// A version and a kind to be replaced, and the replacement.
struct KindTranslation<'a> {
    from: [&'a str; 2],
    to: [&'a str; 2],
}

/// Names to be replaced, and the replacements.
struct NameTranslation<'a> {
    kinds: Vec<KindTranslation<'a>>,
    label: [&'a str; 2],
    annotations: [&'a str; 2],
}

impl NameTranslation<'_> {
    fn translate(&self, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.translate(item)),
            Value::Object(_) => {
                if let Some(KindTranslation { to, .. }) = self.kinds.iter().find(|kind| is_of(value, kind.from)) {
                    [value["apiVersion"], value["kind"]] = to.map(Value::from);
                }
                let Value::Object(fields) = value else { return };
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
            self.key(&unescaped(word)).map_or_else(|| word.to_owned(), |key| key.replace('~', "~0").replace('/', "~1"))
        };
        path.split('/').map(word).collect::<Vec<_>>().join("/")
    }
}

/// Removes the value at a pointer, and objects that become empty.
fn remove_at(value: &mut Value, pointer: &str) -> Option<Value> {
    let (above, last) = pointer.rsplit_once('/')?;
    let fields = value.pointer_mut(above)?.as_object_mut()?;
    let taken = fields.remove(&unescaped(last))?;
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
        at = fields.entry(unescaped(word)).or_insert_with(|| Value::Object(Map::new()));
    }
    *at = inserted;
}

/// A word of a JSON pointer as a key.
fn unescaped(word: &str) -> String {
    word.replace("~1", "/").replace("~0", "~")
}

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

/// Applies a patch of this content type to a Deployment or ReplicaSet.
///
/// # Errors
/// The patch does not match the object.
pub fn patch_deployment(object: &mut Value, content_type: &str, patch: &Value) -> Result<(), String> {
    match content_type {
        "application/strategic-merge-patch+json" => {
            let kind = if object["kind"] == owned::KIND { owned::KIND } else { KIND };
            let of_kind = ApiType::of(API_VERSION, kind).expect("the server has Deployments and ReplicaSets");
            *object = of_kind.merge(object, patch)?;
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

    #[test]
    fn bounds_and_pause_are_read_from_json_text_in_an_annotation() {
        let at = "/metadata/annotations/example.com~1strategy#";
        let description = json!({"apiVersion": "apps/v1", "kind": "Deployment", "plural": "deployments",
            "paths": {"/spec/paused": format!("{at}/paused"), "/spec/strategy/type": null,
                "/spec/strategy/rollingUpdate/maxSurge": format!("{at}/rollingUpdate/maxSurge")},
            "manifest": {"metadata": {"annotations": {"example.com/strategy": "{}"}},
                "spec": {"paused": true, "strategy": {"type": "Recreate"}}}});
        let fork = Workload::from_json(description).unwrap();
        let of = |annotations: Value, spec: Value| json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"annotations": annotations}, "spec": spec});
        let text = "{\"paused\":false,\"rollingUpdate\":{\"maxSurge\":1},\"style\":\"x\"}";
        let stored =
            of(json!({"example.com/strategy": text}), json!({"paused": true, "strategy": {"type": "Recreate"}}));
        let mut value = stored.clone();
        fork.as_deployment(&mut value);
        let read = of(
            json!({"example.com/strategy": "{\"style\":\"x\"}"}),
            json!({"paused": false, "strategy": {"rollingUpdate": {"maxSurge": 1}}}),
        );
        assert_eq!(value, read);
        fork.as_workload(&mut value);
        assert_eq!(value["spec"], stored["spec"]);
        let rewritten = value["metadata"]["annotations"]["example.com/strategy"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(rewritten).unwrap(), serde_json::from_str::<Value>(text).unwrap());
        let mut list = json!({"apiVersion": "apps/v1", "kind": "DeploymentList", "items": [{"metadata": stored["metadata"], "spec": stored["spec"]}]});
        fork.as_deployment(&mut list);
        assert_eq!(list["items"][0]["spec"], read["spec"]);
    }

    #[test]
    fn owned_kind_is_read_as_replica_set_and_written_as_itself() {
        let description = json!({"apiVersion": "example.com/v1", "kind": "Fleet", "plural": "fleets",
            "owns": {"apiVersion": "example.com/v2", "kind": "Squad", "plural": "squads",
                "paths": {"/spec/replicas": "/spec/size", "/status/replicas": "/status/count"}}});
        let fleet = Workload::from_json(description).unwrap();
        let owned = |kind: &str, fleet: &str, spec: Value, status: Value| {
            let owner = json!([{"apiVersion": fleet.split(' ').next(), "kind": fleet.split(' ').nth(1)}]);
            let version = if kind == "Squad" { "example.com/v2" } else { "apps/v1" };
            json!({"apiVersion": version, "kind": kind, "metadata": {"ownerReferences": owner}, "spec": spec,
                "status": status})
        };
        let squad = owned("Squad", "example.com/v1 Fleet", json!({"size": 3, "template": {}}), json!({"count": 2}));
        let set =
            owned("ReplicaSet", "apps/v1 Deployment", json!({"replicas": 3, "template": {}}), json!({"replicas": 2}));
        let mut value = squad.clone();
        fleet.as_deployment(&mut value);
        assert_eq!(value, set);
        fleet.as_workload(&mut value);
        assert_eq!(value, squad);
        let mut pod = json!({"kind": "Pod", "metadata": {"ownerReferences": [{"apiVersion": "example.com/v2", "kind": "Squad"}]}});
        fleet.as_deployment(&mut pod);
        assert_eq!(pod["metadata"]["ownerReferences"], json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet"}]));
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
