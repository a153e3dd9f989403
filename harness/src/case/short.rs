//! The short forms of a Deployment, `deployment: {name: web, replicas: 10, image: "app:1"}`, and of a ReplicaSet, `replicaset: {…}`,
//! and the manifests they stand for.

use serde_json::{Map, Value, json};

use super::finding::Report;
use super::read::{self, Fields, MOST_PODS};
use super::tree::Node;

/// The fields of the short form.
pub(super) const FIELDS: [&str; 12] = [
    "name",
    "replicas",
    "image",
    "maxSurge",
    "maxUnavailable",
    "strategy",
    "minReadySeconds",
    "progressDeadlineSeconds",
    "revisionHistoryLimit",
    "paused",
    "annotations",
    "labels",
];

/// The fields of a ReplicaSet's.
pub(super) const SET_FIELDS: [&str; 8] =
    ["name", "replicas", "image", "minReadySeconds", "labels", "annotations", "podLabels", "owner"];

/// The manifest of a ReplicaSet, which selects the pods that it makes by `app`; `podLabels` are more labels of theirs, which it
/// does not ask for. Its owner is `kind/name`, such as `configmap/family`. `None` after a finding.
pub(super) fn replica_set(node: &Node, refused: bool, report: &mut Report) -> Option<Value> {
    let fields = Fields::of(node, "a replicaset", &SET_FIELDS, report)?;
    let (name, image) = name_and_image(node, "replicaset", &fields, report)?;
    let metadata = |keys: &[(&str, &str)], report: &mut Report| {
        let mut metadata = Map::new();
        for (key, field) in keys {
            if let Some(map) = fields.get(field).and_then(|node| read::texts(node, field, report)) {
                metadata.insert((*key).to_owned(), json!(map));
            }
        }
        metadata
    };
    let mut own = metadata(&[("labels", "labels"), ("annotations", "annotations")], report);
    own.insert("name".to_owned(), name.as_str().into());
    if let Some(owner) = fields.get("owner") {
        own.insert("ownerReferences".to_owned(), json!([owner_reference(owner, report)?]));
    }
    let mut of_pods = metadata(&[("labels", "podLabels")], report);
    let labels = of_pods.entry("labels").or_insert_with(|| json!({}));
    labels["app"] = name.as_str().into();
    let mut spec = json!({
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": of_pods, "spec": {"containers": [{"name": "app", "image": image}]}},
    });
    for (key, most) in [("replicas", MOST_PODS), ("minReadySeconds", i64::from(i32::MAX))] {
        let range = if refused { i64::from(i32::MIN)..=i64::from(i32::MAX) } else { 0..=most };
        if let Some(number) = fields.get(key).and_then(|node| read::integer(node, key, range, report)) {
            spec[key] = number.into();
        }
    }
    Some(json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": own, "spec": spec}))
}

/// `configmap/family` as the controller that owns something; the driver fills in its uid.
fn owner_reference(node: &Node, report: &mut Report) -> Option<Value> {
    let text = read::text(node, "an owner", report)?;
    let kinds = [("configmap", "v1", "ConfigMap"), ("deployment", "apps/v1", "Deployment")];
    let found = text.split_once('/').and_then(|(kind, name)| {
        let (_, version, kind) = kinds.into_iter().find(|(known, ..)| *known == kind)?;
        Some(json!({"apiVersion": version, "kind": kind, "name": name, "controller": true}))
    });
    if found.is_none() {
        report.add(node, format!("`{text}` is no owner"), "write `configmap/NAME` or `deployment/NAME`");
    }
    found
}

/// What every short form must say.
fn name_and_image(node: &Node, what: &str, fields: &Fields<'_>, report: &mut Report) -> Option<(String, String)> {
    let required = |key: &str, report: &mut Report| {
        if fields.lacks(key) {
            report.add(node, format!("the {what} has no `{key}`"), format!("add `{key}: …`"));
        }
        fields.get(key)
    };
    let name = required("name", report).and_then(|node| read::name(node, "the name", report));
    let image = required("image", report).and_then(|node| read::text(node, "the image", report)).map(str::to_owned);
    Some((name?, image?))
}

/// The manifest of a Deployment; `refused` steps may hold what the server will not take. `None` after a finding.
pub(super) fn deployment(node: &Node, refused: bool, report: &mut Report) -> Option<Value> {
    let fields = Fields::of(node, "a deployment", &FIELDS, report)?;
    let (name, image) = name_and_image(node, "deployment", &fields, report)?;

    let mut metadata = Map::from_iter([("name".to_owned(), Value::from(name.as_str()))]);
    for key in ["labels", "annotations"] {
        if let Some(map) = fields.get(key).and_then(|node| read::texts(node, key, report)) {
            metadata.insert(key.to_owned(), json!(map));
        }
    }
    let mut spec = json!({
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "app", "image": image}]}},
    });
    for (key, most) in [
        ("replicas", MOST_PODS),
        ("minReadySeconds", i64::from(i32::MAX)),
        ("progressDeadlineSeconds", i64::from(i32::MAX)),
        ("revisionHistoryLimit", MOST_PODS),
    ] {
        let range = if refused { i64::from(i32::MIN)..=i64::from(i32::MAX) } else { 0..=most };
        if let Some(number) = fields.get(key).and_then(|node| read::integer(node, key, range, report)) {
            spec[key] = number.into();
        }
    }
    if let Some(paused) = fields.get("paused").and_then(|node| read::boolean(node, "paused", report)) {
        spec["paused"] = paused.into();
    }
    if let Some(strategy) = strategy(&fields, refused, report) {
        spec["strategy"] = strategy;
    }
    Some(json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}))
}

/// The strategy, if any of its fields is there; combinations that the server refuses are findings.
fn strategy(fields: &Fields<'_>, refused: bool, report: &mut Report) -> Option<Value> {
    let kinds = [("RollingUpdate", false), ("Recreate", true)];
    let recreate = fields.get("strategy").and_then(|node| read::word(node, "the strategy", &kinds, report));
    let mut rolling = Map::new();
    for key in ["maxSurge", "maxUnavailable"] {
        let value = fields.get(key).and_then(|node| read::number_or_percent(node, key, refused, report));
        rolling.extend(value.map(|value| (key.to_owned(), value)));
    }
    if let (Some(true), false, Some((key, _))) =
        (recreate, refused, fields.entry("maxSurge").or(fields.entry("maxUnavailable")))
    {
        report.add(key, format!("Recreate has no `{}`", key.as_key()), "the server will refuse this");
    }
    let none = |value: Option<&Value>| value.is_some_and(|value| value == &json!(0) || value == &json!("0%"));
    if none(rolling.get("maxSurge")) && none(rolling.get("maxUnavailable")) && !refused {
        let (key, _) = fields.entry("maxUnavailable")?;
        report.add(key, "maxSurge and maxUnavailable cannot both be 0", "the server will refuse this");
    }
    let kind = match recreate {
        None if rolling.is_empty() => return None,
        Some(true) => "Recreate",
        _ => "RollingUpdate",
    };
    let mut strategy = json!({"type": kind});
    if !rolling.is_empty() {
        strategy["rollingUpdate"] = Value::Object(rolling);
    }
    Some(strategy)
}
