//! Which object a step means: `deployment/web`, or the case's only Deployment.

use serde_json::{Value, json};

use super::field::{Field, NAME, Type, names};
use super::model::Target;
use super::nearest::did_you_mean;
use super::operations::Written;
use super::read::{self, Fields};
use super::schema::{any_of, object, reference, told};
use super::step::Reader;
use super::tree::{Kind, Node};

/// The kinds of object that `patch` and `delete` know: by their word, with apiVersion and kind.
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
/// Their words.
fn words() -> Vec<&'static str> {
    KINDS.iter().map(|(word, ..)| *word).collect()
}

impl Target {
    /// The apiVersion and the kind of the object.
    pub(crate) fn type_of(&self) -> Option<(&'static str, &'static str)> {
        KINDS.iter().find(|(word, ..)| *word == self.kind).map(|(_, version, kind)| (*version, *kind))
    }
}

pub(super) const TARGET: Type = Type::Is(|_| reference("target"), "`kind/name`");

/// What an operation on one Deployment takes.
pub(super) static ONE_DEPLOYMENT: [Field; 1] =
    [Field::new("deployment", NAME, "The Deployment; not needed where there is only one.")];
/// What may stand there instead.
pub(super) const ONE_DEPLOYMENT_SHORT: &str = "a Deployment's name, or nothing where there is only one";

/// `kind/name`, as JSON schema.
pub(super) fn schema() -> Value {
    let pattern = format!("^({})/.+$", words().join("|"));
    told(
        json!({"type": "string", "pattern": pattern}),
        "`kind/name`, such as `deployment/web`, `replicaset/rs1` (the first that appears) or `pod/a`.",
    )
}

/// One Deployment, as JSON schema.
pub(super) fn one_deployment(_: bool) -> Value {
    any_of([reference("name"), object(&ONE_DEPLOYMENT, false), json!({"type": "null"})])
}

impl Reader<'_> {
    /// `pause: web`, `pause: {deployment: web}`, `pause: {}`, `pause:`.
    pub(super) fn one_deployment(&mut self, written: &Written<'_>) -> Option<String> {
        let node = written.value;
        let named = match node.kind {
            Kind::Null => None,
            Kind::Map(_) => {
                let what = format!("`{}`", written.key.as_key());
                Fields::of(node, &what, &names(&ONE_DEPLOYMENT), self.report)?.get("deployment")
            }
            _ => Some(node),
        };
        self.scope.meant(named, written.key, self.report)
    }

    /// `deployment/web`.
    pub(super) fn target(&mut self, node: Option<&Node>, step: &Node) -> Option<Target> {
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
            let hint = did_you_mean(kind, words()).unwrap_or_else(|| format!("one of {}", read::list(&words())));
            self.report.add(node, format!("unknown kind `{kind}`"), hint);
            return None;
        }
        if kind == "deployment" && !self.scope.known(name, node, self.report) {
            return None;
        }
        Some(Target { kind: kind.to_owned(), name: name.to_owned() })
    }
}
