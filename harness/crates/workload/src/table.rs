//! The description of a workload.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::owned::{self, OwnedKind};
use super::paths::{check_group_version, check_path, lacks_field, split_group};

/// The prefix of the Deployment controller's annotations.
pub(super) const ANNOTATIONS: &str = "deployment.kubernetes.io/";
/// The label with the hash of a Deployment's template.
pub(super) const HASH_LABEL: &str = "pod-template-hash";

pub(super) const API_VERSION: &str = "apps/v1";
pub(super) const KIND: &str = "Deployment";
const PLURAL: &str = "deployments";

/// The fields of a Deployment that a workload may have elsewhere, or not at all.
const FIELDS: [&str; 23] = [
    "/spec",
    "/spec/replicas",
    "/spec/selector",
    "/spec/template",
    "/spec/strategy",
    "/spec/strategy/type",
    "/spec/strategy/rollingUpdate",
    "/spec/strategy/rollingUpdate/maxSurge",
    "/spec/strategy/rollingUpdate/maxUnavailable",
    "/spec/minReadySeconds",
    "/spec/revisionHistoryLimit",
    "/spec/progressDeadlineSeconds",
    "/spec/paused",
    "/status",
    "/status/observedGeneration",
    "/status/replicas",
    "/status/updatedReplicas",
    "/status/readyReplicas",
    "/status/availableReplicas",
    "/status/unavailableReplicas",
    "/status/terminatingReplicas",
    "/status/collisionCount",
    "/status/conditions",
];
/// How a path to an annotation begins.
const ANNOTATION_PATH: &str = "/metadata/annotations/";

/// The path of the bounds of a rolling update, and their names.
pub(super) const ROLLING: &str = "/spec/strategy/rollingUpdate/";
const BOUNDS: [&str; 2] = ["maxSurge", "maxUnavailable"];

/// The built-in descriptions, by name.
const BUILTIN: [(&str, &str); 1] = [("argo-rollouts", include_str!("argo-rollouts.yaml"))];

/// A kind that owns ReplicaSets, and where it has what a Deployment has. A recording includes the
/// whole description.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Workload {
    /// The name on the command line.
    #[serde(default)]
    pub name: String,
    /// Its group and version.
    pub api_version: String,
    /// In CamelCase: `Rollout`.
    pub kind: String,
    /// The plural in API paths.
    pub plural: String,
    /// A Deployment's JSON pointers with the workload's own, where they differ; `None`: the
    /// workload does not have the field.
    #[serde(default)]
    pub paths: BTreeMap<String, Option<String>>,
    /// Fields that are added to every manifest; they do not replace existing ones.
    #[serde(default)]
    pub manifest: Map<String, Value>,
    /// JSON pointers of the workload to numbers that it stores as text.
    #[serde(default)]
    pub numbers: Vec<String>,
    /// The bounds of a rolling update, by a Deployment's names, if the kind has no fields for them.
    #[serde(default)]
    pub bounds: BTreeMap<String, Value>,
    /// The prefix of its controller's annotations; `deployment.kubernetes.io/` for a Deployment.
    #[serde(default = "annotations")]
    pub annotations: String,
    /// The label with the hash of its template; `pod-template-hash` for a Deployment.
    #[serde(default = "hash_label")]
    pub hash_label: String,
    /// The kind that it owns in place of ReplicaSets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owns: Option<OwnedKind>,
    /// Labels of cases that it cannot run: such cases are skipped.
    #[serde(default)]
    pub lacks: Vec<String>,
    /// What its controller promises; everything if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claims: Option<Vec<String>>,
    /// What its controller does not promise, of what it would claim without this.
    #[serde(default)]
    pub unclaimed: Vec<String>,
    /// Other custom resources that its controller requires.
    #[serde(default)]
    pub definitions: Vec<CustomResource>,
}

/// A custom resource of the workload's group and version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CustomResource {
    /// In CamelCase: `AnalysisRun`.
    pub kind: String,
    /// The plural in API paths.
    pub plural: String,
    /// Whether it is cluster-scoped.
    #[serde(default)]
    pub cluster_scoped: bool,
}

/// Why the description of a workload cannot be loaded.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WorkloadError {
    /// The file cannot be read.
    #[error("unknown workload '{name}': expected {known} or a YAML file that describes one ({why})",
        known = BUILTIN.map(|(name, _)| name).join(", "))]
    Unknown {
        /// The name or path on the command line.
        name: String,
        /// The system's error.
        why: String,
    },
    /// The file is not a description of a workload.
    #[error("{}: not the description of a workload: {why}; see docs/workloads.md", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

/// Checks that every word is one of these.
fn check_words<'a>(field: &str, words: &[String], all: impl Iterator<Item = &'a str> + Clone) -> Result<(), String> {
    match words.iter().find(|word| !all.clone().any(|known| known == *word)) {
        Some(word) => {
            Err(format!("`{field}`: unknown `{word}`, expected one of {}", all.collect::<Vec<_>>().join(", ")))
        }
        None => Ok(()),
    }
}

fn annotations() -> String {
    ANNOTATIONS.to_owned()
}

fn hash_label() -> String {
    HASH_LABEL.to_owned()
}

impl FromStr for Workload {
    type Err = WorkloadError;

    /// Parses the name of a built-in description, or the path of a file.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let carried = BUILTIN.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned());
        let unknown = |error: std::io::Error| WorkloadError::Unknown { name: name.to_owned(), why: error.to_string() };
        let text = carried.map_or_else(|| std::fs::read_to_string(name).map_err(unknown), Ok)?;
        let malformed = |why: String| WorkloadError::Malformed { path: name.into(), why };
        let mut workload: Self = serde_yaml::from_str(&text).map_err(|error| malformed(error.to_string()))?;
        workload.check().map_err(malformed)?;
        name.clone_into(&mut workload.name);
        Ok(workload)
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Workload {
    /// The names of the built-in descriptions.
    pub fn builtin_names() -> [&'static str; BUILTIN.len()] {
        BUILTIN.map(|(name, _)| name)
    }

    /// A workload from a full description; its name is its kind.
    ///
    /// # Errors
    /// What is wrong with the description.
    pub fn from_json(description: Value) -> Result<Self, String> {
        let mut workload: Self = serde_json::from_value(description).map_err(|error| error.to_string())?;
        workload.check()?;
        workload.kind.clone_into(&mut workload.name);
        Ok(workload)
    }

    /// Whether both describe the same kind.
    pub fn is_of_kind(&self, other: &Self) -> bool {
        (&self.api_version, &self.kind) == (&other.api_version, &other.kind)
    }

    /// Whether the workload has no counterpart of this field of a Deployment.
    pub(super) fn lacks_field(&self, field: &str) -> bool {
        lacks_field(&self.paths, field)
    }

    /// Whether this is a Deployment itself, whose controller uses other annotations or lacks
    /// something.
    pub fn is_deployment(&self) -> bool {
        (self.api_version.as_str(), self.kind.as_str()) == (API_VERSION, KIND)
    }

    /// Whether what the server stores is not a Deployment as a case has it.
    pub(super) fn is_translated(&self) -> bool {
        !self.is_deployment() || !self.manifest.is_empty() || self.paths.values().any(Option::is_some)
    }

    fn check(&self) -> Result<(), String> {
        check_group_version(&self.api_version)?;
        if self.api_version == API_VERSION && !self.is_deployment() {
            let kind = &self.kind;
            return Err(format!("`{kind}` of {API_VERSION} owns no ReplicaSets; describe a kind that does"));
        }
        if let Some(owned) = &self.owns {
            owned.check()?;
        }
        if self.is_deployment() && self.plural != PLURAL {
            return Err(format!("the plural of Deployment is `{PLURAL}`, not `{}`", self.plural));
        }
        for (path, own) in &self.paths {
            self.check_path(path, own.as_deref())?;
        }
        for (name, bound) in &self.bounds {
            self.check_bound(name, bound)?;
        }
        if let Some(number) = self.numbers.iter().find(|number| !number.starts_with('/')) {
            return Err(format!("`numbers`: `{number}` is not a JSON pointer such as /status/observedGeneration"));
        }
        self.check_claims()
    }

    /// Checks that a bound replaces a field that the workload does not have.
    fn check_bound(&self, name: &str, bound: &Value) -> Result<(), String> {
        check_words("bounds", &[name.to_owned()], BOUNDS.into_iter())?;
        let is_share = |text: &str| text.strip_suffix('%').is_some_and(|number| number.parse::<u32>().is_ok());
        if !bound.is_u64() && !bound.as_str().is_some_and(is_share) {
            return Err(format!("`bounds`: `{name}: {bound}` is neither a number nor a percentage such as \"25%\""));
        }
        let path = format!("{ROLLING}{name}");
        match self.lacks_field(&path) {
            true => Ok(()),
            false => Err(format!("`bounds`: `{name}` is for a kind without the field; add `{path}: null` to `paths`")),
        }
    }

    /// Checks that a path maps a field of a Deployment to one of the workload.
    fn check_path(&self, path: &str, own: Option<&str>) -> Result<(), String> {
        check_path(("paths", "a Deployment"), &FIELDS, path, own)?;
        let is_elsewhere = |own: &str| own != path && !own.starts_with(ANNOTATION_PATH);
        if own.is_some_and(is_elsewhere) && self.is_deployment() {
            return Err(format!(
                "`paths`: a Deployment has `{path}` there and nowhere else, unless an annotation has it in its place"
            ));
        }
        Ok(())
    }

    /// Version and plural of the kind that is stored in place of Deployments or ReplicaSets;
    /// `None` for a resource that is stored as itself.
    pub fn stored_as(&self, resource: &str) -> Option<(&str, &str)> {
        match (resource, &self.owns) {
            (PLURAL, _) if self.is_translated() => Some((&self.api_version, &self.plural)),
            (owned::PLURAL, Some(owned)) => Some((&owned.api_version, &owned.plural)),
            _ => None,
        }
    }

    /// What the API calls the resource in the place of `deployments` or `replicasets`; others keep
    /// their names.
    pub fn own_resource<'a>(&'a self, resource: &'a str) -> &'a str {
        self.stored_as(resource).map_or(resource, |(_, plural)| plural)
    }

    /// The name of Deployments or ReplicaSets for the resource that is in their place.
    pub fn deployment_resource(&self, group: &str, resource: &str) -> Option<&'static str> {
        let is = |api_version: &str, plural: &str| split_group(api_version).0 == group && plural == resource;
        match &self.owns {
            _ if is(&self.api_version, &self.plural) => Some(PLURAL),
            Some(owned) if is(&owned.api_version, &owned.plural) => Some(owned::PLURAL),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_descriptions_are_valid() {
        for (name, _) in BUILTIN {
            assert_eq!(name.parse::<Workload>().unwrap().name, name);
        }
    }

    #[test]
    fn reports_mistakes_in_description() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("w.yaml");
        let said = |text: &str| {
            std::fs::write(&file, text).unwrap();
            file.to_str().unwrap().parse::<Workload>().unwrap_err().to_string()
        };
        assert!(said("apiVersion: v1\nkind: X\nplural: xs\n").contains("`v1` is not GROUP/VERSION"));
        assert!(said("apiVersion: a/v1\nkind: X\nplural: xs\nreplica: y\n").contains("unknown field `replica`"));
        let owns = |owned: &str| {
            let owned = format!("owns: {{apiVersion: a/v1, kind: Y, plural: ys{owned}}}");
            said(&format!("apiVersion: a/v1\nkind: X\nplural: xs\n{owned}\n"))
        };
        assert!(owns(", paths: {/spec/strategy: null}").contains("a ReplicaSet has no field `/spec/strategy`"));
        assert!(owns(", paths: {/spec/template: null}").contains("the cases need this field"));
        assert!(owns(", replicas: /spec/size").contains("unknown field `replicas`"));
        let path = |path: &str| said(&format!("apiVersion: a/v1\nkind: X\nplural: xs\npaths: {{{path}}}\n"));
        assert!(path("/spec/maxSurge: /spec/surge").contains("a Deployment has no field `/spec/maxSurge`"));
        assert!(path("/spec/replicas: null").contains("the cases need this field"));
        assert!(path("spec/paused: null").contains("`spec/paused` is not a JSON pointer"));
        let unclaimed = |what: &str| said(&format!("apiVersion: a/v1\nkind: X\nplural: xs\nunclaimed: [{what}]\n"));
        assert!(unclaimed("gravity").contains("`unclaimed`: unknown `gravity`, expected replicasets, history"));
        let bound = |what: &str| path(&format!("/spec/strategy: null}}\nbounds: {{{what}"));
        assert!(bound("surge: 1").contains("`bounds`: unknown `surge`, expected one of maxSurge, maxUnavailable"));
        assert!(bound("maxSurge: many").contains("neither a number nor a percentage"));
        assert!(path("/spec/paused: null}\nbounds: {maxSurge: 1").contains("maxSurge: null` to `paths`"));
        let own = |more: &str| said(&format!("apiVersion: apps/v1\nkind: {more}\n"));
        assert!(own("StatefulSet\nplural: statefulsets").contains("owns no ReplicaSets"));
        assert!(own("Deployment\nplural: deploys").contains("the plural of Deployment is `deployments`"));
        let moved = "Deployment\nplural: deployments\npaths: {/spec/replicas: /spec/size}";
        assert!(own(moved).contains("there and nowhere else"));
        let unknown = "argo".parse::<Workload>().unwrap_err().to_string();
        assert!(unknown.starts_with("unknown workload 'argo': expected argo-rollouts or a YAML file"), "{unknown}");
    }
}
