//! The ordinary shape of a new ReplicaSet. A timeline prints only what deviates from it, so that
//! lines stay short and yet nothing goes unsaid.
//!
//! Ordinary is: controlled by its Deployment with blockOwnerDeletion; named `<deployment>-<hash>`,
//! the Deployment's name cut where that is too long; the Deployment's template, the hash added to
//! its labels; the same labels on the ReplicaSet; the Deployment's selector and the hash.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::model::Field;
use super::object::{self, HASH_LABEL};
use super::world::World;
use crate::pointer::At;

/// What is written in place of a hash.
const HASH: &str = "<hash>";
/// The longest name that the server takes, in characters; a Deployment's is of ASCII alone.
const LONGEST_NAME: usize = 253;

/// Every way in which a new ReplicaSet is not of the ordinary shape.
pub(super) fn deviations(set: &Value, world: &World<'_>) -> Vec<Field> {
    let Some(deployment) = world.deployment_of(set) else {
        let owner = if object::controller(set).is_some() { "other" } else { "none" };
        return vec![Field::new("owner", owner)];
    };
    let hash = object::strings(set, "/metadata/labels").get(HASH_LABEL).copied().unwrap_or_default();
    [
        blocking(set),
        named(set, deployment, hash),
        labelled(set, deployment, hash, "/metadata/labels", "labels"),
        labelled(set, deployment, hash, "/spec/template/metadata/labels", "templateLabels"),
        selecting(set, deployment, hash),
        (object::bare_template(set) != object::bare_template(deployment)).then(|| Field::new("template", "differs")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Labels as JSON, the hash replaced.
pub(super) fn without_hash(labels: &BTreeMap<&str, &str>) -> Value {
    let value = |key: &str, value: &str| Value::from(if key == HASH_LABEL { HASH } else { value });
    Value::Object(labels.iter().map(|(key, text)| ((*key).to_owned(), value(key, text))).collect::<Map<_, _>>())
}

fn blocking(set: &Value) -> Option<Field> {
    let blocks = object::controller(set)?.get("blockOwnerDeletion") == Some(&Value::Bool(true));
    (!blocks).then(|| Field::new("blockOwnerDeletion", "false"))
}

/// A name is at most as long as the server allows, and the hash is not what is cut
/// (rolling/deployment-name-leaves-no-room).
fn named(set: &Value, deployment: &Value, hash: &str) -> Option<Field> {
    let room = LONGEST_NAME.saturating_sub(hash.len() + 1);
    let ordinary = format!("{:.room$}-{hash}", object::name(deployment));
    (object::name(set) != ordinary).then(|| Field::new("name", "unusual"))
}

/// Labels must be those of the Deployment's template and the hash.
fn labelled(set: &Value, deployment: &Value, hash: &str, pointer: &str, key: &str) -> Option<Field> {
    let mut ordinary = object::strings(deployment, "/spec/template/metadata/labels");
    ordinary.insert(HASH_LABEL, hash);
    let labels = object::strings(set, pointer);
    (labels != ordinary).then(|| Field::json(key, &without_hash(&labels)))
}

/// The selector must be the Deployment's and the hash.
fn selecting(set: &Value, deployment: &Value, hash: &str) -> Option<Field> {
    let expressions = |object: &Value| object.at("/spec/selector/matchExpressions").cloned();
    let mut ordinary = object::strings(deployment, "/spec/selector/matchLabels");
    ordinary.insert(HASH_LABEL, hash);
    let labels = object::strings(set, "/spec/selector/matchLabels");
    let same = labels == ordinary && expressions(set) == expressions(deployment);
    (!same).then(|| Field::json("selector", &without_hash(&labels)))
}
