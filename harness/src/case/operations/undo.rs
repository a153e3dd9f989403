//! `undo: {}`: back to an earlier template. Where kubectl itself refuses before it asks the server
//! (an unknown revision, a paused Deployment), so does this, in kubectl's words.

use serde_json::{Value, json};

use super::form::nothing;
use super::{Action, By, Change, Drive, DriveError, Form, Names, Operation, Performing, Written};
use crate::case::field::{Field, NAME, Type, names};
use crate::case::model::{PatchKind, Target};
use crate::case::read::{self, Fields};
use crate::case::schema::{any_of, object, reference};
use crate::case::step::Reader;
use crate::case::target::ONE_DEPLOYMENT_SHORT;
use crate::case::tree::Kind;
use crate::pointer::At;

const REVISION: &str = "deployment.kubernetes.io/revision";
/// Annotations of a Deployment that an undo keeps as they are; all others come from the ReplicaSet.
const KEPT: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    "deployment.kubernetes.io/revision-history",
    "deployment.kubernetes.io/desired-replicas",
    "deployment.kubernetes.io/max-replicas",
    "deprecated.deployment.rollback.to",
];

static FIELDS: [Field; 2] = [
    Field::new("deployment", NAME, "The Deployment; not needed where there is only one."),
    Field::new(
        "toRevision",
        Type::Whole { least: 0, most: i32::MAX as i64 },
        "The revision to return to; 0, the default, is the previous one.",
    ),
];

pub(super) static FORM: Form = Form {
    name: "undo",
    says: "`kubectl rollout undo`.",
    by: By::User,
    short: ONE_DEPLOYMENT_SHORT,
    fields: &FIELDS,
    schema: |_| any_of([reference("name"), object(&FIELDS, false), json!({"type": "null"})]),
    read,
    announce: nothing,
    refusable: true,
    inner: true,
    only_held: None,
    examples: &[
        "- undo: {toRevision: 1}",
        "- undo: web",
        "- undo: {toRevision: 99}\n  refused: {message: \"unable to find\"}",
    ],
};

/// A Deployment gets an earlier template.
#[derive(Debug, PartialEq)]
pub(in crate::case) struct Undo {
    /// The Deployment.
    pub(in crate::case) deployment: String,
    /// `--to-revision`; 0 is the previous one.
    pub(in crate::case) to_revision: i64,
}

fn read(reader: &mut Reader<'_>, Written { key, value, refused }: &Written<'_>) -> Option<Operation> {
    let fields = match value.kind {
        Kind::Map(_) => Some(Fields::of(value, "`undo`", &names(&FIELDS), reader.report)?),
        _ => None,
    };
    let named = match (fields, &value.kind) {
        (Some(fields), _) => fields.get("deployment"),
        (None, Kind::Null) => None,
        (None, _) => Some(*value),
    };
    let deployment = reader.scope.meant(named, key, reader.report);
    let to_revision = match fields.and_then(|fields| fields.get("toRevision")) {
        Some(revision) => read::integer(revision, "toRevision", 0..=i64::from(i32::MAX), reader.report)?,
        None => 0,
    };
    let deployment = deployment?;
    if !refused && !reader.scope.retemplated {
        reader.report.add(key, "there is nothing to undo", "no step before it changes the template");
        reader.report.help("if the server must say so, add `refused: {message: \"…\"}`");
        return None;
    }
    Some(Operation::new(Undo { deployment, to_revision }))
}

impl Action for Undo {
    fn form(&self) -> &'static Form {
        &FORM
    }

    fn label(&self, names: Names) -> String {
        let revision = match self.to_revision {
            0 => String::new(),
            revision => format!(" to revision {revision}"),
        };
        format!("undo{}{revision}", names.deployment(&self.deployment))
    }

    fn change(&self) -> Change<'_> {
        Change::Template(&self.deployment)
    }

    fn depends_on_the_subject(&self) -> bool {
        true
    }

    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> Performing<'a> {
        Box::pin(self.undo(driver))
    }
}

impl Undo {
    /// Upstream: `DeploymentRollbacker.Rollback`, which looks for the revision first.
    async fn undo(&self, driver: &dyn Drive) -> Result<(), DriveError> {
        let Self { deployment, to_revision } = self;
        let found = driver.deployment(deployment).await?;
        let sets = driver.replica_sets(&found).await?;
        let target = match to_revision {
            0 => previous(&sets, &found).ok_or_else(|| {
                DriveError::Impossible(format!("no rollout history found for deployment \"{deployment}\""))
            })?,
            wanted => in_order(&sets, &found)
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
        annotations.retain(|key, _| KEPT.contains(&key.as_str()));
        let theirs = target["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
        annotations.extend(theirs.into_iter().filter(|(key, _)| !KEPT.contains(&key.as_str())));
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

/// The template without the label that a controller adds.
fn template(object: &Value) -> Value {
    let mut template = object["spec"]["template"].clone();
    if let Some(labels) = template.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
        labels.remove("pod-template-hash");
    }
    template
}

/// The ReplicaSets with their revisions in kubectl's order: that of the Deployment's template, the
/// oldest of several, stands last. One without the annotation has revision 0; one whose revision is
/// no number is left out.
fn in_order<'a>(sets: &'a [Value], deployment: &Value) -> Vec<Revision<'a>> {
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

/// The ReplicaSet of the second newest revision; where two have the newest, the one that kubectl
/// sees last.
fn previous<'a>(sets: &'a [Value], deployment: &Value) -> Option<&'a Value> {
    let (mut latest, mut previous): (Option<Revision<'_>>, Option<Revision<'_>>) = (None, None);
    for (revision, set) in in_order(sets, deployment) {
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
