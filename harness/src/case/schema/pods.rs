//! Pods: which of them, their names and traits, and who lives on.

use serde_json::{Map, Value, json};

use super::{any_of, integer, mapping, named, reference, told, words};
use crate::case::model::Phase;
use crate::case::read::MOST_PODS;

pub(super) fn definitions() -> Map<String, Value> {
    named([
        ("somePods", some_pods(false)),
        ("readyPods", some_pods(true)),
        ("of", of()),
        (
            "naming",
            mapping(
                &[
                    ("of", reference("of")),
                    (
                        "name",
                        json!({"type": "object", "minProperties": 1, "propertyNames": reference("name"), "additionalProperties": reference("traits")}),
                    ),
                ],
                &["name"],
            ),
        ),
        ("traits", traits()),
        (
            "expect",
            any_of([
                mapping(&[("alive", names())], &["alive"]),
                mapping(&[("anyOf", json!({"type": "array", "minItems": 1, "items": names()}))], &["anyOf"]),
            ]),
        ),
    ])
}

fn names() -> Value {
    json!({"type": "array", "items": reference("name")})
}

/// Which pods, and how many.
fn some_pods(atomic: bool) -> Value {
    let mut by_name = names();
    by_name["minItems"] = 1.into();
    let count = told(
        any_of([words(&["all"]), integer(1, MOST_PODS)]),
        "How many: a number, or `all`: until none is left, new ones included.",
    );
    let named = told(by_name, "Pods by the names that the case has given them, in this order.");
    let mut fields = vec![("pods", count), ("of", reference("of"))];
    if atomic {
        fields.push(("atomic", told(json!({"type": "boolean"}), "One step for all of them instead of one each.")));
    }
    any_of([mapping(&fields, &["pods"]), mapping(&[("pods", named)], &["pods"])])
}

fn of() -> Value {
    let fields = [
        ("revision", told(integer(1, i32::MAX.into()), "Of the ReplicaSet with this revision.")),
        ("deployment", told(reference("name"), "Of this Deployment.")),
        ("replicaset", told(reference("name"), "Of this ReplicaSet: its name, or `rs2` for the second to appear.")),
    ];
    told(mapping(&fields, &[]), "Whose pods.")
}

/// What can be said of a pod.
fn traits() -> Value {
    let restarts = integer(0, i32::MAX.into());
    let since = json!({"type": "string", "pattern": "^(unknown|[-+].*[0-9].*)$"});
    let fields = [
        (
            "node",
            told(
                any_of([reference("name"), json!({"type": "null"})]),
                "Where it runs; null: nowhere yet. With `bindings: held`.",
            ),
        ),
        ("phase", told(words(&Phase::ALL.map(Phase::as_str)), "Its phase.")),
        (
            "ready",
            told(
                any_of([json!({"type": "boolean"}), mapping(&[("since", since)], &["since"])]),
                "Whether it is ready, or since when: `{since: -2h}`, `{since: unknown}`.",
            ),
        ),
        (
            "deletionCost",
            told(json!({"type": ["integer", "string"]}), "Its `controller.kubernetes.io/pod-deletion-cost`."),
        ),
        (
            "restarts",
            told(
                any_of([restarts.clone(), mapping(&[("containers", restarts.clone()), ("sidecars", restarts)], &[])]),
                "How often its containers were started again.",
            ),
        ),
    ];
    any_of([mapping(&fields, &[]), json!({"type": "null"})])
}
