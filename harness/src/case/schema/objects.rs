//! Objects: short forms, manifests, and what is done to them.

use serde_json::{Map, Value, json};

use super::{any_of, integer, mapping, named, reference, text, told, words};
use crate::case::objects::KINDS;
use crate::case::read::MOST_PODS;
use crate::case::short;

pub(super) fn definitions() -> Map<String, Value> {
    let target = format!("^({})/.+$", KINDS.join("|"));
    named([
        ("name", json!({"type": "string", "maxLength": 63, "pattern": "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"})),
        ("texts", json!({"type": "object", "additionalProperties": {"type": "string"}})),
        (
            "target",
            told(
                json!({"type": "string", "pattern": target}),
                "`kind/name`, such as `deployment/web` or `replicaset/rs1`.",
            ),
        ),
        ("deployment", short_form(&short::FIELDS, false)),
        ("deploymentRefused", short_form(&short::FIELDS, true)),
        ("replicaset", short_form(&short::SET_FIELDS, false)),
        ("replicasetRefused", short_form(&short::SET_FIELDS, true)),
        ("manifest", manifest()),
        ("patch", patch()),
        (
            "delete",
            any_of([
                reference("target"),
                mapping(
                    &[("target", reference("target")), ("cascade", words(&["background", "foreground", "orphan"]))],
                    &["target"],
                ),
            ]),
        ),
        ("set", set()),
    ])
}

/// A short form with these fields; where the server must refuse it, numbers may be anything.
fn short_form(fields: &[&str], refused: bool) -> Value {
    let fields: Vec<(&str, Value)> = fields.iter().map(|name| (*name, field(name, refused))).collect();
    let mut schema = mapping(&fields, &["name", "image"]);
    if !refused {
        let zero = json!({"enum": [0, "0%"]});
        schema["not"] = any_of([
            json!({
                "required": ["strategy"],
                "properties": {"strategy": {"const": "Recreate"}},
                "anyOf": [{"required": ["maxSurge"]}, {"required": ["maxUnavailable"]}],
            }),
            json!({
                "required": ["maxSurge", "maxUnavailable"],
                "properties": {"maxSurge": zero, "maxUnavailable": zero},
            }),
        ]);
    }
    schema
}

fn field(name: &str, refused: bool) -> Value {
    let whole = |most: i64| if refused { integer(i32::MIN.into(), i32::MAX.into()) } else { integer(0, most) };
    let share = || {
        let percent =
            if refused { json!({"type": "string"}) } else { json!({"type": "string", "pattern": "^[0-9]{1,5}%$"}) };
        any_of([if refused { json!({"type": "integer"}) } else { integer(0, MOST_PODS) }, percent])
    };
    let (schema, says) = match name {
        "name" => (reference("name"), "Its name; its pods are labelled `app: NAME`."),
        "image" => (text(), "The image of its only container, `app`. Changing it starts a rollout."),
        "replicas" => (whole(MOST_PODS), "How many pods it wants."),
        "maxSurge" => {
            (share(), "How many pods more than it wants there may be: a number, or a percentage (rounded up).")
        }
        "maxUnavailable" => {
            (share(), "How many pods fewer may be available: a number, or a percentage (rounded down).")
        }
        "strategy" => (words(&["RollingUpdate", "Recreate"]), "How it replaces pods."),
        "minReadySeconds" => (whole(i32::MAX.into()), "How long a pod must be ready before it counts as available."),
        "progressDeadlineSeconds" => (whole(i32::MAX.into()), "How long a rollout may stand still."),
        "revisionHistoryLimit" => (whole(MOST_PODS), "How many old ReplicaSets without pods are kept."),
        "paused" => (json!({"type": "boolean"}), "Whether it starts no rollout."),
        "annotations" => (reference("texts"), "Annotations."),
        "labels" => (reference("texts"), "Labels of its own; not of its pods."),
        "podLabels" => (reference("texts"), "More labels of its pods, which its selector does not ask for."),
        "owner" => (
            json!({"type": "string", "pattern": "^(configmap|deployment)/.+$"}),
            "What controls it: `configmap/NAME` or `deployment/NAME`.",
        ),
        _ => (json!({}), ""),
    };
    told(schema, says)
}

/// Any object with a kind and a name.
fn manifest() -> Value {
    json!({
        "type": "object",
        "required": ["apiVersion", "kind", "metadata"],
        "properties": {
            "apiVersion": text(),
            "kind": text(),
            "metadata": {"type": "object", "required": ["name"], "properties": {"name": text(), "namespace": false}},
        },
    })
}

fn patch() -> Value {
    let of = |kinds: &[&str], shape: Value| {
        let fields = [("target", reference("target")), ("type", words(kinds)), ("patch", shape)];
        mapping(&fields, &["target", "patch"])
    };
    let mut json_patch = of(&["json"], json!({"type": "array"}));
    json_patch["required"] = json!(["target", "type", "patch"]);
    any_of([of(&["strategic", "merge"], json!({"type": "object"})), json_patch])
}

fn set() -> Value {
    let fields = [
        ("deployment", told(reference("name"), "The Deployment; not needed where there is only one.")),
        ("container", told(text(), "The container; the first by default.")),
        ("image", told(text(), "Its new image.")),
        ("env", told(reference("texts"), "Environment variables to set.")),
    ];
    let mut schema = mapping(&fields, &[]);
    schema["anyOf"] =
        json!([{"required": ["image"]}, {"required": ["env"], "properties": {"env": {"minProperties": 1}}}]);
    schema
}
