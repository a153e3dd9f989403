//! What a user wrote, read off two versions of a Deployment, in kubectl's words where it has some.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::flow::{flow, quoted, word};
use super::live::{self, Live, REVISION, REVISION_HISTORY, is_deleting, text};
use super::revisions::Revisions;
use super::template::{Shape, Wording};
use crate::pointer::At;

/// The annotation in which kubectl keeps what was applied last.
pub(super) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The annotation that asks the controller for a rollback; the controller removes it.
const ROLLBACK: &str = "deprecated.deployment.rollback.to";
/// What is said of a write that is not the controller's.
pub(super) const FOREIGN: &str = "written by somebody other than the controller";
/// What is said of a deleted object that finalizers held.
const RELEASED: &str = "the finalizers that held it were removed by somebody other than the controller";
/// What an undo does not copy from a ReplicaSet to its Deployment, beside the revision and what was
/// applied last.
const NOT_COPIED: [&str; 4] =
    [REVISION_HISTORY, "deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas", ROLLBACK];
/// What the server sets where a manifest says nothing.
const DEFAULT_BOUND: &str = "25%";
const DEFAULT_DEADLINE: i64 = 600;
const DEFAULT_HISTORY: i64 = 10;

/// One step of a case, and what is not certain about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Written {
    /// The operation in flow style: `scale: 4`.
    pub(super) step: String,
    /// A remark for the reader of the case.
    pub(super) note: Option<String>,
    /// The same in words that do not depend on what the controllers have done by then.
    pub(super) firm: Option<String>,
}

impl Written {
    /// A step about which all is certain.
    pub(super) fn plain(step: impl Into<String>) -> Self {
        Self { step: step.into(), note: None, firm: None }
    }

    /// A step with a remark.
    pub(super) fn noted(step: impl Into<String>, note: Option<String>) -> Self {
        Self { note, ..Self::plain(step) }
    }
}

/// Pod templates by number, in the order in which they were seen.
#[derive(Debug, Default)]
pub(super) struct Templates(Vec<Value>);

impl Templates {
    /// The number of a template, from 1.
    pub(super) fn number(&mut self, template: &Value) -> usize {
        let known = self.0.iter().position(|known| known == template);
        known.map_or_else(
            || {
                self.0.push(template.clone());
                self.0.len()
            },
            |at| at + 1,
        )
    }
}

/// The step that creates a Deployment with the template of this object (its own, or that of a
/// ReplicaSet of its).
pub(super) fn creation(deployment: &Value, of: &Value) -> String {
    let spec = |field: &str| deployment.at("/spec").and_then(|spec| spec.get(field)).cloned();
    let number = |field: &str, usual: Option<i64>| spec(field).filter(|value| value.as_i64() != usual);
    let mut fields = vec![
        format!("name: {}", word(text(deployment, "/metadata/name"))),
        format!("replicas: {}", spec("replicas").unwrap_or(json!(1))),
        format!("image: {}", quoted(&Shape::of(&live::template(of)).image)),
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
    let annotations = user_annotations(deployment);
    if !annotations.is_empty() {
        fields.push(format!("annotations: {}", flow(&Value::Object(annotations))));
    }
    format!("deployment: {{{}}}", fields.join(", "))
}

/// What a user did between two versions of the Deployment; nothing where only its status or its
/// revision changed.
pub(super) fn written(
    before: &Value,
    after: &Value,
    live: &Live<'_>,
    templates: &mut Templates,
    revisions: &Revisions,
) -> Vec<Written> {
    if is_rolled_back(before, after) {
        return Vec::new();
    }
    let name = text(after, "/metadata/name");
    let mut all = Vec::new();
    let changed = changed_fields(before, after);
    let only_template = changed.len() == 1 && changed.contains("template");
    let undone = undone(before, after, live).filter(|_| only_template);
    if let Some(metadata) = metadata_patch(before, after, undone.is_some_and(|undone| undone.is_copied)) {
        let patch = flow(&json!({"target": format!("deployment/{name}"), "patch": {"metadata": metadata}}));
        all.push(Written::plain(format!("patch: {patch}")));
    }
    if let Some(revision) = edited_revision(before, after, live, revisions) {
        let annotations = json!({REVISION: revision});
        let patch =
            json!({"target": format!("deployment/{name}"), "patch": {"metadata": {"annotations": annotations}}});
        all.push(Written::plain(format!("patch: {}", flow(&patch))));
    }
    if finalizers(before) != finalizers(after) {
        all.push(finalized(&format!("deployment/{name}"), after));
    }
    let wording = changed.contains("template").then(|| {
        let (old, new) = (live::template(before), live::template(after));
        let number = templates.number(&new);
        Shape::of(&old).to(&Shape::of(&new), name, number)
    });
    let fields: Vec<&str> = changed.iter().map(String::as_str).collect();
    match (fields.as_slice(), wording) {
        ([], _) => {}
        (["template"], Some(wording)) => all.push(new_template(after, undone, revisions, wording)),
        (["replicas"], _) => all.push(Written::plain(format!("scale: {}", live::int(after, "/spec/replicas")))),
        (["paused"], _) => {
            let paused = after.at("/spec/paused") == Some(&Value::Bool(true));
            all.push(Written::plain(format!("{}: {name}", if paused { "pause" } else { "resume" })));
        }
        (_, wording) => all.push(patched(name, &fields, after, wording)),
    }
    if is_deleting(after) && !is_deleting(before) {
        all.push(deleted(after));
    }
    let applied = |object: &Value| object.at("/metadata/annotations").and_then(|all| all.get(LAST_APPLIED)).cloned();
    if all.is_empty() && applied(before) != applied(after) {
        let annotations = json!({LAST_APPLIED: applied(after)});
        let patch =
            json!({"target": format!("deployment/{name}"), "patch": {"metadata": {"annotations": annotations}}});
        all.push(Written::plain(format!("patch: {}", flow(&patch))));
    }
    all
}

/// The Deployment's revision as a user wrote it, or null where it was removed: the controller
/// writes that of a ReplicaSet.
fn edited_revision(before: &Value, after: &Value, live: &Live<'_>, revisions: &Revisions) -> Option<Value> {
    let annotation = |object: &'_ Value| object.at("/metadata/annotations").and_then(|all| all.get(REVISION)).cloned();
    let (old, new) = (annotation(before), annotation(after));
    let known = live.sets().into_iter().any(|set| annotation(set) == new);
    if old == new || new.is_some() && known {
        return None;
    }
    let counted = |text: &str| text.parse().map_or_else(|_| text.to_owned(), |number| revisions.of(number).to_string());
    Some(new.as_ref().and_then(Value::as_str).map_or(Value::Null, |text| counted(text).into()))
}

/// Finalizers that are not the garbage collector's: no controller of Deployments writes or removes
/// one.
pub(super) fn finalizers(object: &Value) -> Vec<&str> {
    let all = object.at("/metadata/finalizers").and_then(Value::as_array);
    let names = all.into_iter().flatten().filter_map(Value::as_str);
    names.filter(|name| !["foregroundDeletion", "orphan"].contains(name)).collect()
}

/// The step that gives this object, `deployment/web`, the finalizers that it has.
pub(super) fn finalized(target: &str, object: &Value) -> Written {
    let all = object.at("/metadata/finalizers").cloned().unwrap_or_default();
    merged(target, &json!({"metadata": {"finalizers": all}}), FOREIGN.to_owned())
}

/// The step that removes the finalizers for which alone a deleted object was still there.
pub(super) fn without_finalizers(target: &str) -> Written {
    merged(target, &json!({"metadata": {"finalizers": null}}), RELEASED.to_owned())
}

/// Lists as they are written here replace those that are there.
pub(super) fn merged(target: &str, patch: &Value, note: String) -> Written {
    Written::noted(format!("patch: {{target: {}, type: merge, patch: {}}}", word(target), flow(patch)), Some(note))
}

/// The deletion of the Deployment.
pub(super) fn deleted(deployment: &Value) -> Written {
    let name = text(deployment, "/metadata/name");
    let finalizers = deployment.at("/metadata/finalizers").and_then(Value::as_array);
    let has = |wanted: &str| finalizers.is_some_and(|all| all.iter().any(|one| one.as_str() == Some(wanted)));
    let cascade = [("foregroundDeletion", "foreground"), ("orphan", "orphan")].into_iter().find(|(key, _)| has(key));
    Written::plain(match cascade {
        Some((_, cascade)) => format!("delete: {{target: deployment/{name}, cascade: {cascade}}}"),
        None => format!("delete: deployment/{name}"),
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

/// Whether the controller wrote this: it does what the annotation asks for, and removes it.
fn is_rolled_back(before: &Value, after: &Value) -> bool {
    let asks = |object: &Value| object.at("/metadata/annotations").is_some_and(|all| all.get(ROLLBACK).is_some());
    asks(before) && !asks(after) && !is_deleting(after)
}

/// The older ReplicaSet whose template the Deployment has again.
#[derive(Debug, Clone, Copy)]
struct Undone {
    /// Its revision.
    revision: i64,
    /// Whether it is what kubectl finds without `--to-revision`.
    is_previous: bool,
    /// Whether the Deployment has its annotations as well, as kubectl copies them.
    is_copied: bool,
    /// Whether these are others than before.
    is_annotated: bool,
}

/// What was undone, if that is what was written: a paused Deployment cannot be.
fn undone(before: &Value, after: &Value, live: &Live<'_>) -> Option<Undone> {
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
    Some(Undone {
        revision,
        is_previous: at + 1 == older.len(),
        is_copied,
        is_annotated: copied(before) != copied(after),
    })
}

/// Another template: `undo` where it is that of an older ReplicaSet, else what `set` and `restart`
/// can say.
fn new_template(after: &Value, undone: Option<Undone>, revisions: &Revisions, wording: Wording) -> Written {
    // An undo brings the annotations of that ReplicaSet as well.
    let Some(undone) = undone.filter(|undone| undone.is_copied || !wording.is_image) else {
        let note = wording
            .left_out
            .map(|places| format!("the template also changed in {places}, for which REST_OF_TEMPLATE stands"));
        return Written::noted(wording.step, note);
    };
    let is_only_image = wording.is_image && !undone.is_annotated;
    if is_only_image && !undone.is_previous {
        return Written::plain(wording.step);
    }
    let step = if undone.is_previous {
        format!("undo: {}", word(text(after, "/metadata/name")))
    } else {
        format!("undo: {{toRevision: {}}}", revisions.of(undone.revision))
    };
    Written { firm: is_only_image.then_some(wording.step), ..Written::plain(step) }
}

/// Several fields in one write, as `kubectl apply` and `edit` make them.
fn patched(name: &str, fields: &[&str], after: &Value, wording: Option<Wording>) -> Written {
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
    let patch = json!({"target": format!("deployment/{name}"), "patch": {"spec": spec}});
    Written::noted(format!("patch: {}", flow(&patch)), note)
}

/// The annotations that a user gave it and that its ReplicaSets inherit.
pub(super) fn user_annotations(object: &Value) -> Map<String, Value> {
    let all = object.at("/metadata/annotations").and_then(Value::as_object).cloned().unwrap_or_default();
    all.into_iter().filter(|(key, _)| key != REVISION && key != LAST_APPLIED).collect()
}

/// The annotations and labels that differ, as a patch. Those that an undo has `copied` are none.
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
