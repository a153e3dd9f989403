//! `undo: {}`: back to an earlier template. Where kubectl itself refuses before it asks the server
//! (an unknown revision, a paused Deployment), so does this, with kubectl's meaning.

use std::collections::BTreeMap;

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
    async fn undo(&self, driver: &dyn Drive) -> Result<(), DriveError> {
        let Self { deployment, to_revision } = self;
        let found = driver.deployment(deployment).await?;
        if found.at("/spec/paused") == Some(&Value::Bool(true)) {
            let why = format!("cannot undo the paused deployment \"{deployment}\"; resume it first");
            return Err(DriveError::Refused(why));
        }
        let mut revisions = BTreeMap::new();
        for set in driver.replica_sets_of(found["metadata"]["uid"].as_str()) {
            let revision = set["metadata"]["annotations"][REVISION].as_str().and_then(|text| text.parse::<i64>().ok());
            revisions.extend(revision.map(|revision| (revision, set)));
        }
        let target = match to_revision {
            0 => revisions.iter().rev().nth(1).map(|(_, set)| set).ok_or_else(|| {
                DriveError::Impossible(format!("no rollout history found for deployment \"{deployment}\""))
            })?,
            wanted => revisions.get(wanted).ok_or_else(|| {
                DriveError::Impossible(format!("unable to find specified revision {wanted} in history"))
            })?,
        };
        let mut template = target["spec"]["template"].clone();
        if let Some(labels) = template.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
            labels.remove("pod-template-hash");
        }
        if found.at("/spec/template") == Some(&template) {
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
        driver.patch(&target, PatchKind::Json, &patch).await
    }
}
