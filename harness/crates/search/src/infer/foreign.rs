//! Steps for writes to ReplicaSets by clients other than the controllers: the creation of one that
//! the Deployment's selector matches, or changes of labels, annotations, finalizers, owners and
//! template of one that the Deployment controls.
//!
//! A case selects pods by the label `app`, whatever the recorded Deployment's selector is. So
//! labels that match the recorded selector are replaced by ones that match the case's selector.
//! Only selectors with `matchLabels` are supported, and only owners that are in the recording.

use lockstep_support::pointer::JsonPointer;
use lockstep_timeline::object::HASH_LABEL;
use serde_json::{Map, Value, json};

use super::live::{self, LiveObjects, REVISION, Revisions, int, text};
use super::step_text::{StepText, flow, merge_patch_step, word};
use super::template::{CaseTemplates, TemplateShape};
use super::user_writes::{FOREIGN, LAST_APPLIED, finalizers};

/// The label that a case's Deployment selects by.
const APP: &str = "app";

/// Translates labels into those of the case.
struct CaseLabels<'a> {
    selector: Map<String, Value>,
    deployment: &'a str,
}

impl<'a> CaseLabels<'a> {
    fn of(deployment: &'a Value) -> Self {
        let selector = deployment.at("/spec/selector/matchLabels").and_then(Value::as_object).cloned();
        Self { selector: selector.unwrap_or_default(), deployment: text(deployment, "/metadata/name") }
    }

    /// These labels as the case has them.
    fn map(&self, labels: Option<&Value>) -> Map<String, Value> {
        let mut all = labels.and_then(Value::as_object).cloned().unwrap_or_default();
        let matches = !self.selector.is_empty() && self.selector.iter().all(|(key, value)| all.get(key) == Some(value));
        if matches {
            all.retain(|key, _| !self.selector.contains_key(key));
            all.insert(APP.to_owned(), self.deployment.into());
        }
        all
    }
}

/// The step that creates a ReplicaSet which no controller has created.
pub(super) fn creation_step(set: &Value, deployment: &Value, templates: &mut CaseTemplates) -> StepText {
    let labels = CaseLabels::of(deployment);
    let (own, template) = (live::template(deployment), live::template(set));
    let mut shape = TemplateShape::of(&template);
    let mut note = CREATED.to_owned();
    // It only matters whether it equals one of the Deployment's.
    if template != own && !TemplateShape::of(&own).differs_in_container_alone(&shape) {
        shape.stand_for_rest(templates.number(&template));
        note += ", with a template that no other has";
    }
    let mut metadata = json!({"name": text(set, "/metadata/name"), "labels": labels.map(set.at("/metadata/labels"))});
    let annotations = annotations(set);
    if !annotations.is_empty() {
        metadata["annotations"] = annotations.into();
    }
    let in_template = labels.map(set.at("/spec/template/metadata/labels"));
    let manifest = json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": metadata,
        "spec": {
            "replicas": int(set, "/spec/replicas"),
            "selector": {"matchLabels": labels.map(set.at("/spec/selector/matchLabels"))},
            "template": {"metadata": {"labels": in_template}, "spec": {"containers": [shape.container()]}},
        },
    });
    StepText::noted(format!("apply: {}", flow(&manifest)), Some(note))
}

/// Whether no controller writes such a change of a ReplicaSet. Managed fields do not show who
/// removed something.
pub(super) fn is_user_write(before: &Value, after: &Value, deployment: Option<&Value>) -> bool {
    let labels = |set: &'_ Value| set.at("/metadata/labels").and_then(Value::as_object).cloned().unwrap_or_default();
    let left = labels(after);
    labels(before).keys().any(|key| key != HASH_LABEL && !left.contains_key(key))
        || finalizers(before) != finalizers(after)
        || live::template(before) != live::template(after)
        || is_disowned(before, after, deployment)
}

/// Whether the Deployment lost a ReplicaSet that its selector matches: its controller releases only
/// those that it does not match, and the garbage collector releases those of a deleted Deployment.
fn is_disowned(before: &Value, after: &Value, deployment: Option<&Value>) -> bool {
    let Some(deployment) = deployment.filter(|one| !live::is_deleting(one)) else { return false };
    let selector = deployment.at("/spec/selector/matchLabels").and_then(Value::as_object);
    let labels = after.at("/metadata/labels").and_then(Value::as_object);
    let matches =
        selector.zip(labels).is_some_and(|(all, labels)| all.iter().all(|(key, value)| labels.get(key) == Some(value)));
    live::controller(before) == Some(live::uid(deployment)) && live::controller(after).is_none() && matches
}

/// The owners of an object as a case has them: without the Deployment's UID, which the driver adds.
fn owners(object: &Value, deployment: &Value) -> Value {
    let all = object.at("/metadata/ownerReferences").and_then(Value::as_array);
    let known = all.into_iter().flatten().filter(|owner| text(owner, "/uid") == live::uid(deployment));
    let named: Vec<Value> = known
        .map(|owner| {
            let mut owner = owner.clone();
            owner.as_object_mut().into_iter().for_each(|fields| drop(fields.remove("uid")));
            owner
        })
        .collect();
    if named.is_empty() { Value::Null } else { named.into() }
}

/// The step that changes what only the controller should change: size, labels, annotations and
/// template of ReplicaSet `number`.
pub(super) fn patch_step(
    (before, after): (&Value, &Value),
    number: usize,
    live: &LiveObjects<'_>,
    templates: &mut CaseTemplates,
    revisions: &Revisions,
) -> Option<StepText> {
    let labels = live.deployment().map(CaseLabels::of);
    let labels = |of: &Value, place: &str| {
        let own = of.at(place);
        labels.as_ref().map_or_else(|| own.and_then(Value::as_object).cloned().unwrap_or_default(), |it| it.map(own))
    };
    let mut metadata = Map::new();
    let mut lists = Map::new();
    if finalizers(before) != finalizers(after) {
        lists.insert("finalizers".to_owned(), after.at("/metadata/finalizers").cloned().unwrap_or_default());
    }
    if let Some(deployment) = live.deployment()
        && owners(before, deployment) != owners(after, deployment)
    {
        lists.insert("ownerReferences".to_owned(), owners(after, deployment));
    }
    let changes = [
        ("labels", merge_patch(&labels(before, "/metadata/labels"), &labels(after, "/metadata/labels"))),
        ("annotations", merge_patch(&case_annotations(before, revisions), &case_annotations(after, revisions))),
    ];
    metadata
        .extend(changes.into_iter().filter(|(_, all)| !all.is_empty()).map(|(key, all)| (key.to_owned(), all.into())));
    let mut spec = Map::new();
    let (old, new) = (live::template(before), live::template(after));
    let mut note = FOREIGN.to_owned();
    if old != new {
        let in_template = "/spec/template/metadata/labels";
        let relabelled = merge_patch(&labels(before, in_template), &labels(after, in_template));
        let (one, two) = (TemplateShape::of(&old), TemplateShape::of(&new));
        let mut template = match relabelled.is_empty() || !one.differs_in_container_alone(&two) {
            true => {
                let wording = templates.change(&old, &new, "");
                note += &wording
                    .left_out
                    .map_or_else(String::new, |places| format!("; the template also differs in {places}"));
                wording.patch
            }
            false => json!({}),
        };
        if !relabelled.is_empty() {
            template["metadata"] = json!({"labels": relabelled});
        }
        spec.insert("template".to_owned(), template);
    }
    let (from, to) = (int(before, "/spec/replicas"), int(after, "/spec/replicas"));
    let target = format!("replicaset/rs{number}");
    if metadata.is_empty() && spec.is_empty() && lists.is_empty() {
        let step = format!("scale: {{replicaset: rs{number}, replicas: {to}}}");
        return (from != to).then(|| StepText::noted(step, Some(note)));
    }
    if from != to {
        spec.insert("replicas".to_owned(), to.into());
    }
    let mut patch = Map::new();
    let has_lists = !lists.is_empty();
    metadata.extend(lists);
    if !metadata.is_empty() {
        patch.insert("metadata".to_owned(), metadata.into());
    }
    if !spec.is_empty() {
        patch.insert("spec".to_owned(), spec.into());
    }
    let patch = Value::Object(patch);
    if has_lists {
        return Some(merge_patch_step(&target, &patch, note));
    }
    let step = format!("patch: {{target: {}, patch: {}}}", word(&target), flow(&patch));
    Some(StepText::noted(step, Some(note)))
}

/// The note at a ReplicaSet that no controller created.
const CREATED: &str = "created by a client other than the controller";

/// The annotations, without kubectl's own.
fn annotations(set: &Value) -> Map<String, Value> {
    let all = set.at("/metadata/annotations").and_then(Value::as_object).cloned().unwrap_or_default();
    all.into_iter().filter(|(key, _)| key != LAST_APPLIED).collect()
}

/// The annotations, with revisions as the case counts them.
fn case_annotations(set: &Value, revisions: &Revisions) -> Map<String, Value> {
    let mut all = annotations(set);
    if let Some(revision) = all.get_mut(REVISION)
        && let Some(number) = revision.as_str().and_then(|text| text.parse().ok())
    {
        *revision = revisions.of(number).to_string().into();
    }
    all
}

/// The merge patch that turns one map into the other; null removes a key.
fn merge_patch(one: &Map<String, Value>, two: &Map<String, Value>) -> Map<String, Value> {
    let gone = one.keys().filter(|key| !two.contains_key(*key)).map(|key| (key.clone(), Value::Null));
    let new = two.iter().filter(|(key, value)| one.get(*key) != Some(*value));
    gone.chain(new.map(|(key, value)| (key.clone(), value.clone()))).filter(|(key, _)| key != HASH_LABEL).collect()
}
