//! Derives what a user wrote from two versions of a Deployment, as kubectl operations where
//! possible.

use std::collections::BTreeSet;

use lockstep_support::pointer::JsonPointer;
use serde_json::{Map, Value, json};

use super::live::{
    self, FOREGROUND, LiveObjects, ORPHAN, REVISION, REVISION_HISTORY, Revisions, has_finalizer, is_deleting, text,
};
use super::step_text::{StepText, flow, merge_patch_step, quoted, word};
use super::template::{CaseTemplates, TemplateShape, Wording};

/// The annotation in which kubectl stores the manifest that was applied last.
pub(super) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The annotation that requests a rollback from the controller, which removes it.
const ROLLBACK: &str = "deprecated.deployment.rollback.to";
/// The note at a write by another client than the controller.
pub(super) const FOREIGN: &str = "written by a client other than the controller";
/// The note at a deleted object whose finalizers another client removed.
const RELEASED: &str = "the finalizers that held it were removed by a client other than the controller";
/// The annotations that an undo does not copy from a ReplicaSet to its Deployment, besides the
/// revision and kubectl's own.
const NOT_COPIED: [&str; 4] =
    [REVISION_HISTORY, "deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas", ROLLBACK];
/// The server's defaults for fields that a manifest lacks.
const DEFAULT_BOUND: &str = "25%";
const DEFAULT_DEADLINE: i64 = 600;
const DEFAULT_HISTORY: i64 = 10;

/// The step that creates a Deployment as it is, or with the template of its first ReplicaSet.
pub(super) fn creation(deployment: &Value, first_set: Option<&Value>) -> String {
    let spec = |field: &str| deployment.at("/spec").and_then(|spec| spec.get(field)).cloned();
    let number = |field: &str, usual: Option<i64>| spec(field).filter(|value| value.as_i64() != usual);
    let mut fields = vec![
        format!("name: {}", word(text(deployment, "/metadata/name"))),
        format!("replicas: {}", spec("replicas").unwrap_or(json!(1))),
        format!("image: {}", quoted(&TemplateShape::of(&live::template(first_set.unwrap_or(deployment))).image)),
    ];
    if text(deployment, "/spec/strategy/type") == "Recreate" {
        fields.push("strategy: Recreate".to_owned());
    }
    for bound in ["maxSurge", "maxUnavailable"] {
        let value = deployment.at(&format!("/spec/strategy/rollingUpdate/{bound}"));
        let own = value.filter(|value| value.as_str() != Some(DEFAULT_BOUND));
        fields.extend(own.map(|value| format!("{bound}: {}", value.as_str().map_or(value.to_string(), str::to_owned))));
    }
    let numbers = [
        ("minReadySeconds", number("minReadySeconds", Some(0))),
        ("progressDeadlineSeconds", number("progressDeadlineSeconds", Some(DEFAULT_DEADLINE))),
        ("revisionHistoryLimit", number("revisionHistoryLimit", Some(DEFAULT_HISTORY))),
    ];
    fields.extend(numbers.into_iter().filter_map(|(name, value)| Some(format!("{name}: {}", value?))));
    if first_set.is_none() && spec("paused") == Some(json!(true)) {
        fields.push("paused: true".to_owned());
    }
    let annotations = user_annotations(deployment);
    if !annotations.is_empty() {
        fields.push(format!("annotations: {}", flow(&Value::Object(annotations))));
    }
    format!("deployment: {{{}}}", fields.join(", "))
}

/// What a user did between two versions of the Deployment; empty if only its status or its revision
/// changed.
pub(super) fn user_steps(
    before: &Value,
    after: &Value,
    live: &LiveObjects<'_>,
    templates: &mut CaseTemplates,
    revisions: &Revisions,
) -> Vec<StepText> {
    if is_rolled_back(before, after) {
        return Vec::new();
    }
    let name = text(after, "/metadata/name");
    let mut all = Vec::new();
    let changed = changed_fields(before, after);
    let only_template = changed.len() == 1 && changed.contains("template");
    let undo = find_undo(before, after, live).filter(|_| only_template);
    let mut metadata = metadata_patch(before, after, undo.is_some_and(|undo| undo.is_copied)).unwrap_or_default();
    if let Some(revision) = edited_revision(before, after, live, revisions) {
        metadata["annotations"][REVISION] = revision;
    }
    if finalizers(before) != finalizers(after) {
        all.push(finalizer_step(&format!("deployment/{name}"), after));
    }
    let wording =
        changed.contains("template").then(|| templates.change(&live::template(before), &live::template(after), name));
    // A write of annotations and of the spec raises the generation once, two writes do so twice.
    let is_one = metadata.get("annotations").is_some() && wording.as_ref().is_none_or(|wording| wording.is_exact);
    if !metadata.is_null() && (changed.is_empty() || !is_one) {
        let patch =
            json!({"target": format!("deployment/{name}"), "patch": {"metadata": std::mem::take(&mut metadata)}});
        all.push(StepText::plain(format!("patch: {}", flow(&patch))));
    }
    let fields: Vec<&str> = changed.iter().map(String::as_str).collect();
    match (fields.as_slice(), wording) {
        ([], _) => {}
        (_, wording) if is_one => all.push(patch_step(name, metadata, &fields, after, wording)),
        (["template"], Some(wording)) => all.push(new_template(after, undo, revisions, wording)),
        (["replicas"], _) => all.push(StepText::plain(format!("scale: {}", live::int(after, "/spec/replicas")))),
        (["paused"], _) => {
            let paused = after.at("/spec/paused") == Some(&Value::Bool(true));
            all.push(StepText::plain(format!("{}: {name}", if paused { "pause" } else { "resume" })));
        }
        (_, wording) => all.push(patch_step(name, metadata, &fields, after, wording)),
    }
    if is_deleting(after) && !is_deleting(before) {
        all.push(deletion_step(&format!("deployment/{name}"), after));
    }
    let applied = |object: &Value| object.at("/metadata/annotations").and_then(|all| all.get(LAST_APPLIED)).cloned();
    if all.is_empty() && applied(before) != applied(after) {
        let annotations = json!({LAST_APPLIED: applied(after)});
        let patch =
            json!({"target": format!("deployment/{name}"), "patch": {"metadata": {"annotations": annotations}}});
        all.push(StepText::plain(format!("patch: {}", flow(&patch))));
    }
    all
}

/// The Deployment's revision as a user wrote it, or null if it was removed: the controller writes
/// that of a ReplicaSet.
fn edited_revision(before: &Value, after: &Value, live: &LiveObjects<'_>, revisions: &Revisions) -> Option<Value> {
    let annotation = |object: &'_ Value| object.at("/metadata/annotations").and_then(|all| all.get(REVISION)).cloned();
    let (old, new) = (annotation(before), annotation(after));
    let known = live.sets().into_iter().any(|set| annotation(set) == new);
    if old == new || new.is_some() && known {
        return None;
    }
    let counted = |text: &str| text.parse().map_or_else(|_| text.to_owned(), |number| revisions.of(number).to_string());
    Some(new.as_ref().and_then(Value::as_str).map_or(Value::Null, |text| counted(text).into()))
}

/// The finalizers except the garbage collector's: no controller of Deployments writes or removes
/// them.
pub(super) fn finalizers(object: &Value) -> Vec<&str> {
    let all = object.at("/metadata/finalizers").and_then(Value::as_array);
    let names = all.into_iter().flatten().filter_map(Value::as_str);
    names.filter(|name| ![FOREGROUND, ORPHAN].contains(name)).collect()
}

/// The step that gives this object, `deployment/web`, its finalizers.
pub(super) fn finalizer_step(target: &str, object: &Value) -> StepText {
    let all = object.at("/metadata/finalizers").cloned().unwrap_or_default();
    merge_patch_step(target, &json!({"metadata": {"finalizers": all}}), FOREIGN.to_owned())
}

/// The step that removes the last finalizers of a deleted object.
pub(super) fn without_finalizers(target: &str) -> StepText {
    merge_patch_step(target, &json!({"metadata": {"finalizers": null}}), RELEASED.to_owned())
}

/// The step that deletes this object, `deployment/web`.
pub(super) fn deletion_step(target: &str, object: &Value) -> StepText {
    let cascades = [(FOREGROUND, "foreground"), (ORPHAN, "orphan")];
    let cascade = cascades.into_iter().find(|(finalizer, _)| has_finalizer(object, finalizer));
    StepText::plain(match cascade {
        Some((_, cascade)) => format!("delete: {{target: {target}, cascade: {cascade}}}"),
        None => format!("delete: {target}"),
    })
}

/// The fields of the spec that differ.
fn changed_fields(before: &Value, after: &Value) -> BTreeSet<String> {
    let none = Map::new();
    let spec = |object: &'_ Value| object.at("/spec").and_then(Value::as_object).unwrap_or(&none).clone();
    let (old, new) = (spec(before), spec(after));
    let keys: BTreeSet<String> = old.keys().chain(new.keys()).cloned().collect();
    let is_set =
        |value: Option<&Value>| value.filter(|value| !matches!(value, Value::Null | Value::Bool(false))).cloned();
    keys.into_iter().filter(|key| is_set(old.get(key)) != is_set(new.get(key))).collect()
}

/// Whether the controller wrote this: it performs the rollback that the annotation requests, and
/// removes it.
fn is_rolled_back(before: &Value, after: &Value) -> bool {
    let asks = |object: &Value| object.at("/metadata/annotations").is_some_and(|all| all.get(ROLLBACK).is_some());
    asks(before) && !asks(after) && !is_deleting(after)
}

/// The older ReplicaSet whose template the Deployment has again.
#[derive(Debug, Clone, Copy)]
struct UndoTarget {
    revision: i64,
    /// Whether kubectl would choose it without `--to-revision`.
    is_previous: bool,
    /// Whether the Deployment has its annotations as well, as kubectl copies them.
    is_copied: bool,
    /// Whether these annotations differ from the previous ones.
    is_annotated: bool,
}

/// The undo, if the write was one: a paused Deployment cannot be undone.
fn find_undo(before: &Value, after: &Value, live: &LiveObjects<'_>) -> Option<UndoTarget> {
    if after.at("/spec/paused") == Some(&Value::Bool(true)) {
        return None;
    }
    let wanted = live::template(after);
    let mut older: Vec<(i64, &Value)> =
        live.owned_sets().into_iter().filter_map(|set| Some((live::revision(set)?, set))).collect();
    older.sort_unstable_by_key(|(revision, _)| *revision);
    older.pop()?;
    let at = older.iter().rposition(|(_, set)| live::template(set) == wanted)?;
    let (revision, set) = older[at];
    let copied = |object: &Value| {
        let mut all = user_annotations(object);
        all.retain(|key, _| !NOT_COPIED.contains(&key.as_str()));
        all
    };
    let is_copied = copied(set) == copied(after);
    Some(UndoTarget {
        revision,
        is_previous: at + 1 == older.len(),
        is_copied,
        is_annotated: copied(before) != copied(after),
    })
}

/// Another template: an `undo` if it is that of an older ReplicaSet, otherwise what `set` and
/// `restart` can express.
fn new_template(after: &Value, undo: Option<UndoTarget>, revisions: &Revisions, wording: Wording) -> StepText {
    // An undo also copies the annotations of that ReplicaSet.
    let Some(undo) = undo.filter(|undo| undo.is_copied || !wording.is_exact) else {
        let note = wording
            .left_out
            .map(|places| format!("the template also changed in {places}, for which REST_OF_TEMPLATE stands"));
        return StepText::noted(wording.step, note);
    };
    let is_only_image = wording.is_image && !undo.is_annotated;
    if is_only_image && !undo.is_previous {
        return StepText::plain(wording.step);
    }
    let step = if undo.is_previous {
        format!("undo: {}", word(text(after, "/metadata/name")))
    } else {
        format!("undo: {{toRevision: {}}}", revisions.of(undo.revision))
    };
    StepText { firm: is_only_image.then_some(wording.step), ..StepText::plain(step) }
}

/// Several fields in one write, as `kubectl apply` and `edit` make them.
fn patch_step(name: &str, metadata: Value, fields: &[&str], after: &Value, wording: Option<Wording>) -> StepText {
    let mut spec = Map::new();
    for field in fields.iter().filter(|field| **field != "template") {
        let mut value = after.at("/spec").and_then(|spec| spec.get(*field)).cloned().unwrap_or_default();
        if *field == "strategy" && text(after, "/spec/strategy/type") == "Recreate" {
            value["rollingUpdate"] = Value::Null;
        }
        spec.insert((*field).to_owned(), value);
    }
    let mut note = None;
    if let Some(wording) = wording {
        spec.insert("template".to_owned(), wording.patch);
        note = wording.left_out.map(|places| format!("the template also changed in {places}"));
    }
    let mut patch = json!({"spec": spec});
    if !metadata.is_null() {
        patch["metadata"] = metadata;
    }
    let patch = json!({"target": format!("deployment/{name}"), "patch": patch});
    StepText::noted(format!("patch: {}", flow(&patch)), note)
}

/// The annotations that a user has set and that its ReplicaSets inherit.
pub(super) fn user_annotations(object: &Value) -> Map<String, Value> {
    let all = object.at("/metadata/annotations").and_then(Value::as_object).cloned().unwrap_or_default();
    all.into_iter().filter(|(key, _)| key != REVISION && key != LAST_APPLIED).collect()
}

/// The annotations and labels that differ, as a patch. Those that an undo has `copied` are left
/// out.
fn metadata_patch(before: &Value, after: &Value, copied: bool) -> Option<Value> {
    let labels = |object: &Value| object.at("/metadata/labels").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut patch = Map::new();
    for (field, old, new) in
        [("annotations", user_annotations(before), user_annotations(after)), ("labels", labels(before), labels(after))]
    {
        if copied && field == "annotations" {
            continue;
        }
        let keys: BTreeSet<String> = old.keys().chain(new.keys()).cloned().collect();
        let changed = keys.into_iter().filter(|key| old.get(key) != new.get(key));
        let changes: Map<String, Value> = changed
            .map(|key| {
                let value = new.get(&key).cloned().unwrap_or_default();
                (key, value)
            })
            .collect();
        if !changes.is_empty() {
            patch.insert(field.to_owned(), changes.into());
        }
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}
