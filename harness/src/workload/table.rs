//! The file that describes a workload.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What the Deployment controller's annotations begin with.
pub(super) const ANNOTATIONS: &str = "deployment.kubernetes.io/";
/// The label with the hash of a Deployment's template.
pub(super) const HASH_LABEL: &str = "pod-template-hash";

/// What the API calls Deployments.
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
/// What is in these has fields of its own.
const OPEN: [&str; 2] = ["/spec/selector/", "/spec/template/"];
/// Those that no case can do without.
const NEEDED: [&str; 4] = ["/spec", "/spec/replicas", "/spec/selector", "/spec/template"];

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
/// The invariants, each with the Deployment's field that it is about, if it is about one.
pub(super) const INVARIANTS: [(&str, Option<&str>); 7] = [
    ("surge", Some("/spec/strategy/rollingUpdate/maxSurge")),
    ("availability", Some("/spec/strategy/rollingUpdate/maxUnavailable")),
    ("one-template", None),
    ("revision", None),
    ("ownership", None),
    ("paused", Some("/spec/paused")),
    ("silence", None),
];

/// Where a Deployment has the bounds of a rolling update, and what it calls them.
pub(super) const ROLLING: &str = "/spec/strategy/rollingUpdate/";
const BOUNDS: [&str; 2] = ["maxSurge", "maxUnavailable"];

/// Why a description with `owns` is refused.
const OWNS: &str = "`owns`: a workload's controller owns ReplicaSets; other owned kinds cannot be described";

/// The workloads that the program carries, by name.
const CARRIED: [(&str, &str); 1] = [("argo-rollouts", include_str!("../../workloads/argo-rollouts.yaml"))];

/// A kind that owns ReplicaSets, and where it has what a Deployment has. A recording carries it
/// whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Workload {
    /// What it was called on the command line.
    #[serde(default)]
    pub name: String,
    /// Its group and version.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// What its paths call it.
    pub plural: String,
    /// A Deployment's JSON pointers to its own, where they differ; `None`: it has nothing of the
    /// kind.
    #[serde(default)]
    pub paths: BTreeMap<String, Option<String>>,
    /// What every manifest has besides; does not replace what is there.
    #[serde(default)]
    pub manifest: Map<String, Value>,
    /// JSON pointers, of its own, to numbers that it keeps as text.
    #[serde(default)]
    pub numbers: Vec<String>,
    /// The bounds of a rolling update, by a Deployment's names, where it has no fields for them.
    #[serde(default)]
    pub bounds: BTreeMap<String, Value>,
    /// What its controller's annotations begin with; `deployment.kubernetes.io/` of a Deployment.
    #[serde(default = "annotations")]
    pub annotations: String,
    /// The label with the hash of its template; `pod-template-hash` of a Deployment.
    #[serde(default = "hash_label")]
    pub hash_label: String,
    /// Words of a case that it has nothing for: such cases are left out.
    #[serde(default)]
    pub lacks: Vec<String>,
    /// What is left out of its timelines, and of the golden ones that they are compared with.
    #[serde(default)]
    pub uncompared: Uncompared,
    /// Other custom resources that its controller waits for.
    #[serde(default)]
    pub definitions: Vec<Definition>,
}

/// What a timeline does not say of a workload.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Uncompared {
    /// The fields of decisions, and of ReplicaSets at checkpoints, with these keys.
    #[serde(default)]
    pub details: Vec<String>,
    /// The fields of the workload's own status at checkpoints, with these keys.
    #[serde(default)]
    pub status: Vec<String>,
    /// The conditions of the workload itself.
    #[serde(default)]
    pub conditions: bool,
    /// Whether a ReplicaSet gets its size as it is created, or at once after that.
    #[serde(default)]
    pub creation: bool,
    /// In which order, and in how many writes, the objects change within a step.
    #[serde(default)]
    pub order: bool,
    /// Its Events.
    #[serde(default)]
    pub events: bool,
    /// The invariants of these names.
    #[serde(default)]
    pub invariants: Vec<String>,
}

/// A custom resource of the workload's group and version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Definition {
    /// Its kind.
    pub kind: String,
    /// What its paths call it.
    pub plural: String,
    /// Whether it is in no namespace.
    #[serde(default)]
    pub cluster_scoped: bool,
}

/// Why a workload cannot be had.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WorkloadError {
    /// The file cannot be read.
    #[error("unknown workload '{name}': expected {known} or a YAML file that describes one ({why})",
        known = CARRIED.map(|(name, _)| name).join(", "))]
    Unknown {
        /// As it was given.
        name: String,
        /// What the system says.
        why: String,
    },
    /// It is not the description of a workload.
    #[error("{}: not the description of a workload: {why}; see docs/workloads.md", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

/// Every word is one of these.
fn known<'a>(field: &str, words: &[String], all: impl Iterator<Item = &'a str> + Clone) -> Result<(), String> {
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

    /// The name of one that the program carries, or the path of a file.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let carried = CARRIED.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned());
        let unknown = |error: std::io::Error| WorkloadError::Unknown { name: name.to_owned(), why: error.to_string() };
        let text = carried.map_or_else(|| std::fs::read_to_string(name).map_err(unknown), Ok)?;
        let malformed = |why: String| WorkloadError::Malformed { path: name.into(), why };
        let read = |text: &str| {
            let description: Value = serde_yaml::from_str(text).map_err(|error| error.to_string())?;
            if description.get("owns").is_some() {
                return Err(OWNS.to_owned());
            }
            // From the text, so that a mistake has its line.
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
    /// The names of those that the program carries.
    pub(crate) fn carried() -> [&'static str; CARRIED.len()] {
        CARRIED.map(|(name, _)| name)
    }

    /// One that is described in full. Its name is its kind.
    ///
    /// # Errors
    /// What is wrong with the description.
    pub(crate) fn from_json(description: Value) -> Result<Self, String> {
        if description.get("owns").is_some() {
            return Err(OWNS.to_owned());
        }
        let mut workload: Self = serde_json::from_value(description).map_err(|error| error.to_string())?;
        workload.check()?;
        workload.kind.clone_into(&mut workload.name);
        Ok(workload)
    }

    /// Whether both are about one kind, however that is described.
    pub(crate) fn is_of_kind(&self, other: &Self) -> bool {
        (&self.api_version, &self.kind) == (&other.api_version, &other.kind)
    }

    /// Whether it has nothing that stands for this field of a Deployment.
    pub(super) fn has_no(&self, field: &str) -> bool {
        let leads_nowhere = |(path, own): (&String, &Option<String>)| {
            own.is_none()
                && field.strip_prefix(path.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.paths.iter().any(leads_nowhere)
    }

    /// Whether it is a Deployment itself, whose controller has other annotations, or lacks
    /// something.
    pub(super) fn is_deployment(&self) -> bool {
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
        known("uncompared.status", &self.uncompared.status, STATUS.iter().map(|(key, _)| *key))?;
        known("uncompared.invariants", &self.uncompared.invariants, INVARIANTS.iter().map(|(name, _)| *name))
    }

    /// A bound stands for a field that the workload does not have.
    fn check_bound(&self, name: &str, bound: &Value) -> Result<(), String> {
        known("bounds", &[name.to_owned()], BOUNDS.into_iter())?;
        let is_share = |text: &str| text.strip_suffix('%').is_some_and(|number| number.parse::<u32>().is_ok());
        if !bound.is_u64() && !bound.as_str().is_some_and(is_share) {
            return Err(format!("`bounds`: `{name}: {bound}` is neither a number nor a percentage such as \"25%\""));
        }
        let path = format!("{ROLLING}{name}");
        match self.has_no(&path) {
            true => Ok(()),
            false => Err(format!("`bounds`: `{name}` is for a kind without the field; add `{path}: null` to `paths`")),
        }
    }

    /// A path leads from a field that a Deployment has, and to one of the workload's.
    fn check_path(&self, path: &str, own: Option<&str>) -> Result<(), String> {
        if let Some(pointer) = [Some(path), own].into_iter().flatten().find(|pointer| !pointer.starts_with('/')) {
            return Err(format!("`paths`: `{pointer}` is not a JSON pointer such as /spec/replicas"));
        }
        let is_field = FIELDS.contains(&path) || OPEN.iter().any(|open| path.starts_with(open));
        if !is_field {
            let fields = FIELDS.join(", ");
            return Err(format!("`paths`: a Deployment has no field `{path}`; it has {fields}"));
        }
        if own.is_none() && (NEEDED.contains(&path) || OPEN.iter().any(|open| path.starts_with(open))) {
            return Err(format!("`paths`: `{path}: null`: the cases need this field; say where the workload has it"));
        }
        if own.is_some_and(|own| own != path) && self.is_deployment() {
            return Err(format!("`paths`: a Deployment has `{path}` there and nowhere else"));
        }
        Ok(())
    }

    /// Its group and its version.
    pub(super) fn group_version(&self) -> (&str, &str) {
        self.api_version.split_once('/').unwrap_or(("", &self.api_version))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carried_workloads_can_be_read() {
        for (name, _) in CARRIED {
            assert_eq!(name.parse::<Workload>().unwrap().name, name);
        }
    }

    #[test]
    fn what_is_wrong_with_a_file_is_said() {
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
