//! Steps: one operation each, and what may stand beside it.

use serde_json::{Map, Value, json};

use super::{any_of, integer, mapping, named, reference, text, told, words};
use crate::case::during::WATCHED;
use crate::case::fault::{REFUSALS, WRITTEN};
use crate::case::read::MOST_PODS;
use crate::case::step::{BESIDES, NOT_INSIDE, NOT_REFUSABLE, OPERATIONS};

/// What a length of time looks like: `90s`, `1h 30m`.
const DURATION: &str = "^\\s*([0-9]+(\\.[0-9]+)?\\s*(n|u|µ|m)?s(ec)?\\s*|[0-9]+(\\.[0-9]+)?\\s*(seconds?|secs?|minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|wks?|w|months?|M|years?|y)\\s*)+$";

pub(super) fn definitions() -> Map<String, Value> {
    named([
        ("steps", json!({"type": "array", "items": reference("step")})),
        // Where the server must say no, anything may be asked of it.
        (
            "step",
            json!({"if": {"required": ["refused"]}, "then": reference("refusedStep"), "else": reference("acceptedStep")}),
        ),
        ("acceptedStep", step(&OPERATIONS, &["label", "expect", "during", "fault"], false)),
        ("refusedStep", step(&refusable(), &BESIDES, true)),
        ("innerStep", inner()),
        ("duration", told(json!({"type": "string", "pattern": DURATION}), "A length of time: `90s`, `10m`, `1h 30m`.")),
        (
            "deploymentOnly",
            told(
                any_of([
                    reference("name"),
                    mapping(&[("deployment", reference("name"))], &[]),
                    json!({"type": "null"}),
                ]),
                "The Deployment; nothing where there is only one.",
            ),
        ),
        ("during", during()),
        ("fault", fault()),
    ])
}

fn refusable() -> Vec<&'static str> {
    OPERATIONS.into_iter().filter(|name| !NOT_REFUSABLE.contains(name)).collect()
}

/// A step that stands inside `together` or `do`.
fn inner() -> Value {
    let operations: Vec<&str> = OPERATIONS.into_iter().filter(|name| !NOT_INSIDE.contains(name)).collect();
    json!({
        "if": {"required": ["refused"]},
        "then": step(&refusable(), &["refused"], true),
        "else": step(&operations, &[], false),
    })
}

/// A mapping with exactly one of these operations.
fn step(operations: &[&str], besides: &[&str], refused: bool) -> Value {
    let mut fields: Map<String, Value> =
        operations.iter().map(|name| ((*name).to_owned(), operation(name, refused))).collect();
    fields.extend(besides.iter().map(|name| ((*name).to_owned(), beside(name))));
    let one = operations.iter().map(|name| json!({"required": [name]})).collect::<Vec<_>>();
    let both = json!({"required": ["during", "fault"]});
    json!({"type": "object", "additionalProperties": false, "properties": fields, "oneOf": one, "not": both})
}

fn operation(name: &str, refused: bool) -> Value {
    let loose = |schema: &str| reference(&if refused { format!("{schema}Refused") } else { schema.to_owned() });
    let replicas = if refused { integer(i32::MIN.into(), i32::MAX.into()) } else { integer(0, MOST_PODS) };
    let (schema, says) = match name {
        "deployment" => (loose("deployment"), "Makes a Deployment, or makes it anew, as `kubectl apply` does."),
        "replicaset" => (loose("replicaset"), "Makes a ReplicaSet that no Deployment owns."),
        "apply" => (reference("manifest"), "Creates or replaces any object, as `kubectl apply` does."),
        "patch" => (reference("patch"), "Patches an object."),
        "delete" => (reference("delete"), "Deletes an object."),
        "set" => (reference("set"), "`kubectl set image` and `kubectl set env`."),
        "scale" => (
            any_of([
                replicas.clone(),
                mapping(&[("deployment", reference("name")), ("replicas", replicas.clone())], &["replicas"]),
                mapping(&[("replicaset", reference("name")), ("replicas", replicas)], &["replicas"]),
            ]),
            "`kubectl scale`.",
        ),
        "pause" => (reference("deploymentOnly"), "`kubectl rollout pause`."),
        "resume" => (reference("deploymentOnly"), "`kubectl rollout resume`."),
        "restart" => (reference("deploymentOnly"), "`kubectl rollout restart`."),
        "undo" => (
            any_of([
                reference("name"),
                mapping(&[("deployment", reference("name")), ("toRevision", integer(0, i32::MAX.into()))], &[]),
                json!({"type": "null"}),
            ]),
            "`kubectl rollout undo`.",
        ),
        "ready" => (
            reference("readyPods"),
            "Pods become Running and Ready: oldest first, of the newest ReplicaSet first, one sub-step each.",
        ),
        "unready" => (reference("somePods"), "Ready pods become not ready, one sub-step each."),
        "fail" => (reference("somePods"), "Pods fail, one sub-step each."),
        "succeed" => (reference("somePods"), "Pods succeed, one sub-step each."),
        "terminate" => (reference("somePods"), "Deletions finish, one sub-step each; with `terminations: held`."),
        "pods" => (reference("naming"), "Pods get names, oldest first, and traits."),
        "advance" => (
            any_of([
                reference("duration"),
                mapping(&[("to", reference("duration")), ("since", reference("name"))], &["to", "since"]),
            ]),
            "Time passes: so much of it, or until so long after the step with a label.",
        ),
        "together" => (
            json!({"type": "array", "minItems": 2, "items": reference("innerStep")}),
            "Steps without settling between them; compared by net change.",
        ),
        "subject" => (words(&["stop", "start"]), "The subject is killed, or started again."),
        _ => (json!({}), ""),
    };
    told(schema, says)
}

fn beside(name: &str) -> Value {
    match name {
        "refused" => told(
            mapping(&[("message", text())], &["message"]),
            "The server must refuse it, and its message must contain this text.",
        ),
        "label" => told(reference("name"), "A name for the moment of this step, for `advance: {to, since}`."),
        "expect" => told(reference("expect"), "Which of the named pods live on."),
        "during" => told(reference("during"), "Other steps in the middle of this one's step."),
        "fault" => told(reference("fault"), "What goes wrong between the subject and the server."),
        _ => json!({}),
    }
}

fn during() -> Value {
    let steps = json!({"type": "array", "items": reference("innerStep")});
    let decision = told(
        json!({"type": "string", "pattern": "^\\s*\\S+\\s+(created(\\s+[0-9]+)?|deleted|-?[0-9]+\\s+->\\s+-?[0-9]+|revision=[0-9]+)\\s*$"}),
        "What the subject asks for: `rs1 5 -> 4`, `rs2 created 3`, `rs1 deleted`, `web revision=2`. Its request waits.",
    );
    let held = told(words(&WATCHED), "A kind (plural): what becomes of it during the step is kept from the subject.");
    let some = json!({"type": "array", "minItems": 1, "items": reference("innerStep")});
    any_of([
        mapping(&[("decision", decision), ("do", some)], &["decision", "do"]),
        mapping(&[("held", held), ("do", steps)], &["held"]),
    ])
}

fn fault() -> Value {
    let number = integer(1, 10_000);
    let refuse = mapping(&[("refuse", json!({"enum": REFUSALS}))], &["refuse"]);
    let delay = mapping(&[("delay", reference("duration"))], &["delay"]);
    let lag = mapping(&[("lag", reference("duration"))], &["lag"]);
    let old = mapping(&[("old", number.clone())], &["old"]);
    let write = |side: Value, action: Value, required: &[&str]| {
        let of = words(&WRITTEN);
        let mut all = vec!["write", "of", "action"];
        all.extend(required);
        mapping(&[("write", number.clone()), ("of", of), ("side", side), ("action", action)], &all)
    };
    let watch = |action: Value, event: bool| {
        let mut fields = vec![("watch", words(&WATCHED)), ("action", action)];
        if event {
            fields.push(("event", number.clone()));
        }
        mapping(&fields, &["watch", "action"])
    };
    any_of([
        told(
            write(words(&["before", "after"]), words(&["crash", "cut"]), &[]),
            "At the nth successful write, on either side of the server's acting.",
        ),
        told(write(words(&["after"]), words(&["drop"]), &[]), "The answer to the nth successful write is lost."),
        told(write(words(&["before"]), any_of([refuse, delay]), &[]), "The nth write is refused, or late."),
        told(
            watch(any_of([words(&["repeat", "expire"]), old]), true),
            "An event comes twice, or the watch forgets its place.",
        ),
        told(watch(lag, false), "Every event is late."),
    ])
}
