//! The ordinary shape of a new ReplicaSet. A timeline prints only deviations from it, so that lines
//! stay short and nothing is lost.
//!
//! An ordinary ReplicaSet is controlled by its Deployment with blockOwnerDeletion; is named
//! `<deployment>-<hash>`, with the Deployment's name cut if that is too long; has the Deployment's
//! template, with the hash added to its labels; has the same labels itself; and has the
//! Deployment's selector with the hash.

use std::collections::BTreeMap;

use lockstep_support::pointer::JsonPointer;
use serde_json::{Map, Value};

use super::model::KeyValue;
use super::object::{self, HASH_LABEL};
use super::recorded_objects::RecordedObjects;

/// Replaces a hash.
const HASH: &str = "<hash>";
/// The longest name that the server accepts, in characters; names of Deployments are ASCII.
const LONGEST_NAME: usize = 253;

/// Every deviation of a new ReplicaSet from the ordinary shape.
pub(super) fn deviations(set: &Value, world: &RecordedObjects<'_>) -> Vec<KeyValue> {
    let Some(deployment) = world.deployment_of(set) else {
        let owner = if object::controller(set).is_some() { "other" } else { "none" };
        return vec![KeyValue::new("owner", owner)];
    };
    let hash = object::strings(set, "/metadata/labels").get(HASH_LABEL).copied().unwrap_or_default();
    [
        blocking_deviation(set),
        name_deviation(set, deployment, hash),
        label_deviation(set, deployment, hash, "/metadata/labels", "labels"),
        label_deviation(set, deployment, hash, "/spec/template/metadata/labels", "templateLabels"),
        selector_deviation(set, deployment, hash),
        (object::bare_template(set) != object::bare_template(deployment)).then(|| KeyValue::new("template", "differs")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Labels as JSON, with the hash replaced.
pub(super) fn without_hash(labels: &BTreeMap<&str, &str>) -> Value {
    let value = |key: &str, value: &str| Value::from(if key == HASH_LABEL { HASH } else { value });
    Value::Object(labels.iter().map(|(key, text)| ((*key).to_owned(), value(key, text))).collect::<Map<_, _>>())
}

fn blocking_deviation(set: &Value) -> Option<KeyValue> {
    let blocks = object::controller(set)?.get("blockOwnerDeletion") == Some(&Value::Bool(true));
    (!blocks).then(|| KeyValue::new("blockOwnerDeletion", "false"))
}

/// A name is at most as long as the server allows, and the hash is never cut
/// (rolling/deployment-name-leaves-no-room).
fn name_deviation(set: &Value, deployment: &Value, hash: &str) -> Option<KeyValue> {
    let room = LONGEST_NAME.saturating_sub(hash.len() + 1);
    let ordinary = format!("{:.room$}-{hash}", object::name(deployment));
    (object::name(set) != ordinary).then(|| KeyValue::new("name", "unusual"))
}

/// The labels must be those of the Deployment's template with the hash.
fn label_deviation(set: &Value, deployment: &Value, hash: &str, pointer: &str, key: &str) -> Option<KeyValue> {
    let mut ordinary = object::strings(deployment, "/spec/template/metadata/labels");
    ordinary.insert(HASH_LABEL, hash);
    let labels = object::strings(set, pointer);
    (labels != ordinary).then(|| KeyValue::json(key, &without_hash(&labels)))
}

/// The selector must be the Deployment's with the hash.
fn selector_deviation(set: &Value, deployment: &Value, hash: &str) -> Option<KeyValue> {
    let expressions = |object: &Value| object.at("/spec/selector/matchExpressions").cloned();
    let mut ordinary = object::strings(deployment, "/spec/selector/matchLabels");
    ordinary.insert(HASH_LABEL, hash);
    let labels = object::strings(set, "/spec/selector/matchLabels");
    let same = labels == ordinary && expressions(set) == expressions(deployment);
    (!same).then(|| KeyValue::json("selector", &without_hash(&labels)))
}
