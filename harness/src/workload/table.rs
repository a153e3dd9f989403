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

/// The workloads that the program carries, by name.
const CARRIED: [(&str, &str); 1] = [("argo-rollouts", include_str!("../../workloads/argo-rollouts.yaml"))];

/// A kind that owns ReplicaSets, and where it has what a Deployment has. A recording carries it whole.
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
    /// A Deployment's JSON pointers to its own, where they differ; `None`: it has nothing of the kind.
    #[serde(default)]
    pub paths: BTreeMap<String, Option<String>>,
    /// What every manifest has besides; does not replace what is there.
    #[serde(default)]
    pub manifest: Map<String, Value>,
    /// JSON pointers, of its own, to numbers that it keeps as text.
    #[serde(default)]
    pub numbers: Vec<String>,
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
    /// The names of those that the program carries.
    pub(crate) fn carried() -> [&'static str; CARRIED.len()] {
        CARRIED.map(|(name, _)| name)
    }

    /// One that is described in full. Its name is its kind.
    ///
    /// # Errors
    /// What is wrong with the description.
    pub(crate) fn from_json(description: Value) -> Result<Self, String> {
        let mut workload: Self = serde_json::from_value(description).map_err(|error| error.to_string())?;
        workload.check()?;
        workload.kind.clone_into(&mut workload.name);
        Ok(workload)
    }

    /// Whether both are about one kind, however that is described.
    pub(crate) fn is_of_kind(&self, other: &Self) -> bool {
        (&self.api_version, &self.kind) == (&other.api_version, &other.kind)
    }

    fn check(&self) -> Result<(), String> {
        match self.api_version.split('/').filter(|word| !word.is_empty()).count() {
            2 => Ok(()),
            _ => Err(format!("`{}` is not GROUP/VERSION", self.api_version)),
        }
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
        let unknown = "argo".parse::<Workload>().unwrap_err().to_string();
        assert!(unknown.starts_with("unknown workload 'argo': expected argo-rollouts or a YAML file"), "{unknown}");
    }
}
