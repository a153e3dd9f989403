//! `undo: {}`: rolls back to an earlier template. Refuses, in kubectl's words, what kubectl refuses
//! before it sends a request: an unknown revision, a paused Deployment.

use lockstep_support::pointer::JsonPointer;
use serde_json::{Value, json};

use super::target::ONE_DEPLOYMENT_SHORT;
use crate::field::{FieldSpec, FieldType, NAME, any_of, names, object, reference};
use crate::model::{
    DeclaredChange, Drive, DriveError, LabelStyle, Operation, PatchKind, PerformFuture, StepAction, Target,
};
use crate::read::{self, MappingFields};
use crate::step::{Actor, NameDeclaration, OperationNode, OperationSpec, StepReader};
use crate::yaml::YamlKind;

const REVISION: &str = "deployment.kubernetes.io/revision";
/// Annotations of a Deployment that an undo keeps; all others are taken from the ReplicaSet.
const KEPT_ANNOTATIONS: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    "deployment.kubernetes.io/revision-history",
    "deployment.kubernetes.io/desired-replicas",
    "deployment.kubernetes.io/max-replicas",
    "deprecated.deployment.rollback.to",
];

static FIELDS: [FieldSpec; 2] = [
    FieldSpec::new("deployment", NAME, "The Deployment; not needed where there is only one."),
    FieldSpec::new(
        "toRevision",
        FieldType::Whole { least: 0, most: i32::MAX as i64 },
        "The revision to return to; 0, the default, is the previous one.",
    ),
];

pub(super) static SPEC: OperationSpec = OperationSpec {
    name: "undo",
    description: "`kubectl rollout undo`.",
    actor: Actor::User,
    shorthand: ONE_DEPLOYMENT_SHORT,
    fields: &FIELDS,
    schema: |_| any_of([reference("name"), object(&FIELDS, false), json!({"type": "null"})]),
    read,
    declaration: NameDeclaration::Nothing,
    is_refusable: true,
    is_nestable: true,
    examples: &[
        "- undo: {toRevision: 1}",
        "- undo: web",
        "- undo: {toRevision: 99}\n  refused: {message: \"unable to find\"}",
    ],
};

/// Rolls a Deployment back to an earlier template.
#[derive(Debug, PartialEq)]
pub(crate) struct UndoStep {
    pub(crate) deployment: String,
    /// `--to-revision`; 0 is the previous revision.
    pub(crate) to_revision: i64,
}

fn read(reader: &mut StepReader<'_>, OperationNode { key, value, refused }: &OperationNode<'_>) -> Option<Operation> {
    let fields = match value.kind {
        YamlKind::Map(_) => Some(MappingFields::of(value, "`undo`", &names(&FIELDS), reader.report)?),
        _ => None,
    };
    let named = match (fields, &value.kind) {
        (Some(fields), _) => fields.get("deployment"),
        (None, YamlKind::Null) => None,
        (None, _) => Some(*value),
    };
    let deployment = reader.scope.resolve_deployment(named, key, reader.report);
    let to_revision = match fields.and_then(|fields| fields.get("toRevision")) {
        Some(revision) => read::integer(revision, "toRevision", 0..=i64::from(i32::MAX), reader.report)?,
        None => 0,
    };
    let deployment = deployment?;
    if !refused && !reader.scope.has_template_change {
        reader.report.add(key, "there is nothing to undo", "no step before it changes the template");
        reader.report.help("if the server must say so, add `refused: {message: \"…\"}`");
        return None;
    }
    Some(Operation::new(UndoStep { deployment, to_revision }))
}

impl StepAction for UndoStep {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn label(&self, names: LabelStyle) -> String {
        let revision = match self.to_revision {
            0 => String::new(),
            revision => format!(" to revision {revision}"),
        };
        format!("undo{}{revision}", names.deployment(&self.deployment))
    }

    fn change(&self) -> DeclaredChange<'_> {
        DeclaredChange::NewTemplate(&self.deployment)
    }

    fn depends_on_subject(&self) -> bool {
        true
    }

    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> PerformFuture<'a> {
        Box::pin(self.undo(driver))
    }
}

impl UndoStep {
    /// Upstream: `DeploymentRollbacker.Rollback`, which looks for the revision first.
    async fn undo(&self, driver: &dyn Drive) -> Result<(), DriveError> {
        let Self { deployment, to_revision } = self;
        let found = driver.deployment(deployment).await?;
        let sets = driver.replica_sets(&found).await?;
        let target = match to_revision {
            0 => previous(&sets, &found).ok_or_else(|| {
                DriveError::Impossible(format!("no rollout history found for deployment \"{deployment}\""))
            })?,
            wanted => by_revision(&sets, &found)
                .into_iter()
                .find(|(revision, _)| revision == wanted)
                .map(|(_, set)| set)
                .ok_or_else(|| {
                    DriveError::Impossible(format!("unable to find specified revision {wanted} in history"))
                })?,
        };
        if found.at("/spec/paused") == Some(&Value::Bool(true)) {
            let why =
                "you cannot rollback a paused deployment; resume it first with 'kubectl rollout resume' and try again";
            return Err(DriveError::Refused(why.to_owned()));
        }
        let template = template(target);
        if template == self::template(&found) {
            return Err(DriveError::Refused(format!(
                "skipped rollback (current template already matches revision {to_revision})"
            )));
        }
        let mut annotations = found["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
        annotations.retain(|key, _| KEPT_ANNOTATIONS.contains(&key.as_str()));
        let theirs = target["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
        annotations.extend(theirs.into_iter().filter(|(key, _)| !KEPT_ANNOTATIONS.contains(&key.as_str())));
        let patch = json!([
            {"op": "replace", "path": "/spec/template", "value": template},
            {"op": "replace", "path": "/metadata/annotations", "value": annotations},
        ]);
        let target = Target { kind: "deployment".into(), name: deployment.clone() };
        driver.patch(&target, PatchKind::Json, &patch, "kubectl").await
    }
}

/// A ReplicaSet and its revision.
type Revision<'a> = (i64, &'a Value);

/// The template without the label that the controller adds.
fn template(object: &Value) -> Value {
    let mut template = object["spec"]["template"].clone();
    if let Some(labels) = template.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
        labels.remove("pod-template-hash");
    }
    template
}

/// The ReplicaSets with their revisions in kubectl's order: the one with the Deployment's template
/// (the oldest of several) comes last. A ReplicaSet without the annotation has revision 0; one
/// whose revision is not a number is left out.
fn by_revision<'a>(sets: &'a [Value], deployment: &Value) -> Vec<Revision<'a>> {
    let wanted = template(deployment);
    let age = |set: &Value| {
        let text = |field: &str| set["metadata"][field].as_str().unwrap_or_default().to_owned();
        (text("creationTimestamp"), text("name"))
    };
    let newest = sets.iter().filter(|set| template(set) == wanted).min_by_key(|set| age(set));
    let is_newest = |set: &&Value| newest.is_some_and(|newest| std::ptr::eq(newest, *set));
    let all = sets.iter().filter(|set| !is_newest(set)).chain(newest);
    let revision = |set: &Value| match set["metadata"]["annotations"][REVISION].as_str() {
        Some(text) => text.parse::<i64>().ok(),
        None => Some(0),
    };
    all.filter_map(|set| Some((revision(set)?, set))).collect()
}

/// The ReplicaSet with the second newest revision; of two with the newest revision, the last in
/// kubectl's order.
fn previous<'a>(sets: &'a [Value], deployment: &Value) -> Option<&'a Value> {
    let (mut latest, mut previous): (Option<Revision<'_>>, Option<Revision<'_>>) = (None, None);
    for (revision, set) in by_revision(sets, deployment) {
        let is_above = |other: Option<Revision<'_>>| other.is_none_or(|(other, _)| other < revision);
        if is_above(latest) {
            previous = latest.replace((revision, set));
        } else if is_above(previous) {
            previous = Some((revision, set));
        }
    }
    previous.map(|(_, set)| set)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn set(name: &str, revision: Option<&str>, image: &str) -> Value {
        let annotations = revision.map_or_else(|| json!({}), |revision| json!({REVISION: revision}));
        json!({"metadata": {"name": name, "annotations": annotations, "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"template": {"metadata": {"labels": {"app": "web", "pod-template-hash": name}}, "image": image}}})
    }

    #[rstest]
    #[case::by_number(&[set("a", Some("2"), "2"), set("b", Some("10"), "10"), set("c", Some("9"), "9")], Some("c"))]
    #[case::no_annotation_is_revision_0(&[set("a", None, "0"), set("b", Some("1"), "10")], Some("a"))]
    #[case::one_revision_twice(&[set("a", Some("2"), "10"), set("b", Some("2"), "2")], Some("a"))]
    #[case::only_one(&[set("a", Some("1"), "1")], None)]
    #[case::unreadable(&[set("a", Some("x"), "1"), set("b", Some("1"), "10")], None)]
    #[case::none(&[], None)]
    fn previous_revision(#[case] sets: &[Value], #[case] expected: Option<&str>) {
        let deployment = set("web", None, "10");
        let found = previous(sets, &deployment).map(|set| set["metadata"]["name"].as_str().unwrap());
        assert_eq!(found, expected);
    }
}
