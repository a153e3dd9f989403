//! Reads which object a step means: `deployment/web`, or the case's only Deployment.

use serde_json::{Value, json};

use crate::diagnostics::did_you_mean;
use crate::field::{FieldSpec, FieldType, NAME, any_of, names, object, reference, with_description};
use crate::model::Target;
use crate::read::{self, MappingFields};
use crate::step::{OperationNode, StepReader};
use crate::yaml::{YamlKind, YamlNode};

/// The kinds that `patch` and `delete` accept: the word, the apiVersion and the kind.
const KINDS: [(&str, &str, &str); 10] = [
    ("deployment", "apps/v1", "Deployment"),
    ("replicaset", "apps/v1", "ReplicaSet"),
    ("statefulset", "apps/v1", "StatefulSet"),
    ("daemonset", "apps/v1", "DaemonSet"),
    ("cronjob", "batch/v1", "CronJob"),
    ("job", "batch/v1", "Job"),
    ("rollout", "argoproj.io/v1alpha1", "Rollout"),
    ("pod", "v1", "Pod"),
    ("configmap", "v1", "ConfigMap"),
    ("secret", "v1", "Secret"),
];
fn words() -> Vec<&'static str> {
    KINDS.iter().map(|(word, ..)| *word).collect()
}

impl Target {
    /// The apiVersion and kind of the object.
    pub fn type_of(&self) -> Option<(&'static str, &'static str)> {
        KINDS.iter().find(|(word, ..)| *word == self.kind).map(|(_, version, kind)| (*version, *kind))
    }
}

pub(super) const TARGET: FieldType = FieldType::Is(|_| reference("target"), "`kind/name`");

/// The field of an operation on one Deployment.
pub(super) static ONE_DEPLOYMENT: [FieldSpec; 1] =
    [FieldSpec::new("deployment", NAME, "The Deployment; not needed where there is only one.")];
/// What is accepted in place of the mapping.
pub(super) const ONE_DEPLOYMENT_SHORT: &str = "a Deployment's name, or nothing where there is only one";

/// The JSON schema of `kind/name`.
pub(crate) fn schema() -> Value {
    let pattern = format!("^({})/.+$", words().join("|"));
    with_description(
        json!({"type": "string", "pattern": pattern}),
        "`kind/name`, such as `deployment/web`, `replicaset/rs1` (the first that appears) or `pod/a`.",
    )
}

/// The JSON schema of an operation on one Deployment.
pub(super) fn one_deployment(_: bool) -> Value {
    any_of([reference("name"), object(&ONE_DEPLOYMENT, false), json!({"type": "null"})])
}

impl StepReader<'_> {
    /// Reads `pause: web`, `pause: {deployment: web}`, `pause: {}` or `pause:`.
    pub(super) fn read_deployment_name(&mut self, operation: &OperationNode<'_>) -> Option<String> {
        let node = operation.value;
        let named = match node.kind {
            YamlKind::Null => None,
            YamlKind::Map(_) => {
                let what = format!("`{}`", operation.key.as_key());
                MappingFields::of(node, &what, &names(&ONE_DEPLOYMENT), self.report)?.get("deployment")
            }
            _ => Some(node),
        };
        self.scope.resolve_deployment(named, operation.key, self.report)
    }

    /// Reads `deployment/web`.
    pub(super) fn read_target(&mut self, node: Option<&YamlNode>, step: &YamlNode) -> Option<Target> {
        let Some(node) = node else {
            self.report.add(step, "no target", "add `target: deployment/…`");
            return None;
        };
        let text = read::text(node, "a target", self.report)?;
        let Some((kind, name)) = text.split_once('/').filter(|(_, name)| !name.is_empty()) else {
            self.report.add(node, format!("`{text}` is not a target"), "write `kind/name`, such as `deployment/web`");
            return None;
        };
        if !words().contains(&kind) {
            let hint = did_you_mean(kind, words()).unwrap_or_else(|| format!("one of {}", read::join_quoted(&words())));
            self.report.add(node, format!("unknown kind `{kind}`"), hint);
            return None;
        }
        if kind == "deployment" && !self.scope.check_created(name, node, self.report) {
            return None;
        }
        Some(Target { kind: kind.to_owned(), name: name.to_owned() })
    }
}
