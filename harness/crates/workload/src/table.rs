//! The description of a workload.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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
/// Objects whose own fields can be mapped, too.
const OPEN_FIELDS: [&str; 2] = ["/spec/selector/", "/spec/template/"];
/// The fields that every case needs.
const REQUIRED_FIELDS: [&str; 4] = ["/spec", "/spec/replicas", "/spec/selector", "/spec/template"];

/// The words of a workload's own line at a checkpoint, each with the Deployment's field.
pub(super) const STATUS: [(&str, &str); 11] = [
    ("replicas", "/status/replicas"),
    ("updated", "/status/updatedReplicas"),
    ("ready", "/status/readyReplicas"),
    ("available", "/status/availableReplicas"),
    ("unavailable", "/status/unavailableReplicas"),
    ("terminating", "/status/terminatingReplicas"),
    ("generation", "/status/observedGeneration"),
    ("collisionCount", "/status/collisionCount"),
    ("revision", "/metadata/annotations"),
    ("paused", "/spec/paused"),
    ("deleting", "/metadata/deletionTimestamp"),
];
/// The invariants, each with the Deployment's field that it concerns, if there is one.
pub(super) const INVARIANTS: [(&str, Option<&str>); 7] = [
    ("surge", Some("/spec/strategy/rollingUpdate/maxSurge")),
    ("availability", Some("/spec/strategy/rollingUpdate/maxUnavailable")),
    ("one-template", None),
    ("revision", None),
    ("ownership", None),
    ("paused", Some("/spec/paused")),
    ("silence", None),
];

/// The path of the bounds of a rolling update, and their names.
pub(super) const ROLLING: &str = "/spec/strategy/rollingUpdate/";
const BOUNDS: [&str; 2] = ["maxSurge", "maxUnavailable"];

/// Why a description with `owns` is refused.
const OWNS: &str = "`owns`: a workload's controller owns ReplicaSets; other owned kinds cannot be described";

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
    /// Its kind.
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
    /// Labels of cases that it cannot run: such cases are skipped.
    #[serde(default)]
    pub lacks: Vec<String>,
    /// What is excluded from its timelines, and from the golden ones that they are compared with.
    #[serde(default)]
    pub uncompared: ComparisonExclusions,
    /// Other custom resources that its controller requires.
    #[serde(default)]
    pub definitions: Vec<CustomResource>,
}

/// What is not compared for a workload.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ComparisonExclusions {
    /// The fields of decisions, and of ReplicaSets at checkpoints, with these keys.
    #[serde(default)]
    pub details: Vec<String>,
    /// The fields of the workload's own status at checkpoints, with these keys.
    #[serde(default)]
    pub status: Vec<String>,
    /// The conditions of the workload itself.
    #[serde(default)]
    pub conditions: bool,
    /// Whether a ReplicaSet gets its size at its creation, or right after it.
    #[serde(default)]
    pub creation: bool,
    /// The order and number of writes within a step.
    #[serde(default)]
    pub order: bool,
    /// Its Events.
    #[serde(default)]
    pub events: bool,
    /// The invariants with these names.
    #[serde(default)]
    pub invariants: Vec<String>,
}

/// A custom resource of the workload's group and version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CustomResource {
    /// Its kind.
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
        let read = |text: &str| {
            let description: Value = serde_yaml::from_str(text).map_err(|error| error.to_string())?;
            if description.get("owns").is_some() {
                return Err(OWNS.to_owned());
            }
            // Parsed from the text again, so that a mistake has its line.
            serde_yaml::from_str::<Self>(text).map_err(|error| error.to_string())
        };
        let mut workload = read(&text).map_err(malformed)?;
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
        if description.get("owns").is_some() {
            return Err(OWNS.to_owned());
        }
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
        let leads_nowhere = |(path, own): (&String, &Option<String>)| {
            own.is_none()
                && field.strip_prefix(path.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.paths.iter().any(leads_nowhere)
    }

    /// Whether this is a Deployment itself, whose controller uses other annotations or lacks
    /// something.
    pub fn is_deployment(&self) -> bool {
        (self.api_version.as_str(), self.kind.as_str()) == (API_VERSION, KIND)
    }

    fn check(&self) -> Result<(), String> {
        if self.api_version.split('/').filter(|word| !word.is_empty()).count() != 2 {
            return Err(format!("`{}` is not GROUP/VERSION", self.api_version));
        }
        if self.api_version == API_VERSION && !self.is_deployment() {
            let kind = &self.kind;
            return Err(format!("`{kind}` of {API_VERSION} owns no ReplicaSets; describe a kind that does"));
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
        check_words("uncompared.status", &self.uncompared.status, STATUS.iter().map(|(key, _)| *key))?;
        check_words("uncompared.invariants", &self.uncompared.invariants, INVARIANTS.iter().map(|(name, _)| *name))
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
        if let Some(pointer) = [Some(path), own].into_iter().flatten().find(|pointer| !pointer.starts_with('/')) {
            return Err(format!("`paths`: `{pointer}` is not a JSON pointer such as /spec/replicas"));
        }
        let is_field = FIELDS.contains(&path) || OPEN_FIELDS.iter().any(|open| path.starts_with(open));
        if !is_field {
            let fields = FIELDS.join(", ");
            return Err(format!("`paths`: a Deployment has no field `{path}`; it has {fields}"));
        }
        if own.is_none() && (REQUIRED_FIELDS.contains(&path) || OPEN_FIELDS.iter().any(|open| path.starts_with(open))) {
            return Err(format!("`paths`: `{path}: null`: the cases need this field; say where the workload has it"));
        }
        if own.is_some_and(|own| own != path) && self.is_deployment() {
            return Err(format!("`paths`: a Deployment has `{path}` there and nowhere else"));
        }
        Ok(())
    }

    /// Its group and version.
    pub fn group_version(&self) -> (&str, &str) {
        self.api_version.split_once('/').unwrap_or(("", &self.api_version))
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
        assert!(said("apiVersion: a/v1\nkind: X\nplural: xs\nowns: {kind: Y}\n").contains("owns ReplicaSets"));
        let path = |path: &str| said(&format!("apiVersion: a/v1\nkind: X\nplural: xs\npaths: {{{path}}}\n"));
        assert!(path("/spec/maxSurge: /spec/surge").contains("a Deployment has no field `/spec/maxSurge`"));
        assert!(path("/spec/replicas: null").contains("the cases need this field"));
        assert!(path("spec/paused: null").contains("`spec/paused` is not a JSON pointer"));
        let uncompared = |what: &str| said(&format!("apiVersion: a/v1\nkind: X\nplural: xs\nuncompared: {{{what}}}\n"));
        assert!(uncompared("status: [observedGeneration]").contains("expected one of replicas, updated"));
        assert!(uncompared("invariants: [gravity]").contains("unknown `gravity`, expected one of surge,"));
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
