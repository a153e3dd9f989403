//! The manifest of a controller: the Deployment that runs it, and the objects that it needs. No I/O
//! but for reading it.
//!
//! The pod template is not interpreted: everything in the manifest reaches the cluster, except for
//! the changes of `rewrite`.

use std::path::{Path, PathBuf};
use std::process::Command;

use lockstep_support::pointer::JsonPointer;
use serde::Deserialize;
use serde_json::Value;

/// The fields of a pod's containers.
pub(super) const CONTAINERS: [&str; 2] = ["containers", "initContainers"];
/// The files that mark a folder for kustomize.
const KUSTOMIZATIONS: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// A Deployment and the other objects.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Manifest {
    /// The controller's Deployment.
    pub(super) deployment: Value,
    /// The objects that it needs, in the manifest's order.
    pub(super) other_objects: Vec<Value>,
}

/// Why a manifest cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Read(#[from] std::io::Error),
    /// A folder without a kustomization.
    #[error("is a folder without a kustomization.yaml; name the manifest's file")]
    NoKustomization,
    /// The folder needs kubectl, which has kustomize.
    #[error(
        "is a folder for kustomize, and kubectl, which builds it, is not on PATH; install kubectl, or name a file with all objects"
    )]
    NoKubectl,
    /// kustomize failed.
    #[error("`kubectl kustomize` failed: {0}")]
    Kustomize(String),
    /// It is not YAML.
    #[error("document {document} is not YAML: {source}")]
    Yaml {
        /// From 1.
        document: usize,
        /// The parser's error.
        source: serde_yaml::Error,
    },
    /// It is YAML, but not a Kubernetes object.
    #[error("document {document} is not an object: it has no `{field}`")]
    NoObject {
        /// From 1.
        document: usize,
        /// What is missing.
        field: &'static str,
    },
    /// A field has another type than the server allows.
    #[error("document {document}: `{field}` is not a mapping")]
    NoMapping {
        /// From 1.
        document: usize,
        /// The field.
        field: &'static str,
    },
    /// It has no Deployment.
    #[error("holds no Deployment; it must hold the one that runs the controller")]
    NoDeployment,
    /// It has several Deployments.
    #[error("holds {} Deployments ({}); keep only the one that runs the controller", .0.len(), .0.join(", "))]
    Several(Vec<String>),
    /// The Deployment cannot be used.
    #[error("deployment/{name}: {why}")]
    Deployment {
        /// Its name.
        name: String,
        /// What is wrong.
        why: String,
    },
}

impl Manifest {
    /// Reads a file of YAML documents, or a folder with kustomize.
    pub(super) fn read(path: &Path) -> Result<Self, ManifestError> {
        if path.is_dir() {
            return Self::parse(&kustomize(path)?);
        }
        Self::parse(&std::fs::read_to_string(path)?)
    }

    /// Parses YAML documents. A `List` stands for its items.
    pub(super) fn parse(text: &str) -> Result<Self, ManifestError> {
        let mut objects = Vec::new();
        for (document, source) in (1..).zip(serde_yaml::Deserializer::from_str(text)) {
            let value = Value::deserialize(source).map_err(|source| ManifestError::Yaml { document, source })?;
            collect(value, document, &mut objects)?;
        }
        let is_deployment = |object: &Value| object["kind"] == "Deployment";
        let (mut deployments, other_objects): (Vec<_>, Vec<_>) = objects.into_iter().partition(is_deployment);
        match (deployments.pop(), deployments.is_empty()) {
            (None, _) => Err(ManifestError::NoDeployment),
            (Some(last), false) => {
                Err(ManifestError::Several(deployments.iter().chain([&last]).map(|one| text_at(one, NAME)).collect()))
            }
            (Some(deployment), true) => {
                check(&deployment)
                    .map_err(|why| ManifestError::Deployment { name: text_at(&deployment, NAME), why })?;
                Ok(Self { deployment, other_objects })
            }
        }
    }

    /// The Deployment's name.
    pub(super) fn name(&self) -> String {
        text_at(&self.deployment, NAME)
    }

    /// The Deployment's namespace; `default` if it names none, as for kubectl.
    pub(super) fn namespace(&self) -> String {
        namespace(&self.deployment)
    }

    /// The number of its replicas.
    pub(super) fn replicas(&self) -> i64 {
        self.deployment.at("/spec/replicas").and_then(Value::as_i64).unwrap_or(1)
    }

    /// The images of its pods, without duplicates.
    pub(super) fn images(&self) -> Vec<String> {
        let mut images = Vec::new();
        for list in CONTAINERS {
            let containers = self.deployment.at(&format!("/spec/template/spec/{list}"));
            for container in containers.and_then(Value::as_array).into_iter().flatten() {
                let image = text_at(container, "/image");
                if !image.is_empty() && !images.contains(&image) {
                    images.push(image);
                }
            }
        }
        images
    }
}

const NAME: &str = "/metadata/name";

pub(super) fn namespace(object: &Value) -> String {
    let named = text_at(object, "/metadata/namespace");
    if named.is_empty() { "default".to_owned() } else { named }
}

/// A string, empty if there is none.
pub(super) fn text_at(value: &Value, pointer: &str) -> String {
    value.at(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn is_mapping_or_absent(object: &Value, pointer: &str) -> bool {
    object.at(pointer).is_none_or(|value| value.is_null() || value.is_object())
}

/// Collects a document, or the items of a list.
fn collect(value: Value, document: usize, objects: &mut Vec<Value>) -> Result<(), ManifestError> {
    match value {
        // An empty document, as in a file that begins with `---`.
        Value::Null => Ok(()),
        Value::Object(mut fields) if fields.get("kind").is_some_and(|kind| kind == "List") => {
            let Some(Value::Array(items)) = fields.remove("items") else {
                return Err(ManifestError::NoObject { document, field: "items" });
            };
            items.into_iter().try_for_each(|item| collect(item, document, objects))
        }
        value => {
            for field in ["apiVersion", "kind", "metadata/name"] {
                if text_at(&value, &format!("/{field}")).is_empty() {
                    return Err(ManifestError::NoObject { document, field });
                }
            }
            if !is_mapping_or_absent(&value, "/metadata/labels") {
                return Err(ManifestError::NoMapping { document, field: "metadata.labels" });
            }
            objects.push(value);
            Ok(())
        }
    }
}

/// Validates the Deployment like the server, which never receives it.
fn check(deployment: &Value) -> Result<(), String> {
    if deployment["apiVersion"] != "apps/v1" {
        return Err(format!("apiVersion is {}, and must be apps/v1", deployment["apiVersion"]));
    }
    match deployment.at("/spec/replicas") {
        None | Some(Value::Null) => {}
        Some(number) if number.as_i64().is_some_and(|number| number > 0) => {}
        Some(other) => return Err(format!("spec.replicas is {other}, so there is no controller to judge")),
    }
    if !deployment.at("/spec/selector").is_some_and(Value::is_object) {
        return Err("it has no spec.selector".to_owned());
    }
    for path in ["metadata", "metadata/labels", "spec/nodeSelector"] {
        if !is_mapping_or_absent(deployment, &format!("/spec/template/{path}")) {
            return Err(format!("spec.template.{} is not a mapping", path.replace('/', ".")));
        }
    }
    let containers = deployment.at("/spec/template/spec/containers").and_then(Value::as_array);
    let containers = containers.filter(|list| !list.is_empty() && list.iter().all(Value::is_object));
    containers.map(drop).ok_or_else(|| "it has no containers in spec.template.spec".to_owned())
}

fn kustomize(folder: &Path) -> Result<String, ManifestError> {
    if !KUSTOMIZATIONS.iter().any(|name| folder.join(name).is_file()) {
        return Err(ManifestError::NoKustomization);
    }
    let answer = Command::new("kubectl").arg("kustomize").arg(path_of(folder)).output();
    let answer = match answer {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(ManifestError::NoKubectl),
        answer => answer?,
    };
    if answer.status.success() {
        return Ok(String::from_utf8_lossy(&answer.stdout).into_owned());
    }
    Err(ManifestError::Kustomize(String::from_utf8_lossy(&answer.stderr).trim().to_owned()))
}

/// The absolute path: a relative one may look like the address of a repository.
fn path_of(folder: &Path) -> PathBuf {
    std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const DEPLOYMENT: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: mine, namespace: there}\n\
        spec: {selector: {matchLabels: {app: mine}}, template: {metadata: {labels: {app: mine}}, \
        spec: {containers: [{name: a, image: 'mine:1'}, {name: b, image: 'side:1'}], initContainers: [{name: c, image: 'mine:1'}]}}}\n";

    #[test]
    fn parses_documents() {
        let text = format!("---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: there}}\n---\n{DEPLOYMENT}---\n");
        let manifest = Manifest::parse(&text).unwrap();
        assert_eq!((manifest.name(), manifest.namespace(), manifest.replicas()), ("mine".into(), "there".into(), 1));
        assert_eq!(manifest.images(), ["mine:1", "side:1"]);
        assert_eq!(manifest.other_objects.len(), 1);
    }

    #[test]
    fn list_stands_for_its_items() {
        let json: Value = serde_yaml::from_str(DEPLOYMENT).unwrap();
        let account = serde_json::json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}});
        let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": [account, json]});
        let manifest = Manifest::parse(&list.to_string()).unwrap();
        assert_eq!((manifest.deployment, manifest.other_objects), (json, vec![account]));
    }

    #[rstest]
    #[case("", "holds no Deployment")]
    #[case("kind: Namespace\napiVersion: v1\nmetadata: {name: a}", "holds no Deployment")]
    #[case("a: [", "document 1 is not YAML")]
    #[case("- a", "document 1 is not an object: it has no `apiVersion`")]
    #[case("apiVersion: v1\nkind: Secret", "document 1 is not an object: it has no `metadata/name`")]
    #[case("apiVersion: v1\nkind: List", "document 1 is not an object: it has no `items`")]
    #[case("apiVersion: apps/v1beta1\nkind: Deployment\nmetadata: {name: a}", "must be apps/v1")]
    #[case(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: 0}",
        "deployment/a: spec.replicas is 0"
    )]
    #[case(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: two}",
        "spec.replicas is \"two\""
    )]
    #[case(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: 1}",
        "it has no spec.selector"
    )]
    #[case("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {selector: {}}", "it has no containers")]
    #[case(
        "apiVersion: v1\nkind: Secret\nmetadata: {name: a, labels: app}",
        "document 1: `metadata.labels` is not a mapping"
    )]
    #[case(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {selector: {}, template: {metadata: {labels: [a]}}}",
        "spec.template.metadata.labels is not a mapping"
    )]
    #[case(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {selector: {}, template: {spec: {nodeSelector: a}}}",
        "spec.template.spec.nodeSelector is not a mapping"
    )]
    fn invalid_manifest_is_refused(#[case] text: &str, #[case] expected: &str) {
        let error = Manifest::parse(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn second_deployment_is_refused() {
        let text = format!("{DEPLOYMENT}---\n{}", DEPLOYMENT.replace("name: mine,", "name: other,"));
        let error = Manifest::parse(&text).unwrap_err().to_string();
        assert!(error.starts_with("holds 2 Deployments (mine, other)"), "{error}");
    }

    #[test]
    fn error_counts_documents() {
        let error = Manifest::parse(&format!("{DEPLOYMENT}---\nfoo\n---\na: b")).unwrap_err().to_string();
        assert!(error.starts_with("document 2 is not an object"), "{error}");
    }

    #[test]
    fn missing_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(Manifest::read(folder.path()), Err(ManifestError::NoKustomization)));
        assert!(matches!(Manifest::read(&folder.path().join("none.yaml")), Err(ManifestError::Read(_))));
    }
}
